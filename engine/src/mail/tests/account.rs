//! Mails to users of the console.

use super::*;
use switchyard_core::ids::UserId;
use switchyard_core::language::Language;

const LINK: &str = "https://console.example/console/link/abcdefghijklmnop";

fn mail(language: Language, reason: AccountMailReason) -> NewAccountMail {
    NewAccountMail {
        user: UserId::new(7.into()),
        address: "grace@merchant.example".to_owned(),
        name: "Grace <Hopper>".to_owned(),
        language,
        reason,
        link: LINK.to_owned().into(),
        expires_at: START.plus(Duration::from_secs(3_600)),
    }
}

fn invitation(account: Option<&str>) -> AccountMailReason {
    AccountMailReason::Invitation {
        account: account.map(str::to_owned),
        role: "developer".to_owned(),
    }
}

fn proposal(account: Option<&str>) -> AccountMailReason {
    AccountMailReason::Proposal {
        account: account.map(str::to_owned),
        by: "Ada Lovelace".to_owned(),
    }
}

impl Room {
    /// Rows of the outbox, as text.
    async fn outbox(&self) -> String {
        let range = queued_mail::range(Timestamp::default());
        let (start, end) = (range.from(), range.to());
        let rows = self
            .store
            .scan(Table::Outbox, start, end, Direction::Forward, 100);
        let rows = rows.await.unwrap().into_iter();
        let rows = rows.map(|(_, value)| String::from_utf8(value).unwrap());
        rows.collect()
    }

    async fn until_none_waits(&self) {
        for _ in 0..1_000 {
            if self.waiting().await == 0 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("{}", self.outbox().await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_gets_a_link_in_their_language() {
    let server = SmtpServer::start();
    let room = Room::through(&server).await;
    let cases = [
        (
            Language::En,
            invitation(Some("Café Zola")),
            "Your invitation to Café Zola",
            "with the role developer",
        ),
        (
            Language::Fr,
            invitation(None),
            "Votre invitation à Switchyard",
            "avec le rôle « développeur »",
        ),
        (
            Language::En,
            AccountMailReason::Reset,
            "A new password for Switchyard",
            "your password stays as it is",
        ),
        (
            Language::En,
            proposal(Some("Café Zola")),
            "A proposal in Café Zola waits for your decision",
            "Ada Lovelace made a proposal in Café Zola",
        ),
        (
            Language::Fr,
            proposal(None),
            "Une proposition dans Switchyard attend votre décision",
            "Ada Lovelace a fait une proposition",
        ),
    ];
    for (number, (language, reason, subject, phrase)) in cases.into_iter().enumerate() {
        let sent = room.mails.send_to_user(mail(language, reason), &room.ids);
        assert!(sent.await.unwrap());
        let received = server.received(number + 1).await;
        let mail = decoded(&received[number].content);
        assert_eq!(mail["subject"], subject);
        assert_eq!(received[number].to, ["grace@merchant.example"]);
        for form in ["text", "page"] {
            let body = mail[form].as_str().unwrap();
            assert!(body.contains(LINK) && body.contains(phrase), "{body}");
            assert!(!body.contains("<Hopper>") || form == "text", "{body}");
        }
    }
    room.until_none_waits().await;
    assert!(
        posted(&room.store, Environment::Live, 10)
            .await
            .unwrap()
            .is_empty()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiting_link_is_sealed_and_the_mail_is_abandoned_when_the_link_ends() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("smtp://{}", listener.local_addr().unwrap());
    drop(listener);
    let room = Room::new(MailSettings {
        smtp_url: Some(url.as_str().into()),
        ..MailSettings::default()
    })
    .await;
    let reset = mail(Language::En, AccountMailReason::Reset);
    assert!(room.mails.send_to_user(reset, &room.ids).await.unwrap());
    room.attempted(1).await;
    let outbox = room.outbox().await;
    assert!(outbox.contains("grace@merchant.example"), "{outbox}");
    assert!(!outbox.contains("abcdefghijklmnop"), "{outbox}");
    for attempt in 2..=4 {
        room.clock.advance(Duration::from_secs(3_000));
        if room.waiting().await == 0 {
            return;
        }
        room.attempted(attempt).await;
    }
    room.until_none_waits().await;
}
