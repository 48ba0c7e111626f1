//! Form of a payment link: amount, names, e-mail address and, if the link asks for it, a phone
//! number.

use std::collections::BTreeMap;

use askama::Template;
use switchyard_core::directory::phone;
use switchyard_core::language::Language;
use switchyard_core::money::Currency;
use switchyard_users::{LinkAmount, PaymentLink};

use super::details::Field;
use super::form::Form;
use super::form_fields::{CUSTOMER, Input};
use super::link::LinkVisit;
use super::page_context::Frame;
use crate::error::{ErrorCode, Problem};
use crate::payment_links::{Payer, typed_amount};

/// The page with its form.
#[derive(Template)]
#[template(path = "checkout/link.html")]
pub struct FormPage {
    frame: Frame,
    title: String,
    about: Option<String>,
    action: String,
    token: String,
    fields: Vec<Field>,
    wrong: usize,
}

/// The form as it is typed.
#[derive(Default)]
pub struct Draft {
    /// Random characters of the form: it begins one payment.
    pub token: String,
    values: BTreeMap<&'static str, String>,
}

/// A message for each field that is wrong.
#[derive(Default)]
pub struct Errors(BTreeMap<&'static str, String>);

const AMOUNT: &str = "amount";
const EMAIL: &str = "email";
const PHONE: &str = "phone";
/// Fields of the payer, in the order of the form.
const PAYER: [&str; 4] = ["first_name", "last_name", EMAIL, PHONE];
/// Longest name and e-mail address of the merchant API, in characters.
const MOST_NAME: usize = 100;
/// Characters of the token of a form.
const TOKEN_CHARACTERS: usize = 38;

impl Draft {
    pub fn of_form(form: &Form, link: &PaymentLink) -> Self {
        let names = names(link);
        let values = names.map(|name| (name, form.text(name).trim().to_owned()));
        Self {
            token: form.get("form").to_owned(),
            values: values.collect(),
        }
    }

    fn value(&self, name: &str) -> &str {
        self.values.get(name).map_or("", String::as_str)
    }

    /// Whether a page of ours could have made the token. Without one, a repetition would begin
    /// another payment.
    pub fn has_token(&self) -> bool {
        let is_plain = self.token.bytes().all(|byte| byte.is_ascii_alphanumeric());
        is_plain && self.token.len() == TOKEN_CHARACTERS
    }

    /// Errors that the parser of the merchant API does not find.
    pub fn errors(&self, visit: &LinkVisit) -> Errors {
        let mut errors = Errors::default();
        let terms = &visit.link.terms;
        let is_fixed = matches!(terms.amount, LinkAmount::Fixed { .. });
        let currency = terms.amount.currency();
        if !is_fixed && typed_amount(self.value(AMOUNT), currency).is_none() {
            errors.put(AMOUNT, amount_error(visit, "link-amount-number"));
        }
        if terms.asks_phone {
            match self.value(PHONE) {
                "" => errors.put(PHONE, required(visit, PHONE)),
                number if !is_phone(number) => errors.put(PHONE, visit.visitor.say("error-phone")),
                _ => {}
            }
        }
        errors
    }

    pub fn payer(&self, link: &PaymentLink) -> Payer {
        let text = |name: &str| self.value(name).to_owned();
        let phone = Some(text(PHONE)).filter(|phone| !phone.is_empty());
        let amount = typed_amount(self.value(AMOUNT), link.terms.amount.currency());
        Payer {
            amount: amount.unwrap_or_default(),
            email: text(EMAIL),
            first_name: text("first_name"),
            last_name: text("last_name"),
            phone,
        }
    }

    /// The page with this form. `token`: that of the form if it stays the same one.
    pub fn page(
        &self,
        visit: &LinkVisit,
        errors: &Errors,
        token: Option<&str>,
        notice: Option<String>,
    ) -> FormPage {
        let terms = &visit.link.terms;
        let mut fields: Vec<_> = names(&visit.link)
            .map(|name| self.field(visit, name, errors))
            .collect();
        if let Some(first) = fields.iter_mut().find(|field| field.error.is_some()) {
            first.first_wrong = true;
        }
        let kept = token.filter(|_| self.has_token()).map(str::to_owned);
        let token = kept.unwrap_or_else(|| visit.new_token());
        FormPage {
            frame: visit.frame_titled(&terms.title).with_notice(notice),
            title: visit.say_merchant("link-heading"),
            about: terms.description.clone(),
            action: visit.home(),
            token,
            wrong: fields.iter().filter(|field| field.error.is_some()).count(),
            fields,
        }
    }

    fn field(&self, visit: &LinkVisit, name: &'static str, errors: &Errors) -> Field {
        let is_amount = name == AMOUNT;
        Field {
            name: name.to_owned(),
            label: label(visit, name),
            required: true,
            optional: false,
            fixed: false,
            input: input(name),
            options: Vec::new(),
            value: self.value(name).to_owned(),
            hint: is_amount.then(|| amount_hint(visit)).flatten(),
            error: errors.0.get(name).cloned(),
            first_wrong: false,
        }
    }
}

impl Errors {
    fn put(&mut self, field: &'static str, message: String) {
        self.0.insert(field, message);
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// An amount that the link does not take.
    pub fn of_amount(visit: &LinkVisit) -> Self {
        let message = match visit.link.terms.amount {
            LinkAmount::Between { .. } => "link-amount-range",
            LinkAmount::Fixed { .. } | LinkAmount::Open { .. } => "link-amount-number",
        };
        Self(BTreeMap::from([(AMOUNT, amount_error(visit, message))]))
    }

    /// The problems of a payment. `None`: one of them is about no field of the form.
    pub fn of(problems: &[Problem], visit: &LinkVisit) -> Option<Self> {
        let mut errors = Self::default();
        for problem in problems {
            let field = problem.field.as_deref()?;
            let name = field.strip_prefix("customer.").unwrap_or(field);
            let name = names(&visit.link).find(|known| *known == name)?;
            errors.put(name, message(problem.code, name, visit));
        }
        Some(errors)
    }
}

/// Names of the form's fields.
fn names(link: &PaymentLink) -> impl Iterator<Item = &'static str> {
    let is_fixed = matches!(link.terms.amount, LinkAmount::Fixed { .. });
    let asks_phone = link.terms.asks_phone;
    let amount = (!is_fixed).then_some(AMOUNT);
    let payer = PAYER.into_iter();
    let payer = payer.filter(move |name| *name != PHONE || asks_phone);
    amount.into_iter().chain(payer)
}

fn message(code: ErrorCode, name: &'static str, visit: &LinkVisit) -> String {
    match code {
        ErrorCode::FieldRequired | ErrorCode::FieldBlank => required(visit, name),
        ErrorCode::FieldTooLong => {
            let most = MOST_NAME.to_string();
            visit.say_with("error-long", &[("most", &most)])
        }
        ErrorCode::EmailInvalid => visit.visitor.say("error-email"),
        ErrorCode::PhoneInvalid => visit.visitor.say("error-phone"),
        ErrorCode::AmountNotNumber => amount_error(visit, "link-amount-number"),
        ErrorCode::AmountNotPositive => amount_error(visit, "link-amount-positive"),
        ErrorCode::AmountTooLarge | ErrorCode::AmountNotServed => {
            amount_error(visit, "link-amount-served")
        }
        ErrorCode::AmountTooManyDecimals => amount_error(visit, "link-amount-decimals"),
        _ => visit.visitor.say("error-format"),
    }
}

fn required(visit: &LinkVisit, name: &str) -> String {
    let label = label(visit, name);
    visit.say_with("error-required", &[("field", &label)])
}

fn label(visit: &LinkVisit, name: &str) -> String {
    let currency = visit.link.terms.amount.currency().code();
    match name {
        AMOUNT => visit.say_with("link-amount", &[("currency", currency)]),
        name => visit.visitor.say(&format!("field-{name}")),
    }
}

/// A message about an amount, with the limits of the link and an example in its currency.
fn amount_error(visit: &LinkVisit, message: &str) -> String {
    let (least, most) = limits(visit).unwrap_or_default();
    let example = example(visit.link.terms.amount.currency(), visit);
    let values = [
        ("least", least.as_str()),
        ("most", most.as_str()),
        ("example", example),
    ];
    visit.say_with(message, &values)
}

fn amount_hint(visit: &LinkVisit) -> Option<String> {
    let (least, most) = limits(visit)?;
    let values = [("least", least.as_str()), ("most", most.as_str())];
    Some(visit.say_with("link-amount-hint", &values))
}

fn limits(visit: &LinkVisit) -> Option<(String, String)> {
    let language = visit.visitor.language;
    match visit.link.terms.amount {
        LinkAmount::Between { least, most } => {
            Some((least.written(language), most.written(language)))
        }
        LinkAmount::Fixed { .. } | LinkAmount::Open { .. } => None,
    }
}

/// An amount in digits, as the language writes it.
fn example(currency: Currency, visit: &LinkVisit) -> &'static str {
    match (currency.decimals(), visit.visitor.language) {
        (0, _) => "2500",
        (_, Language::En) => "25.50",
        (_, Language::Fr) => "25,50",
    }
}

fn input(name: &str) -> Input {
    let known = CUSTOMER.iter().find(|(known, _)| *known == name);
    known.map_or(
        Input {
            kind: "text",
            autocomplete: "off",
            mode: Some("decimal"),
        },
        |(_, input)| *input,
    )
}

/// Whether a text could be a phone number: one of a numbering plan, or digits of a test number.
fn is_phone(text: &str) -> bool {
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let is_plain = |letter: char| letter.is_ascii_digit() || "+ -.()/".contains(letter);
    phone::normalise(text, None).is_some()
        || (5..=20).contains(&digits) && text.chars().all(is_plain)
}
