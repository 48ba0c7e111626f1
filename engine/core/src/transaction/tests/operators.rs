//! Orders of an operator: query, settle, close cases, cancel.

use super::fixtures::*;
use crate::transaction::*;

/// A payout with an unknown outcome, three days old, with its case.
fn with_a_case() -> World {
    let mut world = World::payout();
    world.apply(Command::Dispatch(route(2))).unwrap();
    world.answer(unknown()).unwrap();
    while world.tx.cases.is_empty() {
        world.now = world.tx.wake_at().unwrap();
        world.apply(Command::Wake).unwrap();
    }
    world
}

#[test]
fn a_check_asks_at_once_and_a_second_press_does_not() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(unknown()).unwrap();
    world.wait(2);
    let planned = world.tx.wake_at();
    assert_eq!(world.apply(by_operator(OperatorCommand::Check)), Ok(2));
    let attempt = world.current();
    assert_eq!(world.actions.last(), Some(&Action::Query { attempt }));
    assert_eq!(world.tx.wake_at(), planned, "the schedule stays");
    assert_eq!(world.apply(by_operator(OperatorCommand::Check)), Ok(0));
    world.wait(2);
    assert_eq!(world.apply(by_operator(OperatorCommand::Check)), Ok(2));
}

#[test]
fn settling_ends_the_transaction_closes_its_cases_and_tells_the_merchant() {
    for (by, status, last) in [
        (verdict(None, Some("P9")), Status::Success, "payout.success"),
        (
            Verdict::Failed {
                message: Some("Refused by the bank.".to_owned()),
            },
            Status::Failed,
            "payout.failed",
        ),
        (Verdict::NeverSent, Status::Failed, "payout.failed"),
    ] {
        let mut world = with_a_case();
        world.apply(resolve(Some(world.current()), by)).unwrap();
        assert_eq!(world.tx.status(), status);
        assert_eq!(world.announced().last(), Some(&last));
        let closed = world.tx.cases[0].closed.as_ref().unwrap();
        assert_eq!(closed.by.name, "Ada");
        assert_eq!(closed.note.as_deref(), Some("seen in the provider's books"));
        assert_eq!(world.tx.attempts.len(), 1, "nothing is submitted anew");
        let acted = |event: &&Event| matches!(event, Event::OperatorActed { .. });
        assert_eq!(world.events.iter().filter(acted).count(), 1);
        assert_eq!(
            world.apply(resolve(None, Verdict::NeverSent)),
            Err(Refusal::AlreadyEnded(status)),
            "an end never changes"
        );
    }
}

#[test]
fn after_a_persons_failed_the_payer_is_not_invited_to_pay_again() {
    for (answer, gives_up) in [(pending(), false), (unknown(), false), (pending(), true)] {
        let mut world = World::payment_with(3);
        world.apply(confirm_at(can_cancel(2))).unwrap();
        world.answer(answer).unwrap();
        if gives_up {
            world.wait(130);
            world.apply(Command::GiveUp).unwrap();
            world.answer(unknown()).unwrap();
        }
        let failed = Verdict::Failed { message: None };
        world.apply(resolve(None, failed)).unwrap();
        // The person can be mistaken, and the provider has said nothing final.
        assert_eq!(world.tx.status(), Status::Failed);
        assert_eq!(world.tx.attempts.len(), 1);
    }
}

#[test]
fn after_a_persons_never_sent_the_payer_may_choose_again() {
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    world.answer(unknown()).unwrap();
    world.apply(resolve(None, Verdict::NeverSent)).unwrap();
    assert_eq!(world.tx.state, State::AwaitingCustomer);
}

#[test]
fn a_check_after_a_persons_failed_finds_the_money_that_came_in() {
    for mut world in [World::payment_with(3), World::payout()] {
        let start = match world.tx.kind() {
            Kind::Payment => confirm(1),
            Kind::Payout => Command::Dispatch(route(1)),
        };
        world.apply(start).unwrap();
        world.answer(pending()).unwrap();
        let attempt = world.current();
        let failed = Verdict::Failed { message: None };
        world.apply(resolve(None, failed)).unwrap();
        world.wait(30);
        assert_eq!(world.apply(by_operator(OperatorCommand::Check)), Ok(2));
        assert_eq!(world.actions.last(), Some(&Action::Query { attempt }));
        assert_eq!(world.tx.wake_at(), None, "an end has no schedule");
        assert_eq!(world.apply(by_operator(OperatorCommand::Check)), Ok(0));
        world.answer(pending()).unwrap();
        world.answer(succeeded()).unwrap();
        assert_eq!(world.tx.status(), Status::Failed, "an end never changes");
        let reasons: Vec<CaseReason> = world.tx.cases.iter().map(|case| case.reason).collect();
        assert_eq!(
            reasons,
            [CaseReason::FoundAfterNotSent, CaseReason::MoneyAfterTheEnd]
        );
    }
}

#[test]
fn a_success_without_the_name_of_its_attempt_is_refused_while_another_one_has_money() {
    let world = || {
        let mut world = World::payment_with(3);
        world.apply(confirm(1)).unwrap();
        let first = world.current();
        world.answer(declined(false)).unwrap();
        world.apply(confirm(1)).unwrap();
        world.answer(pending()).unwrap();
        world.answer_about(first, succeeded()).unwrap();
        (world, first)
    };
    let (mut unnamed, first) = world();
    let open = unnamed.current();
    assert_eq!(
        unnamed.apply(resolve(None, verdict(None, Some("P7")))),
        Err(Refusal::WhichAttempt { open, paid: first })
    );
    unnamed
        .apply(resolve(None, Verdict::Failed { message: None }))
        .unwrap();
    assert_eq!(
        unnamed.tx.status(),
        Status::Success,
        "by the money of the first"
    );
    let (mut named, _) = world();
    let open = named.current();
    named
        .apply(resolve(Some(open), verdict(Some(2_500), Some("P7"))))
        .unwrap();
    let reasons = named.tx.cases.iter().map(|case| case.reason);
    assert!(reasons.collect::<Vec<_>>().contains(&CaseReason::PaidTwice));
}

#[test]
fn a_check_of_an_end_by_the_providers_statement_is_refused() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(declined(false)).unwrap();
    assert_eq!(
        world.apply(by_operator(OperatorCommand::Check)),
        Err(Refusal::AlreadyEnded(Status::Failed))
    );
}

#[test]
fn what_contradicts_a_persons_word_opens_another_case_and_changes_nothing() {
    let mut world = with_a_case();
    world
        .apply(resolve(None, Verdict::Failed { message: None }))
        .unwrap();
    world.answer(succeeded()).unwrap();
    assert_eq!(world.tx.status(), Status::Failed);
    let open: Vec<&Case> = world
        .tx
        .cases
        .iter()
        .filter(|case| case.closed.is_none())
        .collect();
    assert_eq!(open.len(), 1);
    assert_eq!(open[0].reason, CaseReason::MoneyAfterTheEnd);
    let id = open[0].id;
    world
        .apply(by_operator(OperatorCommand::CloseCase(id)))
        .unwrap();
    assert_eq!(
        world.apply(by_operator(OperatorCommand::CloseCase(id))),
        Err(Refusal::CaseClosed)
    );
    world.answer(succeeded()).unwrap();
    assert_eq!(world.tx.cases.len(), 2, "the same news is no new case");
}

#[test]
fn a_case_about_an_open_attempt_is_closed_by_settling_it() {
    let mut world = with_a_case();
    let id = world.tx.cases[0].id;
    assert_eq!(
        world.apply(by_operator(OperatorCommand::CloseCase(id))),
        Err(Refusal::CaseAboutOpenAttempt)
    );
}

#[test]
fn after_another_amount_was_reported_a_success_needs_the_amount_that_came_in() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(succeeded_with(2_499)).unwrap();
    assert!(world.tx.cases[0].detail.contains("P1"));
    assert_eq!(
        world.apply(resolve(None, verdict(None, Some("P1")))),
        Err(Refusal::AmountNeeded)
    );
    assert_eq!(
        world.apply(resolve(None, Verdict::NeverSent)),
        Err(Refusal::ProviderHasIt)
    );
    world
        .apply(resolve(None, verdict(Some(2_600), Some("P1"))))
        .unwrap();
    assert_eq!(world.tx.status(), Status::Success);
    assert_eq!(world.tx.attempts[0].captured, Some(amount(2_600)));
    assert_eq!(world.tx.attempts[0].provider_id.as_deref(), Some("P1"));
}

#[test]
fn a_payment_is_cancelled_by_the_providers_word_and_by_nothing_less() {
    let mut world = World::payment_with(3);
    world.apply(confirm_at(can_cancel(2))).unwrap();
    world.answer(pending()).unwrap();
    let call_off = Command::Cancel(CancelledBy::Customer);
    assert_eq!(world.apply(call_off.clone()), Ok(1));
    let attempt = world.current();
    assert_eq!(
        world.actions.last(),
        Some(&Action::CancelRequest { attempt })
    );
    assert_eq!(world.apply(call_off), Ok(0), "asked a moment ago");
    for nothing in [unknown(), not_sent(), pending()] {
        world.answer(nothing).unwrap();
        assert_eq!(world.tx.status(), Status::Pending);
    }
    world.answer(declined(true)).unwrap();
    assert_eq!(world.tx.status(), Status::Cancelled);
    assert_eq!(world.tx.attempts.len(), 1, "nobody tries elsewhere");
    assert_eq!(
        world.announced(),
        ["payment.initiated", "payment.cancelled"]
    );
}

#[test]
fn what_was_called_off_too_late_is_paid() {
    let mut world = World::payment();
    world.apply(confirm_at(can_cancel(1))).unwrap();
    world.answer(pending()).unwrap();
    world.apply(by_operator(OperatorCommand::Cancel)).unwrap();
    world.answer(succeeded()).unwrap();
    assert_eq!(world.tx.status(), Status::Success);
}

#[test]
fn an_operator_cancels_what_no_provider_has() {
    let mut world = World::payment();
    assert_eq!(world.apply(by_operator(OperatorCommand::Cancel)), Ok(2));
    assert_eq!(world.tx.status(), Status::Cancelled);
    assert_eq!(
        world.events.last(),
        Some(&Event::Cancelled {
            by: CancelledBy::Operator
        })
    );
}

#[test]
fn an_operator_stops_a_payout_that_waits_to_be_sent_and_no_other() {
    let mut world = World::payout();
    world.apply(by_operator(OperatorCommand::Cancel)).unwrap();
    assert_eq!(world.tx.status(), Status::Failed);
    let mut world = World::payout();
    world.apply(Command::Dispatch(route(1))).unwrap();
    let cancel = || by_operator(OperatorCommand::Cancel);
    assert_eq!(world.apply(cancel()), Err(Refusal::NotAPayment));
    world.answer(unknown()).unwrap();
    assert_eq!(world.apply(cancel()), Err(Refusal::NotAPayment));
}
