//! One backup under load, the kill, the restore, the hold and its release, until everything has
//! ended.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use tempfile::TempDir;
use tokio::time::Instant;

use super::ends::ends;
use super::hold::{self, Restored};
use super::lists::statuses;
use super::verdict::{self, Judged};
use super::{Site, callbacks};
use crate::eventually;
use crate::sweep::Load;
use crate::sweep::load::Fate;
use crate::sweep::promises::{Break, kind};
use crate::sweep::rest::Made;

/// Figures and broken promises of one restore.
pub(super) struct Round {
    /// Orders answered 201 until the kill, and those of them that the backup does not have.
    pub made: usize,
    pub lost: usize,
    /// Open when the hold began, and those of them that were paid after the backup.
    pub open: u64,
    pub paid_unknown: usize,
    /// Made while the program was held.
    pub made_held: usize,
    /// Movements in the provider's books since the round began.
    pub movements: u64,
    /// Time of the load until the kill.
    pub loaded: Duration,
    pub backup: Duration,
    /// From the start of the restored program until it was ready.
    pub ready: Duration,
    /// Transactions without an end that have an open case.
    pub in_cases: usize,
    pub answers: Answers,
    pub breaks: Vec<Break>,
}

/// Times between an order and its answer.
#[derive(Clone, Default)]
pub(super) struct Answers {
    pub quiet: Vec<Duration>,
    pub during_backup: Vec<Duration>,
}

/// State of the load when its program was killed.
pub(super) struct Killed {
    pub load: Load,
    pub made: Made,
    /// Answered before the backup began.
    pub before: BTreeSet<String>,
    loaded: Duration,
    backup: Duration,
    answers: Answers,
}

/// # Errors
/// When it cannot be found out whether the promises hold.
pub(super) async fn run(site: &mut Site, number: u32, rate: u32) -> anyhow::Result<Round> {
    let folder = TempDir::new()?;
    let backup = folder.path().join("backup");
    let movements = charges(site);
    let killed = backup_and_kill(site, number, rate, &backup).await?;
    let (restored, ready) = restore(site, &killed, &backup).await?;
    let mut held = hold::hold(site, number, rate, &killed, &restored).await?;
    let mut made = restored.survivors(&killed.made);
    let in_hold = held.made.keys().cloned().collect();
    made.append(&mut held.made);
    let ended = ends(site, &killed.load, &made).await?;
    callbacks::all_sent(site).await?;
    await_webhooks(site, &made).await;
    let mut breaks = std::mem::take(&mut held.breaks);
    let wrong_answers = killed.load.told().broken.clone();
    breaks.extend(verdict::lost(&killed, &restored));
    breaks.extend(verdict::unexplained(&ended.in_cases, &restored));
    let judged = Judged {
        made: &made,
        in_hold: &in_hold,
        statuses: statuses(site, &made).await?,
        ended: &ended,
        wrong_answers: [wrong_answers, held.wrong_answers].concat(),
    };
    breaks.extend(verdict::broken(site, judged).await?);
    Ok(Round {
        made: killed.made.len(),
        lost: killed.made.len() - restored.survivors(&killed.made).len(),
        open: restored.open,
        paid_unknown: restored.paid_unknown(&killed.made),
        made_held: held.made_held,
        movements: charges(site) - movements,
        loaded: killed.loaded,
        backup: killed.backup,
        ready,
        in_cases: ended.in_cases.len(),
        answers: killed.answers,
        breaks,
    })
}

fn charges(site: &Site) -> u64 {
    let books = site.provider.books();
    books.values().map(|entry| u64::from(entry.charges)).sum()
}

/// Sends orders, backs up in the middle of them, and kills the program.
async fn backup_and_kill(
    site: &mut Site,
    number: u32,
    rate: u32,
    backup: &Path,
) -> anyhow::Result<Killed> {
    let load = Load::new(site.server.merchant(), site.server.stranger())
        .numbered_after(u64::from(number) * hold::NUMBERS_OF_A_ROUND);
    let loading = tokio::spawn(load.clone().run(rate));
    let quiet_from = Instant::now() + WARM_UP;
    tokio::time::sleep(BEFORE).await;
    let before = load.told().made.keys().cloned().collect();
    let began = Instant::now();
    let backup = backup.to_str().context("a path that is text")?;
    site.server.command(&["store", "backup", backup]).await?;
    let ended = Instant::now();
    // The kill comes at another moment in each round.
    let phase = Duration::from_millis(u64::from(number) * 373 % 1_000);
    tokio::time::sleep(AFTER + phase).await;
    let killed_at = Instant::now();
    site.server.kill().await?;
    // Orders without an answer are not repeated: their keys are of the lost span.
    loading.abort();
    match loading.await {
        Err(error) if error.is_cancelled() => {}
        ended => ended??,
    }
    let (made, answered) = {
        let told = load.told();
        (told.made.clone(), told.answered.clone())
    };
    let mut answers = Answers::default();
    for (sent, took) in answered {
        match sent {
            _ if (began..ended).contains(&sent) => answers.during_backup.push(took),
            _ if sent < quiet_from || sent >= killed_at => {}
            _ if (began..ended + SETTLES).contains(&sent) => {}
            _ => answers.quiet.push(took),
        }
    }
    Ok(Killed {
        load,
        made,
        before,
        loaded: killed_at - quiet_from + WARM_UP,
        backup: ended - began,
        answers,
    })
}

/// Moves the store away, restores the backup and starts the program. How long it took to be ready.
async fn restore(
    site: &mut Site,
    killed: &Killed,
    backup: &Path,
) -> anyhow::Result<(Restored, Duration)> {
    let data = site.server.data();
    let lost = data.join("store.lost");
    std::fs::rename(data.join("store"), &lost)?;
    let backup = backup.to_str().context("a path that is text")?;
    site.server.command(&["store", "restore", backup]).await?;
    std::fs::remove_dir_all(lost)?;
    // Requests of the killed program have arrived at the provider by now.
    let books = site.provider.books();
    let began = Instant::now();
    site.server.up().await?;
    let ready = began.elapsed();
    let restored = Restored {
        books,
        statuses: statuses(site, &killed.made).await?,
        ..hold::reported(site).await?
    };
    Ok((restored, ready))
}

/// Waits for the webhooks of all ends, at most as long as they are retried.
async fn await_webhooks(site: &Site, made: &Made) {
    let all_told = eventually("webhooks of all ends", TOLD_WITHIN, async || {
        let letters = site.inbox.letters();
        let is_told = |id: &str| {
            let has = |end: &str| {
                let key = (id.to_owned(), format!("{}.{end}", kind(id)));
                letters
                    .get(&key)
                    .is_some_and(|letter| !letter.ids.is_empty())
            };
            has("initiated")
                && ["success", "failed", "cancelled"]
                    .iter()
                    .any(|end| has(end))
        };
        let mut wanted = made.iter().filter(|(_, one)| one.fate != Fate::Initiated);
        Ok(wanted.all(|(id, _)| is_told(id)).then_some(()))
    });
    // The verdict names the missing ones.
    let _ = all_told.await;
}

/// Time of the load before the backup, and after it.
const BEFORE: Duration = Duration::from_secs(4);
const AFTER: Duration = Duration::from_secs(2);
/// Times after a start and after a backup in which answers are not measured.
const WARM_UP: Duration = Duration::from_secs(1);
const SETTLES: Duration = Duration::from_millis(500);
/// Longer than all retries of a webhook.
const TOLD_WITHIN: Duration = Duration::from_secs(30);
