//! A door for fuzzing. Behind the feature `fuzzing`.

use super::token;
use switchyard_system::secrets::Fingerprint;

/// Whether the text has the form of a key or an operator token of this service, checksum included.
pub fn is_token(text: &str) -> bool {
    let _ = Fingerprint::from_hex(text);
    token::parse(text, "switchyard").is_some()
}
