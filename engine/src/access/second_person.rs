//! Changes in live that one person of an account orders in the console and another one approves.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::quota::check_amounts;
use switchyard_core::environment::Environment;
use switchyard_core::money::{Amount, Currency};

/// Changes of an app in live that need a second person.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SecondPerson {
    /// Largest payout that one person orders alone, by currency code, in major units: `"250000"`.
    /// `"0"`: none. Without any currency, one person orders all payouts; otherwise each payout in a
    /// currency that is not named needs two.
    pub payouts_above: BTreeMap<String, String>,
    /// Whether new routing rules need a second person.
    pub routing: bool,
}

impl SecondPerson {
    /// Error in these settings, in words that follow their name.
    pub fn check(&self) -> Result<(), String> {
        check_amounts(&self.payouts_above, "0 means each payout")
    }

    /// Whether a payout of this amount needs a second person.
    pub fn is_needed_for_payout(&self, environment: Environment, amount: Amount) -> bool {
        if environment == Environment::Sandbox || self.payouts_above.is_empty() {
            return false;
        }
        amount.minor() > self.largest(amount.currency())
    }

    /// Largest payout in a currency that one person orders alone, in minor units; 0: none.
    fn largest(&self, currency: Currency) -> i64 {
        let named = self.payouts_above.get(currency.code());
        let largest = named.and_then(|text| Amount::parse_major(text, currency).ok());
        largest.map_or(0, |largest| largest.minor())
    }

    /// Whether one person may do after `change` what needs two people with these settings.
    pub fn is_loosened_by(&self, change: &Self) -> bool {
        let is_above = |code: &String| {
            let currency = Currency::from_code(code);
            currency.is_none_or(|currency| change.largest(currency) > self.largest(currency))
        };
        let has_limits = !self.payouts_above.is_empty();
        let has_none_then = change.payouts_above.is_empty();
        (self.routing && !change.routing)
            || has_limits && (has_none_then || change.payouts_above.keys().any(is_above))
    }

    /// Whether new routing rules need a second person.
    pub fn is_needed_for_routing(&self, environment: Environment) -> bool {
        self.routing && environment == Environment::Live
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_loosened_when_one_person_may_do_more() {
        let old = above(&[("XOF", "2500"), ("KES", "0")]);
        for (new, is_loosened) in [
            (above(&[("XOF", "2500"), ("KES", "0")]), false),
            (above(&[("XOF", "2499"), ("KES", "0")]), false),
            (above(&[("XOF", "2500")]), false),
            (above(&[("XOF", "2500"), ("USD", "0")]), false),
            (above(&[("XOF", "2501")]), true),
            (above(&[("KES", "1")]), true),
            (above(&[("XOF", "2500"), ("USD", "0.01")]), true),
            (above(&[]), true),
        ] {
            assert_eq!(old.is_loosened_by(&new), is_loosened, "{new:?}");
            assert!(!above(&[]).is_loosened_by(&new), "{new:?}");
        }
        let routing = |routing| SecondPerson {
            routing,
            ..SecondPerson::default()
        };
        assert!(routing(true).is_loosened_by(&routing(false)));
        assert!(!routing(false).is_loosened_by(&routing(true)));
    }

    fn above(amounts: &[(&str, &str)]) -> SecondPerson {
        let amounts = amounts.iter();
        SecondPerson {
            payouts_above: amounts
                .map(|(code, amount)| ((*code).to_owned(), (*amount).to_owned()))
                .collect(),
            routing: false,
        }
    }

    #[test]
    fn payouts_above_the_amount_and_in_other_currencies_need_two_people() {
        let live = Environment::Live;
        let settings = above(&[("XOF", "2500"), ("USD", "10.50"), ("KES", "0")]);
        for (minor, code, is_needed) in [
            (2_500, "XOF", false),
            (2_501, "XOF", true),
            (1_050, "USD", false),
            (1_051, "USD", true),
            (1, "KES", true),
            (1, "GHS", true),
        ] {
            let amount = Amount::from_minor(minor, Currency::from_code(code).unwrap());
            assert_eq!(
                settings.is_needed_for_payout(live, amount),
                is_needed,
                "{minor} {code}"
            );
            let sandbox = settings.is_needed_for_payout(Environment::Sandbox, amount);
            assert!(!sandbox, "the sandbox moves no money");
            assert!(!SecondPerson::default().is_needed_for_payout(live, amount));
        }
    }

    #[test]
    fn rules_need_two_people_in_live_only() {
        let settings = SecondPerson {
            routing: true,
            ..SecondPerson::default()
        };
        assert!(settings.is_needed_for_routing(Environment::Live));
        assert!(!settings.is_needed_for_routing(Environment::Sandbox));
        assert!(!SecondPerson::default().is_needed_for_routing(Environment::Live));
    }

    #[test]
    fn unreadable_amounts_are_refused() {
        for (code, amount) in [("XQX", "1"), ("XOF", "0.5"), ("USD", "-1"), ("USD", "many")] {
            assert!(above(&[(code, amount)]).check().is_err(), "{code} {amount}");
        }
        assert!(above(&[("XOF", "0"), ("USD", "10.5")]).check().is_ok());
    }
}
