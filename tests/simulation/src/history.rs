//! One history, from its seed to the check of its promises.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use switchyard_core::environment::Environment;
use switchyard_core::time::Timestamp;
use switchyard_core::transaction::{AttemptState, CaseReason, Event, Recorded, Transaction};
use switchyard_engine::engine::Engine;
use switchyard_engine::mail;
use switchyard_engine::testing::START;
use switchyard_engine::webhook::DeliveryStatus;
use switchyard_gateway_host::{Overview, provider_calls};
use switchyard_store::Disk;
use switchyard_store::{Direction, Table};

use crate::faults::{self, Fault};
use crate::image::{self, Image};
use crate::life::{EXACT_UNTIL, Ended, Life};
use crate::panics;
use crate::plan::Plan;
use crate::promises::{
    Broken, Evidence, GivenUp, Peace, Posted, Sighting, Stored, StoredAttempt, broken,
};
use crate::reached::Reached;
use crate::totals;
use crate::world::{SECOND, Shared, nature};

/// Options for running a history.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    pub fault: Option<Fault>,
    /// Whether the log lines are kept. Otherwise only their hash is.
    pub keeps_log: bool,
}

/// Result of a history.
#[derive(Debug)]
pub struct History {
    pub seed: u64,
    pub broken: Vec<Broken>,
    /// Hash of all log lines and of all rows on the disk at the end.
    pub hash: u64,
    pub lines: u64,
    pub log: String,
    /// Number of steps of each life, at each of which the process could have crashed.
    pub steps: Vec<u64>,
    pub transactions: usize,
    /// End of each transaction, received webhooks and mails, and serving gateways, sorted. Example:
    /// `payment success`.
    pub ends: Vec<String>,
    /// Lies of providers and events of the core that occurred.
    pub reached: Reached,
}

/// Runs the history of a plan.
pub fn run(plan: Plan, options: Options) -> History {
    panics::note();
    crate::gateway::begin_history();
    let seed = plan.seed;
    let image = image::of(&plan);
    let _planted = faults::plant(options.fault);
    let world = Shared::new(plan.clone(), options.keeps_log);
    world.lock().invite();
    let disk = Disk::holding(image.tables.clone(), nature(&world));
    let mut deaths = plan.deaths.iter().copied();
    let mut steps = Vec::new();
    let mut found = Vec::new();
    for number in 0.. {
        let life = Life {
            world: &world,
            disk: &disk,
            image: &image,
            number,
            die_at: deaths.next(),
        };
        let ended = life.live();
        steps.push(world.lock().steps);
        match ended {
            Ended::AtRest => break,
            Ended::Died => {
                found.extend(without_timer(&disk));
                rest(&world);
            }
        }
    }
    let mut world = world.lock();
    found.extend(panics::noted().into_iter().map(|why| Broken {
        promise: "no panic",
        rule: "no panic",
        why,
    }));
    found.extend(broken(&world.evidence));
    for broken in &found {
        world.note(format_args!("BROKEN {broken}"));
    }
    let (hash, lines) = world.hash();
    History {
        seed,
        broken: found,
        hash: hash_of_disk(&disk, hash),
        lines,
        log: world.log().to_owned(),
        steps,
        transactions: world.evidence.stored.len(),
        ends: ends(&world.evidence),
        reached: Reached {
            lies: world.books.told.clone(),
            ..world.reached.clone()
        },
    }
}

/// Describes how everything ended, without details that may differ between histories: ids, times,
/// and the number of copies of an at-least-once message.
fn ends(evidence: &Evidence) -> Vec<String> {
    let kind = |id: &str| id.split('_').next().unwrap_or_default().to_owned();
    let stored = evidence.stored.iter();
    let mut ends: Vec<_> = stored
        .map(|stored| format!("{} {}", kind(&stored.id), stored.status))
        .collect();
    let heard = evidence.deliveries.iter().filter(|one| one.acknowledged);
    let heard: BTreeSet<_> = heard
        .map(|one| (&one.transaction, &one.event, &one.webhook))
        .collect();
    ends.extend(
        heard
            .into_iter()
            .map(|(_, event, webhook)| format!("{webhook} has heard of {event}")),
    );
    ends.extend(evidence.posted.iter().map(|posted| {
        let (kind, status, sent) = (kind(&posted.transaction), &posted.status, posted.sent);
        let to = posted.to;
        format!("mail: {kind} {status}, to the {to}, sent: {sent}")
    }));
    let serving = evidence.gateways.iter();
    ends.extend(serving.map(|(gateway, version)| format!("{gateway} is at {version:?}")));
    ends.sort();
    ends
}

/// Lets some time pass without a running process.
fn rest(world: &Shared) {
    let mut world = world.lock();
    let down = i64::try_from(world.patience.between(0, 90_000)).unwrap_or(0) * 1_000;
    let by = i64::try_from(world.patience.between(1, 3_600)).unwrap_or(1) * SECOND;
    let by = if world.patience.happens(500) { by } else { -by };
    let often = world.plan.trouble.restarts;
    if world.patience.happens(often) && !world.is_healed() {
        world.skew += by;
        world.note(format_args!(
            "the clock is set by {} s meanwhile",
            by / SECOND
        ));
    }
    world.pass(down);
    let until = world.now();
    world.without_process(until);
    world.note(format_args!("nobody was up for {} s", down / SECOND));
}

fn hash_of_disk(disk: &Disk, seed: u64) -> u64 {
    let mut hash = seed;
    for (table, key, value) in disk.rows() {
        for part in [table.name().as_bytes(), &key, &value] {
            hash = xxhash_rust::xxh3::xxh3_64_with_seed(part, hash);
        }
    }
    hash
}

/// Returns the transactions on a disk, with the keys of their rows.
fn transactions(disk: &Disk) -> Vec<(Vec<u8>, Transaction)> {
    let rows = disk.rows().into_iter();
    let rows = rows.filter(|(table, ..)| *table == Table::Transaction);
    // the version precedes the JSON
    let read = |value: &[u8]| serde_json::from_slice(value.get(8..)?).ok();
    rows.filter_map(|(_, key, value)| Some((key, read(&value)?)))
        .collect()
}

/// Returns the row keys of the transactions that have a timer on the disk.
fn timers(disk: &Disk) -> BTreeSet<Vec<u8>> {
    let rows = disk.rows().into_iter();
    let rows = rows.filter(|(table, ..)| *table == Table::Timer);
    rows.map(|(_, key, _)| key.get(8..).unwrap_or_default().to_vec())
        .collect()
}

/// Checks P5 at a crash, when only the disk is left.
fn without_timer(disk: &Disk) -> Vec<Broken> {
    let timers = timers(disk);
    let stuck = transactions(disk).into_iter();
    let stuck = stuck.filter(|(key, tx)| tx.wake_at().is_some() != timers.contains(key));
    stuck
        .map(|(_, tx)| Broken {
            promise: "P5",
            rule: "a timer at every death",
            why: format!(
                "{} is {} on the disk, and its timer is not as that wants",
                tx.id,
                tx.state.name()
            ),
        })
        .collect()
}

/// Whether every transaction is final or has a case, and every message is delivered. Called often,
/// so it reads little: a final transaction has no timer.
pub async fn is_settled(engine: &Engine) -> bool {
    let rows = async |table, first: &[u8], most| {
        let last = [first, &[u8::MAX; 20]].concat();
        let rows = engine
            .store()
            .scan(table, first, &last, Direction::Forward, most);
        rows.await.ok()
    };
    // A delayed callback may still report money.
    let to_do = [(Table::Outbox, &[][..]), (Table::Callback, b"q")];
    for (table, first) in to_do {
        if rows(table, first, 1)
            .await
            .is_none_or(|rows| !rows.is_empty())
        {
            return false;
        }
    }
    let Some(timers) = rows(Table::Timer, &[], 1_000).await else {
        return false;
    };
    for (key, _) in timers {
        let key = key.get(8..).unwrap_or_default();
        let row = engine.store().get(Table::Transaction, key).await;
        let row = row.ok().flatten().unwrap_or_default();
        let tx: Option<Transaction> = row
            .get(8..)
            .and_then(|json| serde_json::from_slice(json).ok());
        if tx.is_none_or(|tx| tx.cases.is_empty()) {
            return false;
        }
    }
    true
}

/// Records the contents of the store when everything has come to rest.
pub async fn gather(world: &Shared, disk: &Disk, engine: &Engine, image: &Image) {
    let timers = timers(disk);
    let mut stored = Vec::new();
    let mut reached = Reached::default();
    for (key, tx) in transactions(disk) {
        let timeline = engine.timeline(tx.id).await.unwrap_or_default();
        let mut attempts = Vec::new();
        for attempt in &tx.attempts {
            let rows = provider_calls(engine.store(), tx.id, attempt.id).await;
            let rows = rows.unwrap_or_default();
            attempts.push(StoredAttempt {
                reference: attempt.reference.to_string(),
                state: word(attempt.state).to_owned(),
                provider_id: attempt.provider_id.clone(),
                minor: attempt.amount.minor(),
                currency: attempt.amount.currency().code().to_owned(),
                rate: attempt
                    .conversion
                    .as_ref()
                    .map(|fixed| fixed.rate.to_string()),
                started_at: since_start(attempt.started_at),
                ended_at: attempt.ended_at.map(since_start),
                journaled: rows.iter().filter(|row| row.mutates).count(),
                answers: rows
                    .iter()
                    .filter_map(|row| Some((row.method.clone(), row.status?)))
                    .collect(),
            });
        }
        reached.count(&timeline);
        stored.push(told(&tx, attempts, &timeline, timers.contains(&key)));
    }
    let given_up = given_up(engine, image).await;
    let posted = posted(engine).await;
    let gateways = in_force(engine).await;
    let totals = totals::compared(&transactions(disk), engine).await;
    let mut secrets = world.lock().evidence.codes.clone();
    secrets.push(image::CALLBACK_SECRET.to_owned());
    let rows = disk.rows();
    let outbox = rows
        .iter()
        .filter(|(table, ..)| *table == Table::Outbox)
        .count();
    let kept_in_clear = secrets.into_iter().filter(|secret| is_kept(&rows, secret));
    let kept_in_clear = kept_in_clear.collect();
    let mut world = world.lock();
    let at = world.now();
    for stored in &stored {
        world.note(format_args!("at rest: {stored:?}"));
        world.evidence.sightings.push(Sighting {
            at,
            transaction: stored.id.clone(),
            status: stored.status.clone(),
            version: Some(stored.version),
        });
    }
    world.reached = reached;
    world.evidence.posted = posted;
    world.evidence.gateways = gateways;
    world.evidence.kept_in_clear = kept_in_clear;
    world.evidence.peace = peace(&world.plan);
    world.evidence.webhooks.clone_from(&image.webhooks);
    world.evidence.stored = stored;
    world.evidence.given_up = given_up;
    world.evidence.outbox = outbox;
    world.evidence.totals = totals;
}

fn told(
    tx: &Transaction,
    attempts: Vec<StoredAttempt>,
    timeline: &[Recorded],
    has_timer: bool,
) -> Stored {
    let is_end = |recorded: &&Recorded| {
        matches!(
            recorded.event,
            Event::Succeeded | Event::Failed { .. } | Event::Cancelled { .. }
        )
    };
    Stored {
        id: tx.id.to_string(),
        status: tx.status().as_str().to_owned(),
        is_live: tx.environment == Environment::Live,
        is_final: tx.state.is_final(),
        version: tx.version,
        minor: tx.amount.minor(),
        attempts,
        cases: tx
            .cases
            .iter()
            .map(|case| (case.reference.to_string(), case.reason.as_str().to_owned()))
            .collect(),
        has_timer,
        ends: timeline.iter().filter(is_end).count(),
        begun_after_money: begun_after_money(timeline),
        history: timeline.iter().map(line_of).collect(),
        signed: timeline.iter().filter_map(signed).collect(),
    }
}

/// Returns the references of attempts that began after money was recorded for another attempt.
fn begun_after_money(timeline: &[Recorded]) -> Vec<String> {
    let is_money = |recorded: &&Recorded| match &recorded.event {
        Event::CaseOpened { case } => case.reason.holds() || case.reason == CaseReason::LateSuccess,
        _ => false,
    };
    let after = timeline.iter().skip_while(|recorded| !is_money(recorded));
    let begun = after.filter_map(|recorded| match &recorded.event {
        Event::AttemptStarted { attempt } => Some(attempt.reference.to_string()),
        _ => None,
    });
    begun.collect()
}

/// Returns the operator who signed a recorded event.
fn signed(recorded: &Recorded) -> Option<String> {
    match &recorded.event {
        Event::OperatorActed { operator, .. } => Some(operator.name.clone()),
        _ => None,
    }
}

/// Returns the parts of the system in which this plan injects no faults.
fn peace(plan: &Plan) -> Peace {
    let trouble = &plan.trouble;
    let first = trouble.gateways == 0;
    Peace {
        disk: trouble.disk == 0 && trouble.slow_disk == 0,
        clock: trouble.jumps == 0 && trouble.restarts == 0,
        network: trouble.lost == 0 && trouble.late == 0,
        process: plan.deaths.is_empty(),
        first,
        gateways: first && trouble.sick == 0,
        exact_until: EXACT_UNTIL,
    }
}

/// Recipient in [`Posted::to`] of a mail about a case.
pub const ABOUT_CASE: &str = "merchant about a case";

async fn posted(engine: &Engine) -> Vec<Posted> {
    let mut all = Vec::new();
    for environment in [Environment::Sandbox, Environment::Live] {
        let posted = mail::posted(engine.store(), environment, 1_000).await;
        all.extend(posted.unwrap_or_default().into_iter().map(|posted| Posted {
            id: posted.letter.id.to_string(),
            transaction: posted.letter.transaction.to_string(),
            status: posted.letter.status.as_str().to_owned(),
            to: match posted.letter.to {
                _ if posted.letter.case.is_some() => ABOUT_CASE,
                mail::Recipient::Merchant => "merchant",
                mail::Recipient::Customer => "customer",
                mail::Recipient::Preview => "merchant as a preview",
            },
            sent: posted.is_sent,
        }));
    }
    all
}

/// Returns the active version of each gateway.
async fn in_force(engine: &Engine) -> BTreeMap<String, Option<String>> {
    let overviews = engine.gateways().overviews().await.unwrap_or_default();
    let version = |overview: Overview| {
        let current = overview
            .current()
            .map(|current| current.kept.version.clone());
        (overview.record.name, current)
    };
    overviews.into_iter().map(version).collect()
}

/// Whether a text is stored on the disk in the clear.
fn is_kept(rows: &[(Table, Vec<u8>, Vec<u8>)], text: &str) -> bool {
    let holds = |bytes: &[u8]| {
        bytes
            .windows(text.len())
            .any(|part| part == text.as_bytes())
    };
    rows.iter()
        .any(|(_, key, value)| holds(key) || holds(value))
}

/// Microseconds since the start, by a clock that is never set.
fn since_start(at: Timestamp) -> i64 {
    at.as_micros() - START.as_micros()
}

/// Formats an event in one line.
fn line_of(recorded: &Recorded) -> String {
    let mut line = String::new();
    let written = format!("{:?}", recorded.event);
    let name: String = written
        .chars()
        .take_while(char::is_ascii_alphanumeric)
        .collect();
    let _ = write!(line, "{} {name}", recorded.at); // writing to a string does not fail
    line
}

async fn given_up(engine: &Engine, image: &Image) -> Vec<GivenUp> {
    let mut given_up = Vec::new();
    let webhooks = engine.access().webhooks(image.keys.app).unwrap_or_default();
    let urls: BTreeMap<_, _> = webhooks
        .iter()
        .map(|one| (one.id, one.url.clone()))
        .collect();
    for webhook in webhooks {
        let deliveries = engine.webhooks().deliveries(webhook.id, None, 1_000).await;
        for delivery in deliveries.unwrap_or_default() {
            if delivery.status == DeliveryStatus::Failed {
                given_up.push(GivenUp {
                    webhook: urls[&delivery.webhook].clone(),
                    transaction: delivery.transaction.to_string(),
                    event: delivery.name.as_str().to_owned(),
                });
            }
        }
    }
    given_up
}

const fn word(state: AttemptState) -> &'static str {
    match state {
        AttemptState::Started => "started",
        AttemptState::Pending => "pending",
        AttemptState::InDoubt => "in_doubt",
        AttemptState::Succeeded => "succeeded",
        AttemptState::Declined => "declined",
        AttemptState::NotSent => "not_sent",
    }
}
