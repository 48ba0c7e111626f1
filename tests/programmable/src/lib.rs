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
            .timeout(PATIENCE)
            .send()
            .await?;
        if !answer.is_success() {
            return Ok(Outcome::unknown("the provider failed"));
        }
        let answer: Answer = answer.json()?;
        Ok(match answer.status.as_str() {
            "paid" => Outcome::succeeded(self.amount),
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
        let answer = cx.get(url).timeout(PATIENCE).send().await?;
        Ok(match answer.is_success() {
            true => Outcome::succeeded(&ask.amount),
            false => Outcome::NotFound {
                why: "there is no such charge".into(),
            },
        })
    }
}

gateway!(Programmable);

const PATIENCE: Duration = Duration::from_millis(1_500);
