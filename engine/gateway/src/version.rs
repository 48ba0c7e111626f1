//! Version of a gateway: one file, identified by its hash.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapOption};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use switchyard_gateway::manifest::{Hosts, Manifest, Method};
use switchyard_gateway::{Direction, Operation};

use super::host::GatewayHost;
use super::worker::Crash;
use switchyard_core::limits::{GATEWAY_PANICS_A_MINUTE, GATEWAY_WORKER_DEATHS_AN_HOUR};
use switchyard_core::money::Amount;
use switchyard_core::time::Timestamp;
use switchyard_system::clock::Clock;

/// One loaded version of a gateway. A call holds its version, so a swap does not affect running
/// calls.
pub struct Version {
    /// Manifest with the installation's own code in place of `{service}`.
    pub manifest: Arc<Manifest>,
    /// SHA-256 of the file, in lower-case hexadecimal.
    pub sha256: String,
    pub(super) host: GatewayHost,
    /// Hosts that it may call: those of its manifest, or the subset that an operator granted.
    granted: ArcSwap<Hosts>,
    quarantine: ArcSwapOption<Quarantine>,
    /// Whether the engine set the quarantine, and it is not stored yet.
    is_news: AtomicBool,
    is_draining: AtomicBool,
    calls: AtomicUsize,
    clock: Clock,
    panics: Mutex<VecDeque<Timestamp>>,
    deaths: Mutex<WorkerDeaths>,
}

/// Times at which workers of a version crashed, within the last day.
#[derive(Default)]
struct WorkerDeaths {
    at: Vec<Timestamp>,
    /// Whether the latest one is not stored yet.
    is_news: bool,
}

/// Quarantine of a version, which takes no new work. It lasts until an operator ends it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quarantine {
    pub reason: String,
    pub at: Timestamp,
    /// The operator's name, or `engine`.
    pub by: String,
}

/// Counts a running call of a version until it is dropped.
pub(super) struct CallGuard<'v>(&'v Version);

impl Version {
    pub(super) fn new(manifest: Manifest, sha256: String, host: GatewayHost, clock: Clock) -> Self {
        Self {
            granted: ArcSwap::from_pointee(manifest.hosts.clone()),
            manifest: Arc::new(manifest),
            sha256,
            host,
            quarantine: ArcSwapOption::empty(),
            is_news: AtomicBool::new(false),
            is_draining: AtomicBool::new(false),
            calls: AtomicUsize::new(0),
            clock,
            panics: Mutex::default(),
            deaths: Mutex::default(),
        }
    }

    pub fn name(&self) -> &str {
        &self.manifest.name
    }

    pub fn has(&self, operation: Operation) -> bool {
        self.manifest.has(operation)
    }

    /// Returns the method's row in the manifest. A test gateway serves methods without one: see
    /// [`Version::serves`].
    pub fn method(&self, direction: Direction, code: &str) -> Option<&Method> {
        self.manifest
            .methods
            .iter()
            .find(|method| method.direction == direction && method.code == code)
    }

    /// Whether it can move money in this direction by this method.
    pub fn serves(&self, direction: Direction, code: &str) -> bool {
        let operation = match direction {
            Direction::Collect => Operation::Collect,
            Direction::Payout => Operation::Payout,
        };
        self.has(operation) && (self.manifest.any_method || self.method(direction, code).is_some())
    }

    /// Whether the method's row, if it has one, allows this amount.
    pub fn takes(&self, direction: Direction, code: &str, amount: Amount) -> bool {
        let Some(method) = self.method(direction, code) else {
            return true;
        };
        // A limit that is not valid in this currency is ignored.
        let limit =
            |text: &Option<String>| Amount::parse_major(text.as_deref()?, amount.currency()).ok();
        let fits = limit(&method.min).is_none_or(|min| amount >= min)
            && limit(&method.max).is_none_or(|max| amount <= max);
        let unit = 10_i64.checked_pow(u32::from(
            amount
                .currency()
                .decimals()
                .saturating_sub(method.decimals.unwrap_or(u8::MAX)),
        ));
        fits && unit.is_some_and(|unit| amount.minor() % unit == 0)
    }

    /// Whether it is in quarantine: it takes no new work, and can still be queried about earlier
    /// attempts.
    pub fn is_in_quarantine(&self) -> bool {
        self.quarantine.load().is_some()
    }

    /// Quarantine, if there is one.
    pub fn quarantine(&self) -> Option<Arc<Quarantine>> {
        self.quarantine.load_full()
    }

    /// Quarantine that blocks `operation`, if there is one. Queries and callbacks about earlier
    /// attempts are always allowed: nothing else can determine where the money is.
    pub(super) fn refuses(&self, operation: Operation) -> Option<Arc<Quarantine>> {
        match operation {
            Operation::Query | Operation::Callback => None,
            _ => self.quarantine(),
        }
    }

    /// Reason of the last unexpected end of one of its workers since the engine started.
    pub fn last_worker_death(&self) -> Option<String> {
        self.host.last_crash().map(|crash| crash.reason)
    }

    /// Whether its gateway drains: no new attempts begin on it.
    pub fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::Relaxed)
    }

    /// Number of calls that run on it now.
    pub fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }

    /// Hosts that it may call.
    pub fn hosts(&self) -> Arc<Hosts> {
        self.granted.load_full()
    }

    pub(super) fn grant(&self, hosts: Hosts) {
        self.granted.store(Arc::new(hosts));
    }

    pub(super) fn running(&self) -> CallGuard<'_> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        CallGuard(self)
    }

    pub(super) fn set_draining(&self, is_draining: bool) {
        self.is_draining.store(is_draining, Ordering::Relaxed);
    }

    /// Starts or ends a quarantine as an operator requests.
    pub(super) fn set_quarantine(&self, quarantine: Option<Quarantine>) {
        self.panics().clear();
        *self.deaths.lock() = WorkerDeaths::default();
        self.host.reset();
        self.is_news.store(false, Ordering::Relaxed);
        self.quarantine.store(quarantine.map(Arc::new));
    }

    /// Starts a quarantine at once, set by the engine. Does not store it: the caller of the gateway
    /// does that.
    pub(super) fn put_into_quarantine(&self, why: &str) {
        if self.is_in_quarantine() {
            return;
        }
        tracing::error!(
            gateway.name = self.name(),
            gateway.sha256 = %self.sha256,
            why,
            "gateway put into quarantine"
        );
        metrics::counter!("switchyard_gateway_quarantines_total", "gateway" => self.name().to_owned())
            .increment(1);
        self.quarantine.store(Some(Arc::new(Quarantine {
            reason: why.to_owned(),
            at: self.clock.now(),
            by: ENGINE.to_owned(),
        })));
        self.is_news.store(true, Ordering::Relaxed);
    }

    /// Takes the quarantine that the engine set and that is not stored yet. Returns it once.
    pub(super) fn news(&self) -> Option<Arc<Quarantine>> {
        if !self.is_news.swap(false, Ordering::Relaxed) {
            return None;
        }
        self.quarantine()
    }

    /// Counts a panic. Quarantines the version after too many within a minute.
    pub(super) fn panicked(&self, now: Timestamp) {
        let mut panics = self.panics();
        panics.push_back(now);
        while panics
            .front()
            .is_some_and(|first| now.since(*first) > MINUTE)
        {
            panics.pop_front();
        }
        if panics.len() >= GATEWAY_PANICS_A_MINUTE {
            panics.clear();
            drop(panics);
            self.put_into_quarantine(&format!(
                "it panicked {GATEWAY_PANICS_A_MINUTE} times within a minute"
            ));
        }
    }

    /// Counts a crash of a worker. Quarantines the version after too many within an hour. In
    /// quarantine crashes are not counted: only queries and callbacks run then.
    pub(super) fn worker_died(&self, crash: &Crash) {
        if self.is_in_quarantine() {
            return;
        }
        let now = self.clock.now();
        let count = {
            let mut deaths = self.deaths.lock();
            deaths.at.push(now.minus(crash.ago()));
            deaths.at.retain(|at| now.since(*at) <= DAY);
            deaths.is_news = true;
            let is_recent = |at: &&Timestamp| now.since(**at) <= HOUR;
            deaths.at.iter().filter(is_recent).count()
        };
        if count >= GATEWAY_WORKER_DEATHS_AN_HOUR {
            self.put_into_quarantine(&format!(
                "its worker died {GATEWAY_WORKER_DEATHS_AN_HOUR} times within an hour; last: {}",
                crash.reason
            ));
        }
    }

    /// Whether a worker crashed at `at` or later: within the last day, also before a restart, or
    /// as the last one since the start.
    pub(super) fn has_died_since(&self, at: Timestamp) -> bool {
        let is_stored = self.deaths.lock().at.iter().any(|death| *death >= at);
        let since = self.clock.now().since(at);
        let last = self.host.last_crash();
        is_stored || last.is_some_and(|crash| crash.ago() <= since)
    }

    /// Takes the crashes of the last day, of which one is not stored yet. Returns them once.
    pub(super) fn unstored_deaths(&self) -> Option<Vec<Timestamp>> {
        let mut deaths = self.deaths.lock();
        std::mem::take(&mut deaths.is_news).then(|| deaths.at.clone())
    }

    /// Restores the crashes that were stored before a restart.
    pub(super) fn remember_deaths(&self, at: Vec<Timestamp>) {
        *self.deaths.lock() = WorkerDeaths { at, is_news: false };
    }

    fn panics(&self) -> parking_lot::MutexGuard<'_, VecDeque<Timestamp>> {
        self.panics.lock()
    }
}

impl Drop for CallGuard<'_> {
    fn drop(&mut self) {
        self.0.calls.fetch_sub(1, Ordering::Relaxed);
    }
}

impl std::fmt::Debug for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} {} ({})",
            self.name(),
            self.manifest.version,
            self.sha256
        )
    }
}

/// Author of changes that no operator requested.
pub(super) const ENGINE: &str = "engine";
const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(60 * 60);
/// How long a payout waits for a gateway that can take it, so long its worker's crashes count.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
