//! Flutterwave's callbacks. Their content proves their sender once, and not the present state: the
//! secret hash is a constant, and the newer signature has no time in it. So a callback is never
//! more than a hint to query.

use ring::hmac;
use serde::Deserialize;
use serde_json::Value;
use switchyard_gateway::{Callback, CallbackResult, Fault, LogLevel};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use crate::api::Api;

/// Body of a callback.
#[derive(Deserialize)]
struct CallbackBody {
    #[serde(default)]
    event: String,
    #[serde(default)]
    data: Value,
}

/// A hint when it carries the connection's secret hash, or a signature made with it; refused when
/// it does not. Without a secret hash in the configuration everything is a hint: asking is always
/// right.
pub fn read(api: &Api<'_>, callback: &Callback) -> Result<CallbackResult, Fault> {
    let body = callback.body.bytes()?;
    let secret = api.config.secret_hash.as_str();
    let is_authentic = !secret.is_empty();
    if !is_authentic {
        let line =
            "callbacks are not authenticated: enter the secret hash of Flutterwave's dashboard";
        api.cx.log(LogLevel::Warn, line);
    } else if let Err(why) = authenticate(secret, callback, &body) {
        return Ok(CallbackResult::refused(why));
    }
    let Ok(callback) = serde_json::from_slice::<CallbackBody>(&body) else {
        return Err(Fault::provider(
            "a callback that is no callback of Flutterwave",
        ));
    };
    let name = match callback.event.as_str() {
        "charge.completed" => "tx_ref",
        "transfer.completed" => "reference",
        // The dashboard's own test, and events that are about no attempt.
        _ if is_authentic => return Ok(CallbackResult::nothing()),
        _ => return Ok(CallbackResult::hint()),
    };
    match callback.data.get(name).and_then(Value::as_str) {
        Some(reference) => Ok(CallbackResult::hint().about(reference)),
        None => Err(Fault::provider("a callback without a reference of ours")),
    }
}

/// The signature counts before the constant when there are both. Either is compared in a time that
/// tells nothing.
fn authenticate(secret: &str, callback: &Callback, body: &[u8]) -> Result<(), &'static str> {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    if let Some(signature) = callback.header("flutterwave-signature") {
        let signature = BASE64.decode(signature.trim()).unwrap_or_default();
        return hmac::verify(&key, body, &signature).map_err(|_| "the signature does not fit");
    }
    let Some(given) = callback.header("verif-hash") else {
        return Err("it carries no secret hash");
    };
    let wanted = hmac::sign(&key, secret.as_bytes());
    hmac::verify(&key, given.as_bytes(), wanted.as_ref())
        .map_err(|_| "its secret hash is another one")
}
