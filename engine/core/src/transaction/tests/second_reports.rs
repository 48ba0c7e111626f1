//! Reports after an order of a person, after a restore, and about several charges of an attempt.

use uuid::Uuid;

use super::fixtures::*;
use crate::transaction::*;

fn submissions(world: &World) -> usize {
    let is_submission = |action: &&Action| matches!(action, Action::Submit { .. });
    world.actions.iter().filter(is_submission).count()
}

/// Gives each connection one reference, which is free again after an attempt that was never made.
fn shared(world: &mut World) {
    world.references = [0, 1]
        .map(|number| (candidate(number).connection, Uuid::from_u128(100 + number)))
        .to_vec();
}

/// A restored payout: a person says of the presumed attempt that it was never sent, the payout is
/// sent under the same reference, and then the answer to the query of before comes.
fn restored_payout_with_late(answer: Outcome) -> World {
    let mut world = World::payout();
    world.permit = ask_first([0]);
    shared(&mut world);
    world.apply(Command::Dispatch(route(2))).unwrap();
    let presumed = world.current();
    world.permit = Permit::default();
    world.apply(resolve(None, Verdict::NeverSent)).unwrap();
    world.wait(1);
    world.apply(Command::Dispatch(route(2))).unwrap();
    assert_eq!(
        world.tx.attempts[0].reference,
        world.tx.attempts[1].reference
    );
    assert_eq!(submissions(&world), 1);
    world.answer_about(presumed, answer).unwrap();
    world
}

#[test]
fn a_payout_found_after_all_under_a_lent_reference_is_not_sent_to_another_provider() {
    let mut world = restored_payout_with_late(pending());
    world.answer(not_sent()).unwrap();
    assert_eq!(
        submissions(&world),
        1,
        "{:?} {:?}",
        world.tx.state,
        open_cases(&world)
    );
}

#[test]
fn money_under_a_lent_reference_is_no_dead_end() {
    let mut world = restored_payout_with_late(usd("P1", 2_500));
    world.answer(not_sent()).unwrap();
    world.wait(60);
    let attempt = world.current();
    let recover = Command::Recover {
        attempt,
        maybe_sent: false,
        gateway_state: None,
    };
    let events = world.apply(recover).unwrap();
    let by_hand = world.apply(resolve(None, verdict(Some(2_500), Some("P1"))));
    assert!(
        world.tx.state.is_final() || events > 0 || by_hand.is_ok(),
        "{:?} {by_hand:?} {:?}",
        world.tx.state,
        open_cases(&world)
    );
}

#[test]
fn a_restored_payment_whose_part_a_person_fails_has_the_other_connections_asked() {
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    world.answer(part(1_000)).unwrap();
    world.permit = ask_first([1]);
    world.answer(reversed("P1")).unwrap();
    world.apply(resolve_failed()).unwrap();
    assert_ne!(
        world.tx.status(),
        Status::Failed,
        "connection 1 was not asked"
    );
}

/// Charges besides the success whose latest amount is in no open case.
fn untold(world: &World) -> Vec<String> {
    let tx = &world.tx;
    let mut untold = Vec::new();
    for attempt in &tx.attempts {
        let stands = |charge: &&Charge| !charge.is_taken_back && !charge.is_recorded;
        for charge in attempt.charges.iter().filter(stands) {
            let names = |case: &Case| {
                case.reference == attempt.reference
                    && case.reason.reports_money()
                    && case.reason != CaseReason::SuccessContradicted
                    && case.closed.is_none()
                    && charge.is_under(case.provider_id.as_deref())
                    && case.amount == charge.amount
            };
            if !tx.cases.iter().any(names) {
                untold.push(format!("{charge:?} of {:?}", open_cases(world)));
            }
        }
    }
    untold
}

#[test]
fn a_charge_beside_a_success_is_told_with_its_latest_amount() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(usd("P1", 1_000)).unwrap();
    world.answer(part_under("P1", 2_000)).unwrap();
    world.answer(usd("P2", 2_500)).unwrap();
    assert_eq!(world.tx.status(), Status::Success);
    assert_eq!(
        world.tx.received().unwrap().single().unwrap(),
        amount(4_500)
    );
    assert_eq!(untold(&world), Vec::<String>::new());
}

#[test]
fn a_case_about_a_reversal_is_no_case_about_a_charge_that_came_after_it() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(part_under("P1", 1_000)).unwrap();
    world.answer(reversed("P2")).unwrap();
    world.answer(part_under("P2", 500)).unwrap();
    world.answer(usd("P1", 2_500)).unwrap();
    assert_eq!(world.tx.status(), Status::Success);
    assert_eq!(
        world.tx.received().unwrap().single().unwrap(),
        amount(3_000)
    );
    assert_eq!(untold(&world), Vec::<String>::new());
}

#[test]
fn a_charge_that_came_back_after_a_reversal_has_a_case_although_it_came_before() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    let attempt = world.current();
    world.answer(declined(false)).unwrap();
    for minor in [2_000, 2_500] {
        tell(&mut world, attempt, [usd("P1", minor)]);
        let case = world.tx.cases.last().unwrap().id;
        world
            .apply(by_operator(OperatorCommand::CloseCase(case)))
            .unwrap();
    }
    tell(&mut world, attempt, [reversed("P1"), usd("P1", 2_000)]);
    assert_eq!(
        world.tx.taken_back(),
        TakenBack::Nothing,
        "it counts as money again"
    );
    assert_eq!(untold(&world), Vec::<String>::new());
}

#[test]
fn more_money_after_a_reversal_of_a_success_has_a_case() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    let attempt = world.current();
    world.answer(usd("P1", 2_500)).unwrap();
    tell(
        &mut world,
        attempt,
        [reversed("P1"), part_under("P1", 2_600)],
    );
    assert_eq!(
        world.tx.received().unwrap().single().unwrap(),
        amount(2_600)
    );
    assert_eq!(world.tx.taken_back(), TakenBack::Nothing);
    let told = open_cases(&world);
    assert!(
        told.iter()
            .any(|case| case.1 == Some(amount(2_600).minor())),
        "{told:?}"
    );
}

#[test]
fn a_part_without_an_id_is_told_under_the_id_under_which_it_counts() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    let attempt = world.current();
    world.answer(reversed("P2")).unwrap();
    let mut nameless = part_under("P2", 2_600);
    if let Outcome::Pending { provider_id, .. } = &mut nameless {
        *provider_id = None;
    }
    tell(
        &mut world,
        attempt,
        [usd("P2", 2_500), usd("P1", 2_600), nameless],
    );
    assert_eq!(
        world.tx.received().unwrap().single().unwrap(),
        amount(5_200)
    );
    assert_eq!(untold(&world), Vec::<String>::new());
}

#[test]
fn an_attempt_that_a_person_failed_and_the_provider_has_is_followed_by_none() {
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    let first = world.current();
    world.answer(unknown()).unwrap();
    world.apply(resolve_failed()).unwrap();
    world.wait(1);
    world.answer_about(first, pending()).unwrap();
    let again = world.apply(confirm(1));
    assert!(
        again.is_err() && !world.tx.cases.is_empty(),
        "{:?}",
        world.tx.state
    );
}

#[test]
fn a_success_of_an_attempt_that_lent_its_reference_is_money_received() {
    let mut world = World::payment_with(3);
    world.permit = ask_first([0]);
    shared(&mut world);
    world.apply(Command::Wake).unwrap();
    let presumed = world.current();
    world.permit = Permit::default();
    world.apply(resolve(None, Verdict::NeverSent)).unwrap();
    world.apply(confirm(1)).unwrap();
    world.answer(not_sent()).unwrap();
    world.answer_about(presumed, usd("P1", 2_500)).unwrap();
    assert_eq!(world.tx.status(), Status::Success);
    assert_eq!(
        world.tx.received().map(|sum| sum.single().unwrap()),
        Some(amount(2_500))
    );
}

#[test]
fn a_restored_payout_that_a_person_calls_never_sent_has_the_other_connections_asked() {
    for verdict in [Verdict::NeverSent, Verdict::Failed { message: None }] {
        let mut world = World::payout();
        world.apply(Command::Dispatch(route(2))).unwrap();
        world.answer(unknown()).unwrap();
        world.permit = ask_first([0, 1]);
        world.apply(resolve(None, verdict)).unwrap();
        assert_ne!(
            world.tx.status(),
            Status::Failed,
            "connection 1 was not asked"
        );
    }
}

#[test]
fn a_payout_that_a_person_failed_and_the_provider_has_opens_a_case() {
    let mut world = World::payout();
    world.apply(Command::Dispatch(route(1))).unwrap();
    let attempt = world.current();
    world.answer(unknown()).unwrap();
    world.apply(resolve_failed()).unwrap();
    world.answer_about(attempt, pending()).unwrap();
    assert!(!open_cases(&world).is_empty());
}

#[test]
fn a_restored_payment_on_hold_that_a_person_fails_has_the_other_connections_asked() {
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    let first = world.current();
    world.answer(declined(false)).unwrap();
    // The backup. After it the payer paid at connection 1; then the store was restored.
    world.permit = ask_first([0, 1]);
    world.answer_about(first, usd("P1", 1_000)).unwrap();
    assert_eq!(world.tx.state, State::OnHold);
    world.apply(resolve_failed()).unwrap();
    assert_ne!(
        world.tx.status(),
        Status::Failed,
        "connection 1 was not asked"
    );
}

#[test]
fn an_order_of_a_person_ends_a_restored_payout_once_no_connection_has_another_attempt() {
    let words = Some("The bank has no such transfer.".to_owned());
    for (verdict, message) in [
        (
            Verdict::NeverSent,
            "The payment provider could not be reached; nothing was sent.",
        ),
        (
            Verdict::Failed { message: words },
            "The bank has no such transfer.",
        ),
    ] {
        let mut world = World::payout();
        world.apply(Command::Dispatch(route(2))).unwrap();
        world.answer(unknown()).unwrap();
        world.permit = ask_first([1]);
        world.apply(resolve(None, verdict)).unwrap();
        world.permit = Permit::default();
        world.answer(not_sent()).unwrap();
        assert_eq!(world.tx.state, State::AwaitingDispatch);
        world.apply(Command::Dispatch(route(2))).unwrap();
        assert_eq!(submissions(&world), 1, "it is not sent again");
        assert!(
            matches!(&world.tx.state, State::Failed(failure) if failure.message == message),
            "{:?}",
            world.tx.state
        );
    }
}

/// A restored payment on hold that a person fails while connection 1 is still to be queried.
fn restored_on_hold_and_failed(message: Option<&str>) -> World {
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    let first = world.current();
    world.answer(declined(false)).unwrap();
    world.permit = ask_first([1]);
    world.answer_about(first, usd("P1", 1_000)).unwrap();
    let message = message.map(str::to_owned);
    world
        .apply(resolve(None, Verdict::Failed { message }))
        .unwrap();
    assert_eq!(open_cases(&world), [], "the person settled it");
    world.permit = Permit::default();
    world
}

#[test]
fn an_order_of_a_person_ends_a_restored_payment_once_no_connection_has_another_attempt() {
    let own = "The bank returns it.";
    let default = "The money that was received did not settle this payment and is to be returned.";
    for (message, expected) in [(Some(own), own), (None, default)] {
        let mut world = restored_on_hold_and_failed(message);
        world.answer(not_sent()).unwrap();
        assert!(
            matches!(&world.tx.state, State::Failed(failure) if failure.message == expected),
            "{:?}",
            world.tx.state
        );
    }
}

#[test]
fn money_at_another_connection_settles_a_restored_payment_that_a_person_failed() {
    let mut world = restored_on_hold_and_failed(None);
    world.answer(usd("Q1", 2_500)).unwrap();
    assert_eq!(world.tx.status(), Status::Success);
}

#[test]
fn a_late_pending_of_a_decline_by_the_provider_is_no_news() {
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    let first = world.current();
    world.answer(declined(false)).unwrap();
    world.answer_about(first, pending()).unwrap();
    assert_eq!(world.tx.cases, []);
    world.apply(confirm(1)).unwrap();
}
