//! An engine on a clock that the test turns, with one connection: to a provider's simulator,
//! through the library that ships.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use serde_json::Value;
use switchyard_core::environment::Environment;
use switchyard_core::ids::{ConnectionId, TransactionId};
use switchyard_core::money::Amount;
use switchyard_core::transaction::{ClientContext, Status, Transaction};
use switchyard_engine::access::NewConnection;
use switchyard_engine::callback::CallbackRequest;
use switchyard_engine::engine::{ConfirmRequest, NewPayment};
use switchyard_engine::testing::{START, TestEngine, TestEngineBuilder, customer};
use switchyard_gateway_host::{GatewaySettings, Gateways, Listing, ListingCall};
use switchyard_records::NewCustomer;
use switchyard_store::Store;
use switchyard_system::clock::Clock;
use switchyard_system::ids::Ids;
use switchyard_testkit::ProviderCallback;
use tempfile::TempDir;

use crate::eventually;
use crate::gateways::workers;

/// A queue, a call and a commit, on a busy machine.
pub const SOON: Duration = Duration::from_secs(60);
/// More than an answer of the provider stays fresh.
pub const LATER: Duration = Duration::from_secs(11);

/// The engine, its merchant and the connection.
pub struct AtProvider {
    pub merchant: TestEngine,
    pub connection: ConnectionId,
    _folder: TempDir,
}

impl AtProvider {
    /// Starts an engine with the gateway at `library` and a sandbox connection to it.
    ///
    /// # Errors
    /// When the engine refuses either.
    pub async fn start(library: &Path, config: Value) -> anyhow::Result<Self> {
        Self::start_on(Store::memory(), library, config).await
    }

    /// [`Self::start`] on a store of the test.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub async fn start_on(store: Store, library: &Path, config: Value) -> anyhow::Result<Self> {
        let folder = TempDir::new()?;
        let clock = Clock::manual(START);
        let settings = GatewaySettings {
            dir: folder.path().to_owned(),
            development: true,
            worker: workers(),
            ..GatewaySettings::default()
        };
        let gateways = Gateways::new(settings, clock.clone(), Ids::system())?;
        let version = gateways.add(library).await?;
        let wanted = TestEngineBuilder {
            store,
            clock,
            ..TestEngineBuilder::with(gateways)
        };
        let merchant = wanted.start().await;
        let connection = NewConnection {
            app: merchant.caller().app.id,
            environment: Environment::Sandbox,
            gateway: version.name().to_owned(),
            account_name: "Simulated Ltd".into(),
            methods: None,
            config,
        };
        let made = merchant
            .engine
            .access()
            .create_connection(connection)
            .await?;
        Ok(Self {
            connection: made.id,
            merchant,
            _folder: folder,
        })
    }

    /// The seconds since 1970 at which its clock starts.
    pub const fn starts_at() -> i64 {
        START.as_micros() / 1_000_000
    }

    /// The provider's own list of the hour since the start of the clock.
    ///
    /// # Errors
    /// When the provider cannot be asked.
    pub async fn listed(&self) -> anyhow::Result<Listing> {
        let engine = &self.merchant.engine;
        let connection = engine.access().connection(self.connection);
        let connection = connection.context("the connection")?;
        let gateway = engine.gateways().current(&connection.gateway);
        let call = ListingCall {
            gateway: gateway.context("the gateway")?,
            environment: connection.environment,
            config: engine.access().connection_config(&connection)?,
            from: START,
            until: START.plus(Duration::from_secs(3_600)),
        };
        let listing = engine.gateways().list_transactions(&call).await;
        listing.map_err(anyhow::Error::msg)
    }

    /// A payment that its payer confirmed.
    ///
    /// # Errors
    /// When the engine refuses it.
    pub async fn confirm(
        &self,
        amount: Amount,
        choice: ConfirmRequest,
    ) -> anyhow::Result<Arc<Transaction>> {
        let new = NewPayment {
            amount,
            description: "Deux cafés".into(),
            return_url: "https://shop.example/return".into(),
            customer: customer(),
            metadata: BTreeMap::new(),
            methods: Vec::new(),
            restriction: None,
            expires_in: None,
            context: ClientContext::default(),
        };
        let (engine, caller) = (&self.merchant.engine, self.merchant.caller());
        let payment = engine.initialize_payment(&caller, new, None).await?;
        engine.confirm(payment.id, choice).await?;
        Ok(payment)
    }

    /// The reference of its one attempt, when that has left.
    ///
    /// # Errors
    /// When none leaves.
    pub async fn reference(&self, id: TransactionId) -> anyhow::Result<String> {
        eventually("the attempt", SOON, || async {
            let found = self.merchant.engine.transaction(id).await?;
            let attempt = found.and_then(|found| found.attempts.first().cloned());
            Ok(attempt.map(|attempt| attempt.reference.to_string()))
        })
        .await
    }

    /// Brings a callback to the connection's address.
    ///
    /// # Errors
    /// When it is not let in.
    pub async fn deliver(&self, callback: &ProviderCallback) -> anyhow::Result<()> {
        let request = CallbackRequest {
            method: callback.method.clone(),
            path: format!("/callbacks/{}", self.connection),
            query: String::new(),
            headers: callback.headers.clone(),
            body: callback.body.clone().into_bytes(),
            from: None,
        };
        let engine = &self.merchant.engine;
        let received = engine.receive_callback(self.connection, request).await;
        let refused = |refused| anyhow::anyhow!("{refused:?}");
        received.map(drop).map_err(refused)
    }

    /// Waits for this status without a query.
    ///
    /// # Errors
    /// When it does not come.
    pub async fn becomes(
        &self,
        id: TransactionId,
        status: Status,
    ) -> anyhow::Result<Arc<Transaction>> {
        eventually("the news", SOON, || async {
            self.merchant.clock.advance(Duration::from_millis(250));
            let found = self.merchant.engine.transaction(id).await?;
            Ok(found.filter(|found| found.status() == status))
        })
        .await
    }

    /// Verifies as the merchant's server does, until the condition holds; time passes between
    /// requests.
    ///
    /// # Errors
    /// When it never holds.
    pub async fn asks_until(
        &self,
        id: TransactionId,
        holds: impl Fn(&Transaction) -> bool,
    ) -> anyhow::Result<Arc<Transaction>> {
        eventually("what is asked for", SOON, || async {
            self.merchant.clock.advance(LATER);
            let found = self.merchant.engine.verify(id).await?;
            Ok(found.filter(|found| holds(found)))
        })
        .await
    }

    /// The same, until it has this status.
    ///
    /// # Errors
    /// When it never has.
    pub async fn ends(
        &self,
        id: TransactionId,
        status: Status,
    ) -> anyhow::Result<Arc<Transaction>> {
        self.asks_until(id, |found| found.status() == status).await
    }
}

/// By `method`, with nothing filled in.
pub fn choice(method: &str) -> ConfirmRequest {
    ConfirmRequest {
        method: method.to_owned(),
        country: None,
        phone: None,
        fields: BTreeMap::new(),
        missing: NewCustomer::default(),
        context: ClientContext::default(),
        agreed: None,
    }
}
