//! The timers: which transactions have to be looked at, in the order in which they are due.

use super::keys;
use switchyard_core::ids::TransactionId;
use switchyard_core::time::Timestamp;
use switchyard_store::{Key, KeyRange, Pages, Store, StoreError, Table};

/// One timer that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Due {
    pub at: Timestamp,
    pub transaction: TransactionId,
}

/// Key range of the timers that are due at `from` or later.
pub fn timers_from(from: Timestamp) -> KeyRange {
    Key::new().range().starting_at(Key::new().with(from))
}

/// All timers of a store, whenever they are due, read in pages: each open transaction has one.
pub struct Timers<'a> {
    pages: Pages<'a>,
    page: std::vec::IntoIter<Due>,
}

impl<'a> Timers<'a> {
    pub fn all(store: &'a Store) -> Self {
        Self {
            pages: store.pages(Table::Timer, timers_from(Timestamp::default()), PAGE),
            page: Vec::new().into_iter(),
        }
    }

    /// # Errors
    /// When the store cannot be read.
    pub async fn next(&mut self) -> Result<Option<Due>, StoreError> {
        loop {
            if let Some(timer) = self.page.next() {
                return Ok(Some(timer));
            }
            let Some(rows) = self.pages.next().await? else {
                return Ok(None);
            };
            let timers: Vec<_> = rows.iter().filter_map(|(key, _)| readable(key)).collect();
            self.page = timers.into_iter();
        }
    }
}

/// Timers read at once.
const PAGE: usize = 500;

fn readable(key: &[u8]) -> Option<Due> {
    let timer = read_timer(key);
    if timer.is_none() {
        tracing::error!(
            timer = %format_args!("{key:02x?}"),
            "skipped an unreadable timer"
        );
    }
    timer
}

/// Timer in a key. `None`: it cannot be read.
pub fn read_timer(key: &[u8]) -> Option<Due> {
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

    #[tokio::test]
    async fn all_timers_of_one_moment_are_found_and_one_that_cannot_be_read_holds_up_none() {
        let transaction =
            |number| TransactionId::Payment(PaymentId::new(ulid::Ulid::from_parts(1, number)));
        let at = Timestamp::from_seconds(1_000);
        let (store, mut batch) = (Store::memory(), Batch::new());
        let all: Vec<_> = (3..=2 * PAGE as u128 + 2)
            .map(|number| Due {
                at,
                transaction: transaction(number),
            })
            .collect();
        let cut = keys::timer(at, transaction(1))[..20].to_vec();
        let mut strange = keys::timer(at, transaction(2));
        strange[8] = b'?';
        let keys = all
            .iter()
            .map(|timer| keys::timer(timer.at, timer.transaction));
        for key in keys.chain([cut, strange]) {
            batch.put(Table::Timer, key, []);
        }
        store.commit(batch).await.unwrap();
        let (mut timers, mut found) = (Timers::all(&store), Vec::new());
        while let Some(timer) = timers.next().await.unwrap() {
            found.push(timer);
        }
        assert_eq!(found, all);
    }
}
