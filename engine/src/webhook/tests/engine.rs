//! End-to-end tests: a payment's events reach the merchant's endpoint and mailbox, and nothing else
//! does.

use super::*;
use crate::access::{AppChange, AppSettings};
use crate::engine::{Engine, EngineSettings, NewPayment};
use crate::mail::MailSettings;
use crate::testing::{TestEngineBuilder, customer};
use switchyard_gateway_host::Gateways;
use switchyard_store::Denier;

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_is_announced_from_its_commit_and_mailed_about_at_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let receiver = Receiver::good().await;
    let mut wanted = TestEngineBuilder::with(Gateways::default());
    wanted.settings = EngineSettings {
        webhook: WebhookSettings {
            allow_private: true,
            ..WebhookSettings::default()
        },
        mail: MailSettings {
            from: "Switchyard <no-reply@pay.example>".to_owned(),
            folder: Some(folder.path().to_owned()),
            ..MailSettings::default()
        },
        ..EngineSettings::default()
    };
    let test = wanted.start().await;
    let (engine, caller) = (&test.engine, test.caller());
    listen(engine, caller.app.id, &receiver.url).await;

    let tx = engine
        .initialize_payment(&caller, new_payment(), None)
        .await
        .unwrap();
    let begun = receiver.received(1).await.remove(0);
    assert_eq!(
        (begun.event().as_str(), begun.transaction()),
        ("payment.initiated", tx.id.to_string())
    );
    assert_eq!(begun.json()["data"]["status"], "initiated");

    engine.cancel(tx.id).await.unwrap();
    let ended = receiver.received(2).await.remove(1);
    assert_eq!(ended.event(), "payment.cancelled");
    assert_eq!(ended.json()["data"]["status"], "cancelled");
    for _ in 0..WAITS {
        let mails = std::fs::read_dir(folder.path()).unwrap();
        if mails
            .flatten()
            .any(|file| file.path().extension().is_some_and(|end| end == "eml"))
        {
            assert!(engine.stop(Duration::from_secs(5)).await, "all is stored");
            return;
        }
        tokio::time::sleep(WAIT).await;
    }
    panic!("no mail was written");
}

/// Delays the store's response to a commit, so that the rows of that commit can be read before the
/// next one.
#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_is_stored_in_the_commit_of_its_transaction() {
    let (denier, mut wanted) = (
        Denier::default(),
        TestEngineBuilder::with(Gateways::default()),
    );
    wanted.store = denier.over(Store::memory());
    let test = wanted.start().await;
    let (engine, caller) = (test.engine.clone(), test.caller());
    listen(&engine, caller.app.id, &Receiver::nobody().await).await;
    let (response, delayed) = tokio::sync::oneshot::channel();
    denier.deny_next_commit(delayed);
    let created = tokio::spawn({
        let engine = engine.clone();
        async move {
            engine
                .initialize_payment(&caller, new_payment(), None)
                .await
        }
    });
    let has_row = async |table| {
        let rows = engine
            .store()
            .scan(table, &[0], &[u8::MAX; 60], Direction::Forward, 1);
        !rows.await.unwrap().is_empty()
    };
    for _ in 0..WAITS {
        if has_row(Table::Outbox).await {
            break;
        }
        tokio::time::sleep(WAIT).await;
    }
    assert!(has_row(Table::Transaction).await, "an event of nothing");
    response.send(()).unwrap();
    let _ = created.await.unwrap(); // a commit that is wrongly denied
}

/// Gives the app a webhook and the merchant a mail address.
async fn listen(engine: &Engine, app: AppId, url: &str) {
    let settings = AppSettings {
        merchant_email: Some("shop@merchant.example".to_owned()),
        ..AppSettings::default()
    };
    let change = AppChange {
        settings: Some(settings),
        ..AppChange::default()
    };
    engine.access().update_app(app, change).await.unwrap();
    let new = NewWebhook {
        app,
        url: url.to_owned(),
        secret: Some(SECRET.into()),
        options: WebhookOptions::default(),
    };
    engine.access().create_webhook(new).await.unwrap();
}

fn new_payment() -> NewPayment {
    NewPayment {
        amount: amount(2_550, "USD"),
        description: "Two coffees".to_owned(),
        return_url: "https://shop.example/".to_owned(),
        customer: customer(),
        metadata: BTreeMap::new(),
        methods: Vec::new(),
        restriction: None,
        expires_in: None,
        context: ClientContext::default(),
    }
}
