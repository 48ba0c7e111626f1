//! Ends of a transaction after a restore, and money at the end of an attempt.

use super::fixtures::*;
use crate::transaction::*;

/// A payment with an attempt at a provider, of a store that was restored: connection 1 is unasked.
fn restored(attempts_allowed: u8) -> World {
    let mut world = World::payment_with(attempts_allowed);
    world.apply(confirm_at(can_cancel(1))).unwrap();
    world.answer(pending()).unwrap();
    world
}

/// The other connection denies its attempt.
fn deny(world: &mut World) {
    assert!(current_attempt(world).presumed);
    assert_eq!(world.tx.state, State::InDoubt);
    world.permit = Permit::default();
    world.answer(not_sent()).unwrap();
}

#[test]
fn a_payment_that_was_declined_after_its_time_fails_once_the_other_connections_deny_it() {
    let mut world = restored(3);
    world.wait(1_801);
    world.permit = ask_first([1]);
    world.answer(declined(false)).unwrap();
    deny(&mut world);
    assert_eq!(world.tx.status(), Status::Failed);
    assert_eq!(failure_message(&world), "Not enough money");
}

#[test]
fn a_payment_whose_last_attempt_was_declined_fails_once_the_other_connections_deny_it() {
    for by_operator in [false, true] {
        let mut world = restored(1);
        world.permit = ask_first([1]);
        match by_operator {
            false => world.answer(declined(false)).unwrap(),
            true => world.apply(resolve_failed()).unwrap(),
        };
        deny(&mut world);
        assert_eq!(world.tx.status(), Status::Failed);
    }
}

#[test]
fn a_payment_that_another_connection_took_succeeds_after_the_decline_of_the_first() {
    let mut world = restored(1);
    world.wait(1_801);
    world.permit = ask_first([1]);
    world.answer(declined(false)).unwrap();
    world.answer(usd("P2", 2_500)).unwrap();
    assert_eq!(world.tx.status(), Status::Success);
}

#[test]
fn an_attempt_that_was_given_up_before_the_end_of_the_payment_has_the_others_asked() {
    let mut world = restored(3);
    world.wait(200);
    world.apply(Command::GiveUp).unwrap();
    world.wait(1_700);
    world.permit = ask_first([1]);
    world.answer(declined(false)).unwrap();
    deny(&mut world);
    assert_eq!(world.tx.status(), Status::Failed, "its time is over");
}

#[test]
fn an_ordered_cancel_is_carried_out_after_the_questions_of_a_restore() {
    let mut world = restored(3);
    world.apply(by_operator(OperatorCommand::Cancel)).unwrap();
    world.wait(1);
    world.permit = ask_first([1]);
    world.answer(declined(false)).unwrap();
    deny(&mut world);
    assert_eq!(world.tx.status(), Status::Cancelled);
}

/// The provider has not confirmed the person's statement, so the payer is not invited to pay again.
#[test]
fn a_payment_that_a_person_calls_failed_is_not_offered_again_after_a_restore() {
    for (name, reports) in [
        ("in doubt", vec![]),
        ("pending", vec![pending()]),
        ("of a called-off attempt", vec![unknown()]),
    ] {
        let mut world = restored(3);
        if name.starts_with("of a called-off") {
            world.wait(200);
            world.apply(Command::GiveUp).unwrap();
        }
        world.permit = ask_first([1]);
        world.answer(declined(false)).unwrap();
        assert!(current_attempt(&world).presumed, "{name}");
        world.permit = Permit::default();
        for report in reports {
            world.answer(report).unwrap();
        }
        world.apply(resolve_failed()).unwrap();
        assert_eq!(world.tx.status(), Status::Failed, "{name}");
    }
}

#[test]
fn a_payment_that_a_person_called_failed_fails_once_the_other_connections_deny_it() {
    let mut world = restored(3);
    world.permit = ask_first([1]);
    world.apply(resolve_failed()).unwrap();
    deny(&mut world);
    assert_eq!(world.tx.status(), Status::Failed);
}

/// The person states that nothing left the engine: the payment is as payable as before.
#[test]
fn a_presumed_attempt_that_a_person_calls_never_sent_leaves_the_payment_open() {
    let mut world = restored(3);
    world.permit = ask_first([1]);
    world.answer(declined(false)).unwrap();
    world.permit = Permit::default();
    world.apply(resolve(None, Verdict::NeverSent)).unwrap();
    assert_eq!(world.tx.state, State::AwaitingCustomer);
}

#[test]
fn a_payout_that_was_declined_fails_at_once_also_after_a_restore() {
    let mut world = World::payout();
    world.apply(Command::Dispatch(route(1))).unwrap();
    world.answer(unknown()).unwrap();
    world.permit = ask_first([1]);
    world.answer(declined(false)).unwrap();
    assert_eq!(world.tx.status(), Status::Failed);
}

#[test]
fn a_part_that_is_gone_at_the_end_of_an_attempt_opens_no_case() {
    let mut world = World::payment_with(3);
    world.apply(confirm_at(ending(route(1), 600))).unwrap();
    world.answer(part(1_000)).unwrap();
    world.wait(3_600);
    world.answer(part(0)).unwrap();
    assert_eq!(open_cases(&world), []);
    world.wait(60);
    world.answer(part(0)).unwrap();
    assert!(!world.tx.attempts[0].state.is_open(), "it has ended");
}

#[test]
fn a_part_under_an_earlier_id_at_the_end_of_an_attempt_opens_a_case() {
    let mut world = World::payment_with(3);
    world.apply(confirm_at(ending(route(1), 600))).unwrap();
    world.answer(part_under("P1", 1_000)).unwrap();
    world.wait(3_600);
    world.answer(part_under("P2", 0)).unwrap();
    assert_eq!(
        open_cases(&world),
        [(CaseReason::AmountDiffers, Some(1_000))]
    );
}

#[test]
fn all_of_the_money_at_the_end_of_an_attempt_waits_for_its_confirmation() {
    let mut world = World::payment_with(3);
    world.apply(confirm_at(ending(route(1), 600))).unwrap();
    world.answer(part(2_500)).unwrap();
    world.wait(3_600);
    world.answer(part(2_500)).unwrap();
    assert_eq!(world.tx.status(), Status::Pending);
    assert_eq!(open_cases(&world), []);
    world.answer(succeeded()).unwrap();
    assert_eq!(world.tx.status(), Status::Success);
    assert_eq!(world.tx.attention(), None);
}

#[test]
fn a_case_about_a_part_names_all_that_came_later() {
    let mut world = World::payment_with(3);
    world.apply(confirm_at(ending(route(1), 600))).unwrap();
    world.answer(part(1_000)).unwrap();
    world.wait(3_600);
    world.answer(part(1_000)).unwrap();
    world.answer(part(2_500)).unwrap();
    assert_eq!(
        open_cases(&world),
        [(CaseReason::AmountDiffers, Some(2_500))]
    );
}

#[test]
fn a_persons_failed_opens_a_case_for_each_part_that_came() {
    for (second, wanted) in [(0, vec![Some(1_000)]), (500, vec![Some(1_000), Some(500)])] {
        let mut world = World::payment_with(3);
        world.apply(confirm(1)).unwrap();
        world.answer(part_under("P1", 1_000)).unwrap();
        world.answer(part_under("P2", second)).unwrap();
        world.apply(resolve_failed()).unwrap();
        let amounts = open_cases(&world).into_iter().map(|(_, amount)| amount);
        assert_eq!(amounts.collect::<Vec<_>>(), wanted);
    }
}

#[test]
fn a_surplus_is_the_money_beyond_amount_and_fee() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    let transfer = PayerAction::Transfer {
        bank: "B".to_owned(),
        account: "1".to_owned(),
        name: "A".to_owned(),
        amount: amount(2_600),
        fee: Some(amount(100)),
        reference: "R".to_owned(),
        expires: None,
    };
    world.answer(pending_with(Some(transfer))).unwrap();
    world.answer(usd("P1", 2_601)).unwrap();
    let detail = &world.tx.cases[0].detail;
    assert!(detail.contains("and a provider's fee of $"), "{detail}");
    assert!(detail.ends_with("0.01"), "{detail}");
}
