//! Details of attempts that decide about a second charge, a page or a query: references, times,
//! sums of parts, hints, and the questions after a restore.

use std::time::Duration;

use super::fixtures::*;
use crate::transaction::*;

/// A payment whose only attempt has ended by an operator's order.
fn resolved_as_failed(reports: impl IntoIterator<Item = Outcome>) -> World {
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    let attempt = world.current();
    tell(&mut world, attempt, reports);
    world.apply(resolve_failed()).unwrap();
    world
}

#[test]
fn the_reference_of_a_presumed_attempt_that_was_not_found_is_free() {
    let mut world = World::payout();
    world.permit = ask_first([0]);
    world.apply(Command::Dispatch(route(1))).unwrap();
    world.wait(60);
    world.apply(Command::Wake).unwrap();
    world.permit = Permit::default();
    world.answer(not_sent()).unwrap();
    let presumed = &world.tx.attempts[0];
    assert!(presumed.presumed && presumed.last_query_at.is_some());
    assert!(presumed.has_free_reference());
}

#[test]
fn the_rest_of_an_attempt_is_what_its_parts_leave() {
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    assert_eq!(current_attempt(&world).rest(), Some(amount(2_500)));
    for (received, rest) in [(1_000, Some(1_500)), (2_500, None), (2_600, None)] {
        world.answer(part(received)).unwrap();
        assert_eq!(
            current_attempt(&world).rest(),
            rest.map(amount),
            "{received}"
        );
    }
}

#[test]
fn a_payer_gives_up_after_twice_the_usual_time() {
    let mut world = World::payment_with(3);
    world.apply(confirm_at(can_cancel(1))).unwrap();
    world.answer(pending()).unwrap();
    let usual = USUAL_TIME.as_secs();
    world.wait(2 * usual - 1);
    assert!(world.apply(Command::GiveUp).is_err());
    world.wait(1);
    world.apply(Command::GiveUp).unwrap();
}

#[test]
fn the_phone_of_a_payout_is_its_number_before_its_account() {
    for (fields, wanted) in [
        (vec!["msisdn", "account_number"], "msisdn"),
        (vec!["account_number"], "account_number"),
    ] {
        let mut world = World::payout();
        if let Details::Payout(payout) = &mut world.tx.details {
            let fields = fields
                .iter()
                .map(|name| ((*name).to_owned(), (*name).to_owned()));
            payout.recipient = fields.collect();
        }
        world.apply(Command::Dispatch(route(1))).unwrap();
        assert_eq!(current_attempt(&world).phone.as_deref(), Some(wanted));
    }
}

#[test]
fn a_hint_leaves_the_schedule_of_queries_as_it_was() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(pending()).unwrap();
    let next = current_attempt(&world).next_query_at;
    assert!(next.is_some());
    world.wait(3);
    assert_eq!(world.apply(Command::Hint), Ok(1));
    assert_eq!(current_attempt(&world).next_query_at, next);
}

#[test]
fn an_attempt_at_another_connection_after_a_crash_is_no_resumption() {
    let mut world = World::payout();
    world.apply(Command::Dispatch(route(2))).unwrap();
    world
        .apply(Command::Recover {
            attempt: world.current(),
            maybe_sent: true,
            gateway_state: None,
        })
        .unwrap();
    world.wait(300);
    let first = current_attempt(&world).candidate.clone();
    world.onward = vec![Onward {
        connection: first.connection,
        standing: Err("it is switched off"),
    }];
    world.answer(not_sent()).unwrap();
    let next = current_attempt(&world);
    assert_ne!(next.candidate.connection, first.connection);
    assert_eq!(next.resumed, 0);
    let because = format!("{} could not take it", first.gateway);
    assert_eq!(next.decision.chosen_because, because);
}

#[test]
fn a_payer_who_gave_an_attempt_of_the_lost_span_up_chooses_again() {
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    world.answer(unknown()).unwrap();
    let mut unasked = unasked(0);
    unasked.candidate.can_cancel = true;
    world.permit.unasked = vec![unasked];
    world.answer(not_sent()).unwrap();
    assert!(current_attempt(&world).presumed);
    world.permit = Permit::default();
    world.answer(pending()).unwrap();
    world.wait(200);
    world.apply(Command::GiveUp).unwrap();
    world.answer(declined(false)).unwrap();
    assert_eq!(world.tx.state, State::AwaitingCustomer);
}

#[test]
fn the_connection_of_an_attempt_that_was_not_sent_is_asked_after_a_restore() {
    let mut world = World::payout();
    world.apply(Command::Dispatch(route(1))).unwrap();
    world.answer(unknown()).unwrap();
    world.permit = ask_first([0]);
    world.answer(not_sent()).unwrap();
    assert_eq!(world.tx.attempts.len(), 2);
    let asked = current_attempt(&world);
    assert!(asked.presumed && asked.state == AttemptState::InDoubt);
    assert_eq!(asked.candidate.connection, candidate(0).connection);
}

#[test]
fn a_success_without_an_id_is_under_the_latest_id_of_its_attempt() {
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    let attempt = world.current();
    let reports = [
        part_under("P1", 1_000),
        part_under("P2", 1_000),
        part_under("P1", 1_100),
        without_id(2_500),
    ];
    tell(&mut world, attempt, reports);
    assert_eq!(world.tx.status(), Status::Success);
    let known = world.tx.attempts[0].provider_id.clone();
    let beside = world.tx.cases.iter().map(|case| case.provider_id.clone());
    let beside: Vec<_> = beside.collect();
    assert_eq!(beside.len(), 1, "{beside:?}");
    assert!(beside[0].is_some() && beside[0] != known, "{beside:?}");
}

#[test]
fn a_case_of_no_final_answer_does_not_stand_for_a_charge_beside_a_success() {
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    world.answer(part_under("P1", 1_000)).unwrap();
    world.wait(4 * 24 * 3_600);
    world.apply(Command::Wake).unwrap();
    assert_eq!(reasons(&world), [CaseReason::NoFinalAnswer]);
    world.answer(usd("P2", 2_500)).unwrap();
    let beside = (CaseReason::ContradictingSuccess, Some(1_000));
    assert!(open_cases(&world).contains(&beside));
}

#[test]
fn a_case_without_money_does_not_stand_for_a_charge_beside_a_success() {
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    let attempt = world.current();
    tell(&mut world, attempt, [part_under("P1", 1_000)]);
    world
        .apply(Command::AmbiguousId {
            attempt,
            provider_id: "P1".to_owned(),
            reported: None,
        })
        .unwrap();
    tell(&mut world, attempt, [usd("P2", 2_500)]);
    assert_eq!(world.tx.status(), Status::Success);
    let beside = (CaseReason::ContradictingSuccess, Some(1_000));
    assert!(
        open_cases(&world).contains(&beside),
        "{:?}",
        open_cases(&world)
    );
}

#[test]
fn money_moved_while_a_charge_stands_whatever_the_latest_sum() {
    let world = resolved_as_failed([part_under("P1", 1_000), part_under("P2", 0)]);
    assert!(!world.tx.attempts[0].charges.is_empty());
    assert!(!world.tx.surely_moved_no_money());
}

#[test]
fn an_older_part_does_not_lower_a_case_without_an_id() {
    let mut world = World::payment_with(3);
    world.apply(confirm_at(ending(route(1), 600))).unwrap();
    world.answer(without_id(1_500)).unwrap();
    world.wait(3_600);
    let older = Outcome::Pending {
        provider_id: None,
        payer_action: None,
        poll_after: None,
        provider_status: None,
        received: Some(amount(1_000)),
    };
    world.answer(older).unwrap();
    let amounts: Vec<_> = world.tx.cases.iter().map(|case| case.amount).collect();
    assert_eq!(amounts, [Some(amount(1_500))]);
}

#[test]
fn a_report_without_a_sum_keeps_the_part_that_came() {
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    world.answer(part(1_000)).unwrap();
    world.answer(pending_in_words(Some("NEW"), None)).unwrap();
    assert_eq!(current_attempt(&world).part_received(), Some(amount(1_000)));
}

#[test]
fn an_ended_attempt_asks_nothing_of_the_payer() {
    let action = PayerAction::Dial {
        ussd: "*123#".to_owned(),
    };
    for ended in [succeeded(), declined(false)] {
        let mut world = World::payment_with(3);
        world.apply(confirm(1)).unwrap();
        world.answer(pending_with(Some(action.clone()))).unwrap();
        assert!(current_attempt(&world).payer_action.is_some());
        world.answer(ended).unwrap();
        assert_eq!(world.tx.attempts[0].payer_action, None);
    }
}

/// The time from which a payer gives up is counted from the last submission.
#[test]
fn the_usual_time_counts_from_a_resumed_submission() {
    let mut world = World::payment_with(3);
    world.apply(confirm_at(can_cancel(1))).unwrap();
    let begun = current_attempt(&world).may_be_given_up_at();
    world.wait(50);
    world
        .apply(Command::Recover {
            attempt: world.current(),
            maybe_sent: false,
            gateway_state: None,
        })
        .unwrap();
    let later = current_attempt(&world).may_be_given_up_at();
    assert_eq!(later, begun.plus(Duration::from_secs(50)));
}
