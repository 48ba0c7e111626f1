//! The provider's fee that a payer adds to a bank transfer.

use super::fixtures::*;
use crate::money::Amount;
use crate::transaction::*;

fn told_to_transfer(fee: Option<Amount>) -> World {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(instructions(fee)).unwrap();
    world
}

fn instructions(fee: Option<Amount>) -> Outcome {
    let sum = fee.and_then(|fee| amount(2_500).checked_add(fee));
    Outcome::Pending {
        provider_id: Some("P1".to_owned()),
        payer_action: Some(PayerAction::Transfer {
            bank: "Wema Bank".to_owned(),
            account: "7821004519".to_owned(),
            name: "Acme".to_owned(),
            amount: sum.unwrap_or(amount(2_500)),
            fee,
            reference: "R1".to_owned(),
            expires: None,
        }),
        poll_after: None,
        provider_status: None,
        received: None,
    }
}

#[test]
fn a_captured_amount_up_to_the_transfer_with_its_fee_is_no_surplus() {
    for (fee, captured, has_surplus) in [
        (None, 2_500, false),
        (None, 2_501, true),
        (Some(amount(100)), 2_500, false),
        (Some(amount(100)), 2_550, false),
        (Some(amount(100)), 2_600, false),
        (Some(amount(100)), 2_601, true),
    ] {
        let mut world = told_to_transfer(fee);
        world.answer(reported("P1", amount(captured))).unwrap();
        assert_eq!(world.tx.status(), Status::Success);
        let is_open = reasons(&world) == [CaseReason::Surplus];
        assert_eq!(is_open, has_surplus, "{fee:?} {captured}");
    }
}

#[test]
fn the_payer_paid_the_fee_on_top_of_a_captured_amount_that_does_not_contain_it() {
    for (fee, captured, debited) in [
        (None, 2_500, 2_500),
        (Some(amount(100)), 2_500, 2_600),
        (Some(amount(100)), 2_600, 2_600),
        (Some(amount(100)), 2_601, 2_601),
    ] {
        let mut world = told_to_transfer(fee);
        assert_eq!(world.tx.attempts[0].debited(), None);
        world.answer(reported("P1", amount(captured))).unwrap();
        let paid = world.tx.attempts[0].debited();
        assert_eq!(paid, Some(amount(debited)), "{fee:?} {captured}");
    }
}

#[test]
fn a_fee_is_known_after_later_instructions_without_a_transfer() {
    let mut world = told_to_transfer(Some(amount(100)));
    let mut done = instructions(None);
    if let Outcome::Pending { payer_action, .. } = &mut done {
        *payer_action = Some(PayerAction::Wait);
    }
    world.answer(done).unwrap();
    assert_eq!(world.tx.attempts[0].payer_fee, Some(amount(100)));
    assert_eq!(world.tx.attempts[0].with_payer_fee(), Some(amount(2_600)));
}
