//! A gateway whose provider does what the transaction says: the description has one word for each
//! connection.
//!
//! | word | what happens |
//! |---|---|
//! | `refused` | nobody listens where it connects to |
//! | any other | the provider is sent the word, and does it |
//!
//! Its callbacks name a reference and say that it is paid. Those with the right signature in
//! `x-signature` are believed, those with none are hints, and a wrong one is refused.

use std::time::Duration;

use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::Deserialize;
use serde_json::json;
use sha2::Sha256;
use switchyard_gateway::{
    Amount, Callback, CallbackResult, Collect, Context, DeclineReason, Direction, Fault, Gateway,
    List, ListedState, ListedTransaction, Money, Outcome, Payout, Query, TransactionPage, gateway,
};

#[derive(Default)]
struct Programmable;

#[derive(Deserialize)]
struct Config {
    url: String,
    nowhere: String,
    slot: usize,
    patience_ms: Option<u64>,
    key: Option<String>,
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

/// Body of a callback: its charge is paid.
#[derive(Deserialize)]
struct CallbackBody {
    reference: String,
    /// In the currency's smallest unit.
    minor: i64,
    currency: String,
}

/// A charge in the provider's list.
#[derive(Deserialize)]
struct Charge {
    reference: String,
    minor: i64,
    currency: String,
    created_at: String,
    status: String,
}

impl Charge {
    fn listed(self) -> ListedTransaction {
        ListedTransaction {
            reference: Some(self.reference),
            provider_id: None,
            amount: Some(Amount::minor(self.minor, self.currency)),
            created_at: self.created_at,
            state: match self.status.as_str() {
                "paid" => ListedState::Succeeded,
                "declined" => ListedState::Failed,
                _ => ListedState::Pending,
            },
        }
    }
}

#[derive(Deserialize)]
struct Charges {
    charges: Vec<Charge>,
    next: Option<String>,
}

/// Common part of a payment and a payout.
struct Order<'a> {
    direction: Direction,
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
            "direction": self.direction,
            "created_at": cx.now().to_string(),
            "word": word,
            "minor": self.amount.minor,
            "currency": self.amount.currency,
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
        match answer.status.as_str() {
            "paid" => Ok(Outcome::succeeded(self.amount)),
            "waits" => Ok(Outcome::pending()),
            other => declined(other),
        }
    }
}

/// The outcome of a charge that the provider declined with this word.
fn declined(word: &str) -> Result<Outcome, Fault> {
    Ok(match word {
        "busy" => {
            Outcome::declined(DeclineReason::LimitExceeded, "Too much today.").and_retryable()
        }
        "sick" => {
            Outcome::declined(DeclineReason::ProviderUnavailable, "Out of order.").and_retryable()
        }
        "no" => Outcome::declined(DeclineReason::InsufficientFunds, "Not enough money."),
        other => return Err(Fault::provider(format!("it says {other}"))),
    })
}

impl Gateway for Programmable {
    async fn collect(&self, cx: &Context, ask: Collect) -> Result<Outcome, Fault> {
        let order = Order {
            direction: Direction::Collect,
            reference: &ask.reference,
            transaction: &ask.transaction,
            description: &ask.description,
            amount: &ask.amount,
        };
        order.submit(cx).await
    }

    async fn payout(&self, cx: &Context, ask: Payout) -> Result<Outcome, Fault> {
        let order = Order {
            direction: Direction::Payout,
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
            DECLINED => declined(&answer.json::<Answer>()?.status)?,
            _ => Outcome::NotFound {
                why: "there is no such charge".into(),
            },
        })
    }

    async fn list(&self, cx: &Context, ask: List) -> Result<TransactionPage, Fault> {
        let config: Config = cx.config()?;
        let query = json!({ "slot": config.slot, "list": ask });
        let url = format!("{}/charges/list", config.url);
        let request = cx.post(url).json(&query).reads_only();
        let answer = request.timeout(config.patience()).send().await?;
        if !answer.is_success() {
            return Err(Fault::provider("the provider failed"));
        }
        let found: Charges = answer.json()?;
        Ok(TransactionPage {
            transactions: found.charges.into_iter().map(Charge::listed).collect(),
            next: found.next,
        })
    }

    async fn callback(&self, cx: &Context, callback: Callback) -> Result<CallbackResult, Fault> {
        let config: Config = cx.config()?;
        let body = callback.body.bytes()?;
        let Ok(news) = serde_json::from_slice::<CallbackBody>(&body) else {
            return Ok(CallbackResult::refused("this is no news of this provider"));
        };
        let result = match callback.header("x-signature") {
            None => CallbackResult::hint(),
            Some(signature) if Some(signature) == signed(config.key, &body).as_deref() => {
                let paid = Amount::minor(news.minor, &news.currency);
                CallbackResult::trusted(Outcome::succeeded(paid))
            }
            Some(_) => return Ok(CallbackResult::refused("the signature does not fit")),
        };
        Ok(CallbackResult {
            reference: Some(news.reference),
            ..result
        })
    }
}

/// The signature of a body in hexadecimal: HMAC-SHA256. None without a key.
fn signed(key: Option<String>, body: &[u8]) -> Option<String> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key?.as_bytes()).ok()?;
    mac.update(body);
    Some(base16ct::lower::encode_string(&mac.finalize().into_bytes()))
}

gateway!(Programmable);

/// Status of the provider about a charge that it declined.
const DECLINED: u16 = 402;
/// Status of the provider's response about a charge that has not ended.
const TOO_EARLY: u16 = 425;
/// Unless the connection says otherwise.
const PATIENCE: Duration = Duration::from_millis(1_500);
