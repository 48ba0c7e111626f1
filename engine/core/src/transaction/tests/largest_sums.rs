//! The largest sum that a provider reported for a charge stays, whatever older reports come later.

use proptest::prelude::*;

use super::fixtures::*;
use crate::ids::AttemptId;
use crate::money::{Amount, Currency};
use crate::transaction::*;

/// A report of `minor` under the id number `id`.
#[derive(Clone, Copy, Debug)]
struct Told {
    id: usize,
    minor: i64,
    is_part: bool,
}

const IDS: [&str; 2] = ["P1", "P2"];

fn told(most: i64) -> impl Strategy<Value = Told> {
    let told = |(id, minor, is_part)| Told { id, minor, is_part };
    (0..IDS.len(), 1..most, any::<bool>()).prop_map(told)
}

impl Told {
    fn outcome(self) -> Outcome {
        match self.is_part {
            true => part_under(IDS[self.id], self.minor),
            false => usd(IDS[self.id], self.minor),
        }
    }
}

/// The largest reported sum of each id, in smallest units; zero without a report.
fn largest(reports: &[Told]) -> [i64; 2] {
    [0, 1].map(|id| {
        let of_id = reports.iter().filter(|told| told.id == id);
        of_id.map(|told| told.minor).max().unwrap_or(0)
    })
}

fn assert_none_is_lowered(mut world: World, attempt: AttemptId, reports: &[Told]) -> World {
    for (at, told) in reports.iter().enumerate() {
        world.answer_about(attempt, told.outcome()).unwrap();
        let known: i64 = largest(&reports[..=at]).iter().sum();
        let received = world.tx.received().unwrap().single();
        assert_eq!(received, Some(amount(known)), "after {reports:?}[..={at}]");
    }
    world
}

proptest! {
    #[test]
    fn no_report_lowers_the_sum_of_an_open_attempt(
        reports in proptest::collection::vec(told(2_500), 1..8),
    ) {
        let mut world = World::payment_with(3);
        world.apply(confirm(1)).unwrap();
        let attempt = world.current();
        assert_none_is_lowered(world, attempt, &reports);
    }

    #[test]
    fn no_report_lowers_the_sum_of_an_ended_attempt_or_of_its_cases(
        reports in proptest::collection::vec(told(5_000), 1..8),
    ) {
        let (world, [first, _]) = second_attempt(pending());
        let world = assert_none_is_lowered(world, first, &reports);
        for (id, sum) in IDS.iter().zip(largest(&reports)) {
            let cases = world.tx.cases.iter();
            let about = cases.filter(|case| case.provider_id.as_deref() == Some(id));
            let largest = about.filter_map(|case| Some(case.amount?.minor())).max();
            prop_assert_eq!(largest, (sum > 0).then_some(sum));
        }
    }
}

#[test]
fn an_older_report_about_a_pending_attempt_says_nothing_new() {
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    world.answer(part(2_000)).unwrap();
    assert_eq!(world.answer(part(500)), Ok(0));
    let attempt = &world.tx.attempts[0];
    assert_eq!(attempt.part_received(), Some(amount(2_000)));
    assert_eq!(attempt.rest(), Some(amount(500)));
    // Zero takes it back, as the contract with gateways says.
    world.wait(1);
    world.answer(part(0)).unwrap();
    assert_eq!(world.tx.received(), None);
    world.answer(part(500)).unwrap();
    assert_eq!(world.tx.attempts[0].part_received(), Some(amount(500)));
}

#[test]
fn a_final_report_of_less_than_the_part_has_a_case_that_names_both() {
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    world.answer(part(2_000)).unwrap();
    world.answer(succeeded_with(500)).unwrap();
    let [case] = world.tx.cases.as_slice() else {
        panic!("{:?}", world.tx.cases);
    };
    assert_eq!(
        (case.reason, case.amount),
        (CaseReason::AmountDiffers, Some(amount(2_000)))
    );
    assert_eq!(
        case.detail,
        "asked $ 25.00, the provider reports $ 5.00 under its id P1, and reported $ 20.00 before"
    );
}

#[test]
fn a_larger_sum_than_the_recorded_one_stays_in_its_case() {
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    for minor in [2_500, 1_000, 4_000, 3_000, 1_000] {
        world.answer(usd("P1", minor)).unwrap();
    }
    let [case] = world.tx.cases.as_slice() else {
        panic!("{:?}", world.tx.cases);
    };
    let larger = (CaseReason::ContradictingSuccess, Some(amount(4_000)));
    assert_eq!((case.reason, case.amount), larger);
    assert_eq!(world.tx.attempts[0].captured, Some(amount(2_500)));
}

#[test]
fn a_sum_that_no_finished_report_confirms_settles_nothing() {
    for reports in [
        vec![part(2_500)],
        vec![succeeded_with(3_000), succeeded_with(1_000)],
        vec![part(3_000), succeeded_with(1_000)],
        vec![succeeded_with(1_000), part(3_000)],
    ] {
        let (mut world, [first, second]) = second_attempt(pending());
        for report in &reports {
            world.answer_about(first, report.clone()).unwrap();
        }
        world.answer_about(second, declined(false)).unwrap();
        assert_eq!(world.tx.state, State::OnHold, "{reports:?}");
    }
}

#[test]
fn a_case_about_a_sum_takes_in_the_sum_that_a_pending_attempt_names_later() {
    let francs = Amount::from_minor(5_000, Currency::from_code("XOF").unwrap());
    let table = [
        (
            "more",
            usd("P1", 1_000),
            part_under("P1", 2_000),
            amount(2_000),
        ),
        (
            "less",
            usd("P1", 1_000),
            part_under("P1", 500),
            amount(1_000),
        ),
        (
            "all",
            usd("P1", 1_000),
            part_under("P1", 2_500),
            amount(2_500),
        ),
        (
            "USD",
            reported("P1", francs),
            part_under("P1", 1_000),
            amount(1_000),
        ),
    ];
    for (what, first, later, sum) in table {
        let mut world = World::payment_with(3);
        world.apply(confirm(1)).unwrap();
        world.answer(first).unwrap();
        world.answer(later).unwrap();
        let [case] = world.tx.cases.as_slice() else {
            panic!("{:?}", world.tx.cases);
        };
        let named = (case.reason, case.amount);
        assert_eq!(named, (CaseReason::AmountDiffers, Some(sum)), "{what}");
        assert_eq!(world.tx.received().unwrap().amounts, [sum], "{what}");
    }
}

#[test]
fn a_pending_answer_without_a_sum_amends_no_case() {
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    world.answer(part(1_000)).unwrap();
    let unreadable = Outcome::Succeeded {
        provider_id: Some("P2".to_owned()),
        amount: Captured::Unreadable,
        fees: None,
        provider_status: None,
    };
    world.answer(unreadable).unwrap();
    let cases = world.tx.cases.clone();
    world.answer(pending_with(None)).unwrap();
    assert_eq!(world.tx.cases, cases);
}

#[test]
fn reports_that_contradict_each_other_say_neither_less_nor_more() {
    let francs = Amount::from_minor(5_000, Currency::from_code("XOF").unwrap());
    for (reports, difference) in [
        (
            vec![part(2_500), succeeded_with(2_000)],
            Difference::Contradicting,
        ),
        (
            vec![reported("P1", francs), succeeded_with(1_000)],
            Difference::Contradicting,
        ),
        (vec![reported("P1", francs)], Difference::Currency),
        (vec![succeeded_with(1_000)], Difference::Less),
    ] {
        let mut world = World::payment_with(3);
        world.apply(confirm(1)).unwrap();
        for report in &reports {
            world.answer(report.clone()).unwrap();
        }
        let case = world.tx.cases.first().unwrap();
        assert_eq!(
            Difference::of(&world.tx, case),
            Some(difference),
            "{reports:?}"
        );
        let is_disputed = difference == Difference::Contradicting;
        assert_eq!(world.tx.is_received_sum_disputed(), is_disputed);
    }
}
