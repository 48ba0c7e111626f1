//! Details of ends, cases and charges that a change of the core could lose unseen.

use super::fixtures::*;
use super::planted_calls::{code, held};
use crate::transaction::*;
use std::time::Duration;

#[test]
fn a_late_code_that_was_not_sent_keeps_the_state_of_the_gateway() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(enter_code("Look at your phone.")).unwrap();
    let late = Command::CodeAnswer {
        attempt: world.current(),
        outcome: not_sent(),
        gateway_state: Some(serde_json::json!({"session": 2})),
    };
    world.apply(late).unwrap();
    let state = &current_attempt(&world).gateway_state;
    assert_eq!(*state, serde_json::json!({"session": 2}));
}

#[test]
fn a_declined_payout_of_a_held_app_fails_when_nobody_is_left() {
    let mut world = World::payout();
    world.apply(Command::Dispatch(route(2))).unwrap();
    world.permit = held();
    world.onward = vec![Onward {
        connection: candidate(1).connection,
        standing: Err("it is switched off"),
    }];
    world.answer(declined(true)).unwrap();
    assert_eq!(world.tx.status(), Status::Failed);
}

#[test]
fn the_latest_report_settles_also_when_its_case_is_an_older_one() {
    let (mut world, [first, _]) = second_attempt(pending());
    let reports = [usd("X1", 1_000), usd("X1", 2_500), usd("X1", 2_500)];
    tell(&mut world, first, reports);
    world.answer(declined(false)).unwrap();
    assert_eq!(world.tx.state, State::Succeeded);
    assert_eq!(
        world.tx.attempt(first).unwrap().captured,
        Some(amount(2_500))
    );
}

#[test]
fn a_part_that_stands_has_its_case_under_its_own_id() {
    let mut world = World::payment();
    world.apply(confirm_at(ending(route(1), 60))).unwrap();
    world.answer(part_under("P1", 1_000)).unwrap();
    world.wait(3_600);
    world.answer(part_under("P2", 0)).unwrap();
    let case = &world.tx.cases[0];
    assert_eq!(case.amount, Some(amount(1_000)));
    assert_eq!(case.provider_id.as_deref(), Some("P1"));
}

#[test]
fn all_of_the_money_after_a_reversal_has_a_case() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    for report in [part(1_000), reversed("P1"), part(2_500)] {
        world.answer(report).unwrap();
        world.wait(1);
    }
    let differs = (CaseReason::AmountDiffers, Some(2_500));
    assert!(
        open_cases(&world).contains(&differs),
        "{:?}",
        world.tx.cases
    );
}

#[test]
fn the_doubt_comes_before_its_case() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(usd("P1", 1_000)).unwrap();
    let (last, before) = world.events.split_last().unwrap();
    assert!(matches!(last, Event::CaseOpened { .. }), "{last:?}");
    let doubt = before.last();
    assert!(matches!(doubt, Some(Event::AttemptInDoubt { .. })));
}

#[test]
fn an_attempt_with_money_is_not_called_off_beside_other_money() {
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    let first = world.current();
    world.answer(declined(false)).unwrap();
    world.apply(confirm_at(can_cancel(1))).unwrap();
    world.answer_about(first, usd("X1", 1_000)).unwrap();
    world.answer(usd("X2", 1_000)).unwrap();
    assert_eq!(call_offs(&world), 0);
}

#[test]
fn money_that_only_gets_a_name_calls_nothing_off() {
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    let first = world.current();
    world.answer(declined(false)).unwrap();
    world.apply(confirm_at(can_cancel(1))).unwrap();
    world.answer_about(first, without_id(1_000)).unwrap();
    world.answer(unknown()).unwrap();
    let so_far = call_offs(&world);
    world.tx.attempts[1].call_off = None;
    assert_eq!(world.answer_about(first, usd("X1", 1_000)), Ok(1));
    assert_eq!(call_offs(&world), so_far);
}

#[test]
fn money_that_a_person_has_returned_needs_no_second_case() {
    let (mut world, [first, second]) = second_attempt(pending());
    world.answer_about(first, usd("X1", 1_000)).unwrap();
    world.answer(usd("Y1", 1_000)).unwrap();
    world
        .apply(resolve(Some(second), Verdict::Failed { message: None }))
        .unwrap();
    assert_eq!(world.tx.state, State::OnHold);
    world.wait(1);
    world.answer_about(second, usd("Y2", 2_500)).unwrap();
    assert_eq!(world.tx.state, State::Succeeded);
    let again = (CaseReason::ContradictingSuccess, Some(1_000));
    assert!(!open_cases(&world).contains(&again));
}

#[test]
fn a_case_without_an_id_is_settled_by_a_success_with_one() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(without_id(1_000)).unwrap();
    world
        .apply(resolve(None, verdict(Some(2_500), Some("P9"))))
        .unwrap();
    assert_eq!(world.tx.state, State::Succeeded);
    assert_eq!(open_cases(&world), []);
}

#[test]
fn the_money_of_another_attempt_names_no_success() {
    let (mut world, [first, second]) = second_attempt(unknown());
    world.answer_about(first, usd("X1", 1_000)).unwrap();
    world.answer(declined(false)).unwrap();
    assert_eq!(world.tx.state, State::OnHold);
    let order = resolve(Some(second), verdict(Some(2_500), None));
    assert_eq!(world.apply(order), Err(Refusal::ProviderIdNeeded));
}

#[test]
fn an_id_in_question_names_no_success() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(unknown()).unwrap();
    let ambiguous = Command::AmbiguousId {
        attempt: world.current(),
        provider_id: "P7".to_owned(),
        reported: None,
    };
    world.apply(ambiguous).unwrap();
    let order = resolve(None, verdict(None, None));
    assert_eq!(world.apply(order), Err(Refusal::ProviderIdNeeded));
}

#[test]
fn a_sum_of_several_charges_that_names_none_has_a_case_at_the_end() {
    let mut world = World::payment();
    world.apply(confirm_at(ending(route(1), 60))).unwrap();
    world.answer(usd("X1", 1_000)).unwrap();
    world.answer(usd("X2", 1_000)).unwrap();
    let mut all = pending_with(None);
    if let Outcome::Pending { received, .. } = &mut all {
        *received = Some(amount(2_200));
    }
    world.answer(all).unwrap();
    world.wait(3_600);
    world.answer(pending_with(None)).unwrap();
    let differs = (CaseReason::AmountDiffers, Some(2_200));
    assert!(
        open_cases(&world).contains(&differs),
        "{:?}",
        world.tx.cases
    );
}

#[test]
fn an_attempt_whose_money_was_taken_back_and_closed_is_not_found_after_all() {
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    let first = world.current();
    world.answer(not_sent()).unwrap();
    world.apply(Command::Cancel(CancelledBy::Customer)).unwrap();
    tell(&mut world, first, [usd("X1", 1_000), reversed("X1")]);
    let cases: Vec<_> = world.tx.cases.iter().map(|case| case.id).collect();
    assert_eq!(cases.len(), 2);
    for case in cases {
        world
            .apply(by_operator(OperatorCommand::CloseCase(case)))
            .unwrap();
    }
    // The id of the report is kept.
    assert_eq!(world.answer_about(first, pending()), Ok(1));
    assert_eq!(world.tx.cases.len(), 2);
}

#[test]
fn a_success_by_a_person_names_the_charge_also_when_it_was_taken_back() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    for report in [
        part_under("P1", 1_000),
        part_under("P2", 2_600),
        part_under("P1", 1_200),
        reversed("P1"),
        reversed("P2"),
    ] {
        world.answer(report).unwrap();
        world.wait(1);
    }
    world
        .apply(resolve(None, verdict(Some(2_600), None)))
        .unwrap();
    let succeeded = world.events.iter().find_map(|event| match event {
        Event::AttemptSucceeded { provider_id, .. } => Some(provider_id.as_deref()),
        _ => None,
    });
    assert_eq!(succeeded, Some(Some("P2")));
}

#[test]
fn an_order_to_cancel_after_the_payers_wish_is_the_operators() {
    let mut world = World::payment_with(3);
    world.apply(confirm_at(can_cancel(1))).unwrap();
    world.answer(pending()).unwrap();
    world.wait(120);
    world.apply(Command::GiveUp).unwrap();
    world.apply(by_operator(OperatorCommand::Cancel)).unwrap();
    world.wait(60);
    assert_eq!(world.apply(Command::GiveUp), Err(Refusal::AttemptUnderWay));
    world.answer(declined(false)).unwrap();
    let by = CancelledBy::Operator;
    assert_eq!(world.events.last(), Some(&Event::Cancelled { by }));
}

#[test]
fn a_connection_that_never_had_the_attempt_is_not_asked_for_the_next_one() {
    let mut world = World::payout();
    world.permit = ask_first([0]);
    world.apply(Command::Dispatch(route(2))).unwrap();
    let mut next = unasked(0);
    next.reference = uuid::Uuid::from_u128(200);
    world.permit.unasked = vec![next];
    world.answer(not_sent()).unwrap();
    assert_eq!(world.tx.state, State::AwaitingDispatch);
    assert_eq!(world.tx.attempts.len(), 1);
}

#[test]
fn a_smaller_final_sum_is_named_in_the_case_of_the_same_money() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(usd("X1", 1_000)).unwrap();
    world.answer(usd("X1", 800)).unwrap();
    let cases = open_cases(&world);
    assert_eq!(cases, [(CaseReason::AmountDiffers, Some(1_000))]);
    let detail = &world.tx.cases[0].detail;
    assert!(
        detail.contains("$ 8.00 under its id X1, and reported $ 10.00 before"),
        "{detail}"
    );
    assert_eq!(world.answer(usd("X1", 800)), Ok(0), "it is known");
}

#[test]
fn the_answer_to_a_code_brings_the_state_of_the_gateway() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(enter_code("Look at your phone.")).unwrap();
    world.apply(code(&world, 0)).unwrap();
    let answered = Command::CodeAnswer {
        attempt: world.current(),
        outcome: pending(),
        gateway_state: Some(serde_json::json!({"session": 2})),
    };
    world.apply(answered).unwrap();
    let state = &current_attempt(&world).gateway_state;
    assert_eq!(*state, serde_json::json!({"session": 2}));
}

#[test]
fn a_pending_attempt_is_queried_sooner_when_a_failed_query_wants_that() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(pending_for(1_800)).unwrap();
    world.wait(10);
    let soon = Outcome::Unknown {
        why: "too many requests".to_owned(),
        poll_after: Some(Duration::from_secs(60)),
    };
    world.answer(soon).unwrap();
    let next = world.now.plus(Duration::from_secs(60));
    assert_eq!(current_attempt(&world).next_query_at, Some(next));
}

#[test]
fn a_hint_about_an_attempt_in_doubt_asks() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(unknown()).unwrap();
    world.wait(3);
    assert_eq!(world.apply(Command::Hint), Ok(1));
}

#[test]
fn an_attempt_in_doubt_can_be_called_off() {
    let mut world = World::payment();
    world.apply(confirm_at(can_cancel(1))).unwrap();
    assert!(!world.tx.can_call_off());
    world.answer(unknown()).unwrap();
    assert!(world.tx.can_call_off());
}

#[test]
fn each_end_has_its_time() {
    let mut failed = World::payment();
    failed.apply(confirm(1)).unwrap();
    failed.wait(5);
    failed.answer(declined(false)).unwrap();
    assert_eq!(failed.tx.failed_at, Some(failed.now));
    let mut cancelled = World::payment();
    cancelled.wait(5);
    let cancel = Command::Cancel(CancelledBy::Customer);
    cancelled.apply(cancel).unwrap();
    assert_eq!(cancelled.tx.cancelled_at, Some(cancelled.now));
}

#[test]
fn an_overdue_query_stays_due_after_news() {
    let mut world = World::payment();
    world.apply(confirm_at(ending(route(1), 3_600))).unwrap();
    world.answer(pending_for(60)).unwrap();
    let due = world.tx.wake_at().unwrap();
    world.wait(100);
    world
        .answer(pending_in_words(Some("PROCESSING"), None))
        .unwrap();
    assert_eq!(world.tx.wake_at(), Some(due));
}

#[test]
fn a_payout_takes_its_recipient_along() {
    let mut world = World::payout();
    world.apply(Command::Dispatch(route(1))).unwrap();
    let attempt = current_attempt(&world);
    assert_eq!(attempt.fields, world.tx.payout().unwrap().recipient);
    assert_eq!(attempt.phone.as_deref(), Some("+22990000001"));
}
