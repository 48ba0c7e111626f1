//! Each charge of an attempt, under its own provider id: amounts received, reversals and refunds.

use uuid::Uuid;

use super::fixtures::*;
use crate::transaction::*;

#[test]
fn money_under_a_lent_reference_is_refunded_once() {
    let mut world = World::payment_with(4);
    let at =
        |number: u128, reference: u128| (candidate(number).connection, Uuid::from_u128(reference));
    world.references = vec![at(0, 9)];
    world.apply(confirm(1)).unwrap();
    world.answer(not_sent()).unwrap();
    world.apply(confirm(1)).unwrap();
    let second = world.current();
    assert_eq!(
        world.tx.attempts[0].reference,
        world.tx.attempts[1].reference
    );
    world.answer(declined(false)).unwrap();
    world.references = vec![at(0, 10)];
    world.apply(confirm(1)).unwrap();
    world
        .answer_about(second, reported("P1", amount(2_500)))
        .unwrap();
    world.answer(reported("P2", amount(2_500))).unwrap();
    assert_eq!(world.tx.status(), Status::Success);
    assert_eq!(
        reasons(&world),
        [CaseReason::MoneyAfterTheEnd, CaseReason::PaidTwice]
    );
}

#[test]
fn a_charge_that_stays_is_paid_twice_although_another_was_taken_back() {
    let (mut world, [first, _]) = second_attempt(pending());
    world
        .answer_about(first, reported("P1", amount(2_500)))
        .unwrap();
    world
        .answer_about(first, reported("P2", amount(2_500)))
        .unwrap();
    world.wait(1);
    world.answer_about(first, reversed("P1")).unwrap();
    world.wait(1);
    world.answer(reported("P3", amount(2_500))).unwrap();
    assert_eq!(world.tx.status(), Status::Success);
    assert!(
        open_cases(&world).contains(&(CaseReason::PaidTwice, Some(2_500))),
        "{:?}",
        open_cases(&world)
    );
}

#[test]
fn each_charge_of_another_attempt_is_paid_twice() {
    let (mut world, [first, second]) = second_attempt(pending());
    world
        .answer_about(first, reported("P1", amount(1_000)))
        .unwrap();
    world
        .answer_about(first, reported("P2", amount(700)))
        .unwrap();
    world.answer(declined(false)).unwrap();
    assert_eq!(world.tx.state, State::OnHold);
    world
        .apply(resolve(Some(second), verdict(Some(2_500), Some("P3"))))
        .unwrap();
    let twice = |minor| (CaseReason::PaidTwice, Some(minor));
    let open = open_cases(&world);
    assert!(
        open.contains(&twice(1_000)) && open.contains(&twice(700)),
        "{open:?}, received {:?}",
        world.tx.received()
    );
}

#[test]
fn a_part_after_a_reversal_is_not_taken_back() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(part(1_000)).unwrap();
    world.wait(1);
    world.answer(declined(false)).unwrap();
    assert_eq!(world.tx.taken_back(), TakenBack::All);
    world.wait(1);
    world.answer(part(1_200)).unwrap();
    assert_eq!(
        world.tx.received().unwrap().single().unwrap(),
        amount(1_200)
    );
    let taken_back = world.tx.taken_back();
    world
        .apply(resolve(None, Verdict::Failed { message: None }))
        .unwrap();
    let State::Failed(failure) = &world.tx.state else {
        panic!()
    };
    assert!(
        failure.message.contains("is to be returned"),
        "{} {taken_back:?} {:?}",
        failure.message,
        open_cases(&world)
    );
    assert_eq!(taken_back, TakenBack::Nothing);
}

#[test]
fn the_reason_of_a_failure_names_money_that_stays() {
    let (mut world, [first, second]) = second_attempt(declined(false));
    world
        .answer_about(first, reported("P1", amount(1_000)))
        .unwrap();
    world
        .answer_about(second, reported("P2", amount(700)))
        .unwrap();
    world.wait(1);
    world.answer_about(second, reversed("P2")).unwrap();
    assert_eq!(world.tx.taken_back(), TakenBack::Part);
    world
        .apply(resolve(None, Verdict::Failed { message: None }))
        .unwrap();
    let State::Failed(failure) = &world.tx.state else {
        panic!()
    };
    assert!(
        failure.message.contains("is to be returned"),
        "{}",
        failure.message
    );
}

#[test]
fn the_reason_of_a_failure_names_money_of_another_attempt() {
    let (mut world, [first, second]) = second_attempt(declined(false));
    world
        .answer_about(first, reported("P1", amount(1_000)))
        .unwrap();
    world
        .apply(resolve(Some(second), Verdict::Failed { message: None }))
        .unwrap();
    let State::Failed(failure) = &world.tx.state else {
        panic!()
    };
    assert!(
        failure.message.contains("is to be returned"),
        "{} open {:?}",
        failure.message,
        open_cases(&world)
    );
}

#[test]
fn another_charge_does_not_undo_a_reversal() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    let attempt = world.current();
    world.answer(reported("P1", amount(2_500))).unwrap();
    world.wait(1);
    world.answer_about(attempt, reversed("P1")).unwrap();
    assert_eq!(world.tx.taken_back(), TakenBack::All);
    world.wait(1);
    world
        .answer_about(attempt, reported("P2", amount(2_500)))
        .unwrap();
    assert_eq!(
        world.tx.received().unwrap().single().unwrap(),
        amount(5_000)
    );
    assert_eq!(world.tx.taken_back(), TakenBack::Part);
}

#[test]
fn an_attempt_found_after_all_does_not_tell_of_a_payment_that_failed() {
    let mut world = World::payment_with(1);
    world.apply(confirm(1)).unwrap();
    let first = world.current();
    world.answer(unknown()).unwrap();
    world.answer(not_sent()).unwrap();
    world.apply(confirm(1)).unwrap();
    let second = world.current();
    world.answer(declined(false)).unwrap();
    assert_eq!(world.tx.status(), Status::Failed);
    assert_eq!(world.tx.deciding_attempt().unwrap().id, second);
    world.answer_about(first, pending()).unwrap();
    assert_eq!(reasons(&world), [CaseReason::FoundAfterNotSent]);
    assert_eq!(world.tx.deciding_attempt().unwrap().id, second);
}

#[test]
fn another_charge_of_the_attempt_that_a_person_settles_keeps_its_case() {
    let (mut world, [first, _]) = second_attempt(pending());
    world
        .answer_about(first, reported("P1", amount(2_500)))
        .unwrap();
    world.wait(1);
    world.answer_about(first, reversed("P1")).unwrap();
    world.wait(1);
    world
        .answer_about(first, reported("P2", amount(2_500)))
        .unwrap();
    world
        .answer_about(first, reported("P3", amount(2_500)))
        .unwrap();
    world.answer(declined(false)).unwrap();
    assert_eq!(world.tx.state, State::OnHold);
    world
        .apply(resolve(Some(first), verdict(Some(2_500), Some("P3"))))
        .unwrap();
    assert!(
        !open_cases(&world).is_empty(),
        "received {:?}",
        world.tx.received()
    );
}

#[test]
fn the_largest_amount_of_a_charge_counts() {
    let (mut world, [first, second]) = second_attempt(pending());
    for minor in [3_000, 1_000, 2_600] {
        world.answer_about(first, succeeded_with(minor)).unwrap();
    }
    let received = world.tx.received().unwrap().single().unwrap();
    world
        .answer_about(second, reported("P2", amount(2_500)))
        .unwrap();
    let twice = world.tx.cases.last().unwrap();
    assert_eq!(
        (received, twice.amount),
        (amount(3_000), Some(amount(3_000)))
    );
}

#[test]
fn a_reversal_of_a_success_by_hand_has_a_case() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(succeeded_with(1_000)).unwrap();
    world.wait(1);
    world.answer(reversed("P1")).unwrap();
    world.wait(1);
    world
        .apply(resolve(None, verdict(Some(2_500), Some("P1"))))
        .unwrap();
    assert!(world.tx.cases.iter().all(|case| case.closed.is_some()));
    world.wait(1);
    assert_ne!(
        world.answer(reversed("P1")),
        Ok(0),
        "a reversal without any case"
    );
}

#[test]
fn a_reversal_after_a_success_after_a_reversal_has_a_case() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(succeeded_with(1_000)).unwrap();
    world.wait(1);
    world.answer(declined(false)).unwrap();
    world.wait(1);
    world.answer(succeeded_with(2_500)).unwrap();
    assert_eq!(world.tx.status(), Status::Success);
    world.wait(1);
    let events = world.answer(declined(false));
    assert_eq!(world.tx.taken_back(), TakenBack::All, "{events:?}");
}

#[test]
fn a_reversal_of_a_late_success_by_hand_has_a_case() {
    let (mut world, [first, second]) = second_attempt(declined(false));
    _ = second;
    world.answer_about(first, succeeded_with(1_000)).unwrap();
    world.wait(1);
    world.answer_about(first, reversed("P1")).unwrap();
    world.wait(1);
    world.answer_about(first, succeeded_with(2_500)).unwrap();
    world.wait(1);
    world
        .apply(resolve(Some(first), verdict(Some(2_500), Some("P1"))))
        .unwrap();
    world.wait(1);
    assert_ne!(world.answer_about(first, reversed("P1")), Ok(0));
    assert_eq!(world.tx.taken_back(), TakenBack::All);
}

#[test]
fn the_first_id_is_of_the_charge_reported_without_one_and_another_id_is_a_second_charge() {
    for is_closed in [false, true] {
        let mut world = World::payment_with(1);
        world.apply(confirm(1)).unwrap();
        let attempt = world.current();
        world.answer(declined(false)).unwrap();
        world.answer_about(attempt, without_id(1_000)).unwrap();
        let first = world.tx.cases[0].id;
        if is_closed {
            world
                .apply(by_operator(OperatorCommand::CloseCase(first)))
                .unwrap();
        }
        let report = |id| reported(id, amount(1_000));
        for _ in 0..2 {
            world.answer_about(attempt, report("P1")).unwrap();
            assert_eq!(world.tx.cases.len(), 1, "a repetition that names the id");
        }
        assert_eq!(world.tx.cases[0].provider_id.as_deref(), Some("P1"));
        world.answer_about(attempt, report("P2")).unwrap();
        assert_eq!(world.tx.cases.len(), 2);
        assert_eq!(world.tx.received().unwrap().amounts, [amount(2_000)]);
    }
}

#[test]
fn an_attempt_that_succeeded_without_an_id_takes_the_first_one_and_another_is_a_second_charge() {
    let mut world = World::payment_with(1);
    world.apply(confirm(1)).unwrap();
    let attempt = world.current();
    world.answer(without_id(2_500)).unwrap();
    for _ in 0..2 {
        world
            .answer_about(attempt, reported("P1", amount(2_500)))
            .unwrap();
        assert_eq!(reasons(&world), []);
    }
    let id = world.tx.attempt(attempt).unwrap().provider_id.as_deref();
    assert_eq!(id, Some("P1"));
    world
        .answer_about(attempt, reported("P2", amount(2_500)))
        .unwrap();
    assert_eq!(reasons(&world), [CaseReason::ContradictingSuccess]);
    assert_eq!(world.tx.received().unwrap().amounts, [amount(5_000)]);
}

#[test]
fn a_success_stands_while_only_another_charge_is_taken_back() {
    let after = |reversal: Outcome| {
        let mut world = World::payment();
        world.apply(confirm(1)).unwrap();
        let attempt = world.current();
        world.answer(usd("P1", 2_500)).unwrap();
        world.answer_about(attempt, usd("P2", 2_500)).unwrap();
        assert!(world.tx.success_stands());
        world.answer_about(attempt, reversal).unwrap();
        assert!(world.tx.cases.iter().any(|case| {
            case.reason == CaseReason::SuccessContradicted && case.closed.is_none()
        }));
        world.tx.success_stands()
    };
    assert!(after(reversed("P2")));
    assert!(!after(reversed("P1")));
}
