//! The same request twice makes one transaction (docs/contract/responses.md).

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::Context;
use serde_json::json;
use switchyard_store::{Batch, Direction, Table};
use switchyard_tests::PAYS;
use switchyard_tests::merchant::{Merchant, payment, payout};

#[tokio::test]
async fn a_repeated_request_is_answered_the_same_and_says_so() -> anyhow::Result<()> {
    let merchant = Merchant::open().await?;
    for (path, body) in [
        ("/v1/payments/initialize", payment()),
        ("/v1/payouts/initialize", payout(PAYS)),
    ] {
        let key = [("idempotency-key", "order-1")];
        let first = merchant.post_with(path, &body, &key).await?;
        assert_eq!(
            (first.status, first.header("idempotent-replayed")),
            (201, None),
            "{}",
            first.text
        );
        let again = merchant.post_with(path, &body, &key).await?;
        assert_eq!(
            (again.status, again.header("idempotent-replayed")),
            (201, Some("true"))
        );
        assert_eq!(again.text, first.text);
        assert!(
            again.header("x-ratelimit-limit").is_none(),
            "there is no limit in this test"
        );
        // Spelt otherwise, and still the same request.
        let mut same = body.clone();
        same["amount"] = json!("25.00");
        same["colour"] = json!("ignored");
        assert_eq!(
            merchant.post_with(path, &same, &key).await?.text,
            first.text
        );
    }
    for list in ["/v1/payments", "/v1/payouts"] {
        assert_eq!(merchant.get(list).await?.body["meta"]["total"], 1);
    }
    Ok(())
}

#[tokio::test]
async fn another_body_under_the_same_key_is_refused_by_its_first_different_field()
-> anyhow::Result<()> {
    let merchant = Merchant::open().await?;
    let (path, body) = ("/v1/payments/initialize", payment());
    merchant
        .post_with(path, &body, &[("idempotency-key", "k")])
        .await?;
    for (pointer, value, field) in [
        ("/amount", json!(26), "amount"),
        ("/description", json!("Another"), "description"),
        (
            "/customer/email",
            json!("eve@shop.example"),
            "customer.email",
        ),
        ("/metadata/order", json!("2"), "metadata.order"),
    ] {
        let mut other = body.clone();
        *other.pointer_mut(pointer).unwrap() = value;
        other["description"] = if pointer == "/amount" {
            json!("Both differ")
        } else {
            other["description"].clone()
        };
        let reply = merchant
            .post_with(path, &other, &[("idempotency-key", "k")])
            .await?;
        assert_eq!(
            reply.refusal(),
            (422, vec![format!("idempotency_body_differs {field}")])
        );
    }
    assert_eq!(merchant.get("/v1/payments").await?.body["meta"]["total"], 1);
    Ok(())
}

#[tokio::test]
async fn a_refused_request_is_not_kept_under_its_key() -> anyhow::Result<()> {
    let merchant = Merchant::open().await?;
    let (path, key) = ("/v1/payments/initialize", [("idempotency-key", "k")]);
    let mut wrong = payment();
    wrong["amount"] = json!(0);
    assert_eq!(merchant.post_with(path, &wrong, &key).await?.status, 422);
    assert_eq!(
        merchant.post_with(path, &payment(), &key).await?.status,
        201
    );
    Ok(())
}

#[tokio::test]
async fn a_key_is_visible_ascii_of_a_bounded_length() -> anyhow::Result<()> {
    let merchant = Merchant::open().await?;
    let long = "k".repeat(256);
    for key in ["", "two words", &long] {
        let reply = merchant
            .post_with(
                "/v1/payments/initialize",
                &payment(),
                &[("idempotency-key", key)],
            )
            .await?;
        assert_eq!(
            reply.refusal(),
            (422, vec!["idempotency_key_invalid -".to_owned()]),
            "{key}"
        );
    }
    let longest = "k".repeat(255);
    let reply = merchant
        .post_with(
            "/v1/payments/initialize",
            &payment(),
            &[("idempotency-key", &longest)],
        )
        .await?;
    assert_eq!(reply.status, 201);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_twins_at_once_make_one_payment() -> anyhow::Result<()> {
    let merchant = Arc::new(Merchant::open().await?);
    let body = Arc::new(payment());
    let twins = (0..200).map(|_| {
        let (merchant, body) = (merchant.clone(), body.clone());
        tokio::spawn(async move {
            let key = [("idempotency-key", "storm")];
            merchant
                .post_with("/v1/payments/initialize", &body, &key)
                .await
        })
    });
    let mut answers = BTreeSet::new();
    for twin in twins.collect::<Vec<_>>() {
        let reply = twin.await??;
        assert_eq!(reply.status, 201, "{}", reply.text);
        answers.insert(reply.text);
    }
    assert_eq!(answers.len(), 1);
    assert_eq!(merchant.get("/v1/payments").await?.body["meta"]["total"], 1);
    Ok(())
}

/// Puts rubbish in place of every answer that is kept; says how many there were.
async fn spoil(merchant: &Merchant) -> anyhow::Result<usize> {
    let store = merchant.bench.engine.store();
    let kept = store.scan(Table::Idempotency, b"k", b"l", Direction::Forward, 100);
    let kept = kept.await?;
    let mut batch = Batch::new();
    for (key, row) in &kept {
        // As a program writes it that has another name for a field.
        let row = String::from_utf8(row.clone())?.replace("expires_at", "until");
        batch.put(Table::Idempotency, key, row);
    }
    store.commit(batch).await?;
    Ok(kept.len())
}

#[tokio::test]
async fn a_request_whose_answer_cannot_be_read_is_refused_and_makes_nothing() -> anyhow::Result<()>
{
    let merchant = Merchant::open().await?;
    let key = [("idempotency-key", "order-1")];
    let requests = [("/v1/payments", payment()), ("/v1/payouts", payout(PAYS))];
    for (list, body) in &requests {
        let path = format!("{list}/initialize");
        let made = merchant.post_with(&path, body, &key).await?;
        assert_eq!(made.status, 201);
    }
    assert_eq!(spoil(&merchant).await?, 2);
    for (list, body) in &requests {
        for _ in 0..2 {
            let path = format!("{list}/initialize");
            let again = merchant.post_with(&path, body, &key).await?;
            let refusal = (500, vec!["internal_error -".to_owned()]);
            assert_eq!(again.refusal(), refusal, "{}", again.text);
            let problem = &again.body["errors"][0];
            let message = problem["message"].as_str().context("a message")?;
            assert!(message.contains("Idempotency-Key"), "{message}");
            let hint = problem["hint"].as_str().context("a hint")?;
            assert!(hint.contains("before you use another key"), "{hint}");
        }
        assert_eq!(merchant.get(list).await?.body["meta"]["total"], 1);
    }
    Ok(())
}
