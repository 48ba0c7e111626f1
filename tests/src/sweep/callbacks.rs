//! Result of each provider callback as the program reports it once the provider has sent them all,
//! and the checks on it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::Context;
use serde_json::Value;
use switchyard_core::time::Timestamp;
use tokio::time::Instant;

use super::Site;
use super::promises::{Break, Evidence, Rule, found_broken};
use crate::eventually;
use crate::provider::Called;

/// A callback as the operator API shows it.
#[derive(Clone, Debug, Default)]
pub struct Stored {
    pub state: String,
    pub transaction: Option<String>,
    pub trusted: Option<bool>,
    pub received_at: Timestamp,
    pub dealt_with_at: Option<Timestamp>,
}

/// Callbacks by reference. Callbacks that the gateway has not read yet are under the empty
/// reference.
pub type StoredCallbacks = BTreeMap<String, Vec<Stored>>;

/// Waits until the provider has no callback left to send.
pub(super) async fn all_sent(site: &Site) -> anyhow::Result<()> {
    let open = "every callback is acknowledged";
    eventually(open, SENT_WITHIN, async || {
        let calls = site.provider.calls();
        Ok(calls.values().all(|called| called.open == 0).then_some(()))
    })
    .await
}

/// Waits until the program has processed every callback that it acknowledged, or has made no
/// progress for a long time, and returns them all. The machine is suspended until the due time of
/// scheduled callbacks instead of waiting for it.
pub(super) async fn dealt_with(site: &Site) -> anyhow::Result<StoredCallbacks> {
    let mut since = Instant::now();
    let (mut left, mut slept) = (usize::MAX, Duration::ZERO);
    loop {
        let mut waiting = Vec::new();
        for connection in &site.connections {
            waiting.extend(pages(site, connection, "state=waiting&").await?);
        }
        if waiting.len() < left {
            (left, since) = (waiting.len(), Instant::now());
        }
        if waiting.is_empty() || since.elapsed() > DUE_FOR {
            return all(site).await;
        }
        let times = waiting.iter().map(|one| time(one, "next_try_at"));
        let times: Vec<Timestamp> = times.map(Option::unwrap_or_default).collect();
        let soon = site.now().plus(SOON);
        if let Some(last) = times.iter().max()
            && times.iter().all(|at| *at > soon)
            && slept < NIGHT
        {
            let by = last.since(site.now()) + PAUSE;
            eprintln!("{left} callbacks wait for a time: the machine is suspended for {by:.0?}");
            slept += by;
            site.world.sleep(by)?;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn all(site: &Site) -> anyhow::Result<StoredCallbacks> {
    let mut stored = StoredCallbacks::new();
    for connection in &site.connections {
        for callback in pages(site, connection, "").await? {
            let text = |name: &str| callback[name].as_str().map(str::to_owned);
            let one = Stored {
                state: text("state").unwrap_or_default(),
                transaction: text("transaction"),
                trusted: callback["trusted"].as_bool(),
                received_at: time(&callback, "received_at").context("when it came")?,
                dealt_with_at: time(&callback, "dealt_with_at"),
            };
            let reference = text("reference").unwrap_or_default();
            stored.entry(reference).or_default().push(one);
        }
    }
    Ok(stored)
}

/// Returns all callbacks of a connection, newest first.
async fn pages(site: &Site, connection: &str, filter: &str) -> anyhow::Result<Vec<Value>> {
    let operator = site.server.operator();
    let (mut all, mut before) = (Vec::new(), String::new());
    loop {
        let path =
            format!("/operator/v1/connections/{connection}/callbacks?{filter}limit=100{before}");
        let page = operator.get(&path).await?.expect(200)?;
        let data = &page.body["data"];
        all.extend(data["callbacks"].as_array().cloned().unwrap_or_default());
        match data["more"].as_str() {
            Some(more) => before = format!("&before={more}"),
            None => return Ok(all),
        }
    }
}

fn time(callback: &Value, name: &str) -> Option<Timestamp> {
    Timestamp::parse(callback[name].as_str()?)
}

/// Checks the promises about callbacks.
pub(super) fn hold(evidence: &Evidence, breaks: &mut Vec<Break>) {
    let nobody = Called::default();
    let nothing = Vec::new();
    let references: BTreeSet<_> = evidence
        .calls
        .keys()
        .chain(evidence.callbacks.keys())
        .collect();
    for reference in references {
        let mut found = |rule, what| breaks.push(found_broken(rule, what));
        let called = evidence.calls.get(reference).unwrap_or(&nobody);
        let stored = evidence.callbacks.get(reference).unwrap_or(&nothing);
        if let Some(refused) = &called.refused {
            let what = format!("a callback about {reference} was refused: {refused}");
            found(Rule::AnswersRight, what);
        }
        let (sent, kept) = (called.sent as usize, stored.len());
        if !(called.acknowledged as usize..=sent).contains(&kept) {
            let what = format!("of `{reference}` {kept} callbacks are stored: {called:?}");
            found(Rule::CallbackKept, what);
        }
        let as_it_should = (Some(&called.transaction), Some(called.is_signed));
        for one in stored {
            let is = (one.transaction.as_ref(), one.trusted);
            if sent > 0 && (one.state != "matched" || is != as_it_should) {
                let what = format!("a callback about {called:?} came to this: {one:?}");
                found(Rule::CallbackDealtWith, what);
            }
        }
        let status = evidence.statuses.get(&called.transaction);
        let status = status.and_then(Option::as_deref);
        if called.acknowledged > 0 && status != Some("success") {
            let what = format!("{called:?} was acknowledged, and it is {status:?}");
            found(Rule::CallbackCounts, what);
        }
    }
}

/// Generous timeout, not a measurement.
const SENT_WITHIN: Duration = Duration::from_secs(120);
/// More than twice the duration of the longest gateway call.
const DUE_FOR: Duration = Duration::from_secs(180);
/// Items due this soon are waited for without a suspension.
const SOON: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(250);
/// Limit of the total suspension. The longest delay is that of a callback waiting for our own call:
/// a minute and a half.
const NIGHT: Duration = Duration::from_secs(15 * 60);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::promises::{Broken, broken};

    const PAID: &str = "py_paid";
    const DECLINED: &str = "po_declined";

    /// A paid transaction. Its provider sent the callback three times, got one answer, and two
    /// copies were stored.
    fn sound() -> Evidence {
        let mut evidence = Evidence::default();
        let called = Called {
            transaction: PAID.to_owned(),
            is_signed: true,
            sent: 3,
            acknowledged: 1,
            ..Called::default()
        };
        evidence.calls.insert("a".to_owned(), called);
        let stored = Stored {
            state: "matched".to_owned(),
            transaction: Some(PAID.to_owned()),
            trusted: Some(true),
            ..Stored::default()
        };
        let twice = vec![stored.clone(), stored];
        evidence.callbacks.insert("a".to_owned(), twice);
        for (id, status) in [(PAID, "success"), (DECLINED, "failed")] {
            evidence
                .statuses
                .insert(id.to_owned(), Some(status.to_owned()));
        }
        evidence
    }

    /// Returns the promises that are broken after this change to the evidence.
    fn planted(plant: impl FnOnce(&mut Evidence)) -> Vec<Rule> {
        let mut evidence = sound();
        plant(&mut evidence);
        let rules = Broken(broken(&evidence)).rules();
        rules.into_iter().collect()
    }

    #[test]
    fn callbacks_that_are_stored_and_believed_break_nothing() {
        assert_eq!(planted(|_| ()), []);
    }

    #[test]
    fn a_callback_that_was_acknowledged_and_is_not_stored_is_seen() {
        let stored = |count: usize| {
            planted(|evidence| {
                let one = evidence.callbacks["a"][0].clone();
                evidence.callbacks.insert("a".to_owned(), vec![one; count]);
            })
        };
        assert_eq!(stored(0), [Rule::CallbackKept]);
        // Two requests got no answer, so up to three callbacks may be stored.
        assert_eq!(stored(1), []);
        assert_eq!(stored(3), []);
        assert_eq!(stored(4), [Rule::CallbackKept]);
        let gone = planted(|evidence| evidence.callbacks.clear());
        assert_eq!(gone, [Rule::CallbackKept]);
        let of_nobody = planted(|evidence| {
            let one = evidence.callbacks["a"].clone();
            evidence.callbacks.insert("z".to_owned(), one);
        });
        assert_eq!(of_nobody, [Rule::CallbackKept]);
    }

    #[test]
    fn a_callback_that_was_not_dealt_with_as_it_should_is_seen() {
        let dealt = |plant: fn(&mut Stored)| {
            planted(|evidence| plant(&mut evidence.callbacks.get_mut("a").unwrap()[1]))
        };
        for state in ["waiting", "unmatched", "refused", "ignored"] {
            let seen = planted(|evidence| {
                state.clone_into(&mut evidence.callbacks.get_mut("a").unwrap()[0].state);
            });
            assert_eq!(seen, [Rule::CallbackDealtWith], "{state}");
        }
        let wrong = [Rule::CallbackDealtWith];
        assert_eq!(dealt(|one| one.trusted = Some(false)), wrong);
        assert_eq!(dealt(|one| one.transaction = None), wrong);
        let anothers = dealt(|one| one.transaction = Some(DECLINED.to_owned()));
        assert_eq!(anothers, wrong);
        // A trusted hint is as wrong as an untrusted signature.
        let believed = planted(|evidence| evidence.calls.get_mut("a").unwrap().is_signed = false);
        assert_eq!(believed, wrong);
    }

    #[test]
    fn a_callback_that_was_acknowledged_and_brought_no_success_is_seen() {
        let called = |acknowledged| {
            planted(|evidence| {
                let called = Called {
                    transaction: DECLINED.to_owned(),
                    sent: 1,
                    acknowledged,
                    ..Called::default()
                };
                let stored = Stored {
                    state: "matched".to_owned(),
                    transaction: Some(DECLINED.to_owned()),
                    trusted: Some(false),
                    ..Stored::default()
                };
                evidence.calls.insert("b".to_owned(), called);
                evidence.callbacks.insert("b".to_owned(), vec![stored]);
            })
        };
        assert_eq!(called(1), [Rule::CallbackCounts]);
        assert_eq!(called(0), []);
    }

    #[test]
    fn a_callback_that_the_program_refuses_is_seen() {
        let refused = planted(|evidence| {
            let called = evidence.calls.get_mut("a").unwrap();
            called.refused = Some("404".to_owned());
        });
        assert_eq!(refused, [Rule::AnswersRight]);
    }
}
