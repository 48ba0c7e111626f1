//! After any history of transactions, a list returns the same as a scan of all its lines.

use std::time::Duration;

use futures_util::future::join_all;
use proptest::prelude::*;

use super::*;
use crate::format::ensure_format;
use switchyard_core::environment::Environment;
use switchyard_core::ids::{AppId, PaymentId, PayoutId, TransactionId};
use switchyard_core::testing::fixtures::World;
use switchyard_core::time::Timestamp;
use switchyard_core::transaction::{Kind, State, Status, Transaction};
use switchyard_store::{
    Backend, Batch, CommitError, CrashPoint, CrashingKv, Direction, MemoryDisk, Store,
    StoreSettings, Table,
};

/// Start of all spans: a multiple of the longest.
const EPOCH: u64 = 640 * 2_592_000_000;
const STATES: [State; 5] = [
    State::AwaitingCustomer,
    State::AwaitingDispatch,
    State::AwaitingProvider,
    State::Succeeded,
    State::Cancelled,
];

#[derive(Clone, Debug)]
enum Op {
    Begin(Kind, Environment, u64),
    /// Two updates of a transaction from its present state; concurrent ones exclude each other.
    Move(usize, usize),
    Purge(u64),
}

/// Milliseconds, many of them at or beside the end of a span.
fn moments() -> impl Strategy<Value = u64> {
    let span = prop_oneof![Just(60_000_u64), Just(14_400_000), Just(2_592_000_000)];
    let near = (span, 1_u64..4, 0_u64..3).prop_map(|(span, times, off)| span * times + off - 1);
    prop_oneof![near, 0_u64..300_000, 0_u64..10_000_000_000].prop_map(|offset| EPOCH + offset)
}

fn kinds() -> impl Strategy<Value = Kind> {
    prop_oneof![4 => Just(Kind::Payment), 1 => Just(Kind::Payout)]
}

fn environments() -> impl Strategy<Value = Environment> {
    prop_oneof![4 => Just(Environment::Sandbox), 1 => Just(Environment::Live)]
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        6 => (kinds(), environments(), moments()).prop_map(|(kind, place, at)| Op::Begin(kind, place, at)),
        6 => (any::<prop::sample::Index>(), 0..STATES.len()).prop_map(|(who, state)| Op::Move(who.index(1_000), state)),
        1 => moments().prop_map(Op::Purge),
    ];
    prop::collection::vec(op, 1..120)
}

fn queries() -> impl Strategy<Value = Vec<ListQuery>> {
    let status = prop::option::of(prop::sample::select(&Status::ALL[..]));
    let moment = || prop::option::of(moments());
    let query = (
        kinds(),
        environments(),
        status,
        moment(),
        moment(),
        1_usize..9,
        1_usize..6,
    );
    let query = query.prop_map(
        |(kind, environment, status, from, to, limit, page)| ListQuery {
            app: app(),
            environment,
            kind,
            status,
            from: from.map(millis),
            to: to.map(millis),
            limit,
            page,
        },
    );
    prop::collection::vec(query, 30)
}

fn app() -> AppId {
    AppId::new(ulid::Ulid::from_parts(1, 2))
}

fn millis(at: u64) -> Timestamp {
    Timestamp::from_micros(i64::try_from(at * 1_000).unwrap())
}

/// Processes on one disk, which die now and then.
struct Lives {
    disk: MemoryDisk,
    store: Store,
    deaths: Vec<CrashPoint>,
    known: Vec<Transaction>,
    /// Number of transactions that have begun, including those whose commit failed.
    begun: u128,
}

impl Lives {
    async fn new(deaths: Vec<CrashPoint>) -> Self {
        let disk = MemoryDisk::default();
        let store = CrashingKv::new(&disk, CrashPoint::Never).store();
        ensure_format(&store).await.unwrap();
        let mut lives = Self {
            disk,
            store,
            deaths,
            known: Vec::new(),
            begun: 0,
        };
        lives.next();
        lives
    }

    fn next(&mut self) {
        let death = self.deaths.pop().unwrap_or(CrashPoint::Never);
        self.store = CrashingKv::new(&self.disk, death).store();
    }

    /// Sends the steps of all of `ops` before it waits for any: they share flushes.
    async fn make(&mut self, ops: &[Op]) {
        let mut steps = Vec::new();
        for op in ops {
            match op {
                Op::Begin(kind, environment, at) => {
                    self.begun += 1;
                    steps.push((None, begun(*kind, *environment, *at, self.begun)));
                }
                Op::Move(..) if self.known.is_empty() => {}
                Op::Move(who, state) => {
                    let before = self.known[who % self.known.len()].clone();
                    let mut after = before.clone();
                    after.version += 1;
                    after.state = STATES[*state].clone();
                    steps.push((Some(before), after));
                }
                Op::Purge(before) => {
                    purge_sandbox(&self.store, app(), millis(*before))
                        .await
                        .unwrap();
                }
            }
        }
        let commits = steps.iter().map(|(before, after)| {
            let mut batch = Batch::new();
            let step = Step {
                before: before.as_ref(),
                after,
                events: &[],
            };
            write(&mut batch, &step).unwrap();
            self.store.commit(batch)
        });
        let verdicts = join_all(commits).await;
        let is_dead = verdicts
            .iter()
            .any(|verdict| matches!(verdict, Err(CommitError::Unavailable { .. })));
        for ((_, after), verdict) in steps.into_iter().zip(verdicts) {
            if verdict.is_ok() {
                self.known.retain(|known| known.id != after.id);
                self.known.push(after);
            }
        }
        if is_dead {
            self.next();
        }
    }
}

fn begun(kind: Kind, environment: Environment, at: u64, number: u128) -> Transaction {
    let id = ulid::Ulid::from_parts(at, number);
    let mut tx = match kind {
        Kind::Payment => World::payment().tx,
        Kind::Payout => World::payout().tx,
    };
    tx.id = match kind {
        Kind::Payment => TransactionId::Payment(PaymentId::new(id)),
        Kind::Payout => TransactionId::Payout(PayoutId::new(id)),
    };
    tx.app = app();
    tx.environment = environment;
    tx
}

/// The page and the total as every line of the list tells them, one after the other.
async fn walked(store: &Store, query: &ListQuery) -> (Vec<TransactionId>, u64) {
    let prefix = keys::list_prefix(query.app, query.environment, query.kind);
    let end = keys::after(&prefix);
    let rows = store.scan(Table::Index, &prefix, &end, Direction::Backward, 100_000);
    let mut found = Vec::new();
    for (key, line) in rows.await.unwrap() {
        let (_, _, id) = keys::read_list(&key).unwrap();
        let at = millis(id.ulid().timestamp_ms());
        if query.from.is_none_or(|from| from <= at)
            && query.to.is_none_or(|to| at <= to)
            && query
                .status
                .is_none_or(|status| status.as_str().as_bytes() == line)
        {
            found.push(id);
        }
    }
    let total = found.len() as u64;
    let skip = query.limit * (query.page - 1);
    (
        found.into_iter().skip(skip).take(query.limit).collect(),
        total,
    )
}

async fn listed(store: &Store, query: &ListQuery) -> (Vec<TransactionId>, u64) {
    let listing = list(store, query).await.unwrap();
    (
        listing.items.iter().map(|tx| tx.id).collect(),
        listing.total,
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn a_page_and_its_total_are_what_a_walk_finds_after_any_history_with_deaths(
        ops in ops(),
        deaths in prop::collection::vec((1_u64..6, any::<bool>()), 0..4),
        together in 1_usize..12,
        queries in queries(),
    ) {
        let deaths = deaths.into_iter().map(|(flush, is_made)| match is_made {
            true => CrashPoint::After(flush),
            false => CrashPoint::Before(flush),
        });
        let deaths = deaths.collect();
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
            let mut lives = Lives::new(deaths).await;
            for ops in ops.chunks(together) {
                lives.make(ops).await;
            }
            lives.next();
            for query in &queries {
                let (found, expected) = (listed(&lives.store, query).await, walked(&lives.store, query).await);
                prop_assert_eq!(found, expected, "{:?}", query);
            }
            Ok(())
        })?;
    }
}

#[tokio::test]
async fn every_backend_tells_the_same_also_when_it_is_opened_again() {
    for backend in [Backend::Sqlite, Backend::Sled] {
        let directory = tempfile::tempdir().unwrap();
        let settings = StoreSettings {
            backend,
            path: directory.path().to_owned(),
            cache_bytes: 4 * 1024 * 1024,
        };
        let mut lives = Lives::new(Vec::new()).await;
        lives.store = Store::open(&settings).unwrap();
        // One in every minute of five hours, ten in each of a few, and one a day for half a year.
        let offsets = (0..300).map(|minute| minute * 60_000);
        let offsets = offsets.chain((0..50).map(|number| number / 10 * 600_000 + number));
        let offsets = offsets.chain((0..180).map(|day| day * 86_400_000));
        let begin = |at| Op::Begin(Kind::Payment, Environment::Sandbox, EPOCH + at);
        lives.make(&offsets.map(begin).collect::<Vec<_>>()).await;
        let moves = (0..530)
            .step_by(7)
            .map(|number| Op::Move(number, number % 5));
        lives.make(&moves.collect::<Vec<_>>()).await;
        lives.make(&[Op::Purge(EPOCH + 5_000_000)]).await;
        lives.store.close().await;
        lives.store = Store::open(&settings).unwrap();
        let hours = |hours: u64| millis(EPOCH + hours * 3_600_000 + 90_000);
        for status in [None, Some(Status::Success), Some(Status::Cancelled)] {
            for (from, to) in [
                (None, None),
                (Some(2), None),
                (None, Some(30)),
                (Some(3), Some(900)),
            ] {
                for page in [1, 2, 7] {
                    let query = ListQuery {
                        app: app(),
                        environment: Environment::Sandbox,
                        kind: Kind::Payment,
                        status,
                        from: from.map(hours),
                        to: to.map(hours),
                        limit: 10,
                        page,
                    };
                    let expected = walked(&lives.store, &query).await;
                    assert_eq!(
                        listed(&lives.store, &query).await,
                        expected,
                        "{backend:?}, {query:?}"
                    );
                    assert!(expected.1 > 0, "{query:?}");
                }
            }
        }
    }
}

#[tokio::test]
async fn when_all_is_purged_no_count_is_left() {
    let mut lives = Lives::new(Vec::new()).await;
    let begin = |at| Op::Begin(Kind::Payment, Environment::Sandbox, EPOCH + at);
    lives.make(&[begin(0), begin(1), begin(14_400_000)]).await;
    lives.make(&[Op::Move(0, 3), Op::Move(1, 2)]).await;
    let rows = || {
        lives
            .store
            .scan(Table::Count, &[0], &[u8::MAX], Direction::Forward, 10)
    };
    let (counts, statistics) = (2 + 2 + 1, 2 + 1);
    assert_eq!(rows().await.unwrap().len(), counts + statistics);
    let end = millis(EPOCH).plus(Duration::from_secs(24 * 60 * 60));
    assert_eq!(purge_sandbox(&lives.store, app(), end).await.unwrap(), 3);
    assert_eq!(rows().await.unwrap(), []);
}

/// A store may commit and answer that it did not.
#[tokio::test]
async fn a_transaction_that_is_stored_is_not_created_a_second_time() {
    let store = Store::memory();
    let tx = begun(Kind::Payout, Environment::Live, EPOCH, 1);
    let create = || {
        let mut batch = Batch::new();
        let step = Step {
            before: None,
            after: &tx,
            events: &[],
        };
        write(&mut batch, &step).unwrap();
        store.commit(batch)
    };
    assert_eq!(create().await, Ok(()));
    assert_eq!(create().await, Err(CommitError::Conflict));
}
