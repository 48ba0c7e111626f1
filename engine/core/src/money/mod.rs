//! Money: an [`Amount`] is a whole number of a [`Currency`]'s smallest units.
//!
//! There is no float in here, no implied currency and no arithmetic that wraps: an operation that
//! would leave the range or mix currencies says so. A [`Rate`] turns an amount of one currency into
//! one of another, in exact decimals.

mod amount;
mod currencies;
mod currency;
mod rate;
#[cfg(test)]
mod tests;
mod written;

pub use amount::{Amount, AmountError};
pub use currency::{Currency, CurrencyInfo, UnknownCurrency};
pub use rate::{Correction, Rate, RateError};
