//! Signatures: the service's own header, and those of Standard Webhooks.
//!
//! - `X-Service-Signature`, and every further header name of the settings: lower-case hexadecimal
//!   HMAC-SHA256 of the raw body. The key is the whole secret as the merchant sees it, including
//!   `whsec_`.
//! - `webhook-signature`: `v1,` and the base64 HMAC-SHA256 of
//!   `{webhook-id}.{webhook-timestamp}.{body}`. For a secret that begins with `whsec_`, the key is
//!   the base64-decoded rest, as in the libraries of Standard Webhooks. Any other secret is the key
//!   itself (their `raw` format).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use zeroize::Zeroizing;

use switchyard_core::time::Timestamp;

/// Header with the signature (docs/contract/webhooks.md).
pub const SERVICE_HEADER: &str = "x-service-signature";

/// Value of `X-Service-Signature`.
pub fn service_signature(secret: &str, body: &[u8]) -> String {
    base16ct::lower::encode_string(&hmac(secret.as_bytes(), &[body]))
}

/// Value of `webhook-signature`. `at` is the time in `webhook-timestamp`, in whole seconds.
pub fn standard_signature(secret: &str, id: &str, at: Timestamp, body: &[u8]) -> String {
    let key = standard_key(secret);
    let signed_before_body = format!("{id}.{}.", at.as_seconds());
    let mac = hmac(&key, &[signed_before_body.as_bytes(), body]);
    format!("v1,{}", BASE64.encode(mac))
}

fn standard_key(secret: &str) -> Zeroizing<Vec<u8>> {
    let decoded = secret
        .strip_prefix("whsec_")
        .and_then(|rest| BASE64.decode(rest).ok());
    Zeroizing::new(decoded.unwrap_or_else(|| secret.as_bytes().to_vec()))
}

fn hmac(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_service_signature_is_the_published_hmac_of_the_body() {
        // RFC 4231, test case 2.
        assert_eq!(
            service_signature("Jefe", b"what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
        // Computed with `openssl dgst -sha256 -hmac` over the same bytes.
        assert_eq!(
            service_signature("whsec_c2VjcmV0", "{\"a\":\"é\"}".as_bytes()),
            "175cc0f89c9a103f7af0cb3fc843d5f466695b253aa5f2a738eaff0bd1176bde"
        );
    }

    #[test]
    fn the_standard_signature_is_that_of_the_standard_webhooks_libraries() {
        // Example from the tests of the Standard Webhooks libraries.
        let signature = standard_signature(
            "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            Timestamp::from_seconds(1_614_265_330),
            b"{\"test\": 2432232314}",
        );
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn a_secret_without_the_prefix_is_the_key_itself_in_both_schemes() {
        let at = Timestamp::from_seconds(7);
        let expected = BASE64.encode(hmac(b"chosen-by-merchant", &[b"evt_1.7.{}"]));
        assert_eq!(
            standard_signature("chosen-by-merchant", "evt_1", at, b"{}"),
            format!("v1,{expected}")
        );
    }

    #[test]
    fn a_secret_that_only_looks_like_base64_still_signs() {
        let at = Timestamp::from_seconds(7);
        let signature = standard_signature("whsec_not base64!", "evt_1", at, b"{}");
        assert!(signature.starts_with("v1,"));
    }
}
