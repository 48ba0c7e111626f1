//! Search of an app's payments and payouts by a text, newest first.
//!
//! Each term of a transaction ([`term`]) has one row in the index, written in the commit that makes
//! the term known. The rows of a term are in order of time, so a page costs some reads, however
//! many transactions there are. The key of a row has a hash of the term; each found transaction is
//! compared with the text, so that a collision of hashes shows nothing wrong.
//!
//! Our references and the providers' ids of attempts have no rows of their own: the index of names
//! has them, for each connection.

mod amount;
mod fold;
mod rows;
mod term;
#[cfg(test)]
mod tests;
mod text;

use std::sync::Arc;

use ulid::Ulid;

pub use text::{SearchText, SearchTextError};

use self::rows::{Every, Next, Scope};
use super::{RecordError, keys, transactions};
use switchyard_core::environment::Environment;
use switchyard_core::ids::{AppId, ConnectionId, PaymentId, PayoutId, TransactionId};
use switchyard_core::limits::{SEARCH_LOADS, SEARCH_PAST_CONNECTIONS, SEARCH_READS};
use switchyard_core::transaction::{Kind, Transaction};
use switchyard_store::{Batch, Direction, Store, Table};

/// Which transactions, and which page of them.
#[derive(Clone, Debug)]
pub struct SearchQuery {
    pub app: AppId,
    pub environment: Environment,
    /// `None`: payments and payouts.
    pub kind: Option<Kind>,
    pub text: SearchText,
    /// [`SearchPage::more`] of the last page.
    pub before: Option<TransactionId>,
    /// Transactions a page, at least 1.
    pub limit: usize,
}

/// A page of found transactions, newest first.
#[derive(Clone, Debug, Default)]
pub struct SearchPage {
    pub items: Vec<Arc<Transaction>>,
    /// Cursor of the next page, if there may be one: [`SearchQuery::before`]. A page may have
    /// fewer items than its limit, also none, before the end. It is a place in the order, and not
    /// always the id of a transaction.
    pub more: Option<TransactionId>,
}

/// Adds the rows of the terms that a step makes known, and deletes those of terms that it takes.
pub(super) fn write(batch: &mut Batch, before: Option<&Transaction>, after: &Transaction) {
    if before.is_some_and(|before| term::has_same_terms(before, after)) {
        return;
    }
    let old = before.map(term::places).unwrap_or_default();
    let new = term::places(after);
    for place in old.difference(&new) {
        batch.delete(Table::Index, keys::search(place, after.id.ulid()));
    }
    for place in new.difference(&old) {
        batch.put(Table::Index, keys::search(place, after.id.ulid()), []);
    }
}

/// Deletes the rows of a transaction that is deleted.
pub(super) fn delete(batch: &mut Batch, tx: &Transaction) {
    for place in term::places(tx) {
        batch.delete(Table::Index, keys::search(&place, tx.id.ulid()));
    }
}

/// Notes a connection that is being deleted, so that a search still finds its attempts by their
/// names.
pub fn note_past_connection(
    batch: &mut Batch,
    app: AppId,
    environment: Environment,
    connection: ConnectionId,
) {
    let key = keys::past_connection(app, environment, connection);
    batch.put(Table::Index, key, []);
}

/// The page that `query` asks for. `connections`: those that the app has in the environment.
///
/// # Errors
/// When the store cannot be read.
pub async fn search(
    store: &Store,
    query: &SearchQuery,
    connections: &[ConnectionId],
) -> Result<SearchPage, RecordError> {
    let mut connections = connections.to_vec();
    connections.extend(past_connections(store, query).await?);
    let mut streams = Vec::new();
    let kinds = Kind::ALL.into_iter();
    for kind in kinds.filter(|kind| query.kind.is_none_or(|only| only == *kind)) {
        let Some(bound) = bound(kind, query.before) else {
            continue;
        };
        let scope = Scope {
            store,
            app: query.app,
            environment: query.environment,
            kind,
            connections: &connections,
        };
        for every in &query.text.alternatives {
            let every = Every::open(&scope, every).await?;
            streams.push(Stream {
                kind,
                every,
                next: Next::Paused(bound),
            });
        }
    }
    let reads = SEARCH_READS / streams.len().max(1);
    let streams = streams.into_iter().map(|stream| (stream, reads)).collect();
    let search = Search {
        store,
        query,
        streams,
    };
    search.page().await
}

async fn past_connections(
    store: &Store,
    query: &SearchQuery,
) -> Result<Vec<ConnectionId>, RecordError> {
    let prefix = keys::past_connection_prefix(query.app, query.environment);
    let (end, limit) = (keys::after(&prefix), SEARCH_PAST_CONNECTIONS);
    let rows = store
        .scan(Table::Index, &prefix, &end, Direction::Backward, limit)
        .await?;
    let id = |key: &[u8]| Some(Ulid::from_bytes(key.get(prefix.len()..)?.try_into().ok()?));
    let ids = rows.iter().filter_map(|(key, _)| id(key));
    Ok(ids.map(ConnectionId::new).collect())
}

/// A running search.
struct Search<'a> {
    store: &'a Store,
    query: &'a SearchQuery,
    /// Each with the reads that it has left.
    streams: Vec<(Stream, usize)>,
}

/// Transactions of one kind that match one alternative of the text.
struct Stream {
    kind: Kind,
    every: Every,
    next: Next,
}

/// Place of a transaction in the order of a search: by time, and of two with one ulid the payment
/// is newer.
type Position = (Ulid, std::cmp::Reverse<Kind>);

impl Search<'_> {
    async fn page(mut self) -> Result<SearchPage, RecordError> {
        let mut page = SearchPage::default();
        let mut loads = SEARCH_LOADS + self.query.limit;
        for (stream, reads) in &mut self.streams {
            if let Next::Paused(bound) = stream.next {
                stream.next = stream.every.next(self.store, bound, reads).await?;
            }
        }
        while let Some((position, is_found)) = self.newest() {
            if !is_found || loads == 0 {
                page.more = Some(before_which(position));
                return Ok(page);
            }
            let id = transaction_at(position);
            loads -= 1;
            if let Some(tx) = self.matching(id).await? {
                if page.items.len() == self.query.limit {
                    page.more = page.items.last().map(|last| last.id);
                    return Ok(page);
                }
                page.items.push(tx);
            }
            self.pass(position).await?;
            tokio::task::yield_now().await;
        }
        Ok(page)
    }

    /// The newest position that a stream has reached, and whether a transaction is there.
    fn newest(&self) -> Option<(Position, bool)> {
        let reached = self.streams.iter().filter_map(|(stream, _)| {
            let reverse = std::cmp::Reverse(stream.kind);
            match stream.next {
                Next::Found(ulid) => Some(((ulid, reverse), true)),
                Next::Paused(ulid) => Some(((ulid, reverse), false)),
                Next::End => None,
            }
        });
        // Of two at one position the one that is found counts.
        reached.max()
    }

    /// Moves the streams that have reached `position` behind it.
    async fn pass(&mut self, (ulid, kind): Position) -> Result<(), RecordError> {
        let behind = ulid.0.checked_sub(1).map(Ulid);
        for (stream, reads) in &mut self.streams {
            let reached = stream.next;
            if stream.kind != kind.0 || ![Next::Found(ulid), Next::Paused(ulid)].contains(&reached)
            {
                continue;
            }
            stream.next = match behind {
                None => Next::End,
                Some(behind) if reached == Next::Paused(ulid) => Next::Paused(behind),
                Some(behind) => stream.every.next(self.store, behind, reads).await?,
            };
        }
        Ok(())
    }

    async fn matching(&self, id: TransactionId) -> Result<Option<Arc<Transaction>>, RecordError> {
        let query = self.query;
        let tx = transactions::load(self.store, id).await?;
        let is_own = |tx: &Transaction| {
            let is_there = tx.app == query.app && tx.environment == query.environment;
            is_there && query.text.matches(tx, &term::terms(tx))
        };
        Ok(tx.filter(is_own).map(Arc::new))
    }
}

/// The newest ulid of a kind after `before` in the order.
fn bound(kind: Kind, before: Option<TransactionId>) -> Option<Ulid> {
    let Some(before) = before else {
        return Some(Ulid(u128::MAX));
    };
    let is_after = (Kind::of(before), kind) == (Kind::Payment, Kind::Payout);
    let ulid = before.ulid();
    let bound = ulid.0.checked_sub(u128::from(!is_after))?;
    Some(Ulid(bound))
}

/// A cursor before which `position` is the first.
fn before_which((ulid, kind): Position) -> TransactionId {
    match kind.0 {
        Kind::Payout => TransactionId::Payment(PaymentId::new(ulid)),
        Kind::Payment => TransactionId::Payout(PayoutId::new(Ulid(ulid.0.saturating_add(1)))),
    }
}

fn transaction_at((ulid, kind): Position) -> TransactionId {
    super::list::id(kind.0, ulid)
}
