//! A provider id of several attempts: money may have moved for each of them, so nothing starts and
//! nothing says that no money moved, until a person has decided.

use super::fixtures::*;
use super::late_money::submissions;
use crate::ids::AttemptId;
use crate::transaction::*;

fn ambiguous(attempt: AttemptId, id: &str) -> Command {
    Command::AmbiguousId {
        attempt,
        provider_id: id.to_owned(),
        reported: None,
    }
}

/// On hold, with nothing known to have moved.
fn is_in_question(world: &World) {
    assert_eq!(world.tx.state, State::OnHold);
    assert_eq!(world.tx.attention(), Some(CaseReason::AmbiguousProviderId));
    assert!(!world.tx.surely_moved_no_money());
    assert_eq!(world.tx.received(), None);
}

#[test]
fn an_id_of_a_declined_attempt_holds_the_payment_that_waits_for_its_payer() {
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    let first = world.current();
    world.answer(declined(false)).unwrap();
    assert_eq!(world.tx.state, State::AwaitingCustomer);
    world.apply(ambiguous(first, "P1")).unwrap();
    is_in_question(&world);
    let submitted = submissions(&world);
    assert!(world.apply(confirm(1)).is_err());
    assert_eq!(submissions(&world), submitted);
    // The provider's answer by our reference settles it.
    world
        .answer_about(first, reported("P1", amount(2_500)))
        .unwrap();
    assert_eq!(world.tx.status(), Status::Success);
}

#[test]
fn a_decline_of_an_attempt_whose_id_is_shared_fails_no_transaction() {
    for (mut world, begin) in [
        (World::payment_with(3), confirm(1)),
        (World::payout(), Command::Dispatch(route(2))),
    ] {
        world.apply(begin).unwrap();
        world.answer(unknown()).unwrap();
        let attempt = world.current();
        world.apply(ambiguous(attempt, "P1")).unwrap();
        let submitted = submissions(&world);
        world.answer(declined(true)).unwrap();
        is_in_question(&world);
        assert_eq!(submissions(&world), submitted, "nothing follows it");
        // A person who looked decides.
        let failed = resolve(Some(attempt), Verdict::Failed { message: None });
        world.apply(failed).unwrap();
        assert_eq!(world.tx.status(), Status::Failed);
        assert_eq!(open_cases(&world), []);
    }
}

#[test]
fn a_closed_case_about_a_shared_id_holds_nothing() {
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    world.answer(unknown()).unwrap();
    let attempt = world.current();
    world.apply(ambiguous(attempt, "P1")).unwrap();
    world
        .apply(resolve(Some(attempt), Verdict::NeverSent))
        .unwrap();
    assert_eq!(open_cases(&world), []);
    assert!(!world.tx.is_held());
    assert!(world.tx.surely_moved_no_money());
}

#[test]
fn a_case_about_the_id_of_an_earlier_attempt_holds_after_the_later_one() {
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    let first = world.current();
    world.answer(declined(false)).unwrap();
    world.apply(confirm(1)).unwrap();
    world.answer(pending()).unwrap();
    world.apply(ambiguous(first, "P1")).unwrap();
    world.answer(declined(false)).unwrap();
    is_in_question(&world);
}

#[test]
fn money_with_our_reference_settles_a_payment_beside_a_shared_id() {
    for is_shared_first in [true, false] {
        let (mut world, [first, second]) = second_attempt(unknown());
        let share = |world: &mut World| {
            for attempt in [first, second] {
                world.apply(ambiguous(attempt, "P1")).unwrap();
            }
        };
        if is_shared_first {
            share(&mut world);
        }
        let paid = reported("P1", amount(2_500));
        world.answer_about(first, paid).unwrap();
        if !is_shared_first {
            share(&mut world);
        }
        world.answer(declined(false)).unwrap();
        assert_eq!(world.tx.status(), Status::Success);
        assert!(reasons(&world).contains(&CaseReason::AmbiguousProviderId));
        assert!(!reasons(&world).contains(&CaseReason::PaidTwice));
    }
}

#[test]
fn an_order_without_an_attempt_is_about_the_money_that_is_known() {
    let (mut world, [first, second]) = second_attempt(declined(false));
    world
        .answer_about(first, reported("P1", amount(1_000)))
        .unwrap();
    world.apply(ambiguous(second, "P2")).unwrap();
    let held = world.tx.held_attempt().unwrap();
    assert_eq!(held.id, first);
    world
        .apply(resolve(Some(first), verdict(Some(2_500), None)))
        .unwrap();
    let second = world.tx.attempt(second).unwrap();
    assert_eq!(second.settled, None, "its case stays open");
}

#[test]
fn every_id_that_a_provider_or_a_case_names_is_one_of_the_attempt() {
    let (mut world, [first, second]) = second_attempt(reported("P2", amount(1_000)));
    tell(&mut world, second, [reported("P3", amount(500))]);
    world.apply(ambiguous(second, "P9")).unwrap();
    let attempt = world.tx.attempt(second).unwrap();
    let mut ids = world.tx.ids_of(attempt);
    ids.sort_unstable();
    assert_eq!(ids, ["P2", "P3", "P9"]);
    assert!(attempt.has_id("P3") && !attempt.has_id("P9"));
    let first = world.tx.attempt(first).unwrap();
    assert_eq!(world.tx.ids_of(first), Vec::<&str>::new());
}

/// After a person has closed the case, the same report says nothing new, and another sum does.
#[test]
fn a_closed_case_about_a_shared_id_silences_no_other_sum() {
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    let first = world.current();
    world.answer(declined(false)).unwrap();
    let report = |world: &mut World, reported: Option<Captured>| {
        let command = Command::AmbiguousId {
            attempt: first,
            provider_id: "P1".to_owned(),
            reported,
        };
        world.apply(command).unwrap();
        open_cases(world).len()
    };
    let close = |world: &mut World| {
        let case = world.tx.cases.last().unwrap().id;
        let command = match world.tx.state.is_final() {
            true => by_operator(OperatorCommand::CloseCase(case)),
            false => resolve(Some(first), Verdict::Failed { message: None }),
        };
        world.apply(command).unwrap();
        assert_eq!(open_cases(world), []);
    };
    let sum = |minor| Some(Captured::Named(amount(minor)));
    assert_eq!(report(&mut world, sum(2_500)), 1);
    assert_eq!(report(&mut world, sum(3_000)), 1, "one case is open");
    assert_eq!(world.tx.cases[0].amount, Some(amount(3_000)));
    close(&mut world);
    for known in [sum(3_000), None] {
        assert_eq!(report(&mut world, known), 0, "{known:?}");
    }
    for news in [sum(3_500), sum(1_000)] {
        assert_eq!(report(&mut world, news), 1, "{news:?}");
        assert!(!world.tx.surely_moved_no_money(), "{news:?}");
        close(&mut world);
        assert_eq!(report(&mut world, news), 0, "{news:?}");
    }
}
