//! Reports that contradict each other: the charges that stand, the sum received, and the cases that
//! need manual review.

use super::fixtures::*;
use crate::money::{Amount, Currency};
use crate::transaction::*;

fn unreadable(id: &str) -> Outcome {
    Outcome::Succeeded {
        provider_id: Some(id.to_owned()),
        amount: Captured::Unreadable,
        fees: None,
        provider_status: None,
    }
}

fn sum(world: &World) -> Option<i64> {
    Some(world.tx.received()?.single()?.minor())
}

#[test]
fn a_single_charge_that_stays_is_not_to_be_refunded_as_a_second_one() {
    let (mut world, [first, second]) = second_attempt(reported("P2", amount(2_500)));
    tell(&mut world, second, [reversed("P2")]);
    tell(&mut world, first, [reported("P1", amount(2_500))]);
    assert!(
        !reasons(&world).contains(&CaseReason::PaidTwice),
        "{:?}",
        open_cases(&world)
    );
}

#[test]
fn a_request_for_a_refund_ends_when_the_other_charge_is_taken_back() {
    let (mut world, [first, second]) = second_attempt(reported("P2", amount(2_500)));
    tell(&mut world, first, [reported("P1", amount(2_500))]);
    assert_eq!(reasons(&world), [CaseReason::PaidTwice]);
    tell(&mut world, second, [reversed("P2")]);
    assert!(world.tx.is_superseded(&world.tx.cases[0]));
}

#[test]
fn a_part_that_was_taken_back_is_not_to_be_returned_when_a_person_fails_it() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(part(1_000)).unwrap();
    world.wait(1);
    world.answer(declined(false)).unwrap();
    assert_eq!(world.tx.taken_back(), TakenBack::All);
    world.wait(1);
    world
        .apply(resolve(None, Verdict::Failed { message: None }))
        .unwrap();
    let State::Failed(failure) = &world.tx.state else {
        panic!()
    };
    assert!(failure.message.contains("took back"), "{}", failure.message);
    assert_eq!(open_cases(&world), []);
    assert_eq!(world.tx.taken_back(), TakenBack::All);
}

#[test]
fn a_report_without_a_sum_brings_no_money_back_after_a_reversal() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(part(1_000)).unwrap();
    world.wait(1);
    world.answer(declined(false)).unwrap();
    assert_eq!(world.tx.taken_back(), TakenBack::All);
    world.wait(1);
    world.answer(pending()).unwrap();
    assert_eq!(
        world.tx.taken_back(),
        TakenBack::All,
        "{:?}",
        open_cases(&world)
    );
}

#[test]
fn an_amount_that_is_reported_once_more_after_another_one_counts() {
    let (mut world, [first, second]) = second_attempt(pending());
    tell(
        &mut world,
        first,
        [2_500, 1_000, 2_500].map(|minor| reported("P1", amount(minor))),
    );
    let received = sum(&world);
    tell(&mut world, second, [reported("P2", amount(2_500))]);
    let twice = world.tx.cases.last().unwrap();
    assert_eq!(
        (received, twice.reason, twice.amount),
        (Some(2_500), CaseReason::PaidTwice, Some(amount(2_500)))
    );
}

#[test]
fn the_latest_amount_counts_although_a_report_without_an_id_came_before_it() {
    let (mut world, [first, second]) = second_attempt(pending());
    tell(
        &mut world,
        first,
        [
            reported("P1", amount(1_000)),
            without_id(1_200),
            reported("P1", amount(1_400)),
        ],
    );
    let received = sum(&world);
    tell(&mut world, second, [reported("P2", amount(2_500))]);
    let twice = world.tx.cases.last().unwrap();
    assert_eq!((received, twice.amount), (Some(1_400), Some(amount(1_400))));
}

#[test]
fn a_person_settles_no_charge_with_the_amount_of_another() {
    let (mut world, [first, second]) = second_attempt(pending());
    tell(
        &mut world,
        first,
        [reported("P1", amount(2_500)), unreadable("P2")],
    );
    tell(&mut world, second, [declined(false)]);
    assert_eq!(world.tx.state, State::OnHold);
    let settled = world.apply(resolve(Some(first), verdict(None, None)));
    let attempt = world.tx.attempt(first).unwrap();
    assert!(
        settled.is_err() || attempt.provider_id.as_deref() == Some("P1"),
        "{:?} under {:?}, {:?}",
        attempt.captured,
        attempt.provider_id,
        sum(&world)
    );
}

#[test]
fn a_person_who_names_a_charge_settles_it_with_its_own_amount() {
    let (mut world, [first, second]) = second_attempt(pending());
    tell(
        &mut world,
        first,
        [
            reported("P1", amount(2_500)),
            reported("P2", amount(2_600)),
            reversed("P2"),
        ],
    );
    tell(&mut world, second, [declined(false)]);
    assert_eq!(world.tx.state, State::OnHold);
    let settled = world.apply(resolve(Some(first), verdict(None, Some("P1"))));
    let attempt = world.tx.attempt(first).unwrap();
    assert!(
        settled.is_err() || attempt.captured == Some(amount(2_500)),
        "{:?} under {:?}, {:?}",
        attempt.captured,
        attempt.provider_id,
        sum(&world)
    );
}

#[test]
fn a_sum_that_a_person_names_is_that_of_the_charge_of_this_amount() {
    let (mut world, [first, second]) = second_attempt(pending());
    tell(
        &mut world,
        first,
        [reported("P1", amount(2_500)), reported("P2", amount(700))],
    );
    tell(&mut world, second, [declined(false)]);
    world
        .apply(resolve(Some(first), verdict(Some(2_500), None)))
        .unwrap();
    assert_eq!(sum(&world), Some(3_200));
}

#[test]
fn a_part_under_another_id_of_an_ended_attempt_is_another_charge() {
    let (mut world, [first, _]) = second_attempt(pending());
    tell(
        &mut world,
        first,
        [reported("P1", amount(1_000)), part_under("P2", 800)],
    );
    assert_eq!(sum(&world), Some(1_800), "{:?}", open_cases(&world));
}

#[test]
fn a_part_under_another_id_of_an_attempt_that_succeeded_has_a_case() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    let attempt = world.current();
    world.answer(reported("P1", amount(2_500))).unwrap();
    world.wait(1);
    tell(&mut world, attempt, [part_under("P2", 2_500)]);
    assert_eq!(sum(&world), Some(5_000));
}

#[test]
fn a_reversal_without_an_id_leaves_the_case_of_an_earlier_charge() {
    let (mut world, [first, second]) = second_attempt(pending());
    tell(
        &mut world,
        first,
        [
            reported("P1", amount(2_500)),
            reported("P2", amount(2_600)),
            declined(false),
        ],
    );
    tell(&mut world, second, [declined(false)]);
    assert_eq!(world.tx.taken_back(), TakenBack::Part);
    let about_first = &world.tx.cases[0];
    assert_eq!(about_first.provider_id.as_deref(), Some("P1"));
    assert!(
        !world.tx.is_superseded(about_first),
        "the latest charge was taken back"
    );
    world
        .apply(resolve(Some(first), verdict(Some(2_500), Some("P3"))))
        .unwrap();
    assert!(
        open_cases(&world).contains(&(CaseReason::MoneyAfterTheEnd, Some(2_500))),
        "{:?} {:?}",
        open_cases(&world),
        sum(&world)
    );
}

#[test]
fn an_old_reversal_does_not_move_to_another_charge_when_its_own_succeeds() {
    let (mut world, [first, second]) = second_attempt(pending());
    tell(
        &mut world,
        first,
        [
            reported("P1", amount(2_500)),
            reported("P2", amount(2_600)),
            declined(false),
        ],
    );
    tell(&mut world, second, [declined(false)]);
    world
        .apply(resolve(Some(first), verdict(Some(2_600), Some("P2"))))
        .unwrap();
    assert_eq!(world.tx.taken_back(), TakenBack::Nothing);
}

#[test]
fn a_repeated_reversal_of_an_earlier_charge_is_silent_after_the_success_of_another() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    let attempt = world.current();
    tell(
        &mut world,
        attempt,
        [
            reported("P1", amount(1_000)),
            reversed("P1"),
            reported("P2", amount(2_500)),
        ],
    );
    assert_eq!(world.tx.status(), Status::Success);
    assert_eq!(world.answer_about(attempt, reversed("P1")), Ok(0));
}

#[test]
fn a_repeated_report_of_money_that_was_taken_back_is_no_second_payment() {
    let (mut world, [first, second]) = second_attempt(pending());
    tell(
        &mut world,
        first,
        [reported("P1", amount(2_500)), reversed("P1")],
    );
    tell(&mut world, second, [reported("P2", amount(2_500))]);
    assert!(!reasons(&world).contains(&CaseReason::PaidTwice));
    tell(&mut world, first, [reported("P1", amount(2_500))]);
    assert!(
        !reasons(&world).contains(&CaseReason::PaidTwice),
        "{:?}",
        open_cases(&world)
    );
}

#[test]
fn money_that_a_person_settled_as_failed_is_silent_when_it_is_reported_once_more() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    let attempt = world.current();
    world.answer(reported("P1", amount(1_000))).unwrap();
    world
        .apply(resolve(None, Verdict::Failed { message: None }))
        .unwrap();
    assert_eq!(open_cases(&world), []);
    world.wait(1);
    assert_eq!(
        world.answer_about(attempt, reported("P1", amount(1_000))),
        Ok(0)
    );
}

#[test]
fn a_success_after_a_reversal_of_the_same_charge_needs_no_attention() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    let attempt = world.current();
    tell(
        &mut world,
        attempt,
        [
            reported("P1", amount(1_000)),
            reversed("P1"),
            reported("P1", amount(2_500)),
        ],
    );
    assert_eq!(world.tx.status(), Status::Success);
    assert_eq!(world.tx.taken_back(), TakenBack::Nothing);
    assert_ne!(world.tx.attention(), Some(CaseReason::SuccessContradicted));
}

#[test]
fn a_second_charge_is_not_taken_for_the_repetition_without_an_id() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    let attempt = world.current();
    tell(
        &mut world,
        attempt,
        [
            reported("P1", amount(2_500)),
            without_id(1_000),
            reported("P2", amount(2_500)),
        ],
    );
    assert_eq!(sum(&world), Some(5_000), "{:?}", open_cases(&world));
}

#[test]
fn a_success_after_its_amount_in_another_currency_has_a_case_about_both() {
    let euros = Amount::from_minor(2_500, Currency::from_code("EUR").unwrap());
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    world.answer(reported("P1", euros)).unwrap();
    assert_eq!(reasons(&world), [CaseReason::AmountDiffers]);
    world.answer(usd("P1", 2_500)).unwrap();
    assert_eq!(world.tx.status(), Status::Success);
    let expected = [CaseReason::AmountDiffers, CaseReason::ContradictingSuccess];
    assert_eq!(reasons(&world), expected);
    assert_eq!(world.tx.cases[1].amount, Some(euros));
    assert!(world.tx.is_received_sum_disputed());
    assert_eq!(world.tx.contradicting_amounts(), [euros]);
    // One charge: the sum is that of the success.
    let received = world.tx.received().unwrap();
    assert_eq!(received.single(), Some(amount(2_500)));
}

#[test]
fn the_amounts_that_contradict_the_received_sum_are_known() {
    let euros = Amount::from_minor(2_000, Currency::from_code("EUR").unwrap());
    let open = |reports: &[Outcome]| {
        let mut world = World::payment_with(3);
        world.apply(confirm(1)).unwrap();
        let attempt = world.current();
        tell(&mut world, attempt, reports.iter().cloned());
        world.tx.contradicting_amounts()
    };
    for (reports, others) in [
        (vec![usd("P1", 1_000)], vec![]),
        // A part grows.
        (vec![part(1_000), part(1_500)], vec![]),
        (
            vec![usd("P1", 1_500), usd("P1", 1_000)],
            vec![amount(1_000)],
        ),
        (
            vec![usd("P1", 2_000), reported("P1", euros)],
            vec![amount(2_000)],
        ),
        // The second charge is a part of the sum.
        (vec![usd("P1", 2_500), usd("P2", 2_500)], vec![]),
        (
            vec![usd("P1", 2_500), usd("P1", 2_000)],
            vec![amount(2_000)],
        ),
        (
            vec![usd("P1", 2_500), usd("P2", 2_000), usd("P1", 1_000)],
            vec![],
        ),
    ] {
        assert_eq!(open(&reports), others, "{reports:?}");
    }
}

#[test]
fn reports_of_two_currencies_that_are_repeated_in_turn_are_news_once() {
    let euros = Amount::from_minor(2_000, Currency::from_code("EUR").unwrap());
    for is_late in [false, true] {
        let (mut world, first) = match is_late {
            true => {
                let (world, [first, _]) = second_attempt(declined(false));
                (world, first)
            }
            false => {
                let mut world = World::payment_with(3);
                world.apply(confirm(1)).unwrap();
                let first = world.current();
                (world, first)
            }
        };
        tell(&mut world, first, [usd("P1", 2_000), reported("P1", euros)]);
        let cases = world.tx.cases.clone();
        for _ in 0..4 {
            tell(&mut world, first, [usd("P1", 2_000), reported("P1", euros)]);
        }
        assert_eq!(world.tx.cases, cases, "late: {is_late}");
        assert_eq!(world.tx.contradicting_amounts(), [amount(2_000)]);
    }
}

#[test]
fn a_failure_by_a_person_asks_to_return_no_disputed_sum() {
    let (mut world, [first, _]) = second_attempt(declined(false));
    tell(&mut world, first, [usd("P1", 2_000), usd("P1", 1_500)]);
    assert_eq!(world.tx.contradicting_amounts(), [amount(1_500)]);
    world.apply(resolve_failed()).unwrap();
    let said = failure_message(&world);
    assert_eq!(said, "It was recorded as failed after a review.");
    assert_eq!(world.tx.contradicting_amounts(), []);
}

/// The larger report may be delivered once more: a person decides, whichever comes last.
#[test]
fn a_repetition_of_either_report_ends_no_dispute() {
    let (mut world, [first, _]) = second_attempt(pending());
    tell(&mut world, first, [usd("X1", 2_500), usd("X1", 1_000)]);
    let (version, cases) = (world.tx.version, world.tx.cases.clone());
    tell(&mut world, first, [usd("X1", 2_500), usd("X1", 1_000)]);
    assert_eq!((world.tx.version, &world.tx.cases), (version, &cases));
    world.answer(declined(false)).unwrap();
    assert_eq!(world.tx.state, State::OnHold);
    let charge = &world.tx.attempt(first).unwrap().charges[0];
    assert_eq!(charge.contradicting, [amount(1_000)]);
    let decided = verdict(Some(2_500), Some("X1"));
    world.apply(resolve(Some(first), decided)).unwrap();
    assert_eq!(world.tx.state, State::Succeeded);
}
