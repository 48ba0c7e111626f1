//! A gateway whose provider does what the transaction says: the description has one word for each connection.
//!
//! | word | what happens |
//! |---|---|
//! | `refused` | nobody listens where it connects to |
//! | any other | the provider is sent the word, and does it |

use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use switchyard_gateway::{
    Collect, Context, DeclineReason, Fault, Gateway, Money, Outcome, Payout, Query, gateway,
};

#[derive(Default)]
struct Programmable;

#[derive(Deserialize)]
struct Config {
    url: String,
    nowhere: String,
    slot: usize,
    patience_ms: Option<u64>,
}

impl Config {
    fn patience(&self) -> Duration {
        self.patience_ms.map_or(PATIENCE, Duration::from_millis)
    }
}

#[derive(Deserialize)]
struct Answer {
    status: String,
}

/// What a payment and a payout have in common here.
struct Order<'a> {
    reference: &'a str,
    transaction: &'a str,
    description: &'a str,
    amount: &'a Money,
}

impl Order<'_> {
    async fn submit(self, cx: &Context) -> Result<Outcome, Fault> {
        let config: Config = cx.config()?;
        let word = self.description.split(' ').nth(config.slot);
        let word = word.ok_or_else(|| Fault::config("the description has no word for it"))?;
        let base = if word == "refused" {
            &config.nowhere
        } else {
            &config.url
        };
        let charge = json!({
            "reference": self.reference,
            "transaction": self.transaction,
            "slot": config.slot,
            "word": word,
        });
        let answer = cx
            .post(format!("{base}/charges"))
            .json(&charge)
            .timeout(config.patience())
            .send()
            .await?;
        if !answer.is_success() {
            return Ok(Outcome::unknown("the provider failed"));
        }
        let answer: Answer = answer.json()?;
        Ok(match answer.status.as_str() {
            "paid" => Outcome::succeeded(self.amount),
            "waits" => Outcome::pending(),
            "busy" => {
                Outcome::declined(DeclineReason::LimitExceeded, "Too much today.").and_retryable()
            }
            "sick" => Outcome::declined(DeclineReason::ProviderUnavailable, "Out of order.")
                .and_retryable(),
            "no" => Outcome::declined(DeclineReason::InsufficientFunds, "Not enough money."),
            other => return Err(Fault::provider(format!("it says {other}"))),
        })
    }
}

impl Gateway for Programmable {
    async fn collect(&self, cx: &Context, ask: Collect) -> Result<Outcome, Fault> {
        let order = Order {
            reference: &ask.reference,
            transaction: &ask.transaction,
            description: &ask.description,
            amount: &ask.amount,
        };
        order.submit(cx).await
    }

    async fn payout(&self, cx: &Context, ask: Payout) -> Result<Outcome, Fault> {
        let order = Order {
            reference: &ask.reference,
            transaction: &ask.transaction,
            description: &ask.description,
            amount: &ask.amount,
        };
        order.submit(cx).await
    }

    async fn query(&self, cx: &Context, ask: Query) -> Result<Outcome, Fault> {
        let config: Config = cx.config()?;
        let url = format!("{}/charges/{}", config.url, ask.reference);
        let answer = cx.get(url).timeout(config.patience()).send().await?;
        Ok(match answer.status {
            200 => Outcome::succeeded(&ask.amount),
            TOO_EARLY => Outcome::pending(),
            _ => Outcome::NotFound {
                why: "there is no such charge".into(),
            },
        })
    }
}

gateway!(Programmable);

/// What the provider answers about a charge that has not ended.
const TOO_EARLY: u16 = 425;
/// Unless the connection says otherwise.
const PATIENCE: Duration = Duration::from_millis(1_500);
