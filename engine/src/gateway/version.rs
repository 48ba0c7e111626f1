//! A version of a gateway: one file, known by its hash, loaded for the life of the process.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapOption};
use serde::{Deserialize, Serialize};
use switchyard_gateway::manifest::{Hosts, Manifest, Method};
use switchyard_gateway::{Direction, Operation};

use super::home::Home;
use super::watch::Lanes;
use crate::clock::{Clock, Timestamp};
use crate::limits::GATEWAY_PANICS_A_MINUTE;
use crate::money::Amount;

/// One loaded gateway. A call holds its version, so a swap under it changes nothing for it.
pub struct Version {
    /// With the installation's own code in place of `{service}`.
    pub manifest: Arc<Manifest>,
    /// Of the file, in lower-case hexadecimal.
    pub sha256: String,
    pub(super) home: Home,
    /// The hosts that it may talk to: those of its manifest, or the part of them that an operator granted.
    granted: ArcSwap<Hosts>,
    is_slow: AtomicBool,
    /// Where its steps run that do not run on the runtime's own threads.
    pub(super) lanes: Lanes,
    quarantine: ArcSwapOption<Quarantine>,
    /// The quarantine is one that this version came to by itself, and nobody has written it down yet.
    is_news: AtomicBool,
    is_draining: AtomicBool,
    calls: AtomicUsize,
    clock: Clock,
    panics: Mutex<VecDeque<Timestamp>>,
}

/// Why a version takes nothing new. It lasts until an operator ends it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quarantine {
    pub reason: String,
    pub at: Timestamp,
    /// The operator's name, or `engine`.
    pub by: String,
}

/// A call that runs on a version, for as long as this lives.
pub(super) struct Running<'v>(&'v Version);

impl Version {
    pub(super) fn new(manifest: Manifest, sha256: String, home: Home, clock: Clock) -> Self {
        Self {
            granted: ArcSwap::from_pointee(manifest.hosts.clone()),
            manifest: Arc::new(manifest),
            sha256,
            home,
            is_slow: AtomicBool::new(false),
            lanes: Lanes::default(),
            quarantine: ArcSwapOption::empty(),
            is_news: AtomicBool::new(false),
            is_draining: AtomicBool::new(false),
            calls: AtomicUsize::new(0),
            clock,
            panics: Mutex::default(),
        }
    }

    pub fn name(&self) -> &str {
        &self.manifest.name
    }

    pub fn has(&self, operation: Operation) -> bool {
        self.manifest.has(operation)
    }

    /// The method's row in the manifest. A test gateway serves methods without one: see [`Version::serves`].
    pub fn method(&self, direction: Direction, code: &str) -> Option<&Method> {
        self.manifest
            .methods
            .iter()
            .find(|method| method.direction == direction && method.code == code)
    }

    /// Can it move money this way by this method?
    pub fn serves(&self, direction: Direction, code: &str) -> bool {
        let operation = match direction {
            Direction::Collect => Operation::Collect,
            Direction::Payout => Operation::Payout,
        };
        self.has(operation) && (self.manifest.any_method || self.method(direction, code).is_some())
    }

    /// Does the method's row, if it has one, allow this amount?
    pub fn takes(&self, direction: Direction, code: &str, amount: Amount) -> bool {
        let Some(method) = self.method(direction, code) else {
            return true;
        };
        // A limit that this currency cannot have is none that anyone meant.
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

    /// Is it in quarantine? Then it takes nothing new; it may still be asked about what it began.
    pub fn is_in_quarantine(&self) -> bool {
        self.quarantine.load().is_some()
    }

    /// Why it is in quarantine, if it is.
    pub fn quarantine(&self) -> Option<Arc<Quarantine>> {
        self.quarantine.load_full()
    }

    /// Why it is not called for `operation`. What it began may be asked about in quarantine, too: nothing else settles where money is.
    pub(super) fn refuses(&self, operation: Operation) -> Option<Arc<Quarantine>> {
        match operation {
            Operation::Query | Operation::Callback => None,
            _ => self.quarantine(),
        }
    }

    /// Does its code run in a process of its own?
    pub fn is_apart(&self) -> bool {
        matches!(self.home, Home::Worker(_))
    }

    /// Reason of the last unexpected end of one of its workers since the engine started.
    pub fn last_worker_death(&self) -> Option<String> {
        self.home.last_death().map(|death| death.reason)
    }

    /// How long ago that was.
    pub(super) fn worker_died_ago(&self) -> Option<Duration> {
        self.home.last_death().map(|death| death.ago())
    }

    /// Do no new attempts begin on it, because its gateway is on its way out?
    pub fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::Relaxed)
    }

    /// Calls that run on it now.
    pub fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }

    /// The hosts that it may talk to.
    pub fn hosts(&self) -> Arc<Hosts> {
        self.granted.load_full()
    }

    pub(super) fn grant(&self, hosts: Hosts) {
        self.granted.store(Arc::new(hosts));
    }

    pub(super) fn running(&self) -> Running<'_> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        Running(self)
    }

    pub(super) fn set_draining(&self, is_draining: bool) {
        self.is_draining.store(is_draining, Ordering::Relaxed);
    }

    /// Puts it into quarantine, or takes it out, as the operator wants.
    pub(super) fn set_quarantine(&self, quarantine: Option<Quarantine>) {
        self.panics().clear();
        self.home.forgive();
        self.is_news.store(false, Ordering::Relaxed);
        self.quarantine.store(quarantine.map(Arc::new));
    }

    /// Puts it into quarantine at once, by itself. Nothing of it is stored here: whoever ran the call sees to that.
    pub(super) fn put_into_quarantine(&self, why: &str) {
        if self.is_in_quarantine() {
            return;
        }
        tracing::error!(
            gateway.name = self.name(),
            gateway.sha256 = %self.sha256,
            why,
            "gateway put into quarantine: it takes nothing new until `switchyard gateway restore {}`",
            self.name()
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

    /// The quarantine that it came to by itself, once.
    pub(super) fn news(&self) -> Option<Arc<Quarantine>> {
        if !self.is_news.swap(false, Ordering::Relaxed) {
            return None;
        }
        self.quarantine()
    }

    /// Counts a panic; puts the version into quarantine when there were too many within a minute.
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

    pub(super) fn is_slow(&self) -> bool {
        self.is_slow.load(Ordering::Relaxed)
    }

    pub(super) fn mark_slow(&self, took: Duration) {
        tracing::warn!(
            gateway.name = self.name(),
            duration_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            "a step of a gateway took long: it may only compute, and send by `http`"
        );
        self.is_slow.store(true, Ordering::Relaxed);
    }

    fn panics(&self) -> std::sync::MutexGuard<'_, VecDeque<Timestamp>> {
        self.panics.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Running<'_> {
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

/// Who does what nobody asked for.
pub(super) const ENGINE: &str = "engine";
const MINUTE: Duration = Duration::from_secs(60);
