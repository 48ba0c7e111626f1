//! Stripe Checkout: cards on Stripe's own page, and refunds.
//!
//! Promises:
//! - Our reference is the idempotency key and stands in the session: one attempt has one session,
//!   and a session is paid once.
//! - Only the end of a session is an end: a card that is refused on Stripe's page leaves the payer
//!   free to take another.
//! - Failed means that Stripe refused the request, that the session expired, or that a delayed
//!   payment failed. A time-out, a 409, a 5xx and an unknown word mean unknown. The page's address
//!   comes with the response only, so a session whose response was lost cannot be paid.
//! - A callback counts only with Stripe's signature, made within five minutes.
//!
//! Left out: payouts (Stripe pays only its own accounts), saved cards, subscriptions, and methods
//! that are no cards.

mod api;
mod callback;
pub mod cards;
mod config;
pub mod failures;
mod list;
mod refunds;
mod sessions;
pub mod signature;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchyard_gateway::{
    Callback, CallbackResult, Cancel, Collect, ConfigCheck, Context, DeclineReason, Direction,
    Fault, Gateway, List, Outcome, Query, Refund, TransactionPage, gateway,
};

use self::api::{Api, Submitted};
use self::cards::Card;
use self::config::Config;
use self::refunds::RefundState;
use self::sessions::{REFERENCE, Session, TRANSACTION};

#[derive(Default)]
pub struct Stripe;

/// Stored state of an attempt.
#[derive(Clone, Default, Serialize, Deserialize)]
struct AttemptState {
    /// When the request first left, by the engine's clock: where to look for it, and the same
    /// request again is the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    since: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    refund: Option<RefundState>,
}

impl Gateway for Stripe {
    async fn check_config(&self, cx: &Context) -> Result<ConfigCheck, Fault> {
        let refused = |message: String| ConfigCheck::Refused {
            message,
            field: Some("secret_key".into()),
        };
        if let Some(why) = Config::read(cx)?.wrong_key(cx.environment()) {
            return Ok(refused(why.to_owned()));
        }
        let api = Api::new(cx)?;
        let account = api.get("account").send().await?;
        if account.is_success() {
            let account: Value = account.json()?;
            return Ok(ConfigCheck::Works {
                account: name(&account),
            });
        }
        // A restricted key need not be allowed to see the account: sessions are what it is for.
        let answer = match account.status {
            403 => api.get("checkout/sessions?limit=1").send().await?,
            _ => account,
        };
        match answer.status {
            200..=299 => Ok(ConfigCheck::Works { account: None }),
            401 | 403 => {
                let message = api::error_text(&answer);
                Ok(refused(format!("Stripe refuses the secret key: {message}")))
            }
            status => Err(Fault::provider(format!("Stripe answered {status}"))),
        }
    }

    async fn collect(&self, cx: &Context, ask: Collect) -> Result<Outcome, Fault> {
        let api = Api::new(cx)?;
        let card = Card::of(&ask.method)?;
        let amount = card.amount(&ask.amount)?;
        if amount > cards::LARGEST {
            let why = "Stripe takes at most eight digits.";
            let declined = Outcome::declined(DeclineReason::AmountOutOfRange, why);
            return Ok(declined
                .with_provider_code("amount_too_large")
                .and_retryable());
        }
        let Some(return_url) = &ask.return_url else {
            return Err(Fault::config(
                "there is no address for the payer to come back to",
            ));
        };
        let mut kept = cx.state::<AttemptState>()?.unwrap_or_default();
        if let Some(session) = &kept.session {
            return Ok(sessions::show(&api, session).await?.outcome());
        }
        let since = *kept.since.get_or_insert(cx.now().unix_seconds());
        keep(&api, &kept)?;
        let form = form(
            &ask,
            card,
            amount,
            return_url,
            since + api.config.session_seconds(),
        );
        let form: Vec<(&str, &str)> = form
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        let session = match api
            .submit("checkout/sessions", &form, &ask.reference)
            .await?
        {
            Submitted::Ended(outcome) => return Ok(*outcome),
            Submitted::Taken(response) => response.json::<Session>()?,
            Submitted::Duplicate => {
                match sessions::find(&api, &ask.reference, Some(since)).await? {
                    Some(session) => session,
                    None => {
                        return Ok(Outcome::unknown(
                            "Stripe has had another request under this reference and does not show a session",
                        ));
                    }
                }
            }
        };
        kept.session = Some(session.id.clone());
        keep(&api, &kept)?;
        Ok(session.outcome())
    }

    async fn query(&self, cx: &Context, ask: Query) -> Result<Outcome, Fault> {
        let api = Api::new(cx)?;
        let kept = cx.state::<AttemptState>()?.unwrap_or_default();
        if kept.refund.is_some() {
            return refunds::ask(&api, kept, &ask.reference).await;
        }
        Ok(
            match locate(&api, kept, ask.provider_id.as_deref(), &ask.reference).await? {
                Some(session) => session.outcome(),
                None => not_found(&ask.reference),
            },
        )
    }

    /// Ends the session, so that it accepts no payment any more. A completed payment stays.
    async fn cancel(&self, cx: &Context, ask: Cancel) -> Result<Outcome, Fault> {
        let api = Api::new(cx)?;
        let kept = cx.state::<AttemptState>()?.unwrap_or_default();
        let found = locate(&api, kept, ask.provider_id.as_deref(), &ask.reference).await?;
        let Some(session) = found else {
            return Ok(not_found(&ask.reference));
        };
        if !session.is_open() {
            return Ok(session.outcome());
        }
        let path = format!("checkout/sessions/{}/expire", session.id);
        let key = format!("{}-expire", ask.reference);
        match api.submit(&path, &[], &key).await? {
            Submitted::Taken(response) => Ok(response.json::<Session>()?.outcome()),
            // Paid or expired in between, or the state is unknown: it is queried.
            Submitted::Ended(_) | Submitted::Duplicate => {
                Ok(sessions::show(&api, &session.id).await?.outcome())
            }
        }
    }

    async fn refund(&self, cx: &Context, ask: Refund) -> Result<Outcome, Fault> {
        let kept = cx.state::<AttemptState>()?.unwrap_or_default();
        refunds::make(&Api::new(cx)?, kept, &ask).await
    }

    async fn list(&self, cx: &Context, ask: List) -> Result<TransactionPage, Fault> {
        match ask.direction {
            Direction::Collect => list::page(&Api::new(cx)?, &ask).await,
            // Nothing is paid out through this gateway.
            Direction::Payout => Ok(TransactionPage::default()),
        }
    }

    async fn callback(&self, cx: &Context, news: Callback) -> Result<CallbackResult, Fault> {
        callback::read(&Api::new(cx)?, &news).await
    }
}

gateway!(Stripe);

/// Request to Stripe. The same attempt sends the same request, word for word: Stripe refuses
/// another one under its key.
fn form(
    ask: &Collect,
    card: &Card,
    amount: i64,
    return_url: &str,
    expires_at: i64,
) -> Vec<(String, String)> {
    let item = |name: &str| format!("line_items[0]{name}");
    let name = match ask.description.trim() {
        "" => "Payment",
        description => description,
    };
    let mut form = vec![
        ("mode".to_owned(), "payment".to_owned()),
        ("client_reference_id".into(), ask.reference.clone()),
        ("success_url".into(), return_url.to_owned()),
        ("cancel_url".into(), return_url.to_owned()),
        ("expires_at".into(), expires_at.to_string()),
        ("payment_method_types[0]".into(), "card".into()),
        // Otherwise the payer could be shown, and could pay, another currency than was asked for.
        ("adaptive_pricing[enabled]".into(), "false".into()),
        (item("[quantity]"), "1".into()),
        (
            item("[price_data][currency]"),
            card.currency.to_ascii_lowercase(),
        ),
        (item("[price_data][unit_amount]"), amount.to_string()),
        (
            item("[price_data][product_data][name]"),
            name.chars().take(NAME).collect(),
        ),
    ];
    for of in ["", "payment_intent_data"] {
        for (key, value) in [(REFERENCE, &ask.reference), (TRANSACTION, &ask.transaction)] {
            let name = match of {
                "" => format!("metadata[{key}]"),
                of => format!("{of}[metadata][{key}]"),
            };
            form.push((name, value.clone()));
        }
    }
    if let Some(email) = ask.payer.email.as_ref().filter(|email| !email.is_empty()) {
        form.push(("customer_email".into(), email.clone()));
    }
    form
}

/// The attempt's session, by its id where that is known. A session with another reference is of
/// another attempt: then the sessions are searched for ours. Once found, the id is kept.
async fn locate(
    api: &Api<'_>,
    mut kept: AttemptState,
    provider_id: Option<&str>,
    reference: &str,
) -> Result<Option<Session>, Fault> {
    let known = kept.session.as_deref().or(provider_id);
    if let Some(id) = known.filter(|id| id.starts_with("cs_")) {
        let session = sessions::show(api, id).await?;
        if session.reference().is_none_or(|own| own == reference) {
            return Ok(Some(session));
        }
    }
    let found = sessions::find(api, reference, kept.since).await?;
    if let Some(session) = &found {
        kept.session = Some(session.id.clone());
        keep(api, &kept)?;
    }
    Ok(found)
}

fn not_found(reference: &str) -> Outcome {
    Outcome::NotFound {
        why: format!("Stripe has no session with the reference {reference}"),
    }
}

fn keep(api: &Api<'_>, kept: &AttemptState) -> Result<(), Fault> {
    api.cx.set_state(kept)
}

/// Name of the account: the first of Stripe's names that is present.
fn name(account: &Value) -> Option<String> {
    let places = [
        "/settings/dashboard/display_name",
        "/business_profile/name",
        "/email",
        "/id",
    ];
    let named = places
        .iter()
        .filter_map(|place| account.pointer(place)?.as_str());
    named.map(str::to_owned).find(|name| !name.is_empty())
}

/// More of a description than anyone reads on a page, and less than Stripe refuses.
const NAME: usize = 250;
