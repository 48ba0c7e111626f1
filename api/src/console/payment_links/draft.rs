//! Fields of the form of a payment link, and the request that they become.

use std::collections::BTreeMap;

use switchyard_core::directory::Method;
use switchyard_core::money::Currency;
use switchyard_core::time::Timestamp;
use switchyard_core::transaction::Kind;

use super::super::form::Fields;
use super::super::installation::view::{Choice, Input, InputKind};
use super::super::page::{Failed, Page};
use super::super::problems::Problems;
use crate::iso_timestamp::IsoTimestamp;
use crate::operator::contract::NumberOrText;
use crate::payment_links::{LinkRequest, typed_amount};

/// A link as it is typed.
#[derive(Default)]
pub struct Draft {
    values: BTreeMap<&'static str, String>,
    methods: Vec<String>,
}

/// Lines of the form with their labels.
const LINES: [(&str, &str); 9] = [
    ("title", "console-payment-link-title"),
    ("currency", "console-payment-link-currency"),
    ("amount", "console-payment-link-fixed"),
    ("min_amount", "console-payment-link-least"),
    ("max_amount", "console-payment-link-most"),
    ("description", "console-payment-link-description"),
    ("max_uses", "console-payment-link-uses"),
    ("expires_at", "console-payment-link-expires"),
    ("return_url", "console-payment-link-return"),
];
const PHONE: &str = "asks_phone";

impl Draft {
    /// An empty form in the first currency that the app takes.
    pub fn new(page: &Page) -> Result<Self, Failed> {
        let enabled = currencies(page)?;
        let first = enabled.first().map_or("", |code| code);
        Ok(Self {
            values: BTreeMap::from([("currency", first.to_owned())]),
            methods: Vec::new(),
        })
    }

    pub fn of_form(fields: &Fields) -> Self {
        let names = LINES.iter().map(|(name, _)| *name).chain([PHONE]);
        Self {
            values: names
                .map(|name| (name, fields.text(name).to_owned()))
                .collect(),
            methods: fields.all("methods").map(str::to_owned).collect(),
        }
    }

    fn value(&self, name: &str) -> &str {
        self.values.get(name).map_or("", String::as_str)
    }

    /// The request of the account API. An unreadable entry becomes a value that is refused.
    pub fn request(&self) -> LinkRequest {
        let given = |name| Some(self.value(name).to_owned()).filter(|value| !value.is_empty());
        let currency = self.value("currency").to_uppercase();
        let amount = |name| Some(NumberOrText::Text(read_amount(&given(name)?, &currency)));
        let uses = given("max_uses").map(|uses| uses.parse().unwrap_or(0));
        let end = given("expires_at").map(|day| {
            let end = Timestamp::parse_end(&day);
            IsoTimestamp(end.unwrap_or(Timestamp::from_seconds(0)))
        });
        LinkRequest {
            title: self.value("title").to_owned(),
            amount: amount("amount"),
            min_amount: amount("min_amount"),
            max_amount: amount("max_amount"),
            description: given("description"),
            asks_phone: !self.value(PHONE).is_empty(),
            methods: self.methods.clone(),
            max_uses: uses,
            expires_at: end,
            return_url: given("return_url"),
            metadata: BTreeMap::new(),
            currency,
        }
    }

    /// The fields of the form with their problems.
    pub fn inputs(&self, page: &Page, problems: &Problems) -> Result<Vec<Input>, Failed> {
        let text = page.text();
        let mut inputs = Vec::new();
        for (name, label) in LINES {
            let input = match name {
                "currency" => self.currency(page, label)?,
                "expires_at" => Input::day(page, name, label, self.value(name)),
                _ => Input::line(page, name, label, self.value(name)),
            };
            let hint = match name {
                "title" => Some(text.say("console-payment-link-title-hint")),
                "amount" => Some(text.say("console-payment-link-amount-hint")),
                "description" => Some(text.say("console-payment-link-description-hint")),
                "max_uses" => Some(text.say("console-payment-link-uses-hint")),
                "expires_at" => Some(text.say("console-payment-link-expires-hint")),
                "return_url" => Some(text.say("console-payment-link-return-hint")),
                _ => None,
            };
            let is_required = matches!(name, "title" | "currency");
            inputs.push(problems.beside(Input {
                is_required,
                ..input.with_hint(hint)
            }));
        }
        let is_checked = !self.value(PHONE).is_empty();
        let (label, hint) = (
            "console-payment-link-phone",
            "console-payment-link-phone-hint",
        );
        inputs.push(Input::checkbox(page, PHONE, label, hint, is_checked));
        inputs.push(problems.beside(self.methods(page)?));
        Ok(inputs)
    }

    /// The currencies in which the app takes payments; a line of text while it takes none.
    fn currency(&self, page: &Page, label: &str) -> Result<Input, Failed> {
        let (codes, typed) = (currencies(page)?, self.value("currency"));
        if codes.is_empty() || !(typed.is_empty() || codes.contains(&typed)) {
            return Ok(Input::line(page, "currency", label, typed));
        }
        let choices = codes.into_iter().map(|code| Choice {
            value: code.to_owned(),
            name: code.to_owned(),
            is_chosen: code == typed,
        });
        Ok(Input::select(page, "currency", label, choices.collect()))
    }

    /// Boxes of the methods that take payments now, and of the chosen ones.
    fn methods(&self, page: &Page) -> Result<Input, Failed> {
        let (text, engine) = (page.text(), page.state.engine());
        let scope = page.scope().ok_or(Failed::NotFound)?;
        let (app, environment) = (scope.app.id, scope.environment);
        let methods = engine.directory().payment_methods().iter();
        let is_offered = |code: &str| {
            let is_chosen = self.methods.iter().any(|chosen| chosen == code);
            is_chosen || engine.can_serve(app, environment, Kind::Payment, code, None)
        };
        let offered: Vec<_> = methods.filter(|method| is_offered(&method.code)).collect();
        let language = text.language();
        // Methods of two currencies may have the same name and country.
        let name = |method: &Method| {
            let name = method.name_with_country(language);
            let same = offered
                .iter()
                .filter(|other| other.name_with_country(language) == name);
            match same.count() {
                0 | 1 => name,
                _ => format!("{name} · {}", method.currency.code()),
            }
        };
        let choices = offered.iter().map(|method| Choice {
            value: method.code.clone(),
            name: name(method),
            is_chosen: self.methods.contains(&method.code),
        });
        let input = Input {
            kind: InputKind::Boxes,
            options: choices.collect(),
            ..Input::line(page, "methods", "console-payment-link-methods", "")
        };
        Ok(input.with_hint(Some(text.say("console-payment-link-methods-hint"))))
    }
}

/// Codes of the currencies in which the app takes payments.
fn currencies(page: &Page) -> Result<Vec<&'static str>, Failed> {
    let scope = page.scope().ok_or(Failed::NotFound)?;
    let engine = page.state.engine();
    let enabled = engine.enabled_currencies(scope.app.id, scope.environment, Kind::Payment);
    Ok(enabled.into_iter().map(Currency::code).collect())
}

/// An amount for the parser of the merchant API. An ambiguous one gets a comma, which the parser
/// refuses.
fn read_amount(typed: &str, currency: &str) -> String {
    let known = Currency::from_code(currency);
    let read = known.and_then(|currency| typed_amount(typed, currency));
    read.unwrap_or_else(|| typed.replace('.', ","))
}
