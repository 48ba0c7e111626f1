//! An operator's limits of a connection: amounts and countries, within those of its gateway.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::error::AccessError;
use switchyard_core::directory::country;
use switchyard_core::money::{Amount, Currency};

/// The limits of one connection; without any, all that its gateway takes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ConnectionLimits {
    /// By currency code. A currency that is not listed has no limit.
    pub amounts: BTreeMap<String, AmountLimit>,
    /// Two letters each; empty: every country.
    pub countries: Vec<String>,
}

/// In major units, as people write them: `"100"`, `"0.50"`. Both ends are taken.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AmountLimit {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<String>,
}

impl ConnectionLimits {
    /// Whether an amount may go through.
    pub fn take(&self, amount: Amount) -> bool {
        let Some(limit) = self.amounts.get(amount.currency().code()) else {
            return true;
        };
        // Validated when it was stored; an unreadable limit counts as none.
        let read =
            |text: &Option<String>| Amount::parse_major(text.as_deref()?, amount.currency()).ok();
        read(&limit.min).is_none_or(|min| amount >= min)
            && read(&limit.max).is_none_or(|max| amount <= max)
    }

    /// Whether it may serve payers of a country. An unknown country is accepted.
    pub fn serve(&self, country: Option<&str>) -> bool {
        let is_listed = |country: &str| {
            let mut countries = self.countries.iter();
            countries.any(|listed| listed.eq_ignore_ascii_case(country))
        };
        self.countries.is_empty() || country.is_none_or(is_listed)
    }

    pub(super) fn check(&self) -> Result<(), AccessError> {
        for (code, limit) in &self.amounts {
            let currency = Currency::from_code(code).ok_or_else(|| {
                invalid(format!(
                    "has amounts in `{code}`, which is no currency's code"
                ))
            })?;
            let read = |text: &Option<String>| {
                match text.as_deref() {
                None => Ok(None),
                Some(text) => Amount::parse_major(text, currency).map(Some).map_err(|_| {
                    invalid(format!(
                        "has an amount in {code} that cannot be read: write it in major units, as in 1500.50, with at most {} decimals",
                        currency.decimals()
                    ))
                }),
            }
            };
            let (min, max) = (read(&limit.min)?, read(&limit.max)?);
            if let (Some(min), Some(max)) = (min, max)
                && min > max
            {
                return Err(invalid(format!("has a min in {code} above its max")));
            }
        }
        match self.countries.iter().find(|code| country(code).is_none()) {
            Some(code) => Err(invalid(format!(
                "has the country `{code}`: write two letters of ISO 3166, such as BJ"
            ))),
            None => Ok(()),
        }
    }
}

fn invalid(problem: String) -> AccessError {
    AccessError::invalid("limits", problem)
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchyard_core::testing::amount;

    fn limits(json: serde_json::Value) -> ConnectionLimits {
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn both_ends_of_a_limit_are_taken_and_other_currencies_have_none() {
        let limits =
            limits(serde_json::json!({ "amounts": { "USD": { "min": "5", "max": "25.00" } } }));
        limits.check().unwrap();
        for (minor, currency, is_taken) in [
            (499, "USD", false),
            (500, "USD", true),
            (2_500, "USD", true),
            (2_501, "USD", false),
            (1, "XOF", true),
        ] {
            assert_eq!(
                limits.take(amount(minor, currency)),
                is_taken,
                "{minor} {currency}"
            );
        }
    }

    #[test]
    fn only_listed_countries_are_served_when_any_is_listed() {
        let listed = limits(serde_json::json!({ "countries": ["BJ", "TG"] }));
        assert!(listed.serve(Some("BJ")) && !listed.serve(Some("CI")) && listed.serve(None));
        assert!(ConnectionLimits::default().serve(Some("CI")));
    }

    #[test]
    fn limits_that_cannot_be_meant_are_refused() {
        for bad in [
            serde_json::json!({ "amounts": { "ABC": { "min": "1" } } }),
            serde_json::json!({ "amounts": { "XOF": { "min": "0.5" } } }),
            serde_json::json!({ "amounts": { "USD": { "max": "a lot" } } }),
            serde_json::json!({ "amounts": { "USD": { "min": "2", "max": "1" } } }),
            serde_json::json!({ "countries": ["Benin"] }),
        ] {
            assert!(limits(bad.clone()).check().is_err(), "{bad}");
        }
    }
}
