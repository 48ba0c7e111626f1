//! The payer gets no prompt, or wants to pay another way; and attempts that end by themselves.

use std::time::Duration;

use super::fixtures::*;
use crate::transaction::*;

fn pending_payment(route: Route) -> World {
    let mut world = World::payment_with(3);
    world.apply(confirm_at(route)).unwrap();
    world.answer(pending()).unwrap();
    world
}

#[test]
fn a_payer_may_pay_another_way_once_the_provider_has_cancelled_the_attempt() {
    let mut world = pending_payment(can_cancel(1));
    assert_eq!(world.apply(Command::GiveUp), Err(Refusal::TooEarly));
    world.wait(120);
    world.apply(Command::GiveUp).unwrap();
    let attempt = world.current();
    assert_eq!(
        world.actions.last(),
        Some(&Action::CancelRequest { attempt })
    );
    assert_eq!(world.apply(confirm(1)), Err(Refusal::AttemptUnderWay));
    assert_eq!(world.apply(Command::GiveUp), Ok(0), "asked a moment ago");
    world.answer(declined(false)).unwrap();
    assert_eq!(world.tx.state, State::AwaitingCustomer);
    assert_eq!(world.tx.attempts_left(), 3, "it costs no attempt");
    world.apply(confirm(1)).unwrap();
    assert_eq!(world.tx.attempts.len(), 2);
}

#[test]
fn a_call_off_without_an_effect_is_repeated_with_the_scheduled_queries() {
    let mut world = pending_payment(can_cancel(1));
    let attempt = world.current();
    world.wait(120);
    world.apply(Command::GiveUp).unwrap();
    let call_offs_so_far = call_offs(&world);
    // The request to cancel was lost.
    world.answer(unknown()).unwrap();
    for repeated in 1..4 {
        world.now = world.tx.wake_at().unwrap().max(world.now);
        world.wait(10);
        assert_eq!(world.apply(Command::Wake), Ok(2));
        let asked = [Action::Query { attempt }, Action::CancelRequest { attempt }];
        assert!(world.actions.ends_with(&asked), "{:?}", world.actions);
        assert_eq!(call_offs(&world), call_offs_so_far + repeated);
        world.answer(pending()).unwrap();
    }
    // Money that came in the meantime cannot be called back.
    world.answer(part(1_000)).unwrap();
    world.wait(24 * 3_600);
    assert_eq!(world.apply(Command::Wake), Ok(1));
    assert_eq!(call_offs(&world), call_offs_so_far + 3);
}

#[test]
fn an_attempt_that_ends_by_itself_is_queried_at_its_end_and_only_then_over() {
    let mut world = pending_payment(ending(route(1), 400));
    let attempt = world.current();
    world.wait(130);
    assert_eq!(world.apply(Command::GiveUp), Ok(2));
    assert_eq!(world.actions.last(), Some(&Action::Query { attempt }));
    let asked_at = world.now;
    world.answer(pending()).unwrap();
    assert_eq!(world.tx.state, State::AwaitingProvider);
    // The provider's time begins when the request arrives: a call may take a minute.
    let end = world.tx.attempts[0]
        .started_at
        .plus(Duration::from_secs(460));
    assert_eq!(world.tx.attempts[0].ends_at(), Some(end));
    while world.now < end {
        assert!(
            world.tx.wake_at().unwrap() <= end,
            "a query is due at the end"
        );
        world.now = world.tx.wake_at().unwrap();
        world.apply(Command::Wake).unwrap();
        if world.now < end {
            world.answer(pending()).unwrap();
        }
    }
    // A query that began before the end proves nothing, nor does one without a result.
    let earlier = Command::Answer {
        attempt,
        outcome: pending(),
        gateway_state: None,
        asked_at: Some(asked_at),
    };
    world.apply(earlier).unwrap();
    world.answer(unknown()).unwrap();
    assert_eq!(world.tx.state, State::AwaitingProvider);
    world.answer(pending()).unwrap();
    assert_eq!(world.tx.state, State::AwaitingCustomer);
    let decline = world.tx.attempts[0].decline.as_ref().unwrap();
    assert_eq!(decline.reason, DeclineReason::Expired);
}

#[test]
fn the_end_of_an_attempt_counts_from_its_resumed_submission() {
    let mut world = World::payment_with(3);
    world.apply(confirm_at(ending(route(1), 300))).unwrap();
    world.wait(600);
    let recover = Command::Recover {
        attempt: world.current(),
        maybe_sent: false,
        gateway_state: None,
    };
    world.apply(recover).unwrap();
    world.answer(pending()).unwrap();
    assert_eq!(world.tx.state, State::AwaitingProvider, "the prompt is new");
    let left = world.tx.attempts[0].ends_at().unwrap().since(world.now);
    assert_eq!(left.as_secs(), 360);
}

#[test]
fn a_payer_does_not_reopen_a_payment_that_an_operator_cancels() {
    let mut world = pending_payment(can_cancel(1));
    world.wait(300);
    world.apply(by_operator(OperatorCommand::Cancel)).unwrap();
    assert_eq!(world.apply(Command::GiveUp), Err(Refusal::AttemptUnderWay));
    world.answer(declined(false)).unwrap();
    assert_eq!(world.tx.status(), Status::Cancelled);
}

#[test]
fn an_attempt_that_is_paid_at_its_end_is_a_success() {
    let mut world = pending_payment(ending(route(1), 400));
    world.wait(460);
    world.answer(succeeded()).unwrap();
    assert_eq!(world.tx.status(), Status::Success);
}

#[test]
fn where_nothing_can_be_called_off_the_answer_says_so() {
    let mut world = pending_payment(route(1));
    world.wait(1_200);
    assert_eq!(world.apply(Command::GiveUp), Err(Refusal::CannotCallOff));
    assert!(!world.tx.can_call_off());
    assert_eq!(
        world.apply(by_operator(OperatorCommand::Cancel)),
        Err(Refusal::AttemptUnderWay)
    );
}

#[test]
fn an_operator_cancels_a_payment_by_its_attempts_own_end() {
    let mut world = pending_payment(ending(route(1), 400));
    world.apply(by_operator(OperatorCommand::Cancel)).unwrap();
    assert_eq!(world.tx.status(), Status::Pending);
    world.wait(460);
    world.answer(pending()).unwrap();
    assert_eq!(world.tx.status(), Status::Cancelled);
}

#[test]
fn a_not_found_that_will_be_final_is_queried_at_that_moment() {
    let mut world = World::payout();
    world.apply(Command::Dispatch(route(1))).unwrap();
    world.answer(unknown()).unwrap();
    for wait in [5, 15, 30, 60, 120] {
        world.wait(wait);
        world.apply(Command::Wake).unwrap();
        let left = Duration::from_secs(300 - world.now.since(START).as_secs());
        let not_found = Outcome::Unknown {
            why: "not found".to_owned(),
            poll_after: Some(left),
        };
        world.answer(not_found).unwrap();
    }
    let due = world.tx.wake_at().unwrap();
    assert_eq!(due.since(START).as_secs(), 300, "not 530");
}

#[test]
fn an_attempt_whose_page_cannot_be_opened_is_cancelled_and_costs_the_payer_nothing() {
    let mut world = World::payment_with(1);
    world.apply(confirm_at(can_cancel(1))).unwrap();
    let attempt = world.current();
    world.answer(unusable_page()).unwrap();
    assert_eq!(
        world.actions.last(),
        Some(&Action::CancelRequest { attempt })
    );
    // The provider may hold it: until it confirms, nothing else may be paid.
    assert_eq!(world.tx.state, State::AwaitingProvider);
    assert_eq!(world.apply(confirm(1)), Err(Refusal::AttemptUnderWay));
    let shown = world.tx.attempts[0].payer_action.as_ref();
    assert!(
        matches!(shown, Some(PayerAction::UnusablePage { .. })),
        "{shown:?}"
    );
    world.answer(declined(false)).unwrap();
    assert_eq!(world.tx.state, State::AwaitingCustomer);
    assert_eq!(world.tx.attempts_left(), 1);
}

#[test]
fn an_attempt_whose_page_cannot_be_opened_is_cancelled_again_while_it_stays_pending() {
    let mut world = World::payment_with(3);
    world.apply(confirm_at(can_cancel(1))).unwrap();
    world.answer(unusable_page()).unwrap();
    let count = |world: &World| {
        let is_call_off = |action: &&Action| matches!(action, Action::CancelRequest { .. });
        world.actions.iter().filter(is_call_off).count()
    };
    world.answer(unusable_page()).unwrap();
    assert_eq!(count(&world), 1, "asked a moment ago");
    world.wait(60);
    world.answer(unusable_page()).unwrap();
    assert_eq!(count(&world), 2);
    // Money that still came is a success.
    world.answer(succeeded()).unwrap();
    assert_eq!(world.tx.status(), Status::Success);
}

#[test]
fn an_attempt_whose_page_cannot_be_opened_and_that_ends_by_itself_is_over_at_its_end() {
    let mut world = World::payment_with(3);
    world.apply(confirm_at(ending(route(1), 400))).unwrap();
    world.answer(unusable_page()).unwrap();
    let then = world.tx.attempts[0].call_off.map(|request| request.then);
    assert_eq!(then, Some(AfterCallOff::ChooseAgain));
    world.wait(470);
    world.answer(unusable_page()).unwrap();
    assert_eq!(world.tx.state, State::AwaitingCustomer);
}

#[test]
fn an_attempt_whose_page_cannot_be_opened_is_never_failed_by_that() {
    let mut world = World::payment_with(3);
    world.apply(confirm_at(route(1))).unwrap();
    world.answer(unusable_page()).unwrap();
    assert_eq!(world.tx.state, State::AwaitingProvider);
    assert!(world.tx.attempts[0].call_off.is_none());
    assert!(world.tx.wake_at().is_some());
}

#[test]
fn a_page_that_the_payer_may_have_open_stays_when_a_later_answer_names_an_unusable_one() {
    let page = PayerAction::Redirect {
        url: "https://pay.example/x".to_owned(),
    };
    let mut world = World::payment_with(3);
    world.apply(confirm_at(can_cancel(1))).unwrap();
    let shown = Outcome::Pending {
        provider_id: Some("P1".to_owned()),
        payer_action: Some(page.clone()),
        poll_after: None,
        provider_status: None,
        received: None,
    };
    world.answer(shown).unwrap();
    world.answer(unusable_page()).unwrap();
    assert_eq!(world.tx.attempts[0].payer_action, Some(page));
    assert!(world.tx.attempts[0].call_off.is_none());
}

#[test]
fn a_payer_does_not_undo_an_operators_cancellation() {
    let mut world = pending_payment(can_cancel(1));
    world.apply(Command::Cancel(CancelledBy::Operator)).unwrap();
    world.wait(120);
    world.apply(Command::Cancel(CancelledBy::Customer)).unwrap();
    let asked = world.tx.current_attempt().unwrap().call_off.unwrap();
    assert_eq!(asked.by, CancelledBy::Operator);
    assert_eq!(world.apply(Command::GiveUp), Err(Refusal::AttemptUnderWay));
    world.answer(declined(false)).unwrap();
    assert_eq!(world.tx.status(), Status::Cancelled);
}
