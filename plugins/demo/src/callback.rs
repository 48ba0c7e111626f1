//! Callback of the test gateway's provider: JSON, and
//! `x-demo-signature: <HMAC-SHA256 of the body in hexadecimal>`.

use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::Deserialize;
use sha2::Sha256;
use switchyard_gateway::{Amount, Callback, CallbackResult, DeclineReason, Fault, Outcome};

/// The connection's configuration.
#[derive(Default, Deserialize)]
pub struct Config {
    callback_secret: Option<String>,
}

/// The body of a callback.
#[derive(Deserialize)]
pub struct CallbackBody {
    /// Our reference, or the provider's id, or both.
    reference: Option<String>,
    id: Option<String>,
    /// `success`, `failed`, `pending`, or `test` of a callback about nothing.
    status: String,
    /// In the currency's smallest unit.
    amount: Option<i64>,
    currency: Option<String>,
}

/// Without a secret a callback proves nothing, and is a hint.
pub fn read(config: &Config, callback: &Callback) -> Result<CallbackResult, Fault> {
    let body = callback.body.bytes()?;
    let is_signed = match &config.callback_secret {
        None => false,
        Some(secret) => {
            let signature = callback
                .header("x-demo-signature")
                .and_then(|hex| base16ct::mixed::decode_vec(hex).ok());
            // HMAC takes a key of any length.
            let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.as_bytes()) else {
                return Err(Fault::config("the callback secret cannot be used"));
            };
            mac.update(&body);
            if signature.is_none_or(|signature| mac.verify_slice(&signature).is_err()) {
                return Ok(CallbackResult::refused("the signature does not fit"));
            }
            true
        }
    };
    let Ok(news) = serde_json::from_slice::<CallbackBody>(&body) else {
        return Ok(CallbackResult::refused(
            "this is no news of the test gateway",
        ));
    };
    Ok(match (outcome(&news), is_signed) {
        (Some(outcome), true) => CallbackResult {
            reference: news.reference,
            provider_id: news.id,
            ..CallbackResult::trusted(outcome)
        },
        (None, true) => CallbackResult::nothing(),
        (_, false) => CallbackResult {
            reference: news.reference,
            provider_id: news.id,
            ..CallbackResult::hint()
        },
    })
}

fn outcome(news: &CallbackBody) -> Option<Outcome> {
    let outcome = match news.status.as_str() {
        "success" => Outcome::Succeeded {
            provider_id: None,
            amount: match (news.amount, &news.currency) {
                (Some(minor), Some(currency)) => Some(Amount::minor(minor, currency)),
                _ => None,
            },
            fees: None,
            provider_status: Some("success".into()),
        },
        "failed" => Outcome::declined(
            DeclineReason::PayerDeclined,
            "The payer declined, as the callback says.",
        ),
        "pending" => Outcome::pending(),
        _ => return None,
    };
    Some(match &news.id {
        Some(id) => outcome.with_provider_id(id),
        None => outcome,
    })
}

#[cfg(test)]
mod tests {
    use switchyard_gateway::wire::Body;

    use super::*;

    fn callback(signature: Option<&str>) -> Callback {
        let body = r#"{"reference":"r","status":"success","amount":200,"currency":"XOF"}"#;
        Callback {
            method: "POST".into(),
            path: "/".into(),
            query: String::new(),
            url: None,
            headers: signature
                .map(|signature| ("X-Demo-Signature".to_owned(), signature.to_owned()))
                .into_iter()
                .collect(),
            body: Body::Text(body.into()),
        }
    }

    #[test]
    fn only_what_is_signed_is_trusted_and_what_is_signed_wrongly_is_refused() {
        let secret = Config {
            callback_secret: Some("k".into()),
        };
        // Computed with `openssl dgst -sha256 -hmac k`.
        let right = "adf92aca6873b39f339c9731f6f227404dc1b100d2a743eafa22b335f42a6e77";
        let result = read(&secret, &callback(Some(right))).unwrap();
        assert!(result.trusted && result.refused.is_none(), "{result:?}");
        assert_eq!(result.reference.as_deref(), Some("r"));
        for wrong in [None, Some("00"), Some("zz"), Some(&right[2..])] {
            let result = read(&secret, &callback(wrong)).unwrap();
            assert!(result.refused.is_some() && !result.trusted, "{wrong:?}");
        }
        let hint = read(&Config::default(), &callback(Some(right))).unwrap();
        assert!(!hint.trusted && hint.refused.is_none() && hint.outcome.is_none());
    }
}
