//! Recent results of each connection and method: the breaker, outcomes of attempts, and whether its
//! account is empty.
//!
//! Bounded: connections without recent results are evicted when there are too many. An update and a
//! read cost a lookup in a map and a handful of buckets.

use std::collections::BTreeMap;
use std::time::Duration;

use super::breaker::{Breaker, BreakerTransition};
use super::verdict::Verdict;
use super::window::Window;
use crate::ids::ConnectionId;
use crate::time::Timestamp;
use crate::transaction::{HealthNumbers, Kind};

/// Key of a health entry.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    pub connection: ConnectionId,
    pub kind: Kind,
    pub method: String,
}

/// The health of one connection with one method, for plans and for people.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecentResults {
    pub numbers: HealthNumbers,
    /// For comparing sick ones with each other.
    pub faults_per_mille: u32,
}

/// Last call that failed by the provider's fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastFault {
    pub at: Timestamp,
    /// In the words of the gateway or the provider.
    pub why: String,
}

/// Health of all connections, as observed by this process.
#[derive(Debug)]
pub struct Health {
    /// Two generations: an updated entry moves into the young one; when that is full the old one is
    /// dropped.
    young: BTreeMap<Key, HealthEntry>,
    old: BTreeMap<Key, HealthEntry>,
    limit: usize,
}

#[derive(Debug)]
struct HealthEntry {
    breaker: Breaker,
    ends: Window<END_BUCKETS>,
    short_of_funds_until: Option<Timestamp>,
    last_fault: Option<LastFault>,
}

impl Health {
    /// Keeps at most `limit` connections and methods.
    pub const fn new(limit: usize) -> Self {
        Self {
            young: BTreeMap::new(),
            old: BTreeMap::new(),
            limit,
        }
    }

    /// Notes what a call that began at `began` came to. Says when the breaker opened or closed over
    /// it.
    pub fn note(
        &mut self,
        key: &Key,
        verdict: Verdict,
        began: Timestamp,
        now: Timestamp,
    ) -> Option<BreakerTransition> {
        if verdict == Verdict::default() {
            return None;
        }
        let condition = self.condition(key);
        if let Some(succeeded) = verdict.succeeded {
            condition.ends.note(succeeded, now);
        }
        if verdict.short_of_funds {
            condition.short_of_funds_until = Some(now.plus(FUNDS_RETRY_INTERVAL));
        } else if verdict.succeeded == Some(true) {
            condition.short_of_funds_until = None;
        }
        condition.breaker.note(verdict.works?, began, now)
    }

    /// Notes why the last call failed, for people.
    pub fn note_fault(&mut self, key: &Key, why: &str, now: Timestamp) {
        let why = why.to_owned();
        self.condition(key).last_fault = Some(LastFault { at: now, why });
    }

    /// Recent results of a connection with a method.
    pub fn recent(&self, key: &Key, now: Timestamp) -> RecentResults {
        let known = self.young.get(key).or_else(|| self.old.get(key));
        known.map_or_else(RecentResults::default, |condition| condition.recent(now))
    }

    /// Counts a plan that would go there first although its breaker is open, and says whether it
    /// may, as a probe.
    pub fn grant(&mut self, key: &Key, now: Timestamp) -> bool {
        let known = match self.young.get_mut(key) {
            Some(condition) => Some(condition),
            None => self.old.get_mut(key),
        };
        known.is_some_and(|condition| condition.breaker.grant(now))
    }

    /// Forgets a plan by which no attempt began.
    pub fn take_back(&mut self, key: &Key, was_probe: bool) {
        let known = match self.young.get_mut(key) {
            Some(condition) => Some(condition),
            None => self.old.get_mut(key),
        };
        if let Some(condition) = known {
            condition.breaker.take_back(was_probe);
        }
    }

    /// All entries, in the order of the keys.
    pub fn all(&self, now: Timestamp) -> Vec<(Key, RecentResults, Option<LastFault>)> {
        let both = self.young.iter().chain(&self.old);
        let mut all: Vec<_> = both
            .map(|(key, condition)| {
                let fault = condition.last_fault.clone();
                (key.clone(), condition.recent(now), fault)
            })
            .collect();
        all.sort_by(|(one, ..), (other, ..)| one.cmp(other));
        all
    }

    fn condition(&mut self, key: &Key) -> &mut HealthEntry {
        if !self.young.contains_key(key) {
            let condition = self.old.remove(key).unwrap_or_default();
            if self.young.len() >= self.limit.div_ceil(2) {
                self.old = std::mem::take(&mut self.young);
            }
            self.young.insert(key.clone(), condition);
        }
        self.young.entry(key.clone()).or_default()
    }
}

impl Default for HealthEntry {
    fn default() -> Self {
        Self {
            breaker: Breaker::default(),
            ends: Window::of(END_BUCKET),
            short_of_funds_until: None,
            last_fault: None,
        }
    }
}

impl HealthEntry {
    fn recent(&self, now: Timestamp) -> RecentResults {
        let ((calls, faults), ends) = (self.breaker.numbers(now), self.ends.counts(now));
        RecentResults {
            numbers: HealthNumbers {
                open: self.breaker.is_open(),
                calls,
                faults,
                ended: ends.all(),
                succeeded: ends.good,
                short_of_funds: self.short_of_funds_until.is_some_and(|until| now < until),
            },
            faults_per_mille: self.breaker.faults_per_mille(now),
        }
    }
}

const END_BUCKETS: usize = 6;
/// Six of them are half an hour: long enough for a rate, short enough that a bad one is forgotten
/// and the connection tried again.
const END_BUCKET: Duration = Duration::from_secs(5 * 60);
/// How long an account that was empty is thought to be. Merchants top up by hand.
const FUNDS_RETRY_INTERVAL: Duration = Duration::from_secs(10 * 60);
