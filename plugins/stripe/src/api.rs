//! Stripe's API: addresses, answers, and what an HTTP status proves.

use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use switchyard_gateway::http::{RequestBuilder, Response};
use switchyard_gateway::{Context, Fault, Outcome};

use crate::config::Config;
use crate::failures::StripeError;

pub struct Api<'c> {
    pub cx: &'c Context,
    pub config: Config,
}

/// Result of a request that changes state.
pub enum Submitted {
    /// The outcome is final or unknown: refused, or a lost response.
    Ended(Box<Outcome>),
    Taken(Response),
    /// Stripe has had another request under this reference: that one has to be queried.
    Duplicate,
}

/// A page of a list.
#[derive(Deserialize)]
pub struct Page<T> {
    pub data: Vec<T>,
    #[serde(default)]
    pub has_more: bool,
}

#[derive(Deserialize)]
struct Refusal {
    error: StripeError,
}

impl<'c> Api<'c> {
    pub fn new(cx: &'c Context) -> Result<Self, Fault> {
        let config = Config::read(cx)?;
        match config.wrong_key(cx.environment()) {
            Some(why) => Err(Fault::config(format!("the field `secret_key`: {why}"))),
            None => Ok(Self { cx, config }),
        }
    }

    /// Sends a form. Stripe executes one idempotency key once, and repeats the same response.
    pub async fn submit(
        &self,
        path: &str,
        form: &[(&str, &str)],
        idempotency_key: &str,
    ) -> Result<Submitted, Fault> {
        let request = || {
            self.authorized(self.cx.post(self.url(path)))
                .header("idempotency-key", idempotency_key)
                .form(form)
        };
        let mut response = request().send().await?;
        if response.status == TOO_MANY {
            self.cx.sleep(retry_after(&response)).await;
            response = request().send().await?;
        }
        let status = response.status;
        if response.is_success() {
            return Ok(Submitted::Taken(response));
        }
        // With these statuses Stripe guarantees that no object was created. Others leave it open
        // (409: the first of two requests is still in flight; 429; 5xx), and so does a page of a
        // machine in between.
        let error = match (status, error(&response)) {
            (400..=404, Some(error)) => error,
            (401 | 403, None) => return Err(refused(&response)),
            _ => {
                let outcome = Outcome::unknown(format!(
                    "Stripe answered {status}, which leaves open whether it took the request"
                ));
                return Ok(Submitted::Ended(outcome.into()));
            }
        };
        Ok(match error.kind.as_str() {
            "idempotency_error" => Submitted::Duplicate,
            "api_error" | "rate_limit_error" => {
                let outcome = Outcome::unknown(format!(
                    "Stripe answered {status}: {}",
                    error.most_specific_code()
                ));
                Submitted::Ended(outcome.into())
            }
            _ => Submitted::Ended(error.refusal().into()),
        })
    }

    /// Reads one thing; `None` when Stripe does not know it.
    pub async fn read<T: DeserializeOwned>(&self, path: &str) -> Result<Option<T>, Fault> {
        self.read_within(path, READ).await
    }

    pub async fn read_within<T: DeserializeOwned>(
        &self,
        path: &str,
        limit: Duration,
    ) -> Result<Option<T>, Fault> {
        let response = self.get(path).timeout(limit).send().await?;
        match response.status {
            200..=299 => response.json().map(Some),
            401 | 403 => Err(refused(&response)),
            // A page of a machine in between is no word of Stripe's.
            404 if error(&response).is_some() => Ok(None),
            status => Err(Fault::provider(format!("Stripe answered {status}"))),
        }
    }

    pub fn get(&self, path: &str) -> RequestBuilder<'c> {
        self.authorized(self.cx.get(self.url(path)))
    }

    fn authorized(&self, request: RequestBuilder<'c>) -> RequestBuilder<'c> {
        request
            .bearer(&self.config.secret_key)
            .header("stripe-version", VERSION)
    }

    fn url(&self, path: &str) -> String {
        format!("{}/v1/{path}", self.config.base_url())
    }
}

/// Stripe's own words about what is wrong, when the answer is Stripe's.
pub fn error(response: &Response) -> Option<StripeError> {
    let refusal: Option<Refusal> = response.json().ok();
    let error = refusal?.error;
    (!error.kind.is_empty()).then_some(error)
}

fn refused(response: &Response) -> Fault {
    Fault::config(format!(
        "Stripe refuses the secret key ({}): {}",
        response.status,
        error_text(response)
    ))
}

/// Stripe shows the last characters of a key that it refuses: its message is not repeated, its code
/// is.
pub fn error_text(response: &Response) -> String {
    error(response).map_or_else(
        || "no reason was given".to_owned(),
        |error| error.most_specific_code().to_owned(),
    )
}

fn retry_after(response: &Response) -> Duration {
    let asked = response
        .header("retry-after")
        .and_then(|seconds| seconds.trim().parse().ok());
    Duration::from_secs(asked.unwrap_or(1)).min(LONGEST_WAIT)
}

/// API version for which this gateway was written; the account's own version does not matter.
const VERSION: &str = "2026-08-26.dahlia";
const TOO_MANY: u16 = 429;
const READ: Duration = Duration::from_secs(15);
const LONGEST_WAIT: Duration = Duration::from_secs(5);
