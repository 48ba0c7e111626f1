//! Cases, which need manual review, over all transactions. The index maps a case to its
//! transaction; the case itself is a part of the transaction.

use std::sync::Arc;

use super::list::ulid_start;
use super::{RecordError, keys, transactions};
use switchyard_core::environment::Environment;
use switchyard_core::ids::{AppId, CaseId};
use switchyard_core::limits::{CASES_COUNTED, MAX_CASES_SCANNED};
use switchyard_core::time::Timestamp;
use switchyard_core::transaction::{Case, CaseReason, Transaction};
use switchyard_store::{Batch, Direction, Store, StoreError, Table};

/// Which cases.
#[derive(Clone, Debug)]
pub struct CaseQuery {
    pub open: bool,
    pub app: Option<AppId>,
    pub environment: Option<Environment>,
    pub reason: Option<CaseReason>,
    /// Opened at this moment or before.
    pub opened_before: Option<Timestamp>,
    /// Older than this case: where the last page ended.
    pub before: Option<CaseId>,
    pub limit: usize,
}

/// A case, and the transaction that it is of.
#[derive(Clone, Debug)]
pub struct CaseFound {
    pub case: Case,
    pub transaction: Arc<Transaction>,
}

/// A page of cases.
#[derive(Clone, Debug, Default)]
pub struct CasesFound {
    pub items: Vec<CaseFound>,
    /// Beginning of the next page, if there may be one.
    pub more: Option<CaseId>,
    /// Whether cases may be missing because the store is damaged.
    pub is_incomplete: bool,
}

impl CaseFound {
    pub fn of(id: CaseId, transaction: Arc<Transaction>) -> Option<Self> {
        let case = transaction.cases.iter().find(|case| case.id == id)?.clone();
        Some(Self { case, transaction })
    }
}

impl CasesFound {
    /// The value that was read. `None`: it is damaged, and the page is incomplete.
    fn readable<T>(
        &mut self,
        store: &Store,
        read: Result<T, RecordError>,
    ) -> Result<Option<T>, RecordError> {
        match read {
            Err(error) if error.is_damaged() || store.damage().is_some() => {
                tracing::error!(%error, "cases are missing from a list, they cannot be read");
                self.is_incomplete = true;
                Ok(None)
            }
            read => read.map(Some),
        }
    }
}

/// Adds the rows of those cases that a step opened or closed.
pub(super) fn write(batch: &mut Batch, before: Option<&Transaction>, after: &Transaction) {
    for case in &after.cases {
        let open = case.closed.is_none();
        let earlier = before.and_then(|before| before.cases.iter().find(|old| old.id == case.id));
        if earlier.is_some_and(|earlier| earlier.closed.is_none() == open) {
            continue;
        }
        if earlier.is_some() {
            batch.delete(Table::Index, keys::case(!open, case.id));
        }
        let transaction = keys::transaction(after.id);
        batch.put(Table::Index, keys::case(open, case.id), transaction);
    }
}

/// Takes the rows of a transaction that is deleted.
pub(super) fn delete(batch: &mut Batch, transaction: &Transaction) {
    for case in &transaction.cases {
        batch.delete(Table::Index, keys::case(case.closed.is_none(), case.id));
    }
}

pub async fn case(store: &Store, id: CaseId) -> Result<Option<CaseFound>, RecordError> {
    for open in [true, false] {
        if let Some(row) = store.get(Table::Index, &keys::case(open, id)).await? {
            return found(store, id, &row).await;
        }
    }
    Ok(None)
}

/// Newest first. A filter that matches few of many is answered in part, with the place to go on
/// from. Cases that cannot be read in a damaged store are left out.
///
/// # Errors
/// When a store without known damage cannot be read.
pub async fn cases(store: &Store, query: &CaseQuery) -> Result<CasesFound, RecordError> {
    let prefix = keys::case_prefix(query.open);
    let mut end = match query.opened_before {
        Some(at) => {
            let next = Timestamp::from_micros(at.as_micros().saturating_add(1_000));
            [&prefix[..], &ulid_start(next)].concat()
        }
        None => keys::after(&prefix),
    };
    if let Some(before) = query.before {
        end = end.min(keys::case(query.open, before));
    }
    let scan = store.scan(
        Table::Index,
        &prefix,
        &end,
        Direction::Backward,
        MAX_CASES_SCANNED,
    );
    let mut page = CasesFound::default();
    let Some(rows) = page.readable(store, scan.await.map_err(RecordError::from))? else {
        return Ok(page);
    };
    for (key, row) in &rows {
        let Some(id) = page.readable(store, id_of(key))? else {
            continue;
        };
        if page.items.len() == query.limit {
            return Ok(page);
        }
        page.more = Some(id);
        let case = page.readable(store, found(store, id, row).await)?.flatten();
        page.items.extend(case.filter(|case| matches(query, case)));
    }
    if rows.len() < MAX_CASES_SCANNED {
        page.more = None;
    }
    Ok(page)
}

/// Returns how many cases are open, at most [`CASES_COUNTED`].
///
/// # Errors
/// When the store cannot be read.
pub async fn open_cases(store: &Store) -> Result<usize, StoreError> {
    let prefix = keys::case_prefix(true);
    let end = keys::after(&prefix);
    let rows = store.scan(
        Table::Index,
        &prefix,
        &end,
        Direction::Forward,
        CASES_COUNTED,
    );
    Ok(rows.await?.len())
}

fn matches(query: &CaseQuery, found: &CaseFound) -> bool {
    let tx = &found.transaction;
    query.app.is_none_or(|app| app == tx.app)
        && query
            .environment
            .is_none_or(|wanted| wanted == tx.environment)
        && query
            .reason
            .is_none_or(|reason| reason == found.case.reason)
}

async fn found(store: &Store, id: CaseId, row: &[u8]) -> Result<Option<CaseFound>, RecordError> {
    let damaged = || RecordError::damaged("case", id);
    let transaction = keys::read_transaction(row).ok_or_else(damaged)?;
    let transaction = transactions::load(store, transaction).await?;
    Ok(transaction.and_then(|transaction| CaseFound::of(id, Arc::new(transaction))))
}

fn id_of(key: &[u8]) -> Result<CaseId, RecordError> {
    let ulid = key
        .get(2..)
        .and_then(|ulid| <[u8; 16]>::try_from(ulid).ok());
    let ulid = ulid.ok_or_else(|| RecordError::damaged("case index", format!("{key:02x?}")))?;
    Ok(CaseId::new(ulid::Ulid::from_bytes(ulid)))
}
