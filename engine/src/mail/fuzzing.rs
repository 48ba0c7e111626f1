//! Entry point for fuzzing, behind the feature `fuzzing`.

use super::queued_mail;

pub(crate) fn due(key: &[u8], value: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let at = queued_mail::due(key)?;
    let mut again = queued_mail::from(at);
    assert_eq!(again.get(1..), key.get(1..9), "when it is due");
    again.clear();
    again.extend_from_slice(key);
    Some((again, value.to_owned()))
}
