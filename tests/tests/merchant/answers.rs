//! Responses in each state: every field of docs/contract/resources.md with its type and its
//! value.

use std::time::Duration;

use serde_json::{Value, json};
use switchyard_tests::merchant::{Merchant, Reply, payment};
use switchyard_tests::{FAILS, PAYS, STAYS_PENDING, eventually};

use crate::shape::*;

fn check_success(reply: &Reply, status: u16, message: &str) {
    assert_eq!(reply.status, status, "{}", reply.text);
    assert_eq!(reply.body["message"], message);
    assert_eq!(reply.body["errors"], Value::Null);
    assert_eq!(reply.body["success"], true);
    assert_eq!(reply.header("content-type"), Some("application/json"));
    assert_eq!(reply.header("cache-control"), Some("no-store"));
    assert!(
        reply
            .header("x-request-id")
            .is_some_and(|id| id.starts_with("req_"))
    );
}

fn check_payment_verified(data: &Value) {
    check(data, PAYMENT_VERIFIED);
    check(&data["currency"], CURRENCY);
    check(&data["app"], APP_VERIFIED);
    check(&data["customer"], CUSTOMER);
    check(&data["customer"], "profile_url url");
    let capture = &data["capture"];
    if !capture.is_null() {
        check(capture, CAPTURE);
        check(&capture["currency"], CURRENCY);
        check(&capture["method"], METHOD_VERIFIED);
        check(&capture["gateway"], GATEWAY_VERIFIED);
        check(&capture["context"], CONTEXT_VERIFIED);
    }
}

fn check_retrieved(data: &Value, table: &str) {
    check(data, table);
    check(&data["customer"], CUSTOMER);
    check(&data["context"], CONTEXT_RETRIEVED);
    if !data["method"].is_null() {
        check(&data["method"], METHOD_RETRIEVED);
    }
    if !data["gateway"].is_null() {
        check(&data["gateway"], GATEWAY_RETRIEVED);
    }
}

/// Both forms of a payment; the whole of each was looked at.
async fn both_forms(merchant: &Merchant, id: &str) -> anyhow::Result<(Value, Value)> {
    let verified = merchant.get(&format!("/v1/payments/{id}/verify")).await?;
    check_success(&verified, 200, "Payment transaction fetched successfully");
    check_payment_verified(&verified.body["data"]);
    let retrieved = merchant.get(&format!("/v1/payments/{id}")).await?;
    check_success(&retrieved, 200, "Payment transaction fetched successfully");
    check_retrieved(&retrieved.body["data"], PAYMENT_RETRIEVED);
    Ok((
        verified.body["data"].clone(),
        retrieved.body["data"].clone(),
    ))
}

#[tokio::test]
async fn initialize_answers_201_with_an_id_and_the_page_that_ends_in_it() -> anyhow::Result<()> {
    let merchant = Merchant::open().await?;
    let reply = merchant.post("/v1/payments/initialize", &payment()).await?;
    check_success(&reply, 201, "Transaction initialized successfully");
    let data = &reply.body["data"];
    let id = data["id"].as_str().unwrap();
    assert!(id.starts_with("py_") && id.len() == 29, "{id}");
    assert_eq!(
        data["checkout_url"],
        format!("http://127.0.0.1:8080/checkout/{id}")
    );
    Ok(())
}

#[tokio::test]
async fn an_initiated_payment_has_no_capture_yet() -> anyhow::Result<()> {
    let merchant = Merchant::open().await?;
    let id = merchant.payment().await?;
    let (verified, retrieved) = both_forms(&merchant, &id).await?;
    for data in [&verified, &retrieved] {
        assert_eq!(data["status"], "initiated");
        assert_eq!(
            (&data["amount"], &data["amount_formatted"]),
            (&json!(25), &json!("$ 25.00"))
        );
        assert_eq!(data["return_url"], "https://shop.example/done?order=1");
        assert_eq!(data["metadata"], json!({"order": "1"}));
    }
    assert_eq!(verified["capture"], Value::Null);
    assert_eq!(
        (&retrieved["method"], &retrieved["gateway"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(retrieved["payment_phone_number"], "");
    Ok(())
}

#[tokio::test]
async fn a_payment_that_succeeded_says_what_was_captured_and_by_whom() -> anyhow::Result<()> {
    let merchant = Merchant::open().await?;
    let id = merchant.payment().await?;
    merchant.pay(&id, PAYS).await?;
    let (verified, retrieved) = both_forms(&merchant, &id).await?;
    let ended = format!("https://shop.example/done?order=1&paymentId={id}&paymentStatus=success");
    for data in [&verified, &retrieved] {
        assert_eq!(data["status"], "success", "{data:#}");
        assert_eq!(data["return_url"], ended);
    }
    let capture = &verified["capture"];
    assert_eq!(capture["amount"], 25);
    assert_eq!(capture["phone_number"], PAYS);
    assert_eq!(capture["gateway"]["short_code"], "switchyard_demo");
    assert_eq!(
        capture["gateway"]["account_name"],
        "Switchyard Test Gateway"
    );
    assert_ne!(capture["gateway"]["transaction_id"], "");
    assert_eq!(capture["method"]["short_code"], "switchyard_payment_demo");
    assert_eq!(
        capture["metadata"]["selected_payment_method"],
        "switchyard_payment_demo"
    );
    assert_eq!(capture["context"]["user_agent"]["is_android"], true);
    assert_eq!(capture["context"]["country"]["alpha_3_code"], "USA");
    assert_eq!(capture["context"]["ip"], "203.0.113.9");
    assert_eq!(capture["failure_message"], Value::Null);
    assert_eq!(retrieved["payment_phone_number"], PAYS);
    assert_eq!(retrieved["method"]["code"], "switchyard_payment_demo");
    assert_eq!(retrieved["gateway"]["code"], "switchyard_demo");
    Ok(())
}

#[tokio::test]
async fn a_payment_that_is_pending_keeps_the_merchants_own_return_url() -> anyhow::Result<()> {
    let merchant = Merchant::open().await?;
    let id = merchant.payment().await?;
    merchant.pay(&id, STAYS_PENDING).await?;
    let (verified, retrieved) = both_forms(&merchant, &id).await?;
    assert_eq!(
        (&verified["status"], &retrieved["status"]),
        (&json!("pending"), &json!("pending"))
    );
    assert_eq!(verified["return_url"], "https://shop.example/done?order=1");
    Ok(())
}

#[tokio::test]
async fn a_payment_that_failed_says_why() -> anyhow::Result<()> {
    let merchant = Merchant::open().await?;
    let id = merchant.payment().await?;
    merchant.pay(&id, FAILS).await?;
    let (verified, _) = both_forms(&merchant, &id).await?;
    assert_eq!(verified["status"], "failed");
    check(
        &verified["capture"],
        "failure_message text\nfailure_error_code text\nfailure_error_type text",
    );
    Ok(())
}

#[tokio::test]
async fn a_cancelled_payment_is_final_without_a_capture() -> anyhow::Result<()> {
    let merchant = Merchant::open().await?;
    let id = merchant.payment().await?;
    merchant.bench.engine.cancel(id.parse()?).await?;
    let (verified, _) = both_forms(&merchant, &id).await?;
    assert_eq!(
        (&verified["status"], &verified["capture"]),
        (&json!("cancelled"), &Value::Null)
    );
    let ended = verified["return_url"].as_str().unwrap();
    assert!(ended.ends_with("paymentStatus=cancelled"), "{ended}");
    Ok(())
}

#[tokio::test]
async fn a_successful_payment_is_processed_once_and_no_other_is() -> anyhow::Result<()> {
    let merchant = Merchant::open().await?;
    let id = merchant.payment().await?;
    let path = format!("/v1/payments/{id}/process");
    let early = merchant.post(&path, &json!({})).await?;
    assert_eq!(early.refusal(), (422, vec!["not_successful -".to_owned()]));
    merchant.pay(&id, PAYS).await?;
    let first = merchant.post(&path, &json!({})).await?;
    check_success(&first, 200, "Payment transaction processed successfully");
    assert_eq!(first.body["data"]["is_processed"], true);
    let again = merchant.post(&path, &json!([])).await?;
    assert_eq!(again.body["data"], first.body["data"]);
    let (verified, _) = both_forms(&merchant, &id).await?;
    assert_eq!(verified["processed_at"], first.body["data"]["processed_at"]);
    Ok(())
}

#[tokio::test]
async fn a_payout_has_every_field_in_every_state() -> anyhow::Result<()> {
    let merchant = Merchant::open().await?;
    // The numbers mean other things for payouts (docs/contract/test-gateway.md).
    for (number, status) in [
        (PAYS, "success"),
        (STAYS_PENDING, "failed"),
        (FAILS, "pending"),
    ] {
        let id = merchant.payout(number).await?;
        assert!(id.starts_with("po_"));
        let path = format!("/v1/payouts/{id}/verify");
        let verified = eventually(status, Duration::from_secs(10), || async {
            let reply = merchant.get(&path).await?;
            check_success(&reply, 200, "Payout transaction fetched successfully");
            check(&reply.body["data"], PAYOUT_VERIFIED);
            let has_come =
                reply.body["data"]["status"] == status && !reply.body["data"]["disburse"].is_null();
            Ok(has_come.then(|| reply.body["data"].clone()))
        })
        .await?;
        check(&verified["currency"], CURRENCY);
        check(&verified["app"], APP_VERIFIED);
        check(&verified["customer"], CUSTOMER);
        check(&verified["disburse"]["method"], METHOD_VERIFIED);
        check(&verified["disburse"]["gateway"], GATEWAY_VERIFIED);
        assert_eq!(verified["success_at"].is_null(), status != "success");
        assert_eq!(verified["failed_at"].is_null(), status != "failed");
        assert_eq!(
            verified["disburse"]["failure_message"].is_null(),
            status != "failed"
        );
        let retrieved = merchant.get(&format!("/v1/payouts/{id}")).await?;
        check_success(&retrieved, 200, "Payout transaction fetched successfully");
        check_retrieved(&retrieved.body["data"], PAYOUT_RETRIEVED);
        assert_eq!(retrieved.body["data"]["payout_phone_number"], number);
        for field in [
            "failure_message",
            "failure_error_code",
            "failure_error_type",
        ] {
            let why = &retrieved.body["data"][field];
            assert_eq!(why, &verified["disburse"][field], "{field}");
            assert_eq!(why.is_null(), status != "failed", "{field}");
        }
        assert_eq!(retrieved.body["data"].get("checkout_url"), None);
    }
    Ok(())
}

#[tokio::test]
async fn initializing_a_payout_answers_201_with_an_id() -> anyhow::Result<()> {
    let merchant = Merchant::open().await?;
    let body = switchyard_tests::merchant::payout(PAYS);
    let reply = merchant.post("/v1/payouts/initialize", &body).await?;
    check_success(&reply, 201, "Payout transaction initialized successfully");
    assert_eq!(reply.body["data"].as_object().unwrap().len(), 1);
    Ok(())
}

#[tokio::test]
async fn amounts_are_shown_by_their_currencys_rules() -> anyhow::Result<()> {
    let merchant = Merchant::open().await?;
    for (amount, currency, shown, formatted) in [
        (json!(500), "USD", "500", "$ 500.00"),
        (json!("25.50"), "USD", "25.5", "$ 25.50"),
        (json!(200), "XOF", "200", "XOF 200"),
        (json!(1250), "EUR", "1250", "1.250,00 €"),
    ] {
        let mut body = payment();
        body["amount"] = amount;
        body["currency"] = json!(currency);
        let made = merchant.post("/v1/payments/initialize", &body).await?;
        assert_eq!(made.status, 201, "{}", made.text);
        let id = made.body["data"]["id"].as_str().unwrap();
        let reply = merchant.get(&format!("/v1/payments/{id}")).await?;
        assert!(
            reply.text.contains(&format!("\"amount\":{shown},")),
            "{}",
            reply.text
        );
        assert_eq!(reply.body["data"]["amount_formatted"], formatted);
    }
    Ok(())
}
