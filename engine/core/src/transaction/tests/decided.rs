//! A person has decided about the money of an attempt: the total that they name contains its
//! charges, and reports that they knew of are no news.

use super::fixtures::*;
use crate::ids::AttemptId;
use crate::money::{Amount, Currency};
use crate::transaction::*;

fn sum(world: &World) -> Option<i64> {
    Some(world.tx.received()?.single()?.minor())
}

/// A payment on hold: 16.00 and 9.00 came for its declined attempt, under two ids.
fn two_parts() -> (World, AttemptId) {
    let (mut world, [first, second]) = second_attempt(pending());
    let parts = [
        reported("P1", amount(1_600)),
        reported("P2", amount(900)),
        reported("P2", amount(800)),
    ];
    tell(&mut world, first, parts);
    tell(&mut world, second, [declined(false)]);
    assert_eq!(world.tx.state, State::OnHold);
    (world, first)
}

fn succeed(world: &mut World, attempt: AttemptId, minor: i64, id: Option<&str>) {
    let order = resolve(Some(attempt), verdict(Some(minor), id));
    world.apply(order).unwrap();
    world.wait(1);
}

#[test]
fn an_amount_without_an_id_is_the_total_of_the_charges() {
    let (mut world, attempt) = two_parts();
    succeed(&mut world, attempt, 2_500, None);
    assert_eq!(sum(&world), Some(2_500));
    assert_eq!(world.tx.attempts[0].captured, Some(amount(2_500)));
    assert!(!world.tx.is_received_sum_disputed());
    assert_eq!(open_cases(&world), []);
}

#[test]
fn a_total_above_the_amount_that_was_asked_names_all_of_the_surplus() {
    let (mut world, attempt) = two_parts();
    tell(&mut world, attempt, [reported("P3", amount(1_000))]);
    succeed(&mut world, attempt, 3_500, None);
    assert_eq!(sum(&world), Some(3_500));
    assert_eq!(open_cases(&world), [(CaseReason::Surplus, Some(3_500))]);
}

#[test]
fn another_amount_than_the_total_needs_an_id() {
    for minor in [2_499, 2_501, 2_600] {
        let (mut world, attempt) = two_parts();
        let order = resolve(Some(attempt), verdict(Some(minor), None));
        let refused = world.apply(order).unwrap_err();
        assert_eq!(refused, Refusal::ProviderIdNeeded, "{minor}");
    }
}

#[test]
fn an_amount_under_an_id_is_that_of_one_charge() {
    for (id, beside) in [("P1", 900), ("P9", 2_500)] {
        let (mut world, attempt) = two_parts();
        succeed(&mut world, attempt, 2_500, Some(id));
        assert_eq!(sum(&world), Some(2_500 + beside), "{id}");
        assert!(!open_cases(&world).is_empty(), "{id}");
    }
}

#[test]
fn reports_that_a_person_knew_of_are_no_news() {
    for id in [None, Some("P1"), Some("P9")] {
        let (mut world, attempt) = two_parts();
        succeed(&mut world, attempt, 2_500, id);
        let before = world.tx.clone();
        for (id, minor) in [("P1", 1_600), ("P2", 900), ("P2", 800)] {
            tell(&mut world, attempt, [reported(id, amount(minor))]);
            assert_eq!(world.tx, before, "{id} {minor}");
        }
        for (id, minor) in [("P1", 700), ("P2", 850), ("P3", 1_000)] {
            let cases = world.tx.cases.clone();
            tell(&mut world, attempt, [reported(id, amount(minor))]);
            assert_ne!(world.tx.cases, cases, "{id} {minor}");
        }
    }
}

#[test]
fn a_known_report_that_is_delivered_again_after_a_reversal_brings_no_money() {
    for (entered, reversal, minor, kept) in [
        (None, "P2", 900, Some(1_600)),
        (None, "P2", 800, Some(1_600)),
        (None, "P1", 1_600, Some(900)),
        (Some("P1"), "P1", 1_600, Some(900)),
    ] {
        let (mut world, attempt) = two_parts();
        succeed(&mut world, attempt, 2_500, entered);
        tell(&mut world, attempt, [reversed(reversal)]);
        let before = world.tx.clone();
        tell(&mut world, attempt, [reported(reversal, amount(minor))]);
        assert_eq!(world.tx, before, "{entered:?} {reversal} {minor}");
        let left = world.tx.kept().and_then(|kept| kept.single());
        assert_eq!(
            left.map(|left| left.minor()),
            kept,
            "{entered:?} {reversal}"
        );
        assert!(!world.tx.success_stands(), "{entered:?} {reversal}");
    }
}

#[test]
fn every_contradicting_amount_is_named_until_a_person_decides() {
    let (mut world, [first, second]) = second_attempt(pending());
    for minor in [1_000, 900, 800, 900] {
        tell(&mut world, first, [reported("P1", amount(minor))]);
    }
    tell(&mut world, second, [declined(false)]);
    let others = [amount(900), amount(800)];
    assert_eq!(world.tx.contradicting_amounts(), others);
    assert_eq!(sum(&world), Some(1_000));
    succeed(&mut world, first, 2_500, None);
    assert_eq!(world.tx.contradicting_amounts(), []);
    let before = world.tx.clone();
    for minor in [1_000, 900, 800] {
        tell(&mut world, first, [reported("P1", amount(minor))]);
    }
    assert_eq!(world.tx, before);
}

#[test]
fn a_charge_keeps_a_limited_number_of_contradicting_amounts() {
    let (mut world, [first, _]) = second_attempt(pending());
    for minor in 1_001..1_100 {
        tell(&mut world, first, [reported("P1", amount(2_000 - minor))]);
    }
    let known = &world.tx.attempts[0].charges[0].contradicting;
    assert_eq!(known.len(), crate::limits::CONTRADICTING_AMOUNTS);
    let before = world.tx.clone();
    for minor in [910, 905, 1_000 - 99 + 9] {
        tell(&mut world, first, [reported("P1", amount(minor))]);
    }
    assert_eq!(world.tx.cases, before.cases, "none floods the timeline");
}

#[test]
fn another_currency_beside_all_contradicting_amounts_changes_nothing() {
    let euros = |minor| Amount::from_minor(minor, Currency::from_code("EUR").unwrap());
    for is_part in [false, true] {
        let mut world = World::payment_with(3);
        world.apply(confirm(1)).unwrap();
        let first = world.current();
        for minor in 1_001..1_020 {
            tell(&mut world, first, [reported("P1", amount(2_000 - minor))]);
        }
        let before = world.tx.clone();
        for minor in [500, 700, 500] {
            let mut report = part(minor);
            match &mut report {
                Outcome::Pending { received, .. } if is_part => *received = Some(euros(minor)),
                _ => report = reported("P1", euros(minor)),
            }
            tell(&mut world, first, [report]);
        }
        assert_eq!(world.tx.cases, before.cases, "part: {is_part}");
        assert_eq!(world.tx.attempts[0].charges, before.attempts[0].charges);
    }
}

#[test]
fn zero_in_a_callback_takes_no_part_off_and_zero_in_a_query_does() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    let attempt = world.current();
    world.answer(part(1_000)).unwrap();
    let zero = |asked_at| Command::Answer {
        attempt,
        outcome: part(0),
        gateway_state: None,
        asked_at,
    };
    world.apply(zero(None)).unwrap();
    assert_eq!(sum(&world), Some(1_000));
    world.wait(1);
    let now = world.now;
    world.apply(zero(Some(now))).unwrap();
    assert_eq!(world.tx.received(), None);
}

#[test]
fn money_under_an_id_of_several_attempts_was_sent_to_the_provider() {
    let (mut world, [first, _]) = second_attempt(unknown());
    let told = |attempt| Command::AmbiguousId {
        attempt,
        provider_id: "P1".to_owned(),
        reported: Some(Captured::AsAsked),
    };
    let second = world.current();
    for attempt in [first, second] {
        world.apply(told(attempt)).unwrap();
    }
    let unsent = || resolve(Some(second), Verdict::NeverSent);
    assert_eq!(world.apply(unsent()).unwrap_err(), Refusal::ProviderHasIt);
    let failed = Verdict::Failed { message: None };
    world.apply(resolve(Some(second), failed)).unwrap();
    assert!(!world.tx.surely_moved_no_money());
}
