//! Times at which something just happens or just does not, and words that others read.

use super::fixtures::*;
use crate::limits::ATTEMPTS_PER_PAYMENT;
use crate::transaction::schedule::CALL_OFF_AGAIN;
use crate::transaction::*;

#[test]
fn a_wake_up_becomes_what_the_transaction_waits_for() {
    let mut world = World::payout();
    assert_eq!(due(&world.tx, false, world.now), Due::Dispatch);
    let before = world.now.minus(std::time::Duration::from_secs(1));
    assert_eq!(due(&world.tx, false, before), Due::Nothing);
    world.apply(Command::Dispatch(route(1))).unwrap();
    assert_eq!(due(&world.tx, true, world.now), Due::Nothing, "in flight");
    let current = world.current();
    assert_eq!(due(&world.tx, false, world.now), Due::Recover(current));
    assert!(may_recover(&world.tx, true, world.now), "it may have left");
    assert!(!may_recover(&world.tx, false, world.now), "not due");
    world.wait(5);
    assert!(may_recover(&world.tx, false, world.now));
    world.answer(unknown()).unwrap();
    assert_eq!(due(&world.tx, false, world.now), Due::Wake);
}

#[test]
fn only_what_may_end_an_open_attempt_has_candidates_after_it() {
    let mut world = World::payout();
    world.apply(Command::Dispatch(route(2))).unwrap();
    let attempt = world.current();
    let lost = |maybe_sent| recovery(attempt, maybe_sent, None);
    assert_eq!(next_candidates(&world.tx, &lost(true)).len(), 2);
    let withheld = Command::Withhold {
        attempt,
        why: String::new(),
    };
    assert_eq!(next_candidates(&world.tx, &withheld).len(), 1);
    assert!(next_candidates(&world.tx, &Command::Wake).is_empty());
    world.answer(succeeded()).unwrap();
    assert!(next_candidates(&world.tx, &withheld).is_empty());
}

#[test]
fn stored_words_and_shown_words_of_a_reason_are_the_same() {
    for reason in CaseReason::ALL {
        let stored = serde_json::to_value(reason).unwrap();
        assert_eq!(stored, reason.as_str());
    }
    let decline = |word: &str| -> DeclineReason { serde_json::from_value(word.into()).unwrap() };
    for (word, fault_of) in [
        ("insufficient_funds", "payer"),
        ("payer_declined", "payer"),
        ("payer_timeout", "payer"),
        ("payer_busy", "payer"),
        ("expired", "payer"),
        ("invalid_account", "request"),
        ("limit_exceeded", "request"),
        ("amount_out_of_range", "request"),
        ("not_permitted", "request"),
        ("merchant_funds", "merchant"),
        ("misconfigured", "merchant"),
        ("provider_unavailable", "provider"),
        ("other", "provider"),
    ] {
        let reason = decline(word);
        assert_eq!((reason.as_str(), reason.fault_of()), (word, fault_of));
    }
}

#[test]
fn the_attempt_that_succeeded_tells_of_the_transaction_and_otherwise_the_last_one() {
    let mut world = World::payment_with(3);
    assert_eq!(world.tx.deciding_attempt(), None);
    for _ in 0..2 {
        world.apply(confirm(1)).unwrap();
        world.answer(not_sent()).unwrap();
    }
    let [first, second] = [0, 1].map(|number: usize| world.tx.attempts[number].id);
    let telling = |world: &World| world.tx.deciding_attempt().map(|attempt| attempt.id);
    assert_eq!(telling(&world), Some(second));
    world.answer_about(first, succeeded()).unwrap();
    assert_eq!(telling(&world), Some(first));
}

#[test]
fn that_nothing_was_taken_is_said_only_when_it_is_certain() {
    let mut world = World::payment_with(3);
    assert!(world.tx.surely_moved_no_money());
    world.apply(confirm(1)).unwrap();
    assert!(!world.tx.surely_moved_no_money(), "it is being sent");
    world.answer(declined(false)).unwrap();
    assert!(world.tx.surely_moved_no_money());
    world.apply(confirm(1)).unwrap();
    world.answer(succeeded()).unwrap();
    assert!(!world.tx.surely_moved_no_money());
}

#[test]
fn only_a_held_transaction_has_an_attempt_that_holds_it() {
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    world.answer(pending()).unwrap();
    // Three days without an answer: that case holds nothing.
    world.wait(3 * 24 * 3_600);
    world.apply(Command::Wake).unwrap();
    assert_eq!(world.tx.cases.len(), 1);
    assert_eq!(world.tx.held_attempt(), None);
    world.answer(succeeded_with(1_000)).unwrap();
    let held = world.tx.held_attempt().map(|attempt| attempt.id);
    assert_eq!(held, Some(world.current()));
}

#[test]
fn the_same_news_of_a_pending_attempt_is_not_written_again_and_other_news_is() {
    let news = |id: &str, status: &str, ussd: &str| Outcome::Pending {
        provider_id: Some(id.to_owned()),
        payer_action: Some(PayerAction::Dial {
            ussd: ussd.to_owned(),
        }),
        poll_after: None,
        provider_status: Some(status.to_owned()),
        received: None,
    };
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(news("P1", "sent", "*1#")).unwrap();
    assert_eq!(world.answer(news("P1", "sent", "*1#")), Ok(0));
    for other in [
        news("P2", "sent", "*1#"),
        news("P2", "seen", "*1#"),
        news("P2", "seen", "*2#"),
    ] {
        assert_eq!(world.answer(other), Ok(1));
    }
}

#[test]
fn doubt_brings_the_next_query_forward_and_never_puts_it_off() {
    let doubt = |seconds| Outcome::Unknown {
        why: String::new(),
        poll_after: Some(std::time::Duration::from_secs(seconds)),
    };
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(unknown()).unwrap();
    let planned = |world: &World| {
        let at = world.tx.wake_at().unwrap();
        at.since(world.now).as_secs()
    };
    assert_eq!(planned(&world), 5);
    for (wanted, events, left) in [(6, 0, 5), (5, 0, 5), (4, 1, 4)] {
        assert_eq!(world.answer(doubt(wanted)), Ok(events), "{wanted}");
        assert_eq!(planned(&world), left, "{wanted}");
    }
}

#[test]
fn a_person_who_checks_a_held_transaction_has_it_queried_every_two_seconds_at_most() {
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    world.answer(not_sent()).unwrap();
    world
        .answer_about(world.current(), succeeded_with(1_000))
        .unwrap();
    assert_eq!(world.tx.state, State::OnHold);
    let check = || by_operator(OperatorCommand::Check);
    assert_eq!(world.apply(check()), Ok(2));
    for (seconds, events) in [(1, 0), (1, 2), (3, 2)] {
        world.wait(seconds);
        assert_eq!(world.apply(check()), Ok(events), "{seconds}");
    }
}

#[test]
fn an_attempt_is_asked_again_to_be_called_off_after_ten_seconds_or_for_another_end() {
    let mut world = World::payment_with(3);
    world.apply(confirm_at(can_cancel(1))).unwrap();
    world.answer(pending()).unwrap();
    world.wait(120);
    world.apply(Command::GiveUp).unwrap();
    assert_eq!(call_offs(&world), 1);
    let nearly = CALL_OFF_AGAIN.as_secs() - 1;
    world.wait(nearly);
    assert_eq!(world.apply(Command::GiveUp), Ok(0));
    world.apply(Command::Cancel(CancelledBy::Customer)).unwrap();
    assert_eq!(call_offs(&world), 2, "now the payment is to be cancelled");
    world.wait(nearly + 1);
    world.apply(Command::Cancel(CancelledBy::Customer)).unwrap();
    assert_eq!(call_offs(&world), 3);
}

#[test]
fn a_payout_waits_for_a_gateway_for_less_than_half_an_hour() {
    for (seconds, waits) in [(1_799, true), (1_800, false)] {
        let mut world = World::payout();
        world.apply(Command::Dispatch(route(1))).unwrap();
        world.wait(seconds);
        world.answer(not_sent()).unwrap();
        let is_waiting = world.tx.state == State::AwaitingDispatch;
        assert_eq!(is_waiting, waits, "{seconds}");
    }
}

#[test]
fn only_money_that_is_still_there_is_refunded_when_another_attempt_succeeds() {
    let mut world = World::payment_with(3);
    world.apply(confirm(2)).unwrap();
    let first = world.current();
    world.answer(not_sent()).unwrap();
    world.answer(pending()).unwrap();
    let second = world.current();
    // A query finds the first one pending: it may move money, and no amount is known.
    world.answer_about(first, pending()).unwrap();
    world.answer_about(second, succeeded()).unwrap();
    assert_eq!(world.tx.status(), Status::Success);
    let reasons: Vec<_> = world.tx.cases.iter().map(|case| case.reason).collect();
    assert_eq!(reasons, [CaseReason::FoundAfterNotSent]);
}

#[test]
fn a_rate_is_shown_for_one_unit_of_the_transactions_currency() {
    let currency = |code| crate::money::Currency::from_code(code).unwrap();
    let conversion = Conversion {
        rate: crate::money::Rate::parse("655.957").unwrap(),
        correction: None,
        way: vec![currency("EUR"), currency("XOF")],
        as_of: None,
    };
    assert_eq!(conversion.formatted(currency("EUR")), "1 EUR = 655.957 XOF");
}

#[test]
fn a_call_off_that_was_stored_without_a_place_was_at_the_provider() {
    let mut world = World::payment_with(3);
    world.apply(confirm_at(can_cancel(1))).unwrap();
    world.answer(pending()).unwrap();
    world.wait(120);
    world.apply(Command::GiveUp).unwrap();
    let event = world.events.last().unwrap();
    let mut stored = serde_json::to_value(event).unwrap();
    let fields = stored.as_object_mut().unwrap();
    assert_eq!(fields.remove("at_provider"), Some(true.into()));
    let read: Event = serde_json::from_value(stored).unwrap();
    assert_eq!(&read, event);
}

#[test]
fn a_query_at_the_very_end_of_an_attempt_confirms_its_end() {
    let mut world = World::payment_with(3);
    world.apply(confirm_at(ending(route(1), 600))).unwrap();
    world.answer(pending_for(3_600)).unwrap();
    let end = world.tx.attempts[0].ends_at().unwrap();
    assert_eq!(world.tx.wake_at(), Some(end));
    world.now = end;
    assert_eq!(world.apply(Command::Wake), Ok(1));
    assert!(world.tx.wake_at().unwrap() > end);
}

#[test]
fn a_gateways_state_is_written_when_it_changes() {
    let keep = |world: &mut World, state: u8| {
        let attempt = world.current();
        world.apply(Command::Answer {
            attempt,
            outcome: pending(),
            gateway_state: Some(state.into()),
            asked_at: None,
        })
    };
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    for (state, events) in [(1, 1), (1, 0), (2, 1), (2, 0)] {
        assert_eq!(keep(&mut world, state), Ok(events), "{state}");
    }
}

#[test]
fn the_word_of_a_status_reads_back() {
    for status in Status::ALL {
        assert_eq!(Status::parse(status.as_str()), Some(status));
    }
    assert_eq!(Status::parse("paid"), None);
}

#[test]
fn an_open_case_needs_attention_and_one_about_money_first() {
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    world.answer(pending()).unwrap();
    assert_eq!(world.tx.attention(), None);
    world.wait(3 * 24 * 3_600);
    world.apply(Command::Wake).unwrap();
    assert_eq!(world.tx.attention(), Some(CaseReason::NoFinalAnswer));
    world.answer(succeeded_with(1_000)).unwrap();
    assert_eq!(world.tx.attention(), Some(CaseReason::AmountDiffers));
    // Each of these is more important than all before it.
    let case = world.tx.cases[0].clone();
    for reason in [
        CaseReason::PaidTwice,
        CaseReason::LateSuccess,
        CaseReason::SuccessContradicted,
    ] {
        world.tx.cases.push(Case {
            reason,
            provider_id: world.tx.attempts[0].charges[0].id.clone(),
            amount: world.tx.attempts[0].charges[0].amount,
            ..case.clone()
        });
        let charges = &mut world.tx.attempts[0].charges;
        charges[0].is_taken_back = reason == CaseReason::SuccessContradicted;
        charges.push(Charge {
            id: Some("another".to_owned()),
            ..charges[0].clone()
        });
        assert_eq!(world.tx.attention(), Some(reason));
    }
}

#[test]
fn the_method_is_that_of_the_attempt_and_before_it_the_payouts_own() {
    let mut payment = World::payment();
    assert_eq!(payment.tx.method(), None);
    payment.apply(confirm(1)).unwrap();
    let chosen = payment.tx.attempts[0].method.clone();
    assert_eq!(payment.tx.method(), Some(chosen.as_str()));
    assert_eq!(World::payout().tx.method(), Some("mtn_bj"));
}

#[test]
fn a_transaction_is_initiated_until_its_first_attempt_and_then_pending() {
    let mut world = World::payment_with(3);
    assert_eq!(world.tx.status(), Status::Initiated);
    assert!(!world.tx.has_open_attempt());
    world.apply(confirm(1)).unwrap();
    assert_eq!(world.tx.status(), Status::Pending);
    assert!(world.tx.has_open_attempt());
    world.answer(not_sent()).unwrap();
    assert_eq!(world.tx.state, State::AwaitingCustomer);
    assert_eq!(world.tx.status(), Status::Pending);
    assert!(!world.tx.has_open_attempt());
}

#[test]
fn a_kind_is_called_by_its_stored_word() {
    for tx in [World::payment().tx, World::payout().tx] {
        let stored = serde_json::to_value(&tx.details).unwrap();
        assert_eq!(stored["kind"], Kind::of(tx.id).as_str());
    }
}

#[test]
fn a_payer_of_the_right_country_may_pay() {
    let mut world = World::payment_with(3);
    if let Details::Payment(payment) = &mut world.tx.details {
        payment.restriction = Some(Restriction::Country {
            country_code: "BJ".to_owned(),
        });
    }
    let from = |country: &str| match confirm(1) {
        Command::Confirm(mut confirm) => {
            confirm.country = Some(country.to_owned());
            Command::Confirm(confirm)
        }
        other => other,
    };
    let refused = Err(Refusal::CountryRestricted("BJ".to_owned()));
    assert_eq!(world.apply(from("CI")), refused);
    assert_eq!(world.apply(from("BJ")), Ok(2));
}

#[test]
fn who_gives_up_the_last_attempt_of_a_payment_does_not_choose_again() {
    for (attempts, state) in [
        (ATTEMPTS_PER_PAYMENT - 1, Status::Pending),
        (ATTEMPTS_PER_PAYMENT, Status::Failed),
    ] {
        let mut world = World::payment_with(3);
        for _ in 1..attempts {
            world.apply(confirm(1)).unwrap();
            world.answer(not_sent()).unwrap();
        }
        world.apply(confirm_at(can_cancel(1))).unwrap();
        world.answer(pending()).unwrap();
        world.wait(120);
        world.apply(Command::GiveUp).unwrap();
        world.answer(declined(false)).unwrap();
        assert_eq!(world.tx.status(), state, "{attempts}");
    }
}

#[test]
fn an_attempt_that_was_just_called_off_is_not_asked_again_when_money_comes_for_another() {
    for (seconds, asked) in [(9, 1), (10, 2)] {
        let mut world = World::payment_with(3);
        world.apply(confirm(1)).unwrap();
        let first = world.current();
        world.answer(declined(false)).unwrap();
        world.apply(confirm_at(can_cancel(1))).unwrap();
        world.answer(pending()).unwrap();
        world.wait(120);
        world.apply(Command::GiveUp).unwrap();
        world.wait(seconds);
        world.answer_about(first, succeeded()).unwrap();
        assert_eq!(call_offs(&world), asked, "{seconds}");
    }
}

#[test]
fn a_part_is_less_money_in_the_currency_that_was_asked_for() {
    let franc = crate::money::Currency::from_code("XOF").unwrap();
    let francs = |minor| crate::money::Amount::from_minor(minor, franc);
    for (amounts, is_part) in [
        (vec![amount(2_499)], true),
        (vec![amount(2_500)], false),
        (vec![francs(1)], false),
        (vec![amount(1), francs(1)], false),
    ] {
        let asked = amount(2_500);
        let received = Received {
            amounts,
            asked,
            has_unreadable: false,
        };
        assert_eq!(received.is_part(), is_part, "{received:?}");
    }
}

#[test]
fn of_several_amounts_for_one_charge_the_latest_counts_until_one_is_recorded() {
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    let received = |world: &World| world.tx.received().map(|received| received.amounts);
    assert_eq!(received(&world), None);
    for minor in [1_000, 1_200] {
        world.answer(succeeded_with(minor)).unwrap();
        assert_eq!(received(&world), Some(vec![amount(minor)]));
    }
    world.answer(succeeded_with(2_500)).unwrap();
    world
        .answer_about(world.tx.attempts[0].id, succeeded_with(1_300))
        .unwrap();
    assert_eq!(received(&world), Some(vec![amount(2_500)]));
}

#[test]
fn only_an_open_attempt_of_a_payment_can_be_called_off_and_only_where_it_can_end() {
    for (route, can) in [
        (route(1), false),
        (can_cancel(1), true),
        (ending(route(1), 600), true),
        (ending(can_cancel(1), 600), true),
    ] {
        let mut world = World::payment_with(3);
        assert!(!world.tx.can_call_off());
        world.apply(confirm_at(route)).unwrap();
        assert!(!world.tx.can_call_off(), "it is being sent");
        world.answer(pending()).unwrap();
        assert_eq!(world.tx.can_call_off(), can);
        world.answer(declined(false)).unwrap();
        assert!(!world.tx.can_call_off(), "it has ended");
    }
    let mut payout = World::payout();
    payout.apply(Command::Dispatch(can_cancel(1))).unwrap();
    payout.answer(pending()).unwrap();
    assert!(!payout.tx.can_call_off());
}

#[test]
fn a_status_is_final_once_nothing_can_follow() {
    let is_final = Status::ALL.map(Status::is_final);
    assert_eq!(is_final, [false, false, true, true, true]);
}

#[test]
fn queries_are_hourly_until_a_case_is_opened_and_daily_from_then_on() {
    use crate::transaction::schedule::{CASE_AFTER, wait_after};
    let second = std::time::Duration::from_secs(1);
    for (age, hours) in [(CASE_AFTER - second, 1), (CASE_AFTER, 24)] {
        assert_eq!(wait_after(99, age).as_secs(), hours * 3_600, "{age:?}");
    }
}

#[test]
fn a_payer_with_the_right_number_may_pay() {
    let mut world = World::payment_with(3);
    if let Details::Payment(payment) = &mut world.tx.details {
        payment.restriction = Some(Restriction::Phone {
            number: "+22990000001".to_owned(),
            country_code: "BJ".to_owned(),
        });
    }
    assert_eq!(world.apply(confirm(1)), Ok(2));
}

#[test]
fn a_payout_is_initiated_until_it_is_dispatched() {
    let mut world = World::payout();
    assert_eq!(world.tx.status(), Status::Initiated);
    world.apply(Command::Dispatch(route(1))).unwrap();
    world.answer(not_sent()).unwrap();
    assert_eq!(world.tx.state, State::AwaitingDispatch);
    assert_eq!(world.tx.status(), Status::Pending);
}

#[test]
fn hints_have_a_provider_queried_every_two_seconds_at_most() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(pending()).unwrap();
    for (seconds, events) in [(1, 0), (1, 1), (1, 0), (1, 1)] {
        world.wait(seconds);
        assert_eq!(world.apply(Command::Hint), Ok(events));
    }
}

#[test]
fn a_payment_is_marked_processed_once() {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(succeeded()).unwrap();
    for events in [1, 0] {
        assert_eq!(world.apply(Command::MarkProcessed), Ok(events));
    }
}

#[test]
fn a_submission_that_three_stops_cut_off_is_not_begun_again() {
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    let attempt = world.current();
    for resumed in 1..=3 {
        world.apply(recovery(attempt, false, None)).unwrap();
        assert_eq!(world.tx.attempts[0].resumed, resumed);
    }
    world.apply(recovery(attempt, false, None)).unwrap();
    assert_eq!(world.tx.attempts[0].resumed, 3);
    assert_eq!(world.tx.state, State::AwaitingCustomer);
}

#[test]
fn nothing_follows_a_decline_once_the_time_to_pay_is_over() {
    for (seconds, attempts) in [(1_799, 2), (1_800, 1)] {
        let mut world = World::payment_with(3);
        world.apply(confirm(2)).unwrap();
        world.answer(pending()).unwrap();
        world.wait(seconds);
        world.answer(declined(true)).unwrap();
        assert_eq!(world.tx.attempts.len(), attempts, "{seconds}");
    }
    for (seconds, status) in [(1_799, Status::Pending), (1_800, Status::Failed)] {
        let mut world = World::payment_with(3);
        world.apply(confirm(1)).unwrap();
        world.answer(pending()).unwrap();
        world.wait(seconds);
        world.answer(declined(false)).unwrap();
        assert_eq!(world.tx.status(), status, "{seconds}");
    }
}

#[test]
fn a_payout_without_a_gateway_is_tried_for_less_than_half_an_hour() {
    for (seconds, status) in [(1_799, Status::Initiated), (1_800, Status::Failed)] {
        let mut world = World::payout();
        world.wait(seconds);
        world.apply(Command::Dispatch(route(0))).unwrap();
        assert_eq!(world.tx.status(), status, "{seconds}");
    }
}

#[test]
fn the_decision_of_a_next_attempt_says_why_the_one_before_did_not_do() {
    let mut world = World::payment_with(3);
    world.apply(confirm(2)).unwrap();
    world.answer(not_sent()).unwrap();
    let because = &world.tx.attempts[1].decision.chosen_because;
    assert_eq!(because, "gateway_0 could not take it");
}

#[test]
fn a_held_transaction_is_queried_daily_and_a_check_in_between_changes_no_plan() {
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    world.answer(not_sent()).unwrap();
    let attempt = world.current();
    world.answer_about(attempt, succeeded_with(1_000)).unwrap();
    let due = world.tx.wake_at().unwrap();
    world.now = due;
    world.apply(Command::Wake).unwrap();
    let planned = world.tx.wake_at().unwrap();
    assert_eq!(planned.since(due).as_secs(), 24 * 3_600);
    world.wait(3);
    world.apply(by_operator(OperatorCommand::Check)).unwrap();
    assert_eq!(world.tx.wake_at(), Some(planned));
}
