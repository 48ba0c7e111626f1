//! The rest of the rules whose planted faults no other test finds: codes, time, orders and words.

use std::time::Duration;

use super::fixtures::*;
use crate::ids::AttemptId;
use crate::money::{Amount, Currency};
use crate::transaction::*;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn place(world: &World, is_one: fn(&Event) -> bool) -> Option<usize> {
    world.events.iter().position(is_one)
}

fn wake(world: &mut World) {
    world.now = world.tx.wake_at().unwrap();
    world.apply(Command::Wake).unwrap();
}

fn code(world: &World, attempt: usize, tried: u32) -> Command {
    Command::SubmitCode {
        attempt: world.tx.attempts[attempt].id,
        tried,
        code: "73910428".into(),
    }
}

/// The gateway came back with the code, and its state is as before.
fn back(world: &mut World, outcome: Outcome) {
    let command = Command::CodeAnswer {
        attempt: world.current(),
        outcome,
        gateway_state: Some(serde_json::Value::Null),
    };
    world.apply(command).unwrap();
}

fn recover(world: &World) -> Command {
    Command::Recover {
        attempt: world.current(),
        maybe_sent: false,
        gateway_state: None,
    }
}

#[test]
fn a_code_is_for_the_attempt_that_asks_and_from_a_page_that_knows_as_many() {
    let (mut world, _) = second_attempt(enter_code("Look."));
    let other = world.apply(code(&world, 0, 0));
    assert_eq!(other, Err(Refusal::NoCodeAsked));
    assert_eq!(world.apply(code(&world, 1, 5)), Ok(0), "of another page");
    assert_eq!(world.apply(code(&world, 1, 0)), Ok(1));
}

#[test]
fn a_code_that_is_asked_for_in_the_same_words_may_be_typed_again() {
    let (mut world, _) = second_attempt(enter_code("Look."));
    world.apply(code(&world, 1, 0)).unwrap();
    back(&mut world, enter_code("Look."));
    assert!(world.tx.asks_for_code().is_some());
}

#[test]
fn what_the_payer_does_after_the_code_is_kept() {
    let (mut world, _) = second_attempt(enter_code("Look."));
    world.apply(code(&world, 1, 0)).unwrap();
    back(&mut world, pending_with(Some(PayerAction::Wait)));
    assert_eq!(
        current_attempt(&world).payer_action,
        Some(PayerAction::Wait)
    );
}

#[test]
fn a_new_code_leaves_no_word_of_the_lost_one_and_the_end_leaves_no_code_away() {
    let (mut world, _) = second_attempt(enter_code("Look."));
    world.apply(code(&world, 1, 0)).unwrap();
    back(&mut world, unknown());
    assert!(current_attempt(&world).why.is_some());
    world.apply(code(&world, 1, 1)).unwrap();
    assert_eq!(current_attempt(&world).why, None);
    world.answer(declined(false)).unwrap();
    assert_eq!(current_attempt(&world).code_away_since, None);
}

#[test]
fn a_held_payment_is_queried_daily_whatever_is_heard_between() {
    let (mut world, [first, _]) = second_attempt(declined(false));
    tell(&mut world, first, [usd("P1", 1_000)]);
    for _ in 0..2 {
        wake(&mut world);
        assert_eq!(world.tx.wake_at(), Some(world.now.plus(DAY)));
    }
    let planned = world.tx.wake_at();
    world.wait(100);
    tell(&mut world, first, [usd("P1", 900)]);
    assert_eq!(world.tx.wake_at(), planned);
}

#[test]
fn the_method_is_that_of_the_attempt_whose_money_holds_the_payment() {
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    let first = world.current();
    world.answer(declined(false)).unwrap();
    let Command::Confirm(mut other) = confirm(1) else {
        panic!("confirms");
    };
    other.method = "moov_bj".to_owned();
    world.apply(Command::Confirm(other)).unwrap();
    world.answer(declined(false)).unwrap();
    assert_eq!(world.tx.method(), Some("moov_bj"));
    tell(&mut world, first, [usd("P1", 1_000)]);
    assert_eq!(world.tx.method(), Some("mtn_bj"));
}

#[test]
fn three_days_count_from_the_first_submission_and_queries_are_daily_after_them() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.wait(100);
    world.apply(recover(&world)).unwrap();
    world.answer(pending()).unwrap();
    for _ in 0..7 {
        wake(&mut world);
    }
    world.now = START.plus(DAY * 3);
    world.apply(Command::Wake).unwrap();
    assert_eq!(reasons(&world), [CaseReason::NoFinalAnswer]);
    for _ in 0..2 {
        wake(&mut world);
        assert_eq!(world.tx.wake_at(), Some(world.now.plus(DAY)));
    }
}

#[test]
fn an_attempt_ends_in_its_time_after_the_latest_submission() {
    let mut world = World::payment();
    world.apply(confirm_at(ending(route(1), 600))).unwrap();
    for _ in 0..2 {
        world.wait(100);
        world.apply(recover(&world)).unwrap();
    }
    assert_eq!(current_attempt(&world).resumed_at, Some(world.now));
}

#[test]
fn the_next_connection_begins_with_no_stops_and_knows_all_that_were_stepped_over() {
    let mut world = World::payment();
    world.apply(confirm(4)).unwrap();
    world.wait(100);
    world.apply(recover(&world)).unwrap();
    let off = |number| Onward {
        connection: candidate(number).connection,
        standing: Err("the connection is switched off"),
    };
    world.onward = vec![off(1)];
    world.answer(not_sent()).unwrap();
    assert_eq!(current_attempt(&world).candidate, candidate(2));
    assert_eq!(current_attempt(&world).resumed, 0);
    world.answer(not_sent()).unwrap();
    let skipped = &current_attempt(&world).decision.skipped;
    assert_eq!(skipped.len(), 1, "{skipped:?}");
}

#[test]
fn nothing_follows_an_attempt_that_has_ended() {
    let mut world = World::payment();
    world.apply(confirm(2)).unwrap();
    let attempt = world.current();
    let cut_off = Command::Recover {
        attempt,
        maybe_sent: true,
        gateway_state: None,
    };
    world.apply(cut_off).unwrap();
    world.answer(declined(false)).unwrap();
    assert_eq!(next_candidates(&world.tx, &recover(&world)).len(), 0);
}

#[test]
fn an_id_of_two_attempts_is_named_in_the_case_and_asks_about_no_ended_one() {
    let (mut world, [first, _]) = second_attempt(pending());
    world.wait(600);
    let ambiguous = Command::AmbiguousId {
        attempt: first,
        provider_id: "P1".to_owned(),
        reported: None,
    };
    assert_eq!(world.apply(ambiguous), Ok(1));
    let ambiguous = Command::AmbiguousId {
        attempt: world.current(),
        provider_id: "P1".to_owned(),
        reported: None,
    };
    world.apply(ambiguous).unwrap();
    for case in &world.tx.cases {
        assert_eq!(case.provider_id.as_deref(), Some("P1"));
    }
}

#[test]
fn the_payer_confirms_before_the_attempt_starts() {
    let (world, _) = second_attempt(pending());
    let confirmed = place(&world, |event| matches!(event, Event::Confirmed { .. }));
    let started = place(&world, |event| {
        matches!(event, Event::AttemptStarted { .. })
    });
    assert!(confirmed < started);
}

#[test]
fn a_payment_is_marked_processed_once_also_after_other_news() {
    let (mut world, [_, second]) = second_attempt(usd("P1", 2_500));
    assert_eq!(world.apply(Command::MarkProcessed), Ok(1));
    world.wait(1);
    tell(&mut world, second, [reversed("P1")]);
    assert_eq!(world.apply(Command::MarkProcessed), Ok(0));
}

#[test]
fn a_payout_writes_no_mail_to_the_customer() {
    let mut world = World::payout();
    world.apply(Command::Dispatch(route(1))).unwrap();
    world.answer(succeeded()).unwrap();
    let mail = |to| world.actions.contains(&Action::Mail(to));
    assert!(mail(MailTo::Merchant) && !mail(MailTo::Customer));
}

#[test]
fn a_young_attempt_is_not_given_up_although_it_is_called_off() {
    let mut world = World::payment();
    world.apply(confirm_at(can_cancel(1))).unwrap();
    world.answer(unusable_page()).unwrap();
    world.wait(20);
    assert_eq!(world.apply(Command::GiveUp), Err(Refusal::TooEarly));
}

/// A payment whose only attempt counted as not sent.
fn unsent() -> (World, AttemptId) {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    let attempt = world.current();
    world.answer(not_sent()).unwrap();
    (world, attempt)
}

#[test]
fn an_id_of_money_does_not_name_the_case_about_an_attempt_that_was_found() {
    let (mut world, attempt) = unsent();
    let reports = [pending_with(None), without_id(1_000), usd("P1", 1_000)];
    tell(&mut world, attempt, reports);
    let ids = world
        .tx
        .cases
        .iter()
        .map(|case| case.provider_id.as_deref());
    assert!(ids.eq([None, Some("P1")]));
}

#[test]
fn an_attempt_whose_money_a_person_settled_is_not_found_once_more() {
    let (mut world, attempt) = unsent();
    tell(&mut world, attempt, [usd("P1", 1_000)]);
    let failed = resolve(None, Verdict::Failed { message: None });
    world.apply(failed).unwrap();
    tell(&mut world, attempt, [pending_with(None)]);
    assert_eq!(reasons(&world), [CaseReason::AmountDiffers]);
}

#[test]
fn sums_of_two_currencies_with_as_many_decimals_do_not_mix() {
    let euro = Currency::from_code("EUR").unwrap();
    let euros = Amount::from_minor(1_000, euro);
    assert_eq!(amount(1_000).checked_add(euros), None);
    assert_eq!(amount(1_000).checked_sub(euros), None);
    let (mut world, [first, _]) = second_attempt(declined(false));
    tell(&mut world, first, [usd("P1", 1_000), reported("P2", euros)]);
    let received = world.tx.received().unwrap();
    assert_eq!(received.amounts, [amount(1_000), euros]);
}

/// An attempt without an id, after these answers about it.
fn answered(outcomes: impl IntoIterator<Item = Outcome>) -> World {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    for outcome in outcomes {
        world.answer(outcome).unwrap();
        world.wait(1);
    }
    world
}

fn part_without_id(minor: i64) -> Outcome {
    Outcome::Pending {
        provider_id: None,
        payer_action: None,
        poll_after: None,
        provider_status: None,
        received: Some(amount(minor)),
    }
}

#[test]
fn a_second_reversal_has_a_case_and_money_without_a_sum_has_none() {
    let taken_back = || [usd("P1", 500), reversed("P1")];
    let again = [part_without_id(2_500), reversed("P1")];
    let world = answered(taken_back().into_iter().chain(again));
    assert_eq!(world.tx.cases.len(), 4, "{:?}", reasons(&world));
    let again = [succeeded_unreadably()];
    let world = answered(taken_back().into_iter().chain(again));
    assert_eq!(world.tx.cases.len(), 2, "{:?}", reasons(&world));
}

#[test]
fn a_reversal_without_an_id_stands_while_any_charge_is_taken_back() {
    let world = answered([
        part_without_id(1_000),
        declined(false),
        part(1_000),
        usd("P2", 2_500),
    ]);
    assert_eq!(world.tx.status(), Status::Success);
    assert!(!world.tx.is_superseded(&world.tx.cases[0]));
}

#[test]
fn a_closed_reversal_without_an_id_covers_none_under_another_id() {
    let mut world = answered([without_id(500), declined(false)]);
    let settled = resolve(None, verdict(Some(2_500), Some("P1")));
    world.apply(settled).unwrap();
    let attempt = world.current();
    tell(&mut world, attempt, [reversed("P1"), reversed("P2")]);
    let last = world.tx.cases.last().unwrap();
    assert_eq!(last.provider_id.as_deref(), Some("P2"));
}
