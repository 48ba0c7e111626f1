//! The promises after a restore and its release.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;
use switchyard_core::time::Timestamp;
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
    /// Transactions that were made after the restore. No webhook of theirs was lost.
    pub in_hold: &'r BTreeSet<String>,
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
    Ok(hold_against(&evidence, judged.in_hold))
}

/// Holds the promises of the sweep against the evidence. Those from before the restore have one
/// exception: a webhook of the lost span comes again under another id.
fn hold_against(evidence: &Evidence, in_hold: &BTreeSet<String>) -> Vec<Break> {
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
        let mut of_webhooks = Vec::new();
        webhooks(evidence, id, status, &mut of_webhooks);
        if !in_hold.contains(id) {
            of_webhooks
                .retain(|found| !matches!(found.rule, Rule::WebhookOnce | Rule::WebhookInOrder));
        }
        breaks.append(&mut of_webhooks);
    }
    breaks
}

/// Finds cases without a reason. A transaction may wait for a person only if the restored store has
/// it open and the provider has a request of it.
pub(super) fn unexplained(in_cases: &BTreeSet<String>, restored: &Restored) -> Vec<Break> {
    let requested = restored.books.values().filter(|entry| entry.requests > 0);
    let requested: BTreeSet<&str> = requested.map(|entry| entry.transaction.as_str()).collect();
    let is_open = |id: &str| {
        let status = restored.statuses.get(id).and_then(Option::as_deref);
        matches!(status, Some("initiated" | "pending"))
    };
    let in_cases = in_cases.iter().map(String::as_str);
    let odd = in_cases.filter(|id| !is_open(id) || !requested.contains(id));
    odd.map(|id| {
        found_broken(
            Rule::NothingStuck,
            format!("{id} has a case without a reason"),
        )
    })
    .collect()
}

/// Checks that the backup has everything that was answered before it, and that the report's lost
/// span covers the rest.
pub(super) fn lost(killed: &Killed, restored: &Restored) -> Vec<Break> {
    let made = killed.made.keys();
    outside_the_span(&killed.before, made, &restored.statuses, restored.lost)
}

fn outside_the_span<'m>(
    before: &BTreeSet<String>,
    made: impl IntoIterator<Item = &'m String>,
    known: &Statuses,
    (from, to): (Timestamp, Timestamp),
) -> Vec<Break> {
    let span = millis(from.as_millis()) - BEFORE_ITS_COMMIT..=millis(to.as_millis());
    let mut breaks = Vec::new();
    for id in made.into_iter().filter(|id| !known.contains_key(*id)) {
        if before.contains(id) {
            let what = format!("{id} was answered before the backup, which does not have it");
            breaks.push(found_broken(Rule::NothingLost, what));
        }
        let made_at = made_at(id).unwrap_or_default();
        if !span.contains(&made_at) {
            let what = format!("{id}, of {made_at:?}, is not in the span from {from} to {to}");
            breaks.push(found_broken(Rule::LostSpanIsNamed, what));
        }
    }
    breaks
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::promises::tests::{PAID, UNPAID, sound};

    type Plant = fn(&mut Evidence);

    #[test]
    fn each_broken_promise_is_found_and_a_webhook_that_comes_again_is_none() {
        let planted: [(&str, Plant, &[Rule]); 7] = [
            ("nothing", |_| (), &[]),
            (
                "a webhook of the lost span",
                |evidence| {
                    let key = (PAID.to_owned(), "payment.success".to_owned());
                    let letter = evidence.letters.get_mut(&key).unwrap();
                    letter.ids.insert("evt_again".to_owned());
                },
                &[],
            ),
            (
                "a payment of the lost span that was made twice",
                |evidence| {
                    let mut entry = evidence.books["a"].clone();
                    "py_lost".clone_into(&mut entry.transaction);
                    entry.charges = 2;
                    evidence.books.insert("lost".to_owned(), entry);
                },
                &[Rule::NothingDoubled],
            ),
            (
                "an attempt that was submitted again",
                |evidence| evidence.books.get_mut("b").unwrap().requests = 2,
                &[Rule::NothingDoubled],
            ),
            (
                "a payment under a second reference",
                |evidence| {
                    let entry = evidence.books["a"].clone();
                    evidence.books.insert("again".to_owned(), entry);
                },
                &[Rule::NothingDoubled],
            ),
            (
                "a payment that does not end",
                |evidence| {
                    let pending = Some("pending".to_owned());
                    evidence.statuses.insert(PAID.to_owned(), pending);
                },
                &[Rule::NothingStuck, Rule::WebhookTrue],
            ),
            (
                "a transaction that is lost after the restore",
                |evidence| drop(evidence.statuses.remove(UNPAID)),
                &[Rule::NothingLost],
            ),
        ];
        for (what, plant, rules) in planted {
            let mut evidence = sound();
            plant(&mut evidence);
            let found: BTreeSet<Rule> = hold_against(&evidence, &BTreeSet::new())
                .iter()
                .map(|found| found.rule)
                .collect();
            let rules: BTreeSet<Rule> = rules.iter().copied().collect();
            assert_eq!(found, rules, "{what}");
        }
    }

    #[test]
    fn a_webhook_that_comes_again_is_found_for_a_transaction_of_the_hold() {
        let mut evidence = sound();
        let key = (PAID.to_owned(), "payment.success".to_owned());
        let letter = evidence.letters.get_mut(&key).unwrap();
        letter.ids.insert("evt_again".to_owned());
        letter.first = 0;
        let in_hold = BTreeSet::from([PAID.to_owned()]);
        let found = hold_against(&evidence, &in_hold);
        let found: Vec<Rule> = found.iter().map(|found| found.rule).collect();
        assert_eq!(found, [Rule::WebhookOnce, Rule::WebhookInOrder]);
    }

    #[test]
    fn a_case_needs_an_open_transaction_and_a_request() {
        let sound = sound();
        let status = |status: &str| Some(status.to_owned());
        let statuses = [
            (PAID.to_owned(), status("pending")),
            (UNPAID.to_owned(), status("initiated")),
            ("po_ended".to_owned(), status("success")),
        ];
        let mut restored = Restored {
            books: sound.books,
            statuses: statuses.into_iter().collect(),
            ..Restored::default()
        };
        restored.books.get_mut("b").unwrap().transaction = "po_ended".to_owned();
        for (id, expected) in [(PAID, 0), (UNPAID, 1), ("po_ended", 1), ("py_held", 1)] {
            let breaks = unexplained(&BTreeSet::from([id.to_owned()]), &restored);
            assert_eq!(breaks.len(), expected, "{id}: {breaks:?}");
        }
    }

    #[test]
    fn a_loss_from_before_the_backup_and_one_outside_the_lost_span_are_found() {
        let at = |seconds: u64| {
            let id = Ulid::from_parts(seconds * 1_000, 1);
            format!("py_{id}")
        };
        let (from, to) = (
            Timestamp::from_seconds(1_000),
            Timestamp::from_seconds(1_010),
        );
        for (made_at, before, rules) in [
            (1_005, false, &[][..]),
            (1_005, true, &[Rule::NothingLost][..]),
            (980, false, &[Rule::LostSpanIsNamed]),
            (1_011, false, &[Rule::LostSpanIsNamed]),
        ] {
            let id = at(made_at);
            let before = before.then(|| id.clone()).into_iter().collect();
            let breaks = outside_the_span(&before, [&id], &Statuses::new(), (from, to));
            let found: Vec<Rule> = breaks.iter().map(|found| found.rule).collect();
            assert_eq!(found, rules, "{made_at}");
        }
    }
}
