//! Stripe's callbacks, which it calls events.

use serde::Deserialize;
use serde_json::Value;
use switchyard_gateway::{Callback, CallbackResult, Fault, LogLevel};

use crate::api::Api;
use crate::sessions::{PaymentIntent, Session};
use crate::signature::{self, Proof};

#[derive(Deserialize)]
struct Event {
    #[serde(rename = "type")]
    kind: String,
    data: Data,
}

#[derive(Deserialize)]
struct Data {
    object: Value,
}

/// Trusted with its outcome when Stripe signed it just now. Signed long ago, or not verifiable for
/// lack of a secret: a hint to ask.
pub async fn read(api: &Api<'_>, news: &Callback) -> Result<CallbackResult, Fault> {
    let body = news.body.bytes()?;
    let is_trusted = match proof(api, news, &body) {
        Some(Proof::Forged) => {
            return Ok(CallbackResult::refused(
                "the signature is not Stripe's for this endpoint",
            ));
        }
        Some(Proof::Fresh) => true,
        Some(Proof::Stale) => {
            let line =
                "a callback was signed more than five minutes ago or ahead, so Stripe is asked";
            api.cx.log(LogLevel::Warn, line);
            false
        }
        None => false,
    };
    let Ok(event) = serde_json::from_slice::<Event>(&body) else {
        return Ok(CallbackResult::refused("this is no event of Stripe"));
    };
    match event.kind.as_str() {
        "checkout.session.completed"
        | "checkout.session.async_payment_succeeded"
        | "checkout.session.async_payment_failed"
        | "checkout.session.expired" => about_session(api, event, is_trusted).await,
        // A payment that is through before its session is: the session says the rest.
        "payment_intent.succeeded" => Ok(about_payment(event, is_trusted)),
        // An attempt that failed is not the end, and the rest is no payment of ours.
        _ => Ok(otherwise(is_trusted)),
    }
}

/// `None`: there is no secret to prove it with.
fn proof(api: &Api<'_>, news: &Callback, body: &[u8]) -> Option<Proof> {
    let secret = api.config.webhook_secret.as_str();
    if secret.is_empty() {
        return None;
    }
    let header = news.header("stripe-signature").unwrap_or_default();
    let now = api.cx.now().unix_seconds();
    Some(signature::prove(header, body, secret, now))
}

async fn about_session(
    api: &Api<'_>,
    event: Event,
    is_trusted: bool,
) -> Result<CallbackResult, Fault> {
    let Ok(session) = serde_json::from_value::<Session>(event.data.object) else {
        return Err(Fault::provider(format!(
            "`{}` has no session that can be read",
            event.kind
        )));
    };
    let Some(reference) = session.reference().map(str::to_owned) else {
        return Ok(otherwise(is_trusted));
    };
    let id = session.id.clone();
    let result = if is_trusted {
        let has_failed =
            event.kind == "checkout.session.async_payment_failed" && session.is_unpaid();
        CallbackResult::trusted(if has_failed || session.has_expired() {
            session.failure(api).await
        } else {
            session.outcome()
        })
    } else {
        CallbackResult::hint()
    };
    Ok(result.about(reference).about_provider_id(id))
}

fn about_payment(event: Event, is_trusted: bool) -> CallbackResult {
    let intent = serde_json::from_value::<PaymentIntent>(event.data.object);
    let reference = intent
        .ok()
        .and_then(|intent| intent.reference().map(str::to_owned));
    match reference {
        Some(reference) => CallbackResult::hint().about(reference),
        None => otherwise(is_trusted),
    }
}

fn otherwise(is_trusted: bool) -> CallbackResult {
    if is_trusted {
        CallbackResult::nothing()
    } else {
        CallbackResult::hint()
    }
}
