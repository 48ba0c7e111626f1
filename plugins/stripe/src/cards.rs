//! The card methods: one table, from which the rows of `gateway.json` follow (a test holds the two
//! against each other), and the currencies' amounts in Stripe's notation.
//!
//! Stripe takes whole numbers of its own smallest unit. That is a hundredth for most currencies and
//! the unit itself for those without decimals; and the Ugandan shilling, which has none, is still
//! written in hundredths: 5 UGX is 500.

use switchyard_gateway::{Amount, Fault, Money};

#[derive(Debug)]
pub struct Card {
    pub code: &'static str,
    pub currency: &'static str,
    /// Decimals of Stripe's smallest unit.
    pub exponent: u32,
    /// Whether only whole units are paid, whatever the notation.
    pub is_whole: bool,
}

const fn card(code: &'static str, currency: &'static str, exponent: u32, is_whole: bool) -> Card {
    Card {
        code,
        currency,
        exponent,
        is_whole,
    }
}

#[rustfmt::skip]
pub static CARDS: &[Card] = &[
    card("card_ghs", "GHS", 2, false),
    card("card_kes", "KES", 2, false),
    card("card_ngn", "NGN", 2, false),
    card("card_tzs", "TZS", 2, false),
    card("card_ugx", "UGX", 2, true),
    card("card_usd", "USD", 2, false),
    card("card_xaf", "XAF", 0, true),
    card("card_xof", "XOF", 0, true),
    card("card_zar", "ZAR", 2, false),
];

impl Card {
    pub fn of(method: &str) -> Result<&'static Self, Fault> {
        let found = CARDS.iter().find(|card| card.code == method);
        found.ok_or_else(|| {
            Fault::config(format!(
                "this gateway has no card method `{method}`: remove it from the connection's methods"
            ))
        })
    }

    /// An amount as Stripe takes it. A fraction that it cannot have is refused, never rounded.
    pub fn amount(&self, money: &Money) -> Result<i64, Fault> {
        if money.currency != self.currency {
            return Err(Fault::config(format!(
                "{} is paid in {}, and {} was asked for",
                self.code, self.currency, money.currency
            )));
        }
        let too_much = || Fault::config(format!("{} is no amount", money.decimal));
        if self.is_whole {
            let unit = 10_i64.checked_pow(self.exponent).ok_or_else(too_much)?;
            return money.whole()?.checked_mul(unit).ok_or_else(too_much);
        }
        let decimals = u8::try_from(self.exponent).map_err(|_| too_much())?;
        let written = money.with_decimals(decimals)?.replace('.', "");
        written.parse().map_err(|_| too_much())
    }
}

/// An amount of Stripe's in the notation of everyone else. Stripe writes currencies in small
/// letters. `None`: a currency that this gateway has no method for.
pub fn named(amount: i64, currency: &str) -> Option<Amount> {
    let currency = currency.to_ascii_uppercase();
    let card = CARDS.iter().find(|card| card.currency == currency)?;
    let decimals = u8::try_from(card.exponent).ok()?;
    let written = Money::from_minor(amount, &currency, decimals);
    let decimal = match written.whole() {
        Ok(whole) if card.is_whole => whole.to_string(),
        // A fraction where none can be stays to be seen: the engine refuses it.
        _ => written.decimal,
    };
    Some(Amount::decimal(decimal, currency))
}

/// Eight digits of its smallest unit, whatever that is worth.
pub const LARGEST: i64 = 99_999_999;
