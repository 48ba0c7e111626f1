//! The circuit breaker of one connection and method.
//!
//! ```text
//!            faults ≥ 30 % of ≥ 20 calls in 30 s, or 5 faults in a row
//!   closed ────────────────────────────────────────────────────────────► open
//!          ◄──────────────────────────────────────────────────────────── probes: 1 of 20 plans
//!                           10 good probes in a row
//! ```
//!
//! The rate finds a provider that fails often under load; the row finds one that is down, even with
//! little traffic. While it is open, each plan that would have used the connection first is
//! counted, and one in twenty is sent there as a probe. When traffic is so thin that twenty plans
//! take longer than ten minutes, there is one probe every ten minutes.

use std::time::Duration;

use super::window::Window;
use crate::time::Timestamp;

/// Breaker transition worth logging: opened or closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakerTransition {
    Opened,
    Closed,
}

#[derive(Clone, Debug)]
pub(super) struct Breaker {
    calls: Window<BUCKETS>,
    faults_in_a_row: u32,
    last_call: Option<Timestamp>,
    trial: Option<ProbeWindow>,
}

/// State of an open breaker.
#[derive(Clone, Debug)]
struct ProbeWindow {
    since: Timestamp,
    /// Faults of a thousand calls when it opened.
    faults_then: u32,
    /// Plans that would have gone here first, and those that did.
    plans: u64,
    probes: u64,
    last_probe: Timestamp,
    /// The last probe before that one.
    probe_before: Timestamp,
    good_in_a_row: u32,
}

impl Default for Breaker {
    fn default() -> Self {
        Self {
            calls: Window::of(BUCKET),
            faults_in_a_row: 0,
            last_call: None,
            trial: None,
        }
    }
}

impl Breaker {
    pub fn is_open(&self) -> bool {
        self.trial.is_some()
    }

    /// Calls and faults of the window.
    pub fn numbers(&self, now: Timestamp) -> (u32, u32) {
        let counts = self.calls.counts(now);
        (counts.all(), counts.bad)
    }

    /// Faults of a thousand calls; without a call lately, as many as when it opened.
    pub fn faults_per_mille(&self, now: Timestamp) -> u32 {
        match (self.numbers(now), &self.trial) {
            ((0, _), Some(trial)) => trial.faults_then,
            ((calls, faults), _) => per_mille(faults, calls),
        }
    }

    /// Notes a call that began at `began` and ended now.
    pub fn note(
        &mut self,
        good: bool,
        began: Timestamp,
        now: Timestamp,
    ) -> Option<BreakerTransition> {
        self.calls.note(good, now);
        let is_stale = |last: Timestamp| now.since(last) > ROW_TIMEOUT;
        if good || self.last_call.is_some_and(is_stale) {
            self.faults_in_a_row = 0;
        }
        self.last_call = Some(now);
        if !good {
            self.faults_in_a_row = self.faults_in_a_row.saturating_add(1);
        }
        match &mut self.trial {
            // What began before it opened tells nothing of healing.
            Some(trial) if began < trial.since => None,
            Some(trial) => {
                trial.good_in_a_row = if good { trial.good_in_a_row + 1 } else { 0 };
                (trial.good_in_a_row >= GOOD_PROBES).then(|| self.close())
            }
            None => (!good && self.is_sick(now)).then(|| self.open(now)),
        }
    }

    /// Counts a plan that would go here first, and says whether it may go as a probe. Closed: it
    /// need not ask.
    pub fn grant(&mut self, now: Timestamp) -> bool {
        let Some(trial) = &mut self.trial else {
            return false;
        };
        trial.plans += 1;
        let within_share = (trial.probes + 1) * PLANS_A_PROBE <= trial.plans;
        let granted = within_share || now.since(trial.last_probe) >= PROBE_INTERVAL;
        if granted {
            trial.probes += 1;
            trial.probe_before = std::mem::replace(&mut trial.last_probe, now);
        }
        granted
    }

    /// Forgets a plan by which no attempt began, and the probe that it would have been.
    pub fn take_back(&mut self, was_probe: bool) {
        let Some(trial) = &mut self.trial else {
            return;
        };
        trial.plans = trial.plans.saturating_sub(1);
        if was_probe {
            trial.probes = trial.probes.saturating_sub(1);
            trial.last_probe = trial.probe_before;
        }
    }

    fn is_sick(&self, now: Timestamp) -> bool {
        let (calls, faults) = self.numbers(now);
        self.faults_in_a_row >= FAULTS_IN_A_ROW
            || (calls >= LEAST_CALLS && per_mille(faults, calls) >= SICK_PER_MILLE)
    }

    fn open(&mut self, now: Timestamp) -> BreakerTransition {
        self.trial = Some(ProbeWindow {
            since: now,
            faults_then: self.faults_per_mille(now),
            plans: 0,
            probes: 0,
            last_probe: now,
            probe_before: now,
            good_in_a_row: 0,
        });
        BreakerTransition::Opened
    }

    /// The faults of before are forgotten: they would open it again at once.
    fn close(&mut self) -> BreakerTransition {
        self.trial = None;
        self.faults_in_a_row = 0;
        self.calls.clear();
        BreakerTransition::Closed
    }
}

pub(super) fn per_mille(part: u32, whole: u32) -> u32 {
    let share = u64::from(part) * 1_000 / u64::from(whole.max(1));
    u32::try_from(share).unwrap_or(1_000)
}

const BUCKETS: usize = 10;
/// Ten of them are the half minute within which a provider that fails half its calls must be found
/// out, healthy past included.
const BUCKET: Duration = Duration::from_secs(3);
/// Fewer calls say too little: three failures of ten happen to a healthy provider.
const LEAST_CALLS: u32 = 20;
/// Healthy providers fail one call in a hundred by their own fault.
const SICK_PER_MILLE: u32 = 300;
/// A provider that fails one call in five does so once in three thousand calls.
const FAULTS_IN_A_ROW: u32 = 5;
/// Faults further apart are no row.
const ROW_TIMEOUT: Duration = Duration::from_secs(10 * 60);
/// One plan of so many goes to a connection whose breaker is open: 5 %.
const PLANS_A_PROBE: u64 = 20;
const PROBE_INTERVAL: Duration = Duration::from_secs(10 * 60);
/// A provider that fails half its calls passes this once in a thousand probes.
const GOOD_PROBES: u32 = 10;
