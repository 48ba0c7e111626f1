//! Which fields make two requests under one idempotency key different: all that the engine acts on,
//! one at a time.

use serde_json::{Value, json};
use switchyard_tests::PAYS;
use switchyard_tests::merchant::{Merchant, payment, payout};

/// One field of a request: where it stands, another value for it, and its name in the refusal.
type Change = (&'static str, Value, &'static str);

/// Common changes of payments and payouts.
fn common() -> Vec<Change> {
    vec![
        ("/amount", json!(26), "amount"),
        ("/description", json!("Another"), "description"),
        ("/customer/email", json!("eve@x.example"), "customer.email"),
        ("/customer/first_name", json!("Eve"), "customer.first_name"),
        ("/customer/last_name", json!("Byron"), "customer.last_name"),
        ("/customer/phone", json!("+22890123456"), "customer.phone"),
        ("/customer/address", json!("2 Road"), "customer.address"),
        ("/customer/city", json!("Oxford"), "customer.city"),
        ("/customer/state", json!("Maine"), "customer.state"),
        ("/customer/country", json!("FR"), "customer.country"),
        ("/customer/zip", json!("54321"), "customer.zip"),
        ("/metadata/order", json!("2"), "metadata.order"),
        ("/metadata", json!({}), "metadata.order"),
    ]
}

/// A customer and metadata with every field that there is.
fn filled(mut body: Value) -> Value {
    body["customer"] = json!({
        "email": "ada@shop.example", "first_name": "Ada", "last_name": "Lovelace", "phone": "+14149518161",
        "address": "1 Street", "city": "London", "state": "Ohio", "country": "US", "zip": "12345",
    });
    body["metadata"] = json!({ "order": "1" });
    body
}

/// Sends `body`, then the same with one change at a time, under one key: each is refused by the
/// name of the changed field.
async fn each_change_is_told(path: &str, body: &Value, changes: Vec<Change>) -> anyhow::Result<()> {
    let merchant = Merchant::open().await?;
    let key = [("idempotency-key", "order-1")];
    let first = merchant.post_with(path, body, &key).await?;
    assert_eq!(first.status, 201, "{}", first.text);
    for (pointer, value, field) in changes {
        let mut other = body.clone();
        let place = other.pointer_mut(pointer);
        *place.unwrap_or_else(|| panic!("there is no {pointer}")) = value;
        let reply = merchant.post_with(path, &other, &key).await?;
        let refusal = (422, vec![format!("idempotency_body_differs {field}")]);
        assert_eq!(reply.refusal(), refusal, "{pointer}: {}", reply.text);
    }
    let again = merchant.post_with(path, body, &key).await?;
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    Ok(())
}

#[tokio::test]
async fn each_field_of_a_payment_makes_another_request() -> anyhow::Result<()> {
    let mut body = filled(payment());
    body["methods"] = json!(["card_usd"]);
    body["restrict_country_code"] = json!("US");
    body["expires_in"] = json!(3_600);
    let mut changes = common();
    changes.extend([
        ("/return_url", json!("https://shop.example/x"), "return_url"),
        ("/expires_in", json!(3_601), "expires_in"),
        ("/expires_in", json!(null), "expires_in"),
        ("/methods", json!(["switchyard_payment_demo"]), "methods"),
        (
            "/restrict_country_code",
            json!(null),
            "restrict_country_code",
        ),
    ]);
    each_change_is_told("/v1/payments/initialize", &body, changes).await?;
    // A currency comes with methods of its own, and one restriction excludes the other.
    body["methods"] = json!(null);
    let changes = vec![("/currency", json!("EUR"), "currency")];
    body["restrict_country_code"] = json!(null);
    each_change_is_told("/v1/payments/initialize", &body, changes).await?;
    body["restricted_phone"] = json!({ "number": "4149518161", "country_code": "US" });
    let number = "restricted_phone.number";
    let changes = vec![
        ("/restricted_phone/number", json!("4149518162"), number),
        ("/restricted_phone", json!(null), number),
    ];
    each_change_is_told("/v1/payments/initialize", &body, changes).await
}

#[tokio::test]
async fn each_field_of_a_payout_makes_another_request() -> anyhow::Result<()> {
    let body = filled(payout(PAYS));
    let mut changes = common();
    let number = "recipient.account_number";
    changes.push(("/recipient/account_number", json!("4149518163"), number));
    each_change_is_told("/v1/payouts/initialize", &body, changes).await?;
    // Methods of one currency and the same fields, and one of another currency.
    let body = filled(json!({
        "amount": 500, "currency": "XOF", "description": "Salary", "method": "mtn_bj",
        "recipient": { "msisdn": "4149518161" },
    }));
    let changes = vec![
        ("/method", json!("moov_bj"), "method"),
        ("/recipient/msisdn", json!("4149518163"), "recipient.msisdn"),
    ];
    each_change_is_told("/v1/payouts/initialize", &body, changes).await
}
