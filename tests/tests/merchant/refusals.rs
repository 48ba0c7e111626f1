//! Requests that go wrong before their fields are read: the envelope, a precise error, and nothing
//! changed.

use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};
use switchyard::routes;
use switchyard::state::{ApiState, HttpSettings};
use switchyard_core::environment::Environment;
use switchyard_engine::access::NewConnection;
use switchyard_tests::merchant::{Merchant, payment};
use switchyard_tests::stripe_gateway;

/// Requests with a body, sent to initialize a payment: content type, body, status and problem.
fn bodies() -> Vec<(Option<&'static str>, Vec<u8>, u16, &'static str)> {
    const JSON: Option<&str> = Some("application/json");
    const FORM: Option<&str> = Some("application/x-www-form-urlencoded");
    let good = || payment().to_string();
    let large = good().replace("A teapot", &"x".repeat(70_000));
    let tab = good().replace("teapot", "tea\tpot");
    let no_utf8 = [good().as_bytes(), b"\xff"].concat();
    let deep = format!("{{\"a\":{}", "{\"a\":".repeat(10_000));
    vec![
        (None, good().into(), 415, "unsupported_media_type -"),
        (
            Some("text/plain"),
            good().into(),
            415,
            "unsupported_media_type -",
        ),
        (FORM, "amount=25".into(), 415, "unsupported_media_type -"),
        (
            Some("application/jsonp"),
            good().into(),
            415,
            "unsupported_media_type -",
        ),
        (JSON, large.into(), 413, "body_too_large -"),
        (JSON, "".into(), 400, "malformed_json -"),
        (JSON, "{\"amount\":".into(), 400, "malformed_json -"),
        (JSON, tab.into(), 400, "malformed_json -"),
        (JSON, no_utf8, 400, "malformed_json -"),
        (JSON, "[]".into(), 400, "body_not_object -"),
        (JSON, "[".repeat(60_000).into(), 400, "malformed_json -"),
        (JSON, deep.into(), 400, "malformed_json -"),
    ]
}

/// Requests to the wrong place.
const PLACES: [(&str, &str, u16, &str); 13] = [
    ("GET", "/", 404, "route_not_found -"),
    ("GET", "/v1/payment", 404, "route_not_found -"),
    ("DELETE", "/v1/payments/", 404, "route_not_found -"),
    ("GET", "/v2/payments", 404, "route_not_found -"),
    (
        "GET",
        "/v1/payments/py_x/verify/more",
        404,
        "route_not_found -",
    ),
    ("GET", "/v1/payments/%ff%00", 404, "payment_not_found -"),
    (
        "GET",
        "/v1/payments/py_01K0000000000000000000000%00",
        404,
        "payment_not_found -",
    ),
    (
        "GET",
        "/v1/payouts/po_01k00000000000000000000000",
        404,
        "payout_not_found -",
    ),
    ("DELETE", "/v1/payments", 405, "method_not_allowed -"),
    (
        "PUT",
        "/v1/payments/initialize",
        405,
        "method_not_allowed -",
    ),
    (
        "POST",
        "/utils/payment/methods",
        405,
        "method_not_allowed -",
    ),
    ("BREW", "/v1/payments", 405, "method_not_allowed -"),
    (
        "OPTIONS",
        "/v1/payouts/initialize",
        405,
        "method_not_allowed -",
    ),
];

#[tokio::test]
async fn whatever_is_wrong_the_answer_is_the_envelope_and_nothing_changes() -> anyhow::Result<()> {
    let merchant = Merchant::open().await?;
    let bodies = bodies()
        .into_iter()
        .map(|(content_type, body, status, problem)| {
            (
                "POST",
                "/v1/payments/initialize",
                content_type,
                body,
                status,
                problem,
            )
        });
    let places = PLACES
        .map(|(method, path, status, problem)| (method, path, None, Vec::new(), status, problem));
    for (method, path, content_type, body, status, problem) in bodies.chain(places) {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("authorization", format!("Bearer {}", merchant.secret()));
        if let Some(content_type) = content_type {
            request = request.header("content-type", content_type);
        }
        let reply = merchant.ask(request.body(Body::from(body))?).await?;
        assert_eq!(
            reply.refusal(),
            (status, vec![problem.to_owned()]),
            "{method} {path}"
        );
        check_failure(&reply.body);
        assert_eq!(reply.header("content-type"), Some("application/json"));
        assert!(reply.header("x-request-id").is_some());
        assert_eq!(reply.header("allow").is_some(), status == 405, "{path}");
    }
    assert_eq!(merchant.get("/v1/payments").await?.body["meta"]["total"], 0);
    Ok(())
}

fn check_failure(body: &Value) {
    assert_eq!(body["data"], json!({}));
    assert_eq!(body["message"], body["errors"][0]["message"]);
    assert_ne!(body["message"], "");
    assert_eq!(body.get("success"), None);
    for error in body["errors"].as_array().unwrap() {
        for name in ["type", "code", "message"] {
            assert!(
                error[name].as_str().is_some_and(|text| !text.is_empty()),
                "{error}"
            );
        }
        assert!(
            error.get("field").is_none_or(Value::is_string)
                && error.get("hint").is_none_or(Value::is_string)
        );
    }
}

#[tokio::test]
async fn a_compressed_body_is_refused_and_a_byte_order_mark_passed_over() -> anyhow::Result<()> {
    let merchant = Merchant::open().await?;
    let body = payment().to_string();
    let marked = format!("\u{feff}{body}");
    for (coding, body, expected) in [
        ("gzip", &body, 415),
        ("identity, br", &body, 415),
        ("Identity", &body, 201),
        ("identity", &marked, 201),
    ] {
        let request = Request::post("/v1/payments/initialize")
            .header("authorization", format!("Bearer {}", merchant.secret()))
            .header("content-type", "application/json")
            .header("content-encoding", coding);
        let reply = merchant
            .ask(request.body(Body::from(body.clone()))?)
            .await?;
        assert_eq!(reply.status, expected, "{coding}: {}", reply.text);
        if expected == 415 {
            let refusal = (415, vec!["unsupported_media_type -".to_owned()]);
            assert_eq!(reply.refusal(), refusal);
            check_failure(&reply.body);
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_get_with_a_body_and_without_accept_is_answered() -> anyhow::Result<()> {
    let merchant = Merchant::open().await?;
    let id = merchant.payment().await?;
    let request = Request::get(format!("/v1/payments/{id}"))
        .header("authorization", format!("bearer {}", merchant.secret()))
        .header("content-type", "application/json");
    let reply = merchant.ask(request.body(Body::from("[]"))?).await?;
    assert_eq!(reply.status, 200, "{}", reply.text);
    Ok(())
}

#[tokio::test]
async fn all_that_is_wrong_comes_at_once_and_missing_weighs_more_than_unfit() -> anyhow::Result<()>
{
    let merchant = Merchant::open().await?;
    let mut body = payment();
    body["amount"] = json!("x");
    body["metadata"] = json!({"a": 1});
    let reply = merchant.post("/v1/payments/initialize", &body).await?;
    let unfit = vec![
        "amount_not_number amount".to_owned(),
        "metadata_value_not_string metadata.a".to_owned(),
    ];
    assert_eq!(reply.refusal(), (422, unfit));
    body.as_object_mut().unwrap().remove("description");
    let reply = merchant.post("/v1/payments/initialize", &body).await?;
    assert_eq!(reply.status, 400);
    assert_eq!(reply.body["errors"].as_array().unwrap().len(), 3);
    assert_eq!(reply.body["errors"][1]["code"], "field_required");
    check_failure(&reply.body);
    Ok(())
}

#[tokio::test]
async fn nobody_can_pay_from_a_certain_phone_where_no_method_is_tied_to_one() -> anyhow::Result<()>
{
    let merchant = Merchant::open().await?;
    let engine = &merchant.bench.engine;
    engine.gateways().add(&stripe_gateway()).await?;
    let connection = NewConnection {
        app: merchant.bench.caller().app.id,
        environment: Environment::Sandbox,
        gateway: "stripe".to_owned(),
        account_name: "Cards".to_owned(),
        methods: None,
        config: json!({}),
    };
    engine.access().create_connection(connection).await?;
    let mut body = payment();
    body["restricted_phone"] = json!({"number": "+14149518161", "country_code": "US"});
    body["methods"] = json!(["card_usd"]);
    let reply = merchant.post("/v1/payments/initialize", &body).await?;
    let unservable = "restriction_unservable restricted_phone".to_owned();
    assert_eq!(reply.refusal(), (422, vec![unservable]));
    // A second method that is tied to a number: there are payers who can use it.
    body["methods"] = json!(["card_usd", "switchyard_payment_demo"]);
    let reply = merchant.post("/v1/payments/initialize", &body).await?;
    assert_eq!(reply.status, 201, "{}", reply.text);
    // And who is not held to a number pays by card.
    body["methods"] = json!(["card_usd"]);
    body["restricted_phone"] = Value::Null;
    let reply = merchant.post("/v1/payments/initialize", &body).await?;
    assert_eq!(reply.status, 201, "{}", reply.text);
    Ok(())
}

#[tokio::test]
async fn nobody_can_pay_in_a_country_where_no_method_exists() -> anyhow::Result<()> {
    let merchant = Merchant::open().await?;
    let mut body = payment();
    body["currency"] = json!("XOF");
    body["restrict_country_code"] = json!("US");
    let reply = merchant.post("/v1/payments/initialize", &body).await?;
    assert_eq!(
        reply.refusal(),
        (
            422,
            vec!["restriction_unservable restrict_country_code".to_owned()]
        )
    );
    let mut by_phone = body.clone();
    by_phone["restrict_country_code"] = Value::Null;
    by_phone["restricted_phone"] = json!({"number": "4149518161", "country_code": "US"});
    let reply = merchant.post("/v1/payments/initialize", &by_phone).await?;
    let unservable = "restriction_unservable restricted_phone.country_code".to_owned();
    assert_eq!(reply.refusal(), (422, vec![unservable]));
    body["restrict_country_code"] = json!("BJ");
    assert_eq!(
        merchant
            .post("/v1/payments/initialize", &body)
            .await?
            .status,
        201
    );
    body["currency"] = json!("JPY");
    let reply = merchant.post("/v1/payments/initialize", &body).await?;
    assert_eq!(
        reply.refusal(),
        (400, vec!["no_method_enabled currency".to_owned()])
    );
    assert!(
        reply.body["errors"][0]["hint"]
            .as_str()
            .unwrap()
            .contains("USD")
    );
    Ok(())
}

#[tokio::test]
async fn a_payment_restricted_to_an_excluded_country_is_refused() -> anyhow::Result<()> {
    let mut merchant = Merchant::open().await?;
    let settings = HttpSettings {
        excluded_countries: vec!["BJ".to_owned()],
        ..HttpSettings::default()
    };
    merchant.state = ApiState::new(merchant.bench.engine.clone(), settings);
    merchant.router = routes::router(merchant.state.clone());
    let restricted = |field: &str, value: Value| {
        let mut body = payment();
        body["currency"] = json!("XOF");
        body[field] = value;
        body
    };
    let by_phone = |country: &str, number: &str| {
        let phone = json!({"number": number, "country_code": country});
        restricted("restricted_phone", phone)
    };
    let by_country = |country: &str| restricted("restrict_country_code", json!(country));
    for (body, field) in [
        (by_country("BJ"), "restrict_country_code"),
        (
            by_phone("BJ", "+2290197000000"),
            "restricted_phone.country_code",
        ),
    ] {
        let reply = merchant.post("/v1/payments/initialize", &body).await?;
        let unservable = format!("restriction_unservable {field}");
        assert_eq!(reply.refusal(), (422, vec![unservable]));
        let message = format!("{field} is BJ, where this installation takes no payments");
        assert_eq!(reply.body["message"], message);
    }
    for body in [by_country("CI"), by_phone("CI", "+2250700000000")] {
        let reply = merchant.post("/v1/payments/initialize", &body).await?;
        assert_eq!(reply.status, 201, "{}", reply.text);
    }
    let with_methods = |codes: &[&str]| restricted("methods", json!(codes));
    let reply = merchant
        .post("/v1/payments/initialize", &with_methods(&["mtn_bj"]))
        .await?;
    let refusal = vec!["no_method_enabled currency".to_owned()];
    assert_eq!(reply.refusal(), (400, refusal));
    let why = "are used only in countries where this installation takes no payments";
    assert!(reply.text.contains(why), "{}", reply.text);
    let other_too = with_methods(&["mtn_bj", "mtn_ci"]);
    let reply = merchant.post("/v1/payments/initialize", &other_too).await?;
    assert_eq!(reply.status, 201, "{}", reply.text);
    Ok(())
}
