//! Use of a public key by any reader of a page: initialize payments, and nothing to the harm of
//! others.

use std::net::SocketAddr;
use std::time::Duration;

use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::Request;
use serde_json::{Value, json};
use switchyard_engine::access::{AppChange, AppSettings};
use switchyard_tests::PAYS;
use switchyard_tests::merchant::{Merchant, Reply, payment, payout};

const PAYMENTS: &str = "/v1/payments/initialize";
const PAYOUTS: &str = "/v1/payouts/initialize";

/// With the sandbox public key, and an idempotency key when it is not empty.
async fn post(merchant: &Merchant, path: &str, body: &Value, key: &str) -> anyhow::Result<Reply> {
    let bearer = format!("Bearer {}", merchant.public());
    let mut headers = vec![
        ("authorization", bearer.as_str()),
        ("origin", "https://shop.example"),
    ];
    if !key.is_empty() {
        headers.push(("idempotency-key", key));
    }
    merchant.post_with(path, body, &headers).await
}

/// With the sandbox public key, from a client's address.
async fn from(merchant: &Merchant, address: &str) -> anyhow::Result<Reply> {
    let mut request = Request::post(PAYMENTS)
        .header("content-type", "application/json")
        .header("authorization", format!("Bearer {}", merchant.public()))
        .body(Body::from(payment().to_string()))?;
    let peer = SocketAddr::new(address.parse()?, 40_000);
    request.extensions_mut().insert(ConnectInfo(peer));
    merchant.ask(request).await
}

async fn allow_payouts(merchant: &Merchant) -> anyhow::Result<()> {
    let access = merchant.bench.engine.access();
    let change = AppChange {
        settings: Some(AppSettings {
            unsafe_payouts_with_public_key: true,
            ..AppSettings::default()
        }),
        ..AppChange::default()
    };
    access.update_app(merchant.bench.keys.app, change).await?;
    Ok(())
}

#[tokio::test]
async fn a_public_key_orders_no_payout() -> anyhow::Result<()> {
    let merchant = Merchant::open().await?;
    // Whether the body is right or wrong: it is not looked at.
    for body in [payout(PAYS), json!({})] {
        let reply = post(&merchant, PAYOUTS, &body, "").await?;
        let refusal = (403, vec!["public_key_not_allowed -".to_owned()]);
        assert_eq!(reply.refusal(), refusal, "{}", reply.text);
        assert_eq!(
            reply.body["message"],
            "A public key may only initialize payments"
        );
        assert_eq!(reply.header("access-control-allow-origin"), None);
    }
    let payouts = merchant.get("/v1/payouts").await?;
    assert_eq!(payouts.body["meta"]["total"], 0);
    Ok(())
}

#[tokio::test]
async fn a_page_of_another_host_cannot_order_payouts_whatever_the_app_allows() -> anyhow::Result<()>
{
    let merchant = Merchant::open().await?;
    allow_payouts(&merchant).await?;
    let preflight = Request::builder()
        .method("OPTIONS")
        .uri(PAYOUTS)
        .header("origin", "https://shop.example")
        .header("access-control-request-method", "POST");
    let reply = merchant.ask(preflight.body(Body::empty())?).await?;
    assert_eq!(reply.status, 405);
    assert_eq!(reply.header("access-control-allow-origin"), None);
    let reply = post(&merchant, PAYOUTS, &payout(PAYS), "").await?;
    assert_eq!(reply.status, 201, "the setting allows it: {}", reply.text);
    assert_eq!(reply.header("access-control-allow-origin"), None);
    // It opens nothing else.
    let list = merchant.get_with(merchant.public(), "/v1/payouts").await?;
    assert_eq!(list.status, 403);
    Ok(())
}

#[tokio::test]
async fn keys_that_strangers_claim_are_free_for_the_merchants_server() -> anyhow::Result<()> {
    let merchant = Merchant::open().await?;
    allow_payouts(&merchant).await?;
    for (path, theirs, ours) in [
        (PAYMENTS, payment(), payment()),
        (PAYOUTS, payout("4149518163"), payout(PAYS)),
    ] {
        for order in 0..30 {
            let key = format!("order-{order}");
            let claimed = post(&merchant, path, &theirs, &key).await?;
            assert_eq!(claimed.status, 201, "{}", claimed.text);
            let key = [("idempotency-key", key.as_str())];
            let made = merchant.post_with(path, &ours, &key).await?;
            assert_eq!(made.status, 201, "{}", made.text);
            assert_eq!(made.header("idempotent-replayed"), None);
            assert_ne!(made.body["data"]["id"], claimed.body["data"]["id"]);
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_stranger_is_not_told_which_field_of_a_body_differs() -> anyhow::Result<()> {
    let merchant = Merchant::open().await?;
    let first = payment();
    let made = post(&merchant, PAYMENTS, &first, "order-1").await?;
    assert_eq!(made.status, 201, "{}", made.text);
    let mut guesses = vec![first.clone(); 3];
    guesses[0]["amount"] = json!(26);
    guesses[1]["customer"]["email"] = json!("eve@shop.example");
    guesses[2]["metadata"]["order"] = json!("2");
    let mut answers: Vec<String> = Vec::new();
    for guess in &guesses {
        let reply = post(&merchant, PAYMENTS, guess, "order-1").await?;
        let refusal = (422, vec!["idempotency_body_differs -".to_owned()]);
        assert_eq!(reply.refusal(), refusal);
        answers.push(reply.text);
    }
    answers.dedup();
    assert_eq!(answers.len(), 1, "all guesses are answered the same");
    let again = post(&merchant, PAYMENTS, &first, "order-1").await?;
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    Ok(())
}

#[tokio::test]
async fn one_visitor_cannot_use_up_the_limit_of_the_others() -> anyhow::Result<()> {
    let merchant = Merchant::with(|wanted| {
        wanted.requests_per_minute = 5;
        wanted.public_key_requests_per_minute = 12;
    })
    .await?;
    for left in (0..5).rev() {
        let reply = from(&merchant, "203.0.113.9").await?;
        assert_eq!(reply.status, 201, "{}", reply.text);
        let shown = reply.header("x-ratelimit-remaining");
        assert_eq!(shown, Some(left.to_string().as_str()));
    }
    let refused = from(&merchant, "203.0.113.9").await?;
    assert_eq!(refused.status, 429);
    assert_eq!(refused.header("x-ratelimit-limit"), Some("5"));
    let message = refused.body["message"].as_str().unwrap_or_default();
    assert!(message.contains("from one address"), "{message}");
    // Neither other visitors nor the merchant's server notice.
    for address in ["203.0.113.10", "2001:db8::1"] {
        assert_eq!(from(&merchant, address).await?.status, 201, "{address}");
    }
    assert_eq!(merchant.get("/v1/payments").await?.status, 200);
    Ok(())
}

#[tokio::test]
async fn many_visitors_together_have_a_limit_too() -> anyhow::Result<()> {
    let merchant = Merchant::with(|wanted| {
        wanted.requests_per_minute = 5;
        wanted.public_key_requests_per_minute = 12;
    })
    .await?;
    for visitor in 0..12 {
        let reply = from(&merchant, &format!("203.0.113.{visitor}")).await?;
        assert_eq!(reply.status, 201, "{}", reply.text);
    }
    let refused = from(&merchant, "203.0.113.99").await?;
    assert_eq!(refused.status, 429);
    assert_eq!(refused.header("x-ratelimit-limit"), Some("12"));
    assert_eq!(refused.header("retry-after"), Some("60"));
    assert_eq!(merchant.get("/v1/payments").await?.status, 200);
    merchant.bench.clock.advance(Duration::from_secs(60));
    assert_eq!(from(&merchant, "203.0.113.99").await?.status, 201);
    Ok(())
}
