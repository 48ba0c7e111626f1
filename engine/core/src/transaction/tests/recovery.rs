//! Recovery after a crash or a restore, in combination with cancellations and holds.

use super::fixtures::*;
use crate::transaction::*;

#[test]
fn an_interrupted_submission_is_not_begun_again_before_lost_attempts_were_asked_for() {
    let mut world = World::payout();
    world.apply(Command::Dispatch(route(1))).unwrap();
    world.permit = ask_first([0]);
    let attempt = world.current();
    world.apply(recovery(attempt, false, None)).unwrap();
    let resumed = |event: &Event| matches!(event, Event::SubmissionResumed { .. });
    assert!(!world.events.iter().any(resumed));
}

#[test]
fn a_declined_payout_is_not_failed_while_a_connection_is_still_to_be_asked() {
    let mut world = World::payout();
    world.permit = ask_first([0]);
    world.apply(Command::Dispatch(route(2))).unwrap();
    world.permit = Permit::default();
    world.answer(declined(false)).unwrap();
    assert_eq!(world.tx.state, State::AwaitingDispatch);
    world.permit = ask_first([1]);
    world.apply(Command::Dispatch(route(2))).unwrap();
    assert_eq!(world.tx.state, State::InDoubt);
}

#[test]
fn the_time_of_a_hold_does_not_fail_a_payout_that_reached_nobody() {
    let mut world = World::payout();
    world.apply(Command::Dispatch(route(1))).unwrap();
    world.answer(unknown()).unwrap();
    world.permit = Permit {
        is_held: true,
        ..Permit::default()
    };
    world.wait(2 * 3_600);
    world.answer(not_sent()).unwrap();
    assert_eq!(world.tx.state, State::AwaitingDispatch);
}

#[test]
fn a_called_off_payment_of_a_restored_store_is_asked_about_everywhere_before_it_is_cancelled() {
    let mut world = World::payment_with(3);
    world.apply(confirm_at(can_cancel(1))).unwrap();
    world.answer(pending()).unwrap();
    world.apply(by_operator(OperatorCommand::Cancel)).unwrap();
    world.permit = ask_first([1]);
    world.answer(declined(false)).unwrap();
    assert_eq!(world.tx.state, State::InDoubt);
    assert!(world.tx.attempts[1].presumed);
}

#[test]
fn a_presumed_attempt_that_is_called_off_cancels_the_payment() {
    let mut world = World::payment_with(3);
    world.permit = ask_first([0]);
    world.permit.unasked[0].candidate.can_cancel = true;
    world.apply(Command::Wake).unwrap();
    world.apply(by_operator(OperatorCommand::Cancel)).unwrap();
    world.answer(not_sent()).unwrap();
    assert_eq!(world.tx.status(), Status::Cancelled);
}

#[test]
fn a_reference_that_was_queried_by_hand_is_not_free() {
    let mut world = World::payout();
    world.apply(Command::Dispatch(route(1))).unwrap();
    world.answer(unknown()).unwrap();
    world.wait(3);
    world.apply(by_operator(OperatorCommand::Check)).unwrap();
    world.answer(not_sent()).unwrap();
    assert!(!world.tx.attempts[0].has_free_reference());
}

#[test]
fn a_submission_in_flight_is_never_recovered_however_long_it_takes() {
    let mut world = World::payout();
    world.apply(Command::Dispatch(route(1))).unwrap();
    for seconds in [5, 60, 3_600] {
        world.wait(seconds);
        assert_eq!(due(&world.tx, true, world.now), Due::Nothing);
    }
}

#[test]
fn what_begins_again_begins_on_the_current_version_of_its_own_gateway() {
    let mut world = World::payout();
    world.apply(Command::Dispatch(route(2))).unwrap();
    let attempt = world.current();
    world.apply(recovery(attempt, true, None)).unwrap();
    let found_nothing = Command::Answer {
        attempt,
        outcome: not_sent(),
        gateway_state: None,
        asked_at: None,
    };
    let places: Vec<_> = next_candidates(&world.tx, &found_nothing)
        .iter()
        .map(|candidate| candidate.connection)
        .collect();
    assert_eq!(places, [0, 1].map(|number| candidate(number).connection));
    let by_code = Command::CodeAnswer {
        attempt,
        outcome: declined(true),
        gateway_state: None,
    };
    assert_eq!(next_candidates(&world.tx, &by_code).len(), 2);
}

#[test]
fn a_presumed_attempt_that_was_declined_tells_of_the_payment() {
    let mut world = World::payment_with(3);
    world.permit = ask_first([0]);
    world.apply(Command::Wake).unwrap();
    let presumed = world.current();
    world.permit = Permit::default();
    world.answer(declined(false)).unwrap();
    assert_eq!(world.tx.state, State::AwaitingCustomer);
    assert_eq!(world.tx.deciding_attempt().unwrap().id, presumed);
    assert_eq!(world.tx.attempts_left(), 2);
}
