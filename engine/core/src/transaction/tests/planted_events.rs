//! More rules whose planted faults no other test finds: call-offs, the ends of held apps, and what
//! an event leaves of an attempt.

use uuid::Uuid;

use super::fixtures::*;
use crate::transaction::charges;
use crate::transaction::*;

/// A decline because of the payer's phone number.
fn refused() -> Outcome {
    match declined(false) {
        Outcome::Declined(decline) => Outcome::Declined(Decline {
            field: Some("phone".to_owned()),
            ..decline
        }),
        other => other,
    }
}

fn at(route: Route) -> World {
    let mut world = World::payment_with(3);
    world.apply(confirm_at(route)).unwrap();
    world
}

fn cancel() -> Command {
    by_operator(OperatorCommand::Cancel)
}

/// A payment whose payer abandoned an attempt at a gateway that can cancel.
fn given_up(attempts_allowed: u8) -> World {
    let mut world = World::payment_with(attempts_allowed);
    world.apply(confirm_at(can_cancel(1))).unwrap();
    world.answer(pending()).unwrap();
    world.wait(200);
    world.apply(Command::GiveUp).unwrap();
    world
}

#[test]
fn a_cancellation_of_a_presumed_attempt_is_no_failure() {
    let mut world = World::payment();
    world.permit = ask_first([0]);
    world.permit.unasked[0].candidate.can_cancel = true;
    world.apply(Command::Wake).unwrap();
    world.permit = Permit::default();
    world.apply(cancel()).unwrap();
    world.answer(declined(false)).unwrap();
    assert_eq!(world.tx.status(), Status::Cancelled);
}

#[test]
fn a_refused_field_costs_no_attempt_while_attempts_may_not_start() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.permit.is_held = true;
    world.answer(refused()).unwrap();
    assert_eq!(world.tx.state, State::AwaitingCustomer);
}

#[test]
fn after_its_time_a_payment_with_a_refused_field_fails() {
    let mut world = at(route(1));
    world.answer(pending()).unwrap();
    world.wait(1_800);
    world.answer(refused()).unwrap();
    assert_eq!(world.tx.status(), Status::Failed);
}

#[test]
fn an_attempt_that_was_given_up_costs_none_also_after_a_restore() {
    let mut world = given_up(1);
    world.permit = ask_first([1]);
    world.answer(declined(false)).unwrap();
    assert_eq!(world.tx.state, State::InDoubt);
    let mut world = given_up(3);
    world.permit.is_held = true;
    world.wait(1_800);
    world.answer(declined(false)).unwrap();
    assert_eq!(world.tx.state, State::AwaitingCustomer);
}

#[test]
fn after_its_time_a_payment_of_a_held_app_fails_with_its_attempt() {
    let mut world = at(route(2));
    world.answer(pending()).unwrap();
    world.permit.is_held = true;
    world.wait(1_800);
    world.answer(declined(true)).unwrap();
    assert_eq!(world.tx.status(), Status::Failed);
}

#[test]
fn a_gateway_that_can_cancel_is_asked_also_when_attempts_end_by_themselves() {
    let mut world = at(ending(can_cancel(1), 600));
    world.answer(pending()).unwrap();
    world.apply(cancel()).unwrap();
    assert_eq!(call_offs(&world), 1);
}

#[test]
fn a_call_off_is_repeated_with_the_queries_but_not_at_once() {
    let mut world = at(can_cancel(1));
    world.answer(pending()).unwrap();
    world.apply(cancel()).unwrap();
    for asked in [1, 2, 3, 4, 5, 6] {
        world.now = world.tx.wake_at().unwrap();
        world.apply(Command::Wake).unwrap();
        assert_eq!(call_offs(&world), asked);
    }
}

#[test]
fn a_gateway_that_cannot_cancel_is_never_asked_to() {
    let mut world = at(ending(route(1), 600));
    world.answer(pending()).unwrap();
    world.apply(cancel()).unwrap();
    for _ in 0..4 {
        world.now = world.tx.wake_at().unwrap();
        world.apply(Command::Wake).unwrap();
    }
    assert_eq!(call_offs(&world), 0);
}

#[test]
fn the_engine_calls_the_attempt_off_once_when_another_one_was_paid() {
    let mut world = at(route(1));
    let first = world.current();
    world.answer(declined(false)).unwrap();
    world.apply(confirm_at(can_cancel(1))).unwrap();
    world.answer(pending()).unwrap();
    tell(&mut world, first, [usd("P1", 1_000)]);
    world.wait(20);
    world.answer(pending_in_words(Some("new"), None)).unwrap();
    assert_eq!(call_offs(&world), 1);
    let asked = current_attempt(&world).call_off.unwrap();
    assert_eq!(asked.then, AfterCallOff::Cancel);
}

#[test]
fn a_page_that_cannot_be_opened_replaces_no_order_and_is_waited_for_once() {
    let mut world = at(can_cancel(1));
    world.answer(pending()).unwrap();
    world.apply(cancel()).unwrap();
    world.wait(20);
    world.answer(unusable_page()).unwrap();
    let by = current_attempt(&world).call_off.unwrap().by;
    assert_eq!(by, CancelledBy::Operator);
    let mut world = at(ending(route(1), 600));
    for _ in 0..2 {
        world.answer(unusable_page()).unwrap();
        world.wait(20);
    }
    let started = |event: &Event| matches!(event, Event::CallOffStarted { .. });
    assert_eq!(count_events(&world, started), 1);
}

#[test]
fn news_of_a_pending_attempt_changes_neither_its_next_query_nor_what_the_payer_does() {
    let mut world = at(route(1));
    world.wait(1);
    world
        .answer(pending_in_words(None, Some(PayerAction::Wait)))
        .unwrap();
    let planned = current_attempt(&world).next_query_at;
    world.wait(3);
    world.answer(pending_in_words(Some("new"), None)).unwrap();
    assert_eq!(current_attempt(&world).next_query_at, planned);
    assert_eq!(
        current_attempt(&world).payer_action,
        Some(PayerAction::Wait)
    );
    assert_eq!(world.tx.pending_at, Some(START));
    world.wait(20);
    world.apply(Command::Ask).unwrap();
    assert_eq!(current_attempt(&world).queries, 0);
}

#[test]
fn a_case_that_a_later_one_replaced_takes_no_sum_in() {
    let (mut world, [first, _]) = second_attempt(pending());
    let reports = [1_000, 2_500, 900].map(|minor| usd("P1", minor));
    tell(&mut world, first, reports);
    let differs = CaseReason::AmountDiffers;
    let late = CaseReason::MoneyAfterTheEnd;
    assert_eq!(reasons(&world), [differs, late, differs]);
}

#[test]
fn a_part_is_news_only_beside_a_report_of_less_under_its_id() {
    for (minor, is_news) in [(900, false), (1_200, true)] {
        let mut world = at(ending(route(1), 60));
        for outcome in [pending(), usd("P1", 1_000), usd("P2", 700)] {
            world.answer(outcome).unwrap();
        }
        world.wait(600);
        world.answer(part(minor)).unwrap();
        let sums: Vec<_> = open_cases(&world).iter().map(|case| case.1).collect();
        assert_eq!(sums.contains(&Some(minor)), is_news, "{sums:?}");
    }
}

#[test]
fn money_under_a_lent_reference_counts_once() {
    let mut world = World::payment_with(4);
    world.references = vec![(candidate(0).connection, Uuid::from_u128(9))];
    world.apply(confirm(1)).unwrap();
    let first = world.current();
    world.answer(not_sent()).unwrap();
    world.apply(confirm(1)).unwrap();
    world.answer(pending()).unwrap();
    tell(&mut world, first, [usd("P1", 1_000), reversed("P1")]);
    let second = world.current();
    tell(&mut world, second, [usd("P1", 2_500)]);
    assert_eq!(
        world.tx.received().unwrap().single().unwrap(),
        amount(2_500)
    );
    assert_eq!(world.tx.taken_back(), TakenBack::Nothing);
}

#[test]
fn a_success_without_an_id_is_the_latest_of_several_charges_that_stand() {
    let mut world = at(route(1));
    world.answer(pending_in_words(None, None)).unwrap();
    let mut attempt = current_attempt(&world).clone();
    for (id, minor) in [("P1", 500), ("P2", 5)] {
        let report = MoneyReport::Moved {
            provider_id: Some(id.to_owned()),
            amount: Some(amount(minor)),
        };
        charges::apply(&mut attempt.charges, &report);
    }
    charges::record(&mut attempt, amount(2_500), None);
    let sums = attempt.charges.iter().map(|charge| charge.amount);
    assert!(sums.eq([Some(amount(500)), Some(amount(2_500))]));
}

#[test]
fn a_late_success_ends_its_attempt_when_it_comes() {
    let mut world = at(route(2));
    let attempt = world.current();
    world.answer(declined(false)).unwrap();
    world.wait(60);
    tell(&mut world, attempt, [usd("P1", 2_500)]);
    assert_eq!(
        current_attempt(&world).ended_at,
        Some(START.plus(std::time::Duration::from_secs(60)))
    );
    assert_eq!(current_attempt(&world).remaining, []);
    let mut world = World::payment();
    world.permit = ask_first([0]);
    world.apply(Command::Wake).unwrap();
    assert_eq!(world.tx.pending_at, None);
    world.answer(usd("P1", 2_500)).unwrap();
    assert_eq!(world.tx.pending_at, Some(START));
}
