//! Entry point for fuzzing, behind the feature `fuzzing`.

use super::queued_mail;

pub(crate) fn due(key: &[u8], value: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let at = queued_mail::due(key)?;
    let range = queued_mail::range(at);
    assert_eq!(Some(range.from()), key.get(..9), "when it is due");
    Some((key.to_owned(), value.to_owned()))
}
