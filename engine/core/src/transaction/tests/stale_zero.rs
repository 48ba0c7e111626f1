//! A query that began before a report of money, and says afterwards that none was received or that
//! the attempt was declined: its answer is older than the report.

use super::fixtures::*;
use crate::ids::AttemptId;
use crate::time::Timestamp;
use crate::transaction::*;

/// A pending attempt of which a callback reported 10.00 while a query was in progress, and the time
/// at which that query began.
fn raced(route: Route) -> (World, Timestamp) {
    let mut world = World::payment_with(3);
    world.apply(confirm_at(route)).unwrap();
    world.answer(pending()).unwrap();
    let attempt = world.current();
    world.wait(300);
    let asked = world.now;
    world.wait(1);
    tell(&mut world, attempt, [part(1_000)]);
    (world, asked)
}

/// The answer to a query that began at `asked_at`: nothing was received.
fn finds_nothing(world: &mut World, asked_at: Timestamp) {
    let answer = Command::Answer {
        attempt: world.current(),
        outcome: part(0),
        gateway_state: None,
        asked_at: Some(asked_at),
    };
    world.apply(answer).unwrap();
}

fn sum(world: &World) -> Option<i64> {
    Some(world.tx.received()?.single()?.minor())
}

#[test]
fn a_query_that_began_before_the_report_takes_no_part_off_and_a_later_one_does() {
    let (mut world, asked) = raced(route(1));
    finds_nothing(&mut world, asked);
    assert_eq!(sum(&world), Some(1_000));
    world.wait(1);
    let later = world.now;
    finds_nothing(&mut world, later);
    assert_eq!(sum(&world), None);
}

#[test]
fn older_queries_after_the_end_of_an_attempt_neither_invite_to_pay_again_nor_say_nothing_came() {
    let (mut world, asked) = raced(ending(route(1), 60));
    for _ in 0..2 {
        finds_nothing(&mut world, asked);
    }
    assert_eq!(world.tx.state, State::AwaitingProvider);
    assert!(!world.tx.surely_moved_no_money());
}

#[test]
fn after_an_older_query_a_persons_failure_does_not_say_that_nothing_was_taken() {
    let (mut world, asked) = raced(route(1));
    finds_nothing(&mut world, asked);
    let failed = Verdict::Failed { message: None };
    world.apply(resolve(None, failed)).unwrap();
    assert!(!world.tx.surely_moved_no_money());
    let sums: Vec<_> = open_cases(&world).iter().map(|case| case.1).collect();
    assert_eq!(sums, [Some(1_000)]);
}

#[test]
fn after_an_older_query_the_payer_cannot_give_up_and_a_decline_starts_no_other_attempt() {
    let (mut world, asked) = raced(can_cancel(1));
    finds_nothing(&mut world, asked);
    assert_eq!(world.apply(Command::GiveUp), Err(Refusal::Held));
    let (mut world, asked) = raced(route(2));
    finds_nothing(&mut world, asked);
    world.answer(declined(true)).unwrap();
    assert_eq!(world.tx.attempts.len(), 1);
}

#[test]
fn a_repeated_report_of_money_is_later_than_a_query_in_progress() {
    for repeated in [1_000, 400] {
        let mut world = World::payment_with(3);
        world.apply(confirm(2)).unwrap();
        world.answer(part(1_000)).unwrap();
        world.wait(300);
        world.apply(Command::Ask).unwrap();
        let asked = world.now;
        world.wait(1);
        let attempt = world.current();
        tell(&mut world, attempt, [part(repeated)]);
        let events = world.events.len();
        tell(&mut world, attempt, [part(repeated), part(repeated)]);
        assert_eq!(world.events.len(), events, "one event for each query");
        finds_nothing(&mut world, asked);
        assert_eq!(sum(&world), Some(1_000), "{repeated}");
        world.answer(declined(true)).unwrap();
        assert_eq!(world.tx.attempts.len(), 1, "{repeated}");
    }
}

/// A query that begins now, a second before the next report.
fn begun_query(world: &mut World) -> Timestamp {
    world.wait(300);
    world.apply(Command::Ask).unwrap();
    let asked = world.now;
    world.wait(1);
    asked
}

fn is_declined(world: &mut World, attempt: AttemptId, asked_at: Timestamp) {
    let answer = Command::Answer {
        attempt,
        outcome: declined(true),
        gateway_state: None,
        asked_at: Some(asked_at),
    };
    world.apply(answer).unwrap();
}

fn payout() -> World {
    let mut world = World::payout();
    world.apply(Command::Dispatch(route(1))).unwrap();
    world
}

fn payment() -> World {
    let mut world = World::payment_with(3);
    world.apply(confirm_at(can_cancel(1))).unwrap();
    world
}

#[test]
fn a_decline_of_a_call_that_began_before_the_report_takes_nothing_back_and_a_later_one_does() {
    let worlds: [fn() -> World; 2] = [payment, payout];
    for (begun, report) in worlds
        .into_iter()
        .flat_map(|begun| [part(1_000), usd("P1", 2_500)].map(|report| (begun, report)))
    {
        let mut world = begun();
        world.answer(pending()).unwrap();
        let attempt = world.current();
        let asked = begun_query(&mut world);
        tell(&mut world, attempt, [report]);
        is_declined(&mut world, attempt, asked);
        assert_eq!(world.tx.taken_back(), TakenBack::Nothing);
        assert!(open_cases(&world).is_empty());
        let later = world.now;
        is_declined(&mut world, attempt, later);
        assert_eq!(world.tx.taken_back(), TakenBack::All);
    }
}

#[test]
fn a_query_follows_the_older_decline_soon_or_at_once_after_the_end() {
    let mut world = payment();
    world.answer(pending()).unwrap();
    let attempt = world.current();
    let asked = begun_query(&mut world);
    tell(&mut world, attempt, [part(1_000)]);
    for _ in 0..2 {
        is_declined(&mut world, attempt, asked);
    }
    let soon = world.now.plus(std::time::Duration::from_secs(5));
    assert!(world.tx.wake_at() <= Some(soon));
    let asked = begun_query(&mut world);
    tell(&mut world, attempt, [usd("P1", 2_500)]);
    is_declined(&mut world, attempt, asked);
    assert!(matches!(world.actions.last(), Some(Action::Query { .. })));
}
