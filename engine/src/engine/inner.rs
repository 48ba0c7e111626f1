//! Shared state behind every handle of an engine, and the accessors to its modules.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tokio::runtime::Handle;
use tokio::sync::broadcast;
use tokio::task::AbortHandle;

use super::Engine;
use super::provider_lists::ProviderLists;
use super::route::SharedHealth;
use super::settings::EngineSettings;
use crate::access::Access;
use crate::callback::CallbackTracker;
use crate::exchange_rates::ExchangeRates;
use crate::hold::Hold;
use crate::mail::Mails;
use crate::processing::{Announcement, Registry, Submissions, TimerQueue, Watchers};
use crate::queue::Queue;
use crate::quota::Quotas;
use crate::runtime::ActorThreads;
use crate::webhook::Webhooks;
use switchyard_core::directory::Directory;
use switchyard_gateway_host::Gateways;
use switchyard_store::Store;
use switchyard_system::clock::Clock;
use switchyard_system::ids::Ids;

/// State of a running engine. All handles share it.
pub(super) struct Inner {
    pub store: Store,
    pub access: Access,
    pub gateways: Gateways,
    pub exchange_rates: ExchangeRates,
    pub directory: Arc<Directory>,
    pub clock: Clock,
    pub ids: Ids,
    pub settings: EngineSettings,
    pub webhooks: Webhooks,
    pub mails: Mails,
    pub hold: Hold,
    pub quotas: Quotas,
    pub callbacks: CallbackTracker,
    pub runtime: Handle,
    pub threads: ActorThreads,
    pub registry: Registry,
    pub submissions: Submissions,
    pub watchers: Watchers,
    pub health: SharedHealth,
    /// Lists of providers for the report of a hold.
    pub lists: ProviderLists,
    pub feed: broadcast::Sender<Arc<Announcement>>,
    pub timers: Queue<TimerQueue>,
    /// Task that fetches exchange rates.
    pub fetching: AbortHandle,
    pub stopping: AtomicBool,
    #[cfg(test)]
    pub faults: crate::processing::Faults,
}

impl Engine {
    /// Store of all rows.
    pub fn store(&self) -> &Store {
        &self.0.store
    }

    /// Accounts, apps, API keys, webhooks, connections and their secrets.
    pub fn access(&self) -> &Access {
        &self.0.access
    }

    /// Gateways that are installed.
    pub fn gateways(&self) -> &Gateways {
        &self.0.gateways
    }

    /// Exchange rates.
    pub fn exchange_rates(&self) -> &ExchangeRates {
        &self.0.exchange_rates
    }

    /// Countries and methods.
    pub fn directory(&self) -> &Directory {
        &self.0.directory
    }

    /// Clock of the engine, which a test can set.
    pub fn clock(&self) -> &Clock {
        &self.0.clock
    }

    /// Generator of ids and other random numbers.
    pub fn ids(&self) -> &Ids {
        &self.0.ids
    }

    /// Settings that the engine was started with.
    pub fn settings(&self) -> &EngineSettings {
        &self.0.settings
    }

    /// Delivery of webhooks.
    pub fn webhooks(&self) -> &Webhooks {
        &self.0.webhooks
    }

    /// Delivery of mails.
    pub fn mails(&self) -> &Mails {
        &self.0.mails
    }

    /// Hold of a restored store.
    pub fn hold(&self) -> &Hold {
        &self.0.hold
    }

    /// Counters of the limits for payers and payouts.
    pub(crate) fn quotas(&self) -> &Quotas {
        &self.0.quotas
    }

    /// Queues of received callbacks.
    pub(crate) fn callbacks(&self) -> &CallbackTracker {
        &self.0.callbacks
    }

    /// Queue of the transactions' timers.
    pub(crate) fn timers(&self) -> &Queue<TimerQueue> {
        &self.0.timers
    }

    /// Tokio runtime for gateway calls and other background tasks.
    pub(crate) fn runtime(&self) -> &Handle {
        &self.0.runtime
    }

    /// Threads of the actors.
    pub(crate) fn threads(&self) -> &ActorThreads {
        &self.0.threads
    }

    /// Addresses of the transaction actors.
    pub(crate) fn registry(&self) -> &Registry {
        &self.0.registry
    }

    /// Gateway calls in flight that may move money.
    pub(crate) fn submissions(&self) -> &Submissions {
        &self.0.submissions
    }

    /// Subscribers to the changes of single transactions.
    pub(crate) fn watchers(&self) -> &Watchers {
        &self.0.watchers
    }

    /// Faults that a test injects.
    #[cfg(test)]
    pub(crate) fn faults(&self) -> &crate::processing::Faults {
        &self.0.faults
    }
}
