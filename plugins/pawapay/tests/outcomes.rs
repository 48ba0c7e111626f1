//! Meaning of each of pawaPay's responses, row by row, without a network.

#![allow(clippy::unwrap_used, reason = "a failed test panics")]

use gateway_pawapay::PawaPay;
use gateway_pawapay::failures::FAILURES;
use serde_json::{Value, json};
use switchyard_gateway::testing::{self, Call, End, REFERENCE, answer, no_provider};
use switchyard_gateway::wire::{Body, EffectError, HttpRequest, HttpResponse};
use switchyard_gateway::{
    Amount, ConfigCheck, DeclineReason, Direction, Environment, Fault, FaultKind, Operation,
    Outcome, PayerAction, Prompt,
};

const URL: &str = "https://api.sandbox.pawapay.io";

fn call(operation: Operation) -> Call {
    Call::new(operation).config(json!({ "api_token": "t0ken", "base_url": "" }))
}

type Answered = Result<HttpResponse, EffectError>;

/// A deposit; `answered` to the POST, and nothing else is known.
fn deposit(answered: impl Fn() -> Answered) -> Result<End, Fault> {
    let mut ask = testing::collect("mtn_bj", 1_000, "XOF", 0);
    ask.fields = [("msisdn", "+229 51 34 57 89")].into();
    call(Operation::Collect)
        .input(&ask)
        .run::<PawaPay>(|request| match request.method.as_str() {
            "POST" => answered(),
            _ => answer(500, json!({})),
        })
}

fn query(direction: Direction, answered: impl Fn(&HttpRequest) -> Answered) -> Result<End, Fault> {
    let ask = testing::query("mtn_bj", direction, 1_000, "XOF", 0);
    call(Operation::Query).input(&ask).run::<PawaPay>(answered)
}

fn found(change: Value) -> Answered {
    let mut data = json!({
        "depositId": REFERENCE, "status": "COMPLETED", "amount": "1000", "currency": "XOF", "country": "BEN",
        "payer": { "type": "MMO", "accountDetails": { "phoneNumber": "22951345789", "provider": "MTN_MOMO_BEN" } },
        "created": "2026-11-20T10:00:00Z", "metadata": { "transactionId": "py_1" }
    });
    data.as_object_mut()
        .unwrap()
        .extend(change.as_object().unwrap().clone());
    answer(200, json!({ "status": "FOUND", "data": data }))
}

fn body(request: &HttpRequest) -> Value {
    let Some(Body::Text(text)) = &request.body else {
        panic!("no body: {request:?}");
    };
    serde_json::from_str(text).unwrap()
}

#[test]
fn a_deposit_says_what_pawapay_asks_for_and_our_reference_is_its_id() {
    let end = deposit(|| {
        answer(
            200,
            json!({ "depositId": REFERENCE, "status": "ACCEPTED", "nextStep": "FINAL_STATUS" }),
        )
    })
    .unwrap();
    let request = &end.requests[0];
    assert_eq!(
        (request.method.as_str(), request.url.as_str()),
        ("POST", "https://api.sandbox.pawapay.io/v2/deposits")
    );
    assert!(request.can_mutate());
    assert!(
        request
            .headers
            .contains(&("authorization".into(), "Bearer t0ken".into()))
    );
    assert_eq!(
        body(request),
        json!({
            "depositId": REFERENCE, "amount": "1000", "currency": "XOF", "clientReferenceId": "py_01jd4v3z6q8k9m2n5p7r1s3t4v",
            "payer": { "type": "MMO", "accountDetails": { "phoneNumber": "22951345789", "provider": "MTN_MOMO_BEN" } },
            "customerMessage": "A sample", "metadata": [{ "transactionId": "py_01jd4v3z6q8k9m2n5p7r1s3t4v" }]
        })
    );
    // The instructions could not be fetched, and the payer reads that the prompt will come.
    let action = PayerAction::ConfirmOnPhone {
        prompt: Prompt::Auto,
        steps: Default::default(),
        ussd: None,
    };
    assert_eq!(end.outcome, Outcome::awaiting(action));
}

#[test]
fn each_failure_code_has_its_reason_wherever_it_comes_from() {
    for (code, reason, retryable) in FAILURES {
        let why = || json!({ "failureCode": code, "failureMessage": "Because." });
        let rejected = |status| {
            deposit(move || {
                answer(
                    status,
                    json!({ "depositId": REFERENCE, "status": "REJECTED", "failureReason": why() }),
                )
            })
        };
        let asked = query(Direction::Collect, |_| {
            found(json!({ "status": "FAILED", "failureReason": why() }))
        });
        for end in [
            rejected(200),
            rejected(400),
            rejected(401),
            rejected(403),
            asked,
        ] {
            assert_eq!(
                end.unwrap().outcome,
                Outcome::Declined {
                    reason: *reason,
                    retryable: *retryable,
                    provider_code: Some((*code).into()),
                    provider_message: Some("Because.".into()),
                    provider_id: None,
                    field: None,
                },
                "{code}"
            );
        }
    }
}

#[test]
fn a_failure_code_that_is_not_known_is_a_decline_that_keeps_it_and_an_unknown_error_is_none() {
    let failed = |code: &str| {
        query(Direction::Collect, |_| {
            found(
                json!({ "status": "FAILED", "failureReason": { "failureCode": code, "failureMessage": "m" } }),
            )
        })
    };
    let Outcome::Declined {
        reason,
        retryable,
        provider_code,
        ..
    } = failed("BRAND_NEW").unwrap().outcome
    else {
        panic!("not declined");
    };
    assert_eq!(
        (reason, retryable, provider_code.as_deref()),
        (DeclineReason::Other, false, Some("BRAND_NEW"))
    );
    assert!(matches!(
        failed("UNKNOWN_ERROR").unwrap().outcome,
        Outcome::Unknown { .. }
    ));
}

#[test]
fn each_status_is_final_only_where_pawapay_says_so() {
    let succeeded = Outcome::Succeeded {
        provider_id: Some("MP1".into()),
        amount: Some(Amount::decimal("1000", "XOF")),
        fees: None,
        provider_status: Some("COMPLETED".into()),
    };
    let page = PayerAction::Redirect {
        url: "https://pay.wave.example/c/1".into(),
    };
    let slow = Outcome::Pending {
        provider_id: None,
        payer_action: None,
        poll_after: Some(300),
        received: None,
    };
    for (data, outcome) in [
        (
            json!({ "status": "COMPLETED", "providerTransactionId": "MP1" }),
            succeeded,
        ),
        (json!({ "status": "ACCEPTED" }), Outcome::pending()),
        (json!({ "status": "PROCESSING" }), Outcome::pending()),
        (
            json!({ "status": "PROCESSING", "authorizationUrl": "https://pay.wave.example/c/1" }),
            Outcome::awaiting(page),
        ),
        (json!({ "status": "ENQUEUED" }), slow.clone()),
        (json!({ "status": "IN_RECONCILIATION" }), slow),
    ] {
        let end = query(Direction::Collect, |_| found(data.clone())).unwrap();
        assert_eq!(end.outcome, outcome, "{data}");
        assert_eq!(
            end.requests[0].url,
            format!("{URL}/v2/deposits/{REFERENCE}")
        );
    }
    for unclear in [
        json!({ "status": "BRAND_NEW" }),
        json!({ "status": "COMPLETED", "amount": null }),
    ] {
        let end = query(Direction::Collect, |_| found(unclear.clone())).unwrap();
        assert!(matches!(end.outcome, Outcome::Unknown { .. }), "{unclear}");
    }
    let failed = query(Direction::Collect, |_| found(json!({ "status": "FAILED" }))).unwrap();
    assert!(matches!(
        failed.outcome,
        Outcome::Declined {
            reason: DeclineReason::Other,
            ..
        }
    ));
}

#[test]
fn not_found_is_told_as_such_and_an_answer_about_another_transfer_is_none() {
    let end = query(Direction::Payout, |_| {
        answer(200, json!({ "status": "NOT_FOUND" }))
    })
    .unwrap();
    assert!(matches!(end.outcome, Outcome::NotFound { .. }));
    assert_eq!(end.requests[0].url, format!("{URL}/v2/payouts/{REFERENCE}"));
    let other = json!({ "depositId": "8917c345-4791-4285-a416-62f24b6982db" });
    for fault in [
        query(Direction::Collect, |_| found(other.clone())).unwrap_err(),
        query(Direction::Payout, |_| found(json!({}))).unwrap_err(),
        query(Direction::Collect, |_| {
            answer(200, json!({ "status": "FOUND" }))
        })
        .unwrap_err(),
        query(Direction::Collect, |_| answer(500, json!({}))).unwrap_err(),
        query(Direction::Collect, |_| testing::text_answer(200, "<html>")).unwrap_err(),
    ] {
        assert_eq!(fault.kind, FaultKind::Provider);
    }
}

#[test]
fn what_pawapay_does_not_refuse_in_its_own_words_is_never_a_decline() {
    let unknown_error = json!({ "depositId": REFERENCE, "failureReason": { "failureCode": "UNKNOWN_ERROR", "failureMessage": "m" } });
    let unknown = |answered: &dyn Fn() -> Answered| match deposit(answered) {
        Ok(End { outcome, .. }) => matches!(outcome, Outcome::Unknown { .. }),
        Err(fault) => fault.kind == FaultKind::Provider,
    };
    let rejected = json!({ "status": "REJECTED", "failureReason": { "failureCode": "INVALID_INPUT", "failureMessage": "m" } });
    assert!(unknown(&|| answer(500, unknown_error.clone())));
    assert!(unknown(&|| answer(200, unknown_error.clone())));
    assert!(unknown(&|| answer(500, rejected.clone())));
    assert!(unknown(&|| answer(502, rejected.clone())));
    assert!(unknown(&|| answer(404, json!({}))));
    assert!(unknown(&|| answer(200, json!({ "status": "BRAND_NEW" }))));
    assert!(unknown(&|| answer(400, json!({}))));
    assert!(unknown(&|| testing::text_answer(
        502,
        "<html>Bad gateway</html>"
    )));
    assert!(unknown(&|| testing::text_answer(200, "{\"status\":\"ACC")));
    assert!(unknown(&|| testing::text_answer(200, "")));
    assert!(unknown(&testing::timeout));
}

#[test]
fn a_refused_token_is_a_matter_of_the_configuration() {
    for status in [401, 403] {
        for refused in [
            deposit(|| answer(status, json!({}))).unwrap_err(),
            deposit(|| testing::text_answer(status, "<html>Forbidden</html>")).unwrap_err(),
            query(Direction::Collect, |_| answer(status, json!({}))).unwrap_err(),
        ] {
            assert_eq!(refused.kind, FaultKind::Config);
            assert!(!refused.message.contains("t0ken"));
        }
        let check = call(Operation::CheckConfig).run_as::<PawaPay, ConfigCheck>(|_| {
            answer(status, json!({ "failureReason": { "failureCode": "AUTHENTICATION_ERROR", "failureMessage": "The token." } }))
        });
        let ConfigCheck::Refused { message, field } = check.unwrap().outcome else {
            panic!("not refused");
        };
        assert_eq!(field.as_deref(), Some("api_token"));
        assert!(
            message.contains("AUTHENTICATION_ERROR The token."),
            "{message}"
        );
    }
}

#[test]
fn a_check_of_the_configuration_looks_and_touches_nothing() {
    let check = |environment, config| {
        let mut asked = Vec::new();
        let end = Call::new(Operation::CheckConfig)
            .config(config)
            .environment(environment)
            .run_as::<PawaPay, ConfigCheck>(|request| {
                asked.push(format!("{} {}", request.method, request.url));
                answer(200, json!({ "companyName": "Acme Ltd", "countries": [] }))
            });
        (end.unwrap().outcome, asked)
    };
    for (environment, base_url, asked) in [
        (
            Environment::Sandbox,
            "",
            "GET https://api.sandbox.pawapay.io/v2/active-conf",
        ),
        (
            Environment::Live,
            "",
            "GET https://api.pawapay.io/v2/active-conf",
        ),
        (
            Environment::Sandbox,
            "http://127.0.0.1:4711/",
            "GET http://127.0.0.1:4711/v2/active-conf",
        ),
    ] {
        let (outcome, requests) = check(
            environment,
            json!({ "api_token": "t", "base_url": base_url }),
        );
        assert_eq!(
            outcome,
            ConfigCheck::Works {
                account: Some("Acme Ltd".into())
            }
        );
        assert_eq!(requests, [asked]);
    }
}

#[test]
fn too_many_requests_are_sent_once_more_under_the_same_id() {
    let mut answers = vec![
        answer(
            200,
            json!({ "status": "ACCEPTED", "nextStep": "FINAL_STATUS" }),
        ),
        answer(429, json!({})),
    ];
    let mut ask = testing::payout("mtn_bj", 1_000, "XOF", 0);
    ask.recipient = [("msisdn", "22951345789")].into();
    let end = call(Operation::Payout)
        .input(&ask)
        .run::<PawaPay>(|_| answers.pop().unwrap())
        .unwrap();
    assert_eq!(end.outcome, Outcome::pending());
    assert_eq!(end.requests.len(), 2);
    assert_eq!(end.requests[0], end.requests[1]);
    let end = call(Operation::Payout)
        .input(&ask)
        .run::<PawaPay>(|_| answer(429, json!({})))
        .unwrap();
    assert!(matches!(end.outcome, Outcome::Unknown { .. }));
    assert_eq!(end.requests.len(), 2);
}

#[test]
fn a_duplicate_is_asked_about_and_proves_that_the_first_arrived() {
    let ended = |status: Answered| {
        let mut ask = testing::collect("mtn_bj", 1_000, "XOF", 0);
        ask.fields = [("msisdn", "22951345789")].into();
        let mut status = Some(status);
        let end = call(Operation::Collect)
            .input(&ask)
            .run::<PawaPay>(|request| match request.method.as_str() {
                "POST" => answer(
                    200,
                    json!({ "depositId": REFERENCE, "status": "DUPLICATE_IGNORED" }),
                ),
                _ => status.take().unwrap(),
            });
        end.unwrap().outcome
    };
    assert!(matches!(ended(found(json!({}))), Outcome::Succeeded { .. }));
    assert!(matches!(
        ended(answer(200, json!({ "status": "NOT_FOUND" }))),
        Outcome::Unknown { .. }
    ));
}

#[test]
fn without_a_number_or_with_an_amount_that_cannot_be_paid_nothing_is_sent() {
    let ask = testing::payout("mtn_bj", 1_000, "XOF", 0);
    let end = call(Operation::Payout)
        .input(&ask)
        .run::<PawaPay>(no_provider)
        .unwrap();
    assert!(matches!(
        end.outcome,
        Outcome::Declined {
            reason: DeclineReason::InvalidAccount,
            ..
        }
    ));
    let mut ask = testing::payout("mtn_bj", 1_000, "USD", 2);
    ask.recipient = [("msisdn", "22951345789")].into();
    let fault = call(Operation::Payout)
        .input(&ask)
        .run::<PawaPay>(no_provider)
        .unwrap_err();
    assert_eq!(fault.kind, FaultKind::Config);
}

fn accepted() -> Answered {
    answer(
        200,
        json!({ "status": "ACCEPTED", "nextStep": "FINAL_STATUS" }),
    )
}

/// A payment by Orange Burkina Faso that waits for the payer's code.
fn waiting() -> End {
    let mut ask = testing::collect("orange_bf", 1_000, "XOF", 0);
    ask.fields = [("msisdn", "22607345789")].into();
    let steps = json!({ "en": [{ "text": "Dial *144*4*6#" }, { "text": "Enter the amount" }] });
    let channels = json!([{ "type": "USSD", "instructions": steps }]);
    let types = json!({ "DEPOSIT": { "authTokenInstructions": { "channels": channels } } });
    let currencies = json!([{ "currency": "XOF", "operationTypes": types }]);
    let providers = json!([{ "provider": "ORANGE_BFA", "currencies": currencies }]);
    let end = call(Operation::Collect)
        .input(&ask)
        .run::<PawaPay>(|request| {
            let told = "nothing that moves money is sent before the code is there";
            assert!(!request.can_mutate(), "{told}");
            let countries = json!([{ "country": "BFA", "providers": providers }]);
            answer(200, json!({ "countries": countries }))
        });
    end.unwrap()
}

#[test]
fn a_code_that_the_payer_gave_goes_out_with_the_payment() {
    let mut ask = testing::collect("orange_bf", 1_000, "XOF", 0);
    ask.fields = [("msisdn", "22607345789"), ("otp", "123 456")].into();
    let end = call(Operation::Collect)
        .input(&ask)
        .run::<PawaPay>(|_| accepted())
        .unwrap();
    assert_eq!(body(&end.requests[0])["preAuthorisationCode"], "123456");
    assert_eq!(end.outcome, Outcome::pending());
}

#[test]
fn a_code_that_is_missing_is_waited_for_and_the_attempt_is_over_without_one() {
    let waiting = waiting();
    let how = [(
        "en".to_owned(),
        "Dial *144*4*6#. Enter the amount".to_owned(),
    )];
    let action = PayerAction::EnterCode {
        label: "Code".into(),
        length: None,
        how: how.into(),
    };
    assert_eq!(waiting.outcome, Outcome::awaiting(action));
    let still = testing::query("orange_bf", Direction::Collect, 1_000, "XOF", 0);
    let at = |now: &str| {
        let call = call(Operation::Query).input(&still).now(now);
        call.state(waiting.state.clone())
            .run::<PawaPay>(no_provider)
            .unwrap()
            .outcome
    };
    assert_eq!(at("2026-11-20T10:19:00Z"), Outcome::pending());
    let Outcome::Declined { reason, .. } = at("2026-11-20T10:21:00Z") else {
        panic!("still open");
    };
    assert_eq!(reason, DeclineReason::Expired);
}

#[test]
fn a_code_that_comes_later_sends_the_payment_unless_it_comes_too_late() {
    let waiting = waiting();
    let amount = testing::collect("orange_bf", 1_000, "XOF", 0).amount;
    let typed = json!({ "reference": REFERENCE, "method": "orange_bf", "amount": amount, "input": { "code": "654321" } });
    let submit = |now: &str| {
        let call = call(Operation::SubmitInput).input(&typed).now(now);
        call.state(waiting.state.clone())
    };
    let end = submit("2026-11-20T10:14:00Z")
        .run::<PawaPay>(|_| accepted())
        .unwrap();
    let sent = body(&end.requests[0]);
    assert_eq!(sent["preAuthorisationCode"], "654321");
    assert_eq!(sent["depositId"], REFERENCE);
    let wallet = &sent["payer"]["accountDetails"];
    assert_eq!(wallet["phoneNumber"], "22607345789");
    // After this, pawaPay is queried, not the state.
    let still = testing::query("orange_bf", Direction::Collect, 1_000, "XOF", 0);
    let asked = call(Operation::Query).input(&still).state(end.state);
    let asked = asked
        .now("2026-11-20T10:21:00Z")
        .run::<PawaPay>(|_| found(json!({})));
    assert!(matches!(asked.unwrap().outcome, Outcome::Succeeded { .. }));
    let late = submit("2026-11-20T10:16:00Z").run::<PawaPay>(no_provider);
    assert_eq!(late.unwrap_err().kind, FaultKind::Config);
}

#[test]
fn a_refund_names_the_deposit_and_is_asked_about_as_a_refund() {
    let ask = json!({
        "reference": REFERENCE, "of": "8917c345-4791-4285-a416-62f24b6982db", "method": "mtn_bj",
        "amount": { "minor": 400, "currency": "XOF", "decimals": 0, "decimal": "400" },
    });
    let end = call(Operation::Refund)
        .input(&ask)
        .run::<PawaPay>(|_| answer(200, json!({ "refundId": REFERENCE, "status": "ACCEPTED" })));
    let end = end.unwrap();
    assert_eq!(end.requests[0].url, format!("{URL}/v2/refunds"));
    assert_eq!(
        body(&end.requests[0]),
        json!({ "refundId": REFERENCE, "depositId": "8917c345-4791-4285-a416-62f24b6982db", "amount": "400", "currency": "XOF" })
    );
    assert_eq!(end.outcome, Outcome::pending());
    let refund =
        json!({ "refundId": REFERENCE, "status": "COMPLETED", "amount": "400", "currency": "XOF" });
    let still = testing::query("mtn_bj", Direction::Collect, 400, "XOF", 0);
    let asked = call(Operation::Query)
        .input(&still)
        .state(end.state)
        .run::<PawaPay>(|request| {
            assert_eq!(request.url, format!("{URL}/v2/refunds/{REFERENCE}"));
            answer(200, json!({ "status": "FOUND", "data": refund }))
        });
    assert!(matches!(asked.unwrap().outcome, Outcome::Succeeded { .. }));
}
