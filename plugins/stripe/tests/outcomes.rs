//! Meaning of each of Stripe's responses, row by row, without a network.

#![allow(clippy::unwrap_used, reason = "a failed test panics")]

use gateway_stripe::Stripe;
use gateway_stripe::failures::FAILURES;
use serde_json::{Value, json};
use switchyard_gateway::testing::{self, Call, End, REFERENCE, answer, no_provider};
use switchyard_gateway::wire::{Body, EffectError, HttpRequest, HttpResponse};
use switchyard_gateway::{
    Amount, Collect, ConfigCheck, DeclineReason, Direction, Environment, Fault, FaultKind,
    Operation, Outcome, PayerAction,
};

type Answered = Result<HttpResponse, EffectError>;

const PAGE: &str = "https://checkout.stripe.com/c/pay/cs_test_1";

fn call(operation: Operation) -> Call {
    Call::new(operation).config(json!({ "secret_key": "sk_test_x" }))
}

fn ask() -> Collect {
    testing::collect("card_usd", 2_550, "USD", 2)
}

fn collect(provider: impl FnMut(&HttpRequest) -> Answered) -> Result<End, Fault> {
    call(Operation::Collect)
        .input(&ask())
        .run::<Stripe>(provider)
}

fn query(state: Value, provider: impl FnMut(&HttpRequest) -> Answered) -> Result<End, Fault> {
    let ask = testing::query("card_usd", Direction::Collect, 2_550, "USD", 2);
    call(Operation::Query)
        .state(state)
        .input(&ask)
        .run::<Stripe>(provider)
}

fn session(change: Value) -> Value {
    let mut session = json!({
        "id": "cs_test_1", "url": PAGE, "status": "open", "payment_status": "unpaid", "amount_total": 2_550,
        "currency": "usd", "payment_intent": null, "metadata": { "switchyard_reference": REFERENCE },
    });
    session
        .as_object_mut()
        .unwrap()
        .extend(change.as_object().unwrap().clone());
    session
}

fn error(code: &str) -> Value {
    json!({ "error": { "type": "invalid_request_error", "code": code, "message": "Because." } })
}

#[test]
fn a_session_says_what_stripe_asks_for_and_our_reference_is_its_idempotency_key() {
    let end = collect(|_| answer(200, session(json!({})))).unwrap();
    let request = &end.requests[0];
    assert_eq!(
        (request.method.as_str(), request.url.as_str()),
        ("POST", "https://api.stripe.com/v1/checkout/sessions")
    );
    assert!(request.can_mutate());
    for (name, value) in [
        ("authorization", "Bearer sk_test_x"),
        ("idempotency-key", REFERENCE),
        ("stripe-version", "2026-08-26.dahlia"),
    ] {
        assert!(
            request.headers.contains(&(name.into(), value.into())),
            "{name}"
        );
    }
    let Some(Body::Form(fields)) = &request.body else {
        panic!("{request:?}");
    };
    let return_url = "https://pay.example.com/checkout/py_01jd4v3z6q8k9m2n5p7r1s3t4v";
    let transaction = "py_01jd4v3z6q8k9m2n5p7r1s3t4v";
    let expected = [
        ("mode", "payment"),
        ("client_reference_id", REFERENCE),
        ("success_url", return_url),
        ("cancel_url", return_url),
        ("expires_at", "1795172400"),
        ("payment_method_types[0]", "card"),
        ("adaptive_pricing[enabled]", "false"),
        ("line_items[0][quantity]", "1"),
        ("line_items[0][price_data][currency]", "usd"),
        ("line_items[0][price_data][unit_amount]", "2550"),
        ("line_items[0][price_data][product_data][name]", "A sample"),
        ("metadata[switchyard_reference]", REFERENCE),
        ("metadata[switchyard_transaction]", transaction),
        (
            "payment_intent_data[metadata][switchyard_reference]",
            REFERENCE,
        ),
        (
            "payment_intent_data[metadata][switchyard_transaction]",
            transaction,
        ),
        ("customer_email", "ada@example.com"),
    ];
    let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(fields.as_slice(), expected);
    let action = PayerAction::Redirect { url: PAGE.into() };
    assert_eq!(
        end.outcome,
        Outcome::awaiting(action).with_provider_id("cs_test_1")
    );
    assert_eq!(
        end.state,
        json!({ "since": 1_795_168_800, "session": "cs_test_1" })
    );
}

#[test]
fn the_same_attempt_asks_for_the_same_later_and_for_nothing_once_its_session_is_known() {
    let first = collect(|_| answer(500, json!({}))).unwrap();
    assert_eq!(first.state, json!({ "since": 1_795_168_800 }));
    let again = call(Operation::Collect)
        .state(first.state)
        .now("2026-11-20T10:20:00Z")
        .input(&ask())
        .run::<Stripe>(|_| answer(200, session(json!({}))))
        .unwrap();
    assert_eq!(again.requests, first.requests);
    let third = call(Operation::Collect)
        .state(again.state)
        .input(&ask())
        .run::<Stripe>(|request| {
            assert_eq!(request.method, "GET");
            answer(200, session(json!({})))
        });
    assert_eq!(third.unwrap().outcome, again.outcome);
}

/// The engine's conclusion from an outcome, in one word.
fn word_of(outcome: &Outcome) -> &str {
    match outcome {
        Outcome::Succeeded { amount, .. } => {
            assert_eq!(*amount, Some(Amount::decimal("25.50", "USD")));
            "paid"
        }
        Outcome::Declined {
            provider_code,
            retryable,
            ..
        } => {
            assert!(!retryable);
            provider_code.as_deref().unwrap()
        }
        Outcome::Pending {
            payer_action: Some(PayerAction::Redirect { .. }),
            ..
        } => "redirect",
        Outcome::Pending { .. } => "pending",
        Outcome::Unknown { .. } => "unknown",
        Outcome::NotFound { .. } => "not found",
    }
}

#[test]
fn each_state_of_a_session_has_its_meaning_and_only_an_end_is_final() {
    let refused = |status: &str| {
        json!({ "id": "pi_1", "status": status, "last_payment_error": {
            "type": "card_error", "code": "card_declined", "decline_code": "do_not_honor", "message": "No." } })
    };
    let processing = json!({ "id": "pi_1", "status": "processing" });
    for (word, change) in [
        ("redirect", json!({})),
        // A card was refused: the payer may take another.
        (
            "redirect",
            json!({ "payment_intent": refused("requires_payment_method") }),
        ),
        (
            "paid",
            json!({ "status": "complete", "payment_status": "paid" }),
        ),
        (
            "pending",
            json!({ "status": "complete", "payment_intent": processing }),
        ),
        (
            "pending",
            json!({ "status": "complete", "payment_intent": "pi_1" }),
        ),
        (
            "do_not_honor",
            json!({ "status": "complete", "payment_intent": refused("requires_payment_method") }),
        ),
        (
            "session_expired",
            json!({ "status": "expired", "url": null }),
        ),
        (
            "do_not_honor",
            json!({ "status": "expired", "payment_intent": refused("canceled") }),
        ),
        (
            "unknown",
            json!({ "status": "complete", "payment_status": "no_payment_required" }),
        ),
        (
            "unknown",
            json!({ "status": "complete", "payment_status": "half_paid" }),
        ),
        ("unknown", json!({ "status": "on_hold" })),
        (
            "unknown",
            json!({ "status": "complete", "payment_status": "paid", "amount_total": null }),
        ),
        (
            "unknown",
            json!({ "status": "complete", "payment_status": "paid", "currency": "eur" }),
        ),
    ] {
        let end = query(json!({ "session": "cs_test_1" }), |request| {
            assert_eq!(
                request.url,
                "https://api.stripe.com/v1/checkout/sessions/cs_test_1?expand%5B%5D=payment_intent"
            );
            answer(200, session(change.clone()))
        });
        let outcome = end.unwrap().outcome;
        let told = word_of(&outcome);
        assert_eq!(told, word, "{change}: {outcome:?}");
    }
}

#[test]
fn each_code_has_its_reason_whether_a_request_or_a_card_was_refused() {
    for (code, reason, retryable) in FAILURES {
        let refused = collect(|_| answer(402, error(code))).unwrap().outcome;
        let declined = Outcome::declined(*reason, "Because.").with_provider_code(*code);
        let expected = if *retryable {
            declined.clone().and_retryable()
        } else {
            declined.clone()
        };
        assert_eq!(refused, expected, "{code}");
        let last = json!({ "type": "card_error", "code": "card_declined", "decline_code": code, "message": "Because." });
        let intent = json!({ "id": "pi_1", "status": "canceled", "last_payment_error": last });
        let ended = query(json!({ "session": "cs_test_1" }), |_| {
            answer(
                200,
                session(json!({ "status": "expired", "payment_intent": intent })),
            )
        });
        assert_eq!(
            ended.unwrap().outcome,
            declined.with_provider_id("cs_test_1"),
            "{code}"
        );
    }
}

#[test]
fn a_refused_request_is_a_decline_and_an_answer_that_proves_nothing_is_unknown() {
    let retryable = |end: End| match end.outcome {
        Outcome::Declined {
            reason: DeclineReason::Misconfigured,
            retryable,
            ..
        } => retryable,
        outcome => panic!("{outcome:?}"),
    };
    for status in [400, 401, 403, 404] {
        let said = error("some_code_of_tomorrow");
        assert!(
            retryable(collect(|_| answer(status, said.clone())).unwrap()),
            "{status}"
        );
    }
    let api_error = json!({ "error": { "type": "api_error", "message": "Oops." } });
    let in_use =
        json!({ "error": { "type": "idempotency_error", "code": "idempotency_key_in_use" } });
    for (status, body) in [
        (409, in_use),
        (424, error("external")),
        (
            429,
            json!({ "error": { "type": "invalid_request_error", "code": "rate_limit" } }),
        ),
        (500, api_error.clone()),
        (502, json!("<html>")),
        (503, api_error.clone()),
        (400, json!("<html>")),
        (400, api_error),
        (301, json!({})),
    ] {
        let outcome = collect(|_| answer(status, body.clone())).unwrap().outcome;
        assert!(
            matches!(outcome, Outcome::Unknown { .. }),
            "{status} {body}: {outcome:?}"
        );
    }
    for status in [401, 403] {
        let fault = collect(|_| answer(status, json!("<html>"))).unwrap_err();
        assert_eq!(fault.kind, FaultKind::Config);
    }
    assert!(collect(|_| answer(200, json!("<html>"))).is_err());
    assert!(collect(|_| testing::timeout()).is_err());
}

#[test]
fn too_many_requests_are_sent_once_more_under_the_same_key() {
    let mut times = 0;
    let end = collect(|_| {
        times += 1;
        if times == 1 {
            answer(429, json!({}))
        } else {
            answer(200, session(json!({})))
        }
    })
    .unwrap();
    assert!(matches!(end.outcome, Outcome::Pending { .. }));
    assert_eq!(end.requests[0], end.requests[1]);
}

#[test]
fn a_lost_session_is_looked_for_page_by_page_around_the_time_of_its_request() {
    let other = json!({ "id": "cs_test_9", "status": "open", "metadata": {} });
    let end = query(json!({ "since": 1_795_000_000 }), |request| {
        assert!(
            request
                .url
                .contains("created%5Bgte%5D=1794999100&created%5Blte%5D=1795000900"),
            "{}",
            request.url
        );
        if request.url.ends_with("&starting_after=cs_test_9") {
            answer(
                200,
                json!({ "data": [session(json!({}))], "has_more": true }),
            )
        } else {
            answer(200, json!({ "data": [other], "has_more": true }))
        }
    });
    let end = end.unwrap();
    assert!(matches!(
        end.outcome,
        Outcome::Pending {
            payer_action: Some(_),
            ..
        }
    ));
    assert_eq!(
        (end.requests.len(), &end.state["session"]),
        (2, &json!("cs_test_1"))
    );

    let nothing = query(json!({ "since": 1_795_000_000 }), |_| {
        answer(200, json!({ "data": [other], "has_more": false }))
    });
    assert!(matches!(nothing.unwrap().outcome, Outcome::NotFound { .. }));
    // A list without an end proves nothing.
    assert!(
        query(json!({}), |_| answer(
            200,
            json!({ "data": [other], "has_more": true })
        ))
        .is_err()
    );
}

#[test]
fn a_session_that_stripe_made_and_does_not_know_is_not_taken_for_one_that_never_was() {
    let fault = query(json!({ "session": "cs_test_1" }), |_| {
        answer(404, error("resource_missing"))
    });
    assert_eq!(fault.unwrap_err().kind, FaultKind::Provider);
    let fault = query(json!({ "session": "cs_test_1" }), |_| {
        answer(401, error("api_key_expired"))
    });
    assert_eq!(fault.unwrap_err().kind, FaultKind::Config);
    let other = query(json!({ "session": "cs_test_2" }), |_| {
        answer(200, session(json!({})))
    });
    assert!(other.is_err());
}

#[test]
fn what_cannot_be_paid_is_said_before_anything_is_sent() {
    let mut too_much = ask();
    too_much.amount = testing::collect("card_usd", 100_000_000, "USD", 2).amount;
    let end = call(Operation::Collect)
        .input(&too_much)
        .run::<Stripe>(no_provider)
        .unwrap();
    assert!(matches!(
        end.outcome,
        Outcome::Declined {
            reason: DeclineReason::AmountOutOfRange,
            retryable: true,
            ..
        }
    ));
    let mut nowhere = ask();
    nowhere.return_url = None;
    let fault = call(Operation::Collect)
        .input(&nowhere)
        .run::<Stripe>(no_provider)
        .unwrap_err();
    assert_eq!(fault.kind, FaultKind::Config);
    // A test key in live, and the other way round.
    let live = call(Operation::Collect)
        .environment(Environment::Live)
        .input(&ask())
        .run::<Stripe>(no_provider);
    assert_eq!(live.unwrap_err().kind, FaultKind::Config);
}

#[test]
fn a_key_is_checked_by_a_harmless_question() {
    let check = |key: &str, environment, account: u16, sessions: u16| {
        let body = json!({ "id": "acct_1", "business_profile": { "name": "Acme" } });
        let refusal = json!({ "error": { "type": "invalid_request_error", "message": "Invalid API Key provided: sk_test_x" } });
        let call = Call::new(Operation::CheckConfig)
            .config(json!({ "secret_key": key }))
            .environment(environment);
        let end = call.run_as::<Stripe, ConfigCheck>(|request| {
            assert_eq!(request.method, "GET");
            match if request.url.ends_with("/account") {
                account
            } else {
                sessions
            } {
                200 => answer(200, body.clone()),
                status => answer(status, refusal.clone()),
            }
        });
        end.map(|end| end.outcome)
    };
    let works = |account: Option<&str>| ConfigCheck::Works {
        account: account.map(str::to_owned),
    };
    let sandbox = Environment::Sandbox;
    assert_eq!(
        check("sk_test_x", sandbox, 200, 200).unwrap(),
        works(Some("Acme"))
    );
    assert_eq!(check("rk_test_x", sandbox, 403, 200).unwrap(), works(None));
    for refused in [
        check("sk_test_x", sandbox, 401, 401),
        check("rk_test_x", sandbox, 403, 403),
        check("sk_live_x", sandbox, 200, 200),
        check("sk_test_x", Environment::Live, 200, 200),
        check("pk_test_x", sandbox, 200, 200),
    ] {
        let ConfigCheck::Refused { message, field } = refused.unwrap() else {
            panic!("it is refused");
        };
        assert_eq!(field.as_deref(), Some("secret_key"));
        assert!(!message.contains("sk_test_x"), "{message}");
    }
    assert!(check("sk_test_x", sandbox, 500, 500).is_err());
}
