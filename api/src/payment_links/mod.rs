//! Payment links: their creation, the payments that payers begin on them, and their results.
//!
//! Promises: a payment of a link is an ordinary payment, with the checks of `POST
//! /v1/payments/initialize`; its rows below the link are in its own commit; a form begins one
//! payment, whatever is sent again; a link with a limited number of uses never has more successful
//! payments, since a payment that may still succeed holds a use. Left out: pages.

mod begin;
mod request;
mod uses;

use switchyard_core::money::Currency;
use switchyard_engine::engine::{Engine, EngineError};
use switchyard_users::{PaymentLink, UsersError};

pub use self::begin::{NotBegun, Payer, begin, can_be_paid, is_app_open, wait_of_form};
pub use self::request::{LinkRequest, terms};
pub use self::uses::{UsesNow, transactions, uses};
use crate::operator::Refused;

/// An amount as people type it, in the form that the parsers of amounts read: digits with a point
/// for decimals. Spaces separate groups of three digits. `None`: it could be two amounts. The
/// parsers refuse other texts.
pub fn typed_amount(text: &str, currency: Currency) -> Option<String> {
    let text = text.trim();
    let (whole, decimals) = match text.find([',', '.']) {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    };
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let mut groups = whole.split_whitespace();
    let first = groups.next().unwrap_or_default();
    let is_grouped = groups.clone().next().is_some();
    if is_grouped && (first.len() > 3 || !groups.all(|group| group.len() == 3)) {
        return None;
    }
    let whole: String = whole.split_whitespace().collect();
    let Some(decimals) = decimals else {
        return Some(whole);
    };
    // "1,250" and "1.250" are 1250 to some people, and 1.25 to others.
    let could_be_thousands = decimals.len() == 3 && currency.decimals() < 3;
    // "1,0000" has more decimals than any currency: the comma may separate thousands.
    let is_padded = decimals.len() > usize::from(currency.decimals()) && decimals.ends_with('0');
    match are_digits(decimals) && !could_be_thousands && !is_padded {
        true => Some(format!("{whole}.{decimals}")),
        false => None,
    }
}

/// Key of the metadata by which a payment names its link.
const LINK: &str = "payment_link";

/// Failure of a store or of the engine.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    #[error(transparent)]
    Users(#[from] UsersError),
    #[error(transparent)]
    Engine(#[from] EngineError),
}

impl From<LinkError> for Refused {
    fn from(error: LinkError) -> Self {
        match error {
            LinkError::Users(error) => error.into(),
            LinkError::Engine(error) => error.into(),
        }
    }
}

/// Address of a link for payers.
pub fn url(engine: &Engine, link: &PaymentLink) -> String {
    format!("{}/l/{}", engine.settings().public_url, link.code)
}

/// Address of the page to which payers of a link without a return URL come back.
fn end_url(engine: &Engine, link: &PaymentLink) -> String {
    format!("{}/done", url(engine, link))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_that_could_be_two_is_not_read() {
        let table = [
            ("25", "USD", Some("25")),
            (" 1\u{202f}250,50 ", "EUR", Some("1250.50")),
            ("1250.5", "EUR", Some("1250.5")),
            ("1,250", "USD", None),
            ("1.250", "XOF", None),
            ("1,250", "TND", Some("1.250")),
            ("1,250.50", "USD", None),
            ("10 50", "USD", None),
            ("1.250 000", "USD", None),
            ("1,0000", "XOF", None),
            ("25.0", "XOF", None),
            ("25.555", "KWD", Some("25.555")),
            ("25.5555", "USD", Some("25.5555")),
            ("1e3", "USD", Some("1e3")),
            ("many", "USD", Some("many")),
            ("", "USD", Some("")),
        ];
        for (typed, code, read) in table {
            let currency = Currency::from_code(code).unwrap();
            assert_eq!(typed_amount(typed, currency).as_deref(), read, "{typed}");
        }
    }
}
