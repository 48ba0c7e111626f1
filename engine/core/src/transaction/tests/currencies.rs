//! Attempts in another currency than the order: amounts are compared with the attempt, never with
//! the order.

use std::collections::BTreeMap;

use super::fixtures::*;
use crate::money::{Amount, Currency, Rate};
use crate::transaction::*;

fn francs(minor: i64) -> Amount {
    Amount::from_minor(minor, Currency::from_code("XOF").unwrap())
}

/// A confirmation of 25.00 USD at a method in francs.
fn confirm_in_francs(candidates: u128) -> Command {
    let Command::Confirm(mut confirm) = confirm(candidates) else {
        unreachable!();
    };
    confirm.price = Price {
        amount: francs(15_000),
        conversion: Some(Conversion {
            rate: Rate::parse("600").unwrap(),
            correction: None,
            way: vec![
                Currency::from_code("USD").unwrap(),
                Currency::from_code("XOF").unwrap(),
            ],
            as_of: None,
        }),
    };
    confirm.fields = BTreeMap::from([("account_number".to_owned(), "007".to_owned())]);
    Command::Confirm(confirm)
}

#[test]
fn an_amount_that_a_provider_cannot_name_is_that_of_the_attempt_in_its_currency() {
    let mut world = World::payment_with(3);
    world.apply(confirm_in_francs(1)).unwrap();
    world.answer(succeeded()).unwrap();
    assert_eq!(world.tx.status(), Status::Success);
    assert_eq!(world.tx.attempts[0].captured, Some(francs(15_000)));
    assert!(world.tx.cases.is_empty());
}

#[test]
fn a_surplus_is_more_than_the_attempt_asked_in_its_currency() {
    for (minor, cases) in [
        (15_000, vec![]),
        (15_001, vec![CaseReason::Surplus]),
        (14_999, vec![CaseReason::AmountDiffers]),
        (2_501, vec![CaseReason::AmountDiffers]),
    ] {
        let mut world = World::payment_with(3);
        world.apply(confirm_in_francs(1)).unwrap();
        world.answer(reported("P1", francs(minor))).unwrap();
        assert_eq!(reasons(&world), cases, "{minor}");
    }
}

#[test]
fn as_many_units_of_another_currency_pay_nothing() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(reported("P1", francs(2_500))).unwrap();
    assert_eq!(world.tx.state, State::InDoubt);
    assert_eq!(reasons(&world), [CaseReason::AmountDiffers]);
}

#[test]
fn money_in_the_currency_of_an_earlier_attempt_settles_the_payment() {
    let mut world = World::payment_with(3);
    world.apply(confirm_in_francs(1)).unwrap();
    let first = world.current();
    world.answer(declined(false)).unwrap();
    world.apply(confirm_in_francs(1)).unwrap();
    world
        .answer_about(first, reported("P1", francs(15_000)))
        .unwrap();
    world.answer(declined(false)).unwrap();
    assert_eq!(world.tx.status(), Status::Success);
}

#[test]
fn the_next_connection_gets_all_that_the_payer_gave() {
    let mut world = World::payment_with(3);
    world.apply(confirm_in_francs(2)).unwrap();
    world.answer(not_sent()).unwrap();
    let [first, second] = &world.tx.attempts[..] else {
        panic!();
    };
    let given = |attempt: &Attempt| {
        (
            attempt.method.clone(),
            attempt.country.clone(),
            attempt.phone.clone(),
            attempt.fields.clone(),
            attempt.amount,
            attempt.conversion.clone(),
        )
    };
    assert_eq!(given(second), given(first));
    assert!(second.phone.is_some() && !second.fields.is_empty() && second.conversion.is_some());
}

#[test]
fn as_many_units_of_another_currency_are_another_charge() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(succeeded_with(2_500)).unwrap();
    world.answer(reported("P1", francs(2_500))).unwrap();
    assert_eq!(reasons(&world), [CaseReason::ContradictingSuccess]);
}

#[test]
fn a_report_of_as_many_units_of_another_currency_is_no_repetition() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(reported("P1", francs(700))).unwrap();
    world.answer(reported("P1", amount(700))).unwrap();
    assert_eq!(world.tx.cases[0].amount, Some(amount(700)));
}
