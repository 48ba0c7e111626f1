//! Makes one delivery attempt and reports its result.

use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use reqwest::{Method, RequestBuilder};
use tokio::time::Instant;

use super::log::{Attempt, Response, Timing};
use super::policy::{WebhookSettings, is_acknowledgment};
use super::row::Row;
use super::signing;
use switchyard_core::limits;
use switchyard_core::time::Timestamp;
use switchyard_system::egress::{self, Client, ClientError, Failure, Probe, Resolver};
use switchyard_system::trace::TraceContext;

/// Signs and sends requests. Clones share the connections.
#[derive(Clone)]
pub struct Sender {
    client: Client,
    signature_headers: Arc<[HeaderName]>,
    deadline: Duration,
}

/// Error in the sender's settings.
#[derive(Debug, thiserror::Error)]
pub enum SenderError {
    #[error(
        "`{0}` is not a header name: take it out of the settings, or write letters, digits and dashes only"
    )]
    HeaderName(String),
    #[error(transparent)]
    Client(#[from] ClientError),
}

impl Sender {
    pub fn new(settings: &WebhookSettings, names: Resolver) -> Result<Self, SenderError> {
        let mut headers = vec![HeaderName::from_static(signing::SERVICE_HEADER)];
        for name in &settings.extra_signature_headers {
            let name: HeaderName = name
                .parse()
                .map_err(|_| SenderError::HeaderName(name.clone()))?;
            if !headers.contains(&name) {
                headers.push(name);
            }
        }
        Ok(Self {
            client: Client::new(settings.egress(), names)?,
            signature_headers: headers.into(),
            deadline: settings.deadline,
        })
    }

    /// Sends the body of `row` to `url`, signed with `secret` at the time `shown`, which the
    /// receiver compares with its own clock. The deadline covers the whole attempt, including the
    /// response body.
    pub async fn send(
        &self,
        row: &Row,
        url: &str,
        secret: &str,
        now: Timestamp,
        shown: Timestamp,
    ) -> Attempt {
        let begun = Instant::now();
        let headers = self.headers(row, secret, shown);
        let mut attempt = Attempt {
            webhook: row.webhook,
            delivery: row.delivery,
            event: row.event,
            name: row.name,
            transaction: row.transaction,
            environment: row.environment,
            number: row.attempts.saturating_add(1),
            at: now,
            url: url.to_owned(),
            request_headers: printed(&headers),
            acknowledged: false,
            failure: None,
            detail: None,
            response: None,
            timing: Timing::default(),
            addresses: Vec::new(),
        };
        match self.request(url, headers, row.body.clone()) {
            Ok(request) => {
                let (exchange, probe) = egress::probed(self.exchange(request, begun)).await;
                record(&mut attempt, exchange, probe);
            }
            Err(forbidden) => {
                attempt.failure = Some(Failure::ForbiddenTarget);
                attempt.detail = Some(forbidden.to_string());
            }
        }
        attempt.timing.total = micros(begun.elapsed());
        attempt
    }

    fn request(
        &self,
        url: &str,
        headers: HeaderMap,
        body: Vec<u8>,
    ) -> Result<RequestBuilder, egress::Forbidden> {
        let url = egress::read_url(url)?;
        let request = self.client.request(Method::POST, &url)?;
        Ok(request.headers(headers).body(body))
    }

    fn headers(&self, row: &Row, secret: &str, now: Timestamp) -> HeaderMap {
        let id = row.event.to_string();
        let signature = signing::service_signature(secret, &row.body);
        let standard = signing::standard_signature(secret, &id, now, &row.body);
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(USER_AGENT, HeaderValue::from_static(AGENT));
        let mut put = |name: HeaderName, value: &str| {
            headers.insert(
                name,
                HeaderValue::from_str(value)
                    .expect("ids, numbers, hexadecimal and base64 are header values"),
            );
        };
        for name in self.signature_headers.iter() {
            put(name.clone(), &signature);
        }
        put(HeaderName::from_static("webhook-id"), &id);
        put(
            HeaderName::from_static("webhook-timestamp"),
            &now.as_seconds().to_string(),
        );
        put(HeaderName::from_static("webhook-signature"), &standard);
        TraceContext::current().inject(&mut headers);
        headers
    }

    async fn exchange(&self, request: RequestBuilder, begun: Instant) -> RequestResult {
        let deadline = begun + self.deadline;
        #[cfg(feature = "simulation")]
        if let Some(line) = switchyard_system::simulation::line() {
            return over(&line, request, begun, deadline).await;
        }
        let mut response = match tokio::time::timeout_at(deadline, request.send()).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => {
                return RequestResult::failed(egress::classify(&error), deepest(&error));
            }
            Err(_) => {
                let waited = self.deadline;
                let detail = format!(
                    "there was no answer within {waited:?}: answer 200 first and do the work afterwards"
                );
                return RequestResult::failed(Failure::Timeout, detail);
            }
        };
        let answered = begun.elapsed();
        let mut body = Vec::new();
        let mut is_cut = false;
        // The status alone decides. The body is only for the log, so an error in it does not fail
        // the delivery.
        while let Ok(Ok(Some(chunk))) = tokio::time::timeout_at(deadline, response.chunk()).await {
            let room = limits::WEBHOOK_RESPONSE_BYTES - body.len();
            is_cut = chunk.len() > room;
            body.extend_from_slice(&chunk[..chunk.len().min(room)]);
            if is_cut {
                break;
            }
        }
        RequestResult {
            address: response.remote_addr(),
            answered: Some(answered),
            response: Some(Response {
                status: response.status().as_u16(),
                headers: bounded(printed(response.headers())),
                body: String::from_utf8_lossy(&body).into_owned(),
                is_cut,
            }),
            failure: None,
        }
    }
}

/// Result of an HTTP exchange with a receiver.
#[derive(Default)]
struct RequestResult {
    address: Option<SocketAddr>,
    answered: Option<Duration>,
    response: Option<Response>,
    failure: Option<(Failure, String)>,
}

impl RequestResult {
    fn failed(failure: Failure, detail: String) -> Self {
        Self {
            failure: Some((failure, detail)),
            ..Self::default()
        }
    }
}

/// Sends over a simulated network.
#[cfg(feature = "simulation")]
async fn over(
    line: &switchyard_system::simulation::Network,
    request: RequestBuilder,
    begun: Instant,
    deadline: Instant,
) -> RequestResult {
    use switchyard_system::simulation::{NetworkError, Request, To};
    let request = match request.build() {
        Ok(request) => Request::of(To::Merchant, &request),
        Err(error) => return RequestResult::failed(Failure::Http, deepest(&error)),
    };
    match tokio::time::timeout_at(deadline, line(request)).await {
        Ok(Ok(answer)) => RequestResult {
            address: None,
            answered: Some(begun.elapsed()),
            response: Some(Response {
                status: answer.status,
                headers: answer.headers,
                body: String::from_utf8_lossy(&answer.body).into_owned(),
                is_cut: false,
            }),
            failure: None,
        },
        Ok(Err(NetworkError::Refused)) => {
            RequestResult::failed(Failure::Connect, "nobody listens".to_owned())
        }
        Ok(Err(NetworkError::Broken)) => {
            RequestResult::failed(Failure::Http, "the line broke".to_owned())
        }
        Err(_) => RequestResult::failed(Failure::Timeout, "there was no answer in time".to_owned()),
    }
}

fn record(attempt: &mut Attempt, exchange: RequestResult, probe: Probe) {
    attempt.timing.dns = probe.dns.map(micros);
    attempt.timing.connect = probe.connect.map(micros);
    attempt.timing.tls = probe.tls.map(micros);
    attempt.timing.answer = exchange.answered.map(micros);
    attempt.addresses = match exchange.address {
        Some(address) => vec![address.ip().to_string()],
        None => probe.addresses.iter().map(ToString::to_string).collect(),
    };
    if let Some((failure, detail)) = exchange.failure {
        attempt.failure = Some(failure);
        attempt.detail = Some(detail);
    }
    if let Some(response) = exchange.response {
        attempt.acknowledged = is_acknowledgment(response.status);
        if !attempt.acknowledged {
            attempt.failure = Some(Failure::Http);
            attempt.detail = Some(format!(
                "the answer was {}: only 200 is an acknowledgment",
                response.status
            ));
        }
        attempt.response = Some(response);
    }
}

/// Message of the innermost cause: the outer ones only say that something failed.
fn deepest(error: &dyn Error) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

fn printed(headers: &HeaderMap) -> Vec<(String, String)> {
    let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    headers
        .iter()
        .map(|(name, value)| (name.to_string(), text(value)))
        .collect()
}

/// Keeps as many headers as fit the limit of the body: the receiver chooses how many it sends.
fn bounded(headers: Vec<(String, String)>) -> Vec<(String, String)> {
    let mut left = limits::WEBHOOK_RESPONSE_BYTES;
    let fits = |(name, value): &(String, String)| {
        let size = name.len() + value.len();
        let fits = size <= left;
        left = left.saturating_sub(size);
        fits
    };
    headers.into_iter().take_while(fits).collect()
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

const AGENT: &str = concat!("Switchyard/", env!("CARGO_PKG_VERSION"));
