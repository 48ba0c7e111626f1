//! Refusals that say what is meant: the currency, the cause, and what contradicts what.

use std::time::Duration;

use serde_json::{Value, json};
use switchyard_gateway_host::ChangeAuthor;
use switchyard_tests::PAYS;
use switchyard_tests::merchant::{Merchant, Reply, payment, payout};

const PAYMENTS: &str = "/v1/payments/initialize";
const PAYOUTS: &str = "/v1/payouts/initialize";
const DEMO: &str = "switchyard_demo";

fn first(reply: &Reply, name: &str) -> String {
    let text = reply.body["errors"][0][name].as_str();
    text.unwrap_or_default().to_owned()
}

#[tokio::test]
async fn a_currency_that_is_none_is_unknown_and_not_badly_written() -> anyhow::Result<()> {
    let merchant = Merchant::open().await?;
    for (code, words) in [
        ("ZZZ", "is ZZZ, an unknown currency"),
        ("usd", "must be a three-letter ISO 4217 code in capitals"),
        ("DOLLAR", "must be a three-letter ISO 4217 code in capitals"),
    ] {
        let mut body = payment();
        body["currency"] = json!(code);
        let reply = merchant.post(PAYMENTS, &body).await?;
        let refusal = (422, vec!["currency_unknown currency".to_owned()]);
        assert_eq!(reply.refusal(), refusal);
        let message = first(&reply, "message");
        assert!(message.contains(words), "{message}");
    }
    Ok(())
}

#[tokio::test]
async fn what_a_drain_or_a_quarantine_holds_back_is_told_to_come_back() -> anyhow::Result<()> {
    for is_drain in [true, false] {
        let merchant = Merchant::open().await?;
        let gateways = merchant.bench.engine.gateways();
        match is_drain {
            true => gateways.drain(DEMO, &ChangeAuthor::new("a test")).await?,
            false => {
                gateways
                    .quarantine(DEMO, None, &ChangeAuthor::new("a test"))
                    .await?
            }
        };
        let mut there = payment();
        there["restrict_country_code"] = json!("US");
        for (path, body, names) in [
            (PAYMENTS, payment(), "USD"),
            (PAYMENTS, there, "USD"),
            (PAYOUTS, payout(PAYS), "switchyard_payout_demo"),
        ] {
            let reply = merchant.post(path, &body).await?;
            let refusal = (503, vec!["method_unavailable -".to_owned()]);
            assert_eq!(reply.refusal(), refusal, "{}", reply.text);
            assert_eq!(reply.body["errors"][0]["type"], "unavailable");
            assert_eq!(reply.header("retry-after"), Some("60"));
            let message = first(&reply, "message");
            assert!(message.contains(names), "{message}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_phone_of_another_country_than_the_request_says_is_refused() -> anyhow::Result<()> {
    let merchant = Merchant::open().await?;
    let restricted = |number: &str, country: &str| {
        let mut body = payment();
        body["currency"] = json!("XOF");
        body["restricted_phone"] = json!({ "number": number, "country_code": country });
        (PAYMENTS, body)
    };
    let sent = |number: Value, method: &str| {
        let mut body = payout(PAYS);
        body["currency"] = json!("XOF");
        body["method"] = json!(method);
        body["recipient"] = json!({ "msisdn": number });
        (PAYOUTS, body)
    };
    for ((path, body), field) in [
        (
            restricted("+225 07 07 12 34 56", "BJ"),
            "restricted_phone.number",
        ),
        (restricted("2250707123456", "BJ"), "restricted_phone.number"),
        (restricted("0033612345678", "BJ"), "restricted_phone.number"),
        (sent(json!("+2250707123456"), "mtn_bj"), "recipient.msisdn"),
        (
            sent(json!(2_290_197_000_000_i64), "mtn_ci"),
            "recipient.msisdn",
        ),
    ] {
        let reply = merchant.post(path, &body).await?;
        let refusal = (422, vec![format!("phone_country_mismatch {field}")]);
        assert_eq!(reply.refusal(), refusal, "{body}");
    }
    for (path, body) in [
        restricted("01 97 80 80 80", "BJ"),
        restricted("+2290197808080", "BJ"),
        restricted("+1 (414) 951-8161", "BJ"),
        sent(json!("0707123456"), "mtn_ci"),
        sent(json!(2_290_197_000_000_i64), "mtn_bj"),
        sent(json!("1-414-951-8161"), "mtn_bj"),
    ] {
        let reply = merchant.post(path, &body).await?;
        assert_eq!(reply.status, 201, "{body}: {}", reply.text);
    }
    Ok(())
}

#[tokio::test]
async fn a_payment_waits_as_long_as_its_request_says() -> anyhow::Result<()> {
    let merchant = Merchant::with(|_| {}).await?;
    let mut body = payment();
    for (wait, code) in [
        (json!(299), "expires_in_out_of_range"),
        (json!(7_776_001), "expires_in_out_of_range"),
        (json!(600.5), "expires_in_out_of_range"),
        (json!(-600), "expires_in_out_of_range"),
        (json!("600"), "field_wrong_type"),
        (json!(true), "field_wrong_type"),
    ] {
        body["expires_in"] = wait;
        let reply = merchant.post(PAYMENTS, &body).await?;
        assert_eq!(reply.refusal(), (422, vec![format!("{code} expires_in")]));
    }
    // The default is half an hour.
    for (wait, expires_after) in [
        (json!(300), 300),
        (json!(7_776_000), 7_776_000),
        (json!(null), 1_800),
    ] {
        body["expires_in"] = wait;
        let reply = merchant.post(PAYMENTS, &body).await?;
        assert_eq!(reply.status, 201, "{}", reply.text);
        let id = reply.body["data"]["id"].as_str().unwrap_or_default();
        let tx = merchant.bench.engine.transaction(id.parse()?).await?;
        let expires_at = tx.as_ref().and_then(|tx| Some(tx.payment()?.expires_at));
        let wait = Duration::from_secs(expires_after);
        assert_eq!(expires_at, Some(merchant.bench.clock.now().plus(wait)));
    }
    Ok(())
}

#[tokio::test]
async fn a_return_url_that_has_our_parameters_gets_them_replaced() -> anyhow::Result<()> {
    let merchant = Merchant::open().await?;
    let mut body = payment();
    body["return_url"] =
        json!("https://shop.example/done?paymentStatus=success&order=1&paymentId=py_of_another");
    let made = merchant.post(PAYMENTS, &body).await?;
    let id = made.body["data"]["id"].as_str().unwrap_or_default();
    merchant.pay(id, "4149518163").await?;
    let path = format!("/v1/payments/{id}");
    let url = switchyard_tests::eventually("the end", Duration::from_secs(10), || async {
        let data = merchant.get(&path).await?.body["data"].clone();
        Ok((data["status"] == "failed").then(|| data["return_url"].clone()))
    })
    .await?;
    let expected = format!("https://shop.example/done?order=1&paymentId={id}&paymentStatus=failed");
    assert_eq!(url, expected.as_str());
    Ok(())
}
