//! A store that was restored from a backup: the hold, and attempts that were made after the backup
//! and are asked for.

use uuid::Uuid;

use super::fixtures::*;
use crate::transaction::*;

fn held() -> Permit {
    Permit {
        is_held: true,
        ..Permit::default()
    }
}

fn dispatch(world: &mut World) {
    world.apply(Command::Dispatch(route(2))).unwrap();
}

fn submissions(world: &World) -> usize {
    let is_submission = |action: &&Action| matches!(action, Action::Submit { .. });
    world.actions.iter().filter(is_submission).count()
}

fn queries(world: &World) -> usize {
    let is_query = |action: &&Action| matches!(action, Action::Query { .. });
    world.actions.iter().filter(is_query).count()
}

#[test]
fn a_held_payment_is_not_confirmed_and_stays_as_it_was() {
    let mut world = World::payment();
    for permit in [held(), ask_first([0])] {
        world.permit = permit;
        assert_eq!(world.apply(confirm(1)), Err(Refusal::Paused));
        assert_eq!(world.tx.status(), Status::Initiated);
    }
    world.permit = Permit::default();
    world.apply(confirm(1)).unwrap();
    assert_eq!(submissions(&world), 1);
}

#[test]
fn a_held_payout_waits_and_the_time_of_the_hold_is_no_delay_of_a_gateway() {
    let mut world = World::payout();
    world.permit = held();
    dispatch(&mut world);
    world.wait(5 * 3600);
    world.apply(Command::Dispatch(route(0))).unwrap();
    assert_eq!(world.tx.status(), Status::Initiated);
    world.permit = Permit {
        released_at: Some(world.now),
        ..Permit::default()
    };
    world.apply(Command::Dispatch(route(0))).unwrap();
    assert_eq!(world.tx.status(), Status::Initiated, "the gateway may come");
    dispatch(&mut world);
    assert_eq!(submissions(&world), 1);
}

#[test]
fn no_attempt_follows_another_while_the_app_is_held() {
    for (outcome, status) in [
        (declined(true), Status::Pending),
        (not_sent(), Status::Pending),
        (declined(false), Status::Failed),
    ] {
        let mut world = World::payout();
        dispatch(&mut world);
        world.permit = held();
        world.answer(outcome).unwrap();
        if !world.tx.state.is_final() {
            dispatch(&mut world);
        }
        assert_eq!(submissions(&world), 1);
        assert_eq!(world.tx.status(), status);
    }
}

#[test]
fn a_payout_is_sent_only_after_every_connection_denied_an_unknown_attempt() {
    let mut world = World::payout();
    world.permit = ask_first([0, 1]);
    dispatch(&mut world);
    assert_eq!(world.tx.state, State::InDoubt);
    assert_eq!(world.tx.attempts[0].reference, Uuid::from_u128(100));
    assert_eq!((submissions(&world), queries(&world)), (0, 1));
    world.answer(unknown()).unwrap();
    dispatch_is_refused(&mut world);
    world.answer(not_sent()).unwrap();
    assert_eq!(world.tx.attempts[1].reference, Uuid::from_u128(101));
    assert_eq!((submissions(&world), queries(&world)), (0, 2));
    world.permit = ask_first([1]);
    world.answer(not_sent()).unwrap();
    assert_eq!(world.tx.state, State::AwaitingDispatch);
    assert_eq!(world.tx.status(), Status::Initiated, "nothing was made");
    assert_eq!(world.tx.pending_at, None);
    assert_eq!(world.tx.wake_at(), Some(world.now), "and it is due at once");
    world.permit = held();
    dispatch(&mut world);
    assert_eq!(submissions(&world), 0);
    world.permit = Permit::default();
    dispatch(&mut world);
    world.answer(succeeded()).unwrap();
    assert_eq!(submissions(&world), 1);
    assert_eq!(world.tx.status(), Status::Success);
}

fn dispatch_is_refused(world: &mut World) {
    let refused = world.apply(Command::Dispatch(route(1)));
    assert_eq!(refused, Err(Refusal::AttemptUnderWay));
}

#[test]
fn a_payout_that_was_sent_after_the_backup_is_settled_and_never_sent_again() {
    for (known, outcome) in [(0, succeeded()), (1, succeeded()), (1, pending())] {
        let mut world = World::payout();
        world.permit = ask_first([0, 1]);
        dispatch(&mut world);
        for _ in 0..known {
            world.answer(not_sent()).unwrap();
        }
        world.answer(outcome).unwrap();
        world.permit = Permit::default();
        if world.tx.state == State::AwaitingProvider {
            assert!(world.tx.pending_at.is_some());
            world.answer(succeeded()).unwrap();
        }
        assert_eq!(world.tx.status(), Status::Success);
        assert_eq!(submissions(&world), 0);
    }
}

#[test]
fn a_payout_that_was_declined_after_the_backup_fails_once_all_connections_were_asked() {
    for retryable in [false, true] {
        let mut world = World::payout();
        world.permit = ask_first([0, 1]);
        dispatch(&mut world);
        world.answer(declined(retryable)).unwrap();
        // A later attempt may have been made at the same connection.
        let asked = &world.tx.attempts[1].candidate;
        assert_eq!(asked.connection, candidate(0).connection);
        world.answer(not_sent()).unwrap();
        world.permit = ask_first([1]);
        world.answer(not_sent()).unwrap();
        world.permit = Permit::default();
        dispatch(&mut world);
        assert_eq!(world.tx.status(), Status::Failed);
        assert_eq!(submissions(&world), 0);
    }
}

#[test]
fn a_success_behind_declines_is_found_whatever_the_order() {
    for outcome in [declined(true), declined(false)] {
        let mut world = World::payment_with(1);
        world.permit = ask_first([0, 1]);
        world.apply(Command::Wake).unwrap();
        world.answer(outcome).unwrap();
        world.answer(not_sent()).unwrap();
        world.answer(succeeded()).unwrap();
        assert_eq!(world.tx.status(), Status::Success);
    }
}

#[test]
fn declines_of_the_lost_span_use_up_the_attempts_of_the_payer() {
    for (allowed, fails) in [(1, true), (2, false)] {
        let mut world = World::payment_with(allowed);
        world.permit = ask_first([0]);
        world.apply(Command::Wake).unwrap();
        world.answer(declined(true)).unwrap();
        assert_eq!(world.tx.state, State::InDoubt, "a later attempt may exist");
        world.answer(not_sent()).unwrap();
        assert_eq!(world.tx.state == State::AwaitingCustomer, !fails);
        assert_eq!(world.tx.status() == Status::Failed, fails);
        if let State::Failed(failure) = &world.tx.state {
            let declined = world.tx.attempts[0].decline.as_ref().unwrap();
            assert_eq!(failure.reason, declined.reason);
            assert!(!failure.message.contains("could not be reached"));
        }
    }
}

#[test]
fn a_decline_of_the_last_attempt_while_the_app_is_held_ends_the_payment() {
    for (allowed, fails) in [(1, true), (2, false)] {
        let mut world = World::payment_with(allowed);
        world.apply(confirm(2)).unwrap();
        world.permit = held();
        world.answer(declined(true)).unwrap();
        assert_eq!(world.tx.state == State::AwaitingCustomer, !fails);
        assert_eq!(world.tx.status() == Status::Failed, fails);
        assert_eq!(submissions(&world), 1);
    }
}

#[test]
fn a_payment_that_may_have_been_paid_is_neither_cancelled_nor_paid_again_before_a_denial() {
    let mut world = World::payment();
    world.permit = ask_first([0]);
    world.wait(1801);
    let cancel = Command::Cancel(CancelledBy::Customer);
    assert_eq!(world.apply(cancel), Err(Refusal::Paused));
    world.apply(Command::Wake).unwrap();
    assert_eq!(world.tx.state, State::InDoubt);
    world.answer(not_sent()).unwrap();
    assert_eq!(world.tx.state, State::AwaitingCustomer);
    world.permit = Permit::default();
    world.apply(Command::Wake).unwrap();
    assert_eq!(world.tx.status(), Status::Cancelled);
}

#[test]
fn an_open_attempt_that_ends_is_followed_by_questions_and_not_by_an_attempt() {
    let mut world = World::payout();
    dispatch(&mut world);
    world.answer(unknown()).unwrap();
    world.permit = ask_first([0, 1]);
    // It may have gone on to a connection that is switched off now.
    let off = |number| Onward {
        connection: candidate(number).connection,
        standing: Err("it is switched off"),
    };
    world.onward = vec![off(1)];
    world.answer(declined(true)).unwrap();
    assert_eq!(world.tx.state, State::InDoubt);
    assert!(world.tx.attempts[1].presumed);
    assert_eq!(submissions(&world), 1);
}

#[test]
fn what_a_gateway_cannot_find_waits_for_a_person() {
    let mut world = World::payout();
    world.permit = ask_first([0]);
    world.permit.unasked[0].can_be_asked = false;
    dispatch(&mut world);
    assert_eq!(world.tx.attention(), Some(CaseReason::UnknownAfterRestore));
    assert_eq!(world.tx.state, State::InDoubt);
    let presumed = &world.tx.attempts[0];
    assert_eq!(presumed.state, AttemptState::InDoubt);
    assert!(
        presumed
            .decision
            .chosen_because
            .contains("after the backup")
    );
    let why = presumed.why.as_deref().unwrap();
    assert!(why.contains("restored from a backup"), "{why}");
    world.permit.unasked.clear();
    world.apply(resolve(None, Verdict::NeverSent)).unwrap();
    assert_eq!(world.tx.attention(), None);
    dispatch(&mut world);
    assert_eq!(submissions(&world), 1);
}

#[test]
fn a_reference_is_free_again_only_if_nothing_ever_left_under_it() {
    let mut world = World::payout();
    dispatch(&mut world);
    world.answer_about(world.current(), not_sent()).unwrap();
    assert!(world.tx.attempts[0].has_free_reference());
    world.answer(unknown()).unwrap();
    world.wait(3600);
    world.apply(Command::Wake).unwrap();
    world.answer(not_sent()).unwrap();
    assert_eq!(world.tx.attempts[1].state, AttemptState::NotSent);
    assert!(
        !world.tx.attempts[1].has_free_reference(),
        "it may come late"
    );
}

#[test]
fn money_under_a_reference_of_two_attempts_is_that_of_the_later_one_and_counts_once() {
    let mut world = World::payment_with(3);
    let references = [0, 1].map(|number| (candidate(number).connection, Uuid::from_u128(9)));
    world.references = references.to_vec();
    world.apply(confirm(1)).unwrap();
    world.answer(not_sent()).unwrap();
    world.apply(confirm(1)).unwrap();
    let [first, second] = &world.tx.attempts[..] else {
        panic!("{:?}", world.tx.attempts);
    };
    assert_eq!(first.reference, second.reference);
    world.answer(succeeded_with(1_000)).unwrap();
    assert_eq!(world.tx.received().unwrap().amounts, [amount(1_000)]);
    world.answer(succeeded_with(2_500)).unwrap();
    assert_eq!(world.tx.status(), Status::Success);
    assert_eq!(world.tx.received().unwrap().amounts, [amount(2_500)]);
    let reasons: Vec<_> = world.tx.cases.iter().map(|case| case.reason).collect();
    assert_eq!(reasons, [CaseReason::AmountDiffers]);
}
