//! The engine as its callers see it: the API, the pages, the callbacks and the command line ask it,
//! and nothing below.
//!
//! Cloning an [`Engine`] gives another handle on the same one.

mod availability;
mod confirm;
mod connections;
mod customers;
mod error;
mod fields;
mod hold_report;
mod initialize;
mod inner;
mod operator;
mod price;
mod prompt;
mod provider_lists;
mod queries;
mod restored;
mod route;
mod route_preview;
mod settings;
mod simulate;
mod statistics;
mod submit_code;
mod verify;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::runtime::Handle;
use tokio::sync::{broadcast, watch};

pub use confirm::ConfirmRequest;
pub use customers::{ErasedCustomer, Erasure};
pub use error::EngineError;
pub use fields::FieldProblem;
pub use hold_report::{
    Answered, HoldReport, LISTED_PAYOUTS, Progress, Unsent, UnsentPayout, UnsentPayouts,
};
pub use initialize::{NewPayment, NewPayout};
use inner::Inner;
pub use operator::{QueryReport, ResolutionPreview};
pub use provider_lists::{ListStatus, ProviderList, Unknown, UnknownSum};
pub use queries::ProviderIds;
pub(crate) use route::{Plan, Purpose};
pub use route_preview::RoutePreview;
pub use settings::EngineSettings;
pub use simulate::{HypotheticalTransaction, Replay, Replayed, Share, Traffic};
pub use statistics::{CurrencySums, Group, Statistics, Within};

use crate::access::Access;
use crate::callback::{self, CallbackTracker};
use crate::exchange_rates::ExchangeRates;
use crate::hold::Hold;
use crate::mail::{self, Mails};
pub use crate::processing::{Announcement, Live, TransactionSnapshot};
use crate::processing::{Registry, Submissions, Watchers, start_housekeeping, start_timers};
use crate::queue::Queue;
use crate::quota::Quotas;
use crate::runtime::{ActorThreads, Snapshot};
use crate::webhook::{self, Webhooks};
use switchyard_core::directory::Directory;
use switchyard_core::ids::TransactionId;
use switchyard_gateway_host::Gateways;
use switchyard_store::Store;
use switchyard_system::clock::Clock;
use switchyard_system::descriptors;
use switchyard_system::egress::Resolver;
use switchyard_system::ids::Ids;

/// Announcements that a slow listener may fall behind before it misses some. Webhooks do not depend
/// on it: they are in the outbox.
const FEED: usize = 4_096;

/// A handle on the running engine.
#[derive(Clone)]
pub struct Engine(Arc<Inner>);

/// Parts and settings from which an engine is started.
pub struct Dependencies {
    pub store: Store,
    pub access: Access,
    pub gateways: Gateways,
    pub exchange_rates: ExchangeRates,
    pub directory: Arc<Directory>,
    pub clock: Clock,
    pub ids: Ids,
    pub hold: Hold,
    pub settings: EngineSettings,
}

impl Engine {
    /// Starts the actors' threads and the scheduler, which at once scans for unfinished
    /// transactions. Call it on a tokio runtime: gateways are called there.
    ///
    /// # Errors
    /// When the operating system gives no threads, or the settings of webhooks or mails cannot be
    /// used.
    pub fn start(with: Dependencies) -> std::io::Result<Self> {
        if let Err(error) = descriptors::raise_limit() {
            tracing::warn!(%error, "failed to raise the limit on open files");
        }
        let threads = ActorThreads::start()?;
        let webhooks = start_webhooks(&with, &threads)?;
        let mails = start_mails(&with, &threads)?;
        let lists = provider_lists::ProviderLists::new(with.clock.clone());
        let fetching = Handle::current().spawn(with.exchange_rates.clone().keep_fetching());
        let engine = Self(Arc::new(Inner {
            fetching: fetching.abort_handle(),
            quotas: Quotas::new(with.store.clone(), with.clock.clone()),
            store: with.store,
            access: with.access,
            gateways: with.gateways,
            exchange_rates: with.exchange_rates,
            directory: with.directory,
            clock: with.clock,
            ids: with.ids,
            hold: with.hold,
            settings: with.settings,
            runtime: Handle::current(),
            threads,
            webhooks,
            mails,
            callbacks: CallbackTracker::default(),
            registry: Registry::new(),
            submissions: Submissions::default(),
            watchers: Watchers::default(),
            health: route::SharedHealth::new(),
            lists,
            feed: broadcast::channel(FEED).0,
            timers: Queue::default(),
            stopping: AtomicBool::new(false),
            #[cfg(test)]
            faults: crate::processing::Faults::default(),
        }));
        start_timers(&engine);
        start_housekeeping(&engine);
        callback::start(&engine);
        if engine.hold().state().is_some() {
            engine.runtime().spawn(engine.clone().ask_for_unknown());
        }
        Ok(engine)
    }

    /// Stops: nothing new begins; submissions, webhooks and mails that are away get `grace` to come
    /// back; then the actors' threads end and the store is closed. What did not come back is found
    /// again at the next start. Returns whether everything is stored: not when the store could not
    /// write at the end, nor when a thread did not end in order.
    pub async fn stop(&self, grace: std::time::Duration) -> bool {
        self.0.stopping.store(true, Ordering::SeqCst);
        self.timers().stop_now();
        self.callbacks().stop();
        self.0.fetching.abort();
        let deadline = tokio::time::sleep(grace);
        tokio::pin!(deadline);
        while self.submissions().count() > 0 {
            tokio::select! {
                biased;
                () = &mut deadline => break,
                () = tokio::time::sleep(std::time::Duration::from_millis(20)) => {}
            }
        }
        tokio::join!(self.webhooks().stop(grace), self.mails().stop(grace));
        self.registry().clear();
        let engine = self.clone();
        let stopped = tokio::task::spawn_blocking(move || engine.threads().stop()).await;
        if stopped.is_err() {
            tracing::error!("failed to stop the actor threads");
        }
        self.store().close().await && stopped.is_ok()
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.0.stopping.load(Ordering::SeqCst)
    }

    /// News of one transaction: the value changes after each of its commits.
    pub fn watch(&self, id: TransactionId) -> watch::Receiver<Live> {
        self.watchers().watch(id)
    }

    /// Sends an announcement to the listeners of [`Self::feed`].
    pub(crate) fn publish(&self, announcement: Announcement) {
        // An error means that there are no listeners.
        let _ = self.0.feed.send(Arc::new(announcement));
    }

    /// All announcements after this call, in the order in which they became durable.
    pub fn feed(&self) -> broadcast::Receiver<Arc<Announcement>> {
        self.0.feed.subscribe()
    }

    /// How many transaction actors are up.
    pub fn live_actors(&self) -> usize {
        self.registry().live()
    }

    /// How many submissions to gateways are away.
    pub fn submissions_away(&self) -> usize {
        self.submissions().count()
    }

    /// State of the transaction's actor; `None` when it is passivated.
    pub async fn transaction_actor(&self, id: TransactionId) -> Option<TransactionSnapshot> {
        self.registry()
            .find(id)?
            .send(Snapshot::default())
            .await
            .ok()
    }
}

/// Starts the webhook room on one of the actors' threads.
fn start_webhooks(with: &Dependencies, threads: &ActorThreads) -> std::io::Result<Webhooks> {
    let dependencies = webhook::Dependencies {
        store: with.store.clone(),
        access: with.access.clone(),
        clock: with.clock.clone(),
        ids: with.ids.clone(),
        settings: with.settings.webhook.clone(),
        names: Resolver::system(),
    };
    Webhooks::start(dependencies, threads.arbiter()).map_err(std::io::Error::other)
}

/// Starts the mail room on one of the actors' threads.
fn start_mails(with: &Dependencies, threads: &ActorThreads) -> std::io::Result<Mails> {
    let dependencies = mail::Dependencies {
        store: with.store.clone(),
        access: with.access.clone(),
        clock: with.clock.clone(),
        directory: with.directory.clone(),
        service: with.settings.service_name.clone(),
        public_url: with.settings.public_url.clone(),
        settings: with.settings.mail.clone(),
    };
    Mails::start(dependencies, threads.arbiter()).map_err(std::io::Error::other)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::exchange_rates::FeedSettings;
    use crate::testing::TestEngineBuilder;

    #[tokio::test(flavor = "multi_thread")]
    async fn no_rates_are_fetched_any_more_once_the_engine_has_stopped() {
        let gateways = switchyard_gateway_host::Gateways::default();
        let wanted = TestEngineBuilder {
            feed: FeedSettings {
                url: Some("http://127.0.0.1:1/rates".parse().unwrap()),
                ..FeedSettings::default()
            },
            ..TestEngineBuilder::with(gateways)
        };
        let test = wanted.start().await;
        let fetching = test.engine.0.fetching.clone();
        assert!(!fetching.is_finished());
        test.engine.stop(Duration::from_secs(10)).await;
        let ended = async {
            while !fetching.is_finished() {
                tokio::task::yield_now().await;
            }
        };
        let ended = tokio::time::timeout(Duration::from_secs(20), ended).await;
        assert!(ended.is_ok(), "it goes on asking for rates");
    }
}
