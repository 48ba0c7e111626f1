//! Waits until nothing moves any more. The program's own records of scheduled work distinguish "not
//! yet" from "never".
//!
//! For work that waits for a scheduled time, the machine is suspended until then, so that hours
//! pass at once and the schedule itself triggers the work. Work that is due is waited for. A payer
//! who was not charged pays again when the page asks, as a real payer does.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::bail;
use serde_json::Value;
use switchyard_core::time::Timestamp;
use tokio::time::Instant;

use super::load::{Fate, Promise};
use super::operator;
use super::promises::kind;
use super::{Load, Site};

pub(super) type Made = BTreeMap<String, Promise>;

/// Observations while waiting.
#[derive(Debug, Default)]
pub(super) struct Rested {
    /// Total time that the machine was suspended.
    pub slept: Duration,
    /// Transactions that waited for a scheduled time when all others had ended.
    pub scheduled: BTreeSet<String>,
    /// Payments that had to be paid again.
    pub paid_again: BTreeSet<String>,
    /// Transactions that were due and were not processed, as the operator API shows them, by id.
    pub stuck: BTreeMap<String, String>,
}

/// State of a transaction of which the merchant has not received every event.
pub(super) enum Stands {
    /// Unknown to the program.
    Gone,
    /// Ended; only its event is undelivered.
    Told,
    /// The page asks the payer to pay.
    ForPayer,
    /// The engine is processing it, or has to.
    Due,
    /// The engine processes it at this time.
    Until(Timestamp),
}

/// Waits until every transaction that the engine or a payer continues has ended, and all events are
/// delivered or have failed.
///
/// # Errors
/// When that does not happen, and nothing shows that it never will.
pub(super) async fn rests(site: &Site, load: &Load, made: &Made) -> anyhow::Result<Rested> {
    let mut waiting = Waiting {
        site,
        load,
        made,
        rested: Rested::default(),
        due_since: BTreeMap::new(),
        gone: BTreeSet::new(),
        moved: Moved::default(),
    };
    while !waiting.is_over().await? {
        tokio::time::sleep(PAUSE).await;
    }
    Ok(waiting.rested)
}

struct Waiting<'s> {
    site: &'s Site,
    load: &'s Load,
    made: &'s Made,
    rested: Rested,
    /// Time since which each transaction is observed to be due.
    due_since: BTreeMap<String, Instant>,
    /// Transactions that the program does not know. Their events will not come.
    gone: BTreeSet<String>,
    moved: Moved,
}

impl Waiting<'_> {
    /// Polls once and does what is needed to continue. Returns whether there is nothing left to
    /// wait for.
    async fn is_over(&mut self) -> anyhow::Result<bool> {
        let mut open = open(self.site, self.made);
        open.retain(|id| !self.rested.stuck.contains_key(id) && !self.gone.contains(id));
        self.moved.note(open.len());
        if open.is_empty() {
            return Ok(true);
        }
        if open.len() > FEW && self.moved.ago() < A_MOMENT {
            return Ok(false);
        }
        if self.moved.ago() > PATIENCE {
            bail!("{}", still_open(self.site, &open).await);
        }
        let stand = stand(self.site, self.made, &open).await?;
        let mut latest = None;
        let mut due = BTreeSet::new();
        let mut payers = Vec::new();
        let mut scheduled = Vec::new();
        for (id, stands) in stand {
            match stands {
                Stands::Gone => drop(self.gone.insert(id)),
                Stands::Told => {}
                Stands::ForPayer => payers.push(id),
                Stands::Due => drop(due.insert(id)),
                Stands::Until(at) => {
                    latest = latest.max(Some(at));
                    scheduled.push(id);
                }
            }
        }
        self.note_due(&due).await?;
        if !payers.is_empty() || !due.is_empty() {
            for id in payers {
                self.load.come_to_pay(id.clone()).await;
                self.rested.paid_again.insert(id);
            }
            return Ok(false);
        }
        if let Some(latest) = latest {
            self.rested.scheduled.extend(scheduled);
            self.sleep_until(latest)?;
            return Ok(false);
        }
        let quiet = self.moved.ago();
        Ok(quiet > A_MOMENT && news_are_done(self.site, self.made, &open, quiet).await?)
    }

    /// Records a transaction that has been due for too long as stuck.
    async fn note_due(&mut self, due: &BTreeSet<String>) -> anyhow::Result<()> {
        self.due_since.retain(|id, _| due.contains(id));
        for id in due {
            let since = self.due_since.entry(id.clone());
            if since.or_insert_with(Instant::now).elapsed() > DUE_FOR {
                let shown = operator::sees(&self.site.server.operator(), id).await?;
                let what = format!("{id} is due: {:#}", shown.unwrap_or_default());
                self.rested.stuck.insert(id.clone(), what);
            }
        }
        Ok(())
    }

    fn sleep_until(&mut self, latest: Timestamp) -> anyhow::Result<()> {
        let by = latest.since(self.site.now()) + PAUSE;
        self.rested.slept += by;
        if self.rested.slept > NIGHT {
            bail!("something is to be waited for until {latest}");
        }
        let (left, seconds) = (self.rested.scheduled.len(), by.as_secs());
        eprintln!("{left} were left to the schedule: the machine is suspended for {seconds} s");
        self.site.world.sleep(by)?;
        self.moved.on();
        Ok(())
    }
}

/// Returns the transactions of which the inbox lacks a required event.
fn open(site: &Site, made: &Made) -> Vec<String> {
    let letters = site.inbox.letters();
    let has = |id: &str, end: &str| {
        let key = (id.to_owned(), format!("{}.{end}", kind(id)));
        letters
            .get(&key)
            .is_some_and(|letter| !letter.ids.is_empty())
    };
    let ended = |id: &str| ENDS.iter().any(|end| has(id, end));
    let open = made.iter().filter(|(id, promise)| {
        !has(id, "initiated") || (promise.fate != Fate::Initiated && !ended(id))
    });
    open.map(|(id, _)| id.clone()).collect()
}

async fn stand(site: &Site, made: &Made, open: &[String]) -> anyhow::Result<Vec<(String, Stands)>> {
    let all = operator::see_all(&site.server.operator(), open).await?;
    let now = site.now().plus(SOON);
    let stand = all.into_iter().map(|(id, shown)| {
        let unpaid = made.get(&id).is_some_and(|one| one.fate == Fate::Initiated);
        let stands = match shown {
            None => Stands::Gone,
            Some(shown) => stands(&shown, unpaid, now),
        };
        (id, stands)
    });
    Ok(stand.collect())
}

pub(super) fn stands(shown: &Value, unpaid: bool, soon: Timestamp) -> Stands {
    let next = shown["next_action_at"].as_str().and_then(Timestamp::parse);
    match (shown["state"].as_str().unwrap_or_default(), next) {
        ("succeeded" | "failed" | "cancelled", _) => Stands::Told,
        ("awaiting_customer", _) if unpaid => Stands::Told,
        ("awaiting_customer", _) => Stands::ForPayer,
        ("awaiting_gateway", _) | (_, None) => Stands::Due,
        (_, Some(next)) if next <= soon => Stands::Due,
        (_, Some(next)) => Stands::Until(next),
    }
}

/// Whether no event is undelivered any more. By the program's own delivery log, a delivered or
/// failed event will not come again. An event without an attempt for a long time in which nothing
/// else moved will not come either.
async fn news_are_done(
    site: &Site,
    made: &Made,
    open: &[String],
    quiet: Duration,
) -> anyhow::Result<bool> {
    let log = operator::deliveries(site).await?;
    let told = |id: &str, end: &str| log.get(&(id.to_owned(), format!("{}.{end}", kind(id))));
    let of = |id: &str| {
        ENDS.iter()
            .filter_map(|end| told(id, end))
            .collect::<Vec<_>>()
    };
    let waits = open.iter().any(|id| {
        let first = told(id, "initiated");
        first.into_iter().chain(of(id)).any(|one| one.waits)
    });
    let untried = open.iter().any(|id| {
        let has_end = made.get(id).is_some_and(|one| one.fate != Fate::Initiated);
        told(id, "initiated").is_none() || (has_end && of(id).is_empty())
    });
    Ok(!waits && (!untried || quiet > UNTRIED_FOR))
}

async fn still_open(site: &Site, open: &[String]) -> String {
    let mut shown = format!("{} are open, and nothing moves, such as:", open.len());
    for id in open.iter().take(2) {
        match operator::sees(&site.server.operator(), id).await {
            Ok(seen) => shown.push_str(&format!("\n{:#}", seen.unwrap_or_default())),
            Err(error) => shown.push_str(&format!("\n{id}: {error:#}")),
        }
    }
    shown
}

/// Time of the last progress.
struct Moved {
    at: Instant,
    open: usize,
}

impl Default for Moved {
    fn default() -> Self {
        Self {
            at: Instant::now(),
            open: usize::MAX,
        }
    }
}

impl Moved {
    fn note(&mut self, open: usize) {
        if open < self.open {
            self.open = open;
            self.on();
        }
    }

    fn on(&mut self) {
        self.at = Instant::now();
    }

    fn ago(&self) -> Duration {
        self.at.elapsed()
    }
}

const ENDS: [&str; 3] = ["success", "failed", "cancelled"];
/// Maximum number of transactions that are looked up one by one.
const FEW: usize = 200;
const PAUSE: Duration = Duration::from_millis(250);
/// Work due this soon is waited for without a suspension.
const SOON: Duration = Duration::from_secs(2);
/// More than the pause before a webhook is retried, in every setting of a sweep.
const A_MOMENT: Duration = Duration::from_secs(8);
/// More than twice the duration of the longest gateway call.
const DUE_FOR: Duration = Duration::from_secs(180);
/// Time for which a delivery may have no attempt while no other delivery has one either.
const UNTRIED_FOR: Duration = Duration::from_secs(60);
/// Without progress for this long, waiting ends with an error: nothing is proven.
const PATIENCE: Duration = Duration::from_secs(300);
/// Limit of the total suspension. After eight queries the schedule queries hourly, and kills may
/// have interrupted many of them.
const NIGHT: Duration = Duration::from_secs(2 * 60 * 60);
