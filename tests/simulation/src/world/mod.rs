//! Everything outside the process: the network, the providers and their ledgers, the merchants, the
//! payers, the behavior of the disk, and the wall clock. Outlives the process.

mod agenda;
mod books;
mod merchants;
mod network;
mod operators;
mod payers;
mod steps;
mod tokens;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

pub use self::agenda::{Deed, Happening, Order};
pub use self::books::{Books, LIES};
pub use self::merchants::SECRET;
pub use self::network::line;
pub use self::operators::{Change, Word};
pub use self::steps::nature;
use crate::chance::Chance;
use crate::faults::network::Turn;
use crate::plan::Plan;
use crate::promises::{Evidence, Sighting};
use crate::reached::Reached;

/// Handle on the world. Clones share it.
#[derive(Clone)]
pub struct Shared(Arc<Mutex<World>>);

pub struct World {
    pub plan: Plan,
    /// Start time of the current process, in microseconds since the beginning of the history.
    base: i64,
    epoch: Option<Instant>,
    /// Offset of the wall clock, in microseconds.
    pub skew: i64,
    network: Chance,
    disk: Chance,
    pub people: Chance,
    /// Waiting times of people without an answer. A separate stream, so that a crash does not
    /// change other actions.
    pub patience: Chance,
    /// Actions of operators, and actions of payers besides paying.
    pub hand: Chance,
    pub operator_state: operators::OperatorState,
    agenda: BTreeMap<(i64, u64), Happening>,
    next: u64,
    pub books: Books,
    pub orders: Vec<Order>,
    pub evidence: Evidence,
    /// Events of the core, counted at the end.
    pub reached: Reached,
    /// Time after which no new fault occurs. Everything open must then end.
    pub healed_at: i64,
    /// Number of deeds in progress.
    pub acting: usize,
    /// Number of the current life of the process, from 1.
    pub life: u64,
    /// Steps since the process was started. Each flush and each outgoing request counts as two.
    pub steps: u64,
    pub die_at: Option<u64>,
    pub is_dead: bool,
    disk_fails_until: i64,
    /// See [`Turn`].
    pub turn: Turn,
    /// Number of refusals of each message, by its receiver and its id.
    refused: BTreeMap<String, usize>,
    died: Arc<Notify>,
    /// Wakes the task that processes the agenda after a change.
    changed: Arc<Notify>,
    log: String,
    hash: u64,
    lines: u64,
    /// Whether the log lines are kept. Otherwise only their hash is.
    keeps: bool,
}

impl Shared {
    pub fn new(plan: Plan, keeps: bool) -> Self {
        let seed = plan.seed;
        Self(Arc::new(Mutex::new(World {
            base: 0,
            epoch: None,
            skew: 0,
            network: Chance::of(seed, "network"),
            disk: Chance::of(seed, "disk"),
            people: Chance::of(seed, "people"),
            patience: Chance::of(seed, "patience"),
            hand: Chance::of(seed, "hand"),
            operator_state: operators::OperatorState::default(),
            agenda: BTreeMap::new(),
            next: 0,
            books: Books::new(seed),
            orders: Vec::new(),
            evidence: Evidence::default(),
            reached: Reached::default(),
            healed_at: 20 * MINUTE,
            acting: 0,
            life: 0,
            steps: 0,
            die_at: None,
            is_dead: false,
            disk_fails_until: 0,
            turn: Turn::default(),
            refused: BTreeMap::new(),
            died: Arc::default(),
            changed: Arc::default(),
            log: String::new(),
            hash: seed,
            lines: 0,
            keeps,
            plan,
        })))
    }

    pub fn lock(&self) -> MutexGuard<'_, World> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns when the process has crashed.
    pub async fn died(&self) {
        let died = self.lock().died.clone();
        while !self.lock().is_dead {
            died.notified().await;
        }
    }

    /// Returns when the agenda has changed.
    pub async fn changed(&self) {
        let changed = self.lock().changed.clone();
        changed.notified().await;
    }
}

impl World {
    /// Microseconds since the beginning of the history. This clock is never set.
    pub fn now(&self) -> i64 {
        let since = self.epoch.map_or(Duration::ZERO, |epoch| epoch.elapsed());
        self.base + i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
    }

    /// Starts a life of the process, on the paused runtime that this is called on.
    pub fn begin_life(&mut self, die_at: Option<u64>) {
        self.epoch = Some(Instant::now());
        self.acting = 0;
        self.life += 1;
        self.steps = 0;
        self.die_at = die_at;
        self.is_dead = false;
        self.note(format_args!("the engine starts"));
    }

    /// Records that a deed is finished.
    pub fn has_acted(&mut self) {
        self.acting = self.acting.saturating_sub(1);
        self.changed.notify_one();
    }

    /// Ends the life. Must be called on its runtime, which drives the clock until then.
    pub fn end_life(&mut self) {
        self.base = self.now();
        self.evidence
            .deaths
            .extend(self.is_dead.then_some(self.base));
        self.epoch = None;
    }

    /// Advances the time while the process is down.
    pub fn pass(&mut self, micros: i64) {
        self.base += micros;
    }

    pub fn is_healed(&self) -> bool {
        self.now() >= self.healed_at
    }

    /// Whether a fault with this frequency, in permille, occurs now.
    pub fn goes_wrong(&mut self, permille: u64) -> bool {
        let happens = self.network.happens(permille);
        happens && !self.is_healed()
    }

    /// Adds a line to the log of the history.
    pub fn note(&mut self, what: std::fmt::Arguments<'_>) {
        let at = self.now();
        let start = self.log.len();
        // writing to a string does not fail
        let _ = writeln!(self.log, "{:>12.3}s  {what}", micros(at));
        self.hash = xxhash_rust::xxh3::xxh3_64_with_seed(&self.log.as_bytes()[start..], self.hash);
        self.lines += 1;
        if !self.keeps {
            self.log.clear();
        }
    }

    /// Returns the hash of all lines so far, and their number.
    pub fn hash(&self) -> (u64, u64) {
        (self.hash, self.lines)
    }

    pub fn log(&self) -> &str {
        &self.log
    }

    /// Records the status of a transaction that a client was shown.
    pub fn sees(&mut self, whom: &str, id: &str, status: &'static str, version: u64) {
        if self.is_dead {
            return;
        }
        self.note(format_args!(
            "{whom} sees {id} {status} (version {version})"
        ));
        let at = self.now();
        self.evidence.sightings.push(Sighting {
            at,
            transaction: id.to_owned(),
            status: status.to_owned(),
            version: Some(version),
        });
    }
}

#[expect(clippy::cast_precision_loss, reason = "for a person's eyes")]
fn micros(at: i64) -> f64 {
    at as f64 / 1e6
}

pub const SECOND: i64 = 1_000_000;
pub const MINUTE: i64 = 60 * SECOND;
