//! `/metrics`, item by item: the metrics that an operator watches are there, and change.

use std::time::Duration;

use serde_json::{Value, json};
use switchyard_tests::client::{payment, payout, pays};
use switchyard_tests::{Client, Manner, PAYS, Receiver, STAYS_PENDING, Server, Setup, eventually};

/// For payouts the test gateway's numbers mean something else (docs/contract/test-gateway.md).
const IS_DECLINED: &str = switchyard_tests::STAYS_PENDING;

/// The values of one name whose labels hold all of `labels`, added up; nothing when there is none.
fn value(page: &str, name: &str, labels: &[&str]) -> Option<f64> {
    let values = page.lines().filter_map(|line| {
        let (series, value) = line.rsplit_once(' ')?;
        let (found, of) = series.split_once('{').unwrap_or((series, ""));
        let fits = found == name && labels.iter().all(|label| of.contains(label));
        value.parse::<f64>().ok().filter(|_| fits)
    });
    let values: Vec<f64> = values.collect();
    (!values.is_empty()).then(|| values.iter().sum())
}

async fn page(operator: &Client) -> anyhow::Result<String> {
    operator.page("/metrics").await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_that_an_operator_watches_is_there_and_moves() -> anyhow::Result<()> {
    let receiver = Receiver::start().await?;
    receiver.always(Manner::Status(500));
    let server = Server::start(Setup::default()).await?;
    server
        .add_webhook(&receiver.url(), "whsec_b2YgdGhlc2UgdGVzdHM=")
        .await?;
    let merchant = server.merchant();
    for number in [PAYS, PAYS, IS_DECLINED] {
        let made = merchant
            .post("/v1/payouts/initialize", &payout("Salary", number))
            .await?;
        made.expect(201)?;
    }
    let path = "/v1/payouts/po_nothing";
    merchant.get(path).await?.expect(404)?;
    let operator = server.operator();
    let read = eventually(
        "all of it was counted",
        Duration::from_secs(30),
        async || {
            let read = page(&operator).await?;
            let ended = value(&read, "switchyard_gateway_calls_total", &[]);
            let attempts = value(&read, "switchyard_webhook_attempts_total", &[]);
            let is_all = ended >= Some(3.0) && attempts >= Some(3.0);
            Ok(is_all.then_some(read))
        },
    )
    .await?;
    for (what, name, labels, least) in WATCHED {
        let found = value(&read, name, labels);
        assert!(
            found.is_some_and(|value| value >= *least),
            "{what}: {name} {labels:?} is {found:?}, at least {least} was expected in\n{read}"
        );
    }
    for word in ["po_", "4149518161", "ada@example.com"] {
        assert!(
            !read.contains(word),
            "no transaction and nobody is named: {word}"
        );
    }
    Ok(())
}

type Watched = (&'static str, &'static str, &'static [&'static str], f64);

/// Type, name and some labels of a metric, and its least value.
const WATCHED: &[Watched] = &[
    (
        "requests",
        "switchyard_http_requests_total",
        &[
            "method=\"POST\"",
            "route=\"/v1/payouts/initialize\"",
            "status=\"201\"",
        ],
        3.0,
    ),
    (
        "requests that were refused",
        "switchyard_http_requests_total",
        &["route=\"/v1/payouts/{payoutId}\"", "status=\"404\""],
        1.0,
    ),
    (
        "time of requests",
        "switchyard_http_request_seconds_bucket",
        &["route=\"/v1/payouts/initialize\"", "le=\"+Inf\""],
        3.0,
    ),
    ("commits", "switchyard_store_commits_total", &[], 6.0),
    ("flushes", "switchyard_store_batches_total", &[], 1.0),
    (
        "batch sizes",
        "switchyard_store_batch_commits_bucket",
        &["le=\"1024\""],
        1.0,
    ),
    (
        "batch sizes, added up",
        "switchyard_store_batch_commits_sum",
        &[],
        6.0,
    ),
    (
        "the largest batch",
        "switchyard_store_largest_batch",
        &[],
        1.0,
    ),
    ("the store's queue", "switchyard_store_queue", &[], 0.0),
    ("readiness", "switchyard_ready", &[], 1.0),
    (
        "whether the store writes",
        "switchyard_store_available",
        &[],
        1.0,
    ),
    ("actors", "switchyard_actors_live", &[], 0.0),
    (
        "calls that are away",
        "switchyard_submissions_away",
        &[],
        0.0,
    ),
    ("a store that is not held", "switchyard_held", &[], 0.0),
    (
        "gateway calls that succeeded",
        "switchyard_gateway_calls_total",
        &["operation=\"payout\"", "outcome=\"succeeded\""],
        2.0,
    ),
    (
        "gateway calls that were declined",
        "switchyard_gateway_calls_total",
        &["operation=\"payout\"", "outcome=\"declined\""],
        1.0,
    ),
    (
        "time of gateway calls",
        "switchyard_gateway_call_seconds_count",
        &[],
        3.0,
    ),
    (
        "depth of the outbox",
        "switchyard_outbox_depth",
        &["kind=\"webhook\""],
        3.0,
    ),
    (
        "age of the outbox",
        "switchyard_outbox_oldest_seconds",
        &["kind=\"webhook\""],
        0.0,
    ),
    (
        "webhooks that were refused",
        "switchyard_webhook_attempts_total",
        &[],
        3.0,
    ),
    (
        "delay of webhooks",
        "switchyard_webhook_delay_seconds_bucket",
        &["le=\"+Inf\""],
        3.0,
    ),
];

/// Waits until a gauge has this value.
async fn comes_to(operator: &Client, gauge: &str, expected: f64) -> anyhow::Result<()> {
    let what = format!("{gauge} is {expected}");
    eventually(&what, Duration::from_secs(10), async || {
        let found = value(&page(operator).await?, gauge, &[]);
        Ok((found == Some(expected)).then_some(()))
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gauges_of_open_cases_and_of_quarantined_gateways_rise_and_fall() -> anyhow::Result<()> {
    let server = Server::start(Setup::default()).await?;
    let operator = server.operator();
    let ask = async |path: &str, body: Value| {
        let answer = operator.post(&format!("/operator/v1{path}"), &body).await?;
        anyhow::Ok(answer.expect(200)?.body["data"].clone())
    };

    let cases = "switchyard_cases_open";
    comes_to(&operator, cases, 0.0).await?;
    let (merchant, teapot) = (server.merchant(), payment("A teapot"));
    let made = merchant.post("/v1/payments/initialize", &teapot).await?;
    let id = made.expect(201)?.data("id")?.to_owned();
    pays(&server.stranger(), &id, STAYS_PENDING).await?;
    // A person says that it failed, and the provider still has it.
    let failed = json!({ "outcome": "failed", "note": "the support said so" });
    ask(&format!("/transactions/{id}/resolve"), failed).await?;
    let opened = eventually("a case", Duration::from_secs(20), async || {
        let checked = ask(&format!("/transactions/{id}/check"), json!({})).await?;
        Ok(checked["cases"][0]["id"].as_str().map(str::to_owned))
    })
    .await?;
    comes_to(&operator, cases, 1.0).await?;
    let note = json!({ "note": "it was cancelled there" });
    ask(&format!("/cases/{opened}/close"), note).await?;
    comes_to(&operator, cases, 0.0).await?;

    let quarantined = "switchyard_gateways_quarantined";
    comes_to(&operator, quarantined, 0.0).await?;
    let gateway = "/gateways/switchyard_demo";
    ask(&format!("{gateway}/quarantine"), json!({ "why": "a test" })).await?;
    comes_to(&operator, quarantined, 1.0).await?;
    ask(&format!("{gateway}/restore"), json!({})).await?;
    comes_to(&operator, quarantined, 0.0).await?;
    Ok(())
}

const DOCS: &str = include_str!("../../../docs/metrics.md");

/// Rows of the docs: name, type, and since when there is such a series.
fn documented() -> Vec<[&'static str; 3]> {
    let rows = DOCS.lines().filter(|line| line.starts_with("| `"));
    rows.filter_map(|row| {
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        Some([
            cells.get(1)?.trim_matches('`'),
            cells.get(2)?,
            cells.get(4)?,
        ])
    })
    .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_docs_list_what_a_server_shows_and_counters_are_there_from_the_start()
-> anyhow::Result<()> {
    let server = Server::start(Setup::default()).await?;
    let read = page(&server.operator()).await?;
    let shown = read.lines().filter_map(|line| {
        let (name, kind) = line.strip_prefix("# TYPE ")?.split_once(' ')?;
        Some([name, kind])
    });
    let shown: Vec<_> = shown.collect();
    let documented = documented();
    assert!(documented.len() > 40, "{documented:?}");
    for one in &shown {
        let is_listed = documented
            .iter()
            .any(|[name, kind, _]| [*name, *kind] == *one);
        assert!(is_listed, "{one:?} is not in docs/metrics.md");
    }
    for [name, kind, since] in documented {
        let is_there = shown.contains(&[name, kind]);
        assert!(
            since == "event" || is_there,
            "{name} is not there from the start: {read}"
        );
    }
    for (name, label) in [
        ("switchyard_cases_opened_total", "reason=\"amount_differs\""),
        ("switchyard_mail_attempts_total", "outcome=\"troubled\""),
        (
            "switchyard_gateway_quarantines_total",
            "gateway=\"switchyard_demo\"",
        ),
        ("switchyard_cases_open", ""),
    ] {
        assert_eq!(
            value(&read, name, &[label]),
            Some(0.0),
            "{name} {label}: {read}"
        );
    }
    for name in [
        "process_open_fds",
        "process_resident_memory_bytes",
        "process_start_time_seconds",
        "process_threads",
    ] {
        assert!(value(&read, name, &[]) > Some(1.0), "{name}: {read}");
    }
    let free = value(&read, "switchyard_disk_free_bytes", &["folder=\"store\""]);
    assert!(free > Some(0.0), "{read}");
    Ok(())
}
