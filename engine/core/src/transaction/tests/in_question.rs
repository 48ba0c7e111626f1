//! Money that is in question: held, found after all, taken back, or settled by a person.

use super::fixtures::*;
use crate::transaction::*;

#[test]
fn money_of_another_attempt_settles_what_a_person_fails_in_part() {
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    let first = world.current();
    world.answer(declined(false)).unwrap();
    world.apply(confirm(1)).unwrap();
    let second = world.current();
    world.answer(reported("P2", amount(1_000))).unwrap();
    world.answer_about(first, succeeded_with(2_500)).unwrap();
    world
        .apply(resolve(Some(second), Verdict::Failed { message: None }))
        .unwrap();
    assert_eq!(world.tx.status(), Status::Success);
    assert_eq!(world.tx.deciding_attempt().unwrap().id, first);
}

#[test]
fn an_order_about_an_attempt_that_has_ended_settles_no_other() {
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    let first = world.current();
    world.answer(declined(false)).unwrap();
    world.apply(confirm(1)).unwrap();
    world.answer(unknown()).unwrap();
    for by in [
        verdict(None, Some("P9")),
        Verdict::Failed { message: None },
        Verdict::NeverSent,
    ] {
        let settled = world.apply(resolve(Some(first), by));
        assert_eq!(settled, Err(Refusal::AttemptClosed(first)));
    }
    assert_eq!(world.tx.state, State::InDoubt);
}

#[test]
fn an_attempt_that_is_found_after_its_transaction_ended_opens_a_case() {
    for (mut world, begin) in [
        (World::payment(), confirm(1)),
        (World::payout(), Command::Dispatch(route(1))),
    ] {
        world.apply(begin).unwrap();
        let attempt = world.current();
        world.answer(unknown()).unwrap();
        world.wait(3_600);
        world.answer(not_sent()).unwrap();
        world.apply(Command::Wake).unwrap();
        assert!(world.tx.state.is_final(), "{:?}", world.tx.state);
        let status = world.tx.status();
        world.answer_about(attempt, pending()).unwrap();
        assert_eq!(reasons(&world), [CaseReason::FoundAfterNotSent]);
        assert_eq!(world.tx.status(), status);
    }
}

#[test]
fn a_closed_case_about_money_still_says_that_money_moved() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    let attempt = world.current();
    world.answer(declined(false)).unwrap();
    world.answer_about(attempt, succeeded()).unwrap();
    let case = world.tx.cases[0].id;
    world
        .apply(by_operator(OperatorCommand::CloseCase(case)))
        .unwrap();
    assert!(!world.tx.surely_moved_no_money());
}

#[test]
fn money_that_was_taken_back_settles_nothing_although_that_case_is_closed() {
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    let first = world.current();
    world.answer(declined(false)).unwrap();
    world.apply(confirm(1)).unwrap();
    world.answer_about(first, succeeded_with(2_500)).unwrap();
    world.answer_about(first, declined(false)).unwrap();
    world.answer(declined(false)).unwrap();
    assert_eq!(world.tx.state, State::OnHold);
    let reversal = world.tx.cases.last().unwrap();
    assert_eq!(reversal.reason, CaseReason::SuccessContradicted);
    let case = reversal.id;
    world
        .apply(by_operator(OperatorCommand::CloseCase(case)))
        .unwrap();
    world.answer_about(first, succeeded_with(2_500)).unwrap();
    assert_eq!(world.tx.state, State::OnHold, "a person decides");
}

#[test]
fn an_attempt_in_doubt_is_called_off_when_money_comes_for_another() {
    for (before, after) in [
        (Some(unknown()), None),
        (None, Some(unknown())),
        (None, Some(pending())),
    ] {
        let mut world = World::payment_with(3);
        world.apply(confirm(1)).unwrap();
        let first = world.current();
        world.answer(declined(false)).unwrap();
        world.apply(confirm_at(can_cancel(1))).unwrap();
        if let Some(before) = before {
            world.answer(before).unwrap();
        }
        world.answer_about(first, succeeded_with(2_500)).unwrap();
        if let Some(after) = after {
            world.answer(after).unwrap();
        }
        assert_eq!(call_offs(&world), 1);
    }
}

#[test]
fn an_attempt_is_called_off_when_an_earlier_one_is_found_after_all() {
    for answer in [pending(), unknown()] {
        let mut world = World::payment_with(3);
        world.apply(confirm(1)).unwrap();
        let first = world.current();
        world.answer(not_sent()).unwrap();
        world.apply(confirm_at(can_cancel(1))).unwrap();
        world.answer_about(first, pending()).unwrap();
        world.answer(answer).unwrap();
        assert_eq!(call_offs(&world), 1);
    }
}

#[test]
fn nothing_follows_an_attempt_once_an_earlier_one_is_found_after_all() {
    for end in [not_sent(), declined(true), declined(false)] {
        let mut world = World::payment_with(3);
        world.apply(confirm(1)).unwrap();
        let first = world.current();
        world.answer(not_sent()).unwrap();
        world.apply(confirm(3)).unwrap();
        world.answer_about(first, pending()).unwrap();
        world.answer(end).unwrap();
        assert_eq!(world.tx.attempts.len(), 2);
        assert_eq!(world.tx.state, State::OnHold);
    }
}

#[test]
fn a_page_that_cannot_be_opened_reopens_no_payment_that_money_holds() {
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    let first = world.current();
    world.answer(declined(false)).unwrap();
    world.apply(confirm_at(ending(route(1), 600))).unwrap();
    world.answer_about(first, succeeded_with(1_000)).unwrap();
    world.answer(unusable_page()).unwrap();
    assert!(world.tx.attempts[1].call_off.is_none());
}

#[test]
fn a_decline_of_money_that_a_person_settled_as_failed_opens_a_case() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(succeeded_with(1_000)).unwrap();
    world
        .apply(resolve(None, Verdict::Failed { message: None }))
        .unwrap();
    assert!(world.tx.cases[0].closed.is_some());
    world.answer(declined(false)).unwrap();
    assert_eq!(
        reasons(&world),
        [CaseReason::AmountDiffers, CaseReason::SuccessContradicted]
    );
}

#[test]
fn the_end_of_an_attempt_with_reported_money_takes_nothing_back() {
    let mut world = World::payment_with(3);
    world.apply(confirm_at(ending(route(1), 600))).unwrap();
    world.answer(succeeded_with(1_000)).unwrap();
    world.wait(3_600);
    world.answer(pending()).unwrap();
    assert_eq!(reasons(&world), [CaseReason::AmountDiffers]);
}

#[test]
fn a_refund_names_the_latest_amount_of_the_other_attempt_and_only_money_that_is_there() {
    for (news, twice) in [
        (
            vec![reported("P1", amount(1_000)), reported("P1", amount(2_500))],
            Some(Some(amount(2_500))),
        ),
        (vec![reported("P1", amount(2_500)), declined(false)], None),
    ] {
        let mut world = World::payment_with(3);
        world.apply(confirm(1)).unwrap();
        let first = world.current();
        world.answer(declined(false)).unwrap();
        world.apply(confirm(1)).unwrap();
        for report in news {
            world.answer_about(first, report).unwrap();
        }
        world.answer(reported("P2", amount(2_500))).unwrap();
        let mut cases = world.tx.cases.iter();
        let refund = cases.find(|case| case.reason == CaseReason::PaidTwice);
        assert_eq!(refund.map(|case| case.amount), twice);
    }
}

#[test]
fn money_that_a_person_settled_is_not_to_be_refunded_once_more() {
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    let first = world.current();
    world.answer(declined(false)).unwrap();
    world.apply(confirm(1)).unwrap();
    let second = world.current();
    world.answer(reported("P2", amount(1_000))).unwrap();
    world
        .answer_about(first, reported("P1", amount(500)))
        .unwrap();
    world
        .apply(resolve(Some(second), Verdict::Failed { message: None }))
        .unwrap();
    assert_eq!(world.tx.state, State::OnHold);
    world
        .answer_about(first, reported("P1", amount(2_500)))
        .unwrap();
    assert_eq!(world.tx.status(), Status::Success);
    assert!(!reasons(&world).contains(&CaseReason::PaidTwice));
}

#[test]
fn a_persons_success_has_the_id_that_was_reported_last() {
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    let first = world.current();
    world.answer(not_sent()).unwrap();
    world
        .answer_about(first, reported("P1", amount(500)))
        .unwrap();
    world
        .answer_about(first, reported("P2", amount(2_000)))
        .unwrap();
    world
        .apply(resolve(Some(first), verdict(Some(2_500), None)))
        .unwrap();
    assert_eq!(world.tx.attempts[0].provider_id.as_deref(), Some("P2"));
}

#[test]
fn an_attempt_that_was_found_is_settled_with_the_money_of_another() {
    let mut world = World::payment_with(3);
    world.apply(confirm(2)).unwrap();
    let first = world.current();
    world.answer(not_sent()).unwrap();
    let second = world.current();
    world.answer(not_sent()).unwrap();
    world.answer_about(first, pending()).unwrap();
    world.answer_about(second, succeeded_with(1_000)).unwrap();
    world
        .apply(resolve(Some(second), Verdict::Failed { message: None }))
        .unwrap();
    assert!(world.tx.cases.iter().all(|case| case.closed.is_some()));
}

#[test]
fn a_held_transaction_tells_of_the_attempt_that_holds_it() {
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    let first = world.current();
    world.answer(declined(false)).unwrap();
    world.apply(confirm(1)).unwrap();
    let second = world.current();
    world
        .answer_about(first, reported("P1", amount(1_000)))
        .unwrap();
    world.answer(declined(false)).unwrap();
    assert_eq!(world.tx.state, State::OnHold);
    assert_eq!(world.tx.deciding_attempt().unwrap().id, first);
    // Of two, the latest report.
    world
        .answer_about(second, reported("P2", amount(500)))
        .unwrap();
    assert_eq!(world.tx.held_attempt().unwrap().id, second);
}

#[test]
fn nothing_is_settled_while_a_code_is_on_its_way() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(enter_code("Look at your phone.")).unwrap();
    let attempt = world.current();
    let code = Command::SubmitCode {
        attempt,
        tried: 0,
        code: "1234".into(),
    };
    world.apply(code).unwrap();
    for by in [verdict(None, Some("P9")), Verdict::Failed { message: None }] {
        assert_eq!(
            world.apply(resolve(None, by)),
            Err(Refusal::AttemptUnderWay)
        );
    }
}

#[test]
fn the_attempt_whose_money_came_tells_of_a_transaction_without_a_success() {
    let begun = |world: &mut World, outcome| {
        world.apply(confirm(1)).unwrap();
        let attempt = world.current();
        world.answer(outcome).unwrap();
        attempt
    };
    let telling = |world: &World| world.tx.deciding_attempt().unwrap().id;
    // With another attempt in progress.
    let mut world = World::payment_with(2);
    let first = begun(&mut world, declined(false));
    let last = begun(&mut world, pending());
    assert_eq!(telling(&world), last);
    world.answer_about(first, succeeded()).unwrap();
    assert!(world.tx.has_open_attempt());
    assert_eq!(telling(&world), first);
    // After the end, also once its case is closed.
    let mut world = World::payment_with(2);
    let first = begun(&mut world, declined(false));
    let last = begun(&mut world, declined(false));
    assert_eq!((world.tx.status(), telling(&world)), (Status::Failed, last));
    world.answer_about(first, succeeded()).unwrap();
    assert_eq!(telling(&world), first);
    let case = world.tx.cases[0].id;
    world
        .apply(by_operator(OperatorCommand::CloseCase(case)))
        .unwrap();
    assert_eq!(telling(&world), first);
    // A case that reports no money, or money that holds nothing, is of no attempt that was paid.
    let mut case = world.tx.cases[0].clone();
    case.reference = world.tx.attempt(last).unwrap().reference;
    for reason in [
        CaseReason::FoundAfterNotSent,
        CaseReason::ContradictingSuccess,
    ] {
        let case = case.clone();
        world.tx.cases.push(Case { reason, ..case });
        assert_eq!(telling(&world), first, "{reason:?}");
    }
}
