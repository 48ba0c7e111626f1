//! A gateway that does on request what no gateway should: the test of the host. A collection's description says what to do.

use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use switchyard_gateway::{
    Amount, Collect, ConfigCheck, Context, Fault, Gateway, LogLevel, Outcome, Query, gateway,
};

#[derive(Default)]
struct Misbehaving;

#[derive(Deserialize)]
struct Config {
    url: String,
    key: String,
}

impl Gateway for Misbehaving {
    /// Sends something that could move money, which a check of credentials may not.
    async fn check_config(&self, cx: &Context) -> Result<ConfigCheck, Fault> {
        let config: Config = cx.config()?;
        cx.post(config.url).send().await?;
        Ok(ConfigCheck::Works { account: None })
    }

    async fn collect(&self, cx: &Context, ask: Collect) -> Result<Outcome, Fault> {
        let _bomb = ask.description.contains("bomb").then(|| Bomb);
        match ask.description.as_str() {
            "panic" | "panic bomb" => panic!("on purpose"),
            "stall" => std::future::pending().await,
            "never" | "never bomb" => {
                cx.sleep(Duration::from_secs(3_600)).await;
                Ok(Outcome::pending())
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
            "token" => token(cx).await,
            after_a_write => {
                charge(cx, &ask).await?;
                match after_a_write {
                    "write and panic" => panic!("after a write"),
                    "write and never" => cx.sleep(Duration::from_secs(3_600)).await,
                    "write and fail" => return Err(Fault::provider("after a write")),
                    _ => {}
                }
                Ok(Outcome::succeeded(&ask.amount).with_provider_id("ch_1"))
            }
        }
    }

    async fn query(&self, cx: &Context, ask: Query) -> Result<Outcome, Fault> {
        if ask.method == "fail" {
            return Err(Fault::provider("the query itself fails"));
        }
        cx.log(LogLevel::Debug, "asked");
        Ok(Outcome::NotFound {
            why: "there is no such charge".into(),
        })
    }
}

gateway!(Misbehaving);

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
