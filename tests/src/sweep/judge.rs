//! Judges a sweep when the kills are over: waits until nothing moves any more, gathers the
//! evidence, and checks the promises against it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::Context;
use serde_json::Value;

use super::callbacks;
use super::figures::Figures;
use super::inbox::DeliveriesByEvent;
use super::kills::Lives;
use super::load::Fate;
use super::operator::{self, Told};
use super::promises::{Broken, Evidence, broken, kind};
use super::rest::{Made, rests};
use super::{Load, Site};
use crate::client::Client;

/// Time that the end of a transaction waits for the acknowledgment of its first event, counted from
/// the first attempt of that event.
const WAITS_FOR_THE_FIRST: Duration = Duration::from_secs(3);

/// Returns the figures if every promise was kept.
///
/// # Errors
/// [`Broken`] with the promises that were broken. Any other error means that the check
/// could not be completed.
pub(super) async fn judge(
    site: &Site,
    load: &Load,
    lives: Lives,
    took: Duration,
) -> anyhow::Result<Figures> {
    let made = load.told().made.clone();
    callbacks::all_sent(site).await?;
    let rested = rests(site, load, &made).await?;
    // Callbacks about payments that were paid again.
    callbacks::all_sent(site).await?;
    let callbacks = callbacks::dealt_with(site).await?;
    let (counts, wrong_answers) = {
        let told = load.told();
        (told.counts, told.broken.clone())
    };
    let statuses = statuses(site, &made).await?;
    let letters = site.inbox.letters();
    let odd = unexpected_failures(site, &made, &statuses).await?;
    let never_sent = odd.iter().filter(|(_, shown)| was_never_sent(shown));
    let never_sent = never_sent.map(|(id, _)| id.clone()).collect();
    let evidence = Evidence {
        listed: (
            listed(site, "/v1/payments").await?,
            listed(site, "/v1/payouts").await?,
        ),
        books: site.provider.books(),
        calls: site.provider.calls(),
        callbacks,
        unsigned: site.inbox.deliveries().1,
        end_may_come_first: end_may_come_first(site, &made, &letters).await?,
        late: lives.late.clone(),
        stuck: rested.stuck.values().cloned().collect(),
        panics: panics(site),
        made,
        statuses,
        letters,
        never_sent,
        stories: odd
            .into_iter()
            .map(|(id, shown)| (id, format!("{shown:#}")))
            .collect(),
        wrong_answers,
    };
    let breaks = broken(&evidence);
    if !breaks.is_empty() {
        return Err(Broken(breaks).into());
    }
    let deliveries = site.inbox.deliveries().0;
    Ok(Figures::of(
        &evidence, &rested, lives, took, counts, deliveries,
    ))
}

/// Returns the public status of each id that a 201 named.
async fn statuses(site: &Site, made: &Made) -> anyhow::Result<BTreeMap<String, Option<String>>> {
    let merchant = site.server.merchant();
    let all = operator::each(made.keys().cloned(), move |id| {
        let merchant = merchant.clone();
        async move {
            let status = status(&merchant, &id).await?;
            Ok((id, status))
        }
    });
    Ok(all.await?.into_iter().collect())
}

async fn status(merchant: &Client, id: &str) -> anyhow::Result<Option<String>> {
    let answer = merchant.get(&format!("/v1/{}s/{id}", kind(id))).await?;
    match answer.status {
        404 => Ok(None),
        _ => Ok(Some(answer.expect(200)?.data("status")?.to_owned())),
    }
}

async fn listed(site: &Site, list: &str) -> anyhow::Result<u64> {
    let path = format!("{list}?limit=1&page=1");
    let listed = site.server.merchant().get(&path).await?.expect(200)?;
    listed.body["meta"]["total"].as_u64().context("a total")
}

/// Returns transactions that failed against expectation, as the operator API shows them.
async fn unexpected_failures(
    site: &Site,
    made: &Made,
    statuses: &BTreeMap<String, Option<String>>,
) -> anyhow::Result<BTreeMap<String, Value>> {
    let failed = |id: &str| statuses.get(id).and_then(Option::as_deref) == Some("failed");
    let odd = made
        .iter()
        .filter(|(id, promise)| promise.fate == Fate::Success && failed(id));
    let odd: Vec<String> = odd.map(|(id, _)| id.clone()).collect();
    let shown = operator::see_all(&site.server.operator(), &odd).await?;
    let shown = shown.into_iter();
    Ok(shown
        .map(|(id, shown)| (id, shown.unwrap_or_default()))
        .collect())
}

/// Returns whether the last attempt, by the program's record, sent nothing.
fn was_never_sent(shown: &Value) -> bool {
    let attempts = shown["attempts"].as_array();
    let last = attempts.and_then(|all| all.last());
    last.is_some_and(|last| last["state"] == "not_sent")
}

/// Returns transactions whose end arrived before their first event, where by the program's delivery
/// log the first event was attempted early enough and failed.
async fn end_may_come_first(
    site: &Site,
    made: &Made,
    letters: &DeliveriesByEvent,
) -> anyhow::Result<BTreeSet<String>> {
    let letter = |id: &str, end: &str| letters.get(&(id.to_owned(), format!("{}.{end}", kind(id))));
    let is_odd = |id: &&String| {
        let first = letter(id, "initiated").map(|letter| letter.first);
        ["success", "failed"]
            .iter()
            .filter_map(|end| letter(id, end))
            .any(|last| first.is_some_and(|first| last.first < first))
    };
    let odd: Vec<&String> = made.keys().filter(is_odd).collect();
    if odd.is_empty() {
        return Ok(BTreeSet::new());
    }
    let log = operator::deliveries(site).await?;
    let told = |id: &str, end: &str| log.get(&(id.to_owned(), format!("{}.{end}", kind(id))));
    let waited = |id: &&String| {
        let ends = ["success", "failed"].iter().filter_map(|end| told(id, end));
        told(id, "initiated").is_some_and(|first| {
            let mut ends = ends.into_iter();
            ends.all(|last| has_waited(first, last))
        })
    };
    Ok(odd.into_iter().filter(waited).cloned().collect())
}

fn has_waited(first: &Told, last: &Told) -> bool {
    let (Some(tried), Some(followed)) = (first.first_attempt_at, last.first_attempt_at) else {
        return false;
    };
    let is_done = first.ended_at.is_some_and(|ended| ended <= followed);
    is_done || followed >= tried.plus(WAITS_FOR_THE_FIRST)
}

pub(super) fn panics(site: &Site) -> Vec<String> {
    let log = site.server.log();
    let lines = log.lines().filter(|line| line.contains("panicked at"));
    lines.map(str::to_owned).collect()
}
