//! The promises after a restore and its release.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;
use ulid::Ulid;

use super::Site;
use super::ends::Ended;
use super::hold::Restored;
use super::lists::Statuses;
use super::round::Killed;
use crate::sweep::judge::panics;
use crate::sweep::load::Fate;
use crate::sweep::operator;
use crate::sweep::promises::{
    Break, Evidence, Rule, end, found_broken, listed_breaks, moved, submitted_once, webhooks,
};
use crate::sweep::rest::Made;

/// Evidence of one restore.
pub(super) struct Judged<'r> {
    /// Transactions of the restored store, and those that were made since.
    pub made: &'r Made,
    pub statuses: Statuses,
    pub ended: &'r Ended,
    pub wrong_answers: Vec<String>,
}

/// Broken promises, by the books, the inbox and the lists.
pub(super) async fn broken(site: &Site, judged: Judged<'_>) -> anyhow::Result<Vec<Break>> {
    let never_sent = never_sent(site, &judged).await?;
    let mut made = judged.made.clone();
    made.retain(|id, _| !judged.ended.in_cases.contains(id));
    let evidence = Evidence {
        made,
        statuses: judged.statuses,
        books: site.provider.books(),
        letters: site.inbox.letters(),
        never_sent,
        wrong_answers: judged.wrong_answers,
        stuck: judged.ended.stuck.values().cloned().collect(),
        panics: panics(site),
        ..Evidence::default()
    };
    Ok(hold_against(&evidence))
}

/// Holds the promises of the sweep against the evidence, except one: a webhook of the lost span
/// comes again under another id.
fn hold_against(evidence: &Evidence) -> Vec<Break> {
    let mut breaks = Vec::new();
    listed_breaks(evidence, &mut breaks);
    submitted_once(evidence, &mut breaks);
    let moved = moved(&evidence.books);
    for (id, times) in moved.iter().filter(|(_, times)| **times > 1) {
        let what = format!("{id} moved money {times} times");
        breaks.push(found_broken(Rule::NothingDoubled, what));
    }
    for (id, promise) in &evidence.made {
        let Some(status) = evidence.statuses.get(id).and_then(Option::as_deref) else {
            let what = format!("{id} was in the restored store and is not found");
            breaks.push(found_broken(Rule::NothingLost, what));
            continue;
        };
        let times = moved.get(id.as_str()).copied().unwrap_or(0);
        end(evidence, (id, *promise), (status, times), &mut breaks);
        webhooks(evidence, id, status, &mut breaks);
    }
    breaks.retain(|found| !matches!(found.rule, Rule::WebhookOnce | Rule::WebhookInOrder));
    breaks
}

/// Checks that the backup has everything that was answered before it, and that the report's lost
/// span covers the rest.
pub(super) fn lost(killed: &Killed, restored: &Restored) -> Vec<Break> {
    let is_gone = |id: &&String| !restored.statuses.contains_key(*id);
    let early = killed.before.iter().filter(is_gone).map(|id| {
        let what = format!("{id} was answered before the backup, which does not have it");
        found_broken(Rule::NothingLost, what)
    });
    let (from, to) = restored.lost;
    let unnamed = killed.made.keys().filter(is_gone).filter_map(|id| {
        let made_at = made_at(id).unwrap_or_default();
        let is_named = (millis(from.as_millis()) - BEFORE_ITS_COMMIT..=millis(to.as_millis()))
            .contains(&made_at);
        let what = format!("{id}, made at {made_at:?}, is not of the span from {from} to {to}");
        (!is_named).then(|| found_broken(Rule::LostSpanIsNamed, what))
    });
    early.chain(unnamed).collect()
}

/// Creation time of a transaction since 1970, by its id.
fn made_at(id: &str) -> Option<Duration> {
    let (_, ulid) = id.split_once('_')?;
    let ulid = Ulid::from_string(ulid).ok()?;
    Some(Duration::from_millis(ulid.timestamp_ms()))
}

fn millis(millis: i64) -> Duration {
    Duration::from_millis(millis.unsigned_abs())
}

/// Transactions that failed for a reason that is promised: nothing was sent, or a provider had
/// declined a payout in the lost span, which is then not sent to the next connection.
async fn never_sent(site: &Site, judged: &Judged<'_>) -> anyhow::Result<BTreeSet<String>> {
    let failed = |id: &str| judged.statuses.get(id).and_then(Option::as_deref) == Some("failed");
    let odd = judged.made.iter();
    let odd = odd.filter(|(id, promise)| promise.fate == Fate::Success && failed(id));
    let odd: Vec<String> = odd.map(|(id, _)| id.clone()).collect();
    let shown = operator::see_all(&site.server.operator(), &odd).await?;
    let is_explained = |shown: &Option<Value>| {
        let attempts = shown
            .as_ref()
            .and_then(|shown| shown["attempts"].as_array());
        let attempts = attempts.into_iter().flatten();
        let was_declined = |one: &Value| one["presumed"] == true && one["state"] == "declined";
        let is_unsent = |one: &Value| one["state"] == "not_sent";
        attempts.clone().any(was_declined) || attempts.last().is_some_and(is_unsent)
    };
    let explained = shown.into_iter().filter(|(_, shown)| is_explained(shown));
    Ok(explained.map(|(id, _)| id).collect())
}

/// Longest time between the id of a transaction and its commit.
const BEFORE_ITS_COMMIT: Duration = Duration::from_secs(5);
