//! An engine with three connections to one provider, whose rule tries them in their order.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use switchyard_core::environment::Environment;
use switchyard_core::ids::{ConnectionId, TransactionId};
use switchyard_core::routing::RuleSet;
use switchyard_core::transaction::{ClientContext, Kind, Status, Transaction};
use switchyard_engine::access::{Caller, NewConnection};
use switchyard_engine::engine::{ConfirmRequest, NewPayment};
use switchyard_engine::testing::{self, START, TestEngineBuilder, amount, customer};
use switchyard_gateway_host::{GatewaySettings, Gateways};
use switchyard_records::{ListQuery, NewCustomer};
use switchyard_store::Batch;
use switchyard_system::clock::Clock;
use switchyard_system::ids::Ids;
use switchyard_tests::gateways::workers;
use switchyard_tests::programmable_gateway;
use switchyard_tests::provider::{NOWHERE, Provider};
use tempfile::TempDir;

pub const METHOD: &str = "card_usd";

pub struct Road {
    pub bench: testing::TestEngine,
    pub provider: Provider,
    /// In the order of their words in a description.
    pub connections: Vec<ConnectionId>,
    pub caller: Caller,
    _folder: TempDir,
}

/// The programmable gateway, kept in `folder`.
pub async fn gateways(folder: &Path, clock: &Clock) -> Gateways {
    let settings = GatewaySettings {
        dir: folder.join("gateways"),
        development: true,
        worker: workers(),
        ..GatewaySettings::default()
    };
    let gateways = Gateways::new(settings, clock.clone(), Ids::system()).unwrap();
    gateways.add(&programmable_gateway()).await.unwrap();
    gateways
}

impl Road {
    pub async fn new(connections: usize) -> Self {
        let folder = TempDir::new().unwrap();
        let clock = Clock::manual(START);
        let gateways = gateways(folder.path(), &clock).await;
        let wanted = TestEngineBuilder {
            clock,
            ..TestEngineBuilder::with(gateways)
        };
        let bench = wanted.start().await;
        let mut road = Self {
            provider: Provider::start().await,
            connections: Vec::new(),
            caller: bench.caller(),
            bench,
            _folder: folder,
        };
        for slot in 0..connections {
            road.connect(slot).await;
        }
        // An account's response about requests with other credentials proves nothing; these
        // credentials are old enough.
        road.bench.clock.advance(Duration::from_secs(3_600));
        let rule = json!({ "strategy": { "type": "priority", "connections": road.connections } });
        road.rule(json!({ "rules": [rule] })).await;
        road
    }

    async fn connect(&mut self, slot: usize) {
        let connection = NewConnection {
            app: self.caller.app.id,
            environment: Environment::Sandbox,
            gateway: "programmable".into(),
            account_name: format!("Account {slot}"),
            methods: None,
            config: json!({ "url": self.provider.url, "nowhere": NOWHERE, "slot": slot }),
        };
        let access = self.bench.engine.access();
        let made = access.create_connection(connection).await.unwrap();
        self.connections.push(made.id);
        // Ids of one millisecond have no order, and connections are listed by age.
        self.bench.clock.advance(Duration::from_secs(1));
    }

    /// Puts rules in force.
    pub async fn rule(&self, rules: serde_json::Value) {
        let set: RuleSet = serde_json::from_value(rules).unwrap();
        let (access, app) = (self.bench.engine.access(), self.caller.app.id);
        let environment = Environment::Sandbox;
        access
            .set_routing(app, environment, set, None, Batch::new())
            .await
            .unwrap();
    }

    /// Begins a payment and confirms it. `words`: the provider's behaviour at each connection.
    pub async fn pay(&self, words: &str) -> Arc<Transaction> {
        pay(&self.bench.engine, &self.caller, words).await
    }

    /// Turns the clock until the payment has ended.
    pub async fn end(&self, id: TransactionId) -> Arc<Transaction> {
        for _ in 0..2_000 {
            let tx = self.bench.engine.transaction(id).await.unwrap().unwrap();
            if tx.state.is_final() {
                return tx;
            }
            self.bench.clock.advance(Duration::from_secs(5));
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("{id} does not end");
    }

    pub async fn count(&self, status: Status) -> u64 {
        let query = ListQuery {
            app: self.caller.app.id,
            environment: Environment::Sandbox,
            kind: Kind::Payment,
            status: Some(status),
            from: None,
            to: None,
            limit: 1,
            page: 1,
        };
        self.bench.engine.list(&query).await.unwrap().total
    }

    /// The slot of the connection that an attempt went to.
    pub fn slot(&self, connection: ConnectionId) -> usize {
        let at = self.connections.iter().position(|one| *one == connection);
        at.unwrap()
    }
}

pub async fn pay(
    engine: &switchyard_engine::engine::Engine,
    caller: &Caller,
    words: &str,
) -> Arc<Transaction> {
    let new = NewPayment {
        amount: amount(2_500, "USD"),
        description: words.to_owned(),
        return_url: "https://shop.example/return".into(),
        customer: customer(),
        metadata: BTreeMap::new(),
        methods: Vec::new(),
        restriction: None,
        expires_in: None,
        context: ClientContext::default(),
    };
    let payment = engine.initialize_payment(caller, new, None).await.unwrap();
    engine.confirm(payment.id, choice(METHOD)).await.unwrap()
}

pub fn choice(method: &str) -> ConfirmRequest {
    ConfirmRequest {
        method: method.into(),
        country: None,
        phone: None,
        fields: BTreeMap::new(),
        missing: NewCustomer::default(),
        context: ClientContext::default(),
        agreed: None,
    }
}
