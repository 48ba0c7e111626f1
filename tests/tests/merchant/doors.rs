//! Access: keys, environments, apps, and rate limits.

use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use serde_json::json;
use switchyard_core::environment::Environment;
use switchyard_engine::access::{ConnectionChange, KeyKind, NewApp, NewConnection};
use switchyard_tests::merchant::{Merchant, payment};

#[tokio::test]
async fn no_key_and_a_wrong_key_are_401_whatever_they_ask_for() -> anyhow::Result<()> {
    let merchant = Merchant::open().await?;
    let id = merchant.payment().await?;
    let (body, last) = merchant.secret().split_at(merchant.secret().len() - 1);
    let checksum_wrong = format!("{body}{}", if last == "x" { "y" } else { "x" });
    let unknown = "switchyard_sk_test_00000000000000000000000000000000000000".to_owned();
    let bearer = |key: &str| format!("Bearer {key}");
    let headers = [
        None,
        Some(String::new()),
        Some("Bearer".to_owned()),
        Some(bearer("")),
        Some(bearer(&checksum_wrong)),
        Some(bearer(&unknown)),
        Some(format!("Basic {}", merchant.secret())),
        Some(merchant.secret().to_owned()),
    ];
    for path in [
        "/v1/payments".to_owned(),
        format!("/v1/payments/{id}"),
        "/v1/payments/py_nothing".to_owned(),
    ] {
        for header in &headers {
            let mut request = Request::get(&path);
            if let Some(header) = header {
                request = request.header("authorization", header);
            }
            let reply = merchant.ask(request.body(Body::empty())?).await?;
            assert_eq!(reply.status, 401, "{header:?}");
            let message = match header {
                None => "Unauthorized: no API key was sent",
                Some(_) => "Unauthorized: invalid API key",
            };
            assert_eq!(reply.body["message"], message);
            assert_eq!(reply.body["errors"][0]["type"], "authentication_error");
            assert_eq!(reply.header("x-ratelimit-limit"), None);
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_public_key_initializes_and_does_nothing_else() -> anyhow::Result<()> {
    let merchant = Merchant::open().await?;
    let public = format!("Bearer {}", merchant.public());
    let made = merchant
        .post_with(
            "/v1/payments/initialize",
            &payment(),
            &[("authorization", &public)],
        )
        .await?;
    assert_eq!(made.status, 201, "{}", made.text);
    let id = made.body["data"]["id"].as_str().unwrap();
    for path in [
        "/v1/payments".to_owned(),
        "/v1/payouts".to_owned(),
        format!("/v1/payments/{id}"),
        format!("/v1/payments/{id}/verify"),
        // 403 comes before the look-up: it tells nothing of what exists.
        "/v1/payments/py_nothing".to_owned(),
    ] {
        let reply = merchant.get_with(merchant.public(), &path).await?;
        assert_eq!(
            reply.refusal(),
            (403, vec!["public_key_not_allowed -".to_owned()]),
            "{path}"
        );
    }
    let process = format!("/v1/payments/{id}/process");
    let reply = merchant
        .post_with(&process, &json!({}), &[("authorization", &public)])
        .await?;
    assert_eq!(reply.status, 403);
    Ok(())
}

#[tokio::test]
async fn a_page_of_another_host_may_initialize_with_a_public_key() -> anyhow::Result<()> {
    let merchant = Merchant::open().await?;
    let path = "/v1/payments/initialize";
    let asks = |method: &'static str| {
        let request = Request::builder()
            .method("OPTIONS")
            .uri(path)
            .header("origin", "https://shop.example");
        request
            .header("access-control-request-method", method)
            .body(Body::empty())
    };
    let preflight = merchant.ask(asks("POST")?).await?;
    assert_eq!(preflight.status, 204);
    assert_eq!(preflight.header("access-control-allow-origin"), Some("*"));
    assert!(
        preflight
            .header("access-control-allow-headers")
            .unwrap()
            .contains("authorization")
    );
    let public = format!("Bearer {}", merchant.public());
    for (key, status) in [(public.as_str(), 201), ("Bearer nonsense", 401)] {
        let headers = [("authorization", key), ("origin", "https://shop.example")];
        let reply = merchant.post_with(path, &payment(), &headers).await?;
        assert_eq!(
            (reply.status, reply.header("access-control-allow-origin")),
            (status, Some("*"))
        );
    }
    // Pages may not use requests that need a secret key.
    let reply = merchant.get("/v1/payments").await?;
    assert_eq!(reply.header("access-control-allow-origin"), None);
    Ok(())
}

#[tokio::test]
async fn another_environment_and_another_app_do_not_exist() -> anyhow::Result<()> {
    let merchant = Merchant::open().await?;
    let access = merchant.bench.engine.access();
    let new = NewApp {
        account: access.app(merchant.bench.keys.app).unwrap().account,
        name: "Another".to_owned(),
        icon_url: None,
        website_url: None,
        settings: Default::default(),
    };
    let other = access.create_app(new).await?;
    let key = access
        .create_key(other.id, Environment::Sandbox, KeyKind::Secret, None)
        .await?;
    let payment = merchant.payment().await?;
    let payout = merchant.payout(switchyard_tests::PAYS).await?;
    for stranger in [merchant.live(), key.secret.expose().as_str()] {
        for (path, code, message) in [
            (
                format!("/v1/payments/{payment}"),
                "payment_not_found",
                "Payment transaction not found",
            ),
            (
                format!("/v1/payments/{payment}/verify"),
                "payment_not_found",
                "Payment transaction not found",
            ),
            (
                format!("/v1/payouts/{payout}"),
                "payout_not_found",
                "Payout transaction not found",
            ),
            (
                format!("/v1/payouts/{payout}/verify"),
                "payout_not_found",
                "Payout transaction not found",
            ),
        ] {
            let reply = merchant.get_with(stranger, &path).await?;
            assert_eq!(reply.refusal(), (404, vec![format!("{code} -")]), "{path}");
            assert_eq!(reply.body["message"], message);
        }
        for list in ["/v1/payments", "/v1/payouts"] {
            assert_eq!(
                merchant.get_with(stranger, list).await?.body["meta"]["total"],
                0
            );
        }
    }
    // Nor is one kind the other.
    for path in [
        format!("/v1/payments/{payout}"),
        format!("/v1/payouts/{payment}"),
        format!("/v1/payments/{}", payment.to_uppercase()),
    ] {
        assert_eq!(merchant.get(&path).await?.status, 404, "{path}");
    }
    Ok(())
}

#[tokio::test]
async fn the_121st_request_in_a_minute_is_refused() -> anyhow::Result<()> {
    let merchant = Merchant::with(|wanted| wanted.requests_per_minute = 120).await?;
    for n in 0..120 {
        let reply = merchant.get("/v1/payments/py_nothing").await?;
        assert_eq!(reply.status, 404);
        assert_eq!(reply.header("x-ratelimit-limit"), Some("120"));
        assert_eq!(
            reply.header("x-ratelimit-remaining"),
            Some((119 - n).to_string().as_str())
        );
    }
    let reply = merchant.get("/v1/payments/py_nothing").await?;
    assert_eq!(
        reply.refusal(),
        (429, vec!["rate_limit_exceeded -".to_owned()])
    );
    assert_eq!(
        (
            reply.header("retry-after"),
            reply.header("x-ratelimit-remaining")
        ),
        (Some("60"), Some("0"))
    );
    assert_eq!(reply.header("x-ratelimit-reset"), Some("60"));
    // Each key has its own limit.
    assert_eq!(
        merchant
            .get_with(merchant.live(), "/v1/payments")
            .await?
            .status,
        200
    );
    merchant.bench.clock.advance(Duration::from_secs(60));
    assert_eq!(merchant.get("/v1/payments/py_nothing").await?.status, 404);
    Ok(())
}

#[tokio::test]
async fn live_takes_nothing_that_no_gateway_of_its_own_serves() -> anyhow::Result<()> {
    let merchant = Merchant::open().await?;
    let live = format!("Bearer {}", merchant.live());
    let reply = merchant
        .post_with(
            "/v1/payments/initialize",
            &payment(),
            &[("authorization", &live)],
        )
        .await?;
    assert_eq!(
        reply.refusal(),
        (400, vec!["no_method_enabled currency".to_owned()])
    );
    assert_eq!(
        reply.body["message"],
        "No payment methods enabled for this currency (USD): this app has no connection in live"
    );
    let hint = reply.body["errors"][0]["hint"].as_str().unwrap_or_default();
    assert!(hint.contains("switchyard connections create"), "{hint}");
    let body = switchyard_tests::merchant::payout(switchyard_tests::PAYS);
    let reply = merchant
        .post_with("/v1/payouts/initialize", &body, &[("authorization", &live)])
        .await?;
    assert_eq!(
        reply.refusal(),
        (422, vec!["method_not_enabled method".to_owned()])
    );
    let message = reply.body["message"].as_str().unwrap_or_default();
    assert!(
        message.contains("this app has no connection in live"),
        "{message}"
    );
    Ok(())
}

#[tokio::test]
async fn an_app_without_a_method_is_told_whether_connections_are_missing_or_disabled()
-> anyhow::Result<()> {
    let merchant = Merchant::open().await?;
    let access = merchant.bench.engine.access();
    let live = format!("Bearer {}", merchant.live());
    let message = async || {
        let headers = [("authorization", live.as_str())];
        let (path, body) = ("/v1/payments/initialize", payment());
        let reply = merchant.post_with(path, &body, &headers).await?;
        anyhow::Ok(
            reply.body["message"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
        )
    };
    let connection = NewConnection {
        app: merchant.bench.keys.app,
        environment: Environment::Live,
        gateway: "gone".to_owned(),
        account_name: "Main".to_owned(),
        methods: None,
        config: json!({}),
    };
    let connection = access.create_connection(connection).await?;
    let not_loaded = message().await?;
    let reason = "no gateway of this app's connections in live is loaded";
    assert!(not_loaded.ends_with(reason), "{not_loaded}");
    let disabled = ConnectionChange {
        is_enabled: Some(false),
        ..ConnectionChange::default()
    };
    access.update_connection(connection.id, disabled).await?;
    let disabled = message().await?;
    let reason = "all connections of this app in live are disabled";
    assert!(disabled.ends_with(reason), "{disabled}");
    Ok(())
}
