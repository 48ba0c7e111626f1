//! More rules whose planted faults no other test finds: charges, reversals, refunds and orders.

use uuid::Uuid;

use super::fixtures::*;
use crate::ids::AttemptId;
use crate::money::{Amount, Currency};
use crate::transaction::*;

fn open_cases(world: &World) -> Vec<(CaseReason, Option<&str>, Option<i64>)> {
    let open = world.tx.cases.iter().filter(|case| case.closed.is_none());
    open.map(|case| {
        let minor = case.amount.map(|amount| amount.minor());
        (case.reason, case.provider_id.as_deref(), minor)
    })
    .collect()
}

#[test]
fn nothing_holds_a_payment_that_has_ended() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    let attempt = world.current();
    world.answer(declined(false)).unwrap();
    tell(&mut world, attempt, [usd("P1", 2_500)]);
    assert_eq!(reasons(&world), [CaseReason::MoneyAfterTheEnd]);
    assert!(!world.tx.is_held());
}

#[test]
fn money_that_a_person_settled_no_longer_holds_the_payment() {
    let (mut world, [first, second]) = second_attempt(pending());
    tell(&mut world, first, [usd("P1", 1_000)]);
    tell(&mut world, second, [usd("P2", 900)]);
    world.apply(resolve_failed()).unwrap();
    assert_eq!(world.tx.state, State::OnHold);
    assert_eq!(world.tx.held_attempt().unwrap().id, first);
}

#[test]
fn a_part_that_is_recorded_with_a_declined_attempt_may_have_moved() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(declined(false)).unwrap();
    assert!(world.tx.surely_moved_no_money());
    world.tx.attempts[0].received = Some(amount(1_000));
    assert!(!world.tx.surely_moved_no_money());
}

#[test]
fn an_attempt_whose_payer_has_done_everything_cannot_be_called_off() {
    let mut world = World::payment();
    world.apply(confirm_at(can_cancel(1))).unwrap();
    world.answer(pending_with(None)).unwrap();
    assert!(world.tx.can_call_off());
    world.answer(pending_with(Some(PayerAction::Wait))).unwrap();
    assert!(!world.tx.can_call_off());
}

#[test]
fn a_reversal_before_the_success_says_nothing_under_a_lent_reference() {
    let mut world = World::payment_with(4);
    world.references = vec![(candidate(0).connection, Uuid::from_u128(9))];
    world.apply(confirm(1)).unwrap();
    world.answer(not_sent()).unwrap();
    world.apply(confirm(1)).unwrap();
    let second = world.current();
    let reports = [usd("P1", 1_000), reversed("P1"), usd("P1", 2_500)];
    tell(&mut world, second, reports);
    assert_eq!(world.tx.status(), Status::Success);
    assert_eq!(world.tx.attempts.len(), 2);
    assert_eq!(world.tx.taken_back(), TakenBack::Nothing);
}

#[test]
fn a_reversal_of_one_attempt_does_not_stop_the_money_of_another() {
    let (mut world, [first, second]) = second_attempt(declined(false));
    tell(&mut world, first, [usd("P1", 1_000), reversed("P1")]);
    assert_eq!(world.tx.state, State::OnHold);
    tell(&mut world, second, [usd("P2", 2_500)]);
    assert_eq!(world.tx.status(), Status::Success);
}

#[test]
fn the_reason_of_a_failure_names_a_charge_that_stays_beside_one_that_was_taken_back() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    let attempt = world.current();
    let reports = [usd("P1", 1_000), usd("P2", 700), reversed("P1")];
    tell(&mut world, attempt, reports);
    world.apply(resolve_failed()).unwrap();
    let message = failure_message(&world);
    assert!(message.contains("is to be returned"), "{message}");
}

#[test]
fn a_reversal_of_one_charge_ends_the_case_of_that_charge_only() {
    let (mut world, [first, _]) = second_attempt(pending());
    let reports = [usd("P1", 2_500), usd("P2", 2_500), reversed("P2")];
    tell(&mut world, first, reports);
    let ended = |place: usize| world.tx.is_superseded(&world.tx.cases[place]);
    assert_eq!([0, 1].map(ended), [false, true]);
}

#[test]
fn a_success_under_another_id_does_not_end_the_case_of_an_earlier_charge() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    let attempt = world.current();
    tell(&mut world, attempt, [usd("P1", 1_000), usd("P2", 2_500)]);
    assert_eq!(world.tx.status(), Status::Success);
    assert_eq!(reasons(&world), [CaseReason::AmountDiffers]);
    assert!(!world.tx.is_superseded(&world.tx.cases[0]));
}

#[test]
fn a_part_that_came_before_the_end_of_its_attempt_is_no_news_after_it() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    let attempt = world.current();
    world.answer(part(1_500)).unwrap();
    world.apply(resolve_failed()).unwrap();
    world.wait(1);
    for sum in [1_000, 1_500] {
        assert_eq!(world.answer_about(attempt, part(sum)), Ok(0));
    }
}

fn close(world: &mut World, place: usize) {
    let case = world.tx.cases[place].id;
    world
        .apply(by_operator(OperatorCommand::CloseCase(case)))
        .unwrap();
}

#[test]
fn another_amount_of_a_second_charge_counts_beside_the_recorded_one() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    let attempt = world.current();
    tell(&mut world, attempt, [usd("P1", 2_500), usd("P2", 2_500)]);
    close(&mut world, 0);
    tell(&mut world, attempt, [usd("P2", 2_600)]);
    assert_eq!(
        world.tx.received().unwrap().single().unwrap(),
        amount(5_100)
    );
}

#[test]
fn a_charge_whose_id_became_known_is_another_one_than_that_of_the_next_id() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    let attempt = world.current();
    world.answer(declined(false)).unwrap();
    tell(&mut world, attempt, [without_id(2_500)]);
    close(&mut world, 0);
    tell(&mut world, attempt, [usd("P1", 2_600), usd("P2", 700)]);
    assert_eq!(
        world.tx.received().unwrap().single().unwrap(),
        amount(3_300)
    );
}

#[test]
fn a_reversal_without_an_id_leaves_the_first_of_two_charges_to_be_refunded() {
    let (mut world, [first, second]) = second_attempt(pending());
    let reports = [usd("P1", 2_500), usd("P2", 700), declined(false)];
    tell(&mut world, first, reports);
    tell(&mut world, second, [usd("P3", 2_500)]);
    let twice = (CaseReason::PaidTwice, Some("P1"), Some(2_500));
    let open = open_cases(&world);
    let is_twice = |case: &&(CaseReason, _, _)| case.0 == CaseReason::PaidTwice;
    assert_eq!(open.iter().filter(is_twice).collect::<Vec<_>>(), [&twice]);
}

#[test]
fn a_charge_that_was_taken_back_before_another_succeeded_stays_taken_back() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    let attempt = world.current();
    let reports = [usd("P1", 1_000), reversed("P1"), usd("P2", 2_500)];
    tell(&mut world, attempt, reports);
    assert_eq!(world.tx.status(), Status::Success);
    assert_eq!(world.tx.taken_back(), TakenBack::Part);
}

#[test]
fn a_reversal_under_an_id_counts_for_money_that_was_reported_without_one() {
    let (mut world, [first, second]) = second_attempt(pending());
    tell(&mut world, first, [without_id(2_500), reversed("P1")]);
    assert_eq!(world.tx.taken_back(), TakenBack::All);
    tell(&mut world, second, [usd("P2", 2_500)]);
    assert!(!reasons(&world).contains(&CaseReason::PaidTwice));
}

#[test]
fn a_surplus_is_named_in_the_currency_of_its_attempt() {
    let francs = |minor| Amount::from_minor(minor, Currency::known("XOF"));
    let mut world = World::payment();
    let Command::Confirm(mut confirm) = confirm(1) else {
        unreachable!()
    };
    confirm.price = Price::plain(francs(16_000));
    world.apply(Command::Confirm(confirm)).unwrap();
    world.answer(reported("P1", francs(20_000))).unwrap();
    let surplus = world.tx.cases.last().unwrap();
    assert_eq!(surplus.reason, CaseReason::Surplus);
    let ends = format!("surplus of {}", francs(4_000).format());
    assert!(surplus.detail.ends_with(&ends), "{}", surplus.detail);
}

#[test]
fn a_reversal_without_an_id_repeats_an_open_case_about_one_with_an_id() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    let attempt = world.current();
    tell(&mut world, attempt, [usd("P1", 2_500), reversed("P1")]);
    assert_eq!(world.answer_about(attempt, declined(false)), Ok(0));
}

#[test]
fn a_repeated_reversal_of_the_only_charge_is_silent_after_its_case_was_closed() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    let attempt = world.current();
    tell(&mut world, attempt, [usd("P1", 2_500), declined(false)]);
    close(&mut world, 0);
    assert_eq!(world.answer_about(attempt, declined(false)), Ok(0));
}

#[test]
fn money_of_an_unreadable_amount_repeats_a_closed_case_under_its_id() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    let attempt = world.current();
    world.answer(declined(false)).unwrap();
    tell(&mut world, attempt, [usd("P1", 2_500)]);
    close(&mut world, 0);
    assert_eq!(
        world.answer_about(attempt, succeeded_unreadably()),
        Ok(0),
        "it proves no other money"
    );
}

#[test]
fn a_case_without_money_under_the_same_id_leaves_an_open_case_as_the_latest() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    let attempt = world.current();
    tell(&mut world, attempt, [usd("P1", 1_000)]);
    let provider_id = "P1".to_owned();
    let ambiguous = Command::AmbiguousId {
        attempt,
        provider_id,
        reported: None,
    };
    world.apply(ambiguous).unwrap();
    tell(&mut world, attempt, [usd("P1", 1_200)]);
    let expected = [CaseReason::AmountDiffers, CaseReason::AmbiguousProviderId];
    assert_eq!(reasons(&world), expected);
    assert_eq!(world.tx.cases[0].amount, Some(amount(1_200)));
}

#[test]
fn money_of_another_attempt_leaves_an_open_case_as_the_latest() {
    let (mut world, [first, second]) = second_attempt(declined(false));
    tell(&mut world, first, [usd("P1", 1_000)]);
    tell(&mut world, second, [usd("P1", 900)]);
    tell(&mut world, first, [usd("P1", 1_200)]);
    let amounts: Vec<_> = open_cases(&world).iter().map(|case| case.2).collect();
    assert_eq!(amounts, [Some(1_200), Some(900)]);
}

#[test]
fn the_money_of_an_attempt_that_lent_its_reference_is_not_paid_twice() {
    let mut world = World::payment_with(4);
    world.references = vec![(candidate(0).connection, Uuid::from_u128(9))];
    world.apply(confirm(1)).unwrap();
    let first = world.current();
    world.answer(not_sent()).unwrap();
    world.apply(confirm(1)).unwrap();
    world.answer(declined(false)).unwrap();
    tell(&mut world, first, [usd("P1", 1_000), usd("P1", 2_500)]);
    assert_eq!(world.tx.status(), Status::Success);
    assert!(!reasons(&world).contains(&CaseReason::PaidTwice));
}

/// A payment on hold for 10 dollars of its first attempt. A person failed its second attempt, for
/// which two charges had been reported.
fn second_failed_by_hand() -> (World, [AttemptId; 2]) {
    let (mut world, [first, second]) = second_attempt(pending());
    tell(&mut world, first, [usd("P1", 1_000)]);
    tell(&mut world, second, [usd("P2", 900), usd("P3", 800)]);
    world.apply(resolve_failed()).unwrap();
    assert_eq!(world.tx.state, State::OnHold);
    world.wait(1);
    (world, [first, second])
}

fn twice(world: &World) -> Vec<Option<&str>> {
    let cases = world.tx.cases.iter();
    let cases = cases.filter(|case| case.reason == CaseReason::PaidTwice);
    cases.map(|case| case.provider_id.as_deref()).collect()
}

#[test]
fn money_that_a_person_settled_is_not_refunded_after_the_reversal_of_another_charge() {
    let (mut world, [first, second]) = second_failed_by_hand();
    tell(&mut world, second, [declined(false)]);
    tell(&mut world, first, [usd("P1", 2_500)]);
    assert_eq!(world.tx.status(), Status::Success);
    assert!(twice(&world).is_empty(), "{:?}", open_cases(&world));
}

#[test]
fn money_that_a_person_settled_is_not_refunded_with_a_later_charge() {
    let (mut world, [first, second]) = second_failed_by_hand();
    tell(&mut world, second, [usd("P5", 700)]);
    tell(&mut world, first, [usd("P1", 2_500)]);
    assert_eq!(world.tx.status(), Status::Success);
    assert_eq!(twice(&world), [Some("P5")]);
}

#[test]
fn a_refund_names_the_sum_of_before_when_the_latest_report_cannot_be_read() {
    let (mut world, [first, second]) = second_attempt(pending());
    tell(
        &mut world,
        first,
        [usd("P1", 2_700), succeeded_unreadably()],
    );
    tell(&mut world, second, [usd("P2", 2_500)]);
    let twice = world.tx.cases.last().unwrap();
    assert_eq!(twice.reason, CaseReason::PaidTwice);
    assert_eq!(twice.amount, Some(amount(2_700)));
    assert!(twice.detail.starts_with("$ 27.00"), "{}", twice.detail);
}

#[test]
fn a_refund_names_the_id_of_before_when_the_latest_report_has_none() {
    let (mut world, [first, second]) = second_attempt(pending());
    tell(&mut world, first, [usd("P1", 1_000), without_id(1_200)]);
    tell(&mut world, second, [usd("P2", 2_500)]);
    assert_eq!(twice(&world), [Some("P1")]);
    assert_eq!(world.tx.cases.last().unwrap().amount, Some(amount(1_200)));
}

#[test]
fn a_success_is_announced_before_the_cases_about_its_money() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(succeeded_with(2_700)).unwrap();
    let place = |wanted: Action| world.actions.iter().position(|action| *action == wanted);
    let success = place(Action::Announce(EventName::PaymentSuccess));
    let case = place(Action::Mail(MailTo::MerchantAboutCase(CaseReason::Surplus)));
    assert!(success.is_some() && success < case, "{:?}", world.actions);
}

#[test]
fn a_refund_names_the_latest_case_about_the_same_money() {
    let (mut world, [first, second]) = second_attempt(pending());
    tell(&mut world, first, [usd("P1", 1_000), usd("P1", 2_500)]);
    tell(&mut world, second, [usd("P2", 2_500)]);
    let twice = world.tx.cases.last().unwrap();
    assert_eq!(twice.reason, CaseReason::PaidTwice);
    let named = "`money_after_the_end`";
    assert!(twice.detail.contains(named), "{}", twice.detail);
}

/// A payment whose first attempt was not sent and whose second one was answered.
fn second_after_not_sent(outcome: Outcome) -> (World, AttemptId) {
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    let first = world.current();
    world.answer(unknown()).unwrap();
    world.answer(not_sent()).unwrap();
    world.apply(confirm(1)).unwrap();
    world.answer(outcome).unwrap();
    world.wait(1);
    (world, first)
}

#[test]
fn the_case_of_an_attempt_that_is_found_names_its_id() {
    let (mut world, first) = second_after_not_sent(declined(false));
    tell(&mut world, first, [pending()]);
    let found = (CaseReason::FoundAfterNotSent, Some("P1"), None);
    assert_eq!(open_cases(&world), [found]);
}

#[test]
fn a_repeated_decline_takes_back_no_money_of_another_attempt() {
    let (mut world, [first, second]) = second_attempt(declined(false));
    tell(&mut world, first, [usd("P1", 1_000)]);
    assert_eq!(world.answer_about(second, declined(false)), Ok(0));
}

#[test]
fn a_reversal_without_an_id_counts_for_the_latest_charge_and_not_for_the_known_id() {
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    let first = world.current();
    world.answer(pending()).unwrap();
    world.answer(declined(false)).unwrap();
    world.apply(confirm(1)).unwrap();
    let second = world.current();
    world.answer(pending_with(None)).unwrap();
    let reports = [usd("P1", 2_500), usd("P2", 700), declined(false)];
    tell(&mut world, first, reports);
    tell(&mut world, second, [usd("P3", 2_500)]);
    assert_eq!(twice(&world), [Some("P1")]);
}

#[test]
fn a_success_without_an_id_repeats_the_recorded_one() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    let attempt = world.current();
    tell(&mut world, attempt, [usd("P1", 2_500)]);
    assert_eq!(world.answer_about(attempt, without_id(2_500)), Ok(0));
}

/// A payment with a declined attempt and one in progress that its gateway can cancel.
fn one_that_can_cancel() -> (World, [AttemptId; 2]) {
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    let first = world.current();
    world.answer(declined(false)).unwrap();
    world.apply(confirm_at(can_cancel(1))).unwrap();
    world.answer(pending()).unwrap();
    let second = world.current();
    world.wait(120);
    (world, [first, second])
}

#[test]
fn repeated_news_of_another_attempt_calls_nothing_off() {
    let (mut world, [first, _]) = one_that_can_cancel();
    world.apply(Command::GiveUp).unwrap();
    world.answer_about(first, usd("P1", 2_500)).unwrap();
    assert_eq!(call_offs(&world), 1);
    world.wait(20);
    assert_eq!(world.answer_about(first, usd("P1", 2_500)), Ok(0));
}

#[test]
fn too_little_money_for_another_attempt_calls_the_one_in_progress_off_at_once() {
    let (mut world, [first, _]) = one_that_can_cancel();
    world.answer_about(first, usd("P1", 1_000)).unwrap();
    assert_eq!(call_offs(&world), 1);
}

#[test]
fn an_order_about_held_money_leaves_a_case_that_holds_nothing() {
    let (mut world, [first, second]) = second_attempt(declined(false));
    tell(&mut world, first, [usd("P1", 1_000)]);
    let provider_id = "P2".to_owned();
    let ambiguous = Command::AmbiguousId {
        attempt: second,
        provider_id,
        reported: None,
    };
    world.apply(ambiguous).unwrap();
    let settled = resolve(Some(first), verdict(Some(2_500), None));
    world.apply(settled).unwrap();
    let ambiguous = (CaseReason::AmbiguousProviderId, Some("P2"), None);
    assert_eq!(open_cases(&world), [ambiguous]);
}

#[test]
fn a_closed_case_is_not_closed_once_more_with_the_money_of_another_attempt() {
    let (mut world, [first, _]) = second_failed_by_hand();
    let closed: Vec<_> = world.tx.cases[1..]
        .iter()
        .map(|case| case.closed.clone())
        .collect();
    assert!(closed.iter().all(Option::is_some));
    world
        .apply(resolve(Some(first), verdict(Some(2_500), None)))
        .unwrap();
    let now = world.tx.cases[1..].iter().map(|case| case.closed.clone());
    assert_eq!(now.collect::<Vec<_>>(), closed);
}

#[test]
fn settling_a_charge_closes_the_cases_of_another_that_was_taken_back() {
    let (mut world, [first, second]) = second_attempt(pending());
    let reports = [usd("P1", 2_500), reversed("P1"), usd("P3", 2_500)];
    tell(&mut world, first, reports);
    tell(&mut world, second, [declined(false)]);
    world
        .apply(resolve(Some(first), verdict(Some(2_500), Some("P3"))))
        .unwrap();
    assert_eq!(open_cases(&world), []);
}

#[test]
fn the_id_of_a_reversal_is_not_that_of_money_that_a_person_settles() {
    let (mut world, [first, _]) = second_attempt(declined(false));
    tell(&mut world, first, [usd("P1", 1_000), reversed("R1")]);
    world
        .apply(resolve(Some(first), verdict(Some(2_500), None)))
        .unwrap();
    let settled = world.tx.attempt(first).unwrap();
    assert_eq!(settled.provider_id.as_deref(), Some("P1"));
}

#[test]
fn the_case_of_a_part_at_the_end_names_the_latest_sum() {
    for earlier in [part(1_000), succeeded_with(1_000)] {
        let mut world = World::payment_with(3);
        world.apply(confirm_at(ending(route(1), 300))).unwrap();
        world.answer(earlier).unwrap();
        world.wait(600);
        world.answer(part(1_500)).unwrap();
        let differs = (CaseReason::AmountDiffers, Some("P1"), Some(1_500));
        assert_eq!(open_cases(&world), [differs]);
    }
}

#[test]
fn the_reason_of_a_failure_names_no_money_of_an_attempt_that_was_only_found() {
    let (mut world, first) = second_after_not_sent(declined(false));
    tell(&mut world, first, [pending()]);
    assert_eq!(world.tx.state, State::OnHold);
    world.apply(resolve_failed()).unwrap();
    assert_eq!(
        failure_message(&world),
        "It was recorded as failed after a review."
    );
}

#[test]
fn a_success_without_an_id_keeps_the_id_of_before() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(pending()).unwrap();
    world.answer(without_id(2_500)).unwrap();
    assert_eq!(world.tx.status(), Status::Success);
    assert_eq!(world.tx.attempts[0].provider_id.as_deref(), Some("P1"));
}
