//! An engine on a clock that the test turns, with one connection to the test gateway whose
//! callbacks are signed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Value, json};
use sha2::Sha256;
use switchyard_core::environment::Environment;
use switchyard_core::ids::{ConnectionId, TransactionId};
use switchyard_core::testing::START;
use switchyard_core::time::Timestamp;
use switchyard_core::transaction::{ClientContext, Event, Transaction};
use switchyard_engine::access::NewConnection;
use switchyard_engine::callback::{
    Callback, CallbackQuery, CallbackRequest, CallbackState, ReceiveError,
};
use switchyard_engine::engine::ConfirmRequest;
use switchyard_gateway_host::{GatewaySettings, Gateways};
use switchyard_records::NewCustomer;
use switchyard_system::clock::Clock;
use switchyard_system::ids::Ids;
use switchyard_tests::gateways::workers;
use switchyard_tests::merchant::Merchant;
use switchyard_tests::{eventually, misbehaving_gateway};
use tempfile::TempDir;

/// Key that the misbehaving gateway trusts.
pub const KEY: &str = "the key of these tests";
pub const SECRET: &str = "a secret of these tests";
/// The number of the test gateway that stays pending.
pub const STAYS_PENDING: &str = "4149518162";
/// The number that it declines at once.
pub const DECLINES: &str = "4149518163";
pub const PAYS: &str = "4149518161";
pub const SOON: Duration = Duration::from_secs(20);

pub struct Fixture {
    pub merchant: Merchant,
    pub connection: ConnectionId,
    /// Folder of gateways of its own.
    folder: Option<TempDir>,
}

impl Fixture {
    /// Callbacks have to be signed.
    pub async fn signed() -> anyhow::Result<Self> {
        Self::with(json!({ "callback_secret": SECRET })).await
    }

    /// Callbacks prove nothing.
    pub async fn unsigned() -> anyhow::Result<Self> {
        Self::with(json!({})).await
    }

    /// At the gateway that does what the test says.
    pub async fn misbehaving() -> anyhow::Result<Self> {
        Self::misbehaving_at("http://127.0.0.1:9").await
    }

    /// The same, with its provider at `url`.
    pub async fn misbehaving_at(url: &str) -> anyhow::Result<Self> {
        Self::at("misbehaving", json!({ "url": url, "key": KEY })).await
    }

    async fn with(config: Value) -> anyhow::Result<Self> {
        Self::at("switchyard_demo", config).await
    }

    /// The same, with gateways that go by the clock of the test, too: a promise of the gateway
    /// counts from its own requests.
    pub async fn misbehaving_by_its_clock(url: &str) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let settings = GatewaySettings {
            dir: folder.path().to_owned(),
            development: true,
            worker: workers(),
            ..GatewaySettings::default()
        };
        let clock = Clock::manual(START);
        let gateways = Gateways::new(settings, clock.clone(), Ids::system())?;
        let merchant = Merchant::with(|wanted| {
            wanted.clock = clock;
            wanted.gateways = gateways;
        });
        let config = json!({ "url": url, "key": KEY });
        let mut fixture = Self::of(merchant.await?, "misbehaving", config).await?;
        fixture.folder = Some(folder);
        Ok(fixture)
    }

    async fn at(gateway: &str, config: Value) -> anyhow::Result<Self> {
        let merchant = Merchant::with(|_| ()).await?;
        Self::of(merchant, gateway, config).await
    }

    async fn of(merchant: Merchant, gateway: &str, config: Value) -> anyhow::Result<Self> {
        let gateways = merchant.bench.engine.gateways();
        gateways.add(&misbehaving_gateway()).await?;
        let new = NewConnection {
            config,
            gateway: gateway.to_owned(),
            ..connection(&merchant)
        };
        let connection = merchant
            .bench
            .engine
            .access()
            .create_connection(new)
            .await?;
        Ok(Self {
            connection: connection.id,
            merchant,
            folder: None,
        })
    }

    /// The next engine on the same store, started when it is `at` by the clock. The clock of this
    /// one stands still, so it does nothing any more.
    pub async fn restarted(&self, at: Timestamp) -> anyhow::Result<Self> {
        let before = &self.merchant.bench;
        let merchant = Merchant::with(|wanted| {
            wanted.store = before.engine.store().clone();
            wanted.gateways = before.engine.gateways().clone();
            wanted.keys = Some(before.keys.clone());
            wanted.clock = Clock::manual(at);
        });
        Ok(Self {
            connection: self.connection,
            merchant: merchant.await?,
            folder: None,
        })
    }

    /// A payment of 25 USD that the payer has confirmed from `number`.
    pub async fn paying(&self, number: &str) -> anyhow::Result<TransactionId> {
        let id = self.merchant.payment().await?;
        self.merchant.pay(&id, number).await?;
        Ok(id.parse()?)
    }

    /// A payment of 25 USD by the misbehaving gateway, which does what the description says.
    pub async fn confirmed(&self, description: &str) -> anyhow::Result<TransactionId> {
        let mut payment = switchyard_tests::merchant::payment();
        payment["description"] = json!(description);
        let reply = self
            .merchant
            .post("/v1/payments/initialize", &payment)
            .await?;
        let id = reply.body["data"]["id"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let choice = ConfirmRequest {
            method: "card_usd".to_owned(),
            country: None,
            phone: None,
            fields: BTreeMap::new(),
            missing: NewCustomer::default(),
            context: ClientContext::default(),
            agreed: None,
        };
        self.merchant
            .bench
            .engine
            .confirm(id.parse()?, choice)
            .await?;
        Ok(id.parse()?)
    }

    pub async fn transaction(&self, id: TransactionId) -> anyhow::Result<Arc<Transaction>> {
        let found = self.merchant.bench.engine.transaction(id).await?;
        found.ok_or_else(|| anyhow::anyhow!("{id} is there"))
    }

    pub async fn reference(&self, id: TransactionId) -> anyhow::Result<String> {
        let found = self.transaction(id).await?;
        Ok(found.attempts[0].reference.to_string())
    }

    /// Callback about a payment of 25 USD.
    pub async fn news(&self, id: TransactionId, status: &str) -> anyhow::Result<Value> {
        Ok(news(&self.reference(id).await?, status))
    }

    pub async fn send(&self, news: &Value) -> Result<(), ReceiveError> {
        self.send_raw(news.to_string(), Some(SECRET)).await
    }

    /// Signed with `key`.
    pub async fn send_raw(&self, body: String, key: Option<&str>) -> Result<(), ReceiveError> {
        let headers = key.map(|key| {
            let signature = ("x-demo-signature".to_owned(), sign(key, &body));
            vec![signature, ("x-key".to_owned(), key.to_owned())]
        });
        let request = CallbackRequest {
            method: "POST".to_owned(),
            path: format!("/callbacks/{}", self.connection),
            query: String::new(),
            headers: headers.unwrap_or_default(),
            body: body.into_bytes(),
            from: None,
        };
        let engine = &self.merchant.bench.engine;
        engine
            .receive_callback(self.connection, request)
            .await
            .map(drop)
    }

    pub async fn callbacks(&self, state: Option<CallbackState>) -> anyhow::Result<Vec<Callback>> {
        let query = CallbackQuery {
            connection: self.connection,
            state,
            before: None,
            limit: 100,
        };
        Ok(self.merchant.bench.engine.list_callbacks(&query).await?)
    }

    /// Turns the clock until `count` callbacks have come to rest, and gives them, the oldest first.
    pub async fn dealt_with(&self, count: usize) -> anyhow::Result<Vec<Callback>> {
        eventually("the callbacks are processed", SOON, async || {
            let mut all = self.callbacks(None).await?;
            let at_rest = all.iter().all(|one| one.state != CallbackState::Waiting);
            if at_rest && all.len() == count {
                all.reverse();
                return Ok(Some(all));
            }
            self.merchant
                .bench
                .clock
                .advance(Duration::from_millis(250));
            Ok(None)
        })
        .await
    }

    /// How often the provider was asked out of turn.
    pub async fn asked(&self, id: TransactionId) -> anyhow::Result<usize> {
        let timeline = self.merchant.bench.engine.timeline(id).await?;
        let asked = |event: &Event| {
            matches!(
                event,
                Event::QueryStarted {
                    scheduled: false,
                    ..
                }
            )
        };
        Ok(timeline.iter().filter(|one| asked(&one.event)).count())
    }
}

pub fn connection(merchant: &Merchant) -> NewConnection {
    NewConnection {
        app: merchant.bench.caller().app.id,
        environment: Environment::Sandbox,
        gateway: "switchyard_demo".to_owned(),
        account_name: "Signed".to_owned(),
        methods: None,
        config: json!({}),
    }
}

/// Callback about a charge of 25 USD.
pub fn news(reference: &str, status: &str) -> Value {
    json!({
        "reference": reference, "id": format!("demo-{reference}"), "status": status, "amount": 2_500, "currency": "USD",
    })
}

pub fn sign(key: &str, body: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(key.as_bytes()).expect("any key will do");
    mac.update(body.as_bytes());
    base16ct::lower::encode_string(&mac.finalize().into_bytes())
}
