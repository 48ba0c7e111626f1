//! A door for fuzzing. Behind the feature `fuzzing`.

use std::time::Duration;

use super::feed::{self, FeedError};
use super::{Entry, RateTable};
use switchyard_core::time::Timestamp;

/// The rates of a feed's answer.
///
/// # Errors
/// As the feed's own.
pub fn feed(body: &[u8]) -> Result<Vec<Entry>, FeedError> {
    let answer = feed::read(body, Timestamp::from_seconds(1), Duration::from_secs(60))?;
    Ok(answer.entries)
}

/// Table with these rates besides the pegs.
pub fn rates(entries: Vec<Entry>) -> RateTable {
    let mut rates = RateTable::default();
    for entry in entries {
        rates.put(entry);
    }
    rates
}
