//! Limits that an operator sets, with their defaults.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::Limit;
use switchyard_core::client_network;
use switchyard_core::environment::Environment;
use switchyard_core::ids::{AppId, TransactionId};
use switchyard_core::limits::SITE_SHARE;
use switchyard_core::money::{Amount, Currency};

/// Limits of the installation. 0 means: no limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitSettings {
    /// Confirmations in 15 minutes that name one phone number, over all apps of an environment.
    pub prompts_per_number: u32,
    /// Confirmations in 15 minutes from one client address. Mobile networks share addresses between
    /// many people.
    pub prompts_per_address: u32,
    /// Confirmations in 15 minutes of one payment.
    pub prompts_per_payment: u32,
    /// Codes in 15 minutes for each allowed confirmation.
    pub codes_per_prompt: u32,
    /// Payouts, unless an app has limits of its own.
    pub payouts: PayoutLimits,
    /// Whether sandbox is limited as well. Its test numbers are shared by everybody who tests.
    pub in_sandbox: bool,
}

/// Velocity limits of one app's payouts, in 24 hours. `None` is the installation's; 0 means: no
/// limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PayoutLimits {
    /// Payouts to one recipient.
    pub per_recipient: Option<u32>,
    /// Payouts in total.
    pub per_day: Option<u32>,
    /// Amount in total by currency code, in major units: `"25000"`, `"0.50"`. A currency that is
    /// not named has the installation's.
    pub amount_per_day: BTreeMap<String, String>,
}

impl Default for LimitSettings {
    fn default() -> Self {
        let amounts = DAILY_AMOUNTS.iter();
        Self {
            prompts_per_number: 5,
            prompts_per_address: 60,
            prompts_per_payment: 10,
            codes_per_prompt: 3,
            payouts: PayoutLimits {
                per_recipient: Some(20),
                per_day: Some(10_000),
                amount_per_day: amounts
                    .map(|(code, amount)| ((*code).to_owned(), (*amount).to_owned()))
                    .collect(),
            },
            in_sandbox: false,
        }
    }
}

impl PayoutLimits {
    /// Error in these limits, in words that follow their name.
    pub fn check(&self) -> Result<(), String> {
        check_amounts(&self.amount_per_day, "0 means no limit")
    }

    /// The amount of a currency that may be paid out in a day, in minor units.
    fn amount_in(&self, currency: Currency) -> Option<u64> {
        let text = self.amount_per_day.get(currency.code())?;
        // Checked when it was set: an unreadable value is 0, no limit.
        let amount = Amount::parse_major(text, currency).ok();
        Some(amount.map_or(0, |amount| amount.minor().unsigned_abs()))
    }
}

/// Checks amounts by currency code, each in major units or `0`. `zero`: the meaning of 0. The error
/// is in words that follow the name of the setting.
pub fn check_amounts(amounts: &BTreeMap<String, String>, zero: &str) -> Result<(), String> {
    for (code, amount) in amounts {
        let currency = Currency::from_code(code);
        let currency = currency
            .ok_or_else(|| format!("has an amount in `{code}`, which is no currency's code"))?;
        if amount != "0" && Amount::parse_major(amount, currency).is_err() {
            return Err(format!(
                "has an amount in {code} that cannot be read: write it in major units, as in 1500.50, with at most {} decimals; \
                 {zero}",
                currency.decimals()
            ));
        }
    }
    Ok(())
}

impl LimitSettings {
    /// No limits at all.
    pub fn none() -> Self {
        Self {
            prompts_per_number: 0,
            prompts_per_address: 0,
            prompts_per_payment: 0,
            codes_per_prompt: 0,
            payouts: PayoutLimits::default(),
            in_sandbox: false,
        }
    }

    pub(crate) fn apply_to(&self, environment: Environment) -> bool {
        self.in_sandbox || environment == Environment::Live
    }

    /// Uses of a confirmation (`codes` false) or a code.
    pub(crate) fn of_prompt(
        &self,
        environment: Environment,
        payment: TransactionId,
        number: Option<&str>,
        address: Option<&str>,
        codes: bool,
    ) -> Vec<Limit> {
        let limit = |names: [&'static str; 2], subject: String, most: u32| Limit {
            name: names[usize::from(codes)],
            subject,
            most: u64::from(most) * u64::from(if codes { self.codes_per_prompt } else { 1 }),
            uses: 1,
        };
        let shared = |subject: &str| format!("{}/{subject}", environment.as_str());
        let mut limits = vec![limit(
            ["prompts_per_payment", "codes_per_payment"],
            payment.to_string(),
            self.prompts_per_payment,
        )];
        limits.extend(number.map(|number| {
            let names = ["prompts_per_number", "codes_per_number"];
            limit(names, shared(number), self.prompts_per_number)
        }));
        let address = address.map(|address| (address, address.parse::<IpAddr>()));
        limits.extend(address.iter().map(|(text, address)| {
            let names = ["prompts_per_address", "codes_per_address"];
            // A text that is no address counts as it is.
            let client = address.as_ref().map_or_else(
                |_| (*text).to_owned(),
                |address| client_network::subscriber(*address).to_string(),
            );
            limit(names, shared(&client), self.prompts_per_address)
        }));
        let site = address.and_then(|(_, address)| client_network::site(address.ok()?));
        limits.extend(site.map(|site| {
            let names = ["prompts_per_site", "codes_per_site"];
            let most = self.prompts_per_address.saturating_mul(SITE_SHARE);
            limit(names, shared(&format!("site/{site}")), most)
        }));
        limits
    }

    /// Uses of a payout of an app with limits of its `own`. `recipient`: all fields that identify
    /// the recipient.
    pub(crate) fn of_payout(
        &self,
        own: &PayoutLimits,
        (app, environment): (AppId, Environment),
        amount: Amount,
        recipient: &str,
    ) -> Vec<Limit> {
        let scope = format!("{app}/{}", environment.as_str());
        let currency = amount.currency();
        let most = |own: Option<u32>, installation: Option<u32>| {
            u64::from(own.or(installation).unwrap_or_default())
        };
        let amount_most = own.amount_in(currency);
        let amount_most = amount_most.or_else(|| self.payouts.amount_in(currency));
        vec![
            Limit {
                name: "payouts_per_recipient",
                subject: format!("{scope}/{recipient}"),
                most: most(own.per_recipient, self.payouts.per_recipient),
                uses: 1,
            },
            Limit {
                name: "payouts_per_day",
                subject: scope.clone(),
                most: most(own.per_day, self.payouts.per_day),
                uses: 1,
            },
            Limit {
                name: "payout_amount_per_day",
                subject: format!("{scope}/{}", currency.code()),
                most: amount_most.unwrap_or_default(),
                uses: amount.minor().unsigned_abs(),
            },
        ]
    }
}

/// About 100,000 US dollars in each currency of a payout method: the daily limit of the damage by a
/// stolen key.
const DAILY_AMOUNTS: [(&str, &str); 13] = [
    ("CDF", "280000000"),
    ("EUR", "90000"),
    ("GHS", "1200000"),
    ("KES", "13000000"),
    ("MWK", "170000000"),
    ("NGN", "150000000"),
    ("RWF", "140000000"),
    ("TZS", "260000000"),
    ("UGX", "370000000"),
    ("USD", "100000"),
    ("XAF", "60000000"),
    ("XOF", "60000000"),
    ("ZMW", "2700000"),
];
