//! A version of a gateway: one file, known by its hash, loaded for the life of the process.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use switchyard_gateway::manifest::{Manifest, Method};
use switchyard_gateway::{Direction, Operation};

use super::library::Library;
use crate::clock::{Clock, Timestamp};
use crate::limits::{GATEWAY_PANICS_A_MINUTE, GATEWAY_SUSPENSION};
use crate::money::Amount;

/// One loaded gateway. A call holds its version, so a swap under it changes nothing for it.
pub struct Version {
    /// With the installation's own code in place of `{service}`.
    pub manifest: Arc<Manifest>,
    /// Of the file, in lower-case hexadecimal.
    pub sha256: String,
    pub(super) library: Library,
    is_slow: AtomicBool,
    /// In microseconds since 1970.
    suspended_until: AtomicI64,
    clock: Clock,
    panics: Mutex<VecDeque<Timestamp>>,
}

impl Version {
    pub(super) fn new(manifest: Manifest, sha256: String, library: Library, clock: Clock) -> Self {
        Self {
            manifest: Arc::new(manifest),
            sha256,
            library,
            is_slow: AtomicBool::new(false),
            suspended_until: AtomicI64::new(NOT_SUSPENDED),
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

    /// Did it panic so often that it is not called for a while?
    pub fn is_suspended(&self) -> bool {
        self.clock.now().as_micros() < self.suspended_until.load(Ordering::Relaxed)
    }

    /// Ends a suspension before its time.
    pub(super) fn give_another_chance(&self) {
        self.panics().clear();
        self.suspended_until.store(NOT_SUSPENDED, Ordering::Relaxed);
    }

    /// Counts a panic; suspends the version when there were too many within a minute.
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
            let until = now.plus(GATEWAY_SUSPENSION);
            self.suspended_until
                .store(until.as_micros(), Ordering::Relaxed);
            tracing::error!(
                gateway.name = self.name(),
                gateway.sha256 = %self.sha256,
                "gateway suspended after {GATEWAY_PANICS_A_MINUTE} panics within a minute: \
                 its calls are refused until {until}, or until it is added again"
            );
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

/// No clock shows a time before this one.
const NOT_SUSPENDED: i64 = i64::MIN;
const MINUTE: Duration = Duration::from_secs(60);
