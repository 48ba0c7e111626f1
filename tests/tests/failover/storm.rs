//! Ten thousand payments at three gateways, each of which fails in five ways, six in a hundred
//! each.

#![expect(clippy::print_stdout, reason = "progress of a long test")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use switchyard_core::ids::TransactionId;
use switchyard_core::transaction::{AttemptState, Status, Transaction};
use switchyard_system::ids::Ids;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::road::{Road, pay};

const PAYMENTS: u32 = 10_000;
const AT_ONCE: usize = 48;
/// Payments a second, by the test's clock.
const PACE: u32 = 20;

/// Behaviour of the provider at one connection: 70 in 100 are well, and each class of failure has 6.
fn word(roll: u64) -> &'static str {
    match roll % 100 {
        0..6 => "refused",
        // A 5xx after the write: half of them have moved the money.
        6..9 => "broken_done",
        9..12 => "broken",
        // An answer that never arrives: a line that was cut, or silence.
        12..15 => "lost_done",
        15..16 => "silent_done",
        16..18 => "lost",
        18..24 => "busy",
        24..30 => "no",
        _ => "ok",
    }
}

fn is_paid(word: &str) -> bool {
    matches!(word, "ok" | "broken_done" | "lost_done" | "silent_done")
}

/// Whether a decline or proof that nothing moved lets another gateway try.
fn is_recoverable(word: &str) -> bool {
    matches!(word, "refused" | "broken" | "lost" | "busy")
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_payments_over_three_failing_gateways_are_charged_once_and_saved_where_they_can_be()
 {
    let began = tokio::time::Instant::now();
    let road = Road::new(3).await;
    let fates = fates();
    let payments = drive(&road, &fates).await;
    let ended = settle(&road).await;
    let mut all = Vec::with_capacity(payments.len());
    for (id, fate) in &payments {
        let tx = road.bench.engine.transaction(*id).await.unwrap().unwrap();
        all.push((tx, fates[*fate as usize]));
    }
    check_attempts(&road, &all);
    check_books(&road, &all);
    check_rate(&all);
    println!(
        "all ended {ended} s after the last began, by the test's clock; took {:?}",
        began.elapsed()
    );
}

fn fates() -> Vec<[&'static str; 3]> {
    let ids = Ids::seeded(2_026);
    let draw = || {
        let mut bytes = [0; 8];
        ids.fill(&mut bytes);
        word(u64::from_le_bytes(bytes))
    };
    (0..PAYMENTS).map(|_| [draw(), draw(), draw()]).collect()
}

/// Begins and confirms all, at a steady pace of the test's clock.
async fn drive(road: &Road, fates: &[[&'static str; 3]]) -> Vec<(TransactionId, u32)> {
    let turns = Arc::new(Semaphore::new(AT_ONCE));
    let mut begun = JoinSet::new();
    for (number, fate) in (0..).zip(fates) {
        let turn = turns.clone().acquire_owned().await.unwrap();
        let (engine, caller, words) = (
            road.bench.engine.clone(),
            road.caller.clone(),
            fate.join(" "),
        );
        begun.spawn(async move {
            let tx = pay(&engine, &caller, &words).await;
            drop(turn);
            (tx.id, number)
        });
        if number % PACE == 0 {
            road.bench.clock.advance(Duration::from_secs(1));
        }
    }
    begun.join_all().await
}

/// Turns the clock until nothing is open; says how far.
async fn settle(road: &Road) -> u64 {
    let mut turned = 0;
    while road.count(Status::Pending).await > 0 {
        road.bench.clock.advance(Duration::from_secs(5));
        turned += 5;
        assert!(turned < 24 * 3_600, "some payments never end");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    turned
}

/// Each further attempt follows one that surely moved no money, at a connection that was not tried
/// before.
fn check_attempts(road: &Road, all: &[(Arc<Transaction>, [&str; 3])]) {
    let mut reasons: BTreeMap<&str, u32> = BTreeMap::new();
    for (tx, fate) in all {
        let words: Vec<&str> = tx
            .attempts
            .iter()
            .map(|attempt| fate[road.slot(attempt.candidate.connection)])
            .collect();
        for (place, attempt) in tx.attempts.iter().enumerate() {
            let is_last = place + 1 == tx.attempts.len();
            let retryable = attempt
                .decline
                .as_ref()
                .is_some_and(|decline| decline.retryable);
            let may_go_on = attempt.state == AttemptState::NotSent || retryable;
            assert!(
                is_last || may_go_on,
                "{}: {words:?} {:?}",
                tx.id,
                attempt.state
            );
            assert!(
                is_last || is_recoverable(words[place]),
                "{}: {words:?}",
                tx.id
            );
            if !is_last {
                *reasons.entry(words[place]).or_default() += 1;
            }
            assert!(!attempt.state.is_open(), "{}: {words:?}", tx.id);
        }
        let mut slots: Vec<_> = tx
            .attempts
            .iter()
            .map(|attempt| attempt.candidate.connection)
            .collect();
        slots.sort_unstable();
        slots.dedup();
        assert_eq!(slots.len(), tx.attempts.len(), "{}: {words:?}", tx.id);
        let last = words.last().unwrap();
        assert_eq!(
            tx.status() == Status::Success,
            is_paid(last),
            "{}: {words:?}",
            tx.id
        );
    }
    println!("another gateway was tried after: {reasons:?}");
}

/// No reference was sent twice, no transaction was charged twice, and the charged transactions are
/// those that succeeded.
fn check_books(road: &Road, all: &[(Arc<Transaction>, [&str; 3])]) {
    let books = road.provider.books();
    let mut charges: BTreeMap<&str, u32> = BTreeMap::new();
    for (reference, entry) in &books {
        assert_eq!(entry.requests, 1, "sent twice: {reference} {entry:?}");
        *charges.entry(&entry.transaction).or_default() += entry.charges;
    }
    for (tx, fate) in all {
        let charged = charges
            .get(tx.id.to_string().as_str())
            .copied()
            .unwrap_or(0);
        let succeeded = u32::from(tx.status() == Status::Success);
        assert_eq!(charged, succeeded, "{}: {fate:?}", tx.id);
    }
    let moved: u32 = charges.values().sum();
    println!("{} requests, {moved} charges, 0 double", books.len());
}

/// At least the best gateway alone, and nine tenths of what another one could save of the rest.
fn check_rate(all: &[(Arc<Transaction>, [&str; 3])]) {
    let count =
        |holds: &dyn Fn(&[&str; 3]) -> bool| all.iter().filter(|(_, fate)| holds(fate)).count();
    let alone: Vec<usize> = (0..3)
        .map(|slot| count(&|fate| is_paid(fate[slot])))
        .collect();
    let best = (0..3).max_by_key(|slot| alone[*slot]).unwrap();
    let saved_by_others = |fate: &[&str; 3]| {
        is_recoverable(fate[best]) && (0..3).any(|slot| slot != best && is_paid(fate[slot]))
    };
    let recoverable = count(&saved_by_others);
    let succeeded = all
        .iter()
        .filter(|(tx, _)| tx.status() == Status::Success)
        .count();
    let wanted = alone[best] + recoverable * 9 / 10;
    println!(
        "{succeeded} of {} succeeded; alone {alone:?}; recoverable {recoverable}; wanted {wanted}",
        all.len()
    );
    assert!(succeeded >= wanted, "{succeeded} < {wanted}");
}
