//! Provider's fee, as the operator entered it: percent and fixed part, between a minimum and a
//! maximum.
//!
//! Exact: a percentage is a whole number of ten-thousandths of a percent. The part that it takes is
//! rounded to the nearest smallest unit of the currency, a half upwards; then the fixed part is
//! added, then the least and the most hold. No float comes near it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::rules::{MethodPattern, RuleError, problem};
use crate::ids::ConnectionId;
use crate::money::{Amount, AmountError, Currency};
use crate::transaction::Kind;

/// A row of the fee table. The first row that fits is the one that counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FeeRow {
    pub connection: ConnectionId,
    /// `None`: payments and payouts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Kind>,
    /// Method codes, with `*` at the end for all that begin so; empty: all methods.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub methods: Vec<MethodPattern>,
    /// `None`: any currency; then there is only a percentage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub currency: Option<Currency>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percent: Option<Percent>,
    /// In major units, as text: `"25"`, `"0.30"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixed: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<String>,
}

/// A percentage from 0 to 100 with at most four decimals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Percent(u32);

/// A text that is no percentage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a percentage is a text from \"0\" to \"100\" with at most 4 decimals, such as \"1.5\"")]
pub struct ParsePercentError;

impl FeeRow {
    pub(super) fn fits(
        &self,
        connection: ConnectionId,
        kind: Kind,
        method: &str,
        currency: Currency,
    ) -> bool {
        self.connection == connection
            && self.kind.is_none_or(|wanted| wanted == kind)
            && self.currency.is_none_or(|wanted| wanted == currency)
            && (self.methods.is_empty()
                || self.methods.iter().any(|pattern| pattern.matches(method)))
    }

    /// Fee for `amount`; `None` when it leaves the range of amounts, or a part of the row cannot be
    /// read.
    pub fn fee(&self, amount: Amount) -> Option<Amount> {
        let currency = amount.currency();
        let part = |text: &Option<String>| match text {
            Some(text) => minor(text, currency).ok().map(Some),
            None => Some(None),
        };
        let share = self.percent.unwrap_or(Percent(0)).of(amount.minor())?;
        let fee = share.checked_add(part(&self.fixed)?.unwrap_or(0))?;
        let fee = fee.max(part(&self.min)?.unwrap_or(0));
        let fee = fee.min(part(&self.max)?.unwrap_or(i64::MAX));
        Some(Amount::from_minor(fee, currency))
    }

    pub(super) fn check(&self, at: &str) -> Result<(), RuleError> {
        let texts = [
            ("fixed", &self.fixed),
            ("min", &self.min),
            ("max", &self.max),
        ];
        for (name, text) in texts {
            let Some(text) = text else { continue };
            let Some(currency) = self.currency else {
                let why = "is an amount: say of which `currency`";
                return Err(problem(format!("{at}.{name}"), why));
            };
            minor(text, currency).map_err(|why| problem(format!("{at}.{name}"), why))?;
        }
        if let (Some(currency), Some(least), Some(most)) = (self.currency, &self.min, &self.max)
            && minor(least, currency) > minor(most, currency)
        {
            return Err(problem(format!("{at}.min"), "is more than `max`"));
        }
        if self.percent.is_none() && texts.iter().all(|(_, text)| text.is_none()) {
            let why = "says no fee: give `percent`, `fixed` or both (\"0\" for none)";
            return Err(problem(at.to_owned(), why));
        }
        Ok(())
    }
}

/// The first row that fits says the fee.
pub(super) fn fee(
    rows: &[FeeRow],
    connection: ConnectionId,
    kind: Kind,
    method: &str,
    amount: Amount,
) -> Option<Amount> {
    rows.iter()
        .find(|row| row.fits(connection, kind, method, amount.currency()))?
        .fee(amount)
}

/// An amount in smallest units. Unlike what is paid, a fee may be nothing.
fn minor(text: &str, currency: Currency) -> Result<i64, String> {
    match Amount::parse_major(text, currency) {
        Ok(amount) => Ok(amount.minor()),
        Err(AmountError::Zero) => Ok(0),
        Err(why) => Err(format!("cannot be read: {why}")),
    }
}

impl Percent {
    /// This much of an amount in smallest units, to the nearest unit, a half upwards.
    fn of(self, minor: i64) -> Option<i64> {
        let exact = i128::from(minor) * i128::from(self.0);
        i64::try_from((exact + WHOLE / 2).div_euclid(WHOLE)).ok()
    }
}

impl FromStr for Percent {
    type Err = ParsePercentError;

    fn from_str(text: &str) -> Result<Self, ParsePercentError> {
        let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
        let is_number = |digits: &str, longest: usize| {
            (1..=longest).contains(&digits.len())
                && digits.bytes().all(|byte| byte.is_ascii_digit())
        };
        if !is_number(whole, 3) || !is_number(decimals, 4) {
            return Err(ParsePercentError);
        }
        let units = format!("{whole}{decimals:0<4}");
        match units.parse() {
            Ok(units) if units <= 1_000_000 => Ok(Self(units)),
            _ => Err(ParsePercentError),
        }
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{}.{:04}", self.0 / 10_000, self.0 % 10_000);
        f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
    }
}

impl Serialize for Percent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Percent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// A hundred percent, in ten-thousandths of a percent of one unit.
const WHOLE: i128 = 1_000_000;
