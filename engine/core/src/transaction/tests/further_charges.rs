//! Money under several ids of one attempt, and reports without an id: no charge is forgotten, and
//! no case names less than it.

use super::fixtures::*;
use crate::ids::AttemptId;
use crate::transaction::*;

fn declined_under(id: &str, retryable: bool) -> Outcome {
    match declined(retryable) {
        Outcome::Declined(decline) => Outcome::Declined(Decline {
            provider_id: Some(id.to_owned()),
            ..decline
        }),
        other => other,
    }
}

fn begun(route: Route) -> (World, AttemptId) {
    let mut world = World::payment_with(3);
    world.apply(confirm_at(route)).unwrap();
    let attempt = world.current();
    (world, attempt)
}

fn answers(world: &mut World, outcomes: impl IntoIterator<Item = Outcome>) {
    for outcome in outcomes {
        world.answer(outcome).unwrap();
        world.wait(1);
    }
}

#[test]
fn a_payment_with_a_charge_does_not_surely_have_moved_no_money() {
    let (mut world, _) = begun(route(1));
    let reports = [
        part_under("P2", 500),
        part_under("P1", 0),
        declined_under("P1", false),
    ];
    answers(&mut world, reports);
    assert!(world.tx.received().is_some());
    assert!(!world.tx.surely_moved_no_money());
}

#[test]
fn no_other_gateway_is_asked_while_a_charge_stands() {
    let (mut world, attempt) = begun(route(2));
    let reports = [
        part_under("P2", 2_500),
        part_under("P1", 0),
        declined_under("P1", true),
    ];
    answers(&mut world, reports);
    let stands = world.tx.attempts[0]
        .charges
        .iter()
        .any(|charge| !charge.is_taken_back);
    assert!(stands);
    assert_eq!(world.current(), attempt, "{:?}", world.tx.state);
}

#[test]
fn a_report_in_full_that_is_no_success_yet_under_another_id_survives_a_pending_without_money() {
    let (mut world, attempt) = begun(ending(route(1), 30));
    answers(&mut world, [part_under("P2", 2_500), part_under("P1", 0)]);
    world.wait(600);
    answers(&mut world, [part_under("P1", 0)]);
    assert_eq!(
        world.tx.attempt(attempt).unwrap().state,
        AttemptState::Pending
    );
}

#[test]
fn a_part_under_another_id_is_part_of_the_success_or_has_a_case() {
    let (mut world, _) = begun(route(1));
    answers(&mut world, [part_under("P2", 1_000), usd("P1", 2_500)]);
    assert_eq!(world.tx.status(), Status::Success);
    let received = world.tx.received().unwrap().single().unwrap();
    assert!(
        received == amount(2_500) || !world.tx.cases.is_empty(),
        "{received}"
    );
}

#[test]
fn a_refund_case_is_not_lowered_by_an_older_part() {
    let (mut world, [first, _]) = second_attempt(usd("S", 2_500));
    tell(&mut world, first, [without_id(2_500)]);
    let sum = |world: &World| world.tx.cases[0].amount;
    assert_eq!(world.tx.cases[0].reason, CaseReason::PaidTwice);
    assert_eq!(sum(&world), Some(amount(2_500)));
    tell(&mut world, first, [part_under("P2", 1_000)]);
    assert_eq!(world.tx.attempts[0].charges[0].amount, Some(amount(2_500)));
    assert_eq!(sum(&world), Some(amount(2_500)));
}

#[test]
fn a_case_that_holds_is_not_lowered_by_an_older_part() {
    let (mut world, [first, _]) = second_attempt(declined(false));
    tell(
        &mut world,
        first,
        [without_id(2_000), part_under("P2", 1_000)],
    );
    assert_eq!(world.tx.attempts[0].charges[0].amount, Some(amount(2_000)));
    assert_eq!(
        open_cases(&world),
        [(CaseReason::AmountDiffers, Some(2_000))]
    );
}

#[test]
fn a_second_charge_in_full_after_a_success_without_an_id_has_a_case() {
    let (mut world, attempt) = begun(route(1));
    answers(
        &mut world,
        [
            unknown(),
            usd("P1", 1_000),
            usd("P2", 700),
            without_id(2_500),
        ],
    );
    assert_eq!(world.tx.status(), Status::Success);
    tell(&mut world, attempt, [usd("P1", 2_500)]);
    assert_eq!(
        world.tx.received().unwrap().single().unwrap(),
        amount(5_000)
    );
    let cases = open_cases(&world);
    let is_told = cases.iter().any(|case| case.1 == Some(2_500));
    assert!(is_told, "{cases:?}");
}

#[test]
fn a_success_without_an_id_does_not_revive_a_charge_that_was_taken_back() {
    let (mut world, _) = begun(route(1));
    let reports = [
        usd("P1", 1_000),
        reversed("P1"),
        usd("P2", 700),
        reversed("P2"),
    ];
    answers(&mut world, [unknown()].into_iter().chain(reports));
    answers(&mut world, [without_id(2_500)]);
    assert_eq!(world.tx.status(), Status::Success);
    let charges = &world.tx.attempts[0].charges;
    assert!(
        charges[0].is_taken_back && charges[1].is_taken_back,
        "{charges:?}"
    );
}

#[test]
fn money_under_a_further_id_has_a_case_also_when_it_is_less_than_the_last_report() {
    let (mut world, _) = begun(ending(route(1), 30));
    answers(&mut world, [pending(), usd("P1", 700), usd("P2", 1_000)]);
    world.wait(600);
    answers(&mut world, [part_under("P3", 900)]);
    assert_eq!(
        world.tx.received().unwrap().single().unwrap(),
        amount(2_600)
    );
    let sums: Vec<_> = open_cases(&world).iter().map(|case| case.1).collect();
    assert!(sums.contains(&Some(900)), "{sums:?}");
}

#[test]
fn a_part_after_the_success_of_another_attempt_is_to_be_refunded() {
    let (mut world, [first, second]) = second_attempt(part_under("S", 1_000));
    tell(&mut world, first, [usd("P1", 2_500)]);
    world
        .apply(resolve(Some(second), Verdict::Failed { message: None }))
        .unwrap();
    assert_eq!(world.tx.status(), Status::Success);
    let last = world.tx.cases.last().unwrap();
    assert_eq!(
        (last.reason, last.amount),
        (CaseReason::PaidTwice, Some(amount(1_000)))
    );
}

#[test]
fn a_settlement_by_hand_under_another_id_leaves_no_charge_without_a_case() {
    let (mut world, _) = begun(route(1));
    answers(&mut world, [part_under("P1", 1_000)]);
    world
        .apply(resolve(None, verdict(Some(2_500), Some("P9"))))
        .unwrap();
    let received = world.tx.received().unwrap().single().unwrap();
    assert!(
        received == amount(2_500) || !world.tx.cases.is_empty(),
        "{received}"
    );
}

#[test]
fn money_after_a_reversal_has_a_case_also_under_another_id() {
    let (mut world, _) = begun(route(1));
    answers(
        &mut world,
        [usd("P2", 1_000), reversed("P2"), part_under("P1", 1_000)],
    );
    let stands = world.tx.attempts[0]
        .charges
        .iter()
        .filter(|charge| !charge.is_taken_back);
    assert_eq!(stands.count(), 1);
    let about: Vec<_> = world
        .tx
        .cases
        .iter()
        .map(|case| case.provider_id.as_deref())
        .collect();
    assert!(about.contains(&Some("P1")), "{about:?}");
}
