//! Everything outside the process: the network, the providers and their books, the merchants, the payers, the disk's nature, the clock on
//! the wall. It lives on when the process dies.

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
use crate::plan::Plan;
use crate::promises::{Evidence, Sighting};
use crate::reached::Reached;

/// A handle on the world; clones share it.
#[derive(Clone)]
pub struct Shared(Arc<Mutex<World>>);

pub struct World {
    pub plan: Plan,
    /// Microseconds since the beginning, when the process that runs now was started.
    base: i64,
    epoch: Option<Instant>,
    /// By how much the clock on the wall was set, in microseconds.
    pub skew: i64,
    network: Chance,
    disk: Chance,
    pub people: Chance,
    /// How long who was not answered waits: of its own, so that a death changes nothing else that people do.
    pub patience: Chance,
    /// What operators do, and what payers do besides paying.
    pub hand: Chance,
    pub desk: operators::Desk,
    agenda: BTreeMap<(i64, u64), Happening>,
    next: u64,
    pub books: Books,
    pub orders: Vec<Order>,
    pub evidence: Evidence,
    /// Events of the core, counted at the end.
    pub reached: Reached,
    /// After this moment nothing new goes wrong: whatever is open must come to an end.
    pub healed_at: i64,
    /// Deeds that are under way.
    pub acting: usize,
    /// Which life of the process this is, from 1.
    pub life: u64,
    /// Steps since the process was started: each flush and each request that leaves is two.
    pub steps: u64,
    pub die_at: Option<u64>,
    pub is_dead: bool,
    disk_fails_until: i64,
    /// How often each message was refused, by its receiver and its id.
    refused: BTreeMap<String, usize>,
    died: Arc<Notify>,
    /// Wakes whoever works through the agenda: it has become another.
    changed: Arc<Notify>,
    log: String,
    hash: u64,
    lines: u64,
    /// Whether the lines are kept, and not their hash alone.
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
            desk: operators::Desk::default(),
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

    /// Returns when the process is dead.
    pub async fn died(&self) {
        let died = self.lock().died.clone();
        while !self.lock().is_dead {
            died.notified().await;
        }
    }

    /// Returns when the agenda has become another.
    pub async fn changed(&self) {
        let changed = self.lock().changed.clone();
        changed.notified().await;
    }
}

impl World {
    /// Microseconds since the beginning. Nothing sets this clock.
    pub fn now(&self) -> i64 {
        let since = self.epoch.map_or(Duration::ZERO, |epoch| epoch.elapsed());
        self.base + i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
    }

    /// A process begins on the paused runtime that this is called on.
    pub fn begin_life(&mut self, die_at: Option<u64>) {
        self.epoch = Some(Instant::now());
        self.acting = 0;
        self.life += 1;
        self.steps = 0;
        self.die_at = die_at;
        self.is_dead = false;
        self.note(format_args!("the engine starts"));
    }

    /// A deed is done.
    pub fn has_acted(&mut self) {
        self.acting = self.acting.saturating_sub(1);
        self.changed.notify_one();
    }

    /// The process has ended. Called on its runtime, by which time goes as long as it runs.
    pub fn end_life(&mut self) {
        self.base = self.now();
        self.evidence
            .deaths
            .extend(self.is_dead.then_some(self.base));
        self.epoch = None;
    }

    /// Nobody is up for so many microseconds.
    pub fn pass(&mut self, micros: i64) {
        self.base += micros;
    }

    pub fn is_healed(&self) -> bool {
        self.now() >= self.healed_at
    }

    /// Whether something goes wrong now that goes wrong `permille` times of a thousand.
    pub fn goes_wrong(&mut self, permille: u64) -> bool {
        let happens = self.network.happens(permille);
        happens && !self.is_healed()
    }

    /// A line of the history.
    pub fn note(&mut self, what: std::fmt::Arguments<'_>) {
        let at = self.now();
        let start = self.log.len();
        let _ = writeln!(self.log, "{:>12.3}s  {what}", micros(at)); // writing to a string does not fail
        self.hash = xxhash_rust::xxh3::xxh3_64_with_seed(&self.log.as_bytes()[start..], self.hash);
        self.lines += 1;
        if !self.keeps {
            self.log.clear();
        }
    }

    /// The hash of all lines so far, and how many there are.
    pub fn hash(&self) -> (u64, u64) {
        (self.hash, self.lines)
    }

    pub fn log(&self) -> &str {
        &self.log
    }

    /// Somebody outside sees a transaction in a status.
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
