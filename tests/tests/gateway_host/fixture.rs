//! Shared parts of the host's tests: gateways in a folder of their own, a store in memory, and
//! calls.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use switchyard_core::environment::Environment;
use switchyard_core::ids::{AttemptId, PaymentId, TransactionId};
use switchyard_core::time::Timestamp;
use switchyard_gateway_host::{
    Call, CallEnd, GatewaySettings, Gateways, Journal, Operation, ProviderCall, Recovered, Version,
    provider_calls, recover,
};
use switchyard_store::Store;
use switchyard_system::clock::Clock;
use switchyard_system::ids::Ids;
use switchyard_tests::gateways::workers;
use tempfile::TempDir;

pub struct Fixture {
    pub gateways: Gateways,
    pub store: Store,
    pub clock: Clock,
    ids: Ids,
    folder: TempDir,
    development: bool,
}

/// One attempt of a transaction.
#[derive(Clone, Copy)]
pub struct Try {
    pub transaction: TransactionId,
    pub attempt: AttemptId,
}

impl Fixture {
    /// In development mode: local providers are allowed.
    pub fn new() -> Self {
        Self::with(true)
    }

    pub fn with(development: bool) -> Self {
        let folder = TempDir::new().unwrap();
        // The wall's time, so that a gateway's sleep is one; tests that need another moment turn a
        // manual clock.
        let clock = Clock::manual(Timestamp::from_seconds(1_795_168_800));
        let ids = Ids::seeded(7);
        let settings = settings(folder.path(), development);
        Self {
            gateways: Gateways::new(settings, clock.clone(), ids.clone()).unwrap(),
            store: Store::memory(),
            clock,
            ids,
            folder,
            development,
        }
    }

    /// The gateways of a process that starts on the same folder.
    pub fn again(&self) -> Gateways {
        let settings = settings(self.folder(), self.development);
        Gateways::new(settings, self.clock.clone(), self.ids.clone()).unwrap()
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn kept(&self) -> PathBuf {
        self.folder.path().join("gateways")
    }

    pub fn attempt(&self) -> Try {
        let now = self.clock.now();
        Try {
            transaction: TransactionId::Payment(PaymentId::new(self.ids.ulid(now))),
            attempt: AttemptId::new(self.ids.ulid(now)),
        }
    }

    pub fn call(
        &self,
        gateway: &Arc<Version>,
        of: Try,
        operation: Operation,
        config: Value,
        input: Value,
    ) -> Call {
        Call {
            gateway: Arc::clone(gateway),
            operation,
            journal: Journal {
                store: self.store.clone(),
                transaction: of.transaction,
                attempt: of.attempt,
            },
            now: self.clock.now(),
            environment: Environment::Sandbox,
            config,
            config_changed_at: None,
            state: Value::Null,
            input,
        }
    }

    /// A collection at `url` whose description says what the misbehaving gateway is to do.
    pub async fn collect(&self, gateway: &Arc<Version>, of: Try, url: &str, what: &str) -> CallEnd {
        let config = json!({ "url": url, "key": KEY });
        let call = self.call(gateway, of, Operation::Collect, config, collection(what));
        self.gateways.call(call).await
    }

    pub async fn recovered(&self, of: Try) -> Recovered {
        recover(&self.store, of.transaction, of.attempt)
            .await
            .unwrap()
    }

    pub async fn provider_calls(&self, of: Try) -> Vec<ProviderCall> {
        provider_calls(&self.store, of.transaction, of.attempt)
            .await
            .unwrap()
    }
}

fn settings(folder: &Path, development: bool) -> GatewaySettings {
    GatewaySettings {
        dir: folder.join("gateways"),
        development,
        worker: workers(),
        ..GatewaySettings::default()
    }
}

/// The input of a collection of 25.00 USD.
pub fn collection(description: &str) -> Value {
    json!({
        "reference": REFERENCE, "transaction": "py_1", "method": "card_usd", "country": "US",
        "amount": {"minor": 2500, "currency": "USD", "decimals": 2, "decimal": "25.00"},
        "payer": {"first_name": "Ada", "msisdn": "4149518161"}, "fields": {}, "description": description,
        "return_url": null, "callback_url": null, "environment": "sandbox"
    })
}

pub const REFERENCE: &str = "7d3f0c9e-5b1a-4a52-9d6e-0f3c8a1b2c4d";
/// The secret of the connection: it may stand nowhere but in the request itself.
pub const KEY: &str = "sk_test_do_not_show_me";
