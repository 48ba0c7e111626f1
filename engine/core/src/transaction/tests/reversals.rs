//! Money that a provider reports, takes back and reports again: the latest report counts.

use super::fixtures::*;
use crate::ids::AttemptId;
use crate::money::{Amount, Currency};
use crate::transaction::*;

/// A payment on hold with two declined attempts. For the first, 10 dollars were reported and then
/// taken back.
fn first_attempt_reversed() -> (World, [AttemptId; 2]) {
    let mut world = World::payment_with(3);
    let attempts = [(), ()].map(|()| {
        world.apply(confirm(1)).unwrap();
        let attempt = world.current();
        world.answer(declined(false)).unwrap();
        attempt
    });
    for report in [succeeded_with(1_000), declined(false)] {
        world.wait(1);
        world.answer_about(attempts[0], report).unwrap();
    }
    assert_eq!(world.tx.state, State::OnHold);
    assert_eq!(world.tx.taken_back(), TakenBack::All);
    world.wait(1);
    (world, attempts)
}

fn settle(world: &mut World, attempt: AttemptId) {
    let by_hand = verdict(Some(2_500), Some("P1"));
    world.apply(resolve(Some(attempt), by_hand)).unwrap();
    assert_eq!(world.tx.status(), Status::Success);
}

#[test]
fn money_after_a_reversal_is_paid_twice_when_another_attempt_succeeds() {
    let (mut world, [first, second]) = first_attempt_reversed();
    world.answer_about(first, succeeded_with(2_500)).unwrap();
    assert_eq!(world.tx.state, State::OnHold, "a person decides");
    assert_eq!(world.tx.taken_back(), TakenBack::Nothing);
    settle(&mut world, second);
    let twice = world.tx.cases.last().unwrap();
    assert_eq!(twice.reason, CaseReason::PaidTwice);
    assert_eq!(twice.amount, Some(amount(2_500)));
    assert_eq!(twice.reference, world.tx.attempt(first).unwrap().reference);
    assert!(twice.closed.is_none());
    assert_eq!(world.tx.received().unwrap().amounts, [amount(5_000)]);
    assert_eq!(world.tx.taken_back(), TakenBack::Nothing);
}

#[test]
fn a_reversal_of_the_second_charge_is_a_case_and_ends_the_request_for_its_return() {
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    let first = world.current();
    world.answer(declined(false)).unwrap();
    world.apply(confirm(1)).unwrap();
    world.answer(succeeded_with(2_500)).unwrap();
    world.wait(1);
    world.answer_about(first, declined(false)).unwrap();
    assert_eq!(
        reasons(&world),
        [],
        "it was declined, and no money was reported"
    );
    world.answer_about(first, succeeded_with(2_500)).unwrap();
    assert_eq!(reasons(&world), [CaseReason::PaidTwice]);
    assert!(!world.tx.is_superseded(&world.tx.cases[0]));
    for _ in 0..2 {
        world.wait(1);
        world.answer_about(first, declined(false)).unwrap();
        let both = [CaseReason::PaidTwice, CaseReason::SuccessContradicted];
        assert_eq!(reasons(&world), both);
    }
    assert_eq!(world.tx.status(), Status::Success);
    assert_eq!(world.tx.taken_back(), TakenBack::Part);
    assert!(world.tx.is_superseded(&world.tx.cases[0]));
    assert!(!world.tx.is_superseded(&world.tx.cases[1]));
}

#[test]
fn money_that_stays_taken_back_is_not_paid_twice() {
    let (mut world, [_, second]) = first_attempt_reversed();
    settle(&mut world, second);
    assert!(!reasons(&world).contains(&CaseReason::PaidTwice));
    assert_eq!(world.tx.taken_back(), TakenBack::Part);
}

#[test]
fn the_reason_of_a_failure_by_hand_follows_the_latest_report() {
    let failed = || resolve(None, Verdict::Failed { message: None });
    let message = |world: &World| match &world.tx.state {
        State::Failed(failure) => failure.message.clone(),
        state => panic!("{state:?}"),
    };
    let (mut world, _) = first_attempt_reversed();
    world.apply(failed()).unwrap();
    assert!(message(&world).contains("took back"), "{}", message(&world));

    let (mut world, [first, _]) = first_attempt_reversed();
    world.answer_about(first, succeeded_with(2_500)).unwrap();
    world.apply(failed()).unwrap();
    assert!(
        message(&world).contains("is to be returned"),
        "{}",
        message(&world)
    );
}

#[test]
fn each_change_between_money_and_reversal_is_a_case_and_a_repetition_is_none() {
    use CaseReason::{AmountDiffers, SuccessContradicted};
    let (mut world, [first, _]) = first_attempt_reversed();
    let mut expected = vec![AmountDiffers, SuccessContradicted];
    for (report, opened, taken_back) in [
        // The notification of before, once more: it proves no new money.
        (succeeded_with(1_000), None, TakenBack::All),
        (
            succeeded_with(1_200),
            Some(AmountDiffers),
            TakenBack::Nothing,
        ),
        (succeeded_with(1_200), None, TakenBack::Nothing),
        (declined(false), Some(SuccessContradicted), TakenBack::All),
        (declined(false), None, TakenBack::All),
    ] {
        world.wait(1);
        world.answer_about(first, report.clone()).unwrap();
        expected.extend(opened);
        assert_eq!(reasons(&world), expected, "{report:?}");
        assert_eq!(world.tx.taken_back(), taken_back, "{report:?}");
    }
    assert_eq!(world.tx.received().unwrap().amounts, [amount(1_200)]);
}

#[test]
fn a_success_by_hand_after_a_reversal_is_not_taken_back_until_the_next_one() {
    let (mut world, [first, _]) = first_attempt_reversed();
    settle(&mut world, first);
    assert_eq!(world.tx.taken_back(), TakenBack::Nothing);
    world.wait(1);
    world.answer_about(first, declined(false)).unwrap();
    assert_eq!(world.tx.taken_back(), TakenBack::All);
    assert_eq!(world.tx.attention(), Some(CaseReason::SuccessContradicted));
}

#[test]
fn a_reversal_of_another_attempt_says_nothing_about_this_one() {
    let (mut world, [first, second]) = first_attempt_reversed();
    for minor in [1_000, 1_200] {
        world.wait(1);
        world.answer_about(second, succeeded_with(minor)).unwrap();
        // The reversal of the first attempt comes once more, after the money of the second.
        world.answer_about(first, declined(false)).unwrap();
    }
    let second = world.tx.attempt(second).unwrap().reference;
    let about = world
        .tx
        .cases
        .iter()
        .filter(|case| case.reference == second);
    let amounts: Vec<_> = about.map(|case| (case.reason, case.amount)).collect();
    assert_eq!(amounts, [(CaseReason::AmountDiffers, Some(amount(1_200)))]);
    let reversals = reasons(&world);
    let reversals = reversals
        .iter()
        .filter(|reason| **reason == CaseReason::SuccessContradicted);
    assert_eq!(reversals.count(), 1);
}

/// How many cases and events there are after each of eight rounds of the same reports, in
/// `is_closing` with each case closed.
fn rounds(mut world: World, reports: &[Outcome], is_closing: bool) -> Vec<(usize, usize)> {
    let attempt = world.current();
    let mut round = || {
        for report in reports.iter().cloned() {
            tell(&mut world, attempt, [report]);
            let open = world.tx.cases.iter().filter(|case| case.closed.is_none());
            let open: Vec<_> = open.filter(|_| is_closing).map(|case| case.id).collect();
            for case in open {
                let close = by_operator(OperatorCommand::CloseCase(case));
                world.apply(close).unwrap();
            }
        }
        (world.tx.cases.len(), world.events.len())
    };
    (0..8).map(|_| round()).collect()
}

fn payment_after(reports: impl IntoIterator<Item = Outcome>) -> World {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    let attempt = world.current();
    tell(&mut world, attempt, reports);
    world
}

#[test]
fn rounds_of_reversals_and_other_amounts_of_a_charge_end() {
    let unrecorded = || payment_after([declined(false)]);
    let total = || {
        let mut world = payment_after([usd("P1", 1_600), usd("P2", 900)]);
        world
            .apply(resolve(None, verdict(Some(2_500), None)))
            .unwrap();
        world
    };
    let payout = || {
        let mut world = World::payout();
        world.apply(Command::Dispatch(route(1))).unwrap();
        world
    };
    let paid = || payment_after([usd("P1", 2_500)]);
    let back = || reversed("P1");
    for (place, (world, reports, is_closing)) in [
        (
            paid(),
            [back(), usd("P1", 2_600), usd("P1", 2_500), back()],
            false,
        ),
        (
            paid(),
            [back(), usd("P1", 2_600), back(), usd("P1", 2_500)],
            true,
        ),
        (
            paid(),
            [back(), usd("P1", 1_000), usd("P1", 2_500), back()],
            false,
        ),
        (
            payout(),
            [usd("P1", 2_500), back(), usd("P1", 2_600), back()],
            false,
        ),
        (
            unrecorded(),
            [usd("P1", 2_500), back(), usd("P1", 2_600), back()],
            false,
        ),
        (
            payment_after([]),
            [part(500), back(), part(700), back()],
            false,
        ),
        (
            payment_after([]),
            [usd("P1", 900), back(), usd("P1", 700), back()],
            false,
        ),
        (
            total(),
            [back(), usd("P1", 2_000), usd("P1", 1_600), usd("P2", 900)],
            false,
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let rounds = rounds(world, &reports, is_closing);
        let is_over = |(a, b): (&(usize, usize), &(usize, usize))| match is_closing {
            true => a.0 == b.0,
            false => a == b,
        };
        let mut last = rounds[5..].iter().zip(&rounds[6..]);
        assert!(last.all(is_over), "{place}: {rounds:?}");
    }
}

#[test]
fn a_sum_that_came_after_others_were_taken_back_has_a_case() {
    let reports = [
        part(1_600),
        part(2_000),
        reversed("P1"),
        usd("P1", 900),
        usd("P1", 2_000),
    ];
    let world = payment_after(reports);
    assert!(open_cases(&world).contains(&(CaseReason::AmountDiffers, Some(2_000))));
}

/// Coins that were seen and went, then another sum: when they come for good, they are money.
#[test]
fn a_part_that_another_sum_replaced_is_money_when_it_is_finished() {
    let mut world = payment_after([usd("P2", 2_500)]);
    let attempt = world.current();
    let later = [part(1_000), reversed("P1"), usd("P1", 900)];
    tell(&mut world, attempt, later);
    let before = world.tx.cases.len();
    tell(&mut world, attempt, [usd("P1", 1_000)]);
    let charge = &world.tx.attempts[0].charges[1];
    assert_eq!(charge.amount, Some(amount(1_000)));
    assert!(!charge.is_taken_back);
    assert!(
        world.tx.cases.len() > before
            || open_cases(&world).iter().any(|case| case.1 == Some(1_000))
    );
    let reports = [
        part(1_000),
        reversed("P1"),
        usd("P1", 900),
        usd("P1", 1_000),
    ];
    let rounds = rounds(world, &reports, false);
    assert_eq!(rounds[5], rounds[7], "{rounds:?}");
}

#[test]
fn the_captured_amount_that_another_one_replaced_is_no_money_again() {
    let mut world = payment_after([usd("P1", 2_500)]);
    let attempt = world.current();
    let later = [
        reversed("P1"),
        usd("P1", 2_600),
        reversed("P1"),
        usd("P1", 2_500),
    ];
    tell(&mut world, attempt, later);
    assert_eq!(world.tx.taken_back(), TakenBack::All);
    assert_eq!(world.tx.kept(), None);
}

#[test]
fn a_repeated_reversal_without_an_id_takes_no_further_charge_back_and_has_one_case() {
    for reports in [
        [usd("P1", 2_500), usd("P2", 2_500)],
        [part_under("P1", 1_600), part_under("P2", 700)],
    ] {
        let mut world = payment_after(reports);
        let attempt = world.current();
        tell(&mut world, attempt, [declined(false)]);
        let once = world.tx.taken_back();
        tell(&mut world, attempt, [declined(false)]);
        let events = world.events.len();
        tell(&mut world, attempt, [declined(false)]);
        assert_eq!(world.tx.taken_back(), once);
        assert_eq!(world.events.len(), events);
        let is_unclear = |case: &&Case| case.reason == CaseReason::SuccessContradicted;
        let cases = world.tx.cases.iter().filter(is_unclear);
        let ids: Vec<_> = cases.map(|case| case.provider_id.as_deref()).collect();
        assert_eq!(ids, [Some("P2"), None]);
    }
}

#[test]
fn reversals_under_unknown_ids_whose_cases_are_closed_open_no_case_again() {
    let world = payment_after([usd("P2", 2_500)]);
    let rounds = rounds(world, &[reversed("P1"), reversed("P3")], true);
    assert_eq!((rounds[0].0, rounds[7].0), (2, 2));
}

#[test]
fn rounds_of_a_part_and_another_currency_end() {
    let euros = Amount::from_minor(2_500, Currency::from_code("EUR").unwrap());
    let reports = [part(2_000), reported("P1", euros)];
    let rounds = rounds(payment_after([]), &reports, false);
    assert_eq!(rounds[2], rounds[7]);
}
