//! The numbers of single transactions, and after any history with crashes and purges the sum over
//! all stored transactions.

mod walk;

use super::*;
use crate::format::ensure_format;
use crate::{Step, purge_sandbox};
use switchyard_core::money::Amount;
use switchyard_core::testing::fixtures::{
    World, confirm, confirm_at, declined, not_sent, part, pending, resolve, reversed, route,
    second_attempt, succeeded, succeeded_unreadably, succeeded_with, unknown, usd, verdict,
};
use switchyard_core::transaction::{Captured, DeclineReason, Outcome, State, Status, Verdict};

fn app(number: u128) -> AppId {
    AppId::new(Ulid::from_parts(1, number))
}

fn add(batch: &mut Batch, before: Option<&Transaction>, after: &Transaction) {
    let step = Step {
        before,
        after,
        events: &[],
    };
    crate::write(batch, &step).unwrap();
}

/// Sum of the numbers of a transaction over its places, which all have one currency.
fn figures(tx: &Transaction) -> Figures {
    let mut sum = Figures::default();
    for (_, numbers) in facts(tx) {
        let row: Vec<u8> = numbers
            .trimmed()
            .iter()
            .flat_map(|one| one.to_be_bytes())
            .collect();
        let figures = Figures::read(&row);
        sum.add_counts(&figures);
        sum.add_money(&figures);
    }
    sum
}

/// The sums that are not zero.
fn money(tx: &Transaction) -> Vec<(Money, u128)> {
    let figures = figures(tx);
    let sums = Money::ALL.map(|money| (money, figures.money(money)));
    sums.into_iter().filter(|(_, sum)| *sum > 0).collect()
}

#[test]
fn an_amount_counts_as_what_is_known_of_it() {
    let after = |outcomes: Vec<Outcome>| {
        let mut world = World::payment();
        world.apply(confirm(1)).unwrap();
        for outcome in outcomes {
            world.answer(outcome).unwrap();
        }
        world.tx
    };
    for (name, outcomes, expected) in [
        ("started", vec![], vec![(Money::Pending, 2_500)]),
        ("pending", vec![pending()], vec![(Money::Pending, 2_500)]),
        (
            "a part",
            vec![part(1_000)],
            vec![(Money::Pending, 1_500), (Money::Unapplied, 1_000)],
        ),
        ("unknown", vec![unknown()], vec![(Money::Unknown, 2_500)]),
        (
            "a query about a part that is not answered",
            vec![part(1_000), unknown()],
            vec![(Money::Pending, 1_500), (Money::Unapplied, 1_000)],
        ),
        (
            "success",
            vec![succeeded()],
            vec![(Money::Succeeded, 2_500)],
        ),
        (
            "surplus",
            vec![succeeded_with(2_600)],
            vec![(Money::Succeeded, 2_600)],
        ),
        (
            "too little",
            vec![succeeded_with(1_000)],
            vec![(Money::Unapplied, 1_000)],
        ),
        (
            "unreadable",
            vec![succeeded_unreadably()],
            vec![(Money::Unknown, 2_500)],
        ),
        (
            "taken back",
            vec![usd("P1", 2_500), reversed("P1")],
            vec![(Money::TakenBack, 2_500)],
        ),
        ("declined", vec![declined(false)], vec![]),
    ] {
        let tx = after(outcomes);
        assert_eq!(money(&tx), expected, "{name}");
        let is_unknown = expected.iter().any(|(money, _)| *money == Money::Unknown);
        let is_held = matches!(tx.state, State::InDoubt | State::OnHold);
        assert_eq!(
            figures(&tx).unknown,
            u64::from(is_unknown || is_held),
            "{name}"
        );
    }
}

#[test]
fn money_for_two_attempts_is_one_success_and_one_sum_beside_it() {
    let (mut world, [first, _]) = second_attempt(succeeded());
    assert_eq!(money(&world.tx), [(Money::Succeeded, 2_500)]);
    world.answer_about(first, usd("P2", 2_500)).unwrap();
    let expected = [(Money::Succeeded, 2_500), (Money::Unapplied, 2_500)];
    assert_eq!(money(&world.tx), expected);
    assert_eq!(figures(&world.tx).total(), 1);
}

#[test]
fn an_unknown_payment_is_pending_and_unknown_and_never_failed() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(unknown()).unwrap();
    let doubtful = figures(&world.tx);
    assert_eq!(doubtful.count(Status::Pending), 1);
    assert_eq!(doubtful.count(Status::Failed), 0);
    assert_eq!((doubtful.unknown, doubtful.reasons().count()), (1, 0));

    let manual = Verdict::Succeeded {
        amount: None,
        provider_id: Some("P9".to_owned()),
    };
    assert!(matches!(
        verdict(None, Some("P9")),
        Verdict::Succeeded { .. }
    ));
    world.apply(resolve(None, manual)).unwrap();
    assert_eq!(money(&world.tx), [(Money::Succeeded, 2_500)]);
    assert_eq!(figures(&world.tx).unknown, 0);
}

#[test]
fn the_fee_of_a_success_is_a_sum_and_an_unnamed_one_is_no_fee_of_zero() {
    for (fees, expected) in [(Some(75), (1, 75)), (None, (0, 0))] {
        let mut world = World::payment();
        world.apply(confirm(1)).unwrap();
        let fees = fees.map(switchyard_core::testing::fixtures::amount);
        let outcome = Outcome::Succeeded {
            provider_id: Some("P1".to_owned()),
            amount: Captured::AsAsked,
            fees,
            provider_status: None,
        };
        world.answer(outcome).unwrap();
        let figures = figures(&world.tx);
        assert_eq!((figures.fees_known, figures.money(Money::Fees)), expected);
    }
}

#[test]
fn a_success_is_timed_from_the_first_attempt_of_its_confirmation() {
    for (seconds, place) in [(0, 0), (2, 0), (3, 1), (20, 3), (3_600, 9), (3_601, 10)] {
        let mut world = World::payment();
        world.wait(300);
        world.apply(confirm_at(route(2))).unwrap();
        world.wait(seconds.min(1));
        world.answer(not_sent()).unwrap();
        assert_eq!(world.tx.attempts.len(), 2, "the next candidate was tried");
        world.wait(seconds - seconds.min(1));
        world.answer(succeeded()).unwrap();
        let durations = figures(&world.tx).durations;
        let counted: Vec<_> = (0..durations.len())
            .filter(|at| durations[*at] > 0)
            .collect();
        assert_eq!(counted, [place], "{seconds} s");
    }
}

#[test]
fn a_reason_is_counted_for_a_failure_and_for_a_payment_that_was_left_after_a_decline() {
    let reasons = |world: &World| figures(&world.tx).reasons().collect::<Vec<_>>();
    let expected = [(DeclineReason::InsufficientFunds, 1)];
    let mut failed = World::payment();
    failed.apply(confirm(1)).unwrap();
    failed.answer(declined(false)).unwrap();
    assert_eq!(failed.tx.status(), Status::Failed);
    assert_eq!(reasons(&failed), expected);

    let mut left = World::payment_with(3);
    left.apply(confirm(1)).unwrap();
    left.answer(declined(false)).unwrap();
    assert_eq!(left.tx.status(), Status::Pending);
    assert_eq!(reasons(&left), [], "the payer may try again");
    left.tx.state = switchyard_core::transaction::State::Cancelled;
    assert_eq!(reasons(&left), expected);
}

#[tokio::test]
async fn a_payment_moves_from_the_row_without_a_method_to_that_of_its_attempt() {
    let store = Store::memory();
    let mut world = World::payment();
    let commit = async |before: Option<&Transaction>, after: &Transaction| {
        let mut batch = Batch::new();
        add(&mut batch, before, after);
        store.commit(batch).await.unwrap();
    };
    let read = async |interval| {
        let query = StatisticsQuery {
            app: world_app(),
            environment: World::payment().tx.environment,
            kind: Kind::Payment,
            interval,
            from: Timestamp::from_seconds(0),
            to: Timestamp::from_seconds(0).plus(Duration::from_secs(1)),
        };
        let mut rows = Vec::new();
        statistics(&store, &query, |row| rows.push(row))
            .await
            .unwrap();
        rows
    };
    commit(None, &world.tx).await;
    for interval in Interval::ALL {
        let rows = read(interval).await;
        assert_eq!(rows.len(), 1);
        assert_eq!((&rows[0].method, &rows[0].country), (&None, &None));
        assert_eq!(rows[0].figures.count(Status::Initiated), 1);
    }
    let before = world.tx.clone();
    world.apply(confirm(1)).unwrap();
    commit(Some(&before), &world.tx).await;
    for interval in Interval::ALL {
        let rows = read(interval).await;
        assert_eq!(rows.len(), 1, "a row of zeros is deleted");
        assert_eq!(rows[0].method.as_deref(), Some("mtn_bj"));
        assert_eq!(rows[0].country.as_deref(), Some("BJ"));
        let connection = world.tx.attempts[0].candidate.connection;
        assert_eq!(rows[0].connection, Some(connection));
        assert_eq!(rows[0].figures.count(Status::Pending), 1);
        assert_eq!(rows[0].figures.money(Money::Pending), 2_500);
    }
}

fn world_app() -> AppId {
    World::payment().tx.app
}

#[test]
fn sums_of_the_largest_amounts_are_exact() {
    let mut numbers = Numbers::default();
    for _ in 0..5 {
        numbers.add_money(Money::Succeeded, i64::MAX);
    }
    numbers.add_money(Money::Succeeded, -5);
    let row: Vec<u8> = numbers
        .trimmed()
        .iter()
        .flat_map(|one| one.to_be_bytes())
        .collect();
    let sum = Figures::read(&row).money(Money::Succeeded);
    assert_eq!(sum, 5 * u128::try_from(i64::MAX).unwrap());
}

#[test]
fn a_step_that_changes_no_number_adds_nothing() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(pending()).unwrap();
    let before = world.tx.clone();
    world.answer(pending()).unwrap();
    let mut batch = Batch::new();
    write(&mut batch, Some(&before), Some(&world.tx));
    assert!(batch.is_empty());
}
