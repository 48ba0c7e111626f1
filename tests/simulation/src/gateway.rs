//! The gateway of the simulation: an ordinary gateway, linked in. Its connection's configuration
//! gives the rate of panics, stalls and faults. It is registered under two names, as two gateways,
//! and in several versions. Every request carries the version.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ffi::c_void;

use serde::Deserialize;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use switchyard_core::limits::CALLBACK_TRIES;
use switchyard_gateway::abi::{ABI_MAJOR, Bytes, Plugin, Sink};
use switchyard_gateway::{
    Amount, Callback, CallbackResult, Cancel, Collect, Context, DeclineReason, Direction, Fault,
    Gateway, Money, Outcome, PayerAction, Payout, Query, SubmitInput, gateway, runtime,
};

use crate::faults::{self, is_planted};

#[derive(Default)]
struct Simulated;

#[derive(Deserialize)]
struct Config {
    base: String,
    secret: String,
    /// Permille of calls that fail before the request is sent, and as many that fail after it.
    temper: u64,
    /// Whether the provider is idempotent. The gateway then repeats a failed submission in the same
    /// call.
    repeats: bool,
}

/// Body of a provider's response or callback.
#[derive(Deserialize)]
struct ProviderBody {
    reference: String,
    id: String,
    status: String,
    minor: Option<i64>,
    currency: String,
}

impl Gateway for Simulated {
    async fn collect(&self, cx: &Context, ask: Collect) -> Result<Outcome, Fault> {
        submit(cx, "charges", &ask.reference, &ask.transaction, &ask.amount).await
    }

    async fn payout(&self, cx: &Context, ask: Payout) -> Result<Outcome, Fault> {
        submit(cx, "payouts", &ask.reference, &ask.transaction, &ask.amount).await
    }

    async fn query(&self, cx: &Context, ask: Query) -> Result<Outcome, Fault> {
        let (config, version): (Config, _) = (cx.config()?, version());
        stumble(cx, &config).await?;
        let path = match ask.direction {
            Direction::Collect => "charges",
            Direction::Payout => "payouts",
        };
        let url = format!("{}/{path}/{}", config.base, ask.reference);
        let get = |token: String| cx.get(&url).header(VERSION, &version).bearer(&token);
        let mut answer = get(token(cx, &config, &version).await?).send().await?;
        if answer.status == 401 {
            answer = get(new_token(cx, &config, &version).await?).send().await?;
        }
        if answer.status == 404 {
            let why = "the provider does not know it".to_owned();
            return Ok(Outcome::NotFound { why });
        }
        if !answer.is_success() {
            return Ok(Outcome::unknown("the provider failed"));
        }
        outcome(answer.json()?)
    }

    async fn submit_input(&self, cx: &Context, ask: SubmitInput) -> Result<Outcome, Fault> {
        let (config, version): (Config, _) = (cx.config()?, version());
        stumble(cx, &config).await?;
        let url = format!("{}/charges/{}/code", config.base, ask.reference);
        let typed = json!({ "code": ask.input.get("code") });
        let token = token(cx, &config, &version).await?;
        let request = cx.post(url).header(VERSION, version).bearer(&token);
        let answer = request.json(&typed).send().await?;
        if !answer.is_success() {
            return Ok(Outcome::unknown("the provider failed"));
        }
        outcome(answer.json()?)
    }

    async fn cancel(&self, cx: &Context, ask: Cancel) -> Result<Outcome, Fault> {
        let (config, version): (Config, _) = (cx.config()?, version());
        let url = format!("{}/charges/{}/cancel", config.base, ask.reference);
        let token = token(cx, &config, &version).await?;
        let request = cx.post(url).header(VERSION, version).bearer(&token);
        let answer = request.json(&json!({})).send().await?;
        if !answer.is_success() {
            return Ok(Outcome::unknown("the provider failed"));
        }
        outcome(answer.json()?)
    }

    async fn callback(&self, cx: &Context, news: Callback) -> Result<CallbackResult, Fault> {
        let config: Config = cx.config()?;
        let body = news.body.bytes()?;
        if cx.chance() % 1_000 < config.temper && may_panic_over(&body) {
            panic!("the simulation wants a panic over a callback");
        }
        let is_signed =
            news.header("x-signature") == Some(signature(&config.secret, &body).as_str());
        if !is_signed && !is_planted(faults::Fault::ForgeryBelieved) {
            return Ok(CallbackResult::refused("the signature does not fit"));
        }
        let Ok(news) = serde_json::from_slice::<ProviderBody>(&body) else {
            return Ok(CallbackResult::refused("this is no news"));
        };
        let (reference, id) = (news.reference.clone(), news.id.clone());
        let said = CallbackResult::trusted(outcome(news)?).about_provider_id(id);
        Ok(match reference.is_empty() {
            true => said,
            false => said.about(reference),
        })
    }
}

gateway!(Simulated);

async fn submit(
    cx: &Context,
    path: &str,
    reference: &str,
    transaction: &str,
    amount: &Money,
) -> Result<Outcome, Fault> {
    let (config, version): (Config, _) = (cx.config()?, version());
    stumble(cx, &config).await?;
    let ask = json!({
        "account": config.secret,
        "reference": reference,
        "transaction": transaction,
        "minor": amount.minor,
        "currency": amount.currency,
    });
    let url = format!("{}/{path}", config.base);
    let post = |token: String| {
        let request = cx.post(&url).header(VERSION, &version).bearer(&token);
        request.json(&ask)
    };
    let mut sent = post(token(cx, &config, &version).await?).send().await;
    // A request that failed to authenticate had no effect.
    if sent.as_ref().is_ok_and(|answer| answer.status == 401) {
        let token = new_token(cx, &config, &version).await?;
        sent = post(token).header(REPEATS, "1").send().await;
    }
    let has_failed = sent.as_ref().map_or(true, |answer| answer.status >= 500);
    if has_failed && config.repeats {
        cx.sleep(REPEAT_AFTER).await;
        let token = token(cx, &config, &version).await?;
        sent = post(token).header(REPEATS, "1").send().await;
    }
    let answer = sent?;
    stumble(cx, &config).await?;
    if !answer.is_success() {
        return Ok(Outcome::unknown("the provider failed"));
    }
    outcome(answer.json()?)
}

/// Returns the connection's access token: the cached one, or a new one.
async fn token(cx: &Context, config: &Config, version: &str) -> Result<String, Fault> {
    match cx.cached(TOKEN).await {
        Some(token) => Ok(token),
        None => new_token(cx, config, version).await,
    }
}

async fn new_token(cx: &Context, config: &Config, version: &str) -> Result<String, Fault> {
    let url = format!("{}/{TOKEN_PATH}", config.base);
    let request = cx.post(url).header(VERSION, version).reads_only();
    let answer = request.json(&json!({})).send().await?;
    let token: Token = answer.json()?;
    let lives = std::time::Duration::from_secs(token.expires_in);
    cx.cache(TOKEN, token.access_token.clone(), lives).await;
    Ok(token.access_token)
}

#[derive(Deserialize)]
struct Token {
    access_token: String,
    /// In seconds.
    expires_in: u64,
}

fn outcome(news: ProviderBody) -> Result<Outcome, Fault> {
    let outcome = match news.status.as_str() {
        "paid" => Outcome::Succeeded {
            provider_id: None,
            amount: news.minor.map(|minor| Amount::minor(minor, news.currency)),
            fees: None,
            provider_status: None,
        },
        "pending" => Outcome::pending(),
        "part" => Outcome::Pending {
            provider_id: None,
            payer_action: None,
            poll_after: None,
            received: Some(Amount {
                currency: news.currency,
                minor: news.minor,
                decimal: None,
            }),
        },
        "code" => Outcome::awaiting(PayerAction::EnterCode {
            label: "Code".to_owned(),
            length: None,
            how: Default::default(),
        }),
        "declined" => Outcome::declined(DeclineReason::InsufficientFunds, "Not enough money."),
        "busy" => Outcome::declined(DeclineReason::ProviderUnavailable, "Busy.").and_retryable(),
        other => return Err(Fault::provider(format!("it says {other}"))),
    };
    Ok(outcome.with_provider_id(news.id))
}

/// Panics, faults or stalls at the rate in the connection's configuration.
async fn stumble(cx: &Context, config: &Config) -> Result<(), Fault> {
    let chance = cx.chance();
    if chance % 1_000 >= config.temper {
        return Ok(());
    }
    match chance / 1_000 % 3 {
        0 => panic!("the simulation wants a panic"),
        1 => Err(Fault::provider("the simulation wants a fault")),
        _ => {
            cx.sleep(std::time::Duration::from_secs(120)).await;
            Ok(())
        }
    }
}

/// Signature of a provider's callback.
pub fn signature(secret: &str, body: &[u8]) -> String {
    let mut hash = Sha256::new();
    hash.update(secret.as_bytes());
    hash.update(body);
    base16ct::lower::encode_string(&hash.finalize())
}

/// Manifest of a version of the first or second gateway: `gateway.json` beside this crate's
/// `Cargo.toml`, with another name and version.
pub fn manifest(name: &str, version: usize) -> String {
    let text = include_str!("../gateway.json");
    let text = text.replace(r#""name": "simulated""#, &format!(r#""name": "{name}""#));
    text.replace("1.0.0", &number(version))
}

/// Version number in the manifest and in the operator's overview, such as `2.0.0`.
pub fn number(version: usize) -> String {
    format!("{version}.0.0")
}

/// Names of the two gateways. The host of a connection begins with the first letter of its
/// gateway's name.
pub const NAMES: [&str; 2] = ["simulated", "neighbour"];
pub const VERSIONS: usize = 3;

/// Entry points of each version, as the engine would find them in a library.
pub static PLUGINS: [Plugin; VERSIONS] = [plugin::<1>(), plugin::<2>(), plugin::<3>()];

const fn plugin<const NUMBER: u8>() -> Plugin {
    Plugin {
        abi_major: ABI_MAJOR,
        size: size_of::<Plugin>() as u32,
        begin: begin::<NUMBER>,
        resume: runtime::c_resume,
        end: runtime::c_end,
    }
}

/// Header with the version of the gateway that sends the request.
pub const VERSION: &str = "x-gateway-version";
/// Prefix of the hosts of the provider that is idempotent by reference.
pub const IDEMPOTENT: &str = "s1";
/// Header of a request that the gateway repeats inside one call.
pub const REPEATS: &str = "x-repeats";
/// Path at which a provider issues access tokens.
pub const TOKEN_PATH: &str = "auth/token";
/// Key of the token in the connection's cache.
const TOKEN: &str = "token";
/// Delay before the gateway repeats a failed submission.
const REPEAT_AFTER: std::time::Duration = std::time::Duration::from_secs(25);

thread_local! {
    /// Version of the gateway whose call is beginning on this thread.
    static BEGINS: Cell<u8> = const { Cell::new(0) };
    /// Number of panics per callback body in the history that runs on this thread.
    static PANICS: RefCell<BTreeMap<Vec<u8>, u32>> = const { RefCell::new(BTreeMap::new()) };
}

/// Resets the state of this thread for a new history.
pub fn begin_history() {
    PANICS.take();
    BEGINS.set(0);
}

/// Whether a panic over this callback is allowed. The engine's last try never panics: a callback
/// that panics at each try is never read, and no promise would cover it.
fn may_panic_over(body: &[u8]) -> bool {
    PANICS.with_borrow_mut(|panics| {
        let count = panics.entry(body.to_vec()).or_default();
        *count += 1;
        *count < CALLBACK_TRIES
    })
}

/// # Safety
/// Same requirements as `begin` in the ABI.
unsafe extern "C" fn begin<const NUMBER: u8>(
    message: Bytes,
    answer: Sink,
    call: *mut *mut c_void,
) -> i32 {
    BEGINS.set(match is_planted(faults::Fault::VersionForgotten) {
        true => NUMBER.max(BEGINS.get()),
        false => NUMBER,
    });
    // SAFETY: the requirements of this function are those of `c_begin`.
    unsafe { runtime::c_begin::<Simulated>(message, answer, call) }
}

/// Returns the version of the running code. Must be called before the first effect of a call: other
/// calls may begin afterwards.
fn version() -> String {
    BEGINS.get().to_string()
}

/// Runs one step without any effect.
pub fn warm_up() {
    unsafe extern "C" fn put(_: *mut std::ffi::c_void, _: Bytes) {}
    let mut call = std::ptr::null_mut();
    let sink = Sink {
        ctx: std::ptr::null_mut(),
        put,
    };
    // SAFETY: the message, the sink and the slot for the call outlive the step. The step ends in a
    // fault, so there is no call to end.
    unsafe { (PLUGINS[0].begin)(Bytes::lend(b""), sink, &raw mut call) };
}
