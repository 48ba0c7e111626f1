//! Checkout sessions: a payment on Stripe's page.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use switchyard_gateway::{
    Amount, Fault, ListedState, ListedTransaction, Moment, Outcome, PayerAction,
};

use crate::api::{Api, Page};
use crate::cards;
use crate::failures::{self, StripeError};

/// Ours in the metadata of sessions, payments and refunds. What does not have it is none of ours:
/// an account has other uses.
pub const REFERENCE: &str = "switchyard_reference";
pub const TRANSACTION: &str = "switchyard_transaction";

#[derive(Debug, Deserialize)]
pub struct Session {
    pub id: String,
    #[serde(default)]
    url: Option<String>,
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    payment_status: String,
    /// In seconds since 1970.
    #[serde(default)]
    created: Option<i64>,
    #[serde(default)]
    amount_total: Option<i64>,
    #[serde(default)]
    currency: Option<String>,
    #[serde(default)]
    metadata: Option<BTreeMap<String, String>>,
    #[serde(default)]
    payment_intent: Option<Intent>,
}

/// The payment behind a session: by its id, or whole where that was asked for.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Intent {
    Id(String),
    Whole(PaymentIntent),
}

#[derive(Debug, Deserialize)]
pub struct PaymentIntent {
    id: String,
    #[serde(default)]
    status: String,
    #[serde(default)]
    last_payment_error: Option<StripeError>,
    #[serde(default)]
    metadata: Option<BTreeMap<String, String>>,
}

impl PaymentIntent {
    pub fn reference(&self) -> Option<&str> {
        self.metadata.as_ref()?.get(REFERENCE).map(String::as_str)
    }
}

impl Session {
    /// Our reference, when it is ours.
    pub fn reference(&self) -> Option<&str> {
        self.metadata.as_ref()?.get(REFERENCE).map(String::as_str)
    }

    /// The id of the payment; there is none before the payer has tried.
    pub fn payment_intent(&self) -> Option<&str> {
        match self.payment_intent.as_ref()? {
            Intent::Id(id) => Some(id),
            Intent::Whole(intent) => Some(&intent.id),
        }
    }

    /// Outcome of the session. A refused card leaves the session open, because the payer may take
    /// another: only the end of the session is an end. A word that Stripe adds later is unknown.
    pub fn outcome(&self) -> Outcome {
        let outcome = match (self.status.as_deref(), self.payment_status.as_str()) {
            (_, "paid") => self.paid(),
            (Some("open"), "unpaid") => self.open(),
            // The money comes later, if it comes: `async_payment_succeeded` or `…_failed` says.
            (Some("complete"), "unpaid") => match &self.payment_intent {
                Some(Intent::Whole(intent)) if intent.has_failed() => self.failed(),
                _ => Outcome::Pending {
                    provider_id: None,
                    payer_action: None,
                    poll_after: Some(SLOW_POLL_S),
                    received: None,
                },
            },
            (Some("expired"), _) => self.failed(),
            (status, payment) => Outcome::unknown(format!(
                "Stripe has the session as `{}` and the payment as `{payment}`, which this gateway does not expect",
                status.unwrap_or_default()
            )),
        };
        outcome.with_provider_id(&self.id)
    }

    /// The session in a list; `None` when it is none of ours.
    pub fn listed(&self) -> Result<Option<ListedTransaction>, Fault> {
        let Some(reference) = self.reference() else {
            return Ok(None);
        };
        let created = self.created;
        let created = created.ok_or_else(|| Fault::provider("Stripe has a session of no time"))?;
        Ok(Some(ListedTransaction {
            reference: Some(reference.to_owned()),
            provider_id: Some(self.id.clone()),
            amount: self.amount(),
            created_at: Moment::from_unix_seconds(created)?.to_string(),
            state: match self.payment_status.as_str() {
                "paid" => ListedState::Succeeded,
                _ => ListedState::from(&self.outcome()),
            },
        }))
    }

    fn amount(&self) -> Option<Amount> {
        cards::named(self.amount_total?, self.currency.as_ref()?)
    }

    fn paid(&self) -> Outcome {
        match self.amount() {
            Some(amount) => Outcome::Succeeded {
                provider_id: None,
                amount: Some(amount),
                fees: None,
                provider_status: Some(self.payment_status.clone()),
            },
            None => {
                Outcome::unknown("Stripe reports success and names no amount in a known currency")
            }
        }
    }

    fn open(&self) -> Outcome {
        match &self.url {
            Some(url) => Outcome::awaiting(PayerAction::Redirect { url: url.clone() }),
            None => Outcome::pending(),
        }
    }

    /// The last refusal is more precise than "unpaid".
    fn failed(&self) -> Outcome {
        match &self.payment_intent {
            Some(Intent::Whole(PaymentIntent {
                last_payment_error: Some(error),
                ..
            })) => error.end(),
            _ => failures::expired(),
        }
    }

    /// Outcome of a session that ended without money: with the reason of the last refusal, if there
    /// is one.
    pub async fn failure(mut self, api: &Api<'_>) -> Outcome {
        if let Some(Intent::Id(id)) = &self.payment_intent {
            let path = format!("payment_intents/{id}");
            let found = api.read_within::<PaymentIntent>(&path, LOOK_UP).await;
            if let Ok(Some(intent)) = found {
                self.payment_intent = Some(Intent::Whole(intent));
            }
        }
        self.failed().with_provider_id(&self.id)
    }

    pub fn is_open(&self) -> bool {
        self.status.as_deref() == Some("open")
    }

    pub fn has_expired(&self) -> bool {
        self.status.as_deref() == Some("expired") && self.payment_status != "paid"
    }

    pub fn is_unpaid(&self) -> bool {
        self.payment_status == "unpaid"
    }
}

impl PaymentIntent {
    /// No attempt is in progress. After a complete session none can follow, either.
    fn has_failed(&self) -> bool {
        matches!(self.status.as_str(), "requires_payment_method" | "canceled")
    }
}

/// By Stripe's id.
pub async fn show(api: &Api<'_>, id: &str) -> Result<Session, Fault> {
    let path = format!("checkout/sessions/{id}?expand%5B%5D=payment_intent");
    match api.read::<Session>(&path).await? {
        Some(session) if session.id == id => Ok(session),
        Some(_) => Err(Fault::provider(
            "Stripe answers with another session than the one that was asked about",
        )),
        // It was made. Another account's key, most likely: nothing that says whether it was paid.
        None => Err(Fault::provider(format!(
            "Stripe does not know the session {id}, which it made: is the key another account's?"
        ))),
    }
}

/// By our reference, which Stripe cannot search for: all sessions from about the time of the
/// request are looked through, the newest first. `since` is when the request left; without it,
/// everything that can still be paid is looked through.
pub async fn find(
    api: &Api<'_>,
    reference: &str,
    since: Option<i64>,
) -> Result<Option<Session>, Fault> {
    let now = api.cx.now().unix_seconds();
    let (from, to) = match since {
        Some(since) => (since - CLOCKS_S, since + CLOCKS_S),
        None => (now - LONGEST_SESSION_S - CLOCKS_S, now + CLOCKS_S),
    };
    let mut after = String::new();
    for _ in 0..PAGES {
        let path = format!(
            "checkout/sessions?limit=100&created%5Bgte%5D={from}&created%5Blte%5D={to}\
             &expand%5B%5D=data.payment_intent{after}"
        );
        let page: Option<Page<Session>> = api.read(&path).await?;
        let page = page.ok_or_else(|| Fault::provider("Stripe has no list of sessions"))?;
        let last = page.data.last().map(|session| session.id.clone());
        let found = page
            .data
            .into_iter()
            .find(|session| session.reference() == Some(reference));
        match (found, last) {
            (Some(session), _) => return Ok(Some(session)),
            (None, Some(last)) if page.has_more => after = format!("&starting_after={last}"),
            _ => return Ok(None),
        }
    }
    Err(Fault::provider(format!(
        "Stripe has more than {} sessions of that time, too many to look through: find {reference} in its dashboard",
        PAGES * 100
    )))
}

const SLOW_POLL_S: u32 = 300;
/// Timeout of optional lookups behind a callback: they must not delay it.
const LOOK_UP: Duration = Duration::from_secs(5);
/// Permitted difference between the engine's clock and Stripe's, with a request's own time.
const CLOCKS_S: i64 = 900;
const LONGEST_SESSION_S: i64 = 24 * 60 * 60;
/// A call may do sixteen things.
const PAGES: usize = 12;
