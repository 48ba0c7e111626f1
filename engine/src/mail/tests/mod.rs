//! Tests of mails through a real SMTP server and through files.

mod account;
mod content;
mod contradictions;
mod contrast;
mod log;
mod server;

use std::collections::BTreeMap;

use self::server::{Mail, SmtpServer};
use super::*;
use crate::access::{App, AppSettings, MasterKey, Options, Vault};
use crate::runtime::ActorThreads;
use crate::testing::{START, amount};
use switchyard_core::ids::{AccountId, AppId, CustomerId, PaymentId, PayoutId, TransactionId};
use switchyard_core::transaction::{
    CancelledBy, ClientContext, Customer, DeclineReason, Details, Event, Failure, Kind, MailTo,
    NewTransaction, PaymentDetails, PayoutDetails, Transaction, evolve, initiate,
};
use switchyard_system::ids::Ids;

struct Room {
    store: Store,
    clock: Clock,
    ids: Ids,
    threads: ActorThreads,
    mails: Mails,
    access: Access,
}

impl Room {
    async fn new(settings: MailSettings) -> Self {
        Self::with(settings, Mails::start).await
    }

    async fn with(
        settings: MailSettings,
        start: impl FnOnce(Dependencies, &ArbiterHandle) -> Result<Mails, MailError>,
    ) -> Self {
        let (store, clock, threads) = (
            Store::memory(),
            Clock::manual(START),
            ActorThreads::start().unwrap(),
        );
        let ids = Ids::system();
        let master = MasterKey::random(&ids);
        let vault = Vault::new(&master, ids.clone());
        let options = Options::default();
        let access = Access::load(store.clone(), vault, clock.clone(), ids.clone(), options);
        let access = access.await.unwrap();
        let dependencies = Dependencies {
            store: store.clone(),
            access: access.clone(),
            clock: clock.clone(),
            directory: Arc::new(Directory::new("switchyard")),
            service: "Switchyard".to_owned(),
            public_url: "https://pay.example".to_owned(),
            settings: MailSettings {
                from: "Switchyard <no-reply@pay.example>".to_owned(),
                ..settings
            },
        };
        let mails = start(dependencies, threads.arbiter()).unwrap();
        Self {
            store,
            clock,
            ids,
            threads,
            mails,
            access,
        }
    }

    async fn through(server: &SmtpServer) -> Self {
        let settings = MailSettings {
            smtp_url: Some(server.url.as_str().into()),
            ..MailSettings::default()
        };
        Self::new(settings).await
    }

    async fn send(&self, app: &App, tx: &Transaction, to: MailTo) -> bool {
        self.enqueue(app, tx, to).await > 0
    }

    /// Returns the number of mails.
    async fn enqueue(&self, app: &App, tx: &Transaction, to: MailTo) -> usize {
        let mut batch = Batch::new();
        let now = self.clock.now();
        let count = enqueue(&mut batch, app, tx, to, now, &self.ids);
        self.store.commit(batch).await.unwrap();
        self.mails.nudge(count, now);
        count
    }

    async fn waiting(&self) -> usize {
        let range = queued_mail::range(Timestamp::default());
        let (start, end) = (range.from(), range.to());
        let rows = self
            .store
            .scan(Table::Outbox, start, end, Direction::Forward, 100);
        rows.await.unwrap().len()
    }

    async fn posted(&self, count: usize) -> Vec<SentMail> {
        for _ in 0..2_000 {
            let mut posted = posted(&self.store, Environment::Live, 100).await.unwrap();
            posted.extend(
                super::posted(&self.store, Environment::Sandbox, 100)
                    .await
                    .unwrap(),
            );
            if posted.len() >= count {
                return posted;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("there were never {count} mails sent or abandoned");
    }

    /// Waits until at least `count` attempts were started and none is in flight.
    async fn attempted(&self, count: u64) {
        for _ in 0..2_000 {
            let snapshot = self.mails.snapshot().await.unwrap();
            if snapshot.started >= count && snapshot.in_flight == 0 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("there were never {count} attempts");
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        if let Some(shared) = &self.mails.0 {
            shared.queue.stop_now();
        }
        self.threads.stop();
    }
}

fn app(settings: AppSettings) -> App {
    let ids = Ids::seeded(1);
    App {
        id: AppId::new(ids.ulid(START)),
        account: AccountId::new(ids.ulid(START)),
        name: "Café <Zoé> & Co".to_owned(),
        icon_url: None,
        website_url: None,
        created_at: START,
        updated_at: START,
        is_enabled: true,
        settings: AppSettings {
            merchant_email: Some("shop@merchant.example".to_owned()),
            ..settings
        },
    }
}

fn transaction(environment: Environment, kind: Kind) -> Transaction {
    let ids = Ids::system();
    let ulid = ids.ulid(START);
    let (id, details) = match kind {
        Kind::Payment => {
            let details = PaymentDetails {
                return_url: "https://shop.example/".to_owned(),
                methods: Vec::new(),
                restriction: None,
                attempts_allowed: 1,
                expires_at: START,
            };
            let id = TransactionId::Payment(PaymentId::new(ulid));
            (id, Details::Payment(details))
        }
        Kind::Payout => {
            let details = PayoutDetails {
                method: "mtn_bj".to_owned(),
                recipient: BTreeMap::new(),
            };
            let id = TransactionId::Payout(PayoutId::new(ulid));
            (id, Details::Payout(details))
        }
    };
    let new = NewTransaction {
        id,
        app: AppId::new(ulid),
        environment,
        amount: amount(2_550, "USD"),
        description: "Two <b>coffees</b>".to_owned(),
        customer: Customer {
            id: CustomerId::new(ulid),
            first_name: "Awa".to_owned(),
            last_name: "Diop".to_owned(),
            email: "awa@customer.example".to_owned(),
            phone: None,
            address: None,
            city: None,
            state: None,
            country_code: None,
            zip_code: None,
            created_at: START,
            updated_at: START,
        },
        metadata: BTreeMap::new(),
        details,
        context: ClientContext {
            locale: Some("fr-BJ".to_owned()),
            ..ClientContext::default()
        },
    };
    initiate(new, START).0
}

fn succeeded(environment: Environment, kind: Kind) -> Transaction {
    evolve(transaction(environment, kind), &Event::Succeeded, START)
}

fn failed(kind: Kind) -> Transaction {
    let failure = Failure {
        reason: DeclineReason::InsufficientFunds,
        message: "Not enough money".to_owned(),
    };
    evolve(
        transaction(Environment::Live, kind),
        &Event::Failed { failure },
        START,
    )
}

/// Decodes the headers and texts of a mail with Python's own mail library, independently of our
/// code.
fn decoded(mail: &str) -> serde_json::Value {
    use std::io::Write as _;
    let script = "import sys, json, email, email.policy\n\
                  m = email.message_from_bytes(sys.stdin.buffer.read(), policy=email.policy.default)\n\
                  body = lambda kind: m.get_body((kind,)).get_content()\n\
                  pictures = {str(p['Content-ID']): p.get_content().hex() for p in m.walk() if p.get_content_maintype() == 'image'}\n\
                  print(json.dumps({**{k.lower(): str(v) for k, v in m.items()}, 'text': body('plain'), 'page': body('html'), \
                  'pictures': pictures}))";
    let python = std::process::Command::new("python3")
        .args(["-c", script])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn();
    let mut python = python.expect("this test needs Python 3");
    python
        .stdin
        .take()
        .unwrap()
        .write_all(mail.as_bytes())
        .unwrap();
    serde_json::from_slice(&python.wait_with_output().unwrap().stdout).unwrap()
}

/// Asserts that text and page of a mail link to the receipt of `tx`; the link.
fn links_to_its_receipt(mail: &serde_json::Value, tx: &Transaction, language: &str) -> String {
    let receipt = format!(
        "https://pay.example/checkout/{}/receipt?lang={language}",
        tx.id
    );
    for part in ["text", "page"] {
        let written = mail[part].as_str().unwrap();
        assert!(written.contains(&receipt), "{part}: {written}");
    }
    receipt
}

#[tokio::test(flavor = "multi_thread")]
async fn merchant_and_customer_get_their_mails_each_in_their_language() {
    let server = SmtpServer::start();
    let room = Room::through(&server).await;
    let app = app(AppSettings::default());
    let tx = succeeded(Environment::Live, Kind::Payment);
    assert!(room.send(&app, &tx, MailTo::Merchant).await);
    assert!(room.send(&app, &tx, MailTo::Customer).await);
    let mails = server.received(2).await;
    let to = |address: &str| -> &Mail { mails.iter().find(|mail| mail.to == [address]).unwrap() };

    let merchant = to("shop@merchant.example");
    assert_eq!(merchant.from, "no-reply@pay.example");
    let mail = decoded(&merchant.content);
    assert_eq!(
        mail["subject"],
        "Payment of $25.50 received – Café <Zoé> & Co"
    );
    assert_eq!(mail["from"], "\"Café <Zoé> & Co\" <no-reply@pay.example>");
    assert_eq!(mail["auto-submitted"], "auto-generated");
    let text = mail["text"].as_str().unwrap();
    for fact in [
        "$25.50",
        "Two <b>coffees</b>",
        "Awa Diop <awa@customer.example>",
        "20 November 2026",
        &tx.id.to_string(),
    ] {
        assert!(text.contains(fact), "{fact} is not in: {text}");
    }
    let page = mail["page"].as_str().unwrap();
    assert!(page.contains("Two &#60;b&#62;coffees&#60;/b&#62;") && !page.contains("<b>coffees"));
    let receipt = links_to_its_receipt(&mail, &tx, "en");
    assert!(page.contains("<h1 ") && page.contains("prefers-color-scheme: dark"));
    let without = page.replace(&receipt, "");
    assert!(
        !without.contains("http://") && !without.contains("https://") && !page.contains("<img"),
        "something from outside"
    );

    let mail = decoded(&to("awa@customer.example").content);
    assert_eq!(
        mail["subject"],
        "Votre paiement de 25,50\u{a0}$ à Café <Zoé> & Co"
    );
    assert_eq!(mail["reply-to"], "shop@merchant.example");
    assert_eq!(mail["to"], "Awa Diop <awa@customer.example>");
    assert!(mail["text"].as_str().unwrap().contains("Merci, Awa Diop."));
    assert!(mail["page"].as_str().unwrap().contains("lang=\"fr\""));
    links_to_its_receipt(&mail, &tx, "fr");
    assert!(room.posted(2).await.iter().all(|posted| posted.is_sent));
    assert_eq!(room.waiting().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_customer_is_invited_to_answer_only_when_somebody_reads_it() {
    let server = SmtpServer::start();
    let room = Room::through(&server).await;
    let mut app = app(AppSettings::default());
    let tx = succeeded(Environment::Live, Kind::Payment);
    for (number, address) in [Some("shop@merchant.example"), None]
        .into_iter()
        .enumerate()
    {
        app.settings.merchant_email = address.map(str::to_owned);
        assert!(room.send(&app, &tx, MailTo::Customer).await);
        let mail = decoded(&server.received(number + 1).await[number].content);
        assert_eq!(mail["reply-to"].as_str(), address);
        let text = mail["text"].as_str().unwrap();
        assert_eq!(text.contains("Répondez"), address.is_some(), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_outcome_has_its_mail() {
    let server = SmtpServer::start();
    let room = Room::through(&server).await;
    let french = AppSettings {
        locale: Some("fr".to_owned()),
        ..AppSettings::default()
    };
    let app = app(french);
    let by = CancelledBy::Customer;
    let cancelled = evolve(
        transaction(Environment::Live, Kind::Payment),
        &Event::Cancelled { by },
        START,
    );
    let outcomes = [
        (
            succeeded(Environment::Live, Kind::Payment),
            "Paiement de 25,50\u{a0}$ reçu",
        ),
        (failed(Kind::Payment), "Paiement de 25,50\u{a0}$ échoué"),
        (cancelled, "Paiement de 25,50\u{a0}$ annulé"),
        (
            succeeded(Environment::Live, Kind::Payout),
            "Versement de 25,50\u{a0}$ envoyé",
        ),
        (failed(Kind::Payout), "Versement de 25,50\u{a0}$ échoué"),
    ];
    for (number, (tx, subject)) in outcomes.iter().enumerate() {
        room.send(&app, tx, MailTo::Merchant).await;
        let mail = decoded(&server.received(number + 1).await[number].content);
        assert_eq!(mail["subject"], format!("{subject} – Café <Zoé> & Co"));
        let text = mail["text"].as_str().unwrap();
        let has_reason = text.contains("Motif\u{a0}: Il n’y a pas assez d’argent sur le compte.");
        assert_eq!(has_reason, subject.contains("échoué"), "{text}");
        let names_method = text.contains("Moyen de versement\u{a0}: MTN MoMo (Bénin)");
        assert_eq!(names_method, subject.contains("Versement"), "{text}");
        assert!(
            !text.contains("merchant-") && !text.contains("label-"),
            "a sentence is missing: {text}"
        );
    }
}

#[tokio::test]
async fn the_apps_switches_decide() {
    let (ids, mut batch) = (Ids::seeded(1), Batch::new());
    let mut wants = |settings: AppSettings, environment, to| {
        enqueue(
            &mut batch,
            &app(settings),
            &succeeded(environment, Kind::Payment),
            to,
            START,
            &ids,
        ) > 0
    };
    let off = AppSettings {
        notify_merchant: false,
        notify_customer: false,
        ..AppSettings::default()
    };
    assert!(wants(
        AppSettings::default(),
        Environment::Live,
        MailTo::Merchant
    ));
    assert!(wants(
        AppSettings::default(),
        Environment::Live,
        MailTo::Customer
    ));
    assert!(wants(
        AppSettings::default(),
        Environment::Sandbox,
        MailTo::Merchant
    ));
    assert!(wants(
        AppSettings::default(),
        Environment::Sandbox,
        MailTo::Customer
    ));
    assert!(!wants(off.clone(), Environment::Live, MailTo::Merchant));
    assert!(!wants(off, Environment::Live, MailTo::Customer));
    let mut nowhere = app(AppSettings::default());
    nowhere.settings.merchant_email = None;
    let tx = succeeded(Environment::Live, Kind::Payment);
    let count = enqueue(&mut batch, &nowhere, &tx, MailTo::Merchant, START, &ids);
    assert_eq!(count, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sandbox_mail_says_so_in_its_subject_and_development_mode_writes_files() {
    let folder = tempfile::tempdir().unwrap();
    let room = Room::new(MailSettings {
        folder: Some(folder.path().join("mail")),
        ..MailSettings::default()
    })
    .await;
    let tx = succeeded(Environment::Sandbox, Kind::Payment);
    room.send(&app(AppSettings::default()), &tx, MailTo::Merchant)
        .await;
    let posted = room.posted(1).await.remove(0);
    assert!(posted.is_sent);
    let file = folder.path().join(format!("mail/{}.eml", posted.letter.id));
    let mail = decoded(&std::fs::read_to_string(file).unwrap());
    assert_eq!(
        mail["subject"],
        "[SANDBOX] Payment of $25.50 received – Café <Zoé> & Co"
    );
    assert!(mail["text"].as_str().unwrap().contains("No money moved."));
    assert_eq!(
        mail["message-id"],
        format!("<{}@pay.example>", posted.letter.id)
    );

    assert_eq!(purge(&room.store, START).await.unwrap(), 0);
    assert_eq!(
        purge(&room.store, START.plus(Duration::from_secs(1)))
            .await
            .unwrap(),
        1
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mail_survives_a_server_in_trouble_and_arrives_once_it_is_well() {
    let mut server = SmtpServer::start();
    server.behave("451 Later").await;
    let room = Room::through(&server).await;
    let tx = succeeded(Environment::Live, Kind::Payment);
    room.send(&app(AppSettings::default()), &tx, MailTo::Merchant)
        .await;
    room.attempted(1).await;
    assert_eq!(room.waiting().await, 1);
    room.clock.advance(Duration::from_secs(61));
    room.attempted(2).await;
    assert!(server.mails().is_empty());
    server.behave("accept").await;
    room.clock.advance(Duration::from_secs(301));
    server.received(1).await;
    let posted = room.posted(1).await.remove(0);
    assert!(posted.is_sent);
    assert_eq!(posted.letter.attempts, 3);
}

/// A store passes tombstones slowly: a scan from before them costs more with each sent mail.
#[tokio::test(flavor = "multi_thread")]
async fn a_look_at_the_queue_begins_behind_the_mails_that_were_sent_and_never_behind_one_that_waits()
 {
    let mut server = SmtpServer::start();
    let room = Room::through(&server).await;
    let (app, tx) = (
        app(AppSettings::default()),
        succeeded(Environment::Live, Kind::Payment),
    );
    for sent in 1..=3 {
        room.clock.advance(Duration::from_secs(1));
        room.send(&app, &tx, MailTo::Merchant).await;
        room.posted(sent).await;
        room.attempted(sent as u64).await;
    }
    let reads_from = async || room.mails.snapshot().await.unwrap().reads_from;
    assert!(reads_from().await >= room.clock.now());
    server.behave("451 Later").await;
    let waits_since = room.clock.now();
    room.send(&app, &tx, MailTo::Merchant).await;
    room.attempted(4).await;
    room.clock.advance(Duration::from_secs(10));
    server.behave("accept").await;
    room.send(&app, &tx, MailTo::Merchant).await;
    room.posted(4).await;
    room.attempted(5).await;
    let waits_until = waits_since.plus(Duration::from_secs(60));
    assert!(reads_from().await <= waits_until);
    room.clock.advance(Duration::from_secs(51));
    room.posted(5).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mail_that_nobody_takes_is_given_up_visibly() {
    let mut server = SmtpServer::start();
    server.behave("550 No such person").await;
    let room = Room::through(&server).await;
    let tx = succeeded(Environment::Live, Kind::Payment);
    room.send(&app(AppSettings::default()), &tx, MailTo::Merchant)
        .await;
    for attempt in 1..=3 {
        room.attempted(attempt).await;
        room.clock.advance(Duration::from_secs(301));
    }
    let posted = room.posted(1).await.remove(0);
    assert!(!posted.is_sent);
    assert!(posted.why.unwrap().contains("No such person"));
    assert_eq!(room.waiting().await, 0);
    let nobody = App {
        settings: AppSettings {
            merchant_email: Some("not an address".to_owned()),
            ..AppSettings::default()
        },
        ..app(AppSettings::default())
    };
    room.send(&nobody, &tx, MailTo::Merchant).await;
    let given_up = room.posted(2).await;
    assert!(given_up.iter().any(|posted| {
        posted
            .why
            .as_deref()
            .unwrap()
            .contains("not a mail address")
    }));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_server_and_without_a_folder_there_are_no_mails() {
    let room = Room::new(MailSettings::default()).await;
    assert!(!room.mails.is_on());
    assert!(room.mails.snapshot().await.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_with_one_mail_stops_no_other_and_loses_nothing() {
    let panicking = Transport::Panicking(1.into());
    let room = Room::with(MailSettings::default(), |with, arbiter| {
        Mails::start_through(panicking, with, arbiter)
    })
    .await;
    let app = app(AppSettings::default());
    let mut tx = succeeded(Environment::Live, Kind::Payment);
    assert!(room.send(&app, &tx, MailTo::Merchant).await);
    while room.mails.snapshot().await.unwrap().started == 0 {
        tokio::task::yield_now().await;
    }
    tx.id = TransactionId::Payment(PaymentId::new(room.ids.ulid(START)));
    assert!(room.send(&app, &tx, MailTo::Merchant).await);
    assert_eq!(room.posted(1).await.len(), 1);
    // A mail leaves the outbox before the dispatcher receives the end of its attempt.
    while room.waiting().await > 1 || room.mails.snapshot().await.unwrap().in_flight > 1 {
        tokio::task::yield_now().await;
    }
    // The mail that panicked stays queued until its next attempt.
    assert_eq!(room.waiting().await, 1);
    assert_eq!(room.mails.snapshot().await.unwrap().in_flight, 1);
}

#[test]
fn the_keys_of_mails_have_their_stored_bytes() {
    let id = switchyard_core::ids::MailId::new(ulid::Ulid::from_parts(1, 2));
    let bytes = id.ulid().to_bytes();
    let at = Timestamp::from_micros(0x0102);
    let key = queued_mail::key(at, id);
    assert_eq!(*key, [&b"m\0\0\0\0\0\0\x01\x02"[..], &bytes].concat());
    assert_eq!(queued_mail::due(&key), Some(at));
    assert!(queued_mail::range(at).contains(&key));
    let ended = queued_mail::ended(Environment::Live).with(id);
    assert_eq!(*ended, [&b"ml"[..], &bytes].concat());
}
