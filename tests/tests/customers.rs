//! Customers over a running server: the export of personal data, and an erasure that leaves none of
//! it in any answer.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use switchyard_tests::client::{payment, payout, pays};
use switchyard_tests::receiver::Receiver;
use switchyard_tests::server::{Server, Setup};
use switchyard_tests::{Client, PAYS, STAYS_PENDING, eventually};

const OWNER: &str = "owner@example.com";
const PASSWORD: &str = "violet-teapots-locally";
const SECRET: &str = "whsec_dGhlIHNlY3JldCBvZiB0aGUgdGVzdHM=";

/// A request of a customer with these words of their own.
fn of(mut request: Value, email: &str) -> Value {
    let person = request["customer"].as_object_mut();
    let person = person.expect("a request has a customer");
    person.insert("email".to_owned(), json!(email));
    person.insert("first_name".to_owned(), json!("Zenobia"));
    person.insert("last_name".to_owned(), json!("Okonkwo"));
    person.insert("address".to_owned(), json!("7 Rue des Tisserands"));
    request
}

const WORDS: [&str; 5] = [
    "zenobia@example.com",
    "Zenobia",
    "Okonkwo",
    "Tisserands",
    PAYS,
];

fn names_somebody(text: &str) -> Option<&'static str> {
    WORDS.into_iter().find(|word| text.contains(word))
}

struct Shop {
    server: Server,
    owner: Client,
    receiver: Receiver,
    scope: String,
}

impl Shop {
    async fn open() -> anyhow::Result<Self> {
        let server = Server::start(Setup::default()).await?;
        let receiver = Receiver::start().await?;
        server.add_webhook(&receiver.url(), SECRET).await?;
        let body = json!({ "email": OWNER, "password": PASSWORD });
        let signed_in = server.stranger().post("/account/v1/sign-in", &body).await?;
        let owner = signed_in.expect(201)?.data("token")?.to_owned();
        let scope = format!("/account/v1/apps/{}/sandbox", server.dev().app_id);
        Ok(Self {
            owner: server.stranger().with_key(&owner),
            server,
            receiver,
            scope,
        })
    }

    /// A payment of the customer, paid from this number.
    async fn payment(&self, number: &str) -> anyhow::Result<String> {
        let merchant = self.server.merchant();
        let new = of(payment("Order 7"), WORDS[0]);
        let made = merchant.post("/v1/payments/initialize", &new).await?;
        let id = made.expect(201)?.data("id")?.to_owned();
        pays(&self.server.stranger(), &id, number).await?;
        Ok(id)
    }

    async fn ended(&self, id: &str) -> anyhow::Result<()> {
        let merchant = self.server.merchant();
        eventually("the end", Duration::from_secs(20), async || {
            let shown = merchant.get(&format!("/v1/payments/{id}/verify")).await?;
            Ok((shown.expect(200)?.data("status")? == "success").then_some(()))
        })
        .await
    }

    /// Waits until the receiver has acknowledged so many events.
    async fn heard(&self, count: usize) -> anyhow::Result<()> {
        eventually("the webhooks", Duration::from_secs(30), async || {
            let received = self.receiver.received();
            let done = received.iter().filter(|one| one.was_acknowledged());
            Ok((done.count() >= count).then_some(()))
        })
        .await
    }

    async fn customer(&self) -> anyhow::Result<String> {
        let path = format!("{}/customers?email=ZENOBIA@example.com", self.scope);
        let listed = self.owner.get(&path).await?.expect(200)?;
        let id = listed.body["data"]["customers"][0]["id"].as_str();
        Ok(id.context("the customer")?.to_owned())
    }

    async fn erase(&self, customer: &str) -> anyhow::Result<Value> {
        let path = format!("{}/customers/{customer}/erase", self.scope);
        let erased = self.owner.post(&path, &json!({})).await?.expect(200)?;
        Ok(erased.body["data"].clone())
    }

    /// All answers about a transaction, as text.
    async fn about(&self, id: &str) -> anyhow::Result<String> {
        let kind = if id.starts_with("po_") {
            "payouts"
        } else {
            "payments"
        };
        let (merchant, mut all) = (self.server.merchant(), String::new());
        for path in [
            format!("/v1/{kind}/{id}"),
            format!("/v1/{kind}/{id}/verify"),
        ] {
            all += &merchant.get(&path).await?.expect(200)?.body.to_string();
        }
        let path = format!("{}/transactions/{id}", self.scope);
        all += &self.owner.get(&path).await?.expect(200)?.body.to_string();
        Ok(all)
    }

    /// Everything that was sent to the webhooks of the app.
    async fn deliveries(&self) -> anyhow::Result<String> {
        let app = &self.server.dev().app_id;
        let listed = self
            .owner
            .get(&format!("/account/v1/apps/{app}/webhooks"))
            .await?;
        let webhooks = listed.expect(200)?.body["data"].clone();
        let mut all = String::new();
        for webhook in webhooks.as_array().context("webhooks")? {
            let webhook = webhook["id"].as_str().context("an id")?;
            let path = format!("/account/v1/apps/{app}/webhooks/{webhook}/deliveries?limit=100");
            all += &self.owner.get(&path).await?.expect(200)?.body.to_string();
        }
        Ok(all)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_erased_customer_is_named_by_no_answer_and_amounts_stay() -> anyhow::Result<()> {
    let shop = Shop::open().await?;
    let paid = shop.payment(PAYS).await?;
    shop.ended(&paid).await?;
    let merchant = shop.server.merchant();
    let order = of(payout("Wages", PAYS), WORDS[0]);
    let made = merchant.post("/v1/payouts/initialize", &order).await?;
    let sent = made.expect(201)?.data("id")?.to_owned();
    shop.heard(4).await?;
    let before = merchant
        .get(&format!("/v1/payments/{paid}"))
        .await?
        .expect(200)?;
    let customer = shop.customer().await?;

    let path = format!("{}/customers/{customer}/export", shop.scope);
    let exported: Value = serde_json::from_str(&shop.owner.page(&path).await?)?;
    let text = exported.to_string();
    ensure!(WORDS.iter().all(|word| text.contains(word)), "{text}");
    let transactions = exported["transactions"].as_array().context("a list")?;
    let ids: Vec<_> = transactions.iter().map(|one| one["id"].clone()).collect();
    ensure!(ids == [json!(sent), json!(paid)], "{ids:?}");

    let erased = shop.erase(&customer).await?;
    ensure!(erased["erased"] == 2 && erased["kept"] == 0, "{erased}");
    ensure!(erased["is_deleted"] == true, "{erased}");
    for id in [&paid, &sent] {
        let all = shop.about(id).await?;
        ensure!(
            names_somebody(&all).is_none(),
            "{:?}: {all}",
            names_somebody(&all)
        );
        ensure!(all.contains("erased_personal_data"), "{all}");
    }
    let log = shop.deliveries().await?;
    ensure!(names_somebody(&log).is_none(), "{log}");
    let after = merchant
        .get(&format!("/v1/payments/{paid}"))
        .await?
        .expect(200)?;
    for kept in [
        "id",
        "status",
        "amount",
        "currency",
        "success_at",
        "metadata",
    ] {
        ensure!(
            before.body["data"][kept] == after.body["data"][kept],
            "{kept}"
        );
    }
    ensure!(after.body["data"]["capture"]["amount"] == before.body["data"]["capture"]["amount"]);

    let again = format!("{}/customers/{customer}", shop.scope);
    shop.owner.get(&again).await?.expect(404)?;
    let search = format!("{}/search?text=zenobia@example.com", shop.scope);
    let found = shop.owner.get(&search).await?.expect(200)?;
    ensure!(found.body["data"]["transactions"] == json!([]), "{found:?}");
    let made = merchant
        .post("/v1/payments/initialize", &of(payment("Order 8"), WORDS[0]))
        .await?;
    made.expect(201)?;
    ensure!(shop.customer().await? != customer, "they begin anew");
    Ok(())
}

/// Another person's payment may name a customer in its description or metadata.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_export_and_an_erasure_are_about_no_other_person() -> anyhow::Result<()> {
    let shop = Shop::open().await?;
    let paid = shop.payment(PAYS).await?;
    shop.ended(&paid).await?;
    let customer = shop.customer().await?;
    let merchant = shop.server.merchant();
    let mut others = Vec::new();
    for (field, value) in [
        ("metadata", json!({ "referred_by": customer })),
        ("description", json!(format!("Gift for {customer}"))),
    ] {
        let mut new = of(payment("Order 9"), "bob@example.com");
        new[field] = value;
        let made = merchant.post("/v1/payments/initialize", &new).await?;
        let id = made.expect(201)?.data("id")?.to_owned();
        pays(&shop.server.stranger(), &id, PAYS).await?;
        shop.ended(&id).await?;
        others.push(id);
    }
    shop.heard(6).await?;
    let path = format!("{}/customers/{customer}/export", shop.scope);
    let exported: Value = serde_json::from_str(&shop.owner.page(&path).await?)?;
    let text = exported.to_string();
    ensure!(!text.contains("bob@example.com"), "{text}");
    let erased = shop.erase(&customer).await?;
    ensure!(
        erased["erased"] == 1 && erased["is_deleted"] == true,
        "{erased}"
    );
    for id in &others {
        let all = shop.about(id).await?;
        ensure!(all.contains("bob@example.com"), "{all}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_in_progress_keeps_its_data_and_an_erasure_survives_a_kill() -> anyhow::Result<()> {
    let mut shop = Shop::open().await?;
    let paid = shop.payment(PAYS).await?;
    shop.ended(&paid).await?;
    let pending = shop.payment(STAYS_PENDING).await?;
    shop.heard(3).await?;
    let customer = shop.customer().await?;
    let erased = shop.erase(&customer).await?;
    ensure!(erased["erased"] == 1 && erased["kept"] == 1, "{erased}");
    ensure!(erased["kept_transactions"] == json!([pending]), "{erased}");
    ensure!(erased["is_deleted"] == false, "{erased}");
    shop.server.kill().await?;
    shop.server.up().await?;
    ensure!(names_somebody(&shop.about(&paid).await?).is_none());
    ensure!(names_somebody(&shop.about(&pending).await?).is_some());
    let path = format!("{}/customers/{customer}", shop.scope);
    let shown = shop.owner.get(&path).await?.expect(200)?;
    ensure!(shown.body["data"]["email"] == WORDS[0], "{}", shown.body);
    let path = format!("{}/customers?email={}", shop.scope, WORDS[0]);
    let listed = shop.owner.get(&path).await?.expect(200)?;
    ensure!(
        listed.body["data"]["customers"] == json!([]),
        "{}",
        listed.body
    );
    let again = shop.erase(&customer).await?;
    ensure!(again["erased"] == 0 && again["kept"] == 1, "{again}");
    Ok(())
}
