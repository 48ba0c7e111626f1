//! Parts that outlive the process: the disk, the clock, the provider, the merchant's inbox, and the
//! connections to them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::middleware::{self, Next};
use axum::response::Response;
use serde_json::json;
use switchyard_core::environment::Environment;
use switchyard_core::secret::Secret;
use switchyard_engine::access::{DevelopmentKeys, NewConnection, NewWebhook, WebhookOptions};
use switchyard_engine::testing::START;
use switchyard_store::{CrashingKv, MemoryDisk};
use switchyard_system::clock::Clock;
use tempfile::TempDir;

use super::Point;
use super::life::Life;
use crate::gateways::programmable_gateway;
use crate::provider::{NOWHERE, Provider};
use crate::sweep::inbox::{Inbox, SECRET};

/// The process dies when a request arrives outside, counted from 1 over the provider and the inbox
/// together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    /// The request is lost and not executed.
    Lost(u64),
    /// And it is done.
    Done(u64),
}

pub(super) struct Outside {
    pub disk: MemoryDisk,
    pub clock: Clock,
    pub provider: Provider,
    pub inbox: Inbox,
    pub folder: TempDir,
    pub keys: Mutex<Option<DevelopmentKeys>>,
    /// Ids by the names that clients gave to their orders.
    pub orders: Mutex<BTreeMap<String, String>>,
    pub wires: Wires,
}

/// All requests pass here on their way to the outside.
#[derive(Clone, Default)]
pub(super) struct Wires(Arc<Mutex<Wired>>);

#[derive(Default)]
struct Wired {
    arrived: u64,
    kills: Option<(Arrival, CrashingKv)>,
}

impl Outside {
    /// An app with a webhook and two connections to the provider; no process runs.
    pub(super) async fn set_up() -> anyhow::Result<Self> {
        let wires = Wires::default();
        let outside = Self {
            disk: MemoryDisk::default(),
            clock: Clock::manual(START),
            provider: Provider::behind(|provider| wires.before(provider)).await,
            inbox: Inbox::behind(|inbox| wires.before(inbox)).await?,
            folder: TempDir::new()?,
            keys: Mutex::default(),
            orders: Mutex::default(),
            wires,
        };
        let Some(life) = Life::begin(&outside, Point::Nowhere).await? else {
            anyhow::bail!("nobody kills this one");
        };
        life.gateways.add(&programmable_gateway()).await?;
        let access = life.bench.engine.access();
        let app = life.bench.caller().app.id;
        access
            .create_webhook(NewWebhook {
                app,
                url: outside.inbox.url.clone(),
                secret: Some(Secret::new(SECRET.to_owned())),
                options: WebhookOptions::default(),
            })
            .await?;
        for slot in 0..2 {
            let config = json!({ "url": outside.provider.url, "nowhere": NOWHERE, "slot": slot });
            access
                .create_connection(NewConnection {
                    app,
                    environment: Environment::Sandbox,
                    gateway: "programmable".into(),
                    account_name: format!("Account {slot}"),
                    methods: None,
                    config,
                })
                .await?;
            // Ids of one millisecond have no order, and connections are taken by age.
            outside.clock.advance(Duration::from_secs(1));
        }
        life.end().await;
        Ok(outside)
    }

    /// Back to `begin`, with nothing in the books and nothing in the inbox.
    pub(super) fn rewind(&mut self, begin: &MemoryDisk) -> anyhow::Result<()> {
        self.disk = begin.copy();
        self.clock = Clock::manual(START.plus(OLD_ENOUGH));
        self.provider.forget();
        self.inbox.forget();
        self.wires.lead_nowhere();
        self.orders = Mutex::default();
        if self.mails().exists() {
            std::fs::remove_dir_all(self.mails())?;
        }
        Ok(())
    }

    pub(super) fn mails(&self) -> PathBuf {
        self.folder.path().join("mails")
    }
}

impl Wires {
    /// Counts arrivals after this call, and crashes the process at one of them.
    pub(super) fn lead_to(&self, arrival: Arrival, process: &CrashingKv) {
        let mut wired = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *wired = Wired {
            arrived: 0,
            kills: Some((arrival, process.clone())),
        };
    }

    fn lead_nowhere(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Wired::default();
    }

    fn before(&self, router: Router) -> Router {
        let wires = self.clone();
        router.layer(middleware::from_fn(move |request, next| {
            let wires = wires.clone();
            async move { wires.pass(request, next).await }
        }))
    }

    async fn pass(&self, request: Request, next: Next) -> Response {
        match self.arrives() {
            Some((Arrival::Lost(_), process)) => process.kill(),
            Some((Arrival::Done(_), process)) => {
                next.run(request).await;
                process.kill();
            }
            None => return next.run(request).await,
        }
        // The connection ends with the process, without a word.
        std::panic::resume_unwind(Box::new("a connection to a process that died on purpose"))
    }

    fn arrives(&self) -> Option<(Arrival, CrashingKv)> {
        let mut wired = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        wired.arrived += 1;
        let arrived = wired.arrived;
        wired.kills.take_if(|(arrival, _)| {
            matches!(arrival, Arrival::Lost(at) | Arrival::Done(at) if *at == arrived)
        })
    }
}

/// Age of the connections when a history begins: a provider's "not found" proves nothing about a
/// request that used credentials as new as itself.
const OLD_ENOUGH: Duration = Duration::from_secs(3_600);
