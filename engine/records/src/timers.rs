//! The timers: which transactions have to be looked at, in the order in which they are due.

use super::keys;
use switchyard_core::ids::TransactionId;
use switchyard_core::time::Timestamp;
use switchyard_store::{Direction, Store, StoreError, Table};

/// One timer that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Due {
    pub at: Timestamp,
    pub transaction: TransactionId,
}

/// Some of the timers that are due.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct DuePage {
    /// Earliest first.
    pub timers: Vec<Due>,
    /// There may be more: the cursor of the next page.
    pub next: Option<TimerCursor>,
}

/// Cursor at which a scan of the timers begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimerCursor(Vec<u8>);

impl TimerCursor {
    /// At the first timer that is due at `at` or later.
    pub fn at(at: Timestamp) -> Self {
        Self(keys::moment(at).to_vec())
    }
}

/// The timers due from `from` until `until`, which is included. Reads `limit` rows at most. An
/// unreadable row is logged and skipped: it would hold up every timer behind it.
///
/// # Errors
/// When the store cannot be read.
pub async fn due(
    store: &Store,
    from: &TimerCursor,
    until: Timestamp,
    limit: usize,
) -> Result<DuePage, StoreError> {
    let end = keys::moment(Timestamp::from_micros(until.as_micros().saturating_add(1)));
    let rows = store
        .scan(Table::Timer, &from.0, &end, Direction::Forward, limit)
        .await?;
    let is_full = rows.len() == limit;
    let last = rows.last().filter(|_| is_full);
    let next = last.map(|(key, _)| TimerCursor([&key[..], &[0]].concat()));
    let mut timers = Vec::with_capacity(rows.len());
    for (key, _) in &rows {
        match read(key) {
            Some(timer) => timers.push(timer),
            None => tracing::error!(
                timer = %format_args!("{key:02x?}"),
                "A timer cannot be read and is skipped: the store was written by a newer program or is damaged. Restore a backup."
            ),
        }
    }
    Ok(DuePage { timers, next })
}

/// All timers of a store, whenever they are due, read in pages: each open transaction has one.
pub struct Timers<'a> {
    store: &'a Store,
    page: std::vec::IntoIter<Due>,
    next: Option<TimerCursor>,
}

impl<'a> Timers<'a> {
    pub fn all(store: &'a Store) -> Self {
        Self {
            store,
            page: Vec::new().into_iter(),
            next: Some(TimerCursor::at(Timestamp::from_micros(0))),
        }
    }

    /// # Errors
    /// When the store cannot be read.
    pub async fn next(&mut self) -> Result<Option<Due>, StoreError> {
        loop {
            if let Some(timer) = self.page.next() {
                return Ok(Some(timer));
            }
            let Some(from) = self.next.take() else {
                return Ok(None);
            };
            let page = due(self.store, &from, FOREVER, PAGE).await?;
            (self.page, self.next) = (page.timers.into_iter(), page.next);
        }
    }
}

/// Timers read at once.
const PAGE: usize = 500;
/// Behind every timer.
const FOREVER: Timestamp = Timestamp::from_micros(i64::MAX - 1);

pub(super) fn read(key: &[u8]) -> Option<Due> {
    let (at, transaction) = key.split_at_checked(8)?;
    let micros = u64::from_be_bytes(at.try_into().ok()?);
    Some(Due {
        at: Timestamp::from_micros(i64::try_from(micros).ok()?),
        transaction: keys::read_transaction(transaction)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchyard_core::ids::PaymentId;
    use switchyard_store::Batch;

    const NOW: Timestamp = Timestamp::from_seconds(1_000);

    fn transaction(number: u128) -> TransactionId {
        TransactionId::Payment(PaymentId::new(ulid::Ulid::from_parts(1, number)))
    }

    async fn store(keys: impl IntoIterator<Item = Vec<u8>>) -> Store {
        let store = Store::memory();
        let mut batch = Batch::new();
        for key in keys {
            batch.put(Table::Timer, key, []);
        }
        store.commit(batch).await.unwrap();
        store
    }

    /// All due timers, read in pages of `limit` rows.
    async fn walked(store: &Store, limit: usize) -> Vec<Due> {
        let (mut from, mut found) = (TimerCursor::at(Timestamp::from_micros(0)), Vec::new());
        loop {
            let page = due(store, &from, NOW, limit).await.unwrap();
            found.extend(page.timers);
            match page.next {
                Some(next) => from = next,
                None => return found,
            }
        }
    }

    #[tokio::test]
    async fn a_timer_that_cannot_be_read_holds_up_none_behind_it() {
        let cut = keys::timer(NOW, transaction(1))[..20].to_vec();
        let mut strange = keys::timer(NOW, transaction(2));
        strange[8] = b'?';
        let store = store([cut, strange, keys::timer(NOW, transaction(3))]).await;
        for limit in 1..4 {
            let found = walked(&store, limit).await;
            let at = NOW;
            let transaction = transaction(3);
            assert_eq!(found, [Due { at, transaction }], "pages of {limit}");
        }
    }

    #[tokio::test]
    async fn timers_of_one_moment_are_all_found_however_few_a_look_takes() {
        let all: Vec<_> = (1..=7)
            .map(|number| Due {
                at: NOW,
                transaction: transaction(number),
            })
            .collect();
        let key = |timer: &Due| keys::timer(timer.at, timer.transaction);
        let store = store(all.iter().map(key)).await;
        for limit in 1..9 {
            assert_eq!(walked(&store, limit).await, all, "pages of {limit}");
        }
    }
}
