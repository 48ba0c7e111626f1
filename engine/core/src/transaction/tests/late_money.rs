//! Money that is reported for an attempt that had ended, and money that contradicts what is
//! recorded.

use super::fixtures::*;
use crate::ids::AttemptId;
use crate::money::{Amount, Currency};
use crate::transaction::*;

pub(super) fn submissions(world: &World) -> usize {
    let submits = |action: &&Action| matches!(action, Action::Submit { .. });
    world.actions.iter().filter(submits).count()
}

fn succeeded_under(id: &str, minor: i64) -> Outcome {
    Outcome::Succeeded {
        provider_id: Some(id.to_owned()),
        amount: Captured::Named(amount(minor)),
        fees: None,
        provider_status: None,
    }
}

/// A payment that waits for its payer again after an attempt that counted as not sent.
fn payment_after_not_sent() -> (World, AttemptId) {
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    let first = world.current();
    world.answer(unknown()).unwrap();
    world.answer(not_sent()).unwrap();
    assert_eq!(world.tx.state, State::AwaitingCustomer);
    (world, first)
}

/// A payout that waits for its next dispatch after an attempt that counted as not sent.
fn payout_after_not_sent() -> (World, AttemptId) {
    let mut world = World::payout();
    world.apply(Command::Dispatch(route(1))).unwrap();
    let first = world.current();
    world.answer(unknown()).unwrap();
    world.answer(not_sent()).unwrap();
    assert_eq!(world.tx.state, State::AwaitingDispatch);
    (world, first)
}

/// A payment whose second attempt is in progress when money is reported for the declined first one.
fn payment_paid_by_its_first_attempt(route: Route) -> (World, AttemptId) {
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    let first = world.current();
    world.answer(declined(false)).unwrap();
    world.apply(confirm_at(route)).unwrap();
    world.answer_about(first, succeeded_with(2_500)).unwrap();
    assert_eq!(reasons(&world), [CaseReason::MoneyAfterTheEnd]);
    (world, first)
}

#[test]
fn a_late_success_ends_a_payment_that_waits_for_its_payer() {
    let (mut world, first) = payment_after_not_sent();
    world.answer_about(first, succeeded_with(2_500)).unwrap();
    assert_eq!(world.tx.status(), Status::Success);
    assert_eq!(reasons(&world), [CaseReason::LateSuccess]);
    assert_eq!(world.tx.attempts[0].captured, Some(amount(2_500)));
    assert_eq!(
        world.apply(confirm(1)),
        Err(Refusal::AlreadyEnded(Status::Success))
    );
    assert_eq!(world.announced(), ["payment.initiated", "payment.success"]);
}

#[test]
fn a_late_success_ends_a_payout_before_it_is_dispatched_again() {
    let (mut world, first) = payout_after_not_sent();
    world.answer_about(first, succeeded_with(2_500)).unwrap();
    assert_eq!(world.tx.status(), Status::Success);
    assert_eq!(
        world.apply(Command::Dispatch(route(1))),
        Err(Refusal::AlreadyEnded(Status::Success))
    );
    assert_eq!(submissions(&world), 1);
}

#[test]
fn no_attempt_follows_one_in_progress_while_money_was_reported_for_another() {
    type Ends = fn(&mut World);
    let ends: [(&str, Ends); 5] = [
        ("not sent", |world| _ = world.answer(not_sent()).unwrap()),
        ("declined, retryable", |world| {
            _ = world.answer(declined(true)).unwrap();
        }),
        ("declined", |world| {
            _ = world.answer(declined(false)).unwrap()
        }),
        ("interrupted before it left", |world| {
            let attempt = world.current();
            let recover = Command::Recover {
                attempt,
                maybe_sent: false,
                gateway_state: None,
            };
            world.apply(recover).unwrap();
        }),
        ("withheld", |world| {
            let (attempt, why) = (world.current(), "Quarantine.".to_owned());
            world.apply(Command::Withhold { attempt, why }).unwrap();
        }),
    ];
    for (how, end) in ends {
        let (mut world, first) = payment_paid_by_its_first_attempt(route(3));
        end(&mut world);
        assert_eq!(submissions(&world), 2, "{how}: nothing started");
        assert_eq!(
            world.tx.status(),
            Status::Success,
            "{how}: the money settles it"
        );
        let paid = world.tx.attempt(first).unwrap();
        assert_eq!(paid.state, AttemptState::Succeeded, "{how}");
        assert_eq!(paid.provider_id.as_deref(), Some("P1"), "{how}");
    }
}

#[test]
fn the_attempt_in_progress_is_called_off_when_money_is_reported_for_another() {
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    let first = world.current();
    world.answer(declined(false)).unwrap();
    world.apply(confirm_at(can_cancel(1))).unwrap();
    let second = world.current();
    world.answer(pending()).unwrap();
    world.answer_about(first, succeeded_with(2_500)).unwrap();
    let call_off = Action::CancelRequest { attempt: second };
    assert_eq!(world.actions.last(), Some(&call_off));
    assert_eq!(
        world.apply(Command::Cancel(CancelledBy::Customer)),
        Err(Refusal::Held)
    );

    // An attempt whose submission is still in flight is cancelled once the provider has it.
    let (mut world, _) = payment_paid_by_its_first_attempt(can_cancel(1));
    let calls = |world: &World| {
        let is_call = |action: &&Action| matches!(action, Action::CancelRequest { .. });
        world.actions.iter().filter(is_call).count()
    };
    assert_eq!(calls(&world), 0);
    world.answer(pending()).unwrap();
    assert_eq!(calls(&world), 1);
    world.answer(declined(false)).unwrap();
    assert_eq!(
        world.tx.status(),
        Status::Success,
        "paid once, by the first"
    );
}

#[test]
fn money_for_both_attempts_is_a_success_and_asks_for_a_refund() {
    let (mut world, first) = payment_paid_by_its_first_attempt(route(1));
    world.answer(succeeded_under("P2", 2_500)).unwrap();
    assert_eq!(world.tx.status(), Status::Success);
    let twice = world.tx.cases.last().unwrap();
    assert_eq!(twice.reason, CaseReason::PaidTwice);
    assert_eq!(twice.reference, world.tx.attempt(first).unwrap().reference);
    assert_eq!(twice.amount, Some(amount(2_500)));
    // One refund: the case that held the payment is about the same money.
    assert!(
        twice.detail.contains("`money_after_the_end`"),
        "{}",
        twice.detail
    );
    assert_eq!(world.tx.attention(), Some(CaseReason::PaidTwice));

    // The same the other way round: the second success is reported last.
    let mut world = World::payment_with(2);
    world.apply(confirm(1)).unwrap();
    let first = world.current();
    world.answer(declined(false)).unwrap();
    world.apply(confirm(1)).unwrap();
    world.answer(succeeded_under("P2", 2_500)).unwrap();
    world.answer_about(first, succeeded_with(2_500)).unwrap();
    assert_eq!(reasons(&world), [CaseReason::PaidTwice]);
}

#[test]
fn money_that_the_provider_took_back_settles_nothing() {
    let (mut world, first) = payment_paid_by_its_first_attempt(route(2));
    world.answer_about(first, declined(false)).unwrap();
    world.answer(not_sent()).unwrap();
    assert_eq!(world.tx.state, State::OnHold);
    assert_eq!(submissions(&world), 2);
}

#[test]
fn money_that_was_taken_back_and_is_reported_again_waits_for_a_person() {
    let (mut world, first) = payment_paid_by_its_first_attempt(route(1));
    world.answer_about(first, declined(false)).unwrap();
    world.answer(declined(false)).unwrap();
    assert_eq!(world.tx.state, State::OnHold);
    world.answer_about(first, succeeded_with(2_500)).unwrap();
    assert_eq!(world.tx.state, State::OnHold);
    let never = resolve(Some(world.current()), Verdict::NeverSent);
    assert!(matches!(world.apply(never), Err(Refusal::AttemptClosed(_))));
}

#[test]
fn only_the_latest_report_about_an_attempt_settles() {
    let (mut world, first) = payment_paid_by_its_first_attempt(route(1));
    world.answer_about(first, succeeded_with(1_000)).unwrap();
    world.answer(declined(false)).unwrap();
    assert_eq!(world.tx.state, State::OnHold, "10.00 came, not 25.00");
}

#[test]
fn an_attempt_that_counted_as_not_sent_and_is_found_pending_stops_the_next_one() {
    for (mut world, first) in [payment_after_not_sent(), payout_after_not_sent()] {
        world.answer_about(first, pending()).unwrap();
        assert_eq!(world.tx.state, State::OnHold);
        assert_eq!(reasons(&world), [CaseReason::FoundAfterNotSent]);
        assert!(!world.tx.surely_moved_no_money());
        assert_eq!(world.tx.received(), None);
        // No success was reported, so a decline takes none back.
        world.answer_about(first, declined(false)).unwrap();
        assert_eq!(world.tx.state, State::OnHold);
        assert_eq!(world.tx.cases.len(), 1);
        world.answer_about(first, succeeded_with(2_500)).unwrap();
        assert_eq!(world.tx.status(), Status::Success);
    }
}

#[test]
fn a_success_of_an_attempt_that_was_only_found_needs_the_amount_that_came_in() {
    for (mut world, first) in [payment_after_not_sent(), payout_after_not_sent()] {
        world.answer_about(first, pending()).unwrap();
        let settled = world.apply(resolve(None, verdict(None, None)));
        assert_eq!(settled, Err(Refusal::AmountNeeded));
        let settled = world.apply(resolve(None, verdict(Some(2_500), Some("P1"))));
        assert!(settled.is_ok(), "{settled:?}");
    }
}

#[test]
fn too_little_late_money_holds_the_transaction_until_a_person_settles_it() {
    for (mut world, first) in [payment_after_not_sent(), payout_after_not_sent()] {
        world.answer_about(first, succeeded_with(1_000)).unwrap();
        assert_eq!(world.tx.state, State::OnHold);
        let received = world.tx.received().unwrap();
        assert_eq!(
            (received.amounts, received.asked),
            (vec![amount(1_000)], amount(2_500))
        );
        assert!(!world.tx.surely_moved_no_money());
        let begin = match world.tx.kind() {
            Kind::Payment => confirm(1),
            Kind::Payout => Command::Dispatch(route(1)),
        };
        assert_eq!(world.apply(begin), Err(Refusal::Held));
        let case = world.tx.cases[0].id;
        assert_eq!(
            world.apply(by_operator(OperatorCommand::CloseCase(case))),
            Err(Refusal::CaseHolds)
        );
        // Once a day the provider is queried, and nothing else happens.
        let at = world.tx.wake_at().unwrap();
        assert_eq!(at.since(world.now).as_secs(), 24 * 3600);
        world.now = at;
        assert_eq!(world.apply(Command::Wake), Ok(1));
        assert_eq!(
            world.actions.last(),
            Some(&Action::Query { attempt: first })
        );
        assert_eq!(world.apply(Command::Wake), Ok(0));
        world
            .apply(resolve(None, Verdict::Failed { message: None }))
            .unwrap();
        assert_eq!(world.tx.status(), Status::Failed);
        assert!(world.tx.cases[0].closed.is_some());
        assert!(world.tx.received().is_some());
    }
}

#[test]
fn late_money_of_an_unreadable_amount_holds_what_waits() {
    for (mut world, first) in [payment_after_not_sent(), payout_after_not_sent()] {
        let confirm_or_dispatch = match world.tx.kind() {
            Kind::Payment => confirm(1),
            Kind::Payout => Command::Dispatch(route(1)),
        };
        let submitted = submissions(&world);
        world.answer_about(first, succeeded_unreadably()).unwrap();
        assert_eq!(world.tx.state, State::OnHold);
        assert_eq!(reasons(&world), [CaseReason::AmountDiffers]);
        assert_eq!(world.tx.cases[0].amount, None);
        assert!(!world.tx.surely_moved_no_money());
        assert!(world.apply(confirm_or_dispatch).is_err());
        assert_eq!(submissions(&world), submitted, "nothing starts");
        assert_eq!(world.answer_about(first, succeeded_unreadably()), Ok(0));
        // The answer to the next query settles it.
        world.answer_about(first, succeeded_with(2_500)).unwrap();
        assert_eq!(world.tx.status(), Status::Success);
        assert_eq!(world.answer_about(first, succeeded_unreadably()), Ok(0));
    }
}

#[test]
fn late_money_of_an_unreadable_amount_stops_what_would_follow_the_attempt_in_progress() {
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    let first = world.current();
    world.answer(declined(false)).unwrap();
    world.apply(confirm_at(route(3))).unwrap();
    world.answer_about(first, succeeded_unreadably()).unwrap();
    world.answer(not_sent()).unwrap();
    assert_eq!(world.tx.state, State::OnHold);
    assert_eq!(submissions(&world), 2);
    // A person who has looked the amount up settles it.
    let looked_up = resolve(Some(first), verdict(Some(2_500), None));
    world.apply(looked_up).unwrap();
    assert_eq!(world.tx.status(), Status::Success);
}

#[test]
fn money_of_an_unreadable_amount_for_a_second_attempt_is_to_be_refunded() {
    let (mut world, first) = payment_after_not_sent();
    world.apply(confirm(1)).unwrap();
    world.answer_about(first, succeeded_unreadably()).unwrap();
    world.answer(succeeded_with(2_500)).unwrap();
    assert_eq!(
        reasons(&world),
        [CaseReason::AmountDiffers, CaseReason::PaidTwice]
    );
    assert!(
        world.tx.cases[1]
            .detail
            .starts_with("an amount that cannot be read")
    );
    for (mut ended, reason) in [
        (World::payment(), CaseReason::MoneyAfterTheEnd),
        (World::payout(), CaseReason::MoneyAfterTheEnd),
    ] {
        match ended.tx.kind() {
            Kind::Payment => ended.apply(confirm(1)).unwrap(),
            Kind::Payout => ended.apply(Command::Dispatch(route(1))).unwrap(),
        };
        let attempt = ended.current();
        ended.answer(declined(false)).unwrap();
        assert!(ended.tx.state.is_final());
        ended.answer_about(attempt, succeeded_unreadably()).unwrap();
        assert_eq!(reasons(&ended), [reason]);
    }
}

#[test]
fn an_open_attempt_with_money_of_an_unreadable_amount_is_not_a_success_and_not_declined() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(succeeded_unreadably()).unwrap();
    assert_eq!(world.tx.state, State::InDoubt);
    assert_eq!(reasons(&world), [CaseReason::AmountDiffers]);
    world.answer(declined(false)).unwrap();
    assert_eq!(world.tx.state, State::InDoubt, "a person decides");
    world.answer(succeeded_with(2_500)).unwrap();
    assert_eq!(world.tx.status(), Status::Success);
}

#[test]
fn the_rest_of_the_money_settles_a_held_transaction() {
    let (mut world, first) = payment_after_not_sent();
    world.answer_about(first, succeeded_with(1_000)).unwrap();
    world.answer_about(first, succeeded_with(2_000)).unwrap();
    assert_eq!(
        reasons(&world),
        [CaseReason::AmountDiffers],
        "one case, amended"
    );
    assert_eq!(
        world.tx.received().unwrap().single().unwrap(),
        amount(2_000)
    );
    world.answer_about(first, succeeded_with(2_500)).unwrap();
    assert_eq!(world.tx.status(), Status::Success);
}

#[test]
fn an_operator_lets_the_reported_money_settle_the_transaction() {
    let (mut world, first) = payment_after_not_sent();
    world.answer_about(first, succeeded_with(1_000)).unwrap();
    let all_of_it = resolve(Some(first), verdict(Some(2_500), Some("P1")));
    world.apply(all_of_it).unwrap();
    assert_eq!(world.tx.status(), Status::Success);
    assert!(
        world
            .tx
            .cases
            .iter()
            .all(|case| { case.closed.is_some() || case.reason != CaseReason::AmountDiffers })
    );
}

#[test]
fn a_second_success_under_another_id_or_of_another_amount_opens_a_case() {
    for (again, opens) in [
        (succeeded_under("P1", 2_500), 0),
        (succeeded_under("P2", 2_500), 1),
        (succeeded_under("P1", 1_000), 1),
        (succeeded(), 0),
    ] {
        let mut world = World::payment();
        world.apply(confirm(1)).unwrap();
        world.answer(succeeded_with(2_500)).unwrap();
        for _ in 0..2 {
            world.answer(again.clone()).unwrap();
        }
        assert_eq!(
            reasons(&world),
            vec![CaseReason::ContradictingSuccess; opens]
        );
        assert_eq!(world.tx.attempts[0].captured, Some(amount(2_500)));
        assert_eq!(world.tx.attempts[0].provider_id.as_deref(), Some("P1"));
    }
}

#[test]
fn the_amount_received_counts_each_charge_of_an_attempt_once() {
    for (again, received) in [
        (succeeded_under("P1", 2_500), 2_500),
        (succeeded_under("P2", 2_500), 5_000),
        (succeeded_under("P2", 1_000), 3_500),
        (succeeded_under("P1", 1_000), 2_500),
        (succeeded(), 2_500),
    ] {
        let mut world = World::payment();
        world.apply(confirm(1)).unwrap();
        world.answer(succeeded_with(2_500)).unwrap();
        for _ in 0..2 {
            world.answer(again.clone()).unwrap();
        }
        let total = world.tx.received().unwrap();
        assert_eq!(total.amounts, [amount(received)], "{again:?}");
    }
    // Before the attempt has ended, the latest report of each charge counts.
    let (mut world, first) = payment_after_not_sent();
    for (id, minor) in [("P1", 1_000), ("P2", 500), ("P1", 1_200)] {
        world
            .answer_about(first, succeeded_under(id, minor))
            .unwrap();
    }
    assert_eq!(
        world.tx.received().unwrap().single().unwrap(),
        amount(1_700)
    );
}

#[test]
fn money_in_several_currencies_is_summed_in_each() {
    let (mut world, first) = payment_after_not_sent();
    let francs = Amount::from_minor(700, Currency::from_code("XOF").unwrap());
    let other = Outcome::Succeeded {
        provider_id: Some("P9".to_owned()),
        amount: Captured::Named(francs),
        fees: None,
        provider_status: None,
    };
    world.answer_about(first, other).unwrap();
    let received = world.tx.received().unwrap();
    assert_eq!(received.amounts, [francs]);
    assert!(!received.is_part(), "francs are no part of dollars");
    world.answer_about(first, succeeded_with(1_000)).unwrap();
    let received = world.tx.received().unwrap();
    assert_eq!(received.amounts, [francs, amount(1_000)]);
}

#[test]
fn a_success_leaves_no_failure_of_its_attempt_behind() {
    let mut world = World::payment_with(2);
    world.apply(confirm(1)).unwrap();
    let first = world.current();
    world.answer(declined(false)).unwrap();
    assert!(world.tx.attempts[0].decline.is_some());
    world.answer_about(first, succeeded_with(2_500)).unwrap();
    assert_eq!(world.tx.status(), Status::Success);
    let attempt = &world.tx.attempts[0];
    assert_eq!((&attempt.decline, &attempt.why), (&None, &None));
}

#[test]
fn the_merchant_is_told_of_each_amount_that_is_reported() {
    let (mut world, first) = payment_after_not_sent();
    let mails = |world: &World| {
        let is_mail = |action: &&Action| matches!(action, Action::Mail(_));
        world.actions.iter().filter(is_mail).count()
    };
    for (minor, told) in [(500, 1), (700, 2), (700, 2)] {
        world.answer_about(first, succeeded_with(minor)).unwrap();
        assert_eq!(mails(&world), told, "{minor}");
    }
}

#[test]
fn more_than_was_asked_is_a_success_and_a_surplus_to_return() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(succeeded_with(3_000)).unwrap();
    assert_eq!(world.tx.status(), Status::Success);
    assert_eq!(reasons(&world), [CaseReason::Surplus]);
    assert!(
        world.tx.cases[0].detail.contains("5.00"),
        "{}",
        world.tx.cases[0].detail
    );
}

#[test]
fn a_closed_case_does_not_silence_other_money() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    let first = world.current();
    world.answer(declined(false)).unwrap();
    world
        .answer_about(first, succeeded_under("P1", 2_500))
        .unwrap();
    let case = world.tx.cases[0].id;
    world
        .apply(by_operator(OperatorCommand::CloseCase(case)))
        .unwrap();
    world
        .answer_about(first, succeeded_under("P1", 2_500))
        .unwrap();
    assert_eq!(world.tx.cases.len(), 1, "the same money again");
    world
        .answer_about(first, succeeded_under("P2", 2_500))
        .unwrap();
    world
        .answer_about(first, succeeded_under("P1", 700))
        .unwrap();
    assert_eq!(world.tx.cases.len(), 3, "another id, and another amount");
    let mut ids: Vec<_> = world.tx.cases.iter().map(|case| case.id).collect();
    ids.dedup();
    assert_eq!(ids.len(), 3);
}

#[test]
fn a_surplus_and_a_second_payment_are_two_cases_with_two_ids() {
    let (mut world, _) = payment_paid_by_its_first_attempt(route(1));
    world.answer(succeeded_under("P2", 2_600)).unwrap();
    let cases = &world.tx.cases;
    assert_eq!(
        reasons(&world)[1..],
        [CaseReason::Surplus, CaseReason::PaidTwice]
    );
    assert_ne!(cases[1].id, cases[2].id);
}

#[test]
fn an_id_that_the_provider_uses_twice_has_the_attempt_queried_and_changes_nothing() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(pending()).unwrap();
    world.wait(60);
    let attempt = world.current();
    let ambiguous = Command::AmbiguousId {
        attempt,
        provider_id: "P1".to_owned(),
        reported: None,
    };
    world.apply(ambiguous.clone()).unwrap();
    assert_eq!(world.tx.state, State::AwaitingProvider);
    assert_eq!(reasons(&world), [CaseReason::AmbiguousProviderId]);
    assert_eq!(world.actions.last(), Some(&Action::Query { attempt }));
    world.wait(60);
    world.apply(ambiguous).unwrap();
    assert_eq!(world.tx.cases.len(), 1);
}

#[test]
fn a_closed_case_about_a_reversal_does_not_silence_the_reversal_of_another_charge() {
    let reversed = |id: Option<&str>| match declined(false) {
        Outcome::Declined(decline) => Outcome::Declined(Decline {
            provider_id: id.map(str::to_owned),
            ..decline
        }),
        other => other,
    };
    for (second, opens) in [(Some("P1"), 2), (None, 2), (Some("P2"), 1)] {
        let mut world = World::payment();
        world.apply(confirm(1)).unwrap();
        let attempt = world.current();
        world.answer(succeeded_with(2_500)).unwrap();
        world.answer_about(attempt, reversed(Some("P2"))).unwrap();
        assert_eq!(reasons(&world), [CaseReason::SuccessContradicted]);
        let case = world.tx.cases[0].id;
        world
            .apply(by_operator(OperatorCommand::CloseCase(case)))
            .unwrap();
        world.answer_about(attempt, reversed(second)).unwrap();
        world.answer_about(attempt, reversed(second)).unwrap();
        assert_eq!(world.tx.cases.len(), opens, "{second:?}");
    }
}
