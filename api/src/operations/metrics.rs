//! `GET /metrics` for Prometheus, and the list of all metrics. Each is recorded where it happens, by the name that stands here.
//!
//! | name | labels | what |
//! |---|---|---|
//! | `switchyard_http_requests_total` | `method`, `route`, `status` | answers; `route` is the pattern, never the path |
//! | `switchyard_http_request_seconds` | `method`, `route` | time to the answer's head |
//! | `switchyard_store_commits_total` | | commits made durable |
//! | `switchyard_store_batches_total` | | flushes |
//! | `switchyard_store_batch_commits` | | commits that shared one flush |
//! | `switchyard_store_largest_batch` | | most commits in one flush since the start |
//! | `switchyard_store_queue` | | commits that wait for the writer |
//! | `switchyard_store_available` | | 1: the store writes; 0: it does not |
//! | `switchyard_actors_live` | | transaction actors in memory |
//! | `switchyard_actor_panics_total` | `actor` | panics that were caught |
//! | `switchyard_submissions_away` | | calls to gateways that have not come back |
//! | `switchyard_callbacks_received_total` | `gateway`, `result` | providers' requests: stored, limited, too_large, not_stored |
//! | `switchyard_callbacks_total` | `gateway`, `result` | those dealt with: verified, hint, unmatched, refused, ignored, forgotten |
//! | `switchyard_gateway_calls_total` | `gateway`, `operation`, `outcome` | ended calls |
//! | `switchyard_gateway_call_seconds` | `gateway`, `operation` | their time |
//! | `switchyard_gateway_panics_total` | `gateway` | panics inside gateways that were caught |
//! | `switchyard_breaker_open` | `connection`, `kind`, `method` | 1: the circuit breaker is open; 0: it closed again |
//! | `switchyard_breaker_turns_total` | `gateway`, `to` | breakers that opened or closed |
//! | `switchyard_breaker_probes_total` | | transactions sent to a connection whose breaker is open |
//! | `switchyard_gateway_changes_total` | `gateway`, `change` | upgrades, roll backs and the like |
//! | `switchyard_gateway_workers` | | processes that run a gateway |
//! | `switchyard_gateway_worker_deaths_total` | `gateway` | such processes that ended by themselves or had to be ended |
//! | `switchyard_gateway_quarantines_total` | `gateway` | versions that went into quarantine by themselves |
//! | `switchyard_outbox_depth` | `kind` | webhooks and mails that are not done |
//! | `switchyard_outbox_oldest_seconds` | `kind` | how long the oldest of them is due |
//! | `switchyard_webhook_attempts_total` | `outcome` | sent webhooks |
//! | `switchyard_webhook_delay_seconds` | | from the event to its first attempt |
//! | `switchyard_webhooks_disabled_total` | | webhooks switched off because their receiver is gone |
//! | `switchyard_mail_attempts_total` | `outcome` | sent mails |
//! | `switchyard_cases_opened_total` | `reason` | what only a person can settle |
//! | `switchyard_exchange_fetches_failed_total` | | exchange rates that could not be fetched |
//! | `switchyard_keys_refused_total` | `why` | requests with a key that opens nothing |

use std::time::Duration;

use axum::extract::State;
use axum::http::header::{CONTENT_TYPE, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use metrics::{counter, describe_counter, describe_gauge, describe_histogram, gauge};
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};

use super::Operations;
use crate::bearer::bearer;

/// Starts collecting. Can be done once in a process.
///
/// # Errors
/// When something else collects already.
pub fn start() -> Result<PrometheusHandle, BuildError> {
    let handle = PrometheusBuilder::new()
        .set_buckets(&SECONDS)?
        .set_buckets_for_metric(Matcher::Full(BATCH_COMMITS.to_owned()), &COMMITS)?
        .install_recorder()?;
    describe();
    // Histograms keep samples until they are folded into buckets: without this they would grow until somebody asks.
    let upkeep = handle.clone();
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(UPKEEP).await;
            upkeep.run_upkeep();
        }
    });
    Ok(handle)
}

pub async fn page(State(operations): State<Operations>, headers: HeaderMap) -> Response {
    let inner = &operations.0;
    let access = &inner.engine.access;
    let operator =
        bearer(&headers).is_some_and(|token| access.authenticate_operator(token).is_ok());
    if !inner.metrics_open && !operator {
        return (
            StatusCode::UNAUTHORIZED,
            [(WWW_AUTHENTICATE, "Bearer")],
            "give an operator token, or set metrics.open\n",
        )
            .into_response();
    }
    let Some(handle) = &inner.metrics else {
        return StatusCode::NOT_FOUND.into_response();
    };
    look(&operations);
    (
        [(CONTENT_TYPE, "text/plain; version=0.0.4")],
        handle.render(),
    )
        .into_response()
}

/// Reads what is not recorded as it happens.
#[allow(clippy::cast_precision_loss)] // gauges are floating point, and these counts stay far below 2^53
fn look(operations: &Operations) {
    let engine = &operations.0.engine;
    let store = engine.store.stats();
    counter!("switchyard_store_commits_total").absolute(store.commits);
    counter!("switchyard_store_batches_total").absolute(store.batches);
    gauge!("switchyard_store_largest_batch").set(store.largest_batch as f64);
    gauge!("switchyard_store_queue").set(store.queue as f64);
    gauge!("switchyard_store_available").set(if store.available { 1.0 } else { 0.0 });
    gauge!("switchyard_actors_live").set(engine.live_actors() as f64);
    gauge!("switchyard_submissions_away").set(engine.submissions_away() as f64);
}

fn describe() {
    describe_counter!(
        "switchyard_http_requests_total",
        "Answers by method, route and status"
    );
    describe_histogram!(
        "switchyard_http_request_seconds",
        "Time to the head of an answer"
    );
    describe_store();
    describe_gauge!("switchyard_actors_live", "Transaction actors in memory");
    describe_counter!(
        "switchyard_actor_panics_total",
        "Panics of actors that were caught"
    );
    describe_gauge!(
        "switchyard_submissions_away",
        "Calls to gateways that have not come back"
    );
    describe_gateways();
    describe_breakers();
    describe_outbox();
    describe_callbacks();
    describe_counter!(
        "switchyard_exchange_fetches_failed_total",
        "Exchange rates that could not be fetched"
    );
    describe_counter!(
        "switchyard_keys_refused_total",
        "Requests with a key that opens nothing"
    );
}

fn describe_store() {
    describe_counter!("switchyard_store_commits_total", "Commits made durable");
    describe_counter!("switchyard_store_batches_total", "Flushes of the store");
    describe_histogram!(
        "switchyard_store_batch_commits",
        "Commits that shared one flush of the store"
    );
    describe_gauge!(
        "switchyard_store_largest_batch",
        "Most commits in one flush since the start"
    );
    describe_gauge!("switchyard_store_queue", "Commits that wait for the writer");
    describe_gauge!("switchyard_store_available", "1 when the store writes");
}

fn describe_gateways() {
    describe_counter!(
        "switchyard_gateway_calls_total",
        "Ended calls of gateways by outcome"
    );
    describe_histogram!(
        "switchyard_gateway_call_seconds",
        "Time of calls of gateways"
    );
    describe_counter!(
        "switchyard_gateway_panics_total",
        "Panics inside gateways that were caught"
    );
    describe_gauge!("switchyard_gateway_workers", "Processes that run a gateway");
    describe_counter!(
        "switchyard_gateway_worker_deaths_total",
        "Processes of gateways that ended by themselves or had to be ended"
    );
    describe_counter!(
        "switchyard_gateway_changes_total",
        "Changes of gateways by kind"
    );
    describe_counter!(
        "switchyard_gateway_quarantines_total",
        "Versions of gateways that went into quarantine by themselves"
    );
}

fn describe_callbacks() {
    describe_counter!(
        "switchyard_callbacks_received_total",
        "Providers' requests by whether they were stored"
    );
    describe_counter!(
        "switchyard_callbacks_total",
        "Callbacks that were dealt with, by what they were"
    );
}

fn describe_outbox() {
    describe_gauge!(
        "switchyard_outbox_depth",
        "Webhooks and mails that are not done"
    );
    describe_gauge!(
        "switchyard_outbox_oldest_seconds",
        "How long the oldest undone webhook or mail is due"
    );
    describe_counter!(
        "switchyard_webhook_attempts_total",
        "Sent webhooks by outcome"
    );
    describe_histogram!(
        "switchyard_webhook_delay_seconds",
        "From an event to an attempt to announce it"
    );
    describe_counter!(
        "switchyard_webhooks_disabled_total",
        "Webhooks switched off because their receiver is gone"
    );
    describe_counter!("switchyard_mail_attempts_total", "Sent mails by outcome");
    describe_counter!(
        "switchyard_cases_opened_total",
        "Cases for a person by reason"
    );
}

fn describe_breakers() {
    describe_gauge!(
        "switchyard_breaker_open",
        "1 while the circuit breaker of a connection and method is open"
    );
    describe_counter!(
        "switchyard_breaker_turns_total",
        "Circuit breakers that opened or closed"
    );
    describe_counter!(
        "switchyard_breaker_probes_total",
        "Transactions sent to a connection whose breaker is open"
    );
}

/// From a look-up in memory to the longest that a provider may take.
const SECONDS: [f64; 14] = [
    0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0,
];
/// Sizes of a group of commits, up to `STORE_BATCH`.
const COMMITS: [f64; 11] = [
    1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1_024.0,
];
const BATCH_COMMITS: &str = "switchyard_store_batch_commits";
const UPKEEP: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    const ADVICE: &str = "keep the list at the top of operations/metrics.rs and its `describe` in step with what is recorded";

    /// Names in quotes after `marker`, in all sources below `folder`.
    fn named(folder: &Path, markers: &[&str], names: &mut BTreeSet<String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                named(&path, markers, names);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                for marker in markers {
                    // The name may stand on a line of its own.
                    let found = text
                        .split(marker)
                        .skip(1)
                        .filter_map(|rest| rest.trim_start().strip_prefix('"')?.split('"').next());
                    names.extend(
                        found
                            .filter(|name| name.starts_with("switchyard_"))
                            .map(str::to_owned),
                    );
                }
            }
        }
    }

    #[test]
    fn the_list_of_metrics_names_all_that_are_recorded_and_no_others() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut recorded = BTreeSet::new();
        for folder in ["src", "../engine/src"] {
            named(
                &here.join(folder),
                &[
                    " counter!(",
                    " gauge!(",
                    " histogram!(",
                    "metrics::counter!(",
                    "metrics::gauge!(",
                    "metrics::histogram!(",
                ],
                &mut recorded,
            );
        }
        let rows = include_str!("metrics.rs")
            .lines()
            .filter_map(|line| line.strip_prefix("//! | `"));
        let listed: BTreeSet<String> = rows
            .filter_map(|row| row.split('`').next())
            .map(str::to_owned)
            .collect();
        assert_eq!(recorded, listed, "{ADVICE}");
    }

    #[test]
    fn every_listed_metric_is_described() {
        let mut described = BTreeSet::new();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/operations");
        named(
            &folder,
            &[
                "describe_counter!(",
                "describe_gauge!(",
                "describe_histogram!(",
            ],
            &mut described,
        );
        let rows = include_str!("metrics.rs")
            .lines()
            .filter_map(|line| line.strip_prefix("//! | `"));
        let listed: BTreeSet<String> = rows
            .filter_map(|row| row.split('`').next())
            .map(str::to_owned)
            .collect();
        assert_eq!(described, listed, "{ADVICE}");
    }
}
