//! Orders about transactions on hold, and the charges and references that they settle.

use super::fixtures::*;
use crate::ids::AttemptId;
use crate::transaction::*;

/// A payment on hold: too little came for the first attempt, and the second one was declined.
fn on_hold(second: Route) -> (World, [AttemptId; 2]) {
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    let first = world.current();
    world.answer(declined(false)).unwrap();
    world.wait(1);
    world.apply(confirm_at(second)).unwrap();
    world.answer(pending()).unwrap();
    let second = world.current();
    world.wait(60);
    world.answer_about(first, usd("P0", 1_000)).unwrap();
    world.wait(60);
    world.answer(declined(false)).unwrap();
    assert_eq!(world.tx.state, State::OnHold);
    (world, [first, second])
}

/// A person calls the payment failed, and the connections of a restore deny an attempt.
fn fail_and_deny(world: &mut World, named: Option<AttemptId>) {
    world.permit = ask_first([1]);
    let message = Some("returned by hand".to_owned());
    world
        .apply(resolve(named, Verdict::Failed { message }))
        .unwrap();
    assert_eq!(world.tx.state, State::InDoubt);
    world.permit = Permit::default();
    world.answer(not_sent()).unwrap();
}

#[test]
fn a_held_payment_that_a_person_failed_is_not_cancelled_after_the_questions_of_a_restore() {
    let (mut world, _) = on_hold(can_cancel(1));
    fail_and_deny(&mut world, None);
    assert_eq!(world.tx.status(), Status::Failed);
    assert_eq!(failure_message(&world), "returned by hand");
}

#[test]
fn a_failed_order_that_names_another_attempt_ends_a_held_payment_after_a_restore() {
    for named in [0, 1] {
        let (mut world, attempts) = on_hold(route(1));
        fail_and_deny(&mut world, Some(attempts[named]));
        let again = world.apply(confirm(1));
        let refused = Err(Refusal::AlreadyEnded(Status::Failed));
        assert_eq!(again, refused, "{named}");
        assert_eq!(failure_message(&world), "returned by hand");
    }
}

#[test]
fn money_settled_by_a_person_under_a_lent_reference_is_received() {
    let mut world = World::payment_with(3);
    let reference = uuid::Uuid::from_u128(7);
    world.references = vec![(candidate(0).connection, reference)];
    world.apply(confirm(1)).unwrap();
    let first = world.current();
    world.answer_about(first, not_sent()).unwrap();
    world.apply(confirm(1)).unwrap();
    world.answer(declined(false)).unwrap();
    assert_eq!(
        world.tx.attempts[0].reference,
        world.tx.attempts[1].reference
    );
    let second = world.current();
    world.answer_about(second, usd("P1", 1_000)).unwrap();
    assert_eq!(world.tx.state, State::OnHold);
    world
        .apply(resolve(Some(first), verdict(Some(2_500), Some("P1"))))
        .unwrap();
    assert_eq!(world.tx.status(), Status::Success);
    let received = world.tx.received().map(|received| received.amounts);
    assert_eq!(received, Some(vec![amount(2_500)]));
}

#[test]
fn a_case_of_an_attempt_that_a_person_failed_is_closed_when_another_one_settles() {
    let (mut world, [first, second]) = second_attempt(pending());
    world.answer_about(first, usd("P1", 2_500)).unwrap();
    world.answer_about(second, usd("P2", 1_000)).unwrap();
    world.apply(resolve_failed()).unwrap();
    assert_eq!(world.tx.status(), Status::Success);
    let differs = |case: &&Case| case.reason == CaseReason::AmountDiffers;
    let case = world.tx.cases.iter().find(differs).unwrap();
    assert!(case.closed.is_some(), "{:?}", open_cases(&world));
}

#[test]
fn an_attempt_for_which_money_was_reported_keeps_its_reference() {
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    let first = world.current();
    world.answer(not_sent()).unwrap();
    assert!(world.tx.attempts[0].has_free_reference());
    world.answer_about(first, usd("P1", 1_000)).unwrap();
    assert!(!world.tx.attempts[0].has_free_reference());
}

#[test]
fn a_case_about_a_part_at_the_end_of_an_attempt_names_the_charge_that_stands() {
    let mut world = World::payment();
    world.apply(confirm_at(ending(route(1), 600))).unwrap();
    world.answer(part_under("P1", 1_000)).unwrap();
    world.answer(part_under("P2", 1_000)).unwrap();
    world.answer(reversed("P2")).unwrap();
    world.wait(3_600);
    world.answer(pending_with(None)).unwrap();
    let differs = |case: &&Case| case.reason == CaseReason::AmountDiffers;
    let case = world.tx.cases.iter().find(differs).unwrap();
    assert_eq!(case.provider_id.as_deref(), Some("P1"));
}

#[test]
fn an_order_about_the_attempt_in_progress_says_nothing_of_one_with_money() {
    let (mut world, [first, second]) = second_attempt(pending());
    world.answer_about(first, usd("P1", 1_000)).unwrap();
    world.apply(resolve_failed()).unwrap();
    assert_eq!(world.tx.state, State::OnHold);
    let settled = |id| world.tx.attempt(id).unwrap().settled.is_some();
    assert_eq!([first, second].map(settled), [false, true]);
}

#[test]
fn a_pending_report_without_a_sum_at_the_end_of_an_attempt_names_no_money_under_its_id() {
    let named = |id: Option<&str>| Outcome::Pending {
        provider_id: id.map(str::to_owned),
        payer_action: None,
        poll_after: None,
        provider_status: None,
        received: None,
    };
    for (later, expected) in [
        (vec![named(Some("P1"))], vec![("P1", 1_000)]),
        (vec![named(Some("P2"))], vec![("P1", 1_000)]),
        (
            vec![named(Some("P3")), named(Some("P4"))],
            vec![("P1", 1_000)],
        ),
        (
            vec![named(None), part_under("P2", 700)],
            vec![("P1", 1_000), ("P2", 700)],
        ),
        (vec![reversed("P1"), named(Some("P2"))], vec![]),
    ] {
        let mut world = World::payment();
        world.apply(confirm_at(ending(route(1), 600))).unwrap();
        world.answer(part_under("P1", 1_000)).unwrap();
        for report in later.clone() {
            world.wait(3_600);
            world.answer(report).unwrap();
        }
        let differs = |case: &&Case| case.reason == CaseReason::AmountDiffers;
        let cases = world.tx.cases.iter().filter(differs);
        let sum = |case: &Case| case.amount.map_or(0, |amount| amount.minor());
        let cases: Vec<_> = cases
            .map(|case| (case.provider_id.as_deref().unwrap_or(""), sum(case)))
            .collect();
        assert_eq!(cases, expected, "{later:?}");
    }
}
