//! Money: an [`Amount`] is a whole number of a [`Currency`]'s smallest units.
//!
//! There is no float in here, no implied currency and no arithmetic that wraps: an operation that would leave the range or mix
//! currencies says so. Exchange rates are not here.

mod amount;
mod currencies;
mod currency;

pub use amount::{Amount, AmountError};
pub use currency::{Currency, CurrencyInfo, UnknownCurrency};
