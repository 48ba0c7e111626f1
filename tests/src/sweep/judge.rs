//! What has to hold when the killing is over: by the books, by the inbox, and by what the program itself says.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::Value;
use switchyard_engine::clock::Timestamp;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::kills::Lives;
use super::load::{Counts, Fate, Promise};
use super::{Load, Site};
use crate::client::Client;
use crate::eventually;

/// Until then everything has ended that the provider was reached for. A net, not a measure.
const ENDS_WITHIN: Duration = Duration::from_secs(120);
/// How much later it is when what never reached the provider has to be known as such, in seconds. A payout that no gateway could take
/// is given up after half an hour.
const LATER: i64 = 600;
/// Requests that the judge has under way.
const AT_ONCE: usize = 16;

/// What a sweep came to. A sweep that breaks a promise has none.
#[derive(Debug)]
pub struct Figures {
    pub kills: usize,
    /// Kills before the program took requests.
    pub early: u32,
    pub took: Duration,
    pub counts: Counts,
    pub payments: usize,
    pub payouts: usize,
    /// Movements in the provider's books.
    pub charges: u64,
    pub references: usize,
    /// Ready after a start, sorted.
    pub ready: Vec<Duration>,
    /// Heard of again after a start, sorted: everything that was open at a kill.
    pub resumed: Vec<Duration>,
    /// Open at a kill with a question behind it, and due for the next one later than that.
    pub scheduled: usize,
    /// Unknown until the provider could say for good that it has none: killed between the journal and the first byte, or before a refusal
    /// was stored.
    pub never_arrived: usize,
    pub deliveries: usize,
    pub events: usize,
}

type Made = BTreeMap<String, Promise>;

/// The public end event of a transaction with this fate.
pub(super) fn end_event(id: &str, fate: Fate) -> &'static str {
    match (id.starts_with("po_"), fate) {
        (true, Fate::Success) => "payout.success",
        (true, Fate::Failed) => "payout.failed",
        (true, Fate::Initiated) => "payout.initiated",
        (false, Fate::Success) => "payment.success",
        (false, Fate::Failed) => "payment.failed",
        (false, Fate::Initiated) => "payment.initiated",
    }
}

pub(super) async fn judge(
    mut site: Site,
    load: &Load,
    lives: Lives,
    took: Duration,
    resumes_within: Duration,
) -> anyhow::Result<Figures> {
    let (mut made, counts) = {
        let told = load.told();
        let some = &told.broken[..told.broken.len().min(5)];
        ensure!(
            some.is_empty(),
            "{} answers are wrong: {some:#?}",
            told.broken.len()
        );
        (told.made.clone(), told.counts)
    };
    let scheduled = everything_open_was_resumed(&site, &lives.silent, resumes_within).await?;
    let never_arrived = everything_ends(&mut site, load, &made).await?;
    // By the time that it is known of a payment that nothing moved, its payer has gone: it is not begun again elsewhere.
    for id in never_arrived.iter().filter(|id| id.starts_with("py_")) {
        if let Some(promise) = made.get_mut(id)
            && came(&site, id, Fate::Failed)
        {
            promise.fate = Fate::Failed;
        }
    }
    everything_is_found(&site, &made).await?;
    let charges = the_books_agree(&site, &made)?;
    let events = every_event_came_once(&site, &made)?;
    ensure!(
        !site.server.log().contains("panicked at"),
        "the program panicked, its log:\n{}",
        site.server.log()
    );
    let sorted = |mut times: Vec<Duration>| {
        times.sort();
        times
    };
    Ok(Figures {
        kills: lives.ready.len() + lives.early as usize,
        early: lives.early,
        took,
        counts,
        payments: made.keys().filter(|id| id.starts_with("py_")).count(),
        payouts: made.keys().filter(|id| id.starts_with("po_")).count(),
        charges,
        references: site.provider.books().len(),
        ready: sorted(lives.ready),
        resumed: sorted(lives.resumed),
        scheduled,
        never_arrived: never_arrived.len(),
        deliveries: site.inbox.deliveries().0,
        events,
    })
}

/// What nothing was heard of outside was taken up all the same: its timeline has an event of that life; or the provider had been asked,
/// perhaps by a question that died with the process, and the next one has its time. How many those are.
async fn everything_open_was_resumed(
    site: &Site,
    silent: &[(String, Timestamp)],
    within: Duration,
) -> anyhow::Result<usize> {
    let mut scheduled = 0;
    for (id, began) in silent {
        let shown = operator_sees(&site.server.operator(), id).await?;
        let timeline = shown["timeline"].as_array().cloned().unwrap_or_default();
        let at = |event: &Value| Timestamp::parse(event["at"].as_str()?);
        let of_this_life =
            |event: &Value| at(event).is_some_and(|at| at >= *began && at <= began.plus(within));
        let asked = |event: &Value| {
            event["event"]["type"] == "query_started" && at(event).is_some_and(|at| at < *began)
        };
        // It had ended, and only the news of it was still on its way when the process died.
        let ended = |event: &Value| {
            matches!(
                event["event"]["type"].as_str(),
                Some("succeeded" | "failed")
            ) && at(event).is_some_and(|at| at < *began)
        };
        if timeline
            .iter()
            .any(|event| of_this_life(event) || ended(event))
        {
            continue;
        }
        ensure!(
            timeline.iter().any(asked),
            "{id} was not taken up in the life that began at {began}: {shown:#}"
        );
        scheduled += 1;
    }
    Ok(scheduled)
}

/// Those that ended only when the provider's "not found" had become final: until then they were unknown, and not failed.
async fn everything_ends(site: &mut Site, load: &Load, made: &Made) -> anyhow::Result<Vec<String>> {
    let open = |site: &Site| -> Vec<String> {
        // Events go in order, and the next goes too when its forerunner was not acknowledged: the first may come last.
        let all_came = |id: &str, end: Fate| came(site, id, Fate::Initiated) && came(site, id, end);
        let open = made
            .iter()
            .filter(|(id, promise)| !all_came(id, promise.fate));
        open.map(|(id, _)| id.clone()).collect()
    };
    // As long as something of it may be on its way: only what the provider has never seen rests.
    let unknown = eventually("only the unknown is open", ENDS_WITHIN, async || {
        let open = open(site);
        // Each is looked at by itself.
        if open.len() > FEW {
            return Ok(None);
        }
        payers_come_back(site, load, made, &open).await?;
        for id in &open {
            if !is_unknown(site, id).await? {
                return Ok(None);
            }
        }
        Ok(Some(open))
    });
    let unknown = match unknown.await {
        Ok(unknown) => unknown,
        Err(error) => return Err(tell_of(site, &open(site), error).await),
    };
    if unknown.is_empty() {
        return Ok(unknown);
    }
    site.server.stop().await?;
    site.world.set_clock(LATER)?;
    site.server.up().await?;
    let ended = eventually("all has ended", ENDS_WITHIN, async || {
        payers_come_back(site, load, made, &open(site)).await?;
        let mut ends = unknown.iter().map(|id| {
            let fates = [Fate::Success, Fate::Failed];
            fates.iter().any(|fate| came(site, id, *fate))
        });
        Ok(ends.all(|ended| ended).then_some(()))
    });
    if let Err(error) = ended.await {
        return Err(tell_of(site, &open(site), error).await);
    }
    Ok(unknown)
}

/// What surely reached no provider can be paid as if it had not been tried, and its payer tries.
async fn payers_come_back(
    site: &Site,
    load: &Load,
    made: &Made,
    open: &[String],
) -> anyhow::Result<()> {
    let has_payer = |id: &&String| {
        let promise = made.get(*id);
        id.starts_with("py_") && promise.is_some_and(|one| one.fate != Fate::Initiated)
    };
    for id in open.iter().filter(has_payer) {
        if operator_sees(&site.server.operator(), id).await?["status"] == "initiated" {
            load.come_to_pay(id.clone()).await;
        }
    }
    Ok(())
}

const FEW: usize = 20_000;

async fn tell_of(site: &Site, open: &[String], error: anyhow::Error) -> anyhow::Error {
    let mut shown = String::new();
    for id in open.iter().take(2) {
        match operator_sees(&site.server.operator(), id).await {
            Ok(seen) => shown.push_str(&format!("\n{seen:#}")),
            Err(error) => shown.push_str(&format!("\n{id}: {error:#}")),
        }
    }
    error.context(format!("{} are open, such as:{shown}", open.len()))
}

fn came(site: &Site, id: &str, fate: Fate) -> bool {
    !site.inbox.event_ids(id, end_event(id, fate)).is_empty()
}

/// Pending to the merchant, in doubt to the engine, and nothing moved under its last reference.
async fn is_unknown(site: &Site, id: &str) -> anyhow::Result<bool> {
    let shown = operator_sees(&site.server.operator(), id).await?;
    let books = site.provider.books();
    let last = references(&shown).pop().unwrap_or_default();
    let moved = books.get(&last).is_some_and(|entry| entry.charges > 0);
    let attempts = shown["attempts"].as_array().and_then(|all| all.last());
    let in_doubt = attempts.is_some_and(|last| last["state"] == "in_doubt");
    Ok(shown["status"] == "pending" && in_doubt && !moved)
}

async fn operator_sees(operator: &Client, id: &str) -> anyhow::Result<Value> {
    let path = format!("/operator/v1/transactions/{id}");
    let answer = operator.get(&path).await?.expect(200)?;
    Ok(answer.body["data"].clone())
}

fn references(shown: &Value) -> Vec<String> {
    let attempts = shown["attempts"].as_array().cloned().unwrap_or_default();
    let reference = |one: &Value| Some(one["reference"].as_str()?.to_owned());
    attempts.iter().filter_map(reference).collect()
}

/// Each id that a 201 named leads to its transaction, in the state that its fate says; and there is no transaction besides.
async fn everything_is_found(site: &Site, made: &Made) -> anyhow::Result<()> {
    let places = Arc::new(Semaphore::new(AT_ONCE));
    let mut looks = JoinSet::new();
    for (id, promise) in made.clone() {
        let (merchant, place) = (site.server.merchant(), places.clone().acquire_owned());
        let place = place.await?;
        looks.spawn(async move {
            let _place = place;
            found(&merchant, &id, promise).await
        });
        while let Some(looked) = looks.try_join_next() {
            looked??;
        }
    }
    while let Some(looked) = looks.join_next().await {
        looked??;
    }
    for (list, prefix) in [("/v1/payments", "py_"), ("/v1/payouts", "po_")] {
        let path = format!("{list}?limit=1&page=1");
        let listed = site.server.merchant().get(&path).await?.expect(200)?;
        let total = listed.body["meta"]["total"].as_u64().context("a total")?;
        let promised = made.keys().filter(|id| id.starts_with(prefix)).count() as u64;
        ensure!(
            total == promised,
            "{list}: {promised} were ordered, {total} are there"
        );
    }
    Ok(())
}

async fn found(merchant: &Client, id: &str, promise: Promise) -> anyhow::Result<()> {
    let path = match id.starts_with("po_") {
        true => format!("/v1/payouts/{id}"),
        false => format!("/v1/payments/{id}"),
    };
    let answer = merchant.get(&path).await?.expect(200);
    let answer = answer.with_context(|| format!("{id}, which a 201 named"))?;
    let (status, fate) = (answer.data("status")?, status(promise.fate));
    ensure!(
        status == fate,
        "{id} is {status} and should be {fate}: {}",
        answer.body
    );
    Ok(())
}

const fn status(fate: Fate) -> &'static str {
    match fate {
        Fate::Success => "success",
        Fate::Failed => "failed",
        Fate::Initiated => "initiated",
    }
}

/// Money moved once for each success and never for anything else, and no reference was submitted twice.
fn the_books_agree(site: &Site, made: &Made) -> anyhow::Result<u64> {
    let mut charges: BTreeMap<String, u32> = BTreeMap::new();
    for (reference, entry) in site.provider.books() {
        ensure!(
            entry.requests == 1,
            "{reference} was submitted more than once: {entry:?}"
        );
        *charges.entry(entry.transaction).or_default() += entry.charges;
    }
    for (id, promise) in made {
        let moved = charges.remove(id).unwrap_or(0);
        let wanted = u32::from(promise.fate == Fate::Success);
        ensure!(
            moved == wanted,
            "{id} moved money {moved} times and should {wanted}"
        );
    }
    ensure!(
        charges.is_empty(),
        "nobody ordered these: {:?}",
        charges.first_key_value()
    );
    let successes = made.values().filter(|one| one.fate == Fate::Success);
    Ok(successes.count() as u64)
}

/// Every event of every transaction came, each under one id, signed, and no event of another end.
fn every_event_came_once(site: &Site, made: &Made) -> anyhow::Result<usize> {
    let mut events = 0;
    let mut ids = BTreeSet::new();
    for (id, promise) in made {
        let wanted = BTreeSet::from([end_event(id, Fate::Initiated), end_event(id, promise.fate)]);
        for fate in [Fate::Initiated, Fate::Success, Fate::Failed] {
            let event = end_event(id, fate);
            let came = site.inbox.event_ids(id, event);
            let expected = usize::from(wanted.contains(event));
            ensure!(
                came.len() == expected,
                "{event} of {id} came under {came:?}"
            );
            events += expected;
            for event_id in came {
                ensure!(ids.insert(event_id.clone()), "{event_id} names two events");
            }
        }
    }
    let (_, unsigned) = site.inbox.deliveries();
    ensure!(unsigned == 0, "{unsigned} webhooks are not signed");
    Ok(events)
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = &self.counts;
        let made = self.payments + self.payouts;
        let up = self.took.saturating_sub(self.ready.iter().sum());
        let offered = counts.offered as f64 / self.took.as_secs_f64();
        let promised = made as f64 / up.as_secs_f64();
        let rows = [
            (
                "kills",
                format!("{}, {} before it was ready", self.kills, self.early),
            ),
            (
                "orders offered",
                format!("{offered:.0} a second for {} s", self.took.as_secs()),
            ),
            (
                "promised by a 201",
                format!(
                    "{} payments, {} payouts: {promised:.0} a second while it was up",
                    self.payments, self.payouts
                ),
            ),
            (
                "orders otherwise",
                format!(
                    "{} turned away, {} answered 503 or 409, {} unanswered, {} withheld",
                    counts.turned_away, counts.refused, counts.unanswered, counts.withheld
                ),
            ),
            (
                "provider's books",
                format!(
                    "{} movements under {} references",
                    self.charges, self.references
                ),
            ),
            (
                "webhooks",
                format!("{} events in {} deliveries", self.events, self.deliveries),
            ),
            ("ready after a start", spread(&self.ready)),
            (
                "open at a kill, heard of after the start",
                format!("{}; {} times", spread(&self.resumed), self.resumed.len()),
            ),
            (
                "open at a kill, due later by the schedule",
                self.scheduled.to_string(),
            ),
            (
                "unknown until \"not found\" was final",
                self.never_arrived.to_string(),
            ),
        ];
        for (name, figure) in rows {
            writeln!(f, "{name:<44} {figure}")?;
        }
        write!(f, "lost 0, doubled 0, webhooks lost 0")
    }
}

/// The middle, the 99th of a hundred and the last of sorted times.
fn spread(times: &[Duration]) -> String {
    let at = |percent: usize| {
        times.get((times.len() * percent / 100).min(times.len().saturating_sub(1)))
    };
    match (at(50), at(99), times.last()) {
        (Some(middle), Some(late), Some(last)) => {
            format!("{middle:.2?}, 99 of 100 within {late:.2?}, the last {last:.2?}")
        }
        _ => "never".to_owned(),
    }
}
