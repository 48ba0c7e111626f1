//! pawaPay, version 2 of its API: mobile money of some thirty operators, in both directions, and
//! refunds.
//!
//! Promises:
//! - Our reference is pawaPay's id, so the same attempt moves money once, however often it is sent.
//! - Failed means that pawaPay said REJECTED or FAILED. A time-out, a 5xx, `UNKNOWN_ERROR` and a
//!   word that is not known mean unknown, and "not found" means what the manifest says: nothing
//!   before 15 minutes.
//! - A callback counts only with pawaPay's own signature over our own address; without, it is a
//!   hint to ask.
//!
//! Left out: remittances, bulk payouts and the hosted payment page.

mod api;
mod callback;
mod config;
pub mod failures;
mod instructions;
mod message;
pub mod operators;
pub mod signature;
mod transfers;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use switchyard_gateway::{
    Callback, CallbackResult, Collect, ConfigCheck, Context, DeclineReason, Fault, Fields, Gateway,
    Money, Outcome, PayerAction, Payout, Query, Refund, SubmitInput, gateway,
};

use self::api::{Api, Submitted, error_text, is_refusal_at_the_door};
use self::message::customer_message;
use self::operators::{Authorisation, Operator};
use self::transfers::{Initiated, Kind, metadata, wallet};

#[derive(Default)]
pub struct PawaPay;

/// Stored state of an attempt.
#[derive(Serialize, Deserialize)]
struct AttemptState {
    kind: Kind,
    /// No request was sent yet: the payer's code is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    waits_for_code: Option<WaitsForCode>,
}

#[derive(Serialize, Deserialize)]
struct WaitsForCode {
    since: i64,
    phone: String,
    transaction: String,
    description: String,
}

impl Gateway for PawaPay {
    async fn check_config(&self, cx: &Context) -> Result<ConfigCheck, Fault> {
        let answer = Api::new(cx)?.active_configuration("").await?;
        if is_refusal_at_the_door(answer.status) {
            return Ok(ConfigCheck::Refused {
                message: format!("pawaPay refuses the API token: {}", error_text(&answer)),
                field: Some("api_token".into()),
            });
        }
        let account: Value = api::read(&answer)?;
        let name = account.get("companyName").and_then(Value::as_str);
        Ok(ConfigCheck::Works {
            account: name.map(str::to_owned),
        })
    }

    async fn collect(&self, cx: &Context, ask: Collect) -> Result<Outcome, Fault> {
        let operator = Operator::of(&ask.method)?;
        let api = Api::new(cx)?;
        let typed = ask.fields.get("msisdn").or(ask.payer.msisdn.as_deref());
        let Some(phone) = typed.and_then(|typed| operator.country.msisdn(typed)) else {
            return Ok(no_number());
        };
        let mut body = json!({
            "payer": wallet(operator.provider, &phone),
            "clientReferenceId": ask.transaction,
            "customerMessage": customer_message(&ask.description),
            "metadata": metadata(&ask.transaction),
        });
        match operator.authorisation {
            Authorisation::Prompt => {}
            Authorisation::Preauth => {
                let Some(code) = code(&ask.fields) else {
                    return wait_for_code(&api, operator, phone, &ask).await;
                };
                body["preAuthorisationCode"] = json!(code);
            }
            Authorisation::Redirect => {
                body["successfulUrl"] = json!(ask.return_url);
                body["failedUrl"] = json!(ask.return_url);
            }
        }
        deposit(&api, operator, &ask.reference, &ask.amount, body).await
    }

    async fn submit_input(&self, cx: &Context, ask: SubmitInput) -> Result<Outcome, Fault> {
        let operator = Operator::of(&ask.method)?;
        let api = Api::new(cx)?;
        let waits = cx
            .state::<AttemptState>()?
            .and_then(|kept| kept.waits_for_code)
            .ok_or_else(|| Fault::config("this attempt waits for no code"))?;
        // Past this the query says "expired": the two must never both act.
        if cx.now().unix_seconds() - waits.since > CODE_IS_TAKEN_S {
            return Err(Fault::config("the code came too late"));
        }
        let Some(code) = code(&ask.input) else {
            return Err(Fault::config("no code was given"));
        };
        let body = json!({
            "payer": wallet(operator.provider, &waits.phone),
            "clientReferenceId": waits.transaction,
            "customerMessage": customer_message(&waits.description),
            "metadata": metadata(&waits.transaction),
            "preAuthorisationCode": code,
        });
        deposit(&api, operator, &ask.reference, &ask.amount, body).await
    }

    async fn payout(&self, cx: &Context, ask: Payout) -> Result<Outcome, Fault> {
        let operator = Operator::of(&ask.method)?;
        let api = Api::new(cx)?;
        let typed = ask.recipient.get("msisdn");
        let Some(phone) = typed.and_then(|typed| operator.country.msisdn(typed)) else {
            return Ok(no_number());
        };
        let body = json!({
            "payoutId": ask.reference,
            "recipient": wallet(operator.provider, &phone),
            "amount": operator.amount(&ask.amount)?,
            "currency": operator.currency,
            "clientReferenceId": ask.transaction,
            "customerMessage": customer_message(&ask.description),
            "metadata": metadata(&ask.transaction),
        });
        transfer(&api, Kind::Payout, &ask.reference, &body).await
    }

    /// A repeated refund returns the present state of the first one: its reference makes it happen
    /// once.
    async fn refund(&self, cx: &Context, ask: Refund) -> Result<Outcome, Fault> {
        let operator = Operator::of(&ask.method)?;
        let api = Api::new(cx)?;
        let body = json!({
            "refundId": ask.reference,
            "depositId": ask.of,
            "amount": operator.amount(&ask.amount)?,
            "currency": operator.currency,
        });
        transfer(&api, Kind::Refund, &ask.reference, &body).await
    }

    async fn query(&self, cx: &Context, ask: Query) -> Result<Outcome, Fault> {
        let kept = cx.state::<AttemptState>()?;
        let kind = kept.as_ref().map_or(ask.direction.into(), |kept| kept.kind);
        if let Some(waits) = kept.and_then(|kept| kept.waits_for_code) {
            return Ok(if cx.now().unix_seconds() - waits.since > CODE_EXPIRES_S {
                Outcome::declined(DeclineReason::Expired, "The payer's code did not come.")
            } else {
                Outcome::pending()
            });
        }
        Api::new(cx)?.outcome(kind, &ask.reference).await
    }

    async fn callback(&self, cx: &Context, news: Callback) -> Result<CallbackResult, Fault> {
        callback::read(&Api::new(cx)?, &news).await
    }
}

gateway!(PawaPay);

/// Takes the money, and says what the payer is to do.
async fn deposit(
    api: &Api<'_>,
    operator: &Operator,
    reference: &str,
    amount: &Money,
    mut body: Value,
) -> Result<Outcome, Fault> {
    body["depositId"] = json!(reference);
    body["amount"] = json!(operator.amount(amount)?);
    body["currency"] = json!(operator.currency);
    keep(api, Kind::Deposit, None)?;
    match api.submit(Kind::Deposit, &body).await? {
        Submitted::Ended(outcome) => Ok(outcome),
        Submitted::Duplicate => duplicate(api, Kind::Deposit, reference).await,
        Submitted::Accepted(answer) => Ok(next_step(api, operator, reference, answer).await),
    }
}

async fn transfer(
    api: &Api<'_>,
    kind: Kind,
    reference: &str,
    body: &Value,
) -> Result<Outcome, Fault> {
    keep(api, kind, None)?;
    match api.submit(kind, body).await? {
        Submitted::Ended(outcome) => Ok(outcome),
        Submitted::Duplicate => duplicate(api, kind, reference).await,
        Submitted::Accepted(_) => Ok(Outcome::pending()),
    }
}

/// An id that pawaPay knows and does not find proves nothing: it has had the request.
async fn duplicate(api: &Api<'_>, kind: Kind, reference: &str) -> Result<Outcome, Fault> {
    Ok(match api.outcome(kind, reference).await? {
        Outcome::NotFound { .. } => {
            Outcome::unknown("pawaPay has had this request before and does not show it yet")
        }
        outcome => outcome,
    })
}

/// The deposit is accepted: after this no failure changes that, it only leaves the payer with fewer
/// words.
async fn next_step(
    api: &Api<'_>,
    operator: &Operator,
    reference: &str,
    answer: Initiated,
) -> Outcome {
    if let Some(url) = answer.authorization_url {
        return Outcome::awaiting(PayerAction::Redirect { url });
    }
    if answer.next_step != "FINAL_STATUS" && operator.authorisation == Authorisation::Redirect {
        for _ in 0..LOOKS_FOR_ADDRESS {
            api.cx.sleep(Duration::from_secs(1)).await;
            match api.ask(Kind::Deposit, reference).await {
                Ok(Some(found)) if found.status != "ACCEPTED" => {
                    let is_waiting =
                        found.status == "PROCESSING" && found.authorization_url.is_none();
                    if !is_waiting {
                        return found.outcome();
                    }
                }
                _ => {}
            }
        }
        return Outcome::Pending {
            provider_id: None,
            payer_action: None,
            poll_after: Some(ADDRESS_POLL_S),
            received: None,
        };
    }
    if operator.authorisation == Authorisation::Preauth {
        return Outcome::pending();
    }
    Outcome::awaiting(api.instructions(operator).await.action())
}

/// Sends nothing before the payer has entered the code.
async fn wait_for_code(
    api: &Api<'_>,
    operator: &Operator,
    phone: String,
    ask: &Collect,
) -> Result<Outcome, Fault> {
    // Refused here rather than after the payer took the trouble.
    operator.amount(&ask.amount)?;
    let waits = WaitsForCode {
        since: api.cx.now().unix_seconds(),
        phone,
        transaction: ask.transaction.clone(),
        description: ask.description.clone(),
    };
    keep(api, Kind::Deposit, Some(waits))?;
    Ok(Outcome::awaiting(PayerAction::EnterCode {
        label: "Code".into(),
        length: None,
        how: api.instructions(operator).await.how(),
    }))
}

fn keep(api: &Api<'_>, kind: Kind, waits_for_code: Option<WaitsForCode>) -> Result<(), Fault> {
    api.cx.set_state(&AttemptState {
        kind,
        waits_for_code,
    })
}

fn code(fields: &Fields) -> Option<String> {
    let typed = ["otp", "code"].iter().find_map(|name| fields.get(name))?;
    let code: String = typed.chars().filter(|char| !char.is_whitespace()).collect();
    (!code.is_empty()).then_some(code)
}

fn no_number() -> Outcome {
    Outcome::declined(DeclineReason::InvalidAccount, "No phone number was given.")
        .with_provider_code("no_phone_number")
        .about_field("msisdn")
}

/// How long the payer's code is taken, and when an attempt without one is over. A call ends within
/// a minute, so the two cannot meet.
const CODE_IS_TAKEN_S: i64 = 15 * 60;
const CODE_EXPIRES_S: i64 = 20 * 60;
/// The operator's page is there within a second or two.
const LOOKS_FOR_ADDRESS: usize = 4;
const ADDRESS_POLL_S: u32 = 5;
