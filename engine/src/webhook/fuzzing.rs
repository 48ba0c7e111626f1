//! Entry points for fuzzing, behind the feature `fuzzing`.

use super::WebhookSettings;
use super::policy::{self, Verdict};
use super::row::{self, Row};
use crate::access::RetryProfile;
use switchyard_core::time::Timestamp;

/// Due times after a receiver refused the first attempt at `now` with this `Retry-After`: under the
/// schedule that ignores the header, and under the one that follows it. `None`: no retry.
pub fn next_retry(
    status: u16,
    retry_after: &str,
    now: Timestamp,
    chance: u32,
) -> [Option<Timestamp>; 2] {
    let settings = WebhookSettings::default();
    let heard = policy::classify(Some(status), Some(retry_after), now);
    [RetryProfile::Spec, RetryProfile::Standard].map(|profile| {
        match policy::verdict(&settings, &profile, heard, 1, now, chance) {
            Verdict::Retry { due } => Some(due),
            Verdict::Acknowledged | Verdict::Failed => None,
        }
    })
}

pub(crate) fn row(key: &[u8], value: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let row = Row::read(key, value).ok()?;
    assert_eq!(
        row::read_key(key),
        Some((row.webhook, row.due)),
        "whose row it is, and when it is due"
    );
    Some((row.key().into(), row.value()))
}
