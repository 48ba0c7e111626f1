//! Fields of the form of a payout, and the request of the merchant API that they become.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use switchyard_core::directory::{Method, PHONE_FIELD};
use switchyard_core::language::Language;

use super::super::form::Fields;
use super::super::installation::view::Input;
use super::super::page::Page;
use super::super::problems::Problems;
use super::super::text::Text;

/// A payout as it is typed.
pub struct Draft {
    pub method: String,
    /// By the name of the field in the request, such as `customer.email`.
    values: BTreeMap<String, String>,
}

/// Start of the names of the fields on which the method decides.
const RECIPIENT: &str = "recipient.";
/// Fields of every payout, with their labels, in the order of the form. Those of the recipient's
/// method come after the first.
const FIELDS: [(&str, &str); 5] = [
    ("amount", "console-amount"),
    ("customer.first_name", "console-first-name"),
    ("customer.last_name", "console-last-name"),
    ("customer.email", "console-email"),
    ("description", "console-payout-description"),
];

impl Draft {
    /// An empty form for a method.
    pub fn new(method: &str) -> Self {
        Self {
            method: method.to_owned(),
            values: BTreeMap::new(),
        }
    }

    pub fn of_form(fields: &Fields) -> Self {
        let known = |name: &str| {
            name.starts_with(RECIPIENT) || FIELDS.iter().any(|(field, _)| *field == name)
        };
        let named = fields.pairs().filter(|(name, _)| known(name));
        Self {
            method: fields.text("method").to_owned(),
            values: named
                .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
                .collect(),
        }
    }

    /// Names and values of the form's fields.
    pub fn pairs(&self) -> Vec<(String, String)> {
        let method = [("method".to_owned(), self.method.clone())];
        let values = self.values.clone();
        method.into_iter().chain(values).collect()
    }

    fn value(&self, name: &str) -> &str {
        self.values.get(name).map_or("", String::as_str)
    }

    /// The request of the merchant API. Its currency is that of the method.
    pub fn body(&self, method: Option<&Method>) -> String {
        // "1 250,50" is 1250.50, as people write it.
        let amount: String = self.value("amount").split_whitespace().collect();
        let recipient: Map<String, Value> = self
            .values
            .iter()
            .filter_map(|(name, value)| Some((name.strip_prefix(RECIPIENT)?, value)))
            .map(|(name, value)| (name.to_owned(), json!(value)))
            .collect();
        let body = json!({
            "amount": amount.replace(',', "."),
            "currency": method.map(|method| method.currency.code()),
            "description": self.value("description"),
            "method": self.method,
            "customer": {
                "first_name": self.value("customer.first_name"),
                "last_name": self.value("customer.last_name"),
                "email": self.value("customer.email"),
            },
            "recipient": recipient,
        });
        body.to_string()
    }

    /// The fields of the form with their problems.
    pub fn inputs(&self, page: &Page, method: &Method, problems: &Problems) -> Vec<Input> {
        let text = page.text();
        let line = |name: &str, hint: Option<String>| {
            let input = Input::line(page, name, label(name), self.value(name));
            problems.beside(input.required().with_hint(hint))
        };
        let mut inputs = vec![line("amount", Some(amount_hint(method, text)))];
        inputs.extend(method.fields.iter().map(|field| {
            let hint = text.with("console-example", &[("example", &field.example)]);
            line(&format!("{RECIPIENT}{}", field.name), Some(hint))
        }));
        let others = FIELDS.iter().filter(|(name, _)| *name != "amount");
        inputs.extend(others.map(|(name, _)| line(name, None)));
        inputs
    }
}

/// Message with the label of a field.
fn label(name: &str) -> &'static str {
    let known = FIELDS.iter().find(|(field, _)| *field == name);
    known.map_or_else(
        || recipient_label(name.trim_start_matches(RECIPIENT)),
        |(_, label)| label,
    )
}

fn amount_hint(method: &Method, text: Text) -> String {
    let example = match (method.currency.decimals(), text.language()) {
        (0, _) => "2500",
        (_, Language::En) => "25.50",
        (_, Language::Fr) => "25,50",
    };
    let currency = method.currency.code();
    let values = [("currency", currency), ("example", example)];
    text.with("console-amount-hint", &values)
}

/// Message with the label of a field of the recipient.
pub fn recipient_label(name: &str) -> &'static str {
    match name {
        PHONE_FIELD => "console-recipient-phone",
        _ => "console-recipient-account",
    }
}
