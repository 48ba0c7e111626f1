//! Details of a report that are kept: ids, fees, statuses, the state of the gateway.

use uuid::Uuid;

use super::fixtures::*;
use crate::transaction::*;

fn under(id: &str, outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Declined(decline) => Outcome::Declined(Decline {
            provider_id: Some(id.to_owned()),
            ..decline
        }),
        other => other,
    }
}

fn with_state(world: &World, outcome: Outcome, state: u8) -> Command {
    Command::Answer {
        attempt: world.current(),
        outcome,
        gateway_state: Some(state.into()),
        asked_at: None,
    }
}

#[test]
fn the_state_of_a_gateway_is_kept_with_a_pending_and_an_unknown_result() {
    for outcome in [unknown(), pending()] {
        let mut world = World::payment();
        world.apply(confirm(1)).unwrap();
        world.apply(with_state(&world, outcome, 7)).unwrap();
        assert_eq!(world.tx.attempts[0].gateway_state, 7);
    }
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    let attempt = world.current();
    world
        .apply(recovery(attempt, true, Some(7.into())))
        .unwrap();
    assert_eq!(world.tx.attempts[0].gateway_state, 7);
}

#[test]
fn a_report_that_names_no_amount_leaves_the_part_that_came() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(part(1_000)).unwrap();
    let seen = Outcome::Pending {
        provider_id: Some("P1".to_owned()),
        payer_action: None,
        poll_after: None,
        provider_status: Some("seen".to_owned()),
        received: None,
    };
    assert_eq!(world.answer(seen), Ok(1));
    assert_eq!(
        world.tx.received().map(|sum| sum.single().unwrap()),
        Some(amount(1_000))
    );
}

#[test]
fn the_id_of_every_last_report_is_kept() {
    for (end, id) in [
        (under("P2", declined(false)), "P2"),
        (reported("P2", amount(2_500)), "P2"),
    ] {
        let mut world = World::payment_with(3);
        world.apply(confirm(1)).unwrap();
        world.answer(pending()).unwrap();
        world.answer(end).unwrap();
        assert_eq!(world.tx.attempts[0].provider_id.as_deref(), Some(id));
    }
}

#[test]
fn what_a_provider_says_of_a_success_is_kept() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world
        .answer(Outcome::Succeeded {
            provider_id: Some("P1".to_owned()),
            amount: Captured::AsAsked,
            fees: Some(amount(50)),
            provider_status: Some("COMPLETED".to_owned()),
        })
        .unwrap();
    let paid = &world.tx.attempts[0];
    assert_eq!(paid.fees, Some(amount(50)));
    assert_eq!(paid.provider_status.as_deref(), Some("COMPLETED"));
}

#[test]
fn what_the_payer_filled_in_is_kept() {
    let mut world = World::payment();
    let Command::Confirm(mut confirm) = confirm(1) else {
        unreachable!()
    };
    confirm.customer.first_name = "Aïcha".to_owned();
    confirm.context.ip = Some("192.0.2.1".to_owned());
    world.apply(Command::Confirm(confirm)).unwrap();
    assert_eq!(world.tx.customer.first_name, "Aïcha");
    assert_eq!(world.tx.context.ip.as_deref(), Some("192.0.2.1"));
}

#[test]
fn the_id_of_money_that_was_reported_without_one_is_no_second_case() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    let attempt = world.current();
    world.answer(declined(false)).unwrap();
    let nameless = Outcome::Succeeded {
        provider_id: None,
        amount: Captured::Named(amount(2_500)),
        fees: None,
        provider_status: None,
    };
    world.answer_about(attempt, nameless).unwrap();
    world.answer_about(attempt, succeeded_with(2_500)).unwrap();
    assert_eq!(world.tx.cases.len(), 1);
}

#[test]
fn a_person_who_names_no_amount_settles_by_the_latest_report() {
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    let first = world.current();
    world.answer(declined(false)).unwrap();
    world.apply(confirm(1)).unwrap();
    let report = |minor| reported("P1", amount(minor));
    for answer in [report(3_000), declined(false), report(2_600)] {
        world.answer_about(first, answer).unwrap();
    }
    world.answer(declined(false)).unwrap();
    world
        .apply(resolve(Some(first), verdict(None, None)))
        .unwrap();
    assert_eq!(world.tx.attempts[0].captured, Some(amount(2_600)));
}

#[test]
fn an_attempt_has_the_reference_of_its_own_connection() {
    let mut world = World::payment_with(3);
    let references = [0, 1].map(|number| {
        let connection = candidate(number).connection;
        (connection, Uuid::from_u128(9 + number))
    });
    world.references = references.to_vec();
    world.apply(confirm(2)).unwrap();
    world.answer(not_sent()).unwrap();
    let used: Vec<_> = world.tx.attempts.iter().map(|one| one.reference).collect();
    assert_eq!(used, references.map(|(_, reference)| reference));
}

#[test]
fn money_under_a_lent_reference_holds_the_attempt_that_used_it() {
    let mut world = World::payment_with(3);
    world.references = vec![(candidate(0).connection, Uuid::from_u128(9))];
    world.apply(confirm(1)).unwrap();
    world.answer(not_sent()).unwrap();
    world.apply(confirm(1)).unwrap();
    let second = world.current();
    world.answer(declined(false)).unwrap();
    world.answer_about(second, succeeded_with(1_000)).unwrap();
    assert_eq!(world.tx.state, State::OnHold);
    assert_eq!(world.tx.held_attempt().unwrap().id, second);
    let case = &world.tx.cases[0];
    assert_eq!(world.tx.attempt_of(case).unwrap().id, second);
}

#[test]
fn a_success_of_too_little_keeps_the_state_of_the_gateway() {
    for outcome in [succeeded_with(1_000), succeeded_unreadably()] {
        let mut world = World::payment();
        world.apply(confirm(1)).unwrap();
        world.apply(with_state(&world, outcome, 7)).unwrap();
        assert_eq!(world.tx.state, State::InDoubt);
        assert_eq!(world.tx.attempts[0].gateway_state, 7);
    }
}

#[test]
fn a_query_without_a_result_keeps_the_state_of_the_gateway_and_the_plan() {
    for first in [pending(), unknown()] {
        let mut world = World::payment();
        world.apply(confirm(1)).unwrap();
        world.apply(with_state(&world, first, 7)).unwrap();
        let before = world.tx.attempts[0].clone();
        assert_eq!(world.apply(with_state(&world, unknown(), 8)), Ok(1));
        let after = &world.tx.attempts[0];
        assert_eq!(after.gateway_state, 8);
        assert_eq!(
            (&after.state, after.next_query_at),
            (&before.state, before.next_query_at)
        );
        assert_eq!(
            world.apply(with_state(&world, unknown(), 8)),
            Ok(0),
            "nothing is new"
        );
    }
}

#[test]
fn a_query_without_a_result_leaves_the_new_start_after_a_crash() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    let attempt = world.current();
    world.apply(recovery(attempt, true, None)).unwrap();
    assert!(world.tx.attempts[0].cut_off);
    world.apply(with_state(&world, unknown(), 8)).unwrap();
    assert!(world.tx.attempts[0].cut_off);
    world.answer(not_sent()).unwrap();
    assert_eq!(
        world.tx.attempts.len(),
        2,
        "begun again at the same connection"
    );
}

#[test]
fn only_a_decline_after_a_success_is_a_reversal() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    let attempt = world.current();
    world.answer(succeeded_with(2_600)).unwrap();
    assert_eq!(reasons(&world), [CaseReason::Surplus]);
    assert_eq!(world.tx.taken_back(), TakenBack::Nothing);
    world.answer_about(attempt, declined(false)).unwrap();
    assert_eq!(world.tx.taken_back(), TakenBack::All);
}

#[test]
fn money_may_have_moved_once_a_sum_is_recorded_with_an_attempt() {
    let mut world = World::payment_with(2);
    world.apply(confirm(1)).unwrap();
    world.answer(declined(false)).unwrap();
    assert!(world.tx.surely_moved_no_money());
    world.tx.attempts[0].captured = Some(amount(2_500));
    assert!(!world.tx.surely_moved_no_money());
}

#[test]
fn the_case_of_a_decline_after_a_part_names_the_id_of_its_report() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(part(1_000)).unwrap();
    world.answer(under("P9", declined(false))).unwrap();
    let case = world.tx.cases.last().unwrap();
    assert_eq!(case.reason, CaseReason::SuccessContradicted);
    assert_eq!(case.provider_id.as_deref(), Some("P9"));
}
