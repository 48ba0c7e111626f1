//! Totals of lists, searches and statistics beside the rows that are stored.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use switchyard_core::environment::Environment;
use switchyard_core::ids::AppId;
use switchyard_core::transaction::{Status, Transaction};
use switchyard_engine::engine::Engine;
use switchyard_records::{Interval, ListQuery, SearchQuery, SearchText, StatisticsQuery};

use crate::promises::Total;

/// Compares all totals of the engine with the stored transactions.
pub async fn compared(stored: &[(Vec<u8>, Transaction)], engine: &Engine) -> Vec<Total> {
    let all: Vec<_> = stored.iter().map(|(_, tx)| tx.clone()).collect();
    let mut compared = totals(&all, engine).await;
    compared.extend(searches(&all, engine).await);
    compared.extend(statistics(&all, engine).await);
    compared
}

/// Compares the totals of each list, by status and without a filter, with the rows on the disk.
async fn totals(all: &[Transaction], engine: &Engine) -> Vec<Total> {
    let mut totals = Vec::new();
    let lists: BTreeSet<_> = all
        .iter()
        .map(|tx| (tx.app, tx.environment, tx.kind()))
        .collect();
    for (app, environment, kind) in lists {
        let statuses = Status::ALL.into_iter().map(Some);
        for status in statuses.chain([None]) {
            let query = ListQuery {
                app,
                environment,
                kind,
                status,
                from: None,
                to: None,
                limit: 1,
                page: 1,
            };
            let listing = engine.list(&query).await;
            let stored = all.iter().filter(|tx| {
                (tx.app, tx.environment, tx.kind()) == (app, environment, kind)
                    && status.is_none_or(|status| status == tx.status())
            });
            totals.push(Total {
                list: format!("{:?}s of {app} in {environment}, {status:?}", query.kind),
                told: listing.map_or(u64::MAX, |listing| listing.total),
                stored: stored.count() as u64,
            });
        }
    }
    totals
}

/// Compares the statistics with the rows on the disk: transactions by status, and the sums of the
/// successes by currency.
async fn statistics(all: &[Transaction], engine: &Engine) -> Vec<Total> {
    let of = |tx: &Transaction| (tx.app, tx.environment, tx.kind());
    let created = |tx: &Transaction| tx.created_at;
    let first = all.iter().map(created).min().unwrap_or_default();
    let last = all.iter().map(created).max().unwrap_or_default();
    let mut totals = Vec::new();
    for owner in all.iter().map(of).collect::<BTreeSet<_>>() {
        let (app, environment, kind) = owner;
        let query = StatisticsQuery {
            app,
            environment,
            kind,
            interval: Interval::Hour,
            from: first,
            to: last.plus(Duration::from_micros(1)),
        };
        let name =
            |what: &str| format!("statistics of {kind:?}s of {app} in {environment}, {what}");
        let own: Vec<_> = all.iter().filter(|tx| of(tx) == owner).collect();
        let Ok(read) = engine.statistics(&query).await else {
            totals.push(Total {
                list: name("unreadable"),
                told: u64::MAX,
                stored: own.len() as u64,
            });
            continue;
        };
        for status in Status::ALL {
            let stored = own.iter().filter(|tx| tx.status() == status);
            totals.push(Total {
                list: name(status.as_str()),
                told: read.all.count(status),
                stored: stored.count() as u64,
            });
        }
        let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
        let successes = own.iter().filter(|tx| tx.status() == Status::Success);
        let charges = successes.flat_map(|tx| tx.attempts.iter().flat_map(|one| &one.charges));
        let standing = charges.filter(|charge| charge.is_recorded && !charge.is_taken_back);
        for amount in standing.filter_map(|charge| charge.amount) {
            *sums.entry(amount.currency().code()).or_default() += amount.minor().unsigned_abs();
        }
        for money in read.all.money().unwrap_or_default() {
            let code = money.currency().code();
            totals.push(Total {
                list: name(code),
                told: money.succeeded.minor().unsigned_abs(),
                stored: sums.remove(code).unwrap_or_default(),
            });
        }
        let missing = sums.into_iter().map(|(code, stored)| Total {
            list: name(code),
            told: 0,
            stored,
        });
        totals.extend(missing);
    }
    totals
}

/// Compares the number of transactions that a search by each e-mail and by each reference finds
/// with the rows on the disk.
async fn searches(all: &[Transaction], engine: &Engine) -> Vec<Total> {
    let texts = |tx: &Transaction| {
        let references = tx
            .attempts
            .iter()
            .map(|attempt| attempt.reference.to_string());
        let texts = references.chain([tx.customer.email.clone()]);
        texts.collect::<Vec<_>>()
    };
    let wanted: BTreeSet<_> = all
        .iter()
        .flat_map(|tx| {
            texts(tx)
                .into_iter()
                .map(|text| (tx.app, tx.environment, text))
        })
        .collect();
    let mut totals = Vec::new();
    for (app, environment, text) in wanted {
        let stored = all.iter().filter(|tx| {
            (tx.app, tx.environment) == (app, environment) && texts(tx).contains(&text)
        });
        totals.push(Total {
            list: format!("search for {text} of {app} in {environment}"),
            told: found(engine, app, environment, &text)
                .await
                .unwrap_or(u64::MAX),
            stored: stored.count() as u64,
        });
    }
    totals
}

/// Counts the transactions on all pages of a search. `None`: it failed.
async fn found(engine: &Engine, app: AppId, environment: Environment, text: &str) -> Option<u64> {
    let mut query = SearchQuery {
        app,
        environment,
        kind: None,
        text: SearchText::parse(text).ok()?,
        before: None,
        limit: 3,
    };
    let mut count = 0;
    loop {
        let page = engine.search(&query).await.ok()?;
        count += page.items.len() as u64;
        if page.more.is_none() {
            return Some(count);
        }
        query.before = page.more;
    }
}
