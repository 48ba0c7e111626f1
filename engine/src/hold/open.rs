//! Snapshot of the transactions that were open when a hold began: sums by app and state, and the
//! ids up to a limit, so that a report can show their progress.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::HoldState;
use switchyard_core::environment::Environment;
use switchyard_core::ids::{AppId, TransactionId};
use switchyard_core::money::Currency;
use switchyard_core::transaction::{Kind, State, Transaction};
use switchyard_records::{self as records, RecordError, Timers};
use switchyard_store::{Store, StoreError, Table};

/// Open transactions of an app in one state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Open {
    pub app: AppId,
    pub environment: Environment,
    pub kind: Kind,
    /// State when the hold began.
    pub state: String,
    pub currency: Currency,
    pub count: u64,
    /// Sum in the currency's smallest unit.
    pub minor: i64,
}

/// Everything that was open.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    pub sums: Vec<Open>,
    /// The first of them with their states.
    pub listed: Vec<(TransactionId, String)>,
}

/// Reads everything that is open.
pub(super) async fn snapshot(store: &Store) -> Result<Snapshot, RecordError> {
    let mut snapshot = Snapshot::default();
    let mut sums = Sums::default();
    each_open(store, |tx| {
        if snapshot.listed.len() < LISTED {
            let state = tx.state.name().to_owned();
            snapshot.listed.push((tx.id, state));
        }
        sums.add(tx);
    })
    .await?;
    snapshot.sums = sums.into_vec();
    Ok(snapshot)
}

/// Visits each payout of a held app that waits to be sent.
pub(super) async fn each_unsent_payout(
    store: &Store,
    held: &HoldState,
    mut visit: impl FnMut(&Transaction),
) -> Result<(), RecordError> {
    each_open(store, |tx| {
        // An open case about money keeps it back after the release, too.
        let is_unsent = match tx.kind() {
            Kind::Payment => false,
            Kind::Payout => tx.state == State::AwaitingDispatch && !tx.is_held(),
        };
        if is_unsent && held.is_held(tx.app) {
            visit(tx);
        }
    })
    .await
}

/// Each open transaction has a timer. A damaged one is left out: the others can be reported and
/// released without it.
async fn each_open(store: &Store, mut visit: impl FnMut(&Transaction)) -> Result<(), RecordError> {
    let mut timers = Timers::all(store);
    while let Some(timer) = timers.next().await? {
        match records::load(store, timer.transaction).await {
            Ok(Some(tx)) if !tx.state.is_final() => visit(&tx),
            Ok(_) => {}
            Err(error) if error.is_damaged() => {
                tracing::error!(%error, "a damaged row is left out of the report of a hold");
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Sums of transactions, by app, environment, kind, state and currency.
#[derive(Default)]
pub(crate) struct Sums(BTreeMap<SumKey, Open>);

/// Place of a sum in the report. Payouts come before payments.
type SumKey = (
    AppId,
    Environment,
    Reverse<Kind>,
    &'static str,
    &'static str,
);

impl Sums {
    pub(crate) fn add(&mut self, tx: &Transaction) {
        let (currency, kind) = (tx.amount.currency(), tx.kind());
        let state = tx.state.name();
        let key = (
            tx.app,
            tx.environment,
            Reverse(kind),
            state,
            currency.code(),
        );
        let sum = self.0.entry(key).or_insert_with(|| Open {
            app: tx.app,
            environment: tx.environment,
            kind,
            state: state.to_owned(),
            currency,
            count: 0,
            minor: 0,
        });
        sum.count += 1;
        sum.minor = sum.minor.saturating_add(tx.amount.minor());
    }

    pub(crate) fn into_vec(self) -> Vec<Open> {
        self.0.into_values().collect()
    }
}

/// The snapshot of the last hold.
pub(super) async fn stored(store: &Store) -> Result<Snapshot, StoreError> {
    let row = store.get(Table::Meta, KEY).await?;
    // A row that cannot be read is shown as no transactions: the report is for people only.
    let read = row.and_then(|row| serde_json::from_slice(&row).ok());
    Ok(read.unwrap_or_default())
}

pub(super) const KEY: &[u8] = b"hold/open";
/// Transactions that the report follows one by one.
const LISTED: usize = 10_000;

#[cfg(test)]
mod tests {
    use ulid::Ulid;

    use super::*;
    use switchyard_core::ids::PayoutId;
    use switchyard_core::testing::fixtures::World;
    use switchyard_records::{Step, write};
    use switchyard_store::{Batch, Direction, Key};

    #[tokio::test]
    async fn a_damaged_transaction_is_left_out_and_the_others_are_read() {
        let store = Store::memory();
        for number in [1, 2] {
            let mut tx = World::payout().tx;
            tx.id = TransactionId::Payout(PayoutId::new(Ulid::from_parts(1, number)));
            let mut batch = Batch::new();
            let step = Step {
                before: None,
                after: &tx,
                events: &[],
            };
            write(&mut batch, &step).unwrap();
            store.commit(batch).await.unwrap();
        }
        assert_eq!(snapshot(&store).await.unwrap().listed.len(), 2);
        let all = Key::new().range();
        let (from, to) = (all.from(), all.to());
        let rows = store.scan(Table::Transaction, from, to, Direction::Forward, 1);
        let (key, _) = rows.await.unwrap().remove(0);
        for damaged in [&b"short"[..], b"a version and no transaction"] {
            let mut batch = Batch::new();
            batch.put(Table::Transaction, &key, damaged);
            store.commit(batch).await.unwrap();
            let open = snapshot(&store).await.unwrap();
            let counts = open.sums.iter().map(|open| open.count);
            assert_eq!((open.listed.len(), counts.sum::<u64>()), (1, 1));
        }
    }
}
