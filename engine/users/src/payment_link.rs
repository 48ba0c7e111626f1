//! Payment link: its terms, its uses, and the reasons why it takes no payment.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use switchyard_core::environment::Environment;
use switchyard_core::ids::{AccountId, AppId, PaymentLinkId, UserId};
use switchyard_core::money::{Amount, Currency};
use switchyard_core::time::Timestamp;
use ulid::Ulid;

/// Code in the address of a link: the 80 random bits of a ULID, in 16 lower-case characters. It is
/// stored as it is, since the console shows the address again, and it opens nothing but the page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct LinkCode(String);

/// A text is not the code of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not the 16 letters and digits of a payment link")]
pub struct NotALinkCode;

/// Payment link of an app in an environment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PaymentLink {
    pub id: PaymentLinkId,
    pub code: LinkCode,
    pub account: AccountId,
    pub app: AppId,
    pub environment: Environment,
    pub terms: LinkTerms,
    pub created_by: UserId,
    pub created_at: Timestamp,
    /// `None`: it is enabled.
    #[serde(default)]
    pub disabled: Option<Disabled>,
}

/// Terms of a link, which the merchant chose. They never change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkTerms {
    pub title: String,
    pub amount: LinkAmount,
    /// Description of its payments. `None`: the title.
    #[serde(default)]
    pub description: Option<String>,
    /// Whether payers give their phone number.
    #[serde(default)]
    pub asks_phone: bool,
    /// Codes of the methods that are offered; empty: all eligible methods.
    #[serde(default)]
    pub methods: Vec<String>,
    /// Largest number of successful payments.
    #[serde(default)]
    pub max_uses: Option<u32>,
    #[serde(default)]
    pub expires_at: Option<Timestamp>,
    /// `None`: payers return to a page of the link.
    #[serde(default)]
    pub return_url: Option<String>,
    /// Metadata of its payments.
    #[serde(default)]
    pub metadata: BTreeMap<String, String>,
}

/// Amount that a payer can pay.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum LinkAmount {
    Fixed {
        amount: Amount,
    },
    /// The payer chooses within these limits, which are in one currency.
    Between {
        least: Amount,
        most: Amount,
    },
    /// The payer chooses.
    Open {
        currency: Currency,
    },
}

/// Person who disabled a link, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disabled {
    pub by: UserId,
    pub at: Timestamp,
}

/// Link to store.
#[derive(Clone, Debug)]
pub struct NewPaymentLink {
    pub app: AppId,
    pub environment: Environment,
    pub terms: LinkTerms,
}

/// Payments of a link that ended, and those that hold one of its uses.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkUses {
    /// Successful payments.
    pub paid: u64,
    /// Payments of a link with a limited number of uses that may still succeed. 0 for other links.
    pub held: u32,
    /// Sums of the successful payments by currency, in the order of their codes.
    pub received: Vec<Amount>,
}

/// Reason why a link takes no payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unusable {
    Disabled,
    Expired,
    /// Each use has a successful payment.
    UsedUp,
    /// Open payments hold all uses that are left.
    Held,
}

impl LinkAmount {
    pub const fn currency(self) -> Currency {
        match self {
            Self::Fixed { amount } => amount.currency(),
            Self::Between { least, .. } => least.currency(),
            Self::Open { currency } => currency,
        }
    }

    /// Whether a payer can pay this amount.
    pub fn takes(self, paid: Amount) -> bool {
        match self {
            Self::Fixed { amount } => paid == amount,
            Self::Between { least, most } => least <= paid && paid <= most,
            Self::Open { currency } => paid.currency() == currency,
        }
    }
}

impl LinkTerms {
    /// Description of the payments.
    pub fn description(&self) -> &str {
        self.description.as_deref().unwrap_or(&self.title)
    }
}

impl PaymentLink {
    /// Reason why it takes no payment at `now`, after these uses. `None`: it takes payments.
    pub fn unusable(&self, uses: &LinkUses, now: Timestamp) -> Option<Unusable> {
        if self.disabled.is_some() {
            return Some(Unusable::Disabled);
        }
        if self.terms.expires_at.is_some_and(|end| end <= now) {
            return Some(Unusable::Expired);
        }
        let most = u64::from(self.terms.max_uses?);
        if uses.paid >= most {
            return Some(Unusable::UsedUp);
        }
        let taken = uses.paid.saturating_add(u64::from(uses.held));
        (taken >= most).then_some(Unusable::Held)
    }
}

impl LinkUses {
    /// The uses after one more successful payment. A sum beyond the range of amounts stays as it
    /// is.
    pub(crate) fn add_paid(&mut self, amount: Amount) {
        self.paid = self.paid.saturating_add(1);
        let code = |sum: &Amount| sum.currency().code();
        match self.received.binary_search_by_key(&code(&amount), code) {
            Ok(at) => {
                let sum = &mut self.received[at];
                *sum = sum.checked_add(amount).unwrap_or(*sum);
            }
            Err(at) => self.received.insert(at, amount),
        }
    }
}

impl LinkCode {
    /// The code of the random bits of a ULID.
    pub(crate) fn of(ulid: Ulid) -> Self {
        Self(ulid.to_string()[10..].to_lowercase())
    }
}

impl fmt::Display for LinkCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for LinkCode {
    type Err = NotALinkCode;

    /// Reads a code in letters of any case: people type it from paper.
    fn from_str(text: &str) -> Result<Self, NotALinkCode> {
        let is_code = text.len() == CHARACTERS && text.bytes().all(|it| it.is_ascii_alphanumeric());
        match is_code {
            true => Ok(Self(text.to_ascii_lowercase())),
            false => Err(NotALinkCode),
        }
    }
}

impl TryFrom<String> for LinkCode {
    type Error = NotALinkCode;

    fn try_from(text: String) -> Result<Self, NotALinkCode> {
        text.parse()
    }
}

impl From<LinkCode> for String {
    fn from(code: LinkCode) -> Self {
        code.0
    }
}

/// Characters of a code, of 5 bits each.
const CHARACTERS: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn amount(minor: i64, code: &str) -> Amount {
        Amount::from_minor(minor, Currency::from_code(code).unwrap())
    }

    #[test]
    fn a_code_is_the_random_part_of_a_ulid_and_is_read_in_any_case() {
        let one = LinkCode::of(Ulid::from_parts(1, u128::MAX));
        let other = LinkCode::of(Ulid::from_parts(2, u128::MAX));
        assert_eq!(one, other, "nothing of the time is in it");
        assert_eq!(one.to_string(), "zzzzzzzzzzzzzzzz");
        assert_eq!("ZZZZzzzzzzzzzzzz".parse(), Ok(one));
        for bad in ["", "zzz", "zzzzzzzzzzzzzzzz0", "zzzzzzzz/zzzzzzz"] {
            assert_eq!(bad.parse::<LinkCode>(), Err(NotALinkCode), "{bad}");
        }
    }

    #[test]
    fn a_link_takes_amounts_of_its_currency_within_its_limits() {
        let fixed = LinkAmount::Fixed {
            amount: amount(500, "USD"),
        };
        let between = LinkAmount::Between {
            least: amount(500, "USD"),
            most: amount(900, "USD"),
        };
        let open = LinkAmount::Open {
            currency: Currency::from_code("USD").unwrap(),
        };
        for (minor, taken) in [
            (499, [false, false, true]),
            (500, [true, true, true]),
            (900, [false, true, true]),
            (901, [false, false, true]),
        ] {
            let paid = amount(minor, "USD");
            assert_eq!([fixed, between, open].map(|it| it.takes(paid)), taken);
            let other = amount(minor, "EUR");
            assert_eq!([fixed, between, open].map(|it| it.takes(other)), [false; 3]);
        }
    }

    #[test]
    fn sums_are_kept_by_currency() {
        let mut uses = LinkUses::default();
        for paid in [amount(5, "XOF"), amount(7, "EUR"), amount(6, "XOF")] {
            uses.add_paid(paid);
        }
        assert_eq!(uses.paid, 3);
        assert_eq!(uses.received, [amount(7, "EUR"), amount(11, "XOF")]);
    }
}
