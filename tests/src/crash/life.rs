//! One process: an engine on the disk that outlives it, and what clients do with it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::PoisonError;
use std::time::Duration;

use anyhow::Context;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::Request;
use serde_json::Value;
use switchyard::routes;
use switchyard::state::{ApiState, HttpSettings};
use switchyard_core::transaction::{ClientContext, Status};
use switchyard_engine::engine::{ConfirmRequest, EngineSettings};
use switchyard_engine::mail::MailSettings;
use switchyard_engine::testing::{TestEngine, TestEngineBuilder};
use switchyard_engine::webhook::WebhookSettings;
use switchyard_gateway_host::{GatewaySettings, Gateways};
use switchyard_records::NewCustomer;
use switchyard_store::{CrashPoint, CrashingKv};
use switchyard_system::ids::Ids;
use tower::ServiceExt as _;

use super::Point;
use super::end::{self, End};
use super::outside::Outside;
use crate::PAYS;
use crate::client::{payment, payout};
use crate::gateways::workers;

/// A process that may die at any moment; what clients ask of it then is never answered.
pub struct Life<'o> {
    pub bench: TestEngine,
    pub gateways: Gateways,
    pub(super) outside: &'o Outside,
    router: Router,
    process: CrashingKv,
}

impl<'o> Life<'o> {
    /// `None`: the process crashed during its start.
    pub(super) async fn begin(outside: &'o Outside, point: Point) -> anyhow::Result<Option<Self>> {
        let death = match point {
            Point::Flush(death) => death,
            Point::Nowhere | Point::Arrival(_) => CrashPoint::Never,
        };
        let process = CrashingKv::new(&outside.disk, death);
        if let Point::Arrival(arrival) = point {
            outside.wires.lead_to(arrival, &process);
        }
        match Self::start(outside, &process).await {
            Ok(life) => Ok(Some(life)),
            Err(_) if process.is_dead() => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn start(outside: &'o Outside, process: &CrashingKv) -> anyhow::Result<Self> {
        let store = process.store();
        let settings = GatewaySettings {
            dir: outside.folder.path().join("gateways"),
            development: true,
            worker: workers(),
            ..GatewaySettings::default()
        };
        let gateways = Gateways::new(settings, outside.clock.clone(), Ids::system())?;
        gateways.keep_in(&store).await?;
        let keys = outside.keys.lock();
        let keys = keys.unwrap_or_else(PoisonError::into_inner).clone();
        let wanted = TestEngineBuilder {
            store,
            clock: outside.clock.clone(),
            settings: settings_of(outside),
            keys,
            ..TestEngineBuilder::with(gateways.clone())
        };
        // A bench that does not start panics: here because its store is dead.
        let bench = tokio::spawn(wanted.start()).await?;
        let keys = Some(bench.keys.clone());
        *outside.keys.lock().unwrap_or_else(PoisonError::into_inner) = keys;
        let state = ApiState::new(bench.engine.clone(), HttpSettings::default());
        Ok(Self {
            router: routes::router(state),
            bench,
            gateways,
            outside,
            process: process.clone(),
        })
    }

    pub(super) fn is_dead(&self) -> bool {
        self.process.is_dead()
    }

    /// Result of `work`, or `None` when the process crashes before it.
    pub(super) async fn lives<T>(
        &self,
        work: impl AsyncFnOnce() -> anyhow::Result<T>,
    ) -> anyhow::Result<Option<T>> {
        let died = async {
            while !self.is_dead() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::select! {
            biased;
            () = died => Ok(None),
            worked = work() => match worked {
                Err(_) if self.is_dead() => Ok(None),
                worked => worked.map(Some),
            },
        }
    }

    pub(super) async fn end(self) {
        self.bench.engine.stop(Duration::ZERO).await;
    }

    pub(super) async fn see(&self) -> anyhow::Result<End> {
        end::see(self).await
    }

    /// Timeline of each order, to find out why it ended otherwise.
    pub(super) async fn tell(&self) -> anyhow::Result<String> {
        let orders = self.outside.orders.lock();
        let orders = orders.unwrap_or_else(PoisonError::into_inner).clone();
        let mut told = String::new();
        for (name, id) in &orders {
            let timeline = self.bench.engine.timeline(id.parse()?).await?;
            told.push_str(&format!("{name}: {timeline:#?}\n"));
        }
        Ok(told)
    }

    /// Orders a payment. `name`: the client's own; given again it is the same order. `words`: what
    /// the provider does at each connection.
    pub async fn payment(&self, name: &str, words: &str) -> anyhow::Result<String> {
        self.order(name, "/v1/payments/initialize", payment(words))
            .await
    }

    /// Orders a payout, as [`Self::payment`] does.
    pub async fn payout(&self, name: &str, words: &str) -> anyhow::Result<String> {
        self.order(name, "/v1/payouts/initialize", payout(words, PAYS))
            .await
    }

    /// Payer's actions on the page; none when they are done already.
    pub async fn pay(&self, id: &str) -> anyhow::Result<()> {
        let engine = &self.bench.engine;
        let found = engine.transaction(id.parse()?).await?;
        if found.context("it was promised")?.status() != Status::Initiated {
            return Ok(());
        }
        let choice = ConfirmRequest {
            method: "switchyard_payment_demo".to_owned(),
            country: Some("US".to_owned()),
            phone: Some(PAYS.to_owned()),
            fields: BTreeMap::from([("msisdn".to_owned(), PAYS.to_owned())]),
            missing: NewCustomer::default(),
            context: ClientContext::default(),
            agreed: None,
        };
        engine.confirm(id.parse()?, choice).await?;
        Ok(())
    }

    /// Installs a gateway, unless this version is current.
    pub async fn upgrade(&self, library: &Path) -> anyhow::Result<()> {
        self.gateways.add(library).await?;
        Ok(())
    }

    /// A folder for files of the test's, which outlives processes.
    pub fn folder(&self) -> &Path {
        self.outside.folder.path()
    }

    async fn order(&self, name: &str, path: &str, body: Value) -> anyhow::Result<String> {
        let key = self.bench.keys.sandbox_secret_key.expose();
        let request = Request::post(path)
            .header("content-type", "application/json")
            .header("authorization", format!("Bearer {key}"))
            .header("idempotency-key", name)
            .body(Body::from(body.to_string()))?;
        let answer = self.router.clone().oneshot(request).await?;
        let status = answer.status();
        let body: Value = serde_json::from_slice(&to_bytes(answer.into_body(), 1 << 20).await?)?;
        anyhow::ensure!(status == 201, "{name}: {status} {body}");
        let id = body["data"]["id"].as_str().context("an id")?.to_owned();
        let orders = self.outside.orders.lock();
        let mut orders = orders.unwrap_or_else(PoisonError::into_inner);
        let earlier = orders.insert(name.to_owned(), id.clone());
        anyhow::ensure!(
            earlier.is_none_or(|earlier| earlier == id),
            "{name} was ordered twice"
        );
        Ok(id)
    }
}

fn settings_of(outside: &Outside) -> EngineSettings {
    EngineSettings {
        expires_after: Duration::from_secs(24 * 60 * 60),
        webhook: WebhookSettings {
            interval: Duration::from_secs(1),
            retries: 10,
            allow_private: true,
            ..WebhookSettings::default()
        },
        mail: MailSettings {
            folder: Some(outside.mails()),
            from: "Switchyard <no-reply@switchyard.example>".to_owned(),
            ..MailSettings::default()
        },
        ..EngineSettings::default()
    }
}
