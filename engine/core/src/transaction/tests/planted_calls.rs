//! Details of calls, orders and schedules that a change of the core could lose unseen.

use super::fixtures::*;
use crate::ids::AttemptId;
use crate::money::{Amount, Currency};
use crate::transaction::schedule::HELD_QUERY;
use crate::transaction::*;
use std::time::Duration;

pub(super) fn held() -> Permit {
    Permit {
        is_held: true,
        ..Permit::default()
    }
}

pub(super) fn code(world: &World, tried: u32) -> Command {
    Command::SubmitCode {
        attempt: world.current(),
        tried,
        code: "73910428".into(),
    }
}

/// An attempt that was not sent, and another one in progress.
pub(super) fn beside_an_unsent_one() -> (World, AttemptId, AttemptId) {
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    let first = world.current();
    world.answer(not_sent()).unwrap();
    world.wait(1);
    world.apply(confirm(1)).unwrap();
    let second = world.current();
    (world, first, second)
}

#[test]
fn no_code_is_passed_on_while_an_unsent_attempt_was_found_after_all() {
    let (mut world, first, _) = beside_an_unsent_one();
    world.answer(enter_code("Look at your phone.")).unwrap();
    world.answer_about(first, pending()).unwrap();
    assert!(world.tx.is_held());
    assert_eq!(world.apply(code(&world, 0)), Err(Refusal::Held));
}

#[test]
fn an_interrupted_submission_is_not_begun_again_once_an_unsent_attempt_was_found() {
    let (mut world, first, second) = beside_an_unsent_one();
    world.answer_about(first, pending()).unwrap();
    world.apply(recovery(second, false, None)).unwrap();
    assert_eq!(world.tx.state, State::OnHold);
    let resumed = |event: &Event| matches!(event, Event::SubmissionResumed { .. });
    assert_eq!(count_events(&world, resumed), 0);
}

#[test]
fn the_rest_is_what_is_missing_of_the_amount_and_contains_no_fee() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(part(1_000)).unwrap();
    let mut attempt = current_attempt(&world).clone();
    attempt.payer_fee = Some(amount(100));
    assert_eq!(attempt.rest(), Some(amount(1_500)));
}

#[test]
fn the_standing_charge_is_the_latest_that_was_not_taken_back() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    for id in ["X1", "X2", "X3"] {
        world.answer(usd(id, 1_000)).unwrap();
    }
    let standing = |world: &World| {
        let charge = current_attempt(world).standing_charge();
        charge.and_then(|charge| charge.id.clone())
    };
    assert_eq!(standing(&world).as_deref(), Some("X3"));
    world.answer(reversed("X3")).unwrap();
    assert_eq!(standing(&world).as_deref(), Some("X2"));
    assert!(current_attempt(&world).has_money());
}

#[test]
fn a_lost_state_of_a_gateway_is_known_as_lost() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    let mut attempt = current_attempt(&world).clone();
    assert!(!attempt.is_state_lost());
    attempt.gateway_state = Attempt::lost_state();
    assert!(attempt.is_state_lost());
}

#[test]
fn an_attempt_that_usually_takes_long_is_not_given_up_sooner() {
    let mut world = World::payment_with(3);
    let mut route = can_cancel(1);
    route.candidates[0].usual_s = Some(300);
    world.apply(confirm_at(route)).unwrap();
    world.answer(pending()).unwrap();
    world.wait(599);
    assert_eq!(world.apply(Command::GiveUp), Err(Refusal::TooEarly));
    world.wait(1);
    assert_eq!(world.apply(Command::GiveUp), Ok(1));
}

#[test]
fn sums_in_two_currencies_are_no_single_sum() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(usd("X1", 1_000)).unwrap();
    let francs = Amount::from_minor(5_000, Currency::from_code("XOF").unwrap());
    world.answer(reported("X2", francs)).unwrap();
    let received = world.tx.received().unwrap();
    assert_eq!(received.amounts.len(), 2);
    assert_eq!(received.amounts[0], amount(1_000));
    assert_eq!(received.single(), None);
}

#[test]
fn a_smaller_part_does_not_amend_money_that_was_reported_without_an_id() {
    let mut world = World::payment();
    world.apply(confirm_at(ending(route(1), 60))).unwrap();
    world.answer(without_id(1_000)).unwrap();
    let before = open_cases(&world);
    assert_eq!(before, [(CaseReason::AmountDiffers, Some(1_000))]);
    world.wait(3_600);
    world.answer(part_under("P9", 500)).unwrap();
    assert_eq!(open_cases(&world), before);
}

#[test]
fn an_answer_without_an_id_leaves_the_known_id() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(pending()).unwrap();
    let status = pending_in_words(Some("PROCESSING"), None);
    assert_eq!(world.answer(status), Ok(1));
    assert_eq!(current_attempt(&world).provider_id.as_deref(), Some("P1"));
}

#[test]
fn news_that_want_an_earlier_query_move_the_planned_one() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(pending_for(1_800)).unwrap();
    let mut news = pending_for(60);
    if let Outcome::Pending {
        provider_status, ..
    } = &mut news
    {
        *provider_status = Some("PROCESSING".to_owned());
    }
    world.wait(10);
    world.answer(news).unwrap();
    let next = world.now.plus(Duration::from_secs(60));
    assert_eq!(current_attempt(&world).next_query_at, Some(next));
}

#[test]
fn the_fee_that_a_payer_adds_is_no_fee_of_the_merchant() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    let transfer = PayerAction::Transfer {
        bank: "Wema Bank".to_owned(),
        account: "7821004519".to_owned(),
        name: "Acme".to_owned(),
        amount: amount(2_600),
        fee: Some(amount(100)),
        reference: "R1".to_owned(),
        expires: None,
    };
    world.answer(pending_with(Some(transfer))).unwrap();
    world.answer(usd("P1", 2_600)).unwrap();
    let attempt = current_attempt(&world);
    assert_eq!(attempt.payer_fee, Some(amount(100)));
    assert_eq!(attempt.fees, None);
}

#[test]
fn a_check_of_held_money_plans_the_daily_query() {
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    let first = world.current();
    world.answer(declined(false)).unwrap();
    world.answer_about(first, usd("X1", 1_000)).unwrap();
    assert_eq!(world.tx.state, State::OnHold);
    world.apply(by_operator(OperatorCommand::Check)).unwrap();
    let daily = world.now.plus(HELD_QUERY);
    world.wait(3_600);
    world.answer_about(first, usd("X1", 1_100)).unwrap();
    assert_eq!(world.tx.wake_at(), Some(daily), "news do not delay it");
}

#[test]
fn an_order_to_cancel_replaces_that_the_payer_chooses_again() {
    let mut world = World::payment_with(3);
    world.apply(confirm_at(can_cancel(1))).unwrap();
    world.answer(pending()).unwrap();
    world.wait(120);
    world.apply(Command::GiveUp).unwrap();
    world.apply(by_operator(OperatorCommand::Cancel)).unwrap();
    world.answer(declined(false)).unwrap();
    assert_eq!(world.tx.state, State::Cancelled);
}

#[test]
fn a_case_about_an_attempt_that_cannot_be_asked_for_holds_nothing() {
    assert!(!CaseReason::UnknownAfterRestore.holds());
    let mut world = World::payout();
    let mut unasked = unasked(0);
    unasked.can_be_asked = false;
    world.permit.unasked = vec![unasked];
    world.apply(Command::Dispatch(route(2))).unwrap();
    assert_eq!(reasons(&world), [CaseReason::UnknownAfterRestore]);
    assert!(!world.tx.is_held());
    world.permit = Permit::default();
    world.apply(resolve(None, Verdict::NeverSent)).unwrap();
    assert_eq!(world.apply(Command::Dispatch(route(2))), Ok(1));
}

#[test]
fn a_surplus_is_known_by_the_id_that_is_named_later() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(without_id(3_000)).unwrap();
    assert_eq!(reasons(&world), [CaseReason::Surplus]);
    world.answer(usd("X1", 3_000)).unwrap();
    assert_eq!(world.tx.cases[0].provider_id.as_deref(), Some("X1"));
    world.answer(reversed("X1")).unwrap();
    assert!(world.tx.is_superseded(&world.tx.cases[0]));
}

#[test]
fn a_presumed_attempt_that_the_payer_gave_up_costs_none() {
    let mut world = World::payment_with(1);
    let mut asked = unasked(0);
    asked.candidate.can_cancel = true;
    world.permit.unasked = vec![asked];
    world.apply(Command::Wake).unwrap();
    world.permit = Permit::default();
    world.wait(120);
    world.apply(Command::GiveUp).unwrap();
    world.answer(declined(false)).unwrap();
    assert_eq!(world.tx.state, State::AwaitingCustomer);
}

#[test]
fn merchants_get_a_mail_about_a_failure() {
    for mut world in [World::payment(), World::payout()] {
        match world.tx.kind() {
            Kind::Payment => world.apply(confirm(1)).unwrap(),
            Kind::Payout => world.apply(Command::Dispatch(route(1))).unwrap(),
        };
        world.answer(declined(false)).unwrap();
        assert_eq!(world.actions.last(), Some(&Action::Mail(MailTo::Merchant)));
    }
}

#[test]
fn each_attempt_of_a_round_follows_the_one_before_it() {
    let mut world = World::payment();
    world.apply(confirm(3)).unwrap();
    world.answer(not_sent()).unwrap();
    world.answer(not_sent()).unwrap();
    let ids: Vec<_> = world.tx.attempts.iter().map(|one| Some(one.id)).collect();
    let follows: Vec<_> = world.tx.attempts.iter().map(|one| one.follows).collect();
    assert_eq!(follows, [None, ids[0], ids[1]]);
}

#[test]
fn a_hint_does_not_use_up_the_schedule() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(pending()).unwrap();
    let before = current_attempt(&world).clone();
    world.wait(3);
    assert_eq!(world.apply(Command::Hint), Ok(1));
    let after = current_attempt(&world);
    assert_eq!(after.queries, before.queries);
    assert_eq!(after.next_query_at, before.next_query_at);
}

#[test]
fn each_callback_by_an_ambiguous_id_asks() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(pending()).unwrap();
    for events in [2, 1] {
        world.wait(3);
        let ambiguous = Command::AmbiguousId {
            attempt: world.current(),
            provider_id: "P7".to_owned(),
            reported: None,
        };
        assert_eq!(world.apply(ambiguous), Ok(events));
        let query = world.events.last().unwrap();
        assert!(matches!(query, Event::QueryStarted { .. }));
    }
}

#[test]
fn an_interrupted_submission_is_not_begun_again_while_the_app_is_held() {
    let mut world = World::payout();
    world.apply(Command::Dispatch(route(1))).unwrap();
    world.permit = held();
    let attempt = world.current();
    world.apply(recovery(attempt, false, None)).unwrap();
    assert_eq!(world.tx.state, State::AwaitingDispatch);
    let resumed = |event: &Event| matches!(event, Event::SubmissionResumed { .. });
    assert_eq!(count_events(&world, resumed), 0);
}

#[test]
fn a_payment_without_unknown_attempts_is_cancelled_also_while_the_app_is_held() {
    let mut world = World::payment();
    world.permit = held();
    let cancel = Command::Cancel(CancelledBy::Customer);
    assert_eq!(world.apply(cancel), Ok(1));
    assert_eq!(world.tx.state, State::Cancelled);
}

#[test]
fn an_attempt_in_doubt_is_not_given_up_sooner() {
    let mut world = World::payment_with(3);
    world.apply(confirm_at(can_cancel(1))).unwrap();
    world.answer(unknown()).unwrap();
    world.wait(119);
    assert_eq!(world.apply(Command::GiveUp), Err(Refusal::TooEarly));
    world.wait(1);
    assert_eq!(world.apply(Command::GiveUp), Ok(1));
}

#[test]
fn a_payer_cancels_a_payment_whose_page_cannot_be_opened() {
    let mut world = World::payment_with(3);
    world.apply(confirm_at(can_cancel(1))).unwrap();
    world.answer(unusable_page()).unwrap();
    assert_eq!(call_offs(&world), 1);
    world.wait(120);
    assert_eq!(world.apply(Command::GiveUp), Ok(1), "asked long ago");
    world.apply(Command::Cancel(CancelledBy::Customer)).unwrap();
    world.answer(declined(false)).unwrap();
    assert_eq!(world.tx.state, State::Cancelled);
}

#[test]
fn an_attempt_after_its_own_end_is_called_off_by_asking() {
    let mut world = World::payment_with(3);
    world.apply(confirm_at(ending(route(1), 60))).unwrap();
    world.answer(pending()).unwrap();
    world.wait(3_600);
    let cancel = Command::Cancel(CancelledBy::Customer);
    assert_eq!(world.apply(cancel), Ok(2));
    world.answer(pending()).unwrap();
    assert_eq!(world.tx.state, State::Cancelled);
}

#[test]
fn an_unusable_page_asks_for_nothing_that_the_payer_has_asked_for() {
    let mut world = World::payment_with(3);
    world.apply(confirm_at(can_cancel(1))).unwrap();
    world.answer(pending()).unwrap();
    world.wait(120);
    world.apply(Command::GiveUp).unwrap();
    world.wait(20);
    world.answer(unusable_page()).unwrap();
    let asked = current_attempt(&world).call_off.unwrap();
    assert_eq!((asked.by, call_offs(&world)), (CancelledBy::Customer, 1));
}

#[test]
fn a_payout_is_not_called_off_over_a_page() {
    let mut world = World::payout();
    world.apply(Command::Dispatch(can_cancel(1))).unwrap();
    world.answer(unusable_page()).unwrap();
    assert_eq!(current_attempt(&world).call_off, None);
}
