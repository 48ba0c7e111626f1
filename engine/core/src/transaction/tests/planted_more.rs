//! Details of holds, lent references, ids and amounts that a change of the core could lose unseen.

use uuid::Uuid;

use super::fixtures::*;
use crate::ids::AttemptId;
use crate::money::{Amount, Currency};
use crate::transaction::*;

fn francs(minor: i64) -> Amount {
    Amount::from_minor(minor, Currency::from_code("XOF").unwrap())
}

fn held() -> Permit {
    Permit {
        is_held: true,
        ..Permit::default()
    }
}

fn close(world: &mut World, reason: CaseReason) {
    let mut cases = world.tx.cases.iter().rev();
    let case = cases.find(|case| case.reason == reason).unwrap().id;
    world
        .apply(by_operator(OperatorCommand::CloseCase(case)))
        .unwrap();
    world.wait(1);
}

fn code(world: &World) -> Command {
    Command::SubmitCode {
        attempt: world.current(),
        tried: 0,
        code: "73910428".into(),
    }
}

fn failed_with(message: &str) -> Command {
    let message = Some(message.to_owned());
    resolve(None, Verdict::Failed { message })
}

/// A payment that a person failed while too little money held it, of a store that was restored:
/// connection 1 is being asked.
fn failed_before_all_were_asked() -> (World, AttemptId) {
    let (mut world, [first, _]) = second_attempt(pending());
    world.answer_about(first, usd("P0", 1_000)).unwrap();
    world.answer(declined(false)).unwrap();
    assert_eq!(world.tx.state, State::OnHold);
    world.permit = ask_first([1]);
    world.apply(failed_with("returned by hand")).unwrap();
    assert_eq!(world.tx.state, State::InDoubt);
    world.permit = Permit::default();
    (world, first)
}

/// A payment with an attempt that lent its reference to a second one, which succeeded under `P1`.
fn succeeded_under_a_lent_reference() -> (World, AttemptId) {
    let mut world = World::payment_with(3);
    world.references = vec![(candidate(0).connection, Uuid::from_u128(9))];
    world.apply(confirm(1)).unwrap();
    let first = world.current();
    world.answer(not_sent()).unwrap();
    world.apply(confirm(1)).unwrap();
    world.answer(usd("P1", 2_500)).unwrap();
    let [one, other] = world.tx.attempts.as_slice() else {
        panic!("two attempts");
    };
    assert_eq!(one.reference, other.reference);
    (world, first)
}

#[test]
fn the_attempt_that_is_being_asked_for_tells_once_the_money_that_held_is_settled() {
    let (world, _) = failed_before_all_were_asked();
    let telling = world.tx.deciding_attempt().unwrap();
    assert!(telling.presumed);
}

#[test]
fn no_code_is_passed_on_for_a_payment_that_a_person_failed_while_others_are_asked() {
    let (mut world, _) = failed_before_all_were_asked();
    world.answer(enter_code("Look at your phone.")).unwrap();
    assert!(world.tx.is_held());
    assert_eq!(world.apply(code(&world)), Err(Refusal::Held));
}

#[test]
fn money_is_received_once_when_a_later_attempt_with_its_reference_reports_it() {
    for hash in ["00", "11"] {
        let mut world = World::payment_with(3);
        world.references = vec![(candidate(0).connection, Uuid::from_u128(100))];
        world.apply(confirm(1)).unwrap();
        let first = world.current();
        world.answer(not_sent()).unwrap();
        world.answer_about(first, usd("P1", 1_000)).unwrap();
        world.permit = ask_first([0]);
        world.permit.unasked[0].candidate.gateway_hash = hash.repeat(32);
        world.apply(resolve_failed()).unwrap();
        world.permit = Permit::default();
        world.answer(usd("P1", 1_000)).unwrap();
        assert_ne!(world.current(), first);
        let received = world.tx.received().map(|received| received.amounts);
        assert_eq!(received, Some(vec![amount(1_000)]), "{hash}");
    }
}

#[test]
fn a_report_about_an_attempt_that_lent_its_reference_repeats_the_success_of_the_later_one() {
    let (mut world, first) = succeeded_under_a_lent_reference();
    world.answer_about(first, usd("P1", 2_500)).unwrap();
    assert_eq!(open_cases(&world), []);
    assert_eq!(
        world.tx.received().map(|sum| sum.single().unwrap()),
        Some(amount(2_500))
    );
}

#[test]
fn an_attempt_in_doubt_is_open() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(unknown()).unwrap();
    assert_eq!(world.tx.state, State::InDoubt);
    assert!(world.tx.has_open_attempt());
}

#[test]
fn the_merchant_is_told_by_mail_that_a_payment_was_cancelled() {
    let mut world = World::payment();
    world.apply(Command::Cancel(CancelledBy::Customer)).unwrap();
    let mails = world.actions.iter().filter_map(|action| match action {
        Action::Mail(to) => Some(*to),
        _ => None,
    });
    assert_eq!(mails.collect::<Vec<_>>(), [MailTo::Merchant]);
}

#[test]
fn a_success_clears_the_doubt_and_the_order_of_a_person() {
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    world.answer(unknown()).unwrap();
    assert!(current_attempt(&world).why.is_some());
    world.apply(resolve(None, Verdict::NeverSent)).unwrap();
    assert!(current_attempt(&world).settled.is_some());
    world.answer(succeeded()).unwrap();
    let attempt = current_attempt(&world);
    assert_eq!(attempt.state, AttemptState::Succeeded);
    assert_eq!((&attempt.why, &attempt.settled), (&None, &None));
}

#[test]
fn the_latest_order_of_a_person_is_the_reason_of_the_failure() {
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    world.answer(unknown()).unwrap();
    world.apply(resolve(None, Verdict::NeverSent)).unwrap();
    assert_eq!(world.tx.state, State::AwaitingCustomer);
    world.answer(usd("P1", 1_000)).unwrap();
    assert_eq!(world.tx.state, State::OnHold);
    world.apply(failed_with("too little, returned")).unwrap();
    assert_eq!(failure_message(&world), "too little, returned");
}

#[test]
fn a_closed_case_about_an_unsent_attempt_that_was_found_leaves_it_open_whether_money_moved() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    let attempt = world.current();
    world.answer(not_sent()).unwrap();
    world.apply(Command::Cancel(CancelledBy::Customer)).unwrap();
    world.answer_about(attempt, pending()).unwrap();
    close(&mut world, CaseReason::FoundAfterNotSent);
    assert!(world.tx.state.is_final());
    assert!(!world.tx.surely_moved_no_money());
}

#[test]
fn a_late_success_as_asked_is_received_without_the_fee() {
    let transfer = PayerAction::Transfer {
        bank: "B".to_owned(),
        account: "1".to_owned(),
        name: "A".to_owned(),
        amount: amount(2_600),
        fee: Some(amount(100)),
        reference: "R".to_owned(),
        expires: None,
    };
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    let first = world.current();
    world.answer(pending_with(Some(transfer))).unwrap();
    world.answer(declined(false)).unwrap();
    world.apply(confirm(1)).unwrap();
    world.answer_about(first, succeeded()).unwrap();
    let received = world.tx.received().map(|received| received.amounts);
    assert_eq!(received, Some(vec![amount(2_500)]));
}

#[test]
fn a_part_that_is_taken_back_after_the_end_opens_a_case() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(part(1_000)).unwrap();
    world.apply(resolve_failed()).unwrap();
    assert!(world.tx.state.is_final());
    world.answer(reversed("P1")).unwrap();
    assert!(reasons(&world).contains(&CaseReason::SuccessContradicted));
}

#[test]
fn an_id_names_the_charge_without_one_although_there_are_several() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    for id in ["X1", "X2"] {
        world.answer(usd(id, 1_000)).unwrap();
    }
    for id in ["X1", "X2"] {
        world.answer(reversed(id)).unwrap();
    }
    world.answer(without_id(2_500)).unwrap();
    assert_eq!(world.tx.status(), Status::Success);
    world.answer(usd("X3", 2_500)).unwrap();
    let ids: Vec<_> = current_attempt(&world)
        .charges
        .iter()
        .map(|charge| charge.id.as_deref().unwrap_or_default())
        .collect();
    assert_eq!(ids, ["X1", "X2", "X3"]);
}

#[test]
fn of_two_reversals_without_an_id_after_the_end_the_second_names_no_charge() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(usd("P1", 2_500)).unwrap();
    world.answer(usd("P2", 2_500)).unwrap();
    for _ in 0..2 {
        world.answer(declined(false)).unwrap();
    }
    let reversals = world
        .tx
        .cases
        .iter()
        .filter(|case| case.reason == CaseReason::SuccessContradicted)
        .map(|case| case.provider_id.as_deref());
    assert_eq!(reversals.collect::<Vec<_>>(), [Some("P2"), None]);
}

#[test]
fn only_a_query_after_the_end_of_an_attempt_ends_it() {
    let mut world = World::payment();
    world.apply(confirm_at(ending(route(1), 600))).unwrap();
    world.answer(pending()).unwrap();
    world.wait(3_600);
    world.apply(Command::Wake).unwrap();
    world.answer(unknown()).unwrap();
    let attempt = world.current();
    world.answer_about(attempt, pending()).unwrap();
    assert!(
        world.tx.attempts[0].state.is_open(),
        "a callback is no query"
    );
    world.answer(pending()).unwrap();
    assert!(!world.tx.attempts[0].state.is_open());
}

#[test]
fn a_part_in_another_currency_than_the_known_money_is_news() {
    let mut world = World::payment();
    world.apply(confirm_at(ending(route(1), 600))).unwrap();
    world.answer(reported("P1", francs(9_000))).unwrap();
    world.wait(3_600);
    world.answer(part(1_000)).unwrap();
    assert_eq!(world.tx.cases[0].amount, Some(amount(1_000)));
}

#[test]
fn more_of_another_currency_is_no_success() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(reported("P1", francs(15_000))).unwrap();
    assert_eq!(world.tx.status(), Status::Pending);
    assert_eq!(reasons(&world), [CaseReason::AmountDiffers]);
    let too_little = verdict_in(francs(15_000));
    let refused = world.apply(resolve(None, too_little));
    assert!(matches!(refused, Err(Refusal::AmountTooLow(_))));
}

fn verdict_in(amount: Amount) -> Verdict {
    Verdict::Succeeded {
        amount: Some(amount),
        provider_id: Some("P1".to_owned()),
    }
}

#[test]
fn each_part_beside_the_charge_that_settles_has_a_case() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(part_under("P1", 1_000)).unwrap();
    world.answer(part_under("P2", 500)).unwrap();
    world.answer(usd("P3", 2_500)).unwrap();
    assert_eq!(
        open_cases(&world),
        [
            (CaseReason::ContradictingSuccess, Some(1_000)),
            (CaseReason::ContradictingSuccess, Some(500)),
        ]
    );
}

#[test]
fn a_part_that_was_taken_back_is_not_money_beside_the_success() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(part_under("P1", 1_000)).unwrap();
    world.answer(reversed("P1")).unwrap();
    world.answer(usd("P2", 2_500)).unwrap();
    assert_eq!(world.tx.status(), Status::Success);
    assert_eq!(reasons(&world), [CaseReason::SuccessContradicted]);
}

#[test]
fn an_attempt_whose_money_was_taken_back_was_sent() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(usd("P1", 1_000)).unwrap();
    world.answer(reversed("P1")).unwrap();
    assert_eq!(world.tx.state, State::InDoubt);
    let refused = world.apply(resolve(None, Verdict::NeverSent));
    assert_eq!(refused, Err(Refusal::ProviderHasIt));
}

#[test]
fn one_connection_that_was_stepped_over_stands_on_the_timeline() {
    let mut world = World::payment_with(3);
    world.apply(confirm(2)).unwrap();
    world.onward = vec![Onward {
        connection: candidate(1).connection,
        standing: Err("the connection is switched off"),
    }];
    world.answer(not_sent()).unwrap();
    let is_told =
        |event: &Event| matches!(event, Event::SteppedOver { skipped } if skipped.len() == 1);
    assert_eq!(count_events(&world, is_told), 1);
}

#[test]
fn connections_that_are_stepped_over_join_those_that_routing_skipped() {
    let skipped = |number| Skipped {
        connection: candidate(number).connection,
        because: "switched off".to_owned(),
    };
    let mut route = route(3);
    route.decision.skipped = vec![skipped(7)];
    let mut world = World::payment_with(3);
    world.apply(confirm_at(route)).unwrap();
    world.onward = vec![Onward {
        connection: candidate(1).connection,
        standing: Err("switched off"),
    }];
    world.answer(not_sent()).unwrap();
    let attempt = current_attempt(&world);
    assert_eq!(attempt.candidate, candidate(2));
    assert_eq!(attempt.decision.skipped, [skipped(7), skipped(1)]);
}

#[test]
fn a_closed_case_is_not_opened_again_after_the_reversal_of_another_attempt() {
    let (mut world, [first, second]) = second_attempt(pending());
    world.answer_about(second, usd("P1", 2_500)).unwrap();
    world.answer_about(first, usd("P0", 2_500)).unwrap();
    world.answer_about(second, usd("P2", 2_500)).unwrap();
    close(&mut world, CaseReason::ContradictingSuccess);
    world.answer_about(first, reversed("P0")).unwrap();
    let cases = world.tx.cases.len();
    world.answer_about(second, usd("P2", 2_500)).unwrap();
    assert_eq!(world.tx.cases.len(), cases);
}

#[test]
fn money_that_comes_again_after_its_reversal_has_a_case_although_all_are_closed() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(usd("P1", 2_500)).unwrap();
    world.answer(usd("P2", 2_500)).unwrap();
    close(&mut world, CaseReason::ContradictingSuccess);
    world.answer(reversed("P2")).unwrap();
    close(&mut world, CaseReason::SuccessContradicted);
    assert_eq!(open_cases(&world), []);
    world.answer(usd("P2", 2_500)).unwrap();
    assert_eq!(
        open_cases(&world),
        [(CaseReason::ContradictingSuccess, Some(2_500))]
    );
}

#[test]
fn an_ordered_cancel_counts_although_the_payer_gives_up_an_attempt_that_was_asked_for() {
    let mut world = World::payment_with(3);
    world.apply(confirm_at(can_cancel(1))).unwrap();
    world.answer(pending()).unwrap();
    world.apply(by_operator(OperatorCommand::Cancel)).unwrap();
    world.permit = ask_first([1]);
    world.permit.unasked[0].candidate.can_cancel = true;
    world.answer(declined(false)).unwrap();
    world.permit = Permit::default();
    world.wait(121);
    world.apply(Command::GiveUp).unwrap();
    world.answer(not_sent()).unwrap();
    assert_eq!(world.tx.status(), Status::Cancelled);
}

#[test]
fn an_operator_cancels_a_restored_payment_only_after_the_providers_were_asked() {
    let mut world = World::payment();
    world.permit = ask_first([0]);
    let refused = world.apply(by_operator(OperatorCommand::Cancel));
    assert_eq!(refused, Err(Refusal::Paused));
}

#[test]
fn a_held_payout_is_stopped_only_after_the_providers_were_asked() {
    let mut world = World::payout();
    world.permit = ask_first([0]);
    world.permit.is_held = true;
    let refused = world.apply(by_operator(OperatorCommand::Cancel));
    assert_eq!(refused, Err(Refusal::Paused));
}

#[test]
fn a_restored_payout_that_was_declined_fails_while_the_app_is_held() {
    let mut world = World::payout();
    world.permit = ask_first([0]);
    world.apply(Command::Dispatch(route(1))).unwrap();
    world.permit = held();
    world.answer(declined(false)).unwrap();
    world.apply(Command::Dispatch(route(1))).unwrap();
    assert_eq!(world.tx.status(), Status::Failed);
}

#[test]
fn a_call_off_is_repeated_ten_seconds_after_it_whenever_the_provider_was_asked_last() {
    let mut world = World::payment();
    world.apply(confirm_at(can_cancel(1))).unwrap();
    world.answer(pending()).unwrap();
    world.wait(4);
    world.apply(Command::Cancel(CancelledBy::Customer)).unwrap();
    world.wait(1);
    world.apply(Command::Wake).unwrap();
    assert_eq!(call_offs(&world), 1, "asked a second ago");
    world.wait(14);
    world.apply(Command::Ask).unwrap();
    world.wait(1);
    world.apply(Command::Wake).unwrap();
    assert_eq!(call_offs(&world), 2);
}

#[test]
fn the_open_attempt_of_a_held_payment_is_called_off_again_when_it_is_still_pending() {
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    let first = world.current();
    world.answer(declined(false)).unwrap();
    world.apply(confirm_at(can_cancel(1))).unwrap();
    world.answer(pending()).unwrap();
    world.answer_about(first, usd("P0", 1_000)).unwrap();
    assert_eq!(call_offs(&world), 1);
    world.wait(60);
    world.apply(Command::Wake).unwrap();
    assert_eq!(call_offs(&world), 2);
}

#[test]
fn no_code_is_passed_on_for_an_attempt_that_money_came_for() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(enter_code("Look at your phone.")).unwrap();
    world.answer(usd("P1", 1_000)).unwrap();
    assert_eq!(world.tx.state, State::AwaitingProvider);
    assert_eq!(world.apply(code(&world)), Err(Refusal::Held));
}

#[test]
fn no_code_is_passed_on_for_an_attempt_that_the_engine_calls_off() {
    let mut world = World::payment_with(3);
    world.apply(confirm_at(can_cancel(1))).unwrap();
    world.answer(unusable_page()).unwrap();
    world.answer(enter_code("Look at your phone.")).unwrap();
    assert!(current_attempt(&world).call_off.is_some());
    assert_eq!(world.apply(code(&world)), Err(Refusal::AttemptUnderWay));
}

#[test]
fn three_days_without_an_answer_open_a_case_also_while_the_payer_has_something_to_do() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    let action = PayerAction::Dial {
        ussd: "*144#".to_owned(),
    };
    world.answer(pending_with(Some(action))).unwrap();
    world.wait(3 * 24 * 3_600);
    world.apply(Command::Wake).unwrap();
    assert_eq!(reasons(&world), [CaseReason::NoFinalAnswer]);
}
