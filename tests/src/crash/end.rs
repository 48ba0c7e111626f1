//! Result of a history, without parts that may differ: ids, times, and the number of at-least-once
//! deliveries.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::PoisonError;

use anyhow::Context;
use switchyard_core::environment::Environment;
use switchyard_core::transaction::{AttemptState, Kind};
use switchyard_records::ListQuery;

use super::life::Life;

/// State as clients see it, by the names that they gave to their orders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct End {
    orders: BTreeMap<String, Order>,
    /// Number of all transactions in the engine.
    transactions: u64,
    /// By gateway, the version in force.
    gateways: BTreeMap<String, String>,
    /// Receiver and subject of each kind of mail.
    mails: BTreeSet<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Order {
    status: &'static str,
    is_final: bool,
    /// Attempts that succeeded.
    succeeded: usize,
    /// Movements in the provider's books.
    charges: u32,
    /// Requests of one reference, the most there were.
    submitted: u32,
    /// By event, under how many ids it came.
    events: BTreeMap<String, usize>,
}

impl End {
    /// All transactions ended, and the merchant was notified of each end.
    pub(super) fn is_at_rest(&self) -> bool {
        let heard = |order: &Order| {
            let end = format!(".{}", order.status);
            order.events.keys().any(|event| event.ends_with(&end))
        };
        self.orders
            .values()
            .all(|order| order.is_final && heard(order))
    }
}

pub(super) async fn see(life: &Life<'_>) -> anyhow::Result<End> {
    let outside = life.outside;
    let ordered = outside
        .orders
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone();
    let books = outside.provider.books();
    let mut orders = BTreeMap::new();
    for (name, id) in &ordered {
        let tx = life.bench.engine.transaction(id.parse()?).await?;
        let tx = tx.with_context(|| format!("{name}, which a 201 named {id}"))?;
        let of_it = || books.values().filter(|entry| entry.transaction == *id);
        let order = Order {
            status: tx.status().as_str(),
            is_final: tx.state.is_final(),
            succeeded: tx
                .attempts
                .iter()
                .filter(|one| one.state == AttemptState::Succeeded)
                .count(),
            charges: of_it().map(|entry| entry.charges).sum(),
            submitted: of_it().map(|entry| entry.requests).max().unwrap_or(0),
            events: outside.inbox.events_of(id),
        };
        orders.insert(name.clone(), order);
    }
    let mut transactions = 0;
    for kind in Kind::ALL {
        let all = ListQuery {
            app: life.bench.caller().app.id,
            environment: Environment::Sandbox,
            kind,
            status: None,
            from: None,
            to: None,
            limit: 1,
            page: 1,
        };
        transactions += life.bench.engine.list(&all).await?.total;
    }
    let mut gateways = BTreeMap::new();
    for gateway in life.gateways.overviews().await? {
        let version = gateway
            .current()
            .map(|version| version.kept.version.clone());
        gateways.insert(gateway.record.name.clone(), version.unwrap_or_default());
    }
    Ok(End {
        orders,
        transactions,
        gateways,
        mails: mails(life)?,
    })
}

fn mails(life: &Life<'_>) -> anyhow::Result<BTreeSet<String>> {
    let mut seen = BTreeSet::new();
    let Ok(files) = std::fs::read_dir(life.outside.mails()) else {
        return Ok(seen);
    };
    for file in files {
        let path = file?.path();
        if path.extension().is_none_or(|extension| extension != "eml") {
            continue;
        }
        let text = std::fs::read_to_string(path)?;
        let head = text.lines().take_while(|line| !line.is_empty());
        let kept = head.filter(|line| line.starts_with("To:") || line.starts_with("Subject:"));
        seen.insert(kept.collect::<Vec<_>>().join(", "));
    }
    Ok(seen)
}
