//! Payouts, refunds, callbacks, keys.

use crate::*;

#[test]
fn a_payout_goes_to_the_wallet_once_and_a_reference_that_exists_is_asked_about() {
    let queued = json!({ "id": 396_432, "reference": REFERENCE, "status": "NEW", "amount": 50.5, "currency": "GHS", "fee": 1 });
    let end = payout(|_| success(queued.clone())).unwrap();
    assert_eq!(end.outcome, Outcome::pending().with_provider_id("396432"));
    let request = &end.requests[0];
    assert_eq!(request.url, format!("{URL}/transfers"));
    assert!(text(request).starts_with(r#"{"amount":50.50,"#));
    let sent = body(request);
    assert_eq!(
        (
            &sent["account_bank"],
            &sent["account_number"],
            &sent["reference"],
            &sent["beneficiary_name"],
            &sent["debit_currency"]
        ),
        (
            &json!("MTN"),
            &json!("233551234987"),
            &json!(REFERENCE),
            &json!("Ada Lovelace"),
            &json!("GHS")
        )
    );
    let exists = format!("Transfer with reference {REFERENCE} already exists");
    for (found, outcome) in [
        (json!([]), None),
        (
            json!([{ "id": 7, "reference": REFERENCE, "status": "PENDING" }]),
            Some(Outcome::pending().with_provider_id("7")),
        ),
    ] {
        let end = payout(|request| match request.method.as_str() {
            "POST" => error(400, &exists),
            _ => success(found.clone()),
        })
        .unwrap();
        assert_eq!(end.requests.len(), 2);
        assert_eq!(
            end.requests[1].url,
            format!("{URL}/transfers?reference={REFERENCE}")
        );
        match outcome {
            Some(outcome) => assert_eq!(end.outcome, outcome),
            None => assert!(matches!(end.outcome, Outcome::Unknown { .. })),
        }
    }
    let end = payout(|_| error(400, "Insufficient funds in customer wallet")).unwrap();
    assert!(matches!(
        end.outcome,
        Outcome::Declined {
            reason: DeclineReason::MerchantFunds,
            retryable: true,
            ..
        }
    ));
}

#[test]
fn a_refund_names_flutterwaves_id_and_is_followed_by_its_own() {
    let ask = json!({
        "reference": "r-1", "of": REFERENCE, "method": "card_ghs", "amount": switchyard_gateway::Money::from_minor(1_000, "GHS", 2),
    });
    let end = call(Operation::Refund)
        .input(&ask)
        .run::<Flutterwave>(|request| match request.method.as_str() {
            "GET" => success(charge(json!({}))),
            _ => success(json!({ "id": 75_923, "amount_refunded": 10, "status": "pending-momo" })),
        });
    let end = end.unwrap();
    assert_eq!(
        end.requests[1].url,
        format!("{URL}/transactions/285959875/refund")
    );
    assert_eq!(text(&end.requests[1]), r#"{"amount":10,"comments":"r-1"}"#);
    assert_eq!(end.outcome, Outcome::pending().with_provider_id("75923"));
    let asked = query("card_ghs", Direction::Collect, end.state, SOON, || {
        success(json!({ "id": 75_923, "amount_refunded": 10, "status": "completed-mpgs" }))
    })
    .unwrap();
    assert_eq!(asked.requests[0].url, format!("{URL}/refunds/75923"));
    let Outcome::Succeeded { amount, .. } = asked.outcome else {
        panic!("{:?}", asked.outcome);
    };
    assert_eq!(amount, Some(Amount::decimal("10", "GHS")));
    let lost = json!({ "kind": "refund", "since": NOW });
    let asked = query("card_ghs", Direction::Collect, lost, DAY_AFTER, || {
        panic!("nothing to ask by")
    });
    assert!(matches!(asked.unwrap().outcome, Outcome::Unknown { .. }));
}

fn news(headers: &[(&str, &str)], body: &str, config: Value) -> Result<CallbackResult, Fault> {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let news = Callback {
        method: "POST".into(),
        path: "/callbacks/con_1".into(),
        query: String::new(),
        url: None,
        headers: headers.iter().map(own).collect(),
        body: Body::Text(body.into()),
    };
    let call = Call::new(Operation::Callback).config(config).input(&news);
    Ok(call
        .run_as::<Flutterwave, CallbackResult>(no_provider)?
        .outcome)
}

#[test]
fn a_callback_is_a_hint_when_it_carries_the_secret_hash_or_its_signature_and_else_nothing() {
    let vectors: Value = serde_json::from_str(include_str!("../vectors.json")).unwrap();
    let config = || json!({ "secret_key": "FLWSECK_TEST-k", "secret_hash": HASH });
    for vector in vectors.as_array().unwrap() {
        let text = |name: &str| vector[name].as_str().unwrap();
        assert_eq!(text("secret_hash"), HASH);
        let (header, signature, body) = (text("header"), text("signature"), text("body"));
        let result = news(&[(header, signature)], body, config()).unwrap();
        assert_eq!(result, CallbackResult::hint().about("ord-1"), "{header}");
        let mut cut = signature.to_owned();
        cut.pop();
        for wrong in ["", "my-secret-hasH", "AAAA", cut.as_str()] {
            let result = news(&[(header, wrong)], body, config()).unwrap();
            assert!(
                result.refused.is_some() && result.reference.is_none(),
                "{header}: {wrong}"
            );
        }
    }
    let body = vectors[1]["body"].as_str().unwrap();
    let signature = vectors[1]["signature"].as_str().unwrap();
    assert!(news(&[], body, config()).unwrap().refused.is_some());
    // The signature is over the body; the constant cannot make good for it.
    let both = [("verif-hash", HASH), ("flutterwave-signature", signature)];
    let bent = body.replace("100", "1000");
    assert!(news(&both, &bent, config()).unwrap().refused.is_some());
    // Without a secret hash to hold it against, it is a hint still.
    let open = json!({ "secret_key": "FLWSECK_TEST-k" });
    assert_eq!(
        news(&[], body, open).unwrap(),
        CallbackResult::hint().about("ord-1")
    );
    let transfer = r#"{"event":"transfer.completed","data":{"id":1,"reference":"po-1","status":"SUCCESSFUL"}}"#;
    let ours = [("Verif-Hash", HASH)];
    assert_eq!(
        news(&ours, transfer, config()).unwrap(),
        CallbackResult::hint().about("po-1")
    );
    assert_eq!(
        news(&ours, r#"{"event":"test_assess"}"#, config()).unwrap(),
        CallbackResult::nothing()
    );
    assert!(news(&ours, "{", config()).is_err());
    assert!(news(&ours, r#"{"event":"charge.completed","data":{}}"#, config()).is_err());
}

#[test]
fn a_key_of_the_other_environment_never_leaves_and_a_wrong_one_is_said_to_be_wrong() {
    let check = |key: &str, environment, answered: &dyn Fn() -> Answered| {
        let call = Call::new(Operation::CheckConfig)
            .config(json!({ "secret_key": key }))
            .environment(environment);
        call.run_as::<Flutterwave, ConfigCheck>(|_| answered())
    };
    let works = || success(json!([{ "id": 1, "code": "044", "name": "Access Bank" }]));
    let never = || panic!("it must not leave");
    let (test, live) = (Environment::Sandbox, Environment::Live);
    for (key, environment) in [("FLWSECK_TEST-k", test), ("FLWSECK-k-X", live)] {
        let end = check(key, environment, &works).unwrap();
        assert_eq!(end.outcome, ConfigCheck::Works { account: None });
        assert_eq!(end.requests[0].url, format!("{URL}/banks/NG"));
        let refused = check(key, environment, &|| {
            error(401, "Invalid authorization key")
        })
        .unwrap();
        let ConfigCheck::Refused { message, field } = refused.outcome else {
            panic!("{key} was not refused");
        };
        assert!(message.contains("Invalid authorization key"), "{message}");
        assert_eq!(field.as_deref(), Some("secret_key"));
        assert!(check(key, environment, &|| text_answer(502, "<html>")).is_err());
    }
    for (key, environment) in [
        ("FLWSECK-k-X", test),
        ("FLWSECK_TEST-k", live),
        ("sk_live_1", live),
    ] {
        let end = check(key, environment, &never).unwrap();
        assert!(matches!(end.outcome, ConfigCheck::Refused { .. }), "{key}");
        let call = Call::new(Operation::Collect)
            .config(json!({ "secret_key": key }))
            .environment(environment);
        let ask = testing::collect("card_usd", 100, "USD", 2);
        let fault = call
            .input(&ask)
            .run::<Flutterwave>(no_provider)
            .unwrap_err();
        assert_eq!(fault.kind, FaultKind::Config);
    }
    let refused = query("mtn_gh", Direction::Collect, shown(), SOON, || {
        error(401, "Invalid authorization key")
    });
    assert_eq!(refused.unwrap_err().kind, FaultKind::Config);
}
