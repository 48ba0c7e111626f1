//! Requests and responses of the operator API, one file per subject.
//!
//! The handlers and the command line use the same types, and the OpenAPI document is generated from
//! them. A field that changes does not compile on one side only.

pub mod accounts;
pub mod apps;
pub mod attempts;
pub mod callbacks;
pub mod cases;
pub mod connections;
pub mod customers;
pub mod gateways;
pub mod hold;
pub mod keys;
pub mod rates;
pub mod routing;
pub mod schemas;
pub mod search;
pub mod statistics;
pub mod timeline;
pub mod tokens;
pub mod transactions;
pub mod users;
pub mod webhooks;

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Number;
use switchyard_core::money::{self, Currency};
use utoipa::ToSchema;

/// Response without data.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct Nothing {}

/// Amount in the smallest unit of its currency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Amount {
    /// 2500 USD cents are 25.00 USD.
    pub minor: i64,
    #[schema(value_type = schemas::Currency)]
    pub currency: Currency,
}

impl From<money::Amount> for Amount {
    fn from(amount: money::Amount) -> Self {
        Self {
            minor: amount.minor(),
            currency: amount.currency(),
        }
    }
}

/// Number, as a JSON number or a text. The text keeps each digit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(untagged, expecting = "a number or a text with a number")]
pub enum NumberOrText {
    #[schema(value_type = f64)]
    Number(Number),
    Text(String),
}

impl fmt::Display for NumberOrText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

/// Deserializes a field of a change: an omitted field is `None`, `null` is `Some(None)`.
pub fn nullable<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::<T>::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use switchyard_core::time::Timestamp;
    use switchyard_core::transaction::{AttemptState, CaseReason, PayerAction, State};

    use super::transactions::Transaction;
    use crate::checkout::tests::samples;

    /// A stored value as the contract shows it: times as texts, without the state of the gateway.
    fn shown(mut value: Value) -> Value {
        match &mut value {
            Value::Object(fields) => {
                fields.remove("gateway_state");
                for (name, field) in fields.iter_mut() {
                    let is_time = matches!(name.as_str(), "at" | "as_of")
                        || name.ends_with("_at")
                        || name.ends_with("_since");
                    *field = match field.as_i64().filter(|_| is_time) {
                        Some(micros) => Timestamp::from_micros(micros).to_string().into(),
                        None => shown(field.take()),
                    };
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| *item = shown(item.take())),
            _ => {}
        }
        value
    }

    #[test]
    fn the_contract_shows_each_field_of_a_stored_transaction() {
        let action = PayerAction::Dial {
            ussd: "*126#".to_owned(),
        };
        for stored in [
            samples::payment(),
            samples::ended(State::Succeeded),
            samples::called_off(action, |_| ()),
            samples::twice_tried(AttemptState::Declined, CaseReason::PaidTwice),
        ] {
            let view = serde_json::to_value(Transaction::new(&stored, Vec::new())).unwrap();
            let whole = shown(serde_json::to_value(&stored).unwrap());
            for name in [
                "attempts", "cases", "customer", "context", "details", "metadata",
            ] {
                assert_eq!(view[name], whole[name], "{name}");
            }
        }
    }
}
