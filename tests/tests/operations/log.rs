//! The log: one line for each request, and no secret in any line.

use std::time::Duration;

use anyhow::Context;
use serde_json::{Value, json};
use switchyard_tests::client::{payment, payout};
use switchyard_tests::{FAILS, PAYS, Receiver, STAYS_PENDING, Server, Setup, eventually};

/// Everything that this test gives away in confidence begins with it.
const CONFIDENCE: &str = "hunter2";

/// Lines of the log itself; other output of the process (the keys of development mode, for the
/// person who started it) is skipped.
fn lines(server: &Server) -> Vec<Value> {
    let log = server.log();
    let of_log = log.lines().filter(|line| line.starts_with('{'));
    of_log
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

/// The lines of answered requests at this route.
fn answered(server: &Server, route: &str) -> Vec<Value> {
    let mut lines = lines(server);
    lines.retain(|line| line["message"] == "request completed" && line["http.route"] == route);
    lines
}

fn json_log(level: &'static str) -> Vec<(&'static str, &'static str)> {
    vec![
        ("SWITCHYARD_LOG__FORMAT", "json"),
        ("SWITCHYARD_LOG__LEVEL", level),
    ]
}

/// A payer with nothing but forms pays from `number`.
async fn pay(server: &Server, id: &str, number: &str) -> anyhow::Result<()> {
    let page = server.stranger();
    page.page(&format!("/checkout/{id}?country=US")).await?;
    let fields = [
        ("country", "US"),
        ("method", "switchyard_payment_demo"),
        ("msisdn", number),
    ];
    let sent = page
        .post_form(&format!("/checkout/{id}/details"), &fields)
        .await?;
    let next = location(&sent)?;
    let (_, answers) = next.split_once("?a=").context("answers")?;
    page.page(&next).await?;
    let sent = page
        .post_form(&format!("/checkout/{id}/confirm"), &[("a", answers)])
        .await?;
    page.page(&location(&sent)?).await?;
    Ok(())
}

fn location(response: &reqwest::Response) -> anyhow::Result<String> {
    let location = response.headers().get("location");
    let location = location.with_context(|| format!("no location: {response:?}"))?;
    Ok(location.to_str()?.to_owned())
}

/// A whole day of the service: payments and payouts, good and bad, with all confidential data of
/// people and programs. Returns texts that must never be in a log.
async fn a_day(server: &Server, receiver: &Receiver) -> anyhow::Result<Vec<String>> {
    let merchant = server.merchant();
    let secret = format!("secret_{CONFIDENCE}");
    server
        .add_webhook(&format!("{}?token={CONFIDENCE}", receiver.url()), &secret)
        .await?;
    let app = format!("/operator/v1/apps/{}", server.dev().app_id);
    let one = json!({ "settings": { "checkout_attempts": 1 } });
    server.operator().patch(&app, &one).await?.expect(200)?;
    for number in [PAYS, FAILS, STAYS_PENDING] {
        let made = merchant
            .post("/v1/payments/initialize", &private_payment())
            .await?;
        let id = made.expect(201)?.data("id")?.to_owned();
        pay(server, &id, number).await?;
        let path = format!("/v1/payments/{id}/verify");
        merchant.get(&path).await?.expect(200)?;
        let out = merchant
            .post("/v1/payouts/initialize", &payout(CONFIDENCE, number))
            .await?;
        out.expect(201)?;
    }
    let mut secrets = at_the_desk(server).await?;
    eventually(
        "all webhooks have come",
        Duration::from_secs(30),
        async || Ok((receiver.received().len() >= 10).then_some(())),
    )
    .await?;
    let dev = server.dev();
    secrets.extend([
        CONFIDENCE.to_owned(),
        dev.sandbox_secret_key.clone(),
        dev.sandbox_public_key.clone(),
        dev.live_secret_key.clone(),
        dev.live_public_key.clone(),
        dev.operator_token.clone(),
        std::fs::read_to_string(server.data().join("master.key"))?
            .trim()
            .to_owned(),
    ]);
    secrets.extend([PAYS, FAILS, STAYS_PENDING].map(str::to_owned));
    Ok(secrets)
}

/// Actions of an operator: keys, connections, tokens; and requests with invalid keys. Returns the
/// secrets that were made.
async fn at_the_desk(server: &Server) -> anyhow::Result<Vec<String>> {
    let operator = server.operator();
    let wrong = format!("switchyard_sk_test_{CONFIDENCE}");
    let refused = server
        .stranger()
        .with_key(&wrong)
        .get("/v1/payments")
        .await?;
    refused.expect(401)?;
    let refused = server
        .stranger()
        .with_key(&wrong)
        .get("/operator/v1/apps")
        .await?;
    refused.expect(401)?;
    let app = &server.dev().app_id;
    let key = json!({"environment": "live", "kind": "secret"});
    let made = operator
        .post(&format!("/operator/v1/apps/{app}/keys"), &key)
        .await?;
    let made = made.expect(201)?;
    let connection = json!({
        "environment": "sandbox", "gateway": "switchyard_demo", "account_name": "Ours", "config": {"api_key": CONFIDENCE},
    });
    // Whether the test gateway takes the credential or not, it must not be read again.
    operator
        .post(&format!("/operator/v1/apps/{app}/connections"), &connection)
        .await?;
    let token = operator
        .post("/operator/v1/tokens", &json!({"name": "night shift"}))
        .await?;
    let token = token.expect(201)?;
    let mut secrets = Vec::new();
    for answer in [&made, &token] {
        secrets.extend(secret_texts(&answer.body["data"]));
    }
    Ok(secrets)
}

/// Texts of an answer that are long and look like chance: the key or token that it shows once.
fn secret_texts(data: &Value) -> Vec<String> {
    let fields = data.as_object().into_iter().flatten();
    let texts = fields.filter_map(|(name, value)| {
        let is_secret = ["secret", "key", "token", "value"].contains(&name.as_str());
        value.as_str().filter(|_| is_secret).map(str::to_owned)
    });
    texts.collect()
}

fn private_payment() -> Value {
    let mut body = payment(CONFIDENCE);
    body["customer"]["email"] = json!(format!("{CONFIDENCE}@example.com"));
    body["customer"]["last_name"] = json!(CONFIDENCE);
    body["customer"]["phone"] = json!("+2290197000000");
    body["metadata"] = json!({ CONFIDENCE: CONFIDENCE });
    body
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_line_at_debug_level_holds_a_secret_whatever_is_done() -> anyhow::Result<()> {
    let receiver = Receiver::start().await?;
    let mut server = Server::start(Setup {
        settings: json_log("debug"),
        ..Setup::default()
    })
    .await?;
    let secrets = a_day(&server, &receiver).await?;
    assert!(secrets.len() >= 12, "{}", secrets.len());
    server.stop().await?;
    let lines = lines(&server);
    assert!(lines.len() > 40, "there is a log: {}", lines.len());
    for line in &lines {
        let line = line.to_string();
        for secret in secrets.iter().filter(|secret| !secret.is_empty()) {
            assert!(!line.contains(secret.as_str()), "{secret} stands in {line}");
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_request_is_a_line_with_its_id_route_status_time_and_transaction() -> anyhow::Result<()>
{
    let mut server = Server::start(Setup {
        settings: json_log("info"),
        ..Setup::default()
    })
    .await?;
    let merchant = server.merchant();
    let made = merchant
        .post("/v1/payments/initialize", &payment("A teapot"))
        .await?;
    let made = made.expect(201)?;
    let id = made.data("id")?.to_owned();
    merchant
        .get(&format!("/v1/payments/{id}"))
        .await?
        .expect(200)?;
    merchant.get("/v1/payments/py_nothing").await?.expect(404)?;
    server.stranger().get("/nowhere").await?.expect(404)?;

    for (route, method, statuses) in [
        ("/v1/payments/initialize", "POST", vec![201]),
        ("/v1/payments/{paymentId}", "GET", vec![200, 404]),
        ("none", "GET", vec![404]),
    ] {
        let lines = answered(&server, route);
        assert_eq!(lines.len(), statuses.len(), "{route}: {lines:?}");
        for (line, status) in lines.iter().zip(&statuses) {
            assert_eq!(line["level"], "INFO");
            assert_eq!(line["http.method"], method);
            assert_eq!(&line["http.status"], status);
            assert!(line["duration_ms"].as_f64().is_some_and(|time| time > 0.0));
            let request = line["span"]["request.id"].as_str().unwrap_or_default();
            assert!(request.starts_with("req_"), "{line}");
        }
    }
    let line = &answered(&server, "/v1/payments/initialize")[0];
    assert_eq!(line["span"]["transaction.id"], id.as_str());
    assert_eq!(
        line["span"]["request.id"].as_str(),
        made.headers["x-request-id"].to_str().ok()
    );
    // What machines ask every few seconds is no news.
    assert!(answered(&server, "/readyz").is_empty());
    server.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_are_not_logged_when_that_is_switched_off() -> anyhow::Result<()> {
    let mut settings = json_log("info");
    settings.push(("SWITCHYARD_LOG__REQUESTS", "false"));
    let mut server = Server::start(Setup {
        settings,
        ..Setup::default()
    })
    .await?;
    let made = server
        .merchant()
        .post("/v1/payments/initialize", &payment("A teapot"))
        .await?;
    made.expect(201)?;
    server.stop().await?;
    assert!(answered(&server, "/v1/payments/initialize").is_empty());
    assert!(
        lines(&server)
            .iter()
            .any(|line| line["message"] == "server started")
    );
    Ok(())
}

/// Every line fails with *no space left on device*.
#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_cannot_be_written_stops_nothing_and_its_lost_lines_are_counted()
-> anyhow::Result<()> {
    let setup = Setup {
        settings: vec![("SWITCHYARD_LOG__FILE", "/dev/full")],
        ..Setup::default()
    };
    let server = Server::start(setup).await?;
    let merchant = server.merchant();
    let order = payment("ada@example.com");
    let made = merchant.post("/v1/payments/initialize", &order);
    let id = made.await?.expect(201)?.data("id")?.to_owned();
    pay(&server, &id, PAYS).await?;
    eventually(
        "the payment succeeds",
        Duration::from_secs(20),
        async || {
            let reply = merchant.get(&format!("/v1/payments/{id}/verify")).await?;
            Ok((reply.body["data"]["status"] == "success").then_some(()))
        },
    )
    .await?;
    let metrics = server.operator().page("/metrics").await?;
    let lost = metrics
        .lines()
        .find_map(|line| line.strip_prefix("switchyard_log_lines_lost_total "));
    let lost: f64 = lost.context("the metric")?.parse()?;
    anyhow::ensure!(lost > 0.0, "{lost}");
    Ok(())
}
