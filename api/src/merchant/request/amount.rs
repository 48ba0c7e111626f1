//! `amount` and `currency`. The amount may be an integer, a decimal or a numeric string, in major
//! units (docs/contract/requests.md).

use switchyard_core::limits::AMOUNT_MAJOR;
use switchyard_core::money::{Amount, AmountError, Currency};

use super::form::Form;
use super::json::Value;
use crate::error::{ErrorCode, Problem};

/// Reads both; problems come in the order amount, currency.
pub fn read(form: &mut Form<'_, '_>) -> Option<Amount> {
    // The rules for an amount depend on its currency, which follows it: problems of the currency
    // are held back.
    let mut about_currency = Vec::new();
    let currency = currency(&mut Form::new(form.object, &mut about_currency));
    let amount = amount(form, currency);
    about_currency
        .into_iter()
        .for_each(|problem| form.push(problem));
    amount.filter(|_| currency.is_some())
}

fn amount(form: &mut Form<'_, '_>, currency: Option<Currency>) -> Option<Amount> {
    let value = form.required("amount")?;
    let text: &str = match &value {
        Value::Number(number) => number,
        Value::Text(text) => text.trim(),
        other => {
            form.wrong_type("amount", "a number or a numeric string", other);
            return None;
        }
    };
    // Without a currency, the amount is still looked at by all rules but that on decimals.
    let yardstick = currency.or_else(|| Currency::from_code("TND"))?;
    match Amount::parse_major(text, yardstick) {
        Ok(amount) => Some(amount),
        Err(AmountError::TooManyDecimals { .. }) if currency.is_none() => None,
        Err(error) => {
            form.push(problem(error));
            None
        }
    }
}

fn problem(error: AmountError) -> Problem {
    let (code, message) = match error {
        AmountError::NotANumber => (ErrorCode::AmountNotNumber, error.to_string()),
        AmountError::Negative | AmountError::Zero => {
            (ErrorCode::AmountNotPositive, error.to_string())
        }
        AmountError::TooLarge { .. } => (
            ErrorCode::AmountTooLarge,
            format!("the amount is too large: at most {AMOUNT_MAJOR} are allowed"),
        ),
        AmountError::TooManyDecimals { .. } => {
            (ErrorCode::AmountTooManyDecimals, error.to_string())
        }
    };
    Problem::new(code, capitalised(&message)).at("amount")
}

fn currency(form: &mut Form<'_, '_>) -> Option<Currency> {
    let code = match form.required("currency")? {
        Value::Text(code) => code,
        other => {
            form.wrong_type("currency", "a string", &other);
            return None;
        }
    };
    let known = Currency::from_code(&code);
    let is_shaped = code.len() == 3 && code.bytes().all(|byte| byte.is_ascii_uppercase());
    if known.is_none() && is_shaped {
        let says =
            format!("is {code}, an unknown currency: it has to be an ISO 4217 code such as XOF");
        form.refuse("currency", ErrorCode::CurrencyUnknown, says);
    } else if known.is_none() {
        form.refuse(
            "currency",
            ErrorCode::CurrencyUnknown,
            "must be a three-letter ISO 4217 code in capitals, such as XOF",
        );
    }
    known
}

fn capitalised(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}
