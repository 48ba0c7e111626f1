//! How many transactions there are: counted as they come, change and go, by status and by when they
//! began.
//!
//! The same commit that writes a line of the list adds to three counts: of its minute, of its four
//! hours, of its thirty days, in UTC since
//! 1970. A total is read from the counts of the longest spans within its range, so that a year
//! costs about as much as an hour; only the minutes at the two ends of a range are read line by
//! line, and only when the range begins or ends inside one.

use std::ops::Range;

use super::{RecordError, keys};
use switchyard_core::environment::Environment;
use switchyard_core::ids::{AppId, TransactionId};
use switchyard_core::limits::STORE_SCAN_INLINE;
use switchyard_core::transaction::{Kind, Status};
use switchyard_store::{Batch, Direction, Store, Table, counts};

/// The spans that are counted, in milliseconds. Each is a multiple of the one before. Part of the
/// form of the store.
const SPANS: [u64; 3] = [MINUTE, 240 * MINUTE, 180 * 240 * MINUTE];
const MINUTE: u64 = 60_000;

/// The newest counts of a range are read one by one, the others are scanned. In a backend that
/// keeps the versions of a row in memory for a while, a scan passes all versions of the counts that
/// are being incremented.
const CHANGING: u64 = 2;
/// Up to this number of counts are read one by one.
const FEW: u64 = 32;

/// Transactions of one app, environment and kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    pub app: AppId,
    pub environment: Environment,
    pub kind: Kind,
}

/// Transactions that began in a range of milliseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub range: Range<u64>,
    /// Which of [`SPANS`] it is. `None`: a part of a minute, which has no count of its own.
    pub span: Option<usize>,
    /// How many of the status in question there are.
    pub count: u64,
}

/// Counts a transaction that had one status and now has another. No status: it is not there.
///
/// Together with the change of its line in the list this is the only place where counts change.
pub(super) fn count(
    batch: &mut Batch,
    app: AppId,
    environment: Environment,
    id: TransactionId,
    (old, new): (Option<Status>, Option<Status>),
) {
    if old == new {
        return;
    }
    let mut numbers = [0_i64; Status::ALL.len()];
    if let Some(status) = old {
        numbers[place(status)] -= 1;
    }
    if let Some(status) = new {
        numbers[place(status)] += 1;
    }
    let group = Group {
        app,
        environment,
        kind: Kind::of(id),
    };
    let began = id.ulid().timestamp_ms();
    for (span, length) in SPANS.into_iter().enumerate() {
        batch.add(
            Table::Count,
            group.key(span, began - began % length),
            numbers,
        );
    }
}

/// Position of a status's number in a row. Part of the store's schema.
const fn place(status: Status) -> usize {
    match status {
        Status::Initiated => 0,
        Status::Pending => 1,
        Status::Cancelled => 2,
        Status::Failed => 3,
        Status::Success => 4,
    }
}

impl Group {
    fn key(self, span: usize, start: u64) -> [u8; keys::COUNT_BYTES] {
        keys::count(self.app, self.environment, self.kind, span as u8, start)
    }

    /// The counts of one span within `range`, oldest first, none of them zero. No transaction began
    /// after `newest`.
    pub(super) async fn counted(
        self,
        store: &Store,
        span: usize,
        range: Range<u64>,
        newest: u64,
        status: Option<Status>,
    ) -> Result<Vec<Part>, RecordError> {
        let length = SPANS[span];
        let end = range.end.min(newest - newest % length + length);
        let alone = match end.saturating_sub(range.start) > FEW * length {
            true => end - CHANGING * length,
            false => range.start,
        };
        let part = |start: u64, row: &[u8]| Part {
            range: start..start + length,
            span: Some(span),
            count: number(row, status),
        };
        let mut parts = Vec::new();
        let (mut from, to) = (self.key(span, range.start).to_vec(), self.key(span, alone));
        loop {
            let limit = STORE_SCAN_INLINE;
            let rows = store
                .scan(Table::Count, &from, &to, Direction::Forward, limit)
                .await?;
            for (key, row) in &rows {
                parts.push(part(keys::read_count(key).unwrap_or_default(), row));
            }
            match rows.last() {
                Some((key, _)) if rows.len() == limit => from = [&key[..], &[0]].concat(),
                _ => break,
            }
        }
        for start in (alone..end).step_by(length as usize) {
            if let Some(row) = store.get(Table::Count, &self.key(span, start)).await? {
                parts.push(part(start, &row));
            }
        }
        parts.retain(|part| part.count > 0);
        Ok(parts)
    }
}

fn number(row: &[u8], status: Option<Status>) -> u64 {
    let numbers: [u64; Status::ALL.len()] = counts(Some(row));
    match status {
        Some(status) => numbers[place(status)],
        None => numbers.iter().sum(),
    }
}

/// The longest spans that together are `range`, oldest first; the rest at its ends is a part of a
/// minute.
pub(super) fn spans(range: Range<u64>) -> Vec<(Option<usize>, Range<u64>)> {
    let mut found = Vec::with_capacity(2 * SPANS.len() + 1);
    cover(SPANS.len(), range, &mut found);
    found
}

/// The same with the first `spans` of all.
fn cover(spans: usize, range: Range<u64>, found: &mut Vec<(Option<usize>, Range<u64>)>) {
    if range.is_empty() {
        return;
    }
    let Some(span) = spans.checked_sub(1) else {
        found.push((None, range));
        return;
    };
    let length = SPANS[span];
    let inner = range.start.next_multiple_of(length)..range.end - range.end % length;
    if inner.is_empty() {
        return cover(span, range, found);
    }
    cover(span, range.start..inner.start, found);
    found.push((Some(span), inner.clone()));
    cover(span, inner.end..range.end, found);
}

/// A millisecond that no transaction began at or after, when the newest began at `newest`, and that
/// ends one of the longest spans.
pub(super) const fn end_after(newest: u64) -> u64 {
    let length = SPANS[SPANS.len() - 1];
    newest - newest % length + length
}
