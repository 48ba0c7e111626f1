//! Settling by a person: which cases and which money it closes.

use super::fixtures::*;
use crate::ids::AttemptId;
use crate::transaction::*;

/// Part of the money that was asked for, under an id.
fn part(minor: i64, id: &str) -> Outcome {
    Outcome::Succeeded {
        provider_id: Some(id.to_owned()),
        amount: Captured::Named(amount(minor)),
        fees: None,
        provider_status: None,
    }
}

fn failed(attempt: AttemptId) -> Command {
    resolve(Some(attempt), Verdict::Failed { message: None })
}

fn ambiguous(attempt: AttemptId, id: &str) -> Command {
    Command::AmbiguousId {
        attempt,
        provider_id: id.to_owned(),
        reported: None,
    }
}

/// Whether each case is closed.
fn closed(world: &World) -> Vec<bool> {
    let cases = world.tx.cases.iter();
    cases.map(|case| case.closed.is_some()).collect()
}

/// A payment whose first attempt was declined, and whose second is with its provider.
fn second_attempt() -> (World, [AttemptId; 2]) {
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    let first = world.current();
    world.answer(declined(false)).unwrap();
    world.apply(confirm(1)).unwrap();
    world.answer(unknown()).unwrap();
    let second = world.current();
    (world, [first, second])
}

#[test]
fn settling_an_attempt_closes_the_cases_about_it_and_no_other() {
    let (mut world, [first, second]) = second_attempt();
    world.apply(ambiguous(first, "P1")).unwrap();
    world.apply(ambiguous(second, "P1")).unwrap();
    assert_eq!(closed(&world), [false, false]);
    world.apply(failed(second)).unwrap();
    assert_eq!(closed(&world), [false, true]);
}

#[test]
fn settling_the_attempt_in_progress_leaves_the_money_of_another_in_question() {
    let (mut world, [first, second]) = second_attempt();
    world.answer_about(first, part(1_000, "P1")).unwrap();
    world.apply(failed(second)).unwrap();
    assert_eq!(closed(&world), [false]);
    assert_eq!(world.tx.state, State::OnHold);
}

#[test]
fn all_money_that_holds_a_transaction_is_settled_together_under_the_id_of_the_one_named() {
    let (mut world, [first, second]) = second_attempt();
    world.answer_about(first, part(1_000, "P1")).unwrap();
    world.answer(declined(false)).unwrap();
    world.answer_about(second, part(500, "P2")).unwrap();
    assert_eq!(world.tx.state, State::OnHold);
    let refunded_and_paid_anew = verdict(Some(2_500), None);
    world
        .apply(resolve(Some(first), refunded_and_paid_anew))
        .unwrap();
    let attempt = world.tx.deciding_attempt().unwrap();
    assert_eq!(
        (attempt.id, attempt.provider_id.as_deref()),
        (first, Some("P1"))
    );
    let held = world.tx.cases.iter().filter(|case| case.reason.holds());
    assert_eq!(held.filter(|case| case.closed.is_none()).count(), 0);
}

#[test]
fn an_attempt_without_money_is_not_to_be_refunded_when_the_rest_comes_for_another() {
    let (mut world, [_, second]) = second_attempt();
    world.answer(part(1_000, "P1")).unwrap();
    world.answer(part(2_500, "P1")).unwrap();
    assert_eq!(world.tx.status(), Status::Success);
    let reference = world.tx.attempt(second).unwrap().reference;
    let is_about_second = |case: &Case| case.reference == reference;
    assert!(
        world.tx.cases.iter().all(is_about_second),
        "{:?}",
        world.tx.cases
    );
}

#[test]
fn money_of_two_attempts_is_added_up_once() {
    let (mut world, [first, second]) = second_attempt();
    world.answer_about(first, part(1_000, "P1")).unwrap();
    world.answer_about(second, part(500, "P2")).unwrap();
    let received = world.tx.received().unwrap();
    assert_eq!(received.amounts, [amount(1_500)]);
    assert_eq!(received.text("?", crate::money::Amount::format), "$ 15.00");
}

#[test]
fn reports_under_one_id_and_without_any_are_one_charge_of_which_the_latest_amount_counts() {
    for id in [Some("P1"), None] {
        let mut world = World::payment();
        world.apply(confirm(1)).unwrap();
        let attempt = world.current();
        world.answer(declined(false)).unwrap();
        world.answer_about(attempt, part(1_000, "P1")).unwrap();
        // A closed case does not change any more: the next report opens another one.
        let case = world.tx.cases[0].id;
        world
            .apply(by_operator(OperatorCommand::CloseCase(case)))
            .unwrap();
        let again = Outcome::Succeeded {
            provider_id: id.map(str::to_owned),
            amount: Captured::Named(amount(1_200)),
            fees: None,
            provider_status: None,
        };
        world.answer_about(attempt, again).unwrap();
        assert_eq!(world.tx.cases.len(), 2);
        assert_eq!(world.tx.received().unwrap().amounts, [amount(1_200)]);
    }
}

#[test]
fn an_attempt_that_holds_its_transaction_itself_is_not_called_off() {
    let mut world = World::payment_with(3);
    world.apply(confirm_at(can_cancel(1))).unwrap();
    world.answer(part(1_000, "P1")).unwrap();
    world.answer(pending()).unwrap();
    assert!(world.tx.is_held());
    let is_call_off = |action: &Action| matches!(action, Action::CancelRequest { .. });
    assert!(!world.actions.iter().any(is_call_off));
}

#[test]
fn a_case_about_late_money_says_how_its_attempt_had_ended() {
    for (ended, said) in [
        (not_sent(), "counted as not sent"),
        (declined(false), "counted as declined"),
    ] {
        let mut world = World::payment();
        world.apply(confirm(1)).unwrap();
        let attempt = world.current();
        world.answer(ended).unwrap();
        world.answer_about(attempt, succeeded()).unwrap();
        let detail = &world.tx.cases[0].detail;
        assert!(detail.contains(said), "{detail}");
    }
}

/// Reports a success, under no id if `None`.
fn report(world: &mut World, minor: i64, id: Option<&str>) {
    let attempt = world.tx.attempts[0].id;
    let outcome = Outcome::Succeeded {
        provider_id: id.map(str::to_owned),
        amount: Captured::Named(amount(minor)),
        fees: None,
        provider_status: None,
    };
    world.answer_about(attempt, outcome).unwrap();
}

fn amounts(world: &World) -> Vec<Option<i64>> {
    let cases = world.tx.cases.iter();
    cases
        .map(|case| case.amount.map(|amount| amount.minor()))
        .collect()
}

#[test]
fn a_report_without_an_id_leaves_the_amount_of_a_case_with_an_id() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    report(&mut world, 2_500, Some("P1"));
    report(&mut world, 2_500, Some("P2"));
    assert_eq!(
        world.tx.received().unwrap().single().unwrap(),
        amount(5_000)
    );
    report(&mut world, 1_000, None);
    assert_eq!(amounts(&world), [Some(2_500), Some(1_000)]);
    assert_eq!(
        world.tx.received().unwrap().single().unwrap(),
        amount(5_000)
    );
    // It has a case now, and another amount under no id is in the same one.
    report(&mut world, 1_000, None);
    report(&mut world, 1_200, None);
    assert_eq!(amounts(&world), [Some(2_500), Some(1_200)]);
    // The id is known: this is the same money.
    report(&mut world, 2_600, Some("P2"));
    assert_eq!(amounts(&world), [Some(2_600), Some(1_200)]);
}

#[test]
fn a_report_without_an_id_lowers_none_of_several_charges() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(declined(false)).unwrap();
    report(&mut world, 2_500, Some("P1"));
    report(&mut world, 2_600, Some("P2"));
    report(&mut world, 1_000, None);
    assert_eq!(amounts(&world), [Some(2_500), Some(2_600), Some(1_000)]);
    assert_eq!(
        world.tx.received().unwrap().single().unwrap(),
        amount(5_100)
    );
}

#[test]
fn a_success_that_was_taken_back_counts_more_than_any_other_case() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    report(&mut world, 3_000, Some("P1"));
    assert_eq!(world.tx.attention(), Some(CaseReason::Surplus));
    let attempt = world.tx.attempts[0].id;
    world.answer_about(attempt, declined(false)).unwrap();
    assert_eq!(world.tx.attention(), Some(CaseReason::SuccessContradicted));
}

#[test]
fn a_case_names_money_of_a_payout_as_sent() {
    let mut world = World::payout();
    world.apply(Command::Dispatch(route(1))).unwrap();
    report(&mut world, 3_000, Some("P1"));
    assert_eq!(world.tx.cases[0].reason, CaseReason::Surplus);
    let detail = &world.tx.cases[0].detail;
    assert!(
        detail.contains("ask for the surplus of $ 5.00 back"),
        "{detail}"
    );
}

#[test]
fn money_that_settles_nothing_is_named_in_the_failure() {
    let (mut world, [_, second]) = second_attempt();
    world.answer_about(second, part(1_000, "P1")).unwrap();
    world.apply(failed(second)).unwrap();
    let State::Failed(failure) = &world.tx.state else {
        panic!("{:?}", world.tx.state);
    };
    let said = "The money that was received did not settle this payment and is to be returned.";
    assert_eq!(failure.message, said);
}

#[test]
fn money_that_was_taken_back_does_not_settle_without_an_amount() {
    let (mut world, [first, second]) = second_attempt();
    world
        .answer_about(first, reported("P1", amount(2_500)))
        .unwrap();
    world.answer_about(first, reversed("P1")).unwrap();
    world.answer(declined(false)).unwrap();
    assert_eq!(world.tx.state, State::OnHold);
    let settled = || resolve(Some(first), verdict(None, None));
    assert_eq!(world.apply(settled()), Err(Refusal::AmountNeeded));
    assert!(world.tx.attempt(second).is_some());
}

#[test]
fn the_charge_that_was_not_taken_back_settles_under_its_own_id() {
    for (taken, stays) in [("P1", "P2"), ("P2", "P1")] {
        let (mut world, [first, _]) = second_attempt();
        world
            .answer_about(first, reported("P1", amount(2_500)))
            .unwrap();
        world
            .answer_about(first, reported("P2", amount(2_500)))
            .unwrap();
        world.answer_about(first, reversed(taken)).unwrap();
        world.answer(declined(false)).unwrap();
        world
            .apply(resolve(Some(first), verdict(None, None)))
            .unwrap();
        let attempt = world.tx.deciding_attempt().unwrap();
        assert_eq!(attempt.provider_id.as_deref(), Some(stays));
        assert_eq!(attempt.captured, Some(amount(2_500)));
    }
}
