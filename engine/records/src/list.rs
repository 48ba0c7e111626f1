//! An app's transactions, newest first.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use super::counts::{self, Group, Part};
use super::{RecordError, SearchPage, keys, transactions};
use switchyard_core::environment::Environment;
use switchyard_core::ids::{AppId, PaymentId, PayoutId, TransactionId};
use switchyard_core::time::Timestamp;
use switchyard_core::transaction::{Kind, Status, Transaction};
use switchyard_store::{Direction, KeyValues, Store, Table};

/// Lines of the list that are read at once. Between two reads other work gets its turn.
const CHUNK: usize = if cfg!(test) { 20 } else { 2_000 };
/// Up to this number of lines are passed by reading them: reading counts would cost as much. Tests,
/// which have few lines, take every way too.
const NEAR: u64 = if cfg!(test) { 3 } else { 1_000 };

/// The range of a query ends with all of its last millisecond.
const MILLISECOND: Duration = Duration::from_millis(1);

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

/// The page that `query` asks for. Its cost does not grow with how many there are: the total is
/// summed from counts, and the counts lead to where the page begins.
pub async fn list(store: &Store, query: &ListQuery) -> Result<Listing, RecordError> {
    let Some(search) = Search::begin(store, query).await? else {
        return Ok(Listing::default());
    };
    let parts = search.parts().await?;
    let total = parts.iter().map(|part| part.count).sum();
    let found = search.page(parts, total).await?;
    let mut items = Vec::with_capacity(found.len());
    for id in found {
        if let Some(tx) = transactions::load(store, id).await? {
            items.push(Arc::new(tx));
        }
    }
    Ok(Listing { items, total })
}

/// A running query.
struct Search<'a> {
    store: &'a Store,
    query: &'a ListQuery,
    group: Group,
    prefix: Vec<u8>,
    /// In milliseconds.
    range: Range<u64>,
    /// When the newest of all began.
    newest: u64,
}

impl<'a> Search<'a> {
    /// `None`: there is nothing to list.
    async fn begin(store: &'a Store, query: &'a ListQuery) -> Result<Option<Self>, RecordError> {
        let ListQuery {
            app,
            environment,
            kind,
            ..
        } = *query;
        let prefix = keys::list_prefix(app, environment, kind);
        let newest = store
            .scan(
                Table::Index,
                &prefix,
                &keys::after(&prefix),
                Direction::Backward,
                1,
            )
            .await?;
        let Some((newest, _)) = newest.first() else {
            return Ok(None);
        };
        let newest = id_of(kind, newest)?.ulid().timestamp_ms();
        let millis = |at: Timestamp| u64::try_from(at.as_millis()).unwrap_or(0);
        let from = query.from.map_or(0, millis);
        let to = query.to.map_or(u64::MAX, |to| millis(to.plus(MILLISECOND)));
        let to = if to > newest {
            counts::end_after(newest)
        } else {
            to
        };
        Ok((from < to).then_some(Self {
            store,
            query,
            group: Group {
                app,
                environment,
                kind,
            },
            prefix,
            range: from..to,
            newest,
        }))
    }

    /// Parts of the range, oldest first, each with its count.
    async fn parts(&self) -> Result<Vec<Part>, RecordError> {
        let mut parts = Vec::new();
        for (span, range) in counts::spans(self.range.clone()) {
            match span {
                Some(span) => parts.extend(self.counted(span, range).await?),
                None => parts.push(Part {
                    count: self.walked(&range).await?,
                    range,
                    span,
                }),
            }
        }
        Ok(parts)
    }

    async fn counted(&self, span: usize, range: Range<u64>) -> Result<Vec<Part>, RecordError> {
        let status = self.query.status;
        self.group
            .counted(self.store, span, range, self.newest, status)
            .await
    }

    /// Counts the lines of a part of a minute.
    async fn walked(&self, range: &Range<u64>) -> Result<u64, RecordError> {
        let mut count = 0;
        let mut end = self.key(range.end);
        loop {
            let rows = self.lines(range.start, &end, CHUNK).await?;
            count += rows.iter().filter(|(_, line)| self.fits(line)).count() as u64;
            match rows.last() {
                Some((key, _)) if rows.len() == CHUNK => end.clone_from(key),
                _ => return Ok(count),
            }
            tokio::task::yield_now().await;
        }
    }

    /// Transactions of the page, newest first. Parts before the page are skipped by their counts,
    /// and so are gaps between transactions of a rare status; the page itself is read line by line.
    async fn page(
        &self,
        mut parts: Vec<Part>,
        total: u64,
    ) -> Result<Vec<TransactionId>, RecordError> {
        let limit = self.query.limit as u64;
        let mut skip = limit.saturating_mul(self.query.page as u64 - 1);
        let size = total.saturating_sub(skip).min(limit) as usize;
        let mut found = Vec::with_capacity(size);
        // Lines that were read already, from here to the end of the range.
        let mut read = self.key(self.range.end);
        while found.len() < size
            && let Some(part) = parts.pop()
        {
            let (start, end) = (self.key(part.range.start), self.key(part.range.end));
            if read <= start {
                continue;
            }
            let is_untouched = end <= read;
            if is_untouched && part.count <= skip {
                skip -= part.count;
                continue;
            }
            let shorter = part.span.and_then(|span| span.checked_sub(1));
            if is_untouched
                && skip > NEAR
                && let Some(span) = shorter
            {
                parts.extend(self.counted(span, part.range).await?);
                continue;
            }
            let missing = skip as usize + size - found.len();
            let chunk = match self.query.status {
                None => missing,
                Some(_) => 4 * missing,
            };
            let chunk = chunk.min(CHUNK);
            if end < read {
                read = end;
            }
            let rows = self.lines(self.range.start, &read, chunk).await?;
            for (key, _) in rows.iter().filter(|(_, line)| self.fits(line)) {
                if skip > 0 {
                    skip -= 1;
                } else if found.len() < size {
                    found.push(id_of(self.query.kind, key)?);
                }
            }
            match rows.last() {
                Some((key, _)) if rows.len() == chunk => read.clone_from(key),
                _ => break,
            }
            // The rest of the part is looked into more closely if that may spare lines.
            match shorter.filter(|_| self.query.status.is_some()) {
                Some(span) if start < read => parts.extend(self.counted(span, part.range).await?),
                _ => parts.push(part),
            }
            tokio::task::yield_now().await;
        }
        Ok(found)
    }

    /// At most `limit` lines from millisecond `start` on and before the key `end`, newest first.
    async fn lines(&self, start: u64, end: &[u8], limit: usize) -> Result<KeyValues, RecordError> {
        let start = self.key(start);
        let rows = self
            .store
            .scan(Table::Index, &start, end, Direction::Backward, limit);
        Ok(rows.await?)
    }

    fn fits(&self, line: &[u8]) -> bool {
        let status = self.query.status;
        status.is_none_or(|status| status.as_str().as_bytes() == line)
    }

    /// First key of a millisecond's lines.
    fn key(&self, at: u64) -> Vec<u8> {
        [&self.prefix[..], &keys::millis(at)].concat()
    }
}

/// The transactions of a query one after the other, newest first, from the one before `before` on.
/// `limit` of the query is the number of lines that are read at once, and its page does not apply.
pub async fn older(
    store: &Store,
    query: &ListQuery,
    before: Option<TransactionId>,
) -> Result<SearchPage, RecordError> {
    let mut page = SearchPage::default();
    let Some(search) = Search::begin(store, query).await? else {
        return Ok(page);
    };
    let mut end = search.key(search.range.end);
    if let Some(before) = before {
        end = end.min(keys::list(query.app, query.environment, before));
    }
    let rows = search.lines(search.range.start, &end, query.limit).await?;
    for (key, line) in &rows {
        let id = id_of(query.kind, key)?;
        if rows.len() == query.limit {
            page.more = Some(id);
        }
        if search.fits(line)
            && let Some(tx) = transactions::load(store, id).await?
        {
            page.items.push(Arc::new(tx));
        }
    }
    Ok(page)
}

/// The status that a line of the list tells.
pub(super) fn status(key: &[u8], line: &[u8]) -> Result<Status, RecordError> {
    let status = std::str::from_utf8(line).ok().and_then(Status::parse);
    status.ok_or_else(|| RecordError::damaged("list index", format!("{key:02x?}")))
}

/// The app's transactions of one kind that began at `since` or later and after `after`, oldest
/// first.
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
    keys::millis(u64::try_from(at.as_millis()).unwrap_or(0))
}

fn id_of(kind: Kind, key: &[u8]) -> Result<TransactionId, RecordError> {
    let ulid = key
        .len()
        .checked_sub(16)
        .and_then(|at| <[u8; 16]>::try_from(&key[at..]).ok());
    let ulid = ulid.ok_or_else(|| RecordError::damaged("list index", format!("{key:02x?}")))?;
    Ok(id(kind, ulid::Ulid::from_bytes(ulid)))
}
