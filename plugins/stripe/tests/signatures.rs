//! Callbacks: trusted ones, and everything that must not be.

#![allow(clippy::unwrap_used, reason = "a failed test panics")]

use gateway_stripe::Stripe;
use gateway_stripe::signature::{Proof, prove};
use ring::hmac;
use serde_json::{Value, json};
use switchyard_gateway::testing::{Call, REFERENCE, answer, no_provider};
use switchyard_gateway::wire::{Body, EffectError, HttpRequest, HttpResponse};
use switchyard_gateway::{
    Amount, Callback, CallbackResult, DeclineReason, Fault, Operation, Outcome,
};
use switchyard_testkit::NOW_SECONDS;

const SECRET: &str = "whsec_test";
const SESSION: &str = "cs_test_1";

fn hex(secret: &str, at: i64, body: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let signed = hmac::sign(&key, format!("{at}.{body}").as_bytes());
    base16ct::lower::encode_string(signed.as_ref())
}

#[test]
fn the_known_vector_verifies_and_no_other_body_secret_or_time_does() {
    let vector: Value = serde_json::from_str(include_str!("vectors.json")).unwrap();
    let text = |name: &str| vector[name].as_str().unwrap();
    let at = vector["timestamp"].as_i64().unwrap();
    let (header, body, secret) = (text("value"), text("body").as_bytes(), text("secret"));
    for (now, proof) in [
        (at, Proof::Fresh),
        (at + 300, Proof::Fresh),
        (at - 300, Proof::Fresh),
        (at + 301, Proof::Stale),
        (at - 301, Proof::Stale),
        (i64::MIN, Proof::Stale),
    ] {
        assert_eq!(prove(header, body, secret, now), proof, "{now}");
    }
    assert_eq!(prove(header, &body[1..], secret, at), Proof::Forged);
    assert_eq!(prove(header, body, "whsec_other", at), Proof::Forged);
    let later = header.replace("t=1700000000", "t=1700000001");
    assert_eq!(prove(&later, body, secret, at), Proof::Forged);
}

#[test]
fn any_of_several_signatures_will_do_and_only_those_of_version_1_count() {
    let good = hex(SECRET, 1_000, "{}");
    let other = hex("whsec_old", 1_000, "{}");
    let proof = |header: String| prove(&header, b"{}", SECRET, 1_000);
    for header in [
        format!("t=1000,v1={good}"),
        format!("t=1000,v1={other},v1={good}"),
        format!("t=1000, v1={good}, v1={other}, v0={other}"),
        format!("v1={good},t=1000"),
    ] {
        assert_eq!(proof(header.clone()), Proof::Fresh, "{header}");
    }
    for header in [
        String::new(),
        format!("v1={good}"),
        format!("t=1000,v0={good}"),
        format!("t=1000,v1={other}"),
        format!("t=1000,v1={}", &good[1..]),
        format!("t=1000,v1={}", &good[2..]),
        "t=1000,v1=".into(),
        format!("t=x,v1={good}"),
        format!("t=1000,v1=é{}", &good[2..]),
    ] {
        assert_eq!(proof(header.clone()), Proof::Forged, "{header}");
    }
}

fn event(kind: &str, change: Value) -> String {
    let mut object = json!({
        "id": SESSION, "object": "checkout.session", "status": "complete", "payment_status": "paid",
        "amount_total": 2_550, "currency": "usd", "payment_intent": "pi_1",
        "metadata": { "switchyard_reference": REFERENCE },
    });
    object
        .as_object_mut()
        .unwrap()
        .extend(change.as_object().unwrap().clone());
    json!({ "id": "evt_1", "object": "event", "type": kind, "data": { "object": object } })
        .to_string()
}

fn signed(body: &str, at: i64) -> Callback {
    let header = format!("t={at},v1={}", hex(SECRET, at, body));
    Callback {
        method: "POST".into(),
        path: "/callbacks/con_1".into(),
        query: String::new(),
        url: None,
        headers: vec![("stripe-signature".into(), header)],
        body: Body::Text(body.to_owned()),
    }
}

fn read_with(
    secret: &str,
    callback: &Callback,
    provider: impl FnMut(&HttpRequest) -> Result<HttpResponse, EffectError>,
) -> Result<CallbackResult, Fault> {
    let end = Call::new(Operation::Callback)
        .config(json!({ "secret_key": "sk_test_x", "webhook_secret": secret }))
        .input(callback)
        .run_as::<Stripe, CallbackResult>(provider)?;
    Ok(end.outcome)
}

fn read(kind: &str, change: Value) -> CallbackResult {
    read_with(
        SECRET,
        &signed(&event(kind, change), NOW_SECONDS),
        no_provider,
    )
    .unwrap()
}

fn about(result: CallbackResult) -> CallbackResult {
    result.about(REFERENCE).about_provider_id(SESSION)
}

fn paid() -> CallbackResult {
    about(CallbackResult::trusted(Outcome::Succeeded {
        provider_id: Some(SESSION.into()),
        amount: Some(Amount::decimal("25.50", "USD")),
        fees: None,
        provider_status: Some("paid".into()),
    }))
}

#[test]
fn a_signed_success_is_trusted_with_its_amount_at_once_or_later() {
    for kind in [
        "checkout.session.completed",
        "checkout.session.async_payment_succeeded",
    ] {
        assert_eq!(read(kind, json!({})), paid(), "{kind}");
    }
}

#[test]
fn a_session_that_is_complete_and_unpaid_still_waits() {
    let result = read(
        "checkout.session.completed",
        json!({ "payment_status": "unpaid" }),
    );
    assert!(result.trusted);
    assert!(
        matches!(result.outcome, Some(Outcome::Pending { .. })),
        "{result:?}"
    );
}

#[test]
fn a_failure_has_the_reason_of_the_last_refusal_or_that_nobody_paid() {
    let refused = json!({
        "id": "pi_1", "status": "requires_payment_method",
        "last_payment_error": {
            "type": "card_error", "code": "card_declined", "decline_code": "insufficient_funds", "message": "Too little.",
        },
    });
    let unpaid = json!({ "payment_status": "unpaid" });
    let expired = json!({ "status": "expired", "payment_status": "unpaid" });
    for (kind, change) in [
        ("checkout.session.async_payment_failed", &unpaid),
        ("checkout.session.expired", &expired),
    ] {
        let callback = signed(&event(kind, change.clone()), NOW_SECONDS);
        let result = read_with(SECRET, &callback, |request| {
            assert_eq!(
                request.url,
                "https://api.stripe.com/v1/payment_intents/pi_1"
            );
            answer(200, refused.clone())
        });
        let declined = Outcome::declined(DeclineReason::InsufficientFunds, "Too little.")
            .with_provider_code("insufficient_funds")
            .with_provider_id(SESSION);
        assert_eq!(
            result.unwrap(),
            about(CallbackResult::trusted(declined)),
            "{kind}"
        );
        // The reason cannot be had: that changes nothing about the end.
        let result = read_with(SECRET, &callback, |_| answer(500, json!({}))).unwrap();
        let Some(Outcome::Declined { reason, .. }) = result.outcome else {
            panic!("{result:?}");
        };
        assert_eq!(reason, DeclineReason::Expired);
    }
}

#[test]
fn a_refused_card_and_what_is_not_ours_are_nothing_to_know() {
    for (kind, change) in [
        ("payment_intent.payment_failed", json!({})),
        ("charge.refunded", json!({})),
        ("charge.dispute.created", json!({})),
        ("customer.created", json!({})),
        (
            "checkout.session.completed",
            json!({ "metadata": {}, "client_reference_id": "order-1" }),
        ),
        ("checkout.session.completed", json!({ "metadata": null })),
        ("payment_intent.succeeded", json!({ "metadata": {} })),
    ] {
        assert_eq!(read(kind, change), CallbackResult::nothing(), "{kind}");
    }
    // The payment is through, its session not yet: a reason to ask.
    let hint = CallbackResult::hint().about(REFERENCE);
    assert_eq!(read("payment_intent.succeeded", json!({})), hint);
}

#[test]
fn what_is_forged_is_refused_and_what_is_stale_or_cannot_be_proved_is_a_hint() {
    let body = event("checkout.session.completed", json!({}));
    let good = signed(&body, NOW_SECONDS);
    let mut bent = good.clone();
    bent.body = Body::Text(body.replace("2550", "9999"));
    let mut bare = good.clone();
    bare.headers.clear();
    for callback in [&bent, &bare] {
        let result = read_with(SECRET, callback, no_provider).unwrap();
        assert!(
            result.refused.is_some() && !result.trusted && result.outcome.is_none(),
            "{result:?}"
        );
    }
    let hint = about(CallbackResult::hint());
    for at in [NOW_SECONDS - 301, NOW_SECONDS + 301] {
        assert_eq!(
            read_with(SECRET, &signed(&body, at), no_provider).unwrap(),
            hint
        );
    }
    // Without a secret nothing is proved, rightly signed or not.
    for callback in [&good, &bare] {
        assert_eq!(read_with("", callback, no_provider).unwrap(), hint);
    }
    let nonsense = signed("nonsense", NOW_SECONDS);
    assert!(
        read_with(SECRET, &nonsense, no_provider)
            .unwrap()
            .refused
            .is_some()
    );
}
