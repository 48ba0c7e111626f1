//! Stripe's signature of its callbacks: `Stripe-Signature: t=…,v1=…[,v1=…]`, each v1 an HMAC-SHA256
//! of `{t}.{body}` under a signing secret of the endpoint, in hexadecimal. While a secret is being
//! replaced there is one for the old and one for the new.

use ring::hmac;

/// Conclusion from a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// Stripe wrote it, within five minutes of now.
    Fresh,
    /// Stripe wrote it, and not now: it may be replayed.
    Stale,
    /// Anybody may have written it.
    Forged,
}

/// Compares in constant time.
pub fn prove(header: &str, body: &[u8], secret: &str, now: i64) -> Proof {
    let parts = || {
        header
            .split(',')
            .filter_map(|part| part.trim().split_once('='))
    };
    let Some((_, written)) = parts().find(|(name, _)| *name == "t") else {
        return Proof::Forged;
    };
    let Ok(signed_at) = written.parse::<i64>() else {
        return Proof::Forged;
    };
    let mut message = format!("{written}.").into_bytes();
    message.extend_from_slice(body);
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let is_ours = parts()
        .filter(|(name, _)| *name == "v1")
        .filter_map(|(_, hex)| base16ct::mixed::decode_vec(hex).ok())
        .any(|signature| hmac::verify(&key, &message, &signature).is_ok());
    if !is_ours {
        return Proof::Forged;
    }
    match now.checked_sub(signed_at) {
        Some(age) if age.abs() <= TOLERANCE_S => Proof::Fresh,
        _ => Proof::Stale,
    }
}

/// Tolerance of Stripe's own libraries.
const TOLERANCE_S: i64 = 300;
