//! pawaPay's API: addresses, answers, and what an HTTP status proves.

use std::time::Duration;

use serde_json::Value;
use switchyard_gateway::http::{RequestBuilder, Response};
use switchyard_gateway::{Context, Fault, Outcome};

use crate::config::Config;
use crate::instructions::Instructions;
use crate::operators::Operator;
use crate::transfers::{FailureReason, Initiated, Kind, StatusResponse, Transfer};

pub struct Api<'c> {
    pub cx: &'c Context,
    pub config: Config,
}

/// Result of the request to make a transfer.
pub enum Submitted {
    /// The outcome is final or unknown: refused, or a lost response.
    Ended(Outcome),
    Accepted(Initiated),
    /// pawaPay has had this id before and did nothing: the first request has to be queried.
    Duplicate,
}

impl<'c> Api<'c> {
    pub fn new(cx: &'c Context) -> Result<Self, Fault> {
        let config = Config::read(cx)?;
        Ok(Self { cx, config })
    }

    /// Makes a transfer. Our id makes it happen once, however often this is sent.
    pub async fn submit(&self, kind: Kind, body: &Value) -> Result<Submitted, Fault> {
        let mut response = self.post(kind, body)?.send().await?;
        if response.status == TOO_MANY {
            self.cx.sleep(retry_after(&response)).await;
            response = self.post(kind, body)?.send().await?;
        }
        match response.status {
            200..=299 | 400 | 401 | 403 => {}
            // The answer of a machine in between, or of a pawaPay that does not know itself.
            status => {
                return Ok(Submitted::Ended(Outcome::unknown(format!(
                    "pawaPay answered {status}, which leaves open whether it took the request"
                ))));
            }
        }
        let answer: Initiated = match response.json() {
            Ok(answer) => answer,
            Err(_) if is_refusal_at_the_door(response.status) => return Err(refused(&response)),
            Err(fault) => return Err(fault),
        };
        Ok(match (answer.status.as_str(), &answer.failure_reason) {
            ("ACCEPTED", _) if response.is_success() => Submitted::Accepted(answer),
            ("DUPLICATE_IGNORED", _) => Submitted::Duplicate,
            // With it pawaPay promises that nothing was made, in whatever status it comes.
            ("REJECTED", Some(reason)) => Submitted::Ended(reason.outcome()),
            ("REJECTED", None) => Submitted::Ended(FailureReason::default().outcome()),
            _ if is_refusal_at_the_door(response.status) => return Err(refused(&response)),
            (status, _) => Submitted::Ended(Outcome::unknown(format!(
                "pawaPay answered {} with the status `{status}`, which this gateway does not know",
                response.status
            ))),
        })
    }

    /// Present state of a transfer, by our id; `None` when pawaPay does not know it.
    pub async fn ask(&self, kind: Kind, id: &str) -> Result<Option<Transfer>, Fault> {
        let response = self
            .get(&format!("/v2/{}/{id}", kind.path()))
            .send()
            .await?;
        let asked: StatusResponse = read(&response)?;
        let transfer = match (asked.status.as_str(), asked.data) {
            ("NOT_FOUND", _) => return Ok(None),
            ("FOUND", Some(transfer)) => transfer,
            (status, _) => {
                return Err(Fault::provider(format!(
                    "pawaPay answers `{status}` where FOUND or NOT_FOUND was expected"
                )));
            }
        };
        match transfer.identity() {
            Some((found, of)) if found == kind && of == id => Ok(Some(transfer)),
            _ => Err(Fault::provider(
                "pawaPay answers with another transfer than the one that was asked about",
            )),
        }
    }

    /// The same as an outcome.
    pub async fn outcome(&self, kind: Kind, id: &str) -> Result<Outcome, Fault> {
        Ok(match self.ask(kind, id).await? {
            Some(transfer) => transfer.outcome(),
            None => Outcome::NotFound {
                why: format!("pawaPay does not know {} {id}", kind.id()),
            },
        })
    }

    /// The account's configuration: of everything, or of what `query` asks for.
    pub async fn active_configuration(&self, query: &str) -> Result<Response, Fault> {
        let path = format!("/v2/active-conf{query}");
        Ok(self.get(&path).timeout(LOOK_UP).send().await?)
    }

    /// Instructions for payers of this operator.
    pub async fn instructions(&self, operator: &Operator) -> Instructions {
        if let Some(kept) = Instructions::cached(self.cx, operator).await {
            return kept;
        }
        let query = format!("?country={}&operationType=DEPOSIT", operator.country.alpha3);
        let Ok(answer) = self.active_configuration(&query).await else {
            return Instructions::default();
        };
        let read = answer
            .json::<Value>()
            .ok()
            .and_then(|answer| Instructions::read(&answer, operator));
        let Some(instructions) = read else {
            return Instructions::default();
        };
        instructions.cache(self.cx, operator).await;
        instructions
    }

    pub fn get(&self, path: &str) -> RequestBuilder<'c> {
        let request = self.cx.get(self.url(path));
        request.bearer(&self.config.api_token)
    }

    fn post(&self, kind: Kind, body: &Value) -> Result<RequestBuilder<'c>, Fault> {
        let request = self.cx.post(self.url(&format!("/v2/{}", kind.path())));
        Ok(request
            .bearer(&self.config.api_token)
            .text(CONTENT_TYPE, body.to_string()))
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.config.base_url(self.cx.environment()))
    }
}

/// A reading answer's JSON; a refusal of the credentials is said to be one.
pub fn read<T: serde::de::DeserializeOwned>(response: &Response) -> Result<T, Fault> {
    if is_refusal_at_the_door(response.status) {
        return Err(refused(response));
    }
    if !response.is_success() {
        return Err(Fault::provider(format!(
            "pawaPay answered {}",
            response.status
        )));
    }
    response.json()
}

/// The documents disagree which of the two says what: both mean that the token, or what it may do,
/// is wrong.
pub const fn is_refusal_at_the_door(status: u16) -> bool {
    matches!(status, 401 | 403)
}

fn refused(response: &Response) -> Fault {
    Fault::config(format!(
        "pawaPay refuses the API token ({}): {}",
        response.status,
        error_text(response)
    ))
}

/// pawaPay's own words about what is wrong.
pub fn error_text(response: &Response) -> String {
    let answer = response.json::<Initiated>().ok();
    let reason = answer.and_then(|answer| answer.failure_reason);
    reason.map_or_else(
        || "no reason was given".to_owned(),
        |reason| format!("{} {}", reason.failure_code, reason.failure_message),
    )
}

fn retry_after(response: &Response) -> Duration {
    let asked = response
        .header("retry-after")
        .and_then(|seconds| seconds.trim().parse().ok());
    Duration::from_secs(asked.unwrap_or(1)).min(LONGEST_WAIT)
}

const TOO_MANY: u16 = 429;
const CONTENT_TYPE: &str = "application/json; charset=UTF-8";
/// Timeout of optional lookups: they must not delay the payment.
const LOOK_UP: Duration = Duration::from_secs(5);
const LONGEST_WAIT: Duration = Duration::from_secs(5);
