//! Cases about each charge that stands, with its sum and its id.

use super::fixtures::*;
use crate::money::Amount;
use crate::transaction::*;

fn world_after(reports: impl IntoIterator<Item = Outcome>) -> World {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    for report in reports {
        world.answer_about(world.tx.attempts[0].id, report).unwrap();
        world.wait(1);
    }
    world
}

/// Sums under `id` in cases that no later report contradicts.
fn noted(world: &World, id: &str) -> Vec<Option<i64>> {
    let cases = world.tx.cases.iter();
    let about = cases.filter(|case| case.provider_id.as_deref() == Some(id));
    let valid = about.filter(|case| !world.tx.is_superseded(case));
    valid.map(|case| case.amount.map(Amount::minor)).collect()
}

#[test]
fn a_part_after_the_reversal_of_its_charge_has_a_case_beside_the_success() {
    let world = world_after([
        part_under("P2", 1_500),
        reversed("P1"),
        part_under("P1", 1_000),
        usd("P2", 2_500),
    ]);
    assert_eq!(world.tx.state, State::Succeeded);
    let received = world.tx.received().unwrap();
    assert_eq!(received.single().unwrap(), amount(3_500));
    assert_eq!(noted(&world, "P1"), [Some(1_000)]);
}

#[test]
fn the_part_that_stands_has_a_case_at_the_end() {
    let mut world = World::payment();
    world.apply(confirm_at(ending(route(1), 60))).unwrap();
    for report in [
        part_under("P1", 1_000),
        part_under("P2", 1_500),
        reversed("P2"),
    ] {
        world.answer(report).unwrap();
        world.wait(1);
    }
    world.wait(3_600);
    world.answer(pending_with(None)).unwrap();
    assert_eq!(noted(&world, "P1"), [Some(1_000)]);
}

#[test]
fn money_that_a_pending_answer_names_keeps_its_case_beside_other_money() {
    for naming in [usd("P9", 1_500), part_under("P9", 1_500)] {
        let world = world_after([without_id(1_000), naming, usd("P10", 800)]);
        assert_eq!(noted(&world, "P9"), [Some(1_500)]);
        assert_eq!(noted(&world, "P10"), [Some(800)]);
    }
}

#[test]
fn the_latest_sum_of_a_charge_is_in_a_case_beside_the_success() {
    let world = world_after([usd("P1", 1_000), part_under("P1", 1_500), usd("P2", 2_500)]);
    assert_eq!(world.tx.state, State::Succeeded);
    assert_eq!(
        world.tx.received().unwrap().single().unwrap(),
        amount(4_000)
    );
    assert_eq!(noted(&world, "P1").last(), Some(&Some(1_500)));
}

#[test]
fn a_late_part_without_an_id_is_in_a_case_about_the_charge_that_it_counts_for() {
    let mut late = pending_with(None);
    if let Outcome::Pending { received, .. } = &mut late {
        *received = Some(amount(1_500));
    }
    let world = world_after([reversed("P1"), usd("P1", 1_000), usd("P2", 1_500), late]);
    assert_eq!(
        world.tx.received().unwrap().single().unwrap(),
        amount(3_000)
    );
    let sums: i64 = open_cases(&world).iter().filter_map(|(_, sum)| *sum).sum();
    assert_eq!(sums, 3_000, "{:#?}", world.tx.cases);
}

#[test]
fn the_case_about_money_without_an_id_that_a_success_names_takes_no_other_charge_in() {
    let nameless = |minor| match part(minor) {
        Outcome::Pending {
            received,
            payer_action,
            ..
        } => Outcome::Pending {
            provider_id: None,
            payer_action,
            poll_after: None,
            provider_status: None,
            received,
        },
        other => other,
    };
    let world = world_after([
        nameless(2_600),
        usd("P2", 2_500),
        usd("P1", 900),
        without_id(2_000),
    ]);
    assert_eq!(noted(&world, "P1"), [Some(900)]);
    assert_eq!(noted(&world, "P2"), [Some(2_600)]);
}

#[test]
fn money_again_beside_a_success_without_an_id_has_a_case() {
    let world = world_after([
        usd("P1", 900),
        usd("P3", 700),
        reversed("P1"),
        reversed("P3"),
        without_id(2_500),
        usd("P1", 2_500),
    ]);
    assert_eq!(world.tx.state, State::Succeeded);
    assert!(noted(&world, "P1").contains(&Some(2_500)));
}

#[test]
fn an_entry_after_a_persons_failure_leaves_each_other_charge_in_an_open_case() {
    let (mut world, [first, second]) = second_attempt(usd("S1", 500));
    tell(&mut world, first, [usd("P1", 700)]);
    let failed = Verdict::Failed { message: None };
    world.apply(resolve(Some(second), failed)).unwrap();
    assert_eq!(world.tx.state, State::OnHold);
    let entered = verdict(Some(2_600), Some("S3"));
    world.apply(resolve(Some(second), entered)).unwrap();
    let sums: Vec<_> = open_cases(&world).iter().map(|case| case.1).collect();
    assert!(sums.contains(&Some(500)), "{sums:?}");
}
