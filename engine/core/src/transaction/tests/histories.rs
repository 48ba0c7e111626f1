//! Whole stories, told as a merchant or an operator would.

use std::time::Duration;

use super::fixtures::*;
use crate::transaction::*;

#[test]
fn a_payment_that_is_paid_at_once_tells_the_merchant_twice_and_mails_both() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(succeeded()).unwrap();
    assert_eq!(world.tx.status(), Status::Success);
    assert_eq!(world.announced(), ["payment.initiated", "payment.success"]);
    assert!(world.actions.contains(&Action::Mail(MailTo::Merchant)));
    assert!(world.actions.contains(&Action::Mail(MailTo::Customer)));
    assert_eq!(world.tx.wake_at(), None);
}

#[test]
fn an_attempt_that_was_not_sent_goes_to_the_next_gateway_without_the_payer_noticing() {
    let mut world = World::payment();
    world.apply(confirm(3)).unwrap();
    world.answer(not_sent()).unwrap();
    assert_eq!(world.tx.status(), Status::Pending);
    assert_eq!(world.tx.attempts.len(), 2);
    assert_ne!(
        world.tx.attempts[0].reference,
        world.tx.attempts[1].reference
    );
    world.answer(declined(true)).unwrap();
    assert_eq!(world.tx.attempts.len(), 3);
    world.answer(succeeded()).unwrap();
    assert_eq!(world.tx.status(), Status::Success);
}

#[test]
fn what_a_gateways_state_withholds_goes_to_the_next_candidate_and_then_waits_for_one() {
    let mut world = World::payout();
    world.apply(Command::Dispatch(route(2))).unwrap();
    for attempts in [2, 2] {
        let attempt = world.current();
        let why = "Its gateway is in quarantine.".to_owned();
        world.apply(Command::Withhold { attempt, why }).unwrap();
        assert_eq!(world.tx.attempts.len(), attempts);
    }
    assert_eq!(
        (world.tx.state.name(), world.tx.status()),
        ("awaiting_dispatch", Status::Pending)
    );
    world.apply(Command::Dispatch(route(1))).unwrap();
    world.answer(succeeded()).unwrap();
    assert_eq!(world.tx.status(), Status::Success);

    // A payer may confirm again, although the one attempt that they have was begun.
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    let (attempt, why) = (world.current(), "It is in quarantine.".to_owned());
    world.apply(Command::Withhold { attempt, why }).unwrap();
    world.apply(confirm(1)).unwrap();
    world.answer(succeeded()).unwrap();
    assert_eq!(world.tx.status(), Status::Success);
}

#[test]
fn a_hard_decline_is_never_tried_elsewhere() {
    let mut world = World::payment();
    world.apply(confirm(3)).unwrap();
    world.answer(declined(false)).unwrap();
    assert_eq!(
        (world.tx.status(), world.tx.attempts.len()),
        (Status::Failed, 1)
    );
}

#[test]
fn an_unknown_outcome_is_never_tried_elsewhere_and_never_failed() {
    let mut world = World::payout();
    world.apply(Command::Dispatch(route(3))).unwrap();
    world.answer(unknown()).unwrap();
    for _ in 0..200 {
        world.now = world.tx.wake_at().unwrap();
        world.apply(Command::Wake).unwrap();
        world.answer(unknown()).unwrap();
    }
    assert_eq!(
        (world.tx.status(), world.tx.attempts.len()),
        (Status::Pending, 1)
    );
    let cases: Vec<CaseReason> = world.tx.cases.iter().map(|case| case.reason).collect();
    assert_eq!(cases, [CaseReason::NoFinalAnswer]);
    world.answer(succeeded()).unwrap();
    assert_eq!(world.tx.status(), Status::Success);
}

#[test]
fn a_reference_that_the_provider_does_not_know_for_good_lets_the_next_gateway_try() {
    let mut world = World::payout();
    world.apply(Command::Dispatch(route(2))).unwrap();
    world.answer(unknown()).unwrap();
    world.now = world.tx.wake_at().unwrap();
    world.apply(Command::Wake).unwrap();
    world.answer(not_sent()).unwrap();
    assert_eq!(world.tx.attempts.len(), 2);
    assert_eq!(world.tx.state.name(), "awaiting_gateway");
}

#[test]
fn an_unknown_outcome_is_asked_about_after_5_15_30_seconds_and_so_on() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(unknown()).unwrap();
    let mut waits = Vec::new();
    for _ in 0..10 {
        let at = world.tx.wake_at().unwrap();
        waits.push(at.since(world.now).as_secs());
        world.now = at;
        world.apply(Command::Wake).unwrap();
        world.answer(unknown()).unwrap();
    }
    assert_eq!(waits, [5, 15, 30, 60, 120, 300, 600, 1800, 3600, 3600]);
}

#[test]
fn a_gateway_that_stays_pending_is_asked_again_when_it_says() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    let mut waits = Vec::new();
    for _ in 0..10 {
        world.answer(pending_for(30)).unwrap();
        let at = world.tx.wake_at().unwrap();
        waits.push(at.since(world.now).as_secs());
        world.now = at;
        world.apply(Command::Wake).unwrap();
    }
    assert_eq!(waits, [30; 10], "whatever the schedule would do");
    world.answer(pending_for(90)).unwrap();
    assert_eq!(world.tx.wake_at().unwrap().since(world.now).as_secs(), 90);
    let events = world.apply(Command::Wake).unwrap();
    assert_eq!(events, 0, "and not sooner");
}

#[test]
fn a_gateway_that_is_impatient_for_days_is_asked_less_and_less_often() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    let began = world.now;
    let mut asked = 0;
    let mut waited = Duration::ZERO;
    while world.now.since(began) < schedule::CASE_AFTER {
        world.answer(pending_for(5)).unwrap();
        let at = world.tx.wake_at().unwrap();
        waited = at.since(world.now);
        world.now = at;
        world.apply(Command::Wake).unwrap();
        asked += 1;
    }
    assert!(
        (400..500).contains(&asked),
        "asked {asked} times in three days"
    );
    assert_eq!(waited.as_secs(), 3600, "hourly in the end, as the schedule");
    world.answer(pending_for(5)).unwrap();
    let daily = world.tx.wake_at().unwrap().since(world.now);
    assert_eq!(daily.as_secs(), 24 * 3600, "a person has it");
    assert_eq!(world.tx.cases.len(), 1);
}

#[test]
fn asking_by_hand_leaves_the_schedule_as_it_was() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(pending()).unwrap();
    world.now = world.tx.wake_at().unwrap();
    world.apply(Command::Wake).unwrap();
    let planned = world.tx.wake_at();
    assert_eq!(world.apply(Command::Ask).unwrap(), 0, "asked a moment ago");
    world.wait(11);
    assert_eq!(world.apply(Command::Ask).unwrap(), 1);
    assert_eq!(world.tx.wake_at(), planned);
    assert_eq!(
        world.actions.last(),
        Some(&Action::Query {
            attempt: world.current()
        })
    );
}

#[test]
fn a_payer_with_attempts_left_may_choose_again_and_the_last_decline_fails_the_payment() {
    let mut world = World::payment_with(2);
    world.apply(confirm(1)).unwrap();
    world.answer(declined(false)).unwrap();
    assert_eq!(
        (world.tx.state.name(), world.tx.status()),
        ("awaiting_customer", Status::Pending)
    );
    world.apply(confirm(1)).unwrap();
    world.answer(declined(false)).unwrap();
    assert_eq!(world.tx.status(), Status::Failed);
    assert_eq!(world.announced(), ["payment.initiated", "payment.failed"]);
}

#[test]
fn fail_over_inside_one_confirmation_is_not_an_attempt_of_the_payer() {
    let mut world = World::payment_with(2);
    world.apply(confirm(2)).unwrap();
    world.answer(declined(true)).unwrap();
    world.answer(declined(true)).unwrap();
    assert_eq!(world.tx.state.name(), "awaiting_customer");
}

#[test]
fn money_that_comes_for_an_earlier_attempt_opens_one_case_and_changes_nothing() {
    let mut world = World::payment_with(2);
    world.apply(confirm(1)).unwrap();
    let first = world.current();
    world.answer(declined(false)).unwrap();
    world.apply(confirm(1)).unwrap();
    for _ in 0..2 {
        world.answer_about(first, succeeded()).unwrap();
    }
    assert_eq!(world.tx.state.name(), "awaiting_gateway");
    assert_eq!(world.tx.cases.len(), 1);
    assert_eq!(world.tx.cases[0].reason, CaseReason::MoneyAfterTheEnd);
}

#[test]
fn less_money_than_asked_is_neither_success_nor_failure_but_a_case() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(succeeded_with(2_499)).unwrap();
    assert_eq!(world.tx.status(), Status::Pending);
    assert_eq!(world.tx.cases[0].reason, CaseReason::AmountDiffers);
}

#[test]
fn an_attempt_whose_provider_reported_money_is_never_tried_elsewhere_or_failed() {
    for later in [declined(true), not_sent()] {
        let mut world = World::payout();
        world.apply(Command::Dispatch(route(2))).unwrap();
        world.answer(succeeded_with(2_499)).unwrap();
        world.answer(later).unwrap();
        assert_eq!(world.tx.state.name(), "in_doubt");
        assert_eq!(world.tx.attempts.len(), 1);
    }
}

#[test]
fn a_restriction_to_a_country_or_a_number_is_kept() {
    let mut world = World::payment();
    let Details::Payment(details) = &mut world.tx.details else {
        panic!("a payment")
    };
    details.restriction = Some(Restriction::Country {
        country_code: "CI".to_owned(),
    });
    assert_eq!(
        world.apply(confirm(1)),
        Err(Refusal::CountryRestricted("CI".to_owned()))
    );
    let Details::Payment(details) = &mut world.tx.details else {
        panic!("a payment")
    };
    details.restriction = Some(Restriction::Phone {
        number: "+22990000009".to_owned(),
        country_code: "BJ".to_owned(),
    });
    assert_eq!(world.apply(confirm(1)), Err(Refusal::PhoneRestricted));
}

#[test]
fn a_method_that_was_not_offered_is_refused() {
    let mut world = World::payment();
    let Details::Payment(details) = &mut world.tx.details else {
        panic!("a payment")
    };
    details.methods = vec!["moov_bj".to_owned()];
    assert_eq!(
        world.apply(confirm(1)),
        Err(Refusal::MethodNotOffered("mtn_bj".to_owned()))
    );
}

#[test]
fn a_payment_is_not_confirmed_after_its_time() {
    let mut world = World::payment();
    world.wait(1800);
    assert_eq!(world.apply(confirm(1)), Err(Refusal::Expired));
}

#[test]
fn sandbox_payments_preview_the_customers_mail() {
    let mut world = World::payment();
    world.tx.environment = crate::environment::Environment::Sandbox;
    world.apply(confirm(1)).unwrap();
    world.answer(succeeded()).unwrap();
    assert!(world.actions.contains(&Action::Mail(MailTo::Customer)));
}
