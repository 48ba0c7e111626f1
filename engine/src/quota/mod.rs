//! Limits on how much happens within a span of time, for prompts to payers and for payouts.
//!
//! Promises:
//! - A use is reserved under one lock before the limited action begins, so concurrent requests
//!   cannot exceed a limit together.
//! - A use is durable before the limited action begins, or in the same commit. After a restart the
//!   counts are read back.
//! - No window of a span's length holds more uses than the limit. Counts are kept in parts of the
//!   span, so a use may count for one part longer than the span.
//! - Reading a count costs at most [`Span::parts`] + 1 rows, once; memory and rows are bounded, and
//!   rows that no longer count are swept.

mod ledger;
mod limits;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use sha2::{Digest as _, Sha256};

use self::ledger::{Ledger, SUBJECT_BYTES, Subject};
pub use self::limits::{LimitSettings, PayoutLimits, check_amounts};
use switchyard_core::limits::QUOTA_SWEEP;
use switchyard_core::time::Timestamp;
use switchyard_store::{Batch, CommitError, Key, KeyRange, Store, StoreError, Table, counts};
use switchyard_system::clock::Clock;

/// A length of time, and in how many parts uses are counted within it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Begins the keys of its rows. Part of the form of the store.
    tag: u8,
    part: Duration,
    parts: u64,
}

/// Fifteen minutes, for prompts and codes.
pub const PROMPT_SPAN: Span = Span {
    tag: b'p',
    part: Duration::from_secs(60),
    parts: 15,
};
/// A day, for payouts.
pub const PAYOUT_SPAN: Span = Span {
    tag: b'd',
    part: Duration::from_secs(2 * 60 * 60),
    parts: 12,
};

/// One limit, and how much of it a request wants to use.
#[derive(Clone, Debug)]
pub struct Limit {
    /// Name for metrics and errors: `prompts_per_number`.
    pub name: &'static str,
    /// Identity whose uses are counted together, such as an app and a phone number.
    pub subject: String,
    /// Uses allowed within the span.
    pub most: u64,
    /// Uses that this request makes: 1, or an amount in minor units.
    pub uses: u64,
}

/// A limit that a request would exceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exceeded {
    /// Name of the limit.
    pub limit: &'static str,
    /// Uses allowed within the span.
    pub most: u64,
    /// Time until the same request fits, if no other use is reserved before. `None`: never, it is
    /// larger than the limit.
    pub retry_after: Option<Duration>,
}

/// Reason why no use was reserved.
#[derive(Debug, thiserror::Error)]
pub enum QuotaError {
    #[error("limit {} of {} is reached", .0.limit, .0.most)]
    Exceeded(Exceeded),
    #[error(transparent)]
    Read(#[from] StoreError),
    #[error(transparent)]
    Write(#[from] CommitError),
}

/// Counts of uses. Clones share them.
#[derive(Clone)]
pub struct Quotas(Arc<Inner>);

struct Inner {
    store: Store,
    clock: Clock,
    ledger: Mutex<Ledger>,
}

/// Uses that are counted in memory. Unless they are settled they are given back when this is
/// dropped.
pub struct Reservation {
    quotas: Quotas,
    span: Span,
    part: u64,
    uses: Vec<(Subject, u64)>,
    is_settled: bool,
}

impl Quotas {
    /// Counts on `store`; reads nothing yet.
    pub fn new(store: Store, clock: Clock) -> Self {
        Self(Arc::new(Inner {
            store,
            clock,
            ledger: Mutex::default(),
        }))
    }

    /// Reserves what all `limits` ask for, or nothing. A limit of 0 does not apply.
    ///
    /// # Errors
    /// [`QuotaError::Exceeded`] with the first limit that is exceeded.
    pub async fn reserve(&self, span: Span, limits: &[Limit]) -> Result<Reservation, QuotaError> {
        let wanted: Vec<(Subject, &Limit)> = limits
            .iter()
            .filter(|limit| limit.most > 0)
            .map(|limit| (key(span, limit), limit))
            .collect();
        let mut loaded = Vec::new();
        loop {
            let now = self.0.clock.now();
            let part = span.part_of(now);
            let missing: Vec<Subject> = {
                let mut ledger = self.ledger();
                for (key, counted, as_of) in loaded.drain(..) {
                    ledger.load(key, counted, as_of);
                }
                let keys = wanted.iter().map(|(key, _)| *key);
                let missing: Vec<Subject> = keys.filter(|key| !ledger.has(key)).collect();
                if missing.is_empty() {
                    return self.reserve_loaded(&mut ledger, span, now, &wanted);
                }
                missing
            };
            for key in missing {
                let as_of = self.ledger().forgotten();
                loaded.push((key, self.read(span, key, part).await?, as_of));
            }
        }
    }

    fn reserve_loaded(
        &self,
        ledger: &mut Ledger,
        span: Span,
        now: Timestamp,
        wanted: &[(Subject, &Limit)],
    ) -> Result<Reservation, QuotaError> {
        let part = span.part_of(now);
        for (key, limit) in wanted {
            let counted = ledger.counted(key, span.parts, part);
            let used: u64 = counted.iter().map(|(_, uses)| uses).sum();
            if used.saturating_add(limit.uses) <= limit.most {
                continue;
            }
            metrics::counter!("switchyard_limits_reached_total", "limit" => limit.name)
                .increment(1);
            return Err(QuotaError::Exceeded(Exceeded {
                limit: limit.name,
                most: limit.most,
                retry_after: span.fits_after(&counted, limit, now),
            }));
        }
        let uses: Vec<(Subject, u64)> = wanted
            .iter()
            .map(|(key, limit)| (*key, limit.uses))
            .collect();
        for (key, count) in &uses {
            ledger.add(key, part, *count);
        }
        Ok(Reservation {
            quotas: self.clone(),
            span,
            part,
            uses,
            is_settled: false,
        })
    }

    async fn read(
        &self,
        span: Span,
        key: Subject,
        part: u64,
    ) -> Result<Vec<(u64, u64)>, StoreError> {
        let mut counted = Vec::new();
        for part in part.saturating_sub(span.parts)..=part {
            let row = self
                .0
                .store
                .get(Table::Meta, &row_key(span, part, key))
                .await?;
            let [uses] = counts(row.as_deref());
            if uses > 0 {
                counted.push((part, uses));
            }
        }
        Ok(counted)
    }

    /// Deletes rows that no longer count; says how many.
    pub(crate) async fn sweep(&self) -> Result<u64, QuotaError> {
        let mut swept = 0;
        for span in [PROMPT_SPAN, PAYOUT_SPAN] {
            let oldest = span
                .part_of(self.0.clock.now())
                .saturating_sub(span.parts + 1);
            let expired = KeyRange::between(part_key(span, 0), part_key(span, oldest));
            let store = &self.0.store;
            let mut pages = store.pages(Table::Meta, expired, QUOTA_SWEEP);
            while let Some(rows) = pages.next().await? {
                let mut batch = Batch::new();
                for (key, _) in &rows {
                    batch.delete(Table::Meta, key);
                }
                swept += rows.len() as u64;
                store.commit(batch).await?;
            }
        }
        Ok(swept)
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.0.ledger.lock()
    }
}

impl Reservation {
    /// Adds the uses to `batch`. They stay counted: the commit may be made although its caller has
    /// disconnected.
    pub fn hold_in(&mut self, batch: &mut Batch) {
        self.add(batch, 1);
        self.is_settled = true;
    }

    /// The commit was surely not made.
    pub fn release(&mut self) {
        self.is_settled = false;
    }

    /// Makes the uses durable in a commit of their own.
    ///
    /// # Errors
    /// When the store does not take it. The uses stay counted: the commit may have been made.
    pub async fn commit(mut self) -> Result<Settled, CommitError> {
        let mut batch = Batch::new();
        self.hold_in(&mut batch);
        self.quotas.0.store.commit(batch).await?;
        let settled = Settled {
            quotas: self.quotas.clone(),
            span: self.span,
            part: self.part,
            uses: self.uses.clone(),
        };
        Ok(settled)
    }

    fn add(&self, batch: &mut Batch, sign: i64) {
        add(batch, self.span, self.part, &self.uses, sign);
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut ledger = self.quotas.ledger();
        for (key, uses) in &self.uses {
            let back = if self.is_settled { 0 } else { *uses };
            ledger.end(key, self.part, back);
        }
    }
}

/// Uses that are durable, in case what they allowed did not begin after all.
pub struct Settled {
    quotas: Quotas,
    span: Span,
    part: u64,
    uses: Vec<(Subject, u64)>,
}

impl Settled {
    /// Takes the uses back. Should the store refuse, they stay counted until their span is over.
    pub async fn give_back(self) {
        let mut batch = Batch::new();
        add(&mut batch, self.span, self.part, &self.uses, -1);
        if self.quotas.0.store.commit(batch).await.is_ok() {
            let mut ledger = self.quotas.ledger();
            for (key, uses) in &self.uses {
                ledger.take_back(key, self.part, *uses);
            }
        }
    }
}

impl Span {
    fn part_of(self, now: Timestamp) -> u64 {
        u64::try_from(now.as_micros()).unwrap_or(0) / self.part_micros()
    }

    fn part_micros(self) -> u64 {
        u64::try_from(self.part.as_micros())
            .unwrap_or(u64::MAX)
            .max(1)
    }

    /// How long until `limit` has room again, when these uses of it are counted, oldest first.
    fn fits_after(self, counted: &[(u64, u64)], limit: &Limit, now: Timestamp) -> Option<Duration> {
        let mut used: u64 = counted.iter().map(|(_, uses)| uses).sum();
        for (part, uses) in counted {
            used = used.saturating_sub(*uses);
            if used.saturating_add(limit.uses) <= limit.most {
                let leaves = part
                    .saturating_add(self.parts + 1)
                    .saturating_mul(self.part_micros());
                let now = u64::try_from(now.as_micros()).unwrap_or(0);
                return Some(Duration::from_micros(leaves.saturating_sub(now)));
            }
        }
        None
    }
}

fn add(batch: &mut Batch, span: Span, part: u64, uses: &[(Subject, u64)], sign: i64) {
    for (key, uses) in uses {
        let uses = i64::try_from(*uses).unwrap_or(i64::MAX);
        batch.add(Table::Meta, row_key(span, part, *key), [sign * uses]);
    }
}

/// The hash of a subject: a phone number does not belong into a key.
fn key(span: Span, limit: &Limit) -> Subject {
    let mut hash = Sha256::new();
    hash.update([span.tag]);
    hash.update(limit.name);
    hash.update([0]);
    hash.update(&limit.subject);
    let mut key = [0; SUBJECT_BYTES];
    key.copy_from_slice(&hash.finalize()[..SUBJECT_BYTES]);
    key
}

/// `quota/`, the span, the part, the subject: expired rows are adjacent.
fn row_key(span: Span, part: u64, key: Subject) -> Key {
    part_key(span, part).with(key)
}

/// Beginning of the keys of all subjects of a part.
fn part_key(span: Span, part: u64) -> Key {
    Key::path("quota").child("").with(span.tag).with(part)
}
