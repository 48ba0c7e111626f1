//! Findings from a running server: its readiness, its metrics, its operator API.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use switchyard_core::secret::Secret;

use super::Finding;
use super::metrics::Metrics;
use crate::cli::client::Client;
use crate::cli::report::Level;
use crate::operator::contract::gateways::{CandidateFile, GatewaySummary};

/// Where the server is asked.
pub struct Address {
    pub url: String,
    /// Whether it is the default because the settings could not be read.
    pub is_assumed: bool,
}

impl Address {
    pub fn known(url: &str) -> Self {
        Self {
            url: url.to_owned(),
            is_assumed: false,
        }
    }
}

/// Responses of the server, each with the reason when there is none.
pub struct Server {
    address: Address,
    ready: Result<Readiness, String>,
    metrics: Result<Metrics, String>,
    pub gateways: Result<Vec<GatewaySummary>, String>,
    /// Files in the folder of gateways.
    pub candidates: Result<Vec<CandidateFile>, String>,
}

/// Response of `/readyz`.
#[derive(Deserialize)]
struct Readiness {
    status: String,
    #[serde(default)]
    held: bool,
    /// Results of the checks: `ok` or the reason.
    checks: BTreeMap<String, String>,
}

impl Server {
    /// Sends all requests that the checks need.
    pub async fn observe(address: Address, token: Option<Secret<String>>) -> Self {
        let http = match http() {
            Ok(http) => http,
            Err(why) => return Self::silent(address, &why),
        };
        let url = &address.url;
        let ready = match ready(&http, url).await {
            Ok(ready) => ready,
            Err(why) => return Self::silent(address, &why),
        };
        let metrics = metrics(&http, url, token.as_ref()).await;
        let (gateways, candidates) = match token {
            None => (Err(NO_TOKEN.to_owned()), Err(NO_TOKEN.to_owned())),
            Some(token) => {
                let client = Client::at(http, url, token);
                tokio::join!(
                    listed(&client, "/gateways"),
                    listed(&client, "/gateway-candidates")
                )
            }
        };
        Self {
            address,
            ready: Ok(ready),
            metrics: metrics.map(|text| Metrics::parse(&text)),
            gateways,
            candidates,
        }
    }

    /// A server that does not answer, with the reason.
    fn silent(address: Address, why: &str) -> Self {
        let gone = || "the server does not answer".to_owned();
        Self {
            address,
            ready: Err(why.to_owned()),
            metrics: Err(gone()),
            gateways: Err(gone()),
            candidates: Err(gone()),
        }
    }

    /// A ready server with these metrics, without gateways.
    #[cfg(test)]
    pub fn with_metrics(text: &str) -> Self {
        let passed = CHECKS.iter().map(|(check, _)| (*check).to_owned());
        Self {
            address: Address::known("http://localhost"),
            ready: Ok(Readiness {
                status: "ready".to_owned(),
                held: false,
                checks: passed.map(|check| (check, "ok".to_owned())).collect(),
            }),
            metrics: Ok(Metrics::parse(text)),
            gateways: Ok(Vec::new()),
            candidates: Ok(Vec::new()),
        }
    }

    /// A value of the metrics, and the reason when there is none.
    pub fn value(&self, name: &str) -> Result<f64, String> {
        let metrics = self.metrics.as_ref().map_err(String::clone)?;
        let value = metrics.largest(name);
        value.ok_or_else(|| format!("the server has no metric {name}"))
    }

    /// The free bytes of a folder's disk, as the server sees it.
    pub fn free_bytes(&self, folder: &str) -> Option<f64> {
        let metrics = self.metrics.as_ref().ok()?;
        metrics.labelled("switchyard_disk_free_bytes", "folder", folder)
    }

    /// A finding for what the metrics do not show.
    pub fn unseen(check: &'static str, why: &str) -> Finding {
        let advice = match why.contains("token") {
            true => "Set SWITCHYARD_TOKEN or --token to an operator token, and run doctor again.",
            false => "Start the server, or name its operators' listener with --url.",
        };
        Finding::unknown(check, format!("Not seen: {why}."), advice)
    }

    pub fn readiness(&self) -> Vec<Finding> {
        let url = &self.address.url;
        let ready = match &self.ready {
            Ok(ready) => ready,
            Err(why) if self.address.is_assumed => {
                return vec![Finding::unknown(
                    "server",
                    format!(
                        "Not seen: its address is in the settings, and at the default {url} no \
                         server answers: {why}."
                    ),
                    "Name the operators' listener with --url, or run doctor as the user that runs \
                     the server.",
                )];
            }
            Err(why) => {
                return vec![Finding::problem(
                    "server",
                    format!("No server answers at {url}: {why}."),
                    "Start it with `systemctl start switchyard`, and read `journalctl -u \
                     switchyard`. If it listens elsewhere, name the address with --url.",
                )];
            }
        };
        let mut findings = vec![Finding::ok("server", format!("It answers at {url}."))];
        for (check, advice) in CHECKS {
            let result = ready.checks.get(*check).map_or("no result", String::as_str);
            let level = match ready.status == "ready" {
                true => Level::Warning,
                false => Level::Problem,
            };
            if result != "ok" {
                let message = format!("The server says of its {check}: {result}.");
                findings.push(Finding::new(level, "server", message, *advice));
            }
        }
        findings
    }

    /// Depth and age of the queues.
    pub fn queues(&self) -> Vec<Finding> {
        let check = "queues";
        let metrics = match &self.metrics {
            Ok(metrics) => metrics,
            Err(why) => return vec![Self::unseen(check, why)],
        };
        let mut findings = Vec::new();
        for (kind, advice) in [
            (
                "webhook",
                "See `switchyard webhooks list` for receivers that do not answer.",
            ),
            (
                "mail",
                "Check mail.smtp_url, and the log for `failed to send mail`.",
            ),
        ] {
            let depth = metrics.labelled("switchyard_outbox_depth", "kind", kind);
            let oldest = metrics.labelled("switchyard_outbox_oldest_seconds", "kind", kind);
            let (depth, oldest) = (depth.unwrap_or(0.0), oldest.unwrap_or(0.0));
            if oldest > OUTBOX_LATE {
                let message = format!(
                    "{depth} {kind}s wait; the oldest is due since {}.",
                    span(oldest)
                );
                findings.push(Finding::warning(check, message, advice));
            }
        }
        let store = metrics.largest("switchyard_store_queue").unwrap_or(0.0);
        if store > STORE_QUEUE {
            findings.push(Finding::problem(
                check,
                format!("{store} commits wait for the store."),
                "The disk is too slow or hangs: see `iostat -x 1` and the kernel log.",
            ));
        }
        if findings.is_empty() {
            let depth = |kind| {
                let depth = metrics.labelled("switchyard_outbox_depth", "kind", kind);
                depth.unwrap_or(0.0)
            };
            let (webhooks, mails) = (depth("webhook"), depth("mail"));
            let message = format!("{webhooks} webhooks and {mails} mails wait; none is late.");
            findings.push(Finding::ok(check, message));
        }
        findings
    }

    pub fn cases(&self) -> Finding {
        match self.value("switchyard_cases_open") {
            Ok(open) if open > 0.0 => Finding::warning(
                "cases",
                format!("{open} open cases wait for a decision."),
                "Settle them: `switchyard cases list`.",
            ),
            Ok(_) => Finding::ok("cases", "No case is open."),
            Err(why) => Self::unseen("cases", &why),
        }
    }

    pub fn hold(&self) -> Finding {
        match self.ready.as_ref().map(|ready| ready.held) {
            Ok(true) => Finding::problem(
                "hold",
                "The store is held: no payout is sent and no payment attempt starts.",
                "Read `switchyard release --report`, then run `switchyard release`.",
            ),
            Ok(_) => Finding::ok("hold", "The store is not held."),
            Err(_) => Self::unseen("hold", "the server does not answer"),
        }
    }

    /// Open files of the server.
    pub fn descriptors(&self) -> Finding {
        let check = "files";
        let open = self.value("process_open_fds");
        let most = self.value("process_max_fds");
        let (open, most) = match (open, most) {
            (Ok(open), Ok(most)) => (open, most),
            (Err(why), _) | (_, Err(why)) => return Self::unseen(check, &why),
        };
        let message = format!("{open} of {most} files and sockets are open.");
        let advice = "Raise the limit on open files: `LimitNOFILE` in systemd, `ulimit -n`.";
        if most == 0.0 {
            return Finding::ok(
                check,
                format!("{open} files and sockets are open, without a limit."),
            );
        }
        match open / most {
            share if share > 0.95 => Finding::problem(check, message, advice),
            share if share > 0.8 => Finding::warning(check, message, advice),
            _ if most < FILES_WANTED => Finding::warning(check, message, advice),
            _ => Finding::ok(check, message),
        }
    }
}

/// A span of time in its largest useful unit.
pub fn span(seconds: f64) -> String {
    let (count, unit) = match seconds {
        seconds if seconds < 120.0 => (seconds, "seconds"),
        seconds if seconds < 7_200.0 => (seconds / 60.0, "minutes"),
        seconds if seconds < 172_800.0 => (seconds / 3_600.0, "hours"),
        seconds => (seconds / 86_400.0, "days"),
    };
    format!("{count:.0} {unit}")
}

/// Client for plain requests. Redirects are results.
pub fn http() -> Result<reqwest::Client, String> {
    let builder = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .timeout(TIMEOUT);
    builder.build().map_err(|error| error.to_string())
}

async fn ready(http: &reqwest::Client, url: &str) -> Result<Readiness, String> {
    let answer = http.get(format!("{url}/readyz")).send().await;
    let answer = answer.map_err(|error| reason(&error))?;
    let text = answer.text().await.map_err(|error| reason(&error))?;
    let ready = serde_json::from_str(&text);
    ready.map_err(|_| "it does not answer as Switchyard does".to_owned())
}

async fn metrics(
    http: &reqwest::Client,
    url: &str,
    token: Option<&Secret<String>>,
) -> Result<String, String> {
    let mut request = http.get(format!("{url}/metrics"));
    if let Some(token) = token {
        request = request.bearer_auth(token.expose());
    }
    let answer = request.send().await.map_err(|error| reason(&error))?;
    match answer.status().as_u16() {
        200 => answer.text().await.map_err(|error| reason(&error)),
        401 if token.is_none() => Err(NO_TOKEN.to_owned()),
        401 => Err("the server refuses the token for /metrics".to_owned()),
        404 => Err("metrics.enabled is off".to_owned()),
        status => Err(format!("/metrics answers {status}")),
    }
}

async fn listed<T: DeserializeOwned>(client: &Client, path: &str) -> Result<T, String> {
    match tokio::time::timeout(TIMEOUT, client.get(path)).await {
        Ok(Ok(answer)) => Ok(answer.data),
        Ok(Err(error)) => Err(format!(
            "the operator API refuses the token or fails: {error:#}"
        )),
        Err(_) => Err("the operator API does not answer".to_owned()),
    }
}

/// The innermost cause of an error, which names it best.
pub fn reason(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return format!("no answer within {} seconds", TIMEOUT.as_secs());
    }
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string().trim_end_matches('.').to_owned()
}

/// Checks of `/readyz`, with what to do when one fails.
const CHECKS: &[(&str, &str)] = &[
    (
        "store",
        "Read the log. A damaged store: docs/restore.md. If it cannot write, check the disk.",
    ),
    (
        "gateways",
        "`switchyard gateway list` shows which gateways are loaded, and why one is not.",
    ),
    (
        "shutdown",
        "The server is stopping: wait for its end, and start it again.",
    ),
    (
        "disk",
        "Free disk space. Below store.reserve new payments and payouts are refused.",
    ),
];
const NO_TOKEN: &str = "no operator token is given";
const TIMEOUT: Duration = Duration::from_secs(10);
/// As the alert SwitchyardOutboxLate.
const OUTBOX_LATE: f64 = 3_600.0;
/// As the alert SwitchyardStoreQueueLong.
const STORE_QUEUE: f64 = 1_024.0;
/// Webhooks and providers alone may need 4,096 files.
const FILES_WANTED: f64 = 8_192.0;

#[cfg(test)]
mod tests;
