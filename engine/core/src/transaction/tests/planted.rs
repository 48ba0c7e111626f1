//! Rules whose planted faults no other test finds.

use super::fixtures::*;
use crate::ids::AttemptId;
use crate::money::{Amount, Currency};
use crate::transaction::*;

fn second_attempt(outcome: Outcome) -> (World, [AttemptId; 2]) {
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    let first = world.current();
    world.answer(declined(false)).unwrap();
    world.apply(confirm(1)).unwrap();
    world.answer(outcome).unwrap();
    let second = world.current();
    world.wait(1);
    (world, [first, second])
}

fn nameless_pending() -> Outcome {
    Outcome::Pending {
        provider_id: None,
        payer_action: None,
        poll_after: None,
        provider_status: None,
        received: None,
    }
}

#[test]
fn a_provider_that_had_an_attempt_without_an_id_and_lost_it_is_asked_again() {
    for mut world in [World::payment_with(3), World::payout()] {
        match world.tx.kind() {
            Kind::Payment => world.apply(confirm(2)).unwrap(),
            Kind::Payout => world.apply(Command::Dispatch(route(2))).unwrap(),
        };
        world.answer(nameless_pending()).unwrap();
        assert_eq!(world.answer(not_sent()), Ok(0));
        assert_eq!(world.tx.state, State::AwaitingProvider);
        assert_eq!(world.tx.attempts.len(), 1, "nothing follows it");
    }
}

#[test]
fn a_repeated_call_off_is_still_of_the_one_who_asked_for_it() {
    for (by_payer, then) in [
        (true, AfterCallOff::ChooseAgain),
        (false, AfterCallOff::Cancel),
    ] {
        let mut world = World::payment_with(3);
        world.apply(confirm_at(can_cancel(1))).unwrap();
        world.answer(pending()).unwrap();
        world.wait(120);
        match by_payer {
            true => world.apply(Command::GiveUp).unwrap(),
            false => world.apply(by_operator(OperatorCommand::Cancel)).unwrap(),
        };
        let by = world.tx.attempts[0].call_off.unwrap().by;
        world.wait(3_600);
        assert_eq!(world.apply(Command::Wake), Ok(2));
        let repeated = world.tx.attempts[0].call_off.unwrap();
        assert_eq!((repeated.by, repeated.then), (by, then));
        assert_eq!(repeated.asked_at, world.now);
        world.answer(declined(false)).unwrap();
        let waits = world.tx.state == State::AwaitingCustomer;
        assert_eq!(waits, by_payer, "{:?}", world.tx.state);
    }
}

#[test]
fn a_call_off_is_not_repeated_once_a_case_names_money_of_the_attempt() {
    for report in [succeeded_with(1_000), succeeded_unreadably()] {
        let mut world = World::payment_with(3);
        world.apply(confirm_at(can_cancel(1))).unwrap();
        world.answer(pending()).unwrap();
        world.wait(120);
        world.apply(Command::GiveUp).unwrap();
        world.answer(report).unwrap();
        let asked = call_offs(&world);
        world.wait(3_600);
        assert_eq!(world.apply(Command::Wake), Ok(1));
        assert_eq!(call_offs(&world), asked);
    }
}

#[test]
fn a_refund_names_the_sum_and_the_id_of_the_money_that_is_to_be_refunded() {
    let (mut world, [first, _]) = second_attempt(pending());
    world
        .answer_about(first, reported("P1", amount(2_700)))
        .unwrap();
    world.answer(reported("P2", amount(2_500))).unwrap();
    let twice = world.tx.cases.last().unwrap();
    assert_eq!(twice.reason, CaseReason::PaidTwice);
    assert_eq!(twice.amount, Some(amount(2_700)));
    assert_eq!(twice.provider_id.as_deref(), Some("P1"));
}

#[test]
fn a_case_without_money_after_a_reversal_brings_no_money_back() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    let attempt = world.current();
    world.answer(succeeded_with(1_000)).unwrap();
    world.wait(1);
    world.answer(declined(false)).unwrap();
    assert_eq!(world.tx.taken_back(), TakenBack::All);
    let provider_id = "P1".to_owned();
    world
        .apply(Command::AmbiguousId {
            attempt,
            provider_id,
            reported: None,
        })
        .unwrap();
    world.wait(3 * 24 * 3_600);
    world.apply(Command::Wake).unwrap();
    assert_eq!(reasons(&world).last(), Some(&CaseReason::NoFinalAnswer));
    assert_eq!(world.tx.taken_back(), TakenBack::All);
    // Nor does it make the same reversal a new one.
    assert_eq!(world.answer(declined(false)), Ok(0));
}

#[test]
fn of_two_charges_only_a_part_is_surely_taken_back() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    let attempt = world.current();
    world.answer(reported("P1", amount(2_500))).unwrap();
    world.answer(reported("P2", amount(2_500))).unwrap();
    world.wait(1);
    world.answer_about(attempt, declined(false)).unwrap();
    assert_eq!(
        world.tx.received().unwrap().single().unwrap(),
        amount(5_000)
    );
    assert_eq!(world.tx.taken_back(), TakenBack::Part);
}

#[test]
fn a_callback_after_the_end_of_an_attempt_does_not_confirm_its_end() {
    let mut world = World::payment_with(3);
    world.apply(confirm_at(ending(route(1), 300))).unwrap();
    world.answer(pending()).unwrap();
    let attempt = world.current();
    world.wait(600);
    // It may have been in flight since before the end, and the payer may have paid since.
    world.answer_about(attempt, pending()).unwrap();
    assert_eq!(world.tx.state, State::AwaitingProvider);
    world.answer(pending()).unwrap();
    assert_eq!(world.tx.state, State::AwaitingCustomer);
}

#[test]
fn money_that_was_taken_back_once_settles_nothing_however_often_it_is_reported() {
    let (mut world, [first, _]) = second_attempt(declined(false));
    for report in [
        succeeded_with(1_000),
        declined(false),
        succeeded_with(2_500),
    ] {
        world.wait(1);
        world.answer_about(first, report).unwrap();
    }
    assert_eq!(world.tx.taken_back(), TakenBack::Nothing);
    world.answer_about(first, succeeded_with(2_600)).unwrap();
    assert_eq!(world.tx.state, State::OnHold, "a person decides");
}

#[test]
fn money_that_was_taken_back_and_reported_again_beside_an_attempt_waits_for_a_person() {
    let (mut world, [first, second]) = second_attempt(pending());
    for report in [
        succeeded_with(2_500),
        declined(false),
        succeeded_with(2_600),
    ] {
        world.wait(1);
        world.answer_about(first, report).unwrap();
    }
    world.answer_about(second, declined(false)).unwrap();
    assert_eq!(world.tx.state, State::OnHold);
}

#[test]
fn a_part_that_is_reported_late_for_the_attempt_that_succeeded_is_no_second_payment() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(succeeded_with(2_500)).unwrap();
    for minor in [1_000, 2_500] {
        assert_eq!(world.answer(part(minor)), Ok(0), "{minor}");
    }
    assert_eq!(
        world.tx.received().unwrap().single().unwrap(),
        amount(2_500)
    );
}

#[test]
fn of_two_attempts_paid_after_the_end_the_latest_one_tells() {
    let (mut world, attempts) = second_attempt(declined(false));
    world.apply(confirm(1)).unwrap();
    world.answer(declined(false)).unwrap();
    assert_eq!(world.tx.status(), Status::Failed);
    for attempt in attempts {
        world.answer_about(attempt, succeeded_with(2_500)).unwrap();
        assert_eq!(world.tx.deciding_attempt().unwrap().id, attempt);
    }
    for case in [0, 1].map(|number: usize| world.tx.cases[number].id) {
        world
            .apply(by_operator(OperatorCommand::CloseCase(case)))
            .unwrap();
    }
    assert_eq!(world.tx.deciding_attempt().unwrap().id, attempts[1]);
}

#[test]
fn the_text_of_an_amended_case_names_the_new_amount() {
    let (mut world, [first, _]) = second_attempt(pending());
    for (minor, text) in [(1_000, "$ 10.00"), (1_200, "$ 12.00")] {
        world.answer_about(first, succeeded_with(minor)).unwrap();
        let [case] = &world.tx.cases[..] else {
            panic!("{:?}", world.tx.cases);
        };
        assert_eq!(case.amount, Some(amount(minor)));
        assert!(case.detail.contains(text), "{}", case.detail);
    }
}

fn francs(minor: i64) -> Amount {
    Amount::from_minor(minor, Currency::from_code("XOF").unwrap())
}

fn confirm_in_francs() -> Command {
    let Command::Confirm(mut confirm) = confirm(1) else {
        unreachable!()
    };
    confirm.price = Price::plain(francs(16_000));
    Command::Confirm(confirm)
}

#[test]
fn a_person_settles_an_attempt_with_the_amount_that_it_asked_for() {
    let mut world = World::payment();
    world.apply(confirm_in_francs()).unwrap();
    world.answer(pending()).unwrap();
    world.apply(resolve(None, verdict(None, None))).unwrap();
    assert_eq!(world.tx.attempts[0].captured, Some(francs(16_000)));
}

#[test]
fn a_success_without_an_amount_repeats_one_of_a_surplus() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(succeeded_with(3_000)).unwrap();
    assert_eq!(world.answer(succeeded()), Ok(0), "it names no amount");
}

#[test]
fn the_part_that_came_is_compared_with_what_its_attempt_asked() {
    let mut world = World::payment();
    world.apply(confirm_in_francs()).unwrap();
    world.answer(reported("P1", francs(9_000))).unwrap();
    let received = world.tx.received().unwrap();
    assert_eq!(received.asked, francs(16_000));
    assert!(received.is_part());
}

#[test]
fn a_connection_comes_once_in_what_is_left_after_one_was_stepped_over() {
    let mut world = World::payment();
    world.apply(confirm(4)).unwrap();
    world.onward = vec![Onward {
        connection: candidate(1).connection,
        standing: Err("it is switched off"),
    }];
    world.answer(declined(true)).unwrap();
    let next = &world.tx.attempts[1];
    assert_eq!(next.candidate, candidate(2));
    assert_eq!(next.remaining, [candidate(3)]);
}

#[test]
fn an_attempt_that_ended_by_itself_starts_no_other_one() {
    for mut world in [World::payment_with(3), World::payout()] {
        match world.tx.kind() {
            Kind::Payment => world.apply(confirm_at(ending(route(2), 300))).unwrap(),
            Kind::Payout => world
                .apply(Command::Dispatch(ending(route(2), 300)))
                .unwrap(),
        };
        world.answer(pending()).unwrap();
        world.wait(600);
        world.answer(pending()).unwrap();
        assert_eq!(world.tx.attempts.len(), 1, "{:?}", world.tx.state);
        assert!(!world.tx.has_open_attempt());
    }
}

#[test]
fn the_case_of_a_part_at_the_end_names_what_earlier_reports_said() {
    let mut world = World::payment_with(3);
    world.apply(confirm_at(ending(route(1), 300))).unwrap();
    world.answer(part(1_000)).unwrap();
    world.wait(600);
    // The last answer names neither the part nor the id.
    world.answer(nameless_pending()).unwrap();
    let [case] = &world.tx.cases[..] else {
        panic!("{:?}", world.tx.cases);
    };
    assert_eq!(case.reason, CaseReason::AmountDiffers);
    assert_eq!(case.amount, Some(amount(1_000)));
    assert_eq!(case.provider_id.as_deref(), Some("P1"));
}

#[test]
fn the_recorded_amount_counts_more_than_a_part_of_before() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(part(2_700)).unwrap();
    world.answer(succeeded_with(2_500)).unwrap();
    assert_eq!(
        world.tx.received().unwrap().single().unwrap(),
        amount(2_500)
    );
}
