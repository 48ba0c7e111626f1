//! The hold after a restore: nothing is submitted before the release, requests are answered, and
//! idempotency keys from before the backup are known.

use std::time::Duration;

use anyhow::ensure;
use switchyard_core::time::Timestamp;

use super::Site;
use super::lists::Statuses;
use super::report::Report;
use super::round::Killed;
use super::unknown;
use crate::eventually;
use crate::provider::Books;
use crate::sweep::Load;
use crate::sweep::load::Fate;
use crate::sweep::promises::{Break, Rule, found_broken};
use crate::sweep::rest::Made;

/// Numbers of orders in a round. The orders of its hold have the second half of them.
pub(super) const NUMBERS_OF_A_ROUND: u64 = 1 << 20;
const NUMBERS_BEFORE_THE_HOLD: u64 = NUMBERS_OF_A_ROUND / 2;

/// State of the restored program at its start.
#[derive(Default)]
pub(super) struct Restored {
    /// The provider's books before the start.
    pub books: Books,
    /// The transactions that the store knows.
    pub statuses: Statuses,
    pub open: u64,
    pub lost: (Timestamp, Timestamp),
}

/// Observations during the hold.
#[derive(Default)]
pub(super) struct Held {
    /// Ordered while it was held.
    pub made: Made,
    pub made_held: usize,
    pub breaks: Vec<Break>,
    pub wrong_answers: Vec<String>,
}

impl Restored {
    pub fn survivors(&self, made: &Made) -> Made {
        let known = made
            .iter()
            .filter(|(id, _)| self.statuses.contains_key(*id));
        known.map(|(id, one)| (id.clone(), *one)).collect()
    }

    /// Transactions that have no end in the store and were paid by the books.
    pub fn paid_unknown(&self, made: &Made) -> usize {
        let survivors = self.survivors(made);
        let paid = self.books.values().filter(|entry| entry.charges > 0);
        let is_open = |id: &String| {
            let status = self.statuses.get(id).and_then(Option::as_deref);
            survivors.contains_key(id) && matches!(status, Some("initiated" | "pending"))
        };
        paid.filter(|entry| is_open(&entry.transaction)).count()
    }
}

/// The report at the start.
pub(super) async fn reported(site: &Site) -> anyhow::Result<Restored> {
    let report = Report::by_command(site).await?;
    Ok(Restored {
        open: report.open(),
        lost: report.lost()?,
        ..Restored::default()
    })
}

/// Checks the hold under requests, and releases it: every other one after all providers have
/// answered, the others earlier.
pub(super) async fn hold(
    site: &mut Site,
    number: u32,
    rate: u32,
    killed: &Killed,
    restored: &Restored,
) -> anyhow::Result<Held> {
    let mut held = Held::default();
    if number % RESTARTS == 1 {
        site.server.kill().await?;
        site.server.up().await?;
    }
    is_held(site, true, &mut held).await?;
    let load = Load::new(site.server.merchant(), site.server.stranger())
        .numbered_after(u64::from(number) * NUMBERS_OF_A_ROUND + NUMBERS_BEFORE_THE_HOLD);
    let loading = tokio::spawn(load.clone().run((rate / LESS_LOAD).max(1)));
    keys_are_known(killed, &mut held).await?;
    payers_come(killed, restored).await;
    tokio::time::sleep(HELD).await;
    if number % 2 == 1 {
        all_answered(site).await?;
        let compared = unknown::compared(site, &killed.made, restored).await?;
        held.breaks.extend(compared);
    }
    sends_nothing(site, restored, &mut held);
    held.made_held = load.told().made.len();
    ensure!(held.made_held > 0, "no order was answered in the hold");
    release(site, number).await?;
    is_held(site, false, &mut held).await?;
    load.stop();
    loading.await??;
    let told = load.told();
    held.made = told.made.clone();
    held.wrong_answers.clone_from(&told.broken);
    drop(told);
    Ok(held)
}

async fn is_held(site: &Site, wanted: bool, held: &mut Held) -> anyhow::Result<()> {
    let ready = site.server.operator().get("/readyz").await?.expect(200)?;
    let report = Report::fetch(site).await?.is_held();
    if ready.body["held"] != wanted || report != wanted {
        let what = format!("held {wanted}? {} and by the report {report}", ready.body);
        held.breaks.push(found_broken(Rule::HeldSendsNothing, what));
    }
    Ok(())
}

/// Repeats orders that were answered before the backup, as a merchant may.
async fn keys_are_known(killed: &Killed, held: &mut Held) -> anyhow::Result<()> {
    for id in killed.before.iter().step_by(REPEATS_EVERY) {
        let Some(promise) = killed.made.get(id) else {
            continue;
        };
        let answered = killed.load.repeats(*promise).await?;
        if answered != *id {
            let what = format!("the key of {id}, used before the backup, made {answered}");
            held.breaks.push(found_broken(Rule::KeyIsKnown, what));
        }
    }
    Ok(())
}

/// Has payers try payments that wait for them in the restored store.
async fn payers_come(killed: &Killed, restored: &Restored) {
    let survivors = restored.survivors(&killed.made);
    let waits = |id: &&String| restored.statuses[*id].as_deref() == Some("initiated");
    let payable = survivors
        .iter()
        .filter(|(_, one)| one.fate != Fate::Initiated);
    for id in payable.map(|(id, _)| id).filter(waits).take(PAYERS) {
        killed.load.come_to_pay(id.clone()).await;
    }
}

/// Suspends the machine until *not found* is final everywhere.
async fn all_answered(site: &Site) -> anyhow::Result<()> {
    eventually("every provider answers", ANSWERED_WITHIN, async || {
        if Report::fetch(site).await?.unanswered() == 0 {
            return Ok(Some(()));
        }
        site.world.sleep(A_WHILE)?;
        tokio::time::sleep(PAUSE).await;
        Ok(None)
    })
    .await
}

fn sends_nothing(site: &Site, restored: &Restored, held: &mut Held) {
    for (reference, entry) in site.provider.books() {
        let before = restored.books.get(&reference);
        if entry.requests > before.map_or(0, |before| before.requests) {
            let what = format!("{reference} was submitted in the hold: {entry:?}");
            held.breaks.push(found_broken(Rule::HeldSendsNothing, what));
        }
    }
}

/// Releases everything; in some rounds the app first.
async fn release(site: &Site, number: u32) -> anyhow::Result<()> {
    let note = ["--yes", "--note", "compared with the provider's books"];
    if number % BY_APP == 1 {
        let app = site.server.dev().app_id.clone();
        let order = [&["release", "--app", &app][..], &note].concat();
        site.server.command(&order).await?;
    }
    site.server
        .command(&[&["release"][..], &note].concat())
        .await?;
    Ok(())
}

/// One round in so many kills and restarts the held program.
const RESTARTS: u32 = 5;
/// One round in so many releases the app first.
const BY_APP: u32 = 3;
/// Divisor of the rate for the load during the hold.
const LESS_LOAD: u32 = 10;
/// One order in so many from before the backup is repeated.
const REPEATS_EVERY: usize = 50;
/// Payers who try to pay during the hold.
const PAYERS: usize = 20;
/// Shortest hold.
const HELD: Duration = Duration::from_secs(2);
/// Limit against an endless wait.
const ANSWERED_WITHIN: Duration = Duration::from_secs(90);
const A_WHILE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(250);
