//! A gateway that does on request what no gateway should: the test of the host. A collection's
//! description says what to do.

mod habits;
mod harm;

use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use switchyard_gateway::{
    Amount, Callback, CallbackResult, Collect, ConfigCheck, Context, DeclineReason, Fault, Gateway,
    List, LogLevel, OptionList, Options, Outcome, Payout, Query, TransactionPage, gateway,
};

#[derive(Default)]
struct Misbehaving;

#[derive(Deserialize)]
struct Config {
    url: String,
    key: String,
}

#[derive(Deserialize)]
struct CallbackBody {
    reference: Option<String>,
    id: Option<String>,
    status: String,
    minor: i64,
    #[serde(rename = "do")]
    does: Option<String>,
}

impl Gateway for Misbehaving {
    /// Sends something that could move money, which a check of credentials may not.
    async fn check_config(&self, cx: &Context) -> Result<ConfigCheck, Fault> {
        let config: Config = cx.config()?;
        cx.post(config.url).send().await?;
        Ok(ConfigCheck::Works { account: None })
    }

    async fn collect(&self, cx: &Context, ask: Collect) -> Result<Outcome, Fault> {
        if let Some(outcome) = reported_at_once(&ask) {
            return Ok(outcome);
        }
        let _bomb = ask.description.contains("bomb").then(|| Bomb);
        match ask.description.as_str() {
            "panic" | "panic bomb" => panic!("on purpose"),
            "stall" => std::future::pending().await,
            "never" | "never bomb" => {
                cx.sleep(Duration::from_secs(3_600)).await;
                Ok(Outcome::pending())
            }
            // One effect that the engine answers at once: the cost of a round trip.
            "look" => {
                cx.cached("nothing").await;
                Ok(Outcome::succeeded(&ask.amount))
            }
            "wait" => {
                cx.sleep(Duration::from_secs(1)).await;
                Ok(Outcome::succeeded(&ask.amount))
            }
            "compute" => {
                std::thread::sleep(Duration::from_millis(80));
                Ok(Outcome::succeeded(&ask.amount))
            }
            "other currency" => Ok(Outcome::succeeded(Amount::decimal("25.00", "XOF"))),
            "strange amount" => Ok(Outcome::succeeded(Amount::decimal("25.00 dollars", "USD"))),
            "elsewhere" => {
                cx.get("https://elsewhere.example/").send().await?;
                Ok(Outcome::pending())
            }
            "effects" => loop {
                cx.cached("nothing").await;
            },
            "read and fail" => {
                read(cx).await?;
                Err(Fault::provider("after a look"))
            }
            "talk" => {
                let config: Config = cx.config()?;
                cx.log(LogLevel::Info, "a line for the log");
                Err(Fault::provider(format!("the key is {}", config.key)))
            }
            "tell and panic" => {
                let config: Config = cx.config()?;
                panic!("the key is {}", config.key)
            }
            "token" => token(cx).await,
            "never, then abort" | "never, then loop" | "panic twice" => {
                end_badly(cx, &ask.description).await
            }
            habit if habit.starts_with("habit: ") => habits::show(cx, &ask).await,
            harmful if harmful.contains("harm: ") => do_harm(cx, &ask).await,
            after_a_write => {
                charge(cx, &ask).await?;
                match after_a_write {
                    "write and panic" => panic!("after a write"),
                    "write, tell and panic" => {
                        let config: Config = cx.config()?;
                        panic!("the key is {}", config.key)
                    }
                    "write and never" => cx.sleep(Duration::from_secs(3_600)).await,
                    "write and wait" => cx.sleep(Duration::from_secs(1)).await,
                    "write and fail" => return Err(Fault::provider("after a write")),
                    _ => {}
                }
                Ok(Outcome::succeeded(&ask.amount).with_provider_id("ch_1"))
            }
        }
    }

    /// Does harm before anything is sent, when its description asks for that.
    async fn payout(&self, cx: &Context, ask: Payout) -> Result<Outcome, Fault> {
        let config: Config = cx.config()?;
        if let Some(what) = ask.description.strip_prefix("harm: ") {
            return Err(Fault::provider(harm::done(what, &config.key)));
        }
        let paid = Outcome::succeeded(&ask.amount);
        Ok(match ask.description.as_str() {
            "succeed ch_shared" => paid.with_provider_id("ch_shared"),
            _ => paid,
        })
    }

    async fn query(&self, cx: &Context, ask: Query) -> Result<Outcome, Fault> {
        if ask.method == "fail" {
            return Err(Fault::provider("the query itself fails"));
        }
        cx.log(LogLevel::Debug, "asked");
        // A query by the second id finds the charge of the first one.
        if let Some("ch_shared" | "ch_renamed") = ask.provider_id.as_deref() {
            return Ok(Outcome::succeeded(&ask.amount).with_provider_id("ch_shared"));
        }
        if ask.provider_id.as_deref() == Some("ch_8") {
            return Ok(received(Some("ch_8"), Amount::minor(1_000, "USD")));
        }
        // Paid as soon as its provider answers.
        if ask.provider_id.as_deref() == Some("ch_5") {
            let config: Config = cx.config()?;
            let answer = cx.get(config.url).send().await;
            return Ok(match answer {
                Ok(answer) if answer.is_success() => Outcome::succeeded(&ask.amount),
                _ => Outcome::declined(DeclineReason::PayerDeclined, "No."),
            });
        }
        // The same; until then nothing is known.
        if ask.provider_id.as_deref() == Some("ch_6") {
            let config: Config = cx.config()?;
            let answer = cx.get(config.url).send().await?;
            if answer.is_success() {
                return Ok(Outcome::succeeded(&ask.amount));
            }
        }
        if ask.method == "ask" {
            let config: Config = cx.config()?;
            cx.get(config.url).send().await?;
        }
        Ok(Outcome::NotFound {
            why: "there is no such charge".into(),
        })
    }

    /// The provider's own list, as pairs of value and name.
    async fn options(&self, cx: &Context, ask: Options) -> Result<OptionList, Fault> {
        let config: Config = cx.config()?;
        let answer = cx
            .get(format!("{}/options/{}", config.url, ask.source))
            .send()
            .await?;
        if !answer.is_success() {
            return Err(Fault::provider("there is no list"));
        }
        Ok(OptionList::named(answer.json::<Vec<(String, String)>>()?))
    }

    /// The provider's page, whatever is in it. The key `invents` makes an empty page of trouble,
    /// and `writes` a request that could move money.
    async fn list(&self, cx: &Context, ask: List) -> Result<TransactionPage, Fault> {
        let config: Config = cx.config()?;
        let request = cx.post(format!("{}/list", config.url)).json(&ask);
        let answer = match config.key.as_str() {
            "writes" => request.send().await?,
            _ => request.reads_only().send().await?,
        };
        if !answer.is_success() && config.key == "invents" {
            return Ok(TransactionPage::default());
        }
        if !answer.is_success() {
            return Err(Fault::provider(format!(
                "there is no list for {}",
                config.key
            )));
        }
        answer.json()
    }

    /// Does the harm that `do` of the body names, then trusts any sender with the key.
    async fn callback(&self, cx: &Context, callback: Callback) -> Result<CallbackResult, Fault> {
        let config: Config = cx.config()?;
        let body = callback.body.bytes()?;
        let Ok(news) = serde_json::from_slice::<CallbackBody>(&body) else {
            return Ok(CallbackResult::refused("no news"));
        };
        match news.does.as_deref() {
            Some("panic") => panic!("on purpose"),
            Some("fault") => return Err(Fault::provider("on purpose")),
            Some("look") => read(cx).await?,
            Some("charge") => {
                cx.post(config.url).send().await?;
            }
            _ => {}
        }
        let believes = news.does.as_deref() == Some("believe");
        let trusted = believes || callback.header("x-key") == Some(&config.key);
        let outcome = match news.status.as_str() {
            "declined" => Outcome::declined(DeclineReason::PayerDeclined, "No."),
            "pending" => Outcome::pending(),
            "received" => received(None, Amount::minor(news.minor, "USD")),
            _ => Outcome::succeeded(Amount::minor(news.minor, "USD")),
        };
        let counted = (news.does.as_deref() == Some("count"))
            .then(|| format!("ch_{}", habits::calls_before()));
        Ok(CallbackResult {
            reference: news.reference,
            provider_id: counted.or(news.id),
            trusted,
            outcome: trusted.then_some(outcome),
            ..CallbackResult::default()
        })
    }
}

gateway!(Misbehaving);

/// Outcomes without a request, under ids that the test chose.
fn reported_at_once(ask: &Collect) -> Option<Outcome> {
    Some(match ask.description.as_str() {
        "pending ch_9" => Outcome::pending().with_provider_id("ch_9"),
        "pending ch_early" => Outcome::pending().with_provider_id("ch_early"),
        "pending ch_shared" => Outcome::pending().with_provider_id("ch_shared"),
        "pending ch_renamed" => Outcome::pending().with_provider_id("ch_renamed"),
        "succeed ch_shared" => Outcome::succeeded(&ask.amount).with_provider_id("ch_shared"),
        "decline" => Outcome::declined(DeclineReason::PayerDeclined, "No."),
        "decline ch_5" | "decline ch_6" | "decline ch_7" | "decline ch_8" => {
            let id = ask.description.trim_start_matches("decline ");
            Outcome::declined(DeclineReason::PayerDeclined, "No.").with_provider_id(id)
        }
        // A hundred times the amount, as a provider reports it that counts in another unit.
        "receive in another unit" => received(
            Some("ch_unit"),
            Amount::minor(ask.amount.minor.saturating_mul(100), &ask.amount.currency),
        ),
        _ => return None,
    })
}

/// A part of the money came, and the rest is awaited.
fn received(provider_id: Option<&str>, amount: Amount) -> Outcome {
    Outcome::Pending {
        provider_id: provider_id.map(str::to_owned),
        payer_action: None,
        poll_after: None,
        received: Some(amount),
    }
}

/// Does harm when it is dropped: when the call is cancelled, or by the panic.
async fn end_badly(cx: &Context, how: &str) -> Result<Outcome, Fault> {
    let _end = match how {
        "never, then abort" => harm::AtTheEnd("abort"),
        "never, then loop" => harm::AtTheEnd("loop"),
        _ => {
            let _end = harm::AtTheEnd("panic");
            panic!("on purpose")
        }
    };
    cx.sleep(Duration::from_secs(3_600)).await;
    Ok(Outcome::pending())
}

/// `harm: …`, or `write, harm: …`.
async fn do_harm(cx: &Context, ask: &Collect) -> Result<Outcome, Fault> {
    let config: Config = cx.config()?;
    if ask.description.starts_with("write") {
        charge(cx, ask).await?;
    }
    let (_, what) = ask.description.split_once("harm: ").unwrap_or_default();
    Err(Fault::provider(harm::done(what, &config.key)))
}

async fn charge(cx: &Context, ask: &Collect) -> Result<(), Fault> {
    let config: Config = cx.config()?;
    cx.set_state(&json!({ "began": ask.reference }))?;
    cx.post(format!("{}/charges", config.url))
        .bearer(&config.key)
        .json(&json!({ "reference": ask.reference, "amount": ask.amount.decimal, "note": config.key }))
        .timeout(Duration::from_millis(1_500))
        .send()
        .await?;
    Ok(())
}

async fn read(cx: &Context) -> Result<(), Fault> {
    let config: Config = cx.config()?;
    cx.get(format!("{}/charges", config.url))
        .timeout(Duration::from_millis(1_500))
        .send()
        .await?;
    Ok(())
}

/// A token from the cache, or a new one that is put there.
async fn token(cx: &Context) -> Result<Outcome, Fault> {
    if cx.cached("token").await.is_none() {
        read(cx).await?;
        cx.cache("token", "a-token", Duration::from_secs(60)).await;
    }
    Ok(Outcome::pending())
}

/// Panics when it is dropped, unless something panics already: then the process would end.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("in a drop");
        }
    }
}
