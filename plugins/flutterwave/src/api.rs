//! Flutterwave's API: addresses, answers, and what an HTTP status proves.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use switchyard_gateway::http::{RequestBuilder, Response};
use switchyard_gateway::{Context, DeclineReason, Fault, Outcome};

use crate::charges::{Charge, Meta};
use crate::config::Config;
use crate::exact;
use crate::failures::{self, Row};
use crate::transfers::Transfer;

pub struct Api<'c> {
    pub cx: &'c Context,
    pub config: Config,
}

/// Result of a request that moves money.
pub enum Submitted<T> {
    /// The outcome is final or unknown: refused, or a lost response.
    Ended(Outcome),
    Accepted(Accepted<T>),
    /// Flutterwave has this reference already: the first request has to be queried.
    Duplicate,
}

pub struct Accepted<T> {
    pub data: Option<T>,
    pub meta: Option<Meta>,
}

/// A page of a list, and how many pages there are.
pub struct Page<T> {
    pub data: Vec<T>,
    pub pages: u32,
}

/// Numbers of a list's pages, as text.
#[derive(Deserialize)]
struct ListMeta {
    page_info: PageInfo,
}

#[derive(Deserialize)]
struct PageInfo {
    total_pages: String,
}

/// Every answer of Flutterwave.
#[derive(Deserialize)]
struct Envelope {
    #[serde(default)]
    status: String,
    #[serde(default)]
    message: String,
    #[serde(default)]
    data: Value,
    #[serde(default)]
    meta: Value,
}

impl<'c> Api<'c> {
    pub fn new(cx: &'c Context) -> Result<Self, Fault> {
        let config = Config::read(cx)?;
        Ok(Self { cx, config })
    }

    /// Asks for a payment, a transfer or a refund. It is never sent twice: nothing here makes a
    /// second one the same as the first.
    pub async fn submit<T: DeserializeOwned>(
        &self,
        path: &str,
        body: String,
        failures: &[Row],
    ) -> Result<Submitted<T>, Fault> {
        let request = self.cx.post(self.url(path));
        let request = request.bearer(&self.config.secret_key);
        let response = request.text("application/json", body).send().await?;
        let status = response.status;
        let answer = envelope(&response);
        Ok(match (status, answer) {
            (200..=299, Ok(answer)) if answer.status == "success" => {
                Submitted::Accepted(Accepted {
                    data: part(answer.data)?,
                    // Some answers have an empty array where others have an object.
                    meta: part(answer.meta).unwrap_or_default(),
                })
            }
            (TOO_MANY, _) => {
                let declined = Outcome::declined(
                    DeclineReason::ProviderUnavailable,
                    "Flutterwave takes no more requests for now.",
                );
                Submitted::Ended(declined.with_provider_code("429").and_retryable())
            }
            (400 | 422, Ok(answer)) if is_duplicate(&answer.message) => Submitted::Duplicate,
            (400 | 401 | 403 | 422, Ok(answer)) if answer.status == "error" => {
                let outcome = failures::outcome(failures, &status.to_string(), &answer.message);
                Submitted::Ended(if is_refusal_at_the_door(status) {
                    misconfigured(outcome)
                } else {
                    outcome
                })
            }
            // A refusal at the door that is not Flutterwave's own word.
            (401 | 403, _) => return Err(refused(&response)),
            (200..=299 | 400 | 422, Err(fault)) => return Err(fault),
            // The answer of a machine in between, or of a Flutterwave that does not know itself.
            _ => Submitted::Ended(Outcome::unknown(format!(
                "Flutterwave answered {status}, which leaves open whether it took the request"
            ))),
        })
    }

    /// The last charge under our reference; `None` when Flutterwave has none.
    pub async fn charge(&self, tx_ref: &str) -> Result<Option<Charge>, Fault> {
        let path = format!("/transactions/verify_by_reference?tx_ref={tx_ref}");
        let found: Option<Charge> = self.ask(&path).await?;
        match found {
            Some(charge) if charge.tx_ref != tx_ref => Err(another("payment")),
            found => Ok(found),
        }
    }

    /// The transfer under our reference; `None` when Flutterwave has none.
    pub async fn transfer(&self, reference: &str) -> Result<Option<Transfer>, Fault> {
        let path = format!("/transfers?reference={reference}");
        let found: Option<Vec<Transfer>> = self.ask(&path).await?;
        let found = found.unwrap_or_default();
        if found.is_empty() {
            return Ok(None);
        }
        let ours = found
            .into_iter()
            .find(|transfer| transfer.reference == reference);
        ours.map(Some).ok_or_else(|| another("transfer"))
    }

    /// A page of a list.
    pub async fn page<T: DeserializeOwned>(&self, path: &str) -> Result<Page<T>, Fault> {
        let answer = self.look_up(path).await?;
        let answer = answer.ok_or_else(|| Fault::provider("Flutterwave has no such list"))?;
        let meta: Option<ListMeta> = part(answer.meta).unwrap_or_default();
        let pages = meta.and_then(|meta| meta.page_info.total_pages.parse().ok());
        Ok(Page {
            data: part(answer.data)?.unwrap_or_default(),
            pages: pages.ok_or_else(|| {
                Fault::provider("Flutterwave does not say how many pages its list has")
            })?,
        })
    }

    /// Result of a lookup; `None` for Flutterwave's own 404.
    pub async fn ask<T: DeserializeOwned>(&self, path: &str) -> Result<Option<T>, Fault> {
        match self.look_up(path).await? {
            Some(answer) => part(answer.data),
            None => Ok(None),
        }
    }

    async fn look_up(&self, path: &str) -> Result<Option<Envelope>, Fault> {
        let response = self.get(path).send().await?;
        if is_refusal_at_the_door(response.status) {
            return Err(refused(&response));
        }
        let answer = envelope(&response);
        match (response.status, answer?) {
            (200..=299, answer) if answer.status == "success" => Ok(Some(answer)),
            (NOT_FOUND, answer) if answer.status == "error" => Ok(None),
            (status, answer) => Err(Fault::provider(format!(
                "Flutterwave answered {status} `{}`: {}",
                answer.status, answer.message
            ))),
        }
    }

    pub fn get(&self, path: &str) -> RequestBuilder<'c> {
        let request = self.cx.get(self.url(path));
        request.bearer(&self.config.secret_key)
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.config.base_url())
    }
}

pub const fn is_refusal_at_the_door(status: u16) -> bool {
    matches!(status, 401 | 403)
}

/// Flutterwave's own words about what is wrong.
pub fn error_text(response: &Response) -> String {
    match envelope(response) {
        Ok(answer) if !answer.message.is_empty() => answer.message,
        _ => "no reason was given".to_owned(),
    }
}

fn envelope(response: &Response) -> Result<Envelope, Fault> {
    exact::read(response.text()?).map_err(|error| {
        Fault::provider(format!(
            "Flutterwave answered {} with a body that is not the expected JSON: {error}",
            response.status
        ))
    })
}

fn part<T: DeserializeOwned>(value: Value) -> Result<Option<T>, Fault> {
    serde_json::from_value(value).map_err(|error| {
        Fault::provider(format!(
            "Flutterwave's answer is not of the expected shape: {error}"
        ))
    })
}

fn refused(response: &Response) -> Fault {
    Fault::config(format!(
        "Flutterwave refuses the secret key ({}): {}",
        response.status,
        error_text(response)
    ))
}

/// Any other refusal is caused by the key, and no money was taken.
fn misconfigured(outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Declined {
            provider_code,
            provider_message,
            provider_id,
            ..
        } => Outcome::Declined {
            reason: DeclineReason::Misconfigured,
            retryable: true,
            provider_code,
            provider_message,
            provider_id,
            field: None,
        },
        other => other,
    }
}

fn is_duplicate(message: &str) -> bool {
    let lower = message.to_lowercase();
    lower.contains("already exist") || lower.contains("duplicate")
}

fn another(what: &str) -> Fault {
    Fault::provider(format!(
        "Flutterwave answers with another {what} than the one that was asked about"
    ))
}

const TOO_MANY: u16 = 429;
const NOT_FOUND: u16 = 404;
