//! Log lines about a mail server that is down.

use std::io::{self, Write};
use std::sync::Mutex;

use super::*;

/// Log of one thread, as text.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(part)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Log {
    /// Its lines of this level.
    fn lines(&self, level: &str) -> Vec<String> {
        let text = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        let mark = format!(" {level} ");
        let lines = text.lines().filter(|line| line.contains(&mark));
        lines.map(str::to_owned).collect()
    }
}

/// On one thread: the log of another one is not captured.
#[tokio::test]
async fn a_server_that_is_down_is_one_warning_however_many_mails_fail_and_are_abandoned() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::DEBUG)
        .with_ansi(false)
        .with_writer(move || writer.clone());
    let _logged = tracing::subscriber::set_default(subscriber.finish());
    let nobody_listens = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap()
    };
    let url = format!("smtp://{nobody_listens}");
    let room = Room::new(MailSettings {
        smtp_url: Some(url.as_str().into()),
        ..MailSettings::default()
    })
    .await;
    for _ in 0..MAILS {
        let tx = succeeded(Environment::Live, Kind::Payment);
        let app = app(AppSettings::default());
        assert!(room.send(&app, &tx, MailTo::Merchant).await);
    }
    for attempt in 1..=ATTEMPTS {
        room.attempted(MAILS * attempt).await;
        room.clock.advance(Duration::from_secs(86_401));
    }
    let abandoned = room.posted(3).await;
    assert!(abandoned.iter().all(|posted| !posted.is_sent));
    assert_eq!(room.waiting().await, 0);

    let warnings = log.lines("WARN");
    assert_eq!(warnings.len(), 1, "{warnings:#?}");
    assert!(warnings[0].contains("failed to send mail"), "{warnings:?}");
    let notes = log.lines("INFO");
    let notes: Vec<_> = notes
        .iter()
        .filter(|line| line.contains("mail abandoned"))
        .collect();
    assert_eq!(notes.len(), 1, "{notes:#?}");
    for field in ["mail.id=", "transaction.id=", "why="] {
        assert!(notes[0].contains(field), "{field}: {notes:?}");
    }
}

const MAILS: u64 = 3;
/// The first one and eight retries.
const ATTEMPTS: u64 = 9;

#[tokio::test]
async fn the_reason_of_a_failure_does_not_repeat_the_address() {
    let (store, mut batch) = (Store::memory(), Batch::new());
    let tx = succeeded(Environment::Live, Kind::Payment);
    let app = app(AppSettings::default());
    let ids = Ids::seeded(3);
    assert_eq!(
        enqueue(&mut batch, &app, &tx, MailTo::Customer, START, &ids),
        1
    );
    store.commit(batch).await.unwrap();
    let range = queued_mail::range(Timestamp::default());
    let (start, end) = (range.from(), range.to());
    let rows = store.scan(Table::Outbox, start, end, Direction::Forward, 1);
    let mail = OutboxMail::read(&rows.await.unwrap()[0].1).unwrap();
    let email = &tx.customer.email;
    let text = format!("550 <{}>: {email} is unknown here", email.to_uppercase());
    let shown = mail.without_address(&text);
    assert_eq!(shown, "550 <(address)>: (address) is unknown here");
}
