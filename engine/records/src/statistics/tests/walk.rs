//! After any history with crashes and purges, the rows are the sum over all stored transactions.

use std::collections::BTreeMap;

use futures_util::future::join_all;
use proptest::prelude::*;

use super::*;
use switchyard_store::{CommitError, CrashPoint, CrashingKv, MemoryDisk};

/// Hours between the transactions of these histories.
const HOURS: u64 = 60;

#[derive(Clone, Debug)]
enum Op {
    Begin(Kind, Environment, u64, &'static str),
    /// A command to one of the transactions, by its number.
    Step(usize, usize),
    Purge(u64),
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let kinds = prop::sample::select(Kind::ALL.to_vec());
    let environments = prop_oneof![4 => Just(Environment::Sandbox), 1 => Just(Environment::Live)];
    let currencies = prop::sample::select(vec!["USD", "XOF"]);
    let begin = (kinds, environments, 0..HOURS, currencies)
        .prop_map(|(kind, place, hour, currency)| Op::Begin(kind, place, hour, currency));
    let step = (any::<prop::sample::Index>(), 0..COMMANDS)
        .prop_map(|(which, command)| Op::Step(which.index(1_000), command));
    let op = prop_oneof![3 => begin, 9 => step, 1 => (0..HOURS).prop_map(Op::Purge)];
    prop::collection::vec(op, 1..90)
}

const COMMANDS: usize = 14;

/// Gives one of the commands. Some are refused, as in life.
fn command(world: &mut World, number: usize) {
    world.wait(7);
    let first = world.tx.attempts.first().map(|attempt| attempt.id);
    let _ = match number {
        0 | 1 => world.apply(confirm(2)),
        2 => world.answer(pending()),
        3 => world.answer(part(1_000)),
        4 => world.answer(unknown()),
        5 | 6 => world.answer(succeeded()),
        7 => world.answer(succeeded_with(2_000)),
        8 => world.answer(declined(true)),
        9 => world.answer(declined(false)),
        10 => world.answer(succeeded_unreadably()),
        11 => world.answer(reversed("P1")),
        12 => match first {
            Some(first) => world.answer_about(first, usd("P2", 2_500)),
            None => Ok(0),
        },
        _ => world.apply(resolve(None, verdict(Some(1_500), Some("P7")))),
    };
}

fn begun(kind: Kind, environment: Environment, hour: u64, number: u128) -> World {
    let mut world = match kind {
        Kind::Payment => World::payment_with(3),
        Kind::Payout => World::payout(),
    };
    let ulid = Ulid::from_parts(hour * 3_600_000 + 5, number);
    world.tx.id = crate::list::id(kind, ulid);
    world.tx.app = app(number % 2);
    world.tx.environment = environment;
    world
}

/// Processes on one disk, which die now and then.
struct Lives {
    disk: MemoryDisk,
    store: Store,
    deaths: Vec<CrashPoint>,
    worlds: Vec<World>,
    begun: u128,
}

impl Lives {
    fn next(&mut self) {
        let death = self.deaths.pop().unwrap_or(CrashPoint::Never);
        self.store = CrashingKv::new(&self.disk, death).store();
    }

    /// The transactions as they are stored: commits that died may have been made.
    async fn reload(&mut self) {
        let mut stored = BTreeMap::new();
        for tx in all(&self.store).await {
            stored.insert(tx.id, tx);
        }
        self.worlds
            .retain_mut(|world| match stored.remove(&world.tx.id) {
                Some(tx) => {
                    world.tx = tx;
                    true
                }
                None => false,
            });
    }

    /// Commits several steps at once: they share flushes.
    async fn make(&mut self, ops: &[Op]) {
        let mut batches = Vec::new();
        for op in ops {
            let mut batch = Batch::new();
            match op {
                Op::Begin(kind, environment, hour, currency) => {
                    self.begun += 1;
                    let mut world = begun(*kind, *environment, *hour, self.begun);
                    let minor = world.tx.amount.minor();
                    let currency = Currency::from_code(currency).unwrap();
                    world.tx.amount = Amount::from_minor(minor, currency);
                    add(&mut batch, None, &world.tx);
                    self.worlds.push(world);
                }
                Op::Step(which, number) => {
                    let count = self.worlds.len().max(1);
                    let Some(world) = self.worlds.get_mut(which % count) else {
                        continue;
                    };
                    let before = world.tx.clone();
                    command(world, *number);
                    if world.tx.version == before.version {
                        continue;
                    }
                    add(&mut batch, Some(&before), &world.tx);
                }
                Op::Purge(hour) => {
                    let end = Timestamp::from_seconds(0).plus(Duration::from_secs(3_600 * hour));
                    for number in 0..2 {
                        let purged = purge_sandbox(&self.store, app(number), end);
                        purged.await.unwrap();
                    }
                    continue;
                }
            }
            batches.push(batch);
        }
        let commits = batches.into_iter().map(|batch| self.store.commit(batch));
        let verdicts = join_all(commits).await;
        let is_dead = |verdict: &Result<(), CommitError>| {
            matches!(verdict, Err(CommitError::Unavailable { .. }))
        };
        if verdicts.iter().any(is_dead) {
            self.next();
        }
        self.reload().await;
    }
}

async fn all(store: &Store) -> Vec<Transaction> {
    let rows = store.scan(
        Table::Transaction,
        &[0],
        &[255],
        Direction::Forward,
        100_000,
    );
    let read = |(_, row): &(Vec<u8>, Vec<u8>)| serde_json::from_slice(&row[8..]).unwrap();
    rows.await.unwrap().iter().map(read).collect()
}

/// Rows of statistics by their keys, without zeros at their ends.
async fn rows(store: &Store) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let rows = store.scan(Table::Count, &[0], &[255], Direction::Forward, 100_000);
    let rows = rows.await.unwrap().into_iter();
    let is_ours = |key: &[u8]| key.len() > keys::COUNT_BYTES;
    let trimmed = |mut row: Vec<u8>| {
        while row.last() == Some(&0) {
            row.pop();
        }
        row
    };
    rows.filter(|(key, _)| is_ours(key))
        .map(|(key, row)| (key, trimmed(row)))
        .collect()
}

/// The same as a store has that only ever creates each of these transactions.
async fn walked(transactions: &[Transaction]) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let fresh = Store::memory();
    for tx in transactions {
        let mut batch = Batch::new();
        write(&mut batch, None, Some(tx));
        fresh.commit(batch).await.unwrap();
    }
    rows(&fresh).await
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn the_rows_are_the_sum_over_all_transactions_after_crashes_and_purges(
        ops in ops(),
        deaths in prop::collection::vec((1_u64..9, any::<bool>()), 0..4),
        together in 1_usize..6,
    ) {
        let death = |(flush, is_made)| match is_made {
            true => CrashPoint::After(flush),
            false => CrashPoint::Before(flush),
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let disk = MemoryDisk::default();
            let store = CrashingKv::new(&disk, CrashPoint::Never).store();
            ensure_format(&store).await.unwrap();
            let mut lives = Lives {
                store,
                disk,
                deaths: deaths.into_iter().map(death).collect(),
                worlds: Vec::new(),
                begun: 0,
            };
            lives.next();
            for ops in ops.chunks(together) {
                lives.make(ops).await;
            }
            lives.next();
            let kept = all(&lives.store).await;
            prop_assert_eq!(rows(&lives.store).await, walked(&kept).await);
            let mut counted = 0;
            for number in 0..2 {
                for environment in Environment::ALL {
                    for kind in Kind::ALL {
                        let query = StatisticsQuery {
                            app: app(number),
                            environment,
                            kind,
                            interval: Interval::Hour,
                            from: Timestamp::from_seconds(0),
                            to: Timestamp::from_seconds(3_600 * i64::try_from(HOURS).unwrap()),
                        };
                        let add = |row: StatisticsRow| counted += row.figures.total();
                        statistics(&lives.store, &query, add).await.unwrap();
                    }
                }
            }
            prop_assert_eq!(counted, kept.len() as u64);
            Ok(())
        })?;
    }
}
