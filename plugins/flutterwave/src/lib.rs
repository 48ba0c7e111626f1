//! Flutterwave, version 3 of its API: cards on its hosted page, Nigerian bank transfers, USSD and
//! QR codes, mobile money, and payouts to wallets.
//!
//! Promises:
//! - A payment is requested once. Flutterwave makes a second one of a second request, so after a
//!   lost response the gateway queries by our reference and never sends again.
//! - Failed means that Flutterwave said so. On its own page a failed card is not the end: the payer
//!   may try another until the page's time is up. "Not found" means that the payer has not begun,
//!   as long as they still could.
//! - Amounts are sent and read digit by digit. The amount really paid is reported, more or less
//!   than requested, for the engine to judge.
//! - A callback is a hint to ask, whatever it carries.
//!
//! Left out: cards through the merchant's own form, subscriptions, split payments, and
//! Flutterwave's version 4.

mod api;
mod callback;
mod charges;
mod collect;
mod config;
mod exact;
pub mod failures;
mod list;
pub mod methods;
mod transfers;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use switchyard_gateway::{
    Callback, CallbackResult, Collect, ConfigCheck, Context, DeclineReason, Direction, Fault,
    Gateway, List, Outcome, Payer, Payout, Query, Refund, TransactionPage, gateway,
};

use self::api::{Accepted, Api, Submitted, error_text, is_refusal_at_the_door};
use self::charges::Charge;
use self::config::Config;
use self::failures::{PAYOUTS, REFUNDS};
use self::methods::{CollectMode, Method};
use self::transfers::{Refunded, Transfer};

#[derive(Default)]
pub struct Flutterwave;

/// Stored state of an attempt.
#[derive(Serialize, Deserialize)]
struct AttemptState {
    kind: Kind,
    since: i64,
    /// Flutterwave took it, and the payer knows how to go on.
    #[serde(default)]
    is_shown: bool,
    /// The charge was there at once: it is not found only by mistake.
    #[serde(default)]
    is_made: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    refund: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Charge,
    Transfer,
    Refund,
}

impl AttemptState {
    fn new(cx: &Context, kind: Kind) -> Self {
        Self {
            kind,
            since: cx.now().unix_seconds(),
            is_shown: false,
            is_made: false,
            refund: None,
        }
    }
}

impl Gateway for Flutterwave {
    async fn check_config(&self, cx: &Context) -> Result<ConfigCheck, Fault> {
        let config: Config = cx.config()?;
        let refused = |message: String| ConfigCheck::Refused {
            message,
            field: Some("secret_key".into()),
        };
        if let Some(why) = config.wrong_key(cx.environment()) {
            return Ok(refused(why.to_owned()));
        }
        let answer = Api { cx, config }.get("/banks/NG").send().await?;
        if is_refusal_at_the_door(answer.status) {
            let why = format!(
                "Flutterwave refuses the secret key: {}",
                error_text(&answer)
            );
            return Ok(refused(why));
        }
        if !answer.is_success() {
            let status = answer.status;
            return Err(Fault::provider(format!("Flutterwave answered {status}")));
        }
        answer.json::<Value>()?;
        Ok(ConfigCheck::Works { account: None })
    }

    async fn collect(&self, cx: &Context, ask: Collect) -> Result<Outcome, Fault> {
        let method = Method::of(&ask.method)?;
        let api = Api::new(cx)?;
        match method.collect {
            None => Err(Fault::config(format!(
                "Flutterwave takes no payments by {}: remove it from the connection's methods",
                method.code
            ))),
            Some(CollectMode::Page) => collect::page(&api, method, &ask).await,
            Some(way) => collect::charge(&api, method, way, &ask).await,
        }
    }

    async fn payout(&self, cx: &Context, ask: Payout) -> Result<Outcome, Fault> {
        let method = Method::of(&ask.method)?;
        let api = Api::new(cx)?;
        let Some(bank) = method.payout else {
            return Err(Fault::config(format!(
                "Flutterwave sends no payouts to {}: remove it from the connection's methods",
                method.code
            )));
        };
        let Some(number) = method.msisdn(ask.recipient.get("msisdn")) else {
            return Ok(no_number());
        };
        let name = name(&ask.payer).unwrap_or_else(|| number.clone());
        let name = shortened(&name);
        let mut body = json!({
            "account_bank": bank,
            "account_number": number,
            "currency": method.currency,
            "debit_currency": method.currency,
            "narration": shortened(&ask.description),
            "reference": ask.reference,
            "beneficiary_name": name,
        });
        if let Some(url) = &ask.callback_url {
            body["callback_url"] = json!(url);
        }
        if method.code == "mpesa_ke" {
            body["meta"] =
                json!({ "sender": name, "sender_country": "KE", "mobile_number": number });
        }
        let body = exact::with_amount(&method.amount(&ask.amount)?, &body);
        cx.set_state(&AttemptState::new(cx, Kind::Transfer))?;
        let submitted = api.submit::<Transfer>("/transfers", body, PAYOUTS).await?;
        match submitted {
            Submitted::Ended(outcome) => Ok(outcome),
            Submitted::Accepted(Accepted { data, .. }) => Ok(data
                .filter(|transfer| transfer.reference == ask.reference)
                .map_or_else(Outcome::pending, |transfer| transfer.outcome())),
            Submitted::Duplicate => {
                duplicate(api.transfer(&ask.reference).await?, Transfer::outcome)
            }
        }
    }

    /// Flutterwave makes a second refund of a second request: this one is sent once.
    async fn refund(&self, cx: &Context, ask: Refund) -> Result<Outcome, Fault> {
        let method = Method::of(&ask.method)?;
        let api = Api::new(cx)?;
        let amount = method.amount(&ask.amount)?;
        let id = match ask.provider_id {
            Some(id) => Some(id),
            None => api.charge(&ask.of).await?.and_then(|charge| charge.id),
        };
        let Some(id) = id else {
            let why = "Flutterwave does not have the payment.";
            let declined = Outcome::declined(DeclineReason::NotPermitted, why);
            return Ok(declined.with_provider_code("404"));
        };
        let body = exact::with_amount(&amount, &json!({ "comments": ask.reference }));
        let mut kept = AttemptState::new(cx, Kind::Refund);
        cx.set_state(&kept)?;
        let path = format!("/transactions/{id}/refund");
        match api.submit::<Refunded>(&path, body, REFUNDS).await? {
            Submitted::Ended(outcome) => Ok(outcome),
            Submitted::Accepted(Accepted { data, .. }) => {
                let Some(refunded) = data else {
                    return Ok(Outcome::unknown(
                        "Flutterwave took the refund without a word",
                    ));
                };
                kept.refund.clone_from(&refunded.id);
                cx.set_state(&kept)?;
                Ok(refunded.outcome(method.currency))
            }
            Submitted::Duplicate => Ok(Outcome::unknown("Flutterwave has a refund of this kind")),
        }
    }

    async fn query(&self, cx: &Context, ask: Query) -> Result<Outcome, Fault> {
        let method = Method::of(&ask.method)?;
        let api = Api::new(cx)?;
        let kept = cx.state::<AttemptState>()?;
        let kind = kept.as_ref().map_or(
            match ask.direction {
                Direction::Collect => Kind::Charge,
                Direction::Payout => Kind::Transfer,
            },
            |kept| kept.kind,
        );
        match kind {
            Kind::Charge => {
                let charge = api.charge(&ask.reference).await?;
                Ok(so_far(cx, method, kept.as_ref(), charge, &ask.reference))
            }
            Kind::Transfer => Ok(api.transfer(&ask.reference).await?.map_or_else(
                || not_found("transfer", &ask.reference),
                |transfer| transfer.outcome(),
            )),
            Kind::Refund => refunded(&api, method, kept.and_then(|kept| kept.refund)).await,
        }
    }

    async fn list(&self, cx: &Context, ask: List) -> Result<TransactionPage, Fault> {
        list::page(&Api::new(cx)?, &ask).await
    }

    async fn callback(&self, cx: &Context, news: Callback) -> Result<CallbackResult, Fault> {
        callback::read(&Api::new(cx)?, &news)
    }
}

gateway!(Flutterwave);

/// Current outcome of a payment. A failure, or no payment, is the end only when the payer can try
/// no more.
fn so_far(
    cx: &Context,
    method: &Method,
    kept: Option<&AttemptState>,
    charge: Option<Charge>,
    reference: &str,
) -> Outcome {
    let way = method.collect;
    let age = kept.map_or(0, |kept| cx.now().unix_seconds() - kept.since);
    let is_over = age > over_after(way);
    match charge {
        Some(charge) if charge.is_failed() && way == Some(CollectMode::Page) && !is_over => {
            Outcome::pending()
        }
        Some(charge) => charge.outcome(),
        None => match kept {
            // Also after a lost response: the link or the account was never shown, and accepts no
            // money any more.
            Some(kept) if is_over && !kept.is_made && (kept.is_shown || is_dated(way)) => {
                let why = "The payer did not begin to pay in time.";
                Outcome::declined(DeclineReason::Expired, why).with_provider_code("not_begun")
            }
            Some(kept) if kept.is_shown => Outcome::pending(),
            _ => not_found("payment", reference),
        },
    }
}

/// Does Flutterwave itself end it, at a time that we set?
const fn is_dated(way: Option<CollectMode>) -> bool {
    matches!(way, Some(CollectMode::Page | CollectMode::BankTransfer))
}

/// When nothing can begin any more.
const fn over_after(way: Option<CollectMode>) -> i64 {
    match way {
        Some(CollectMode::Page) => PAGE_LASTS_S + PAGE_GRACE_S,
        Some(CollectMode::BankTransfer) => ACCOUNT_LASTS_S + ACCOUNT_GRACE_S,
        _ => UNDATED_S,
    }
}

/// A reference that Flutterwave has and does not show proves nothing.
fn duplicate<T>(found: Option<T>, outcome: impl Fn(&T) -> Outcome) -> Result<Outcome, Fault> {
    Ok(found.as_ref().map_or_else(
        || Outcome::unknown("Flutterwave has this reference already and does not show it yet"),
        outcome,
    ))
}

/// By Flutterwave's id only: it does not keep our reference of a refund.
async fn refunded(api: &Api<'_>, method: &Method, id: Option<String>) -> Result<Outcome, Fault> {
    let Some(id) = id else {
        return Ok(Outcome::unknown(
            "Flutterwave cannot be asked about a refund whose answer was lost: look at the payment in its dashboard",
        ));
    };
    let found: Option<Refunded> = api.ask(&format!("/refunds/{id}")).await?;
    Ok(found.map_or_else(
        || Outcome::unknown(format!("Flutterwave does not show its refund {id}")),
        |refunded| refunded.outcome(method.currency),
    ))
}

fn not_found(what: &str, reference: &str) -> Outcome {
    Outcome::NotFound {
        why: format!("Flutterwave has no {what} under {reference}"),
    }
}

fn name(payer: &Payer) -> Option<String> {
    let parts = [&payer.first_name, &payer.last_name];
    let parts: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
    let name = parts.join(" ").trim().to_owned();
    (!name.is_empty()).then_some(name)
}

/// As long as Flutterwave's own client lets a name or a narration be.
fn shortened(text: &str) -> String {
    text.chars().take(TEXT_CHARACTERS).collect()
}

fn no_number() -> Outcome {
    Outcome::declined(DeclineReason::InvalidAccount, "No phone number was given.")
        .with_provider_code("no_phone_number")
        .about_field("msisdn")
}

const TEXT_CHARACTERS: usize = 100;
/// How long a payer may begin to pay on Flutterwave's page.
const PAGE_LASTS_S: i64 = 20 * 60;
/// Clocks differ, and a last try takes a while until it shows.
const PAGE_GRACE_S: i64 = 10 * 60;
/// Time for which the account of a bank transfer accepts money, and time that a transfer may take.
const ACCOUNT_LASTS_S: i64 = 30 * 60;
const ACCOUNT_GRACE_S: i64 = 30 * 60;
/// Flutterwave does not say how long its other pages and codes last.
const UNDATED_S: i64 = 24 * 60 * 60;
