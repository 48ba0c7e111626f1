//! Payments in parts: money that comes while an attempt is pending, and the statements about it.

use super::fixtures::*;
use crate::transaction::*;

/// A payment of 25.00 of which 10.00 came.
fn partly_paid(route: Route) -> World {
    let mut world = World::payment_with(3);
    world.apply(confirm_at(route)).unwrap();
    world.answer(part(1_000)).unwrap();
    world
}

fn received(world: &World) -> Option<i64> {
    let received = world.tx.received()?;
    assert_eq!((received.amounts.len(), received.asked), (1, amount(2_500)));
    Some(received.single().unwrap().minor())
}

fn open_cases(world: &World) -> Vec<(CaseReason, Option<i64>)> {
    let open = world.tx.cases.iter().filter(|case| case.closed.is_none());
    open.map(|case| (case.reason, case.amount.map(|amount| amount.minor())))
        .collect()
}

#[test]
fn a_payer_who_has_nothing_left_to_do_is_asked_for_nothing() {
    let shown = |action| Outcome::Pending {
        provider_id: Some("P1".to_owned()),
        payer_action: Some(action),
        poll_after: None,
        provider_status: None,
        received: None,
    };
    let send = PayerAction::Dial {
        ussd: "*1#".to_owned(),
    };
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    // Dropped by a reorganisation of the chain, it is asked for again.
    for action in [send.clone(), PayerAction::Wait, send] {
        world.answer(shown(action.clone())).unwrap();
        world.answer(pending()).unwrap();
        assert_eq!(world.tx.attempts[0].payer_action, Some(action));
    }
}

#[test]
fn the_part_that_came_is_received_until_the_provider_takes_it_back() {
    let mut world = partly_paid(route(1));
    assert_eq!(received(&world), Some(1_000));
    assert!(world.tx.received().unwrap().is_part());
    assert!(!world.tx.is_held(), "the payer may send the rest");
    for (report, events, sum) in [
        (part(1_000), 0, Some(1_000)),
        (pending(), 0, Some(1_000)),
        (part(1_500), 1, Some(1_500)),
        (part(0), 1, None),
        (part(0), 0, None),
        (part(1_000), 1, Some(1_000)),
    ] {
        world.wait(1);
        assert_eq!(world.answer(report.clone()), Ok(events), "{report:?}");
        assert_eq!(received(&world), sum, "{report:?}");
    }
    world.answer(succeeded()).unwrap();
    assert_eq!(received(&world), Some(2_500), "the part is in it");
    assert_eq!(
        (world.tx.status(), world.tx.cases.len()),
        (Status::Success, 0)
    );
}

#[test]
fn the_part_and_a_case_about_it_are_one_sum() {
    let mut world = partly_paid(route(1));
    for (report, sum) in [
        (succeeded_with(1_000), 1_000),
        (succeeded_with(1_500), 1_500),
        (part(1_700), 1_700),
    ] {
        world.answer(report.clone()).unwrap();
        assert_eq!(received(&world), Some(sum), "{report:?}");
    }
    // Another id is other money.
    world.answer(reported("P2", amount(1_500))).unwrap();
    assert_eq!(received(&world), Some(3_200));
}

#[test]
fn a_persons_failed_of_a_partly_paid_attempt_ends_it_with_a_case() {
    let mut world = partly_paid(route(2));
    let failed = || resolve(None, Verdict::Failed { message: None });
    for (order, refusal) in [
        (verdict(None, None), Refusal::AmountNeeded),
        (Verdict::NeverSent, Refusal::ProviderHasIt),
    ] {
        assert_eq!(world.apply(resolve(None, order)), Err(refusal));
    }
    world.apply(failed()).unwrap();
    assert_eq!(world.tx.status(), Status::Failed);
    assert_eq!(world.tx.attempts.len(), 1, "nothing starts");
    assert!(!world.tx.surely_moved_no_money());
    assert_eq!(received(&world), Some(1_000));
    let part_paid = (CaseReason::AmountDiffers, Some(1_000));
    assert_eq!(open_cases(&world), [part_paid]);
    // The same report is no news; more money is.
    assert_eq!(world.answer(part(1_000)), Ok(0));
    world.answer(part(2_000)).unwrap();
    let more = (CaseReason::MoneyAfterTheEnd, Some(2_000));
    assert_eq!(open_cases(&world), [part_paid, more]);
    assert_eq!(world.answer(part(1_500)), Ok(0), "an old report");
    // A part that was taken back moved nothing.
    let mut world = partly_paid(route(2));
    world.wait(1);
    world.answer(part(0)).unwrap();
    world.apply(failed()).unwrap();
    assert_eq!(world.tx.status(), Status::Failed);
    assert!(world.tx.surely_moved_no_money() && world.tx.cases.is_empty());
}

#[test]
fn neither_a_decline_nor_a_lost_reference_ends_a_partly_paid_attempt() {
    let mut world = partly_paid(route(2));
    assert_eq!(world.answer(not_sent()), Ok(0));
    world.answer(declined(true)).unwrap();
    assert_eq!(world.tx.status(), Status::Pending);
    assert_eq!(world.tx.attempts.len(), 1, "nothing starts");
    assert_eq!(
        open_cases(&world),
        [(CaseReason::SuccessContradicted, None)]
    );
    assert_eq!(received(&world), Some(1_000));
}

#[test]
fn a_partly_paid_attempt_is_not_called_off() {
    let mut world = partly_paid(can_cancel(1));
    world.wait(3_600);
    assert!(!world.tx.can_call_off());
    for command in [Command::Cancel(CancelledBy::Customer), Command::GiveUp] {
        assert_eq!(world.apply(command), Err(Refusal::Held));
    }
}

#[test]
fn the_end_of_a_partly_paid_attempt_opens_a_case_and_declines_nothing() {
    // The part is known before the end, or from the very answer that comes after it.
    for first in [part(1_000), pending()] {
        let mut world = World::payment_with(3);
        world.apply(confirm_at(ending(route(1), 600))).unwrap();
        world.answer(first).unwrap();
        world.wait(3_600);
        world.answer(part(1_000)).unwrap();
        assert_eq!(world.tx.status(), Status::Pending);
        assert_eq!(
            open_cases(&world),
            [(CaseReason::AmountDiffers, Some(1_000))]
        );
        assert_eq!(world.answer(part(1_000)), Ok(0), "said once");
        assert!(world.tx.is_held());
    }
}

#[test]
fn a_part_that_comes_for_an_attempt_that_counted_as_not_sent_holds_the_payment() {
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    let first = world.current();
    world.answer(not_sent()).unwrap();
    assert_eq!(world.tx.state, State::AwaitingCustomer);
    world.answer_about(first, part(1_000)).unwrap();
    assert_eq!(world.tx.state, State::OnHold);
    assert_eq!(received(&world), Some(1_000));
    // All of it and still pending settles nothing.
    world.answer_about(first, part(2_500)).unwrap();
    assert_eq!(world.tx.state, State::OnHold);
}

/// Sums of one attempt under two ids, reported again and again in turn: no news, and no event.
#[test]
fn parts_under_two_ids_that_are_repeated_in_turn_are_news_once() {
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    world.answer(part_under("P1", 1_000)).unwrap();
    world.answer(part_under("P2", 600)).unwrap();
    let known = world.tx.clone();
    for _ in 0..4 {
        world.answer(part_under("P1", 1_000)).unwrap();
        world.answer(part_under("P1", 700)).unwrap();
        world.answer(part_under("P2", 600)).unwrap();
    }
    assert_eq!(world.tx.version, known.version);
    world.answer(part_under("P1", 1_200)).unwrap();
    assert_eq!(world.tx.version, known.version + 1, "a larger sum is news");
}
