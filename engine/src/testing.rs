//! An engine for tests: in memory, on a clock that the test turns, with one app. Behind the feature
//! `testing`.

use std::sync::Arc;

use crate::access::{
    Access, AppChange, AppSettings, Caller, DevelopmentKeys, MasterKey, Options, Vault,
};
use crate::engine::{Dependencies, Engine, EngineSettings};
use crate::exchange_rates::{ExchangeRates, FeedSettings};
use crate::hold::{Hold, Reasons};
use switchyard_core::directory::Directory;
pub use switchyard_core::testing::{START, amount};
use switchyard_gateway_host::Gateways;
use switchyard_records::NewCustomer;
use switchyard_store::Store;
use switchyard_system::clock::Clock;
use switchyard_system::ids::Ids;

/// A running engine and what a merchant has.
pub struct TestEngine {
    pub engine: Engine,
    pub clock: Clock,
    pub keys: DevelopmentKeys,
}

/// Overrides of a test.
pub struct TestEngineBuilder {
    pub store: Store,
    pub clock: Clock,
    pub gateways: Gateways,
    pub settings: EngineSettings,
    /// Source of exchange rates, and the interval of fetches.
    pub feed: FeedSettings,
    /// Requests in any 60 s for each key; 0: no limit.
    pub requests_per_minute: u32,
    /// Attempts that a payer has. One by default, so that a decline ends a test's payment.
    pub checkout_attempts: u8,
    /// The same for each public key, from all addresses together.
    pub public_key_requests_per_minute: u32,
    /// Reasons for a hold of the store.
    pub hold: Reasons,
    /// The keys of an earlier engine on the same store.
    pub keys: Option<DevelopmentKeys>,
}

impl TestEngineBuilder {
    pub fn with(gateways: Gateways) -> Self {
        Self {
            store: Store::memory(),
            clock: Clock::manual(START),
            gateways,
            settings: EngineSettings::default(),
            feed: FeedSettings::default(),
            requests_per_minute: 0,
            checkout_attempts: 1,
            public_key_requests_per_minute: 6_000,
            hold: Reasons::default(),
            keys: None,
        }
    }

    /// Starts the engine.
    ///
    /// # Panics
    /// When it does not start: then the test cannot go on.
    #[allow(clippy::unwrap_used)]
    pub async fn start(self) -> TestEngine {
        let ids = Ids::system();
        let master = MasterKey::from_text(
            &switchyard_core::secret::Secret::new("11".repeat(32)),
            "a test",
        )
        .unwrap();
        let vault = Vault::new(&master, ids.clone());
        let options = Options {
            requests_per_minute: self.requests_per_minute,
            public_key_requests_per_minute: self.public_key_requests_per_minute,
            ..Options::default()
        };
        switchyard_records::format::ensure_format(&self.store)
            .await
            .unwrap();
        let access = Access::load(
            self.store.clone(),
            vault,
            self.clock.clone(),
            ids.clone(),
            options,
        )
        .await
        .unwrap();
        let keys = access.seed_development(self.keys).await.unwrap().keys;
        let settings = AppSettings {
            checkout_attempts: self.checkout_attempts,
            ..access.app(keys.app).unwrap().settings.clone()
        };
        let change = AppChange {
            settings: Some(settings),
            ..AppChange::default()
        };
        access.update_app(keys.app, change).await.unwrap();
        let exchange_rates =
            ExchangeRates::load(self.store.clone(), self.clock.clone(), self.feed, true)
                .await
                .unwrap();
        let hold = Hold::open(self.store.clone(), self.clock.clone(), self.hold);
        let hold = hold.await.unwrap();
        let directory = Arc::new(Directory::new(&self.settings.service_code));
        let engine = Engine::start(Dependencies {
            store: self.store,
            access,
            gateways: self.gateways,
            exchange_rates,
            directory,
            clock: self.clock.clone(),
            ids,
            hold,
            settings: self.settings,
        });
        TestEngine {
            engine: engine.unwrap(),
            clock: self.clock,
            keys,
        }
    }
}

impl TestEngine {
    /// The merchant's server, in sandbox.
    ///
    /// # Panics
    /// Never: the key was made by this engine.
    #[allow(clippy::unwrap_used)]
    pub fn caller(&self) -> Caller {
        self.engine
            .access()
            .authenticate(self.keys.sandbox_secret_key.expose())
            .unwrap()
    }
}

/// A customer with the least that a request must give.
pub fn customer() -> NewCustomer {
    NewCustomer {
        first_name: "Awa".to_owned(),
        last_name: "Diop".to_owned(),
        email: "awa@example.com".to_owned(),
        ..NewCustomer::default()
    }
}
