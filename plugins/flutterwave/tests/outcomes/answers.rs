//! Outcomes of a payment: only Flutterwave's final statuses are final.

use crate::*;

#[test]
fn each_text_of_a_failure_has_its_reason_and_is_kept() {
    let check = |rows: &[Row], code: &str, failed: &dyn Fn(&str) -> Outcome| {
        for (part, reason, retryable) in rows {
            let words = format!("So sorry: {}.", part.to_uppercase());
            assert_eq!(
                failed(&words),
                Outcome::Declined {
                    reason: *reason,
                    retryable: *retryable,
                    provider_code: Some(code.into()),
                    provider_message: Some(words.clone()),
                    provider_id: Some("7".into()),
                    field: None,
                }
            );
        }
    };
    check(PAYMENTS, "failed", &|words| {
        let change = json!({ "id": 7, "status": "failed", "processor_response": words });
        let asked = || success(charge(change.clone()));
        query("mtn_gh", Direction::Collect, shown(), SOON, asked)
            .unwrap()
            .outcome
    });
    check(PAYOUTS, "FAILED", &|words| {
        let found = json!([{ "id": 7, "reference": REFERENCE, "status": "FAILED", "complete_message": words }]);
        let asked = || success(found.clone());
        query("mtn_gh", Direction::Payout, Value::Null, SOON, asked)
            .unwrap()
            .outcome
    });
    check(REFUNDS, "failed", &|words| {
        let kept = json!({ "kind": "refund", "since": NOW, "refund": "7" });
        let asked = || success(json!({ "id": 7, "status": "failed", "comments": words }));
        query("mtn_gh", Direction::Collect, kept, SOON, asked)
            .unwrap()
            .outcome
    });
    for (words, reason) in [
        ("Insufficient Funds", DeclineReason::InsufficientFunds),
        ("Do not honour", DeclineReason::PayerDeclined),
        ("Card is fraudulent", DeclineReason::NotPermitted),
        ("Expired Card", DeclineReason::InvalidAccount),
        ("Transaction timed out", DeclineReason::PayerTimeout),
        ("Something new", DeclineReason::Other),
    ] {
        let asked = || {
            success(charge(
                json!({ "status": "failed", "processor_response": words }),
            ))
        };
        let end = query("mtn_gh", Direction::Collect, shown(), SOON, asked).unwrap();
        assert!(
            matches!(end.outcome, Outcome::Declined { reason: said, .. } if said == reason),
            "{words}"
        );
    }
}

#[test]
fn a_success_names_what_was_really_paid_digit_by_digit() {
    for (written, told) in [
        ("25", "25"),
        ("25.50", "25.5"),
        ("9007199254740993.01", "9007199254740993.01"),
        ("1", "1"),
    ] {
        let json = charge(json!({}))
            .to_string()
            .replace("\"amount\":25", &format!("\"amount\":{written}"));
        let end = query("mtn_gh", Direction::Collect, shown(), SOON, || {
            text_answer(
                200,
                &format!(r#"{{"status":"success","message":"ok","data":{json}}}"#),
            )
        });
        assert_eq!(
            end.unwrap().outcome,
            Outcome::Succeeded {
                provider_id: Some("285959875".into()),
                amount: Some(Amount::decimal(told, "GHS")),
                fees: Some(Amount::decimal("0.875", "GHS")),
                provider_status: Some("successful".into()),
            }
        );
    }
    for unclear in [json!({ "status": "brand-new" }), json!({ "amount": null })] {
        let end = query("mtn_gh", Direction::Collect, shown(), SOON, || {
            success(charge(unclear.clone()))
        });
        assert!(matches!(end.unwrap().outcome, Outcome::Unknown { .. }));
    }
    let other = query("mtn_gh", Direction::Collect, shown(), SOON, || {
        success(charge(json!({ "tx_ref": "x" })))
    });
    assert_eq!(other.unwrap_err().kind, FaultKind::Provider);
}

#[test]
fn a_failed_card_is_not_the_end_until_the_page_is_over_and_any_other_failure_is() {
    let failed = || {
        success(charge(
            json!({ "status": "failed", "processor_response": "Declined" }),
        ))
    };
    let asked = |method, now| {
        query(method, Direction::Collect, shown(), now, failed)
            .unwrap()
            .outcome
    };
    assert_eq!(asked("card_ghs", SOON), Outcome::pending());
    assert!(matches!(
        asked("card_ghs", PAGE_IS_OVER),
        Outcome::Declined { .. }
    ));
    assert!(matches!(asked("mtn_gh", SOON), Outcome::Declined { .. }));
    // Nothing is kept of when it began: it may be still open.
    let end = query(
        "card_ghs",
        Direction::Collect,
        Value::Null,
        DAY_AFTER,
        failed,
    );
    assert_eq!(end.unwrap().outcome, Outcome::pending());
}

#[test]
fn not_found_means_not_begun_while_the_payer_can_begin_and_expired_after() {
    let expired = |outcome: &Outcome| {
        matches!(
            outcome,
            Outcome::Declined {
                reason: DeclineReason::Expired,
                ..
            }
        )
    };
    let lost = json!({ "kind": "charge", "since": NOW });
    let made = json!({ "kind": "charge", "since": NOW, "is_shown": true, "is_made": true });
    let asked = |method, kept: &Value, now| {
        query(method, Direction::Collect, kept.clone(), now, nothing)
            .unwrap()
            .outcome
    };
    for (method, over) in [
        ("card_ghs", PAGE_IS_OVER),
        ("bank_transfer_ng", ACCOUNT_IS_OVER),
        ("mtn_gh", DAY_AFTER),
    ] {
        assert_eq!(
            asked(method, &shown(), SOON),
            Outcome::pending(),
            "{method}"
        );
        assert!(expired(&asked(method, &shown(), over)), "{method}");
        assert!(
            matches!(asked(method, &lost, SOON), Outcome::NotFound { .. }),
            "{method}"
        );
        assert_eq!(asked(method, &made, over), Outcome::pending(), "{method}");
    }
    // A lost link was never shown, and accepts no payment any more; the engine judges a lost
    // prompt.
    assert!(expired(&asked("card_ghs", &lost, PAGE_IS_OVER)));
    assert!(matches!(
        asked("mtn_gh", &lost, DAY_AFTER),
        Outcome::NotFound { .. }
    ));
    let payout = query("mtn_gh", Direction::Payout, Value::Null, SOON, || {
        success(json!([]))
    });
    assert!(matches!(payout.unwrap().outcome, Outcome::NotFound { .. }));
}

#[test]
fn what_leaves_open_whether_it_was_taken_is_never_a_decline_and_is_sent_once() {
    let answers: [&dyn Fn() -> Answered; 9] = [
        &|| error(500, "Insufficient funds"),
        &|| text_answer(502, "<html>Bad gateway</html>"),
        &|| text_answer(200, "{\"status\":\"succ"),
        &|| text_answer(200, ""),
        &|| text_answer(400, "<html>"),
        &|| error(200, "failed"),
        &|| error(404, "no such page"),
        &|| text_answer(401, "<html>"),
        &timeout,
    ];
    for answered in answers {
        for method in ["card_ghs", "mtn_gh", "bank_transfer_ng"] {
            let sent = std::cell::Cell::new(0);
            let end = collect(method, 2_550, || {
                sent.set(sent.get() + 1);
                answered()
            });
            let unclear = match &end {
                Ok(end) => matches!(end.outcome, Outcome::Unknown { .. }),
                // The engine knows that a request left, and makes "unknown" of it.
                Err(fault) => matches!(fault.kind, FaultKind::Provider | FaultKind::Config),
            };
            assert!(unclear, "{method}: {end:?}");
            assert_eq!(sent.get(), 1, "{method}");
        }
        let end = query("mtn_gh", Direction::Collect, shown(), SOON, answered);
        let unclear = match &end {
            Ok(end) => !matches!(
                end.outcome,
                Outcome::Declined { .. } | Outcome::Succeeded { .. }
            ),
            Err(_) => true,
        };
        assert!(unclear, "{end:?}");
    }
    assert!(collect("card_ghs", 100, unreachable).is_err());
}
