//! An app's transactions, newest first.

use std::sync::Arc;

use super::{RecordError, keys, transactions};
use crate::clock::Timestamp;
use crate::environment::Environment;
use crate::ids::{AppId, PaymentId, PayoutId, TransactionId};
use crate::store::{Direction, Store, Table};
pub use crate::transaction::Kind;
use crate::transaction::{Status, Transaction};

/// Index rows read at once while counting. Between two reads other work gets its turn.
const CHUNK: usize = 2_000;

/// The id of a payment or a payout.
pub(super) fn id(kind: Kind, ulid: ulid::Ulid) -> TransactionId {
    match kind {
        Kind::Payment => TransactionId::Payment(PaymentId::new(ulid)),
        Kind::Payout => TransactionId::Payout(PayoutId::new(ulid)),
    }
}

/// Which transactions, and which page of them.
#[derive(Clone, Debug)]
pub struct ListQuery {
    pub app: AppId,
    pub environment: Environment,
    pub kind: Kind,
    pub status: Option<Status>,
    /// Created at this moment or later.
    pub from: Option<Timestamp>,
    /// Created at this moment or before.
    pub to: Option<Timestamp>,
    /// Transactions a page, at least 1.
    pub limit: usize,
    /// From 1.
    pub page: usize,
}

/// One page, and how many there are in all.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    pub items: Vec<Arc<Transaction>>,
    pub total: u64,
}

/// The page that `query` asks for. Counting reads one small index row for each transaction in the range, never the transactions.
pub async fn list(store: &Store, query: &ListQuery) -> Result<Listing, RecordError> {
    let prefix = keys::list_prefix(query.app, query.environment, query.kind);
    let start = query.from.map_or_else(
        || prefix.clone(),
        |from| [&prefix[..], &ulid_start(from)].concat(),
    );
    let mut end = match query.to {
        Some(to) => [
            &prefix[..],
            &ulid_start(Timestamp::from_micros(to.as_micros().saturating_add(1_000))),
        ]
        .concat(),
        None => keys::after(&prefix),
    };
    let skip = query.limit.saturating_mul(query.page.saturating_sub(1));
    let mut wanted = Vec::new();
    let mut total = 0_usize;
    loop {
        let rows = store
            .scan(Table::Index, &start, &end, Direction::Backward, CHUNK)
            .await?;
        for (key, status) in &rows {
            if query
                .status
                .is_some_and(|status_wanted| status_wanted.as_str().as_bytes() != status.as_slice())
            {
                continue;
            }
            if total >= skip && wanted.len() < query.limit {
                wanted.push(id_of(query.kind, key)?);
            }
            total += 1;
        }
        match rows.last() {
            Some((key, _)) if rows.len() == CHUNK => end.clone_from(key),
            _ => break,
        }
        tokio::task::yield_now().await;
    }
    let mut items = Vec::with_capacity(wanted.len());
    for id in wanted {
        if let Some(tx) = transactions::load(store, id).await? {
            items.push(Arc::new(tx));
        }
    }
    Ok(Listing {
        items,
        total: total as u64,
    })
}

/// The app's transactions of one kind that began at `since` or later and after `after`, oldest first.
pub async fn begun_since(
    store: &Store,
    app: AppId,
    environment: Environment,
    kind: Kind,
    since: Timestamp,
    after: Option<TransactionId>,
    limit: usize,
) -> Result<Vec<TransactionId>, RecordError> {
    let prefix = keys::list_prefix(app, environment, kind);
    let mut start = [&prefix[..], &ulid_start(since)].concat();
    if let Some(after) = after {
        let behind = [&keys::list(app, environment, after)[..], &[0]].concat();
        start = start.max(behind);
    }
    let rows = store
        .scan(
            Table::Index,
            &start,
            &keys::after(&prefix),
            Direction::Forward,
            limit,
        )
        .await?;
    rows.iter().map(|(key, _)| id_of(kind, key)).collect()
}

/// The first bytes of every ULID made at `at` or later: its milliseconds, in 48 bits.
pub(super) fn ulid_start(at: Timestamp) -> [u8; 6] {
    let millis = u64::try_from(at.as_millis()).unwrap_or(0).to_be_bytes();
    [
        millis[2], millis[3], millis[4], millis[5], millis[6], millis[7],
    ]
}

fn id_of(kind: Kind, key: &[u8]) -> Result<TransactionId, RecordError> {
    let ulid = key
        .len()
        .checked_sub(16)
        .and_then(|at| <[u8; 16]>::try_from(&key[at..]).ok());
    let ulid = ulid.ok_or_else(|| RecordError::damaged("list index", format!("{key:02x?}")))?;
    Ok(id(kind, ulid::Ulid::from_bytes(ulid)))
}
