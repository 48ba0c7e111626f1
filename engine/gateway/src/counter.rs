//! Sequences of numbers for gateways. A number is durable before it is returned, and is returned
//! once per environment. A crypto gateway derives a new address from each. Sandbox and live have
//! separate sequences.

use switchyard_core::environment::Environment;
use switchyard_core::limits::GATEWAY_SERIES_BYTES;
use switchyard_store::{Batch, CommitError, Key, KeyPart, Store, StoreError, Table};

const LIVE: &str = "counter";
const SANDBOX: &str = "counter_sandbox";

/// Error of a sequence. No number is returned twice; one may be skipped.
#[derive(Debug, thiserror::Error)]
pub enum SequenceError {
    #[error("a series is named with 1 to {GATEWAY_SERIES_BYTES} bytes")]
    Name,
    #[error("the store's row of this series cannot be read: restore the store from a backup")]
    Damaged,
    #[error("the series has no number left")]
    Exhausted,
    #[error(transparent)]
    Read(#[from] StoreError),
    #[error(transparent)]
    Commit(#[from] CommitError),
}

/// Returns the next number of a gateway's series in `environment`, at least `from`.
pub(super) async fn next(
    store: &Store,
    environment: Environment,
    gateway: &str,
    series: &str,
    from: u64,
) -> Result<u64, SequenceError> {
    if series.is_empty() || series.len() > GATEWAY_SERIES_BYTES {
        return Err(SequenceError::Name);
    }
    let counts = match environment {
        Environment::Live => LIVE,
        Environment::Sandbox => SANDBOX,
    };
    let key = Key::path(counts).child(gateway).child(series);
    loop {
        let row = store.get(Table::Meta, &key).await?;
        let number = match &row {
            None => 0,
            Some(row) => KeyPart::read(row).ok_or(SequenceError::Damaged)?,
        };
        let number = from.max(number);
        let following = number.checked_add(1).ok_or(SequenceError::Exhausted)?;
        let mut batch = Batch::new();
        match row {
            None => batch.require_absent(Table::Meta, &key),
            Some(row) => batch.require_value(Table::Meta, &key, row),
        }
        batch.put(Table::Meta, &key, following.to_be_bytes());
        match store.commit(batch).await {
            Ok(()) => return Ok(number),
            // Lost the race: retry. One contender always succeeds.
            Err(CommitError::Conflict) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn next(store: &Store, gateway: &str, series: &str) -> Result<u64, SequenceError> {
        super::next(store, Environment::Live, gateway, series, 0).await
    }

    #[tokio::test]
    async fn a_number_is_as_high_as_wanted_and_higher_than_all_before() {
        let store = Store::memory();
        for (from, given) in [(5, 5), (0, 6), (7, 7), (7, 8), (100, 100), (3, 101)] {
            let number = super::next(&store, Environment::Live, "acme", "xpub", from).await;
            assert_eq!(number.unwrap(), given, "{from}");
        }
        let last = super::next(&store, Environment::Live, "acme", "xpub", u64::MAX).await;
        assert!(matches!(last, Err(SequenceError::Exhausted)));
    }

    #[tokio::test]
    async fn sandbox_takes_no_number_of_live_and_neither_passes_one_over() {
        let store = Store::memory();
        let [live, sandbox] = [Environment::Live, Environment::Sandbox]
            .map(|environment| (store.clone(), environment));
        let taken = async |(store, environment): &(Store, Environment)| {
            super::next(store, *environment, "acme", "xpub", 0)
                .await
                .unwrap()
        };
        assert_eq!((taken(&live).await, taken(&live).await), (0, 1));
        assert_eq!(taken(&sandbox).await, 0);
        assert_eq!(taken(&live).await, 2, "nor is one passed over");
    }

    #[tokio::test]
    async fn a_number_is_given_once_however_many_ask_at_the_same_time() {
        let store = Store::memory();
        let asking = (0..50).map(|_| next(&store, "acme", "xpub"));
        let mut numbers: Vec<u64> = futures_util::future::try_join_all(asking).await.unwrap();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..50).collect::<Vec<_>>());
        assert_eq!(next(&store, "acme", "another").await.unwrap(), 0);
        assert_eq!(next(&store, "other", "xpub").await.unwrap(), 0);
        assert!(matches!(
            next(&store, "acme", "").await,
            Err(SequenceError::Name)
        ));
    }
}
