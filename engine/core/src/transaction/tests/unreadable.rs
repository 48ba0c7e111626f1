//! Amounts that cannot be read beside those that can, larger sums beside a success, and money that
//! providers took back.

use super::fixtures::*;
use crate::money::Amount;
use crate::transaction::*;

fn success(amount: Captured) -> Outcome {
    Outcome::Succeeded {
        provider_id: Some("P1".to_owned()),
        amount,
        fees: None,
        provider_status: None,
    }
}

/// What is known about the money: the sums in words, and the single sum in minor units.
fn known(world: &World) -> (String, Option<i64>) {
    let Some(received) = world.tx.received() else {
        return (String::new(), None);
    };
    let single = received.single().map(Amount::minor);
    (received.text("?", Amount::format), single)
}

#[test]
fn an_unreadable_amount_stays_beside_the_sum_that_can_be_read() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(part(1_000)).unwrap();
    assert_eq!(known(&world), ("$ 10.00".to_owned(), Some(1_000)));
    // The same charge: its last amount that could be read is not all that is known.
    world.answer(success(Captured::Unreadable)).unwrap();
    assert_eq!(known(&world), ("$ 10.00 ?".to_owned(), None));
    assert!(!world.tx.received().unwrap().is_part());
    assert_eq!(reasons(&world), [CaseReason::AmountDiffers]);
    // An older sum of the attempt says nothing about it.
    world.answer(part(1_200)).unwrap();
    assert_eq!(known(&world), ("$ 12.00 ?".to_owned(), None));
    world
        .answer(success(Captured::Named(amount(2_500))))
        .unwrap();
    assert_eq!(known(&world), ("$ 25.00".to_owned(), Some(2_500)));
    assert!(!world.tx.has_unreadable_money());
}

#[test]
fn an_unreadable_amount_of_another_charge_is_not_left_out_of_the_sum() {
    let (mut world, [first, second]) = second_attempt(reported("P2", amount(1_000)));
    tell(&mut world, first, [success(Captured::Unreadable)]);
    assert_eq!(known(&world), ("$ 10.00 ?".to_owned(), None));
    tell(&mut world, first, [reversed("P1")]);
    // The money that was taken back is a part of the reported sum.
    assert_eq!(world.tx.taken_back(), TakenBack::Part);
    assert_eq!(known(&world), ("$ 10.00 ?".to_owned(), None));
    assert_eq!(world.tx.kept().unwrap().single(), Some(amount(1_000)));
    tell(&mut world, second, [reversed("P2")]);
    assert_eq!(world.tx.taken_back(), TakenBack::All);
}

#[test]
fn a_part_after_an_unreadable_amount_does_not_replace_it() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(success(Captured::Unreadable)).unwrap();
    world.answer(part(300)).unwrap();
    assert_eq!(known(&world), ("$ 3.00 ?".to_owned(), None));
}

#[test]
fn an_unreadable_amount_after_a_finished_charge_proves_no_other_money() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    for minor in [1_000, 2_500] {
        let reported = Captured::Named(amount(minor));
        world.answer(success(reported)).unwrap();
        let cases = world.tx.cases.clone();
        world.answer(success(Captured::Unreadable)).unwrap();
        assert_eq!(world.tx.cases, cases);
        assert_eq!(known(&world).1, Some(minor));
    }
}

#[test]
fn a_sum_that_comes_back_after_a_reversal_is_clear_again() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    let attempt = world.current();
    world.answer(part(1_000)).unwrap();
    world.answer(success(Captured::Unreadable)).unwrap();
    tell(&mut world, attempt, [reversed("P1")]);
    tell(&mut world, attempt, [reported("P1", amount(1_200))]);
    assert_eq!(known(&world), ("$ 12.00".to_owned(), Some(1_200)));
}

#[test]
fn money_of_a_payout_that_was_taken_back_still_stops_a_second_one() {
    let mut world = World::payout();
    world.apply(Command::Dispatch(route(1))).unwrap();
    let attempt = world.current();
    world.answer(declined(false)).unwrap();
    tell(
        &mut world,
        attempt,
        [reported("P1", amount(2_500)), reversed("P1")],
    );
    assert_eq!(world.tx.status(), Status::Failed);
    let kept = world.tx.kept().unwrap().single();
    assert_eq!(kept, Some(amount(2_500)));
}

#[test]
fn the_payers_fee_is_no_larger_sum() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.tx.attempts[0].payer_fee = Some(amount(100));
    world.answer(part(2_600)).unwrap();
    world
        .answer(success(Captured::Named(amount(2_500))))
        .unwrap();
    assert_eq!(open_cases(&world), []);
}

#[test]
fn money_that_was_taken_back_is_not_kept() {
    let kept = |world: &World| Some(world.tx.kept()?.single()?.minor());
    let (mut world, [first, second]) = second_attempt(reported("P2", amount(2_500)));
    assert_eq!(kept(&world), Some(2_500));
    tell(&mut world, first, [reported("P1", amount(2_500))]);
    assert_eq!(kept(&world), Some(5_000));
    tell(&mut world, first, [reversed("P1")]);
    assert_eq!(kept(&world), Some(2_500));
    tell(&mut world, second, [reversed("P2")]);
    assert_eq!(kept(&world), None);
    // A person who closes each case says that the success stands, and not the second charge.
    let open = world.tx.cases.iter().filter(|case| case.closed.is_none());
    let cases: Vec<_> = open.map(|case| case.id).collect();
    for case in cases {
        world
            .apply(by_operator(OperatorCommand::CloseCase(case)))
            .unwrap();
    }
    assert_eq!(kept(&world), Some(2_500));
}

#[test]
fn a_larger_sum_before_or_after_a_success_opens_a_case() {
    let captured = Captured::Named(amount(2_500));
    let mut before = World::payment();
    before.apply(confirm(1)).unwrap();
    before.answer(part(3_000)).unwrap();
    before.answer(success(captured)).unwrap();
    let mut after = World::payment();
    after.apply(confirm(1)).unwrap();
    after.answer(success(captured)).unwrap();
    for _ in 0..2 {
        after.answer(part(3_000)).unwrap();
    }
    for world in [&before, &after] {
        assert_eq!(world.tx.status(), Status::Success);
        let case = (CaseReason::ContradictingSuccess, Some(3_000));
        assert_eq!(open_cases(world), [case]);
        assert_eq!(known(world).1, Some(2_500));
    }
}

#[test]
fn a_case_about_a_late_part_names_the_unreadable_amount_that_followed() {
    for (mut world, begin) in [
        (World::payment_with(3), confirm(1)),
        (World::payout(), Command::Dispatch(route(1))),
    ] {
        let kind = world.tx.kind();
        world.apply(begin).unwrap();
        let attempt = world.current();
        tell(&mut world, attempt, [declined(false), part(1_000)]);
        let cases = world.tx.cases.len();
        assert_eq!(cases, 1, "{kind:?}");
        tell(&mut world, attempt, [success(Captured::Unreadable)]);
        let [case] = world.tx.cases.as_slice() else {
            panic!("{kind:?}: {:?}", world.tx.cases);
        };
        assert_eq!(case.amount, Some(amount(1_000)), "{kind:?}");
        let words = "reports an amount that cannot be read";
        assert!(case.detail.contains(words), "{}", case.detail);
        let before = "and reported $ 10.00 before";
        assert!(case.detail.contains(before), "{}", case.detail);
        assert_eq!(known(&world), ("$ 10.00 ?".to_owned(), None));
        // The same report once more is no news; one that can be read is.
        let version = world.tx.version;
        tell(&mut world, attempt, [success(Captured::Unreadable)]);
        assert_eq!(world.tx.version, version, "{kind:?}");
        tell(&mut world, attempt, [usd("P1", 1_000)]);
        let case = &world.tx.cases[0];
        assert!(!case.detail.contains("cannot be read"), "{}", case.detail);
        assert_eq!(known(&world), ("$ 10.00".to_owned(), Some(1_000)));
    }
}

#[test]
fn a_failure_by_a_person_asks_to_return_no_amount_that_cannot_be_read() {
    for (reports, is_returned) in [
        (vec![success(Captured::Unreadable)], false),
        (vec![part(1_000), success(Captured::Unreadable)], true),
    ] {
        let (mut world, [first, _]) = second_attempt(declined(false));
        tell(&mut world, first, reports);
        world.apply(resolve_failed()).unwrap();
        let message = failure_message(&world);
        assert_eq!(
            message.contains("is to be returned"),
            is_returned,
            "{message}"
        );
    }
}
