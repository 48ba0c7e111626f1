//! Rules whose planted faults no other test finds: money on hold, orders about it, and the attempts
//! of a lost span.

use super::fixtures::*;
use crate::ids::AttemptId;
use crate::time::Timestamp;
use crate::transaction::*;

/// A decline in these words.
fn declined_with(message: &str) -> Outcome {
    match declined(false) {
        Outcome::Declined(decline) => Outcome::Declined(Decline {
            provider_message: Some(message.to_owned()),
            ..decline
        }),
        other => other,
    }
}

fn succeeded_by(world: &World) -> (AttemptId, Option<&str>) {
    let is_success = |attempt: &&Attempt| attempt.state == AttemptState::Succeeded;
    let attempt = world.tx.attempts.iter().find(is_success).unwrap();
    (attempt.id, attempt.provider_id.as_deref())
}

/// Coins that were seen, taken back and gone, and a decline.
fn coins_that_are_gone() -> World {
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    for outcome in [part(500), declined(false), part(0), declined(false)] {
        world.answer(outcome).unwrap();
        world.wait(1);
    }
    assert_eq!(world.tx.state, State::AwaitingCustomer);
    world
}

/// A payment whose second attempt succeeded and was taken back, after reports about the first.
fn success_taken_back(reports: impl IntoIterator<Item = Outcome>) -> (World, AttemptId) {
    let (mut world, [first, second]) = second_attempt(usd("S", 2_500));
    tell(&mut world, second, [reversed("S")]);
    tell(&mut world, first, reports);
    (world, first)
}

/// On hold by the money of its first attempt.
fn held_by(report: Outcome) -> (World, [AttemptId; 2]) {
    let (mut world, attempts) = second_attempt(declined(false));
    tell(&mut world, attempts[0], [report]);
    assert_eq!(world.tx.state, State::OnHold);
    (world, attempts)
}

/// A connection whose gateway cannot find an attempt, with another method.
fn hidden(number: u128) -> Permit {
    let unasked = Unasked {
        method: "moov_bj".to_owned(),
        can_be_asked: false,
        ..unasked(number)
    };
    Permit {
        unasked: vec![unasked],
        ..Permit::default()
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

fn with_state(world: &World, outcome: Outcome) -> Command {
    Command::Answer {
        attempt: world.current(),
        outcome,
        gateway_state: Some(serde_json::Value::from("session 7")),
        asked_at: None,
    }
}

#[test]
fn a_success_without_a_sum_is_about_all_that_was_asked_also_after_a_part() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    let attempt = world.current();
    world.answer(part(1_000)).unwrap();
    world.apply(resolve_failed()).unwrap();
    tell(&mut world, attempt, [succeeded()]);
    assert!(reasons(&world).contains(&CaseReason::MoneyAfterTheEnd));
    assert_eq!(
        world.tx.received().unwrap().single().unwrap(),
        amount(2_500)
    );
}

#[test]
fn an_attempt_that_may_have_been_made_after_the_backup_may_have_moved_money() {
    let mut world = World::payment();
    world.permit = ask_first([0]);
    assert!(world.tx.surely_moved_no_money());
    world.apply(Command::Wake).unwrap();
    assert_eq!(world.tx.state, State::InDoubt);
    assert!(!world.tx.surely_moved_no_money());
}

#[test]
fn coins_that_were_seen_and_are_gone_may_have_moved() {
    assert!(!coins_that_are_gone().tx.surely_moved_no_money());
}

#[test]
fn money_settles_a_payment_that_waits_although_coins_were_taken_back_before() {
    let mut world = coins_that_are_gone();
    let attempt = world.current();
    tell(&mut world, attempt, [usd("P1", 2_500)]);
    assert_eq!(world.tx.status(), Status::Success);
}

#[test]
fn a_closed_case_about_a_reversal_does_not_let_the_money_settle_by_itself() {
    let (mut world, [first, _]) = second_attempt(declined(false));
    tell(&mut world, first, [usd("P1", 1_000), reversed("P1")]);
    let reversal = world.tx.cases[1].id;
    let close = || by_operator(OperatorCommand::CloseCase(reversal));
    world.apply(close()).unwrap();
    assert_eq!(world.apply(close()), Err(Refusal::CaseClosed));
    tell(&mut world, first, [usd("P1", 2_500)]);
    assert_eq!(world.tx.state, State::OnHold);
}

#[test]
fn a_late_success_of_a_held_payment_has_a_case() {
    let (mut world, [first, _]) = second_attempt(declined(false));
    tell(&mut world, first, [usd("P1", 1_000), usd("P1", 900)]);
    assert_eq!(count_events(&world, |event| *event == Event::Held), 1);
    tell(&mut world, first, [usd("P1", 2_500)]);
    assert_eq!(world.tx.status(), Status::Success);
    let late = world.tx.cases.iter();
    let late = late.filter(|case| case.reason == CaseReason::LateSuccess);
    let ids: Vec<_> = late.map(|case| case.provider_id.as_deref()).collect();
    assert_eq!(ids, [Some("P1")]);
}

#[test]
fn a_second_payment_is_one_beside_other_money_only() {
    let two = [usd("P1", 1_000), usd("P2", 700)];
    let (mut world, first) = success_taken_back(two.clone());
    tell(&mut world, first, [without_id(300)]);
    let last = world.tx.cases.last().unwrap();
    assert_eq!(last.reason, CaseReason::MoneyAfterTheEnd, "either of them");
    assert_eq!(last.amount, Some(amount(300)));
    let (mut world, first) = success_taken_back(two);
    tell(&mut world, first, [usd("P3", 300)]);
    assert_eq!(world.tx.cases.last().unwrap().reason, CaseReason::PaidTwice);
}

#[test]
fn a_case_about_one_of_two_charges_stands_while_one_of_them_does() {
    let (mut world, [first, _]) = second_attempt(declined(false));
    let reports = [usd("P1", 1_000), usd("P2", 700), without_id(300)];
    tell(&mut world, first, reports);
    tell(&mut world, first, [reversed("P1")]);
    let nameless = world
        .tx
        .cases
        .iter()
        .find(|case| case.provider_id.is_none());
    assert!(!world.tx.is_superseded(nameless.unwrap()));
}

#[test]
fn a_part_under_another_id_contradicts_a_success_and_a_smaller_sum_only_after_a_reversal() {
    let (mut world, [_, second]) = second_attempt(usd("P1", 2_500));
    tell(&mut world, second, [part_under("P2", 700)]);
    assert_eq!(reasons(&world), [CaseReason::ContradictingSuccess]);
    let (mut world, [_, second]) = second_attempt(usd("P1", 2_500));
    tell(&mut world, second, [part(2_000)]);
    assert_eq!(reasons(&world), [], "it may be an older report");
    tell(&mut world, second, [reversed("P1"), part(3_000)]);
    let both = [
        CaseReason::SuccessContradicted,
        CaseReason::ContradictingSuccess,
    ];
    assert_eq!(
        reasons(&world),
        both,
        "the money is back with another amount"
    );
}

#[test]
fn an_attempt_that_is_found_after_the_success_of_another_one_opens_no_case() {
    let mut world = World::payment();
    world.apply(confirm(2)).unwrap();
    let first = world.current();
    world.answer(not_sent()).unwrap();
    world.answer(usd("P2", 2_500)).unwrap();
    tell(&mut world, first, [pending()]);
    assert_eq!(reasons(&world), []);
}

#[test]
fn a_second_payment_goes_by_the_ids_of_its_charges() {
    let (mut world, [first, second]) = second_attempt(pending());
    let reports = [usd("P1", 1_000), usd("P2", 700), without_id(300)];
    tell(&mut world, first, reports);
    tell(&mut world, second, [usd("S", 2_500)]);
    let twice = world.tx.cases.iter();
    let twice = twice.filter(|case| case.reason == CaseReason::PaidTwice);
    let ids: Vec<_> = twice
        .filter_map(|case| case.provider_id.as_deref())
        .collect();
    assert_eq!(ids, ["P1", "P2"]);
}

#[test]
fn a_report_without_an_id_settles_no_charge_of_several() {
    let (mut world, [first, second]) = second_attempt(pending());
    let reports = [usd("P1", 2_500), usd("P2", 700), without_id(300)];
    tell(&mut world, first, reports);
    tell(&mut world, second, [declined(false)]);
    assert_eq!(world.tx.state, State::OnHold);
}

#[test]
fn the_attempt_succeeds_before_its_transaction() {
    let (world, _) = second_attempt(usd("P1", 2_500));
    let place = |is_one: fn(&Event) -> bool| world.events.iter().position(is_one);
    let attempt = place(|event| matches!(event, Event::AttemptSucceeded { .. }));
    assert!(attempt < place(|event| *event == Event::Succeeded));
}

#[test]
fn money_of_an_earlier_attempt_settles_although_a_later_one_received_too_little() {
    let (mut world, [first, second]) = second_attempt(declined(false));
    world.apply(confirm(1)).unwrap();
    let third = world.current();
    world.answer(pending()).unwrap();
    tell(&mut world, first, [usd("P1", 2_500)]);
    tell(&mut world, second, [usd("P2", 1_000)]);
    tell(&mut world, third, [declined(false)]);
    assert_eq!(succeeded_by(&world), (first, Some("P1")));
}

#[test]
fn a_cancelled_payment_says_who_wanted_that() {
    let mut world = World::payment();
    world.apply(confirm_at(can_cancel(1))).unwrap();
    world.answer(pending()).unwrap();
    world.apply(by_operator(OperatorCommand::Cancel)).unwrap();
    world.answer(declined(false)).unwrap();
    let by = CancelledBy::Operator;
    assert_eq!(world.events.last(), Some(&Event::Cancelled { by }));
}

#[test]
fn only_a_plan_with_connections_left_is_stepped_over() {
    let (world, _) = second_attempt(declined(true));
    let stepped = count_events(&world, |event| matches!(event, Event::SteppedOver { .. }));
    assert_eq!(stepped, 0);
}

#[test]
fn an_order_about_a_held_payment_is_about_the_attempt_that_holds_it() {
    let (mut world, [first, _]) = held_by(usd("P1", 1_000));
    let short = world.apply(resolve(None, verdict(Some(1_000), None)));
    assert!(matches!(short, Err(Refusal::AmountTooLow(_))), "{short:?}");
    world
        .apply(resolve(None, verdict(Some(2_500), None)))
        .unwrap();
    assert_eq!(succeeded_by(&world), (first, Some("P1")));
}

#[test]
fn an_order_about_a_held_payment_declines_no_attempt_again() {
    let (mut world, _) = held_by(usd("P1", 1_000));
    let is_decline = |event: &Event| matches!(event, Event::AttemptDeclined { .. });
    assert_eq!(count_events(&world, is_decline), 2);
    world.apply(resolve_failed()).unwrap();
    assert_eq!(count_events(&world, is_decline), 2);
    assert_eq!(world.tx.status(), Status::Failed);
}

#[test]
fn held_money_without_an_id_needs_one_to_settle() {
    let (mut world, _) = held_by(without_id(1_000));
    let nameless = world.apply(resolve(None, verdict(Some(2_500), None)));
    assert_eq!(nameless, Err(Refusal::ProviderIdNeeded));
    let (mut world, [first, _]) = held_by(without_id(1_000));
    tell(&mut world, first, [declined(false), without_id(2_600)]);
    let other = world.apply(resolve(None, verdict(None, Some("P9"))));
    assert_eq!(other, Err(Refusal::AmountNeeded));
}

#[test]
fn an_attempt_that_was_found_is_settled_under_the_id_that_was_found() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    let attempt = world.current();
    world.answer(not_sent()).unwrap();
    tell(&mut world, attempt, [pending()]);
    assert_eq!(world.tx.state, State::OnHold);
    let unsent = world.apply(resolve(None, Verdict::NeverSent));
    assert_eq!(unsent, Err(Refusal::AttemptClosed(attempt)));
    world
        .apply(resolve(None, verdict(Some(2_500), None)))
        .unwrap();
    assert_eq!(succeeded_by(&world), (attempt, Some("P1")));
}

#[test]
fn the_sum_that_an_operator_names_is_that_of_a_charge_that_stands() {
    let (mut world, [first, second]) = second_attempt(pending());
    let reports = [usd("P1", 2_500), usd("P2", 2_500), reversed("P2")];
    tell(&mut world, first, reports);
    tell(&mut world, second, [declined(false)]);
    world
        .apply(resolve(None, verdict(Some(2_500), None)))
        .unwrap();
    assert_eq!(succeeded_by(&world), (first, Some("P1")));
}

#[test]
fn a_case_that_holds_is_not_closed_beside_an_open_attempt() {
    let (mut world, [first, second]) = second_attempt(pending());
    tell(&mut world, first, [usd("P1", 1_000)]);
    let case = world.tx.cases[0].id;
    let closing = world.apply(by_operator(OperatorCommand::CloseCase(case)));
    assert_eq!(closing, Err(Refusal::CaseHolds));
    // An order about the open attempt is not about the money of the other one.
    world.apply(resolve_failed()).unwrap();
    let decline = world.tx.attempt(second).unwrap().decline.clone().unwrap();
    let said = decline.provider_message.unwrap();
    assert_eq!(said, "It was recorded as failed after a review.");
}

#[test]
fn a_part_of_a_payout_that_a_person_ends_has_a_case() {
    let mut world = World::payout();
    world.apply(Command::Dispatch(route(1))).unwrap();
    world.answer(part(1_000)).unwrap();
    world.apply(resolve_failed()).unwrap();
    assert_eq!(
        open_cases(&world),
        [(CaseReason::AmountDiffers, Some(1_000))]
    );
}

#[test]
fn an_attempt_of_the_lost_span_is_queried_and_never_submitted() {
    let mut world = at(route(1));
    world.answer(declined(false)).unwrap();
    world.permit = hidden(1);
    world.actions.clear();
    world.apply(Command::Wake).unwrap();
    let attempt = world.current();
    assert!(world.actions.contains(&Action::Query { attempt }));
    assert!(!world.actions.contains(&Action::Submit { attempt }));
    assert_eq!(current_attempt(&world).method, "moov_bj");
    let mut world = World::payout();
    world.permit = hidden(1);
    world.apply(Command::Dispatch(route(1))).unwrap();
    assert!(current_attempt(&world).fields.contains_key("msisdn"));
}

#[test]
fn nothing_starts_while_a_connection_is_unasked() {
    let mut world = World::payment();
    world.permit = hidden(1);
    assert_eq!(world.apply(confirm(1)), Err(Refusal::Paused));
    let mut world = World::payout();
    world.permit = Permit {
        is_held: true,
        ..ask_first([1])
    };
    world.apply(Command::Dispatch(route(1))).unwrap();
    assert_eq!(world.tx.state, State::InDoubt);
}

#[test]
fn a_payment_expires_only_when_all_connections_were_asked() {
    let mut world = at(route(1));
    world.answer(declined(false)).unwrap();
    world.permit = ask_first([1]);
    world.wait(1_800);
    world.apply(Command::Wake).unwrap();
    assert_eq!(world.tx.state, State::InDoubt);
}

#[test]
fn a_payout_is_stopped_only_when_all_connections_were_asked() {
    let mut world = World::payout();
    world.permit = ask_first([0]);
    assert_eq!(world.apply(cancel()), Err(Refusal::Paused));
    world.permit.unasked.clear();
    world.permit.is_held = true;
    world.apply(cancel()).unwrap();
    assert_eq!(world.tx.status(), Status::Failed);
}

#[test]
fn the_latest_decline_of_the_lost_span_is_the_reason_of_the_failure() {
    let mut world = World::payment_with(2);
    world.permit = ask_first([0]);
    world.apply(Command::Wake).unwrap();
    for (next, word) in [(1, "A"), (2, "B")] {
        world.permit = ask_first([next]);
        world.answer(declined_with(word)).unwrap();
    }
    world.permit = Permit::default();
    world.answer(not_sent()).unwrap();
    assert_eq!(failure_message(&world), "B");
    let mut world = World::payout();
    world.permit = ask_first([0]);
    world.apply(Command::Dispatch(route(1))).unwrap();
    world.permit = ask_first([1]);
    world.answer(declined_with("A")).unwrap();
    world.permit = Permit::default();
    world.answer(declined_with("B")).unwrap();
    world.apply(Command::Dispatch(route(1))).unwrap();
    assert_eq!(failure_message(&world), "B");
}

#[test]
fn a_payout_waits_for_a_gateway_from_its_own_beginning() {
    let mut world = World::payout();
    world.permit.released_at = Some(Timestamp::from_seconds(1_699_990_000));
    assert_eq!(world.apply(Command::Dispatch(route(0))), Ok(0));
    world.apply(Command::Dispatch(route(1))).unwrap();
    world.answer(not_sent()).unwrap();
    assert_eq!(world.apply(Command::Dispatch(route(0))), Ok(0));
    assert_eq!(world.tx.state, State::AwaitingDispatch);
}

#[test]
fn a_payout_does_not_fail_for_its_age_while_a_connection_is_unasked() {
    let mut world = World::payout();
    world.apply(Command::Dispatch(route(1))).unwrap();
    world.answer(unknown()).unwrap();
    world.wait(1_900);
    world.permit = ask_first([1]);
    world.answer(not_sent()).unwrap();
    assert_eq!(world.tx.state, State::InDoubt);
}

#[test]
fn too_little_money_is_recorded_together_with_the_state_of_the_gateway() {
    let mut world = at(route(1));
    world.answer(pending()).unwrap();
    let report = with_state(&world, usd("P1", 1_000));
    world.apply(report).unwrap();
    assert_eq!(current_attempt(&world).charges.len(), 1);
    assert_eq!(current_attempt(&world).gateway_state, "session 7");
    let place = |is_one: fn(&Event) -> bool| world.events.iter().position(is_one);
    let told = place(|event| matches!(event, Event::MoneyReported { .. }));
    assert!(told < place(|event| matches!(event, Event::CaseOpened { .. })));
    world.answer(declined(false)).unwrap();
    let reversal = world.tx.cases.last().unwrap();
    assert_eq!(reversal.provider_id.as_deref(), Some("P1"));
}

#[test]
fn after_a_reversal_only_a_sum_that_is_named_is_money_again() {
    let mut world = at(route(1));
    world.wait(1);
    world.answer(part(500)).unwrap();
    assert_eq!(reasons(&world), []);
    world.answer(declined(false)).unwrap();
    world.answer(pending_in_words(None, None)).unwrap();
    assert_eq!(reasons(&world), [CaseReason::SuccessContradicted]);
    world.answer(part(700)).unwrap();
    assert!(open_cases(&world).contains(&(CaseReason::AmountDiffers, Some(700))));
}

#[test]
fn a_part_stays_known_when_a_later_answer_names_none() {
    let mut world = at(route(1));
    world.answer(part(500)).unwrap();
    world.answer(pending_in_words(Some("new"), None)).unwrap();
    world.answer(declined(false)).unwrap();
    assert_eq!(world.tx.state, State::AwaitingProvider);
}

#[test]
fn an_attempt_in_doubt_that_the_provider_has_is_pending() {
    let mut world = at(route(1));
    world.answer(unknown()).unwrap();
    world.answer(pending_in_words(None, None)).unwrap();
    assert_eq!(current_attempt(&world).state, AttemptState::Pending);
    assert_eq!(current_attempt(&world).why, None);
}

#[test]
fn a_case_takes_in_the_first_sum_that_can_be_read() {
    let (mut world, [first, _]) = second_attempt(declined(false));
    let reports = [succeeded_unreadably(), usd("P1", 1_000)];
    tell(&mut world, first, reports);
    assert_eq!(
        open_cases(&world),
        [(CaseReason::AmountDiffers, Some(1_000))]
    );
    tell(&mut world, first, [reversed("P1"), usd("P1", 1_200)]);
    assert_eq!(
        world.tx.cases.len(),
        3,
        "a case of its own after a reversal"
    );
}

#[test]
fn an_id_that_comes_later_names_the_cases_of_its_own_attempt() {
    let (mut world, [first, second]) = second_attempt(declined(false));
    tell(&mut world, first, [without_id(1_000)]);
    tell(&mut world, second, [without_id(900)]);
    tell(&mut world, first, [usd("P1", 1_000)]);
    let ids: Vec<_> = world
        .tx
        .cases
        .iter()
        .map(|case| case.provider_id.as_deref())
        .collect();
    assert_eq!(ids, [Some("P1"), None]);
    assert_eq!(world.tx.attempts[0].provider_id, None);
    let mut world = at(route(1));
    world.answer(without_id(2_500)).unwrap();
    let attempt = world.current();
    tell(&mut world, attempt, [reversed("P1")]);
    assert_eq!(current_attempt(&world).provider_id.as_deref(), Some("P1"));
}

#[test]
fn an_attempt_that_was_never_made_is_not_the_one_that_counts() {
    let mut world = at(route(1));
    let first = world.current();
    world.answer(declined(false)).unwrap();
    world.permit = ask_first([1]);
    world.apply(Command::Wake).unwrap();
    assert_ne!(world.current(), first);
    world.permit = Permit::default();
    world.answer(not_sent()).unwrap();
    assert_eq!(world.current(), first);
}
