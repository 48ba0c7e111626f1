//! Several charges of an attempt that a person recorded with one total, or with one amount, and
//! later reports about each of them.

use super::fixtures::*;
use crate::ids::AttemptId;
use crate::money::{Amount, Currency};
use crate::transaction::*;

/// An open attempt with reports.
fn begun(reports: impl IntoIterator<Item = Outcome>) -> (World, AttemptId) {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    let attempt = world.current();
    tell(&mut world, attempt, reports);
    (world, attempt)
}

/// An attempt with charges of 16.00 and 9.00, of which a person recorded the total.
fn with_total() -> (World, AttemptId) {
    let (mut world, attempt) = begun([usd("P1", 1_600), usd("P2", 900)]);
    enter(&mut world, attempt, 2_500, None).unwrap();
    (world, attempt)
}

fn enter(
    world: &mut World,
    attempt: AttemptId,
    minor: i64,
    id: Option<&str>,
) -> Result<usize, Refusal> {
    let done = world.apply(resolve(Some(attempt), verdict(Some(minor), id)));
    world.wait(1);
    done
}

fn sum(world: &World) -> Option<i64> {
    Some(world.tx.received()?.single()?.minor())
}

fn has_case_of(world: &World, minor: i64) -> bool {
    let mut cases = world.tx.cases.iter();
    cases.any(|case| case.amount == Some(amount(minor)))
}

#[test]
fn a_larger_sum_of_one_charge_of_a_total_has_a_case() {
    for (id, minor) in [("P1", 2_000), ("P2", 1_000), ("P2", 2_500)] {
        let (mut world, attempt) = with_total();
        tell(&mut world, attempt, [part_under(id, minor)]);
        assert!(has_case_of(&world, minor), "{id} {minor}");
    }
    let (mut world, attempt) = with_total();
    tell(
        &mut world,
        attempt,
        [part_under("P1", 1_500), usd("P2", 900)],
    );
    assert_eq!(
        world
            .tx
            .cases
            .iter()
            .filter(|case| case.closed.is_none())
            .count(),
        0
    );
}

#[test]
fn a_part_without_an_id_beside_a_total_is_compared_with_the_total() {
    for (minor, has_case) in [(2_500, false), (1_600, false), (2_600, true)] {
        let (mut world, attempt) = with_total();
        let mut report = part(minor);
        if let Outcome::Pending { provider_id, .. } = &mut report {
            *provider_id = None;
        }
        tell(&mut world, attempt, [report]);
        assert_eq!(!open_cases(&world).is_empty(), has_case, "{minor}");
    }
}

#[test]
fn money_again_after_the_reversal_of_one_charge_of_a_total_has_a_case_and_a_mail() {
    let (mut world, attempt) = with_total();
    tell(&mut world, attempt, [reversed("P2")]);
    let before = world.actions.len();
    tell(&mut world, attempt, [part_under("P2", 1_000)]);
    assert_eq!(sum(&world), Some(2_600));
    assert!(has_case_of(&world, 1_000), "{:?}", open_cases(&world));
    assert!(world.actions.len() > before, "the merchant gets a mail");
}

#[test]
fn an_amount_without_an_id_beside_a_reversed_charge_needs_the_id() {
    let needed = Err(Refusal::ProviderIdNeeded);
    let (mut world, attempt) = begun([usd("P1", 1_600), usd("P2", 900), reversed("P2")]);
    assert_eq!(enter(&mut world, attempt, 2_500, None), needed);
    let (mut world, [first, _]) = second_attempt(declined(false));
    let reports = [usd("P1", 900), part_under("P2", 2_600), reversed("P2")];
    tell(&mut world, first, reports);
    assert_eq!(enter(&mut world, first, 2_600, None), needed);
    assert!(enter(&mut world, first, 2_600, Some("P2")).is_ok());
    let charges = &world.tx.attempts[0].charges;
    assert!(
        charges[1].is_recorded && !charges[0].is_recorded,
        "{charges:?}"
    );
}

#[test]
fn a_finished_charge_is_taken_off_by_no_zero() {
    let euros = Amount::from_minor(400, Currency::from_code("EUR").unwrap());
    let mut in_euros = part(0);
    if let Outcome::Pending { received, .. } = &mut in_euros {
        *received = Some(euros);
    }
    let (mut world, _) = begun([part(500), in_euros, usd("P1", 500)]);
    world.wait(1);
    world.answer(part(0)).unwrap();
    assert!(world.tx.received().is_some());
}

#[test]
fn a_larger_sum_beside_as_many_contradicting_ones_as_are_kept_is_in_the_case() {
    let (mut world, attempt) = begun((0..11).map(|less| usd("P1", 1_000 - less)));
    tell(&mut world, attempt, [usd("P1", 2_000)]);
    assert_eq!(sum(&world), Some(2_000));
    assert!(has_case_of(&world, 2_000), "{:?}", open_cases(&world));
}

#[test]
fn a_report_without_an_id_takes_no_charge_with_an_id_into_its_case() {
    let reports = [
        part_under("P3", 700),
        usd("P2", 2_500),
        without_id(2_000),
        usd("P1", 800),
    ];
    let (mut world, attempt) = begun(reports);
    assert!(has_case_of(&world, 800), "{:#?}", world.tx.cases);
    tell(&mut world, attempt, [usd("P2", 900)]);
    assert!(has_case_of(&world, 800), "{:#?}", world.tx.cases);
}

#[test]
fn an_entry_leaves_no_other_charge_without_an_open_case() {
    let reports = [part_under("P1", 900), usd("P3", 2_000), without_id(900)];
    let (mut world, attempt) = begun(reports);
    enter(&mut world, attempt, 2_600, Some("P2")).unwrap();
    let open = open_cases(&world);
    assert!(open.iter().any(|case| case.1 == Some(900)), "{open:?}");
}

#[test]
fn after_the_end_of_an_attempt_each_part_keeps_the_amount_of_its_own_id() {
    let mut world = World::payment();
    world.apply(confirm_at(ending(route(1), 60))).unwrap();
    let attempt = world.current();
    tell(
        &mut world,
        attempt,
        [part_under("P1", 500), part_under("P2", 600)],
    );
    world.wait(3_600);
    for _ in 0..3 {
        world.wait(60);
        for report in [part_under("P1", 500), part_under("P2", 600), pending()] {
            world.answer(report).unwrap();
        }
    }
    for minor in [500, 600] {
        let mut open = open_cases(&world).into_iter();
        assert!(open.any(|case| case.1 == Some(minor)), "{minor}");
    }
}

#[test]
fn an_amount_without_an_id_beside_reversed_charges_only_is_of_the_charge_that_has_it() {
    let reversed_ones = || {
        let (mut world, [first, _]) = second_attempt(declined(false));
        let reports = [
            part_under("P1", 2_600),
            usd("P2", 900),
            reversed("P1"),
            reversed("P2"),
        ];
        tell(&mut world, first, reports);
        (world, first)
    };
    let (mut world, first) = reversed_ones();
    let needed = Err(Refusal::ProviderIdNeeded);
    assert_eq!(enter(&mut world, first, 2_500, None), needed);
    let (mut world, first) = reversed_ones();
    enter(&mut world, first, 2_600, None).unwrap();
    let charges = &world.tx.attempts[0].charges;
    let recorded: Vec<_> = charges.iter().map(|charge| charge.is_recorded).collect();
    assert_eq!(recorded, [true, false]);
}

#[test]
fn a_part_without_an_id_beside_a_total_brings_no_reversed_charge_back() {
    let (mut world, attempt) = with_total();
    let mut nameless = part(1_600);
    if let Outcome::Pending { provider_id, .. } = &mut nameless {
        *provider_id = None;
    }
    tell(&mut world, attempt, [reversed("P2"), nameless]);
    assert!(world.tx.attempts[0].charges[1].is_taken_back);
    assert_eq!(world.tx.taken_back(), TakenBack::Part);
}
