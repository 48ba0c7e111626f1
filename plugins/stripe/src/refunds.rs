//! Refunds: money back to the card that paid.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use switchyard_gateway::{Fault, Outcome, Refund as Ask};

use crate::api::{Api, Page, Submitted};
use crate::cards::{self, Card};
use crate::failures::StripeError;
use crate::sessions::{self, REFERENCE};
use crate::{AttemptState, keep};

/// State of a refund: it may be requested again long after Stripe has deleted the idempotency key.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct RefundState {
    payment_intent: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Refund {
    id: String,
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    amount: Option<i64>,
    #[serde(default)]
    currency: Option<String>,
    #[serde(default)]
    failure_reason: Option<String>,
    #[serde(default)]
    metadata: Option<BTreeMap<String, String>>,
}

impl Refund {
    fn is_of(&self, reference: &str) -> bool {
        let metadata = self.metadata.as_ref();
        metadata
            .and_then(|metadata| metadata.get(REFERENCE))
            .map(String::as_str)
            == Some(reference)
    }

    fn outcome(&self) -> Outcome {
        let outcome = match self.status.as_deref() {
            Some("succeeded") => {
                let named = match (self.amount, &self.currency) {
                    (Some(amount), Some(currency)) => cards::named(amount, currency),
                    _ => None,
                };
                named.map_or_else(
                    || {
                        Outcome::unknown(
                            "Stripe reports a refund and names no amount in a known currency",
                        )
                    },
                    Outcome::succeeded,
                )
            }
            Some("pending" | "requires_action") => Outcome::pending(),
            Some(status @ ("failed" | "canceled")) => {
                let code = self
                    .failure_reason
                    .clone()
                    .unwrap_or_else(|| status.to_owned());
                let message = Some(format!("The refund has {status}."));
                let error = StripeError {
                    code: Some(code),
                    message,
                    ..StripeError::default()
                };
                error.end()
            }
            status => Outcome::unknown(format!(
                "Stripe has the refund as `{}`, which this gateway does not know",
                status.unwrap_or_default()
            )),
        };
        outcome.with_provider_id(&self.id)
    }
}

/// A repeated refund returns the present state of the first one.
pub async fn make(api: &Api<'_>, kept: AttemptState, ask: &Ask) -> Result<Outcome, Fault> {
    let card = Card::of(&ask.method)?;
    let amount = card.amount(&ask.amount)?.to_string();
    let payment_intent = match &kept.refund {
        Some(refund) => {
            if let Some(found) = find(api, refund, &ask.reference).await? {
                return known(api, kept, found);
            }
            refund.payment_intent.clone()
        }
        None => payment_intent(api, ask.provider_id.as_deref()).await?,
    };
    let refund = RefundState {
        payment_intent,
        id: None,
    };
    let kept = AttemptState {
        refund: Some(refund.clone()),
        ..kept
    };
    keep(api, &kept)?;
    let metadata = format!("metadata[{REFERENCE}]");
    let form = [
        ("payment_intent", refund.payment_intent.as_str()),
        ("amount", &amount),
        ("reason", "requested_by_customer"),
        (&metadata, &ask.reference),
    ];
    match api.submit("refunds", &form, &ask.reference).await? {
        Submitted::Ended(outcome) => Ok(*outcome),
        Submitted::Taken(response) => known(api, kept, response.json()?),
        Submitted::Duplicate => Ok(match find(api, &refund, &ask.reference).await? {
            Some(found) => known(api, kept, found)?,
            None => Outcome::unknown(
                "Stripe has had another request under this reference and does not show a refund",
            ),
        }),
    }
}

/// Present state of a requested refund.
pub async fn ask(api: &Api<'_>, kept: AttemptState, reference: &str) -> Result<Outcome, Fault> {
    let refund = kept.refund.clone().unwrap_or_default();
    Ok(match find(api, &refund, reference).await? {
        Some(found) => known(api, kept, found)?,
        None => Outcome::NotFound {
            why: format!(
                "Stripe has no refund of {} under {reference}",
                refund.payment_intent
            ),
        },
    })
}

fn known(api: &Api<'_>, kept: AttemptState, found: Refund) -> Result<Outcome, Fault> {
    if let Some(refund) = kept.refund.clone() {
        let refund = RefundState {
            id: Some(found.id.clone()),
            ..refund
        };
        keep(
            api,
            &AttemptState {
                refund: Some(refund),
                ..kept
            },
        )?;
    }
    Ok(found.outcome())
}

async fn find(api: &Api<'_>, kept: &RefundState, reference: &str) -> Result<Option<Refund>, Fault> {
    if let Some(id) = &kept.id {
        return match api.read::<Refund>(&format!("refunds/{id}")).await? {
            Some(refund) if refund.is_of(reference) => Ok(Some(refund)),
            _ => Err(Fault::provider(format!(
                "Stripe does not know the refund {id}, which it made: is the key another account's?"
            ))),
        };
    }
    let mut after = String::new();
    for _ in 0..PAGES {
        let of = &kept.payment_intent;
        let path = format!("refunds?limit=100&payment_intent={of}{after}");
        let page: Option<Page<Refund>> = api.read(&path).await?;
        let page = page.ok_or_else(|| Fault::provider("Stripe does not know the payment"))?;
        let last = page.data.last().map(|refund| refund.id.clone());
        let found = page.data.into_iter().find(|refund| refund.is_of(reference));
        match (found, last) {
            (Some(refund), _) => return Ok(Some(refund)),
            (None, Some(last)) if page.has_more => after = format!("&starting_after={last}"),
            _ => return Ok(None),
        }
    }
    Err(Fault::provider(
        "the payment has too many refunds to look through",
    ))
}

/// The payment to take from: the attempt has its session's id.
async fn payment_intent(api: &Api<'_>, provider_id: Option<&str>) -> Result<String, Fault> {
    let Some(id) = provider_id else {
        return Err(Fault::config(
            "the payment has no session id of Stripe's, so it cannot be refunded from here",
        ));
    };
    if id.starts_with("pi_") {
        return Ok(id.to_owned());
    }
    let session = sessions::show(api, id).await?;
    session.payment_intent().map(str::to_owned).ok_or_else(|| {
        Fault::config(format!(
            "the session {id} was never paid: there is nothing to refund"
        ))
    })
}

const PAGES: usize = 4;
