//! Second factor: time-based one-time passwords (RFC 6238) and recovery codes.
//!
//! Codes have 6 digits, a period of 30 s and HMAC-SHA-1, which all authenticator apps support (the
//! weakness of SHA-1 against collisions does not concern HMAC). The period before and the one after
//! the current one are accepted. Each period is accepted once: its number is stored with the user.

use ring::hmac;
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq as _;
use switchyard_core::limits::RECOVERY_CODES;
use switchyard_core::secret::Secret;
use switchyard_core::time::Timestamp;
use switchyard_system::ids::Ids;

use switchyard_system::secrets::Fingerprint;

/// Stored second factor of a user.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct StoredTotp {
    /// Encrypted secret, see [`crate::Sealer`].
    pub sealed: String,
    /// Last period whose code was accepted.
    pub last_period: u64,
    /// Hashes of the unused recovery codes.
    pub recovery: Vec<Fingerprint>,
}

/// Secret of a new authenticator, shown once. It takes effect when a code of it was confirmed.
#[derive(Debug)]
pub struct TotpSetup {
    /// Secret in base32, to type.
    pub secret: Secret<String>,
    /// `otpauth://` address, to show as a QR code.
    pub uri: Secret<String>,
}

/// Recovery codes of a user, shown once.
#[derive(Debug)]
pub struct RecoveryCodes(pub Vec<Secret<String>>);

pub(crate) fn new_secret(ids: &Ids) -> Secret<Vec<u8>> {
    let mut bytes = vec![0; SECRET_BYTES];
    ids.fill(&mut bytes);
    Secret::new(bytes)
}

impl TotpSetup {
    pub(crate) fn new(secret: &[u8], issuer: &str, email: &str) -> Self {
        let text = base32(secret, RFC_4648);
        let mut uri = String::from("otpauth://totp/");
        // A label has a colon between issuer and account, both percent-encoded.
        uri.push_str(&percent_encoded(issuer));
        uri.push(':');
        uri.push_str(&percent_encoded(email));
        uri.push_str(&format!(
            "?secret={text}&issuer={}&algorithm=SHA1&digits=6&period=30",
            percent_encoded(issuer)
        ));
        Self {
            secret: Secret::new(text),
            uri: Secret::new(uri),
        }
    }
}

/// Period of the code that is valid now, if it is `code` and its period is later than
/// `last_period`. A last period in the future is ignored: the machine's clock was wrong when its
/// code was used.
pub(crate) fn accepted_period(
    secret: &[u8],
    code: &str,
    now: Timestamp,
    last_period: u64,
) -> Option<u64> {
    let current = u64::try_from(now.as_seconds()).unwrap_or(0) / PERIOD;
    let periods = current.saturating_sub(1)..=current + 1;
    // All three are compared, so that the time tells nothing.
    let matches = periods.filter(|period| {
        let expected = code_of(secret, *period);
        bool::from(expected.as_bytes().ct_eq(code.as_bytes()))
    });
    let matches: Vec<_> = matches.collect();
    let used = Some(last_period).filter(|last| *last <= current + 1);
    matches.into_iter().find(|period| Some(*period) > used)
}

/// Code without the spaces that authenticator apps show. `None`: it is not a code of 6 digits.
pub(crate) fn digits(text: &str) -> Option<String> {
    let code: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let is_code = code.len() == DIGITS && code.bytes().all(|byte| byte.is_ascii_digit());
    is_code.then_some(code)
}

pub(crate) fn code_of(secret: &[u8], period: u64) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, secret);
    let tag = hmac::sign(&key, &period.to_be_bytes());
    let bytes = tag.as_ref();
    let offset = usize::from(bytes.last().map_or(0, |byte| byte & 15));
    let word = bytes[offset..].first_chunk().copied().unwrap_or_default();
    let number = u32::from_be_bytes(word) & 0x7fff_ffff;
    format!("{:06}", number % 1_000_000)
}

/// New recovery codes: six groups of four characters, 120 random bits each, and their hashes.
pub(crate) fn new_recovery_codes(ids: &Ids) -> (RecoveryCodes, Vec<Fingerprint>) {
    let codes = (0..RECOVERY_CODES).map(|_| {
        let mut bytes = [0; RECOVERY_BYTES];
        ids.fill(&mut bytes);
        let text = base32(&bytes, CROCKFORD);
        let groups: Vec<_> = text
            .as_bytes()
            .chunks(4)
            .map(String::from_utf8_lossy)
            .collect();
        Secret::new(groups.join("-"))
    });
    let codes: Vec<_> = codes.collect();
    let hashes = codes.iter().map(|code| recovery_hash(code.expose()));
    let hashes = hashes.collect();
    (RecoveryCodes(codes), hashes)
}

/// Hash of a recovery code as a person types it: letters of any case, with or without hyphens.
pub(crate) fn recovery_hash(text: &str) -> Fingerprint {
    let code: String = text
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|c| c.to_ascii_lowercase())
        .collect();
    Fingerprint::of(code)
}

/// Bytes in base32 without padding.
fn base32(bytes: &[u8], alphabet: &[u8; 32]) -> String {
    let mut text = String::with_capacity((bytes.len() * 8).div_ceil(5));
    let (mut bits, mut count) = (0_u32, 0);
    for byte in bytes {
        bits = bits << 8 | u32::from(*byte);
        count += 8;
        while count >= 5 {
            count -= 5;
            text.push(char::from(alphabet[(bits >> count) as usize & 31]));
        }
    }
    if count > 0 {
        text.push(char::from(alphabet[(bits << (5 - count)) as usize & 31]));
    }
    text
}

/// Text of an URI component: spaces as `%20`, which all authenticator apps read.
fn percent_encoded(text: &str) -> String {
    let encoded: String = url::form_urlencoded::byte_serialize(text.as_bytes()).collect();
    encoded.replace('+', "%20")
}

const RFC_4648: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
/// Without letters that look like others.
const CROCKFORD: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// 160 bits, as RFC 4226 recommends.
const SECRET_BYTES: usize = 20;
/// 120 bits: more than the 112 from which a plain hash is enough (ASVS 6.5.2).
const RECOVERY_BYTES: usize = 15;
const PERIOD: u64 = 30;
const DIGITS: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;
    use url::Url;

    const SECRET: &[u8] = b"12345678901234567890";

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_seconds(seconds)
    }

    /// RFC 6238, appendix B, the last 6 of 8 digits.
    #[test]
    fn codes_are_those_of_the_rfc() {
        for (seconds, code) in [
            (59, "287082"),
            (1_111_111_109, "081804"),
            (1_111_111_111, "050471"),
            (1_234_567_890, "005924"),
            (2_000_000_000, "279037"),
            (20_000_000_000, "353130"),
        ] {
            let period = u64::try_from(seconds).unwrap() / PERIOD;
            assert_eq!(code_of(SECRET, period), code);
            let accepted = accepted_period(SECRET, code, at(seconds), 0);
            assert_eq!(accepted, Some(period), "{seconds}");
        }
    }

    #[test]
    fn a_code_is_accepted_one_period_early_and_late_and_no_more() {
        let code = code_of(SECRET, 100);
        for (seconds, expected) in [
            (2_969, None),
            (2_970, Some(100)),
            (3_000, Some(100)),
            (3_059, Some(100)),
            (3_060, None),
        ] {
            let accepted = accepted_period(SECRET, &code, at(seconds), 0);
            assert_eq!(accepted, expected, "{seconds}");
        }
    }

    #[test]
    fn a_period_is_accepted_once() {
        let code = code_of(SECRET, 100);
        assert_eq!(accepted_period(SECRET, &code, at(3_000), 99), Some(100));
        assert_eq!(accepted_period(SECRET, &code, at(3_000), 100), None);
        assert_eq!(accepted_period(SECRET, "", at(3_000), 0), None);
        // The machine's clock was a day ahead when a code was used, and was set right.
        assert_eq!(accepted_period(SECRET, &code, at(3_000), 2_980), Some(100));
    }

    #[test]
    fn a_code_may_be_typed_with_spaces() {
        assert_eq!(digits("123 456").as_deref(), Some("123456"));
        assert_eq!(digits(" 005924\n").as_deref(), Some("005924"));
        for other in ["12345", "1234567", "12345a", "١٢٣٤٥٦", ""] {
            assert_eq!(digits(other), None, "{other}");
        }
    }

    #[test]
    fn the_address_names_issuer_and_user_and_no_byte_is_left_unescaped() {
        let setup = TotpSetup::new(SECRET, "Pay & Co", "ada+x@example.com");
        assert_eq!(
            setup.uri.expose(),
            "otpauth://totp/Pay%20%26%20Co:ada%2Bx%40example.com\
             ?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Pay%20%26%20Co\
             &algorithm=SHA1&digits=6&period=30"
        );
        let parsed = Url::parse(setup.uri.expose()).unwrap();
        assert_eq!(parsed.scheme(), "otpauth");
        assert!(!format!("{setup:?}").contains("GEZD"));
    }

    #[test]
    fn base32_is_that_of_rfc_4648() {
        for (bytes, text) in [
            ("", ""),
            ("f", "MY"),
            ("fo", "MZXQ"),
            ("foo", "MZXW6"),
            ("foob", "MZXW6YQ"),
            ("fooba", "MZXW6YTB"),
        ] {
            assert_eq!(base32(bytes.as_bytes(), RFC_4648), text);
        }
    }

    #[test]
    fn recovery_codes_are_ten_different_ones_of_120_bits() {
        let (codes, hashes) = new_recovery_codes(&Ids::seeded(5));
        assert_eq!((codes.0.len(), hashes.len()), (10, 10));
        for (code, hash) in codes.0.iter().zip(&hashes) {
            let code = code.expose();
            assert_eq!(code.len(), 6 * 4 + 5, "{code}");
            assert_eq!(recovery_hash(&code.to_uppercase()), *hash);
            assert_eq!(recovery_hash(&code.replace('-', " ")), *hash);
        }
        let mut sorted = hashes.clone();
        sorted.sort();
        sorted.dedup();
        assert_eq!(sorted.len(), 10);
    }
}
