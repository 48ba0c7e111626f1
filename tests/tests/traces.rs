//! Traces, received by a collector: one from the request to the webhook, with nothing private in it.

use std::net::TcpListener;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::extract::Request;
use axum::middleware::{self, Next};
use serde_json::{Value, json};
use switchyard_tests::client::{payment, payout};
use switchyard_tests::collector::{Collector, Span};
use switchyard_tests::provider::{NOWHERE, Provider};
use switchyard_tests::sweep::site::connect;
use switchyard_tests::{
    Client, PAYS, Receiver, STAYS_PENDING, Server, Setup, client, eventually, programmable_gateway,
};
use tempfile::TempDir;

/// A trace that a client has begun, and its span.
const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const CLIENT_SPAN: &str = "b7ad6b7169203331";
const SECRET: &str = "whsec_b2YgdGhlc2UgdGVzdHM=";

fn traceparent(trace: &str) -> String {
    format!("00-{trace}-{CLIENT_SPAN}-01")
}

/// A client that is inside a trace.
fn inside(client: Client, trace: &str) -> Client {
    client.with_header("traceparent", &traceparent(trace))
}

fn settings(url: &str) -> Vec<(&'static str, &'static str)> {
    // A setting of the whole process: it lives as long.
    let url: &'static str = url.to_owned().leak();
    vec![
        ("SWITCHYARD_TELEMETRY__OTLP_URL", url),
        ("SWITCHYARD_LOG__FORMAT", "json"),
    ]
}

async fn traced(collector: &Collector) -> anyhow::Result<Server> {
    Server::start(Setup {
        settings: settings(&collector.url()),
        ..Setup::default()
    })
    .await
}

/// The one span with this name and this parent.
#[track_caller]
fn child<'s>(spans: &'s [Span], name: &str, parent: &str) -> &'s Span {
    let mut found = spans
        .iter()
        .filter(|span| span.name == name && span.parent == parent);
    let first = found.next();
    first.unwrap_or_else(|| panic!("no `{name}` under {parent} in {spans:#?}"))
}

fn count(spans: &[Span], name: &str) -> usize {
    spans.iter().filter(|span| span.name == name).count()
}

/// The programmable gateway, whose provider is asked over HTTP.
async fn with_provider(folder: &Path, setup: Setup, provider: &Provider) -> anyhow::Result<Server> {
    let gateways = folder.join("gateways");
    std::fs::create_dir(&gateways)?;
    std::fs::copy(
        switchyard_tests::server::stage()?.join("gateways/libgateway_demo.so"),
        gateways.join("libgateway_demo.so"),
    )?;
    std::fs::copy(programmable_gateway(), gateways.join("programmable.so"))?;
    let server = Server::start(Setup {
        gateways: Some(gateways),
        ..setup
    })
    .await?;
    let config = json!({ "url": provider.url, "nowhere": NOWHERE, "slot": 0, "key": "k" });
    connect(&server, "Account", config).await?;
    Ok(server)
}

/// Values of `traceparent` that a provider was sent.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<Option<String>>>>);

impl Seen {
    async fn provider(&self) -> Provider {
        let seen = self.clone();
        Provider::behind(|router| {
            router.layer(middleware::from_fn(move |request: Request, next: Next| {
                let value = request.headers().get("traceparent");
                let value = value
                    .and_then(|value| value.to_str().ok())
                    .map(str::to_owned);
                seen.0.lock().expect("nobody panicked").push(value);
                next.run(request)
            }))
        })
        .await
    }

    fn all(&self) -> Vec<Option<String>> {
        self.0.lock().expect("nobody panicked").clone()
    }
}

/// Ids of the spans that are sent to other programs.
struct Places {
    initiated: String,
    success: String,
    asked: String,
}

/// Checks parents and attributes of the spans of one payout.
fn assert_tree(spans: &[Span], id: &str, request_id: &str) -> Places {
    let request = child(spans, "POST /v1/payouts/initialize", CLIENT_SPAN);
    for (name, value) in [
        ("http.request.method", "POST"),
        ("http.route", "/v1/payouts/initialize"),
        ("http.response.status_code", "201"),
        ("request.id", request_id),
        ("transaction.id", id),
    ] {
        assert_eq!(request.attributes[name], value);
    }
    assert_eq!(request.service, "switchyard");
    child(spans, "store commit", &request.id);
    let dispatch = child(spans, "transaction command", &request.id);
    assert_eq!(dispatch.attributes["command"], "wake");
    child(spans, "store commit", &dispatch.id);
    let call = child(spans, "gateway call", &dispatch.id);
    assert_eq!(call.attributes["gateway.operation"], "payout");
    assert_eq!(call.attributes["outcome"], "succeeded");
    let asked = child(spans, "provider request", &call.id);
    assert_eq!(asked.attributes["server.address"], "127.0.0.1");
    assert_eq!(asked.attributes["http.response.status_code"], "200");
    let answer = child(spans, "transaction command", &dispatch.id);
    assert_eq!(answer.attributes["command"], "answer");
    child(spans, "store commit", &answer.id);
    let initiated = child(spans, "webhook delivery", &request.id);
    assert_eq!(initiated.attributes["event.name"], "payout.initiated");
    let success = child(spans, "webhook delivery", &answer.id);
    assert_eq!(success.attributes["event.name"], "payout.success");
    assert!(call.nanoseconds >= asked.nanoseconds);
    for span in [dispatch, call, answer, initiated, success] {
        assert_eq!(span.attributes["transaction.id"], id);
    }
    Places {
        initiated: initiated.id.clone(),
        success: success.id.clone(),
        asked: asked.id.clone(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payout_is_one_trace_from_the_request_to_the_webhook() -> anyhow::Result<()> {
    let folder = TempDir::new()?;
    let collector = Collector::start().await?;
    let seen = Seen::default();
    let provider = seen.provider().await;
    let mut settings = settings(&collector.url());
    settings.push(("SWITCHYARD_TELEMETRY__INFORM_PROVIDERS", "true"));
    let setup = Setup {
        settings,
        ..Setup::default()
    };
    let mut server = with_provider(folder.path(), setup, &provider).await?;
    let receiver = Receiver::start().await?;
    server.add_webhook(&receiver.url(), SECRET).await?;

    let body = payout("ok", PAYS);
    let made = inside(server.merchant(), TRACE)
        .post("/v1/payouts/initialize", &body)
        .await?;
    let made = made.expect(201)?;
    let id = made.data("id")?.to_owned();
    let whole = |spans: &[Span]| count(spans, "webhook delivery") == 2 && spans.len() >= 9;
    let spans = collector.trace(TRACE, whole).await?;

    let request_id = made.headers["x-request-id"].to_str()?;
    let places = assert_tree(&spans, &id, request_id);

    // The receivers get their place in the trace.
    let told = |event: &str| {
        let received = receiver.received();
        let delivery = received.iter().find(|delivery| delivery.event() == event);
        delivery.expect(event).header("traceparent").to_owned()
    };
    assert_eq!(
        told("payout.success"),
        format!("00-{TRACE}-{}-01", places.success)
    );
    assert_eq!(
        told("payout.initiated"),
        format!("00-{TRACE}-{}-01", places.initiated)
    );
    assert_eq!(
        seen.all(),
        [Some(format!("00-{TRACE}-{}-01", places.asked))]
    );
    // The log names the trace.
    assert!(server.log().contains(&format!("\"trace.id\":\"{TRACE}\"")));
    server.stop().await?;
    for private in [
        PAYS,
        "ada@example.com",
        "Lovelace",
        SECRET,
        &server.dev().sandbox_secret_key,
    ] {
        assert!(!collector.has_seen(private), "{private}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_later_request_about_a_payment_is_linked_to_the_one_before() -> anyhow::Result<()> {
    let collector = Collector::start().await?;
    let mut server = traced(&collector).await?;
    let (paid_in, asked_in) = ("1".repeat(32), "2".repeat(32));
    let made = server
        .merchant()
        .post("/v1/payments/initialize", &payment("A teapot"))
        .await?;
    let id = made.expect(201)?.data("id")?.to_owned();
    assert!(
        client::pays(&inside(server.stranger(), &paid_in), &id, STAYS_PENDING)
            .await
            .is_ok()
    );
    let is_called = |spans: &[Span]| count(spans, "gateway call") == 1;
    let paid = collector.trace(&paid_in, is_called).await?;
    let is_confirm = |span: &&Span| span.attributes.get("command") == Some(&"confirm".to_owned());
    let confirm = paid.iter().find(is_confirm);
    let confirm = confirm.expect("the confirmation is a command");
    let page = paid.iter().find(|span| span.id == confirm.parent);
    let page = page.expect("the page sent it");
    assert_eq!(page.name, "POST /checkout/{id}/confirm");
    assert_eq!(confirm.attributes["transaction.id"], id);

    let verify = format!("/v1/payments/{id}/verify");
    let merchant = inside(server.merchant(), &asked_in);
    let asked = eventually("a query is due", Duration::from_secs(60), async || {
        merchant.get(&verify).await?.expect(200)?;
        let spans = collector.spans(&asked_in);
        let is_linked = spans.iter().any(|span| !span.links.is_empty());
        Ok(is_linked.then_some(spans))
    });
    let asked = asked.await?;
    let ask = asked
        .iter()
        .find(|span| !span.links.is_empty())
        .expect("it is linked");
    assert_eq!(
        (ask.name.as_str(), ask.links.as_slice()),
        ("transaction command", &[paid_in][..])
    );
    server.stop().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_that_is_down_costs_no_request_and_is_one_warning() -> anyhow::Result<()> {
    assert_no_request_is_lost(NOWHERE, "Connection refused").await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_that_never_answers_costs_no_request_and_is_one_warning() -> anyhow::Result<()>
{
    // The kernel takes the connections, and no program reads from them.
    let silent = TcpListener::bind("127.0.0.1:0")?;
    let url = format!("http://{}", silent.local_addr()?);
    assert_no_request_is_lost(&url, "timed out").await
}

/// Pays three times while the spans of each payment are lost.
async fn assert_no_request_is_lost(collector: &str, reason: &str) -> anyhow::Result<()> {
    let mut server = Server::start(Setup {
        settings: settings(collector),
        ..Setup::default()
    })
    .await?;
    let lost = async || -> anyhow::Result<f64> {
        let page = server.operator().page("/metrics").await?;
        let name = "switchyard_trace_spans_lost_total ";
        let line = page.lines().find_map(|line| line.strip_prefix(name));
        Ok(line.unwrap_or("0").parse()?)
    };
    let mut before = 0.0;
    for _ in 0..3 {
        let made = server
            .merchant()
            .post("/v1/payments/initialize", &payment("A teapot"))
            .await?;
        let id = made.expect(201)?.data("id")?.to_owned();
        assert!(client::pays(&server.stranger(), &id, PAYS).await?);
        // One more batch is lost.
        before = eventually("spans are lost", Duration::from_secs(60), async || {
            Ok(Some(lost().await?).filter(|now| *now > before))
        })
        .await?;
    }
    server.stop().await?;
    let log = server.log();
    let warnings: Vec<_> = log
        .lines()
        .filter(|line| line.contains("failed to send traces"))
        .collect();
    assert_eq!(warnings.len(), 1, "{warnings:#?}");
    assert!(warnings[0].contains(reason), "{}", warnings[0]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn no_client_has_more_recorded_than_the_settings_say() -> anyhow::Result<()> {
    let collector = Collector::start().await?;
    let mut settings = settings(&collector.url());
    settings.push(("SWITCHYARD_TELEMETRY__SAMPLE_RATIO", "0.0"));
    let folder = TempDir::new()?;
    let seen = Seen::default();
    let provider = seen.provider().await;
    let setup = Setup {
        settings,
        ..Setup::default()
    };
    let mut server = with_provider(folder.path(), setup, &provider).await?;
    let receiver = Receiver::start().await?;
    server.add_webhook(&receiver.url(), SECRET).await?;
    let body = payout("ok", PAYS);
    let made = inside(server.merchant(), TRACE)
        .post("/v1/payouts/initialize", &body)
        .await?;
    made.expect(201)?;
    let received = eventually("two webhooks come", Duration::from_secs(30), async || {
        Ok(Some(receiver.received()).filter(|received| received.len() == 2))
    });
    for delivery in received.await? {
        let told = delivery.header("traceparent");
        assert!(
            told.starts_with(&format!("00-{TRACE}-")) && told.ends_with("-00"),
            "{told}"
        );
    }
    // Providers are told nothing unless the operator wants that.
    assert_eq!(seen.all(), [None]);
    server.stop().await?;
    assert!(collector.traces().is_empty());
    Ok(())
}

#[tokio::test]
async fn without_a_collector_webhooks_name_no_trace() -> anyhow::Result<()> {
    let server = Server::start(Setup::default()).await?;
    let receiver = Receiver::start().await?;
    server.add_webhook(&receiver.url(), SECRET).await?;
    let body = payout("ok", PAYS);
    let made = inside(server.merchant(), TRACE)
        .post("/v1/payouts/initialize", &body)
        .await?;
    made.expect(201)?;
    let received = eventually("two webhooks come", Duration::from_secs(30), async || {
        Ok(Some(receiver.received()).filter(|received| received.len() == 2))
    });
    for delivery in received.await? {
        assert!(delivery.headers.get("traceparent").is_none());
    }
    Ok(())
}

/// Checks that a request and the commands below it name the transaction. Returns the request.
fn assert_names<'s>(spans: &'s [Span], name: &str, id: &str) -> &'s Span {
    let request = child(spans, name, CLIENT_SPAN);
    assert_eq!(
        request.attributes.get("transaction.id").map(String::as_str),
        Some(id),
        "{name}"
    );
    request
}

#[tokio::test(flavor = "multi_thread")]
async fn a_checkout_is_one_trace_from_the_confirmation_to_the_webhook() -> anyhow::Result<()> {
    let collector = Collector::start().await?;
    let mut server = traced(&collector).await?;
    let receiver = Receiver::start().await?;
    server.add_webhook(&receiver.url(), SECRET).await?;
    let made = server
        .merchant()
        .post("/v1/payments/initialize", &payment("A teapot"))
        .await?;
    let id = made.expect(201)?.data("id")?.to_owned();
    client::pays(&inside(server.stranger(), TRACE), &id, PAYS).await?;
    let is_told = |spans: &[Span]| {
        let mut names = spans
            .iter()
            .filter_map(|span| span.attributes.get("event.name"));
        names.any(|name| name == "payment.success")
    };
    let spans = collector.trace(TRACE, is_told).await?;
    let confirm = assert_names(&spans, "POST /checkout/{id}/confirm", &id);
    let command = child(&spans, "transaction command", &confirm.id);
    assert_eq!(command.attributes["command"], "confirm");
    let call = child(&spans, "gateway call", &command.id);
    assert_eq!(call.attributes["transaction.id"], id);
    server.stop().await?;
    Ok(())
}

/// A change by an operator: its route, and the webhook that it causes.
struct Change {
    name: &'static str,
    path: String,
    body: Value,
    event: Option<&'static str>,
}

impl Change {
    /// Makes the change inside a trace, and checks its spans.
    async fn check(
        self,
        server: &Server,
        collector: &Collector,
        trace: &str,
        id: &str,
    ) -> anyhow::Result<()> {
        let operator = inside(server.operator(), trace);
        operator.post(&self.path, &self.body).await?.expect(200)?;
        let is_whole = |spans: &[Span]| {
            count(spans, "webhook delivery") == usize::from(self.event.is_some())
                && count(spans, self.name) == 1
        };
        let spans = collector.trace(trace, is_whole).await?;
        let request = assert_names(&spans, self.name, id);
        let command = child(&spans, "transaction command", &request.id);
        assert_eq!(
            command.attributes["command"], "by_operator",
            "{}",
            self.name
        );
        assert_eq!(command.attributes["transaction.id"], id, "{}", self.name);
        child(&spans, "store commit", &command.id);
        if let Some(event) = self.event {
            let told = child(&spans, "webhook delivery", &command.id);
            assert_eq!(told.attributes["event.name"], event);
            assert_eq!(told.attributes["transaction.id"], id, "{event}");
        }
        Ok(())
    }
}

/// A payment that is with its provider.
async fn pending_payment(server: &Server) -> anyhow::Result<String> {
    let merchant = server.merchant();
    let made = merchant
        .post("/v1/payments/initialize", &payment("A teapot"))
        .await?;
    let id = made.expect(201)?.data("id")?.to_owned();
    client::pays(&server.stranger(), &id, STAYS_PENDING).await?;
    let path = format!("/v1/payments/{id}");
    eventually("it is pending", Duration::from_secs(30), async || {
        let shown = merchant.get(&path).await?.expect(200)?;
        Ok((shown.data("status")? == "pending").then_some(()))
    })
    .await?;
    Ok(id)
}

/// The case of a payment that the provider still has after an operator's *failed*.
async fn open_case(server: &Server, id: &str) -> anyhow::Result<String> {
    let check = format!("/operator/v1/transactions/{id}/check");
    eventually("a case is open", Duration::from_secs(30), async || {
        let checked = server.operator().post(&check, &json!({})).await?;
        let checked = checked.expect(200)?;
        let case = &checked.body["data"]["cases"][0]["id"];
        Ok(case.as_str().map(str::to_owned))
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn each_change_by_an_operator_is_one_trace_to_the_webhook() -> anyhow::Result<()> {
    let collector = Collector::start().await?;
    let mut server = traced(&collector).await?;
    let receiver = Receiver::start().await?;
    server.add_webhook(&receiver.url(), SECRET).await?;
    let merchant = server.merchant();
    let made = merchant
        .post("/v1/payments/initialize", &payment("A cup"))
        .await?;
    let cancelled = made.expect(201)?.data("id")?.to_owned();
    let resolved = pending_payment(&server).await?;

    let of = |id: &str, act: &str| format!("/operator/v1/transactions/{id}/{act}");
    let cancel = Change {
        name: "POST /operator/v1/transactions/{transaction}/cancel",
        path: of(&cancelled, "cancel"),
        body: json!({ "note": "a duplicate" }),
        event: Some("payment.cancelled"),
    };
    let resolve = Change {
        name: "POST /operator/v1/transactions/{transaction}/resolve",
        path: of(&resolved, "resolve"),
        body: json!({ "outcome": "failed", "note": "the provider's support said so" }),
        event: Some("payment.failed"),
    };
    let traces = ["4", "5", "6"].map(|digit| digit.repeat(32));
    cancel
        .check(&server, &collector, &traces[0], &cancelled)
        .await?;
    resolve
        .check(&server, &collector, &traces[1], &resolved)
        .await?;
    let case = open_case(&server, &resolved).await?;
    let close = Change {
        name: "POST /operator/v1/cases/{case}/close",
        path: format!("/operator/v1/cases/{case}/close"),
        body: json!({ "note": "the payer was refunded" }),
        event: None,
    };
    close
        .check(&server, &collector, &traces[2], &resolved)
        .await?;
    server.stop().await?;
    Ok(())
}
