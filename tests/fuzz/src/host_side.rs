//! Input of a gateway, its file or its process, on the engine's side.

use serde_json::Value;
use switchyard_core::ids::TransactionId;
use switchyard_core::limits::GATEWAY_FRAME_BYTES;
use switchyard_core::transaction::{Captured, Outcome, PayerAction};
use switchyard_gateway::wire::{Failed, HttpRequest, Pending, Ready};
use switchyard_gateway::{CallbackResult, ConfigCheck, Outcome as WireOutcome};
use switchyard_gateway_host::fuzzing;

/// A file that is to become a gateway.
pub fn file(bytes: &[u8]) {
    match fuzzing::file(bytes) {
        Ok((manifest, imports)) => {
            assert!(!manifest.name.is_empty() && !manifest.methods.is_empty());
            assert!(imports.is_sorted());
        }
        Err(refusal) => {
            let shown = refusal.len();
            assert!(shown < 4_096, "a refusal of {shown} bytes");
        }
    }
}

/// The manifest in it.
pub fn manifest(bytes: &[u8]) {
    match fuzzing::manifest(bytes) {
        Ok(manifest) => {
            let secret = manifest.secret_fields().len();
            let text = serde_json::to_vec(&manifest).expect("a manifest can be written");
            let again = fuzzing::manifest(&text).expect("and read again");
            assert_eq!(again.secret_fields().len(), secret);
            assert_eq!(serde_json::to_vec(&again).ok(), Some(text));
        }
        Err(error) => {
            let shown = error.to_string().len();
            assert!(shown < 4_096, "a refusal of {shown} bytes");
        }
    }
}

/// Result of a step of a call: reported money is positive, or it is rejected.
pub fn message(bytes: &[u8]) {
    if let Ok(pending) = serde_json::from_slice::<Pending>(bytes) {
        same(&pending);
    }
    if let Ok(failed) = serde_json::from_slice::<Failed>(bytes) {
        same(&failed);
    }
    if let Ok(check) = serde_json::from_slice::<Ready<ConfigCheck>>(bytes) {
        same(&check);
    }
    if let Ok(callback) = serde_json::from_slice::<Ready<CallbackResult>>(bytes) {
        same(&callback);
        if let Some(outcome) = callback.outcome.outcome {
            money(outcome);
        }
    }
    if let Ok(ready) = serde_json::from_slice::<Ready<WireOutcome>>(bytes) {
        same(&ready);
        money(ready.outcome);
    }
    if let Ok(request) = serde_json::from_slice::<HttpRequest>(bytes) {
        let _ = request.can_mutate();
        same(&request);
    }
}

/// Translates an outcome as the engine would, and holds the money rule against it.
pub fn money(said: WireOutcome) {
    let transaction: TransactionId = "py_01jd4v3z6q8k9m2n5p7r1s3t4v".parse().expect("an id");
    let is_success = matches!(said, WireOutcome::Succeeded { .. });
    match fuzzing::translate(said, transaction) {
        Outcome::Succeeded { amount, fees, .. } => {
            assert!(is_success, "success is never made of something else");
            if let Captured::Named(amount) = amount {
                assert!(amount.minor() > 0, "{amount:?}");
            }
            assert!(fees.is_none_or(|fees| fees.minor() >= 0));
        }
        Outcome::Declined(_) => assert!(!is_success, "success is never a decline"),
        Outcome::Pending {
            payer_action: Some(PayerAction::Redirect { url }),
            ..
        } => {
            let scheme = url
                .split(':')
                .next()
                .unwrap_or_default()
                .to_ascii_lowercase();
            assert_eq!(scheme.trim(), "https", "{url}");
        }
        _ => {}
    }
}

/// Output of a worker's pipe: a frame that is read is written the same again, and needs no more
/// memory than its bytes.
pub fn frames(bytes: &[u8]) {
    let (again, room) = fuzzing::frames(bytes);
    assert!(
        bytes.starts_with(&again),
        "frames are written as they were read"
    );
    let most = 2 * bytes.len() + 64 * 1024 + bytes.len() / 9 * 64;
    assert!(
        room <= most.min(GATEWAY_FRAME_BYTES + 2 * bytes.len() + 64 * 1024),
        "{room} bytes of room"
    );
}

/// First byte: how long the secret is. Whatever a provider writes around it, the secret is shown
/// nowhere.
pub fn redactor(bytes: &[u8]) {
    let Some((length, rest)) = bytes.split_first() else {
        return;
    };
    let Ok(text) = std::str::from_utf8(rest) else {
        return;
    };
    let length = 8 + usize::from(*length % 32);
    let Some((secret, _)) = text.split_at_checked(length) else {
        return;
    };
    // Keys from providers: a secret of quotes and brackets would also occur in the JSON around it.
    let is_secret = secret
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"-_./+".contains(&byte));
    if !is_secret {
        return;
    }
    for shown in fuzzing::redacted(secret, text) {
        // As JSON, a control character ends in a digit that may stand before the rest of what looks
        // like the secret.
        let read = match serde_json::from_str(&shown) {
            Ok(Value::String(text)) => text,
            _ => shown,
        };
        assert!(!read.contains(secret), "{read:?} shows {secret:?}");
    }
}

fn same<T>(message: &T)
where
    T: serde::Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug,
{
    let written = serde_json::to_vec(message).expect("a message can be written");
    let again: T = serde_json::from_slice(&written).expect("and read again");
    assert_eq!(*message, again);
}
