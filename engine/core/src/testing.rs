//! Values that tests share.

pub mod fixtures;

use crate::money::{Amount, Currency};
use crate::time::Timestamp;

/// When a test's clock starts: 2026-11-20 10:00 UTC.
pub const START: Timestamp = Timestamp::from_seconds(1_795_168_800);

/// An amount in the smallest unit of `currency`.
///
/// # Panics
/// When there is no such currency.
#[allow(clippy::unwrap_used)]
pub fn amount(minor: i64, currency: &str) -> Amount {
    Amount::from_minor(minor, Currency::from_code(currency).unwrap())
}
