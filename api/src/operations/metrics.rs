//! `GET /metrics` for Prometheus. docs/metrics.md lists all metrics; each is recorded where it
//! happens, by the name in that list.

use std::time::Duration;

use axum::extract::State;
use axum::http::header::{CONTENT_TYPE, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use metrics::{describe_counter, describe_gauge, describe_histogram, gauge};
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};
use metrics_process::Collector;

use super::observed::observe;
use super::{Operations, first_values, health};
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
    first_values::at_start();
    // Histograms keep samples until they are folded into buckets, so without upkeep they grow
    // between scrapes.
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
    let access = inner.engine.access();
    let is_allowed = bearer(&headers).is_some_and(|token| access.may_read_metrics(token));
    if !inner.metrics_open && !is_allowed {
        return (
            StatusCode::UNAUTHORIZED,
            [(WWW_AUTHENTICATE, "Bearer")],
            "send a token of metrics.tokens or an operator token, or set metrics.open\n",
        )
            .into_response();
    }
    let Some(handle) = &inner.metrics else {
        return StatusCode::NOT_FOUND.into_response();
    };
    first_values::of_gateways(&inner.engine);
    observe(&inner.engine, &inner.surroundings.folders).await;
    let is_ready = health::Checks::of(&operations).are_passed();
    gauge!("switchyard_ready").set(if is_ready { 1.0 } else { 0.0 });
    (
        [(CONTENT_TYPE, "text/plain; version=0.0.4")],
        handle.render(),
    )
        .into_response()
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
    describe_connections();
    describe_store();
    describe_process();
    describe_gauge!("switchyard_actors_live", "Transaction actors in memory");
    describe_counter!(
        "switchyard_actor_panics_total",
        "Panics of actors that were caught"
    );
    describe_gauge!(
        "switchyard_submissions_away",
        "Calls to gateways that have not come back"
    );
    describe_gauge!(
        "switchyard_held",
        "1 while attempts of some app wait for a release after a restore"
    );
    describe_gateways();
    describe_breakers();
    describe_outbox();
    describe_callbacks();
    describe_log();
    describe_counter!(
        "switchyard_exchange_fetches_failed_total",
        "Exchange rates that could not be fetched"
    );
    describe_gauge!(
        "switchyard_exchange_rates_held",
        "Implausible fetched rates that wait for an operator"
    );
    describe_counter!(
        "switchyard_exchange_rates_held_total",
        "Fetched exchange rates that were held as implausible"
    );
    describe_counter!(
        "switchyard_limits_reached_total",
        "Prompts, codes, payouts and further ids of an attempt that a limit refused"
    );
    describe_counter!(
        "switchyard_keys_refused_total",
        "Requests with a key that opens nothing"
    );
    describe_counter!(
        "switchyard_rate_limited_total",
        "Requests refused by a rate limit"
    );
    describe_counter!(
        "switchyard_disk_reserve_refusals_total",
        "Payments and payouts refused because the disk is nearly full"
    );
}

fn describe_process() {
    describe_gauge!("switchyard_ready", "1 when /readyz answers 200");
    describe_gauge!("switchyard_build_info", "1, with the version as its label");
    // The metrics that Prometheus' own client libraries have, under their names.
    Collector::default().describe();
    describe_gauge!(
        "switchyard_disk_free_bytes",
        "Free bytes of the file system of a folder"
    );
}

fn describe_connections() {
    describe_gauge!("switchyard_connections", "Open connections of a listener");
    describe_gauge!(
        "switchyard_connections_limit",
        "Connections that a listener takes at once"
    );
    describe_counter!(
        "switchyard_connections_refused_total",
        "Connections refused because their address has too many"
    );
    describe_gauge!("switchyard_streams", "Open event streams of checkout pages");
    describe_counter!(
        "switchyard_streams_refused_total",
        "Event streams of checkout pages refused over a limit"
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
    describe_gauge!(
        "switchyard_store_damaged",
        "1 when damage of the store was found, also in an earlier run"
    );
    describe_gauge!(
        "switchyard_store_last_check_timestamp_seconds",
        "Time of the last check of the whole store, 0 before the first"
    );
    describe_gauge!(
        "switchyard_store_last_backup_timestamp_seconds",
        "Time of the newest scheduled backup, 0 without one"
    );
    describe_counter!(
        "switchyard_store_backups_failed_total",
        "Scheduled backups that failed"
    );
    describe_counter!(
        "switchyard_store_gateways_left_out_total",
        "Gateways that a backup lacks because their file could not be read"
    );
    describe_gauge!(
        "switchyard_store_copy_lag_seconds",
        "Age of the oldest commit that the continuous copy lacks"
    );
    describe_counter!(
        "switchyard_store_copy_failures_total",
        "Failures of the continuous copy"
    );
}

fn describe_gateways() {
    describe_counter!(
        "switchyard_gateway_calls_total",
        "Ended calls of gateways by outcome"
    );
    describe_counter!(
        "switchyard_gateway_faults_total",
        "Outcomes that break the gateway's own contract"
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
        "switchyard_gateway_worker_starts_failed_total",
        "Processes of gateways that did not start"
    );
    describe_counter!(
        "switchyard_gateway_worker_stray_cpu_total",
        "Processes of gateways that were ended because they computed outside of their steps"
    );
    describe_gauge!(
        "switchyard_gateways_quarantined",
        "Gateways whose current version is in quarantine"
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

fn describe_log() {
    describe_counter!(
        "switchyard_log_lines_lost_total",
        "Lines of the log that could not be written"
    );
    describe_counter!(
        "switchyard_trace_spans_lost_total",
        "Spans in requests that the collector of traces did not take"
    );
}

fn describe_callbacks() {
    describe_counter!(
        "switchyard_callbacks_received_total",
        "Providers' requests by whether they were stored"
    );
    describe_counter!(
        "switchyard_callbacks_total",
        "Processed callbacks by result"
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
        "switchyard_mails_left_out_total",
        "Mails about payments without an attempt that were left out"
    );
    describe_gauge!("switchyard_cases_open", "Open cases for a person");
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
    use std::collections::{BTreeMap, BTreeSet};
    use std::fs;
    use std::path::Path;

    use metrics_exporter_prometheus::PrometheusBuilder;
    use metrics_process::Collector;

    const ADVICE: &str = "keep docs/metrics.md and `describe` in operations/metrics.rs in step with what is recorded";

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

    /// Names in the table of the docs that begin so.
    fn listed(beginning: &str) -> BTreeSet<String> {
        let page = include_str!("../../../docs/metrics.md");
        let rows = page.lines().filter_map(|line| line.strip_prefix("| `"));
        rows.filter_map(|row| row.split('`').next())
            .filter(|name| name.starts_with(beginning))
            .map(str::to_owned)
            .collect()
    }

    #[test]
    fn the_list_of_metrics_names_all_that_are_recorded_and_no_others() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut recorded = BTreeSet::new();
        for folder in ["src", "../engine"] {
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
        assert_eq!(recorded, listed("switchyard_"), "{ADVICE}");
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
        assert_eq!(described, listed("switchyard_"), "{ADVICE}");
        assert_eq!(
            listed(""),
            &listed("switchyard_") | &listed("process_"),
            "every name has one of the two prefixes"
        );
    }

    #[test]
    fn the_metrics_of_the_process_are_the_listed_ones_with_their_types() {
        let recorder = PrometheusBuilder::new().build_recorder();
        let handle = recorder.handle();
        metrics::with_local_recorder(&recorder, || {
            Collector::default().describe();
            Collector::default().collect();
        });
        let shown = handle.render();
        let types = shown.lines().filter_map(|line| {
            let (name, kind) = line.strip_prefix("# TYPE ")?.split_once(' ')?;
            Some((name.to_owned(), kind))
        });
        let types: BTreeMap<String, &str> = types.collect();
        assert_eq!(
            types.keys().cloned().collect::<BTreeSet<_>>(),
            listed("process_")
        );
        for (name, kind) in types {
            let is_total = name.ends_with("_total");
            assert_eq!(kind, if is_total { "counter" } else { "gauge" }, "{name}");
            let line = format!("# HELP {name} ");
            assert!(shown.contains(&line), "{name} has no help: {shown}");
        }
    }
}
