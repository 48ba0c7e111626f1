//! The provider's lists in the report on the hold, against the provider's books.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;
use switchyard_core::time::Timestamp;

use super::Site;
use super::hold::Restored;
use super::lists::Statuses;
use super::report::Report;
use crate::eventually;
use crate::provider::Books;
use crate::sweep::promises::{Break, Rule, found_broken};
use crate::sweep::rest::Made;

/// Compares the lists with the books, once all providers have answered: attempts that they know are
/// known here, too.
pub(super) async fn compared(
    site: &Site,
    made: &Made,
    restored: &Restored,
) -> anyhow::Result<Vec<Break>> {
    let lists = eventually("the lists of the lost span", LISTED_WITHIN, async || {
        let lists = Report::fetch(site).await?.provider_lists();
        let is_complete = |list: &Value| list["status"] == "complete";
        let all_complete = !lists.is_empty() && lists.iter().all(is_complete);
        Ok(all_complete.then_some(lists))
    })
    .await?;
    Ok(against_the_books(&lists, made, restored))
}

fn against_the_books(lists: &[Value], made: &Made, restored: &Restored) -> Vec<Break> {
    let mut breaks = Vec::new();
    let listed: u64 = lists
        .iter()
        .filter_map(|list| list["unknown"].as_u64())
        .sum();
    let lost = lost(&restored.books, made, &restored.statuses, restored.lost);
    if listed < lost.len() as u64 {
        let what = format!(
            "{listed} unknown transactions are listed, and the provider moved money of {}",
            lost.len()
        );
        breaks.push(found_broken(Rule::UnknownIsListed, what));
    }
    let rows = lists
        .iter()
        .filter_map(|list| list["transactions"].as_array());
    for row in rows.flatten() {
        let reference = row["reference"].as_str().unwrap_or_default();
        let entry = restored.books.get(reference);
        let is_known = |id: &str| restored.statuses.contains_key(id);
        if entry.is_none_or(|entry| is_known(&entry.transaction)) {
            let what = format!("{reference} is listed as unknown: {entry:?}");
            breaks.push(found_broken(Rule::UnknownIsListed, what));
        }
    }
    breaks
}

/// References of the lost span under which money moved for transactions that the store does not
/// have.
fn lost<'b>(
    books: &'b Books,
    made: &Made,
    known: &Statuses,
    (from, to): (Timestamp, Timestamp),
) -> BTreeSet<&'b str> {
    let is_lost = |id: &String| made.contains_key(id) && !known.contains_key(id);
    let is_of_the_span = |at: &str| {
        let at = Timestamp::parse(at);
        at.is_some_and(|at| from <= at && at <= to)
    };
    let entries = books.iter().filter(|(_, entry)| {
        entry.charges > 0 && is_lost(&entry.transaction) && is_of_the_span(&entry.order.created_at)
    });
    entries.map(|(reference, _)| reference.as_str()).collect()
}

/// Limit against an endless wait.
const LISTED_WITHIN: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::sweep::promises::tests::{PAID, UNPAID, sound};

    #[test]
    fn a_lost_payment_that_is_not_listed_and_a_known_one_that_is_are_found() {
        let mut evidence = sound();
        let paid = evidence.books.get_mut("a").unwrap();
        "2026-11-20T10:00:00.000000Z".clone_into(&mut paid.order.created_at);
        evidence.statuses.remove(PAID);
        let at = |text| Timestamp::parse(text).unwrap();
        let mut restored = Restored {
            books: evidence.books,
            statuses: evidence.statuses,
            lost: (at("2026-11-20T09:59:00Z"), at("2026-11-20T10:01:00Z")),
            ..Restored::default()
        };
        let list = |references: &[&str]| {
            let rows = references.iter().map(|text| json!({ "reference": text }));
            let rows: Vec<Value> = rows.collect();
            json!({ "unknown": rows.len(), "transactions": rows })
        };
        restored.books.get_mut("b").unwrap().transaction = UNPAID.to_owned();
        for (lists, breaks) in [
            (vec![list(&["a"]), list(&[])], 0),
            (vec![list(&[])], 1),
            (vec![list(&["a", "b"])], 1),
            (vec![list(&["a", "nobody's"])], 1),
        ] {
            let found = against_the_books(&lists, &evidence.made, &restored);
            assert_eq!(found.len(), breaks, "{lists:?}: {found:?}");
            assert!(found.iter().all(|it| it.rule == Rule::UnknownIsListed));
        }
        restored.lost.1 = at("2026-11-20T09:59:30Z");
        let none = against_the_books(&[list(&[])], &evidence.made, &restored);
        assert!(none.is_empty(), "it is outside of the span: {none:?}");
    }
}
