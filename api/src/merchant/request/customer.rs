//! `customer`: who pays, or who is paid.

use std::borrow::Cow;

use switchyard_core::directory::{country, phone};
use switchyard_core::email;
use switchyard_records::NewCustomer;

use super::form::{Form, LINE, TextRule};
use super::json::Value;
use crate::error::ErrorCode;

/// Reads `customer` in its documented order.
pub fn read(form: &mut Form<'_, '_>) -> Option<NewCustomer> {
    let object = match form.required("customer")? {
        Value::Object(object) => object,
        other => {
            form.wrong_type("customer", "an object", &other);
            return None;
        }
    };
    let mut form = form.inner(&object, "customer.");
    let email = email(&mut form);
    let first_name = form.required_text("first_name", NAME);
    let last_name = form.required_text("last_name", NAME);
    let phone = form
        .optional("phone")
        .and_then(|value| form.digits("phone", value));
    let address = form.optional_text("address", LINE);
    let city = form.optional_text("city", NAME);
    let state = form.optional_text("state", NAME);
    let country_code = form
        .optional_text("country", LINE)
        .and_then(|code| known_country(&mut form, "country", &code));
    let zip_code = form.optional_text("zip", CODE);
    let phone = phone.filter(|phone| !phone.trim().is_empty()).map(|given| {
        phone::normalise(&given, country_code).unwrap_or_else(|| given.trim().to_owned())
    });
    Some(NewCustomer {
        first_name: trimmed(first_name?),
        last_name: trimmed(last_name?),
        email: email?,
        phone,
        address: address.map(trimmed),
        city: city.map(trimmed),
        state: state.map(trimmed),
        country_code: country_code.map(str::to_owned),
        zip_code: zip_code.map(trimmed),
    })
}

/// The country's code as the table has it; small letters are accepted.
pub fn known_country(form: &mut Form<'_, '_>, name: &str, code: &str) -> Option<&'static str> {
    let known = country(&code.trim().to_ascii_uppercase()).map(|country| country.alpha2);
    if known.is_none() {
        form.refuse(
            name,
            ErrorCode::CountryUnknown,
            "must be a two-letter ISO 3166-1 country code, such as BJ",
        );
    }
    known
}

fn email(form: &mut Form<'_, '_>) -> Option<String> {
    let text = form.required_text("email", EMAIL)?;
    let email = text.trim();
    if !email::is_valid(email) {
        form.refuse(
            "email",
            ErrorCode::EmailInvalid,
            "must be an e-mail address, such as ada@example.com",
        );
        return None;
    }
    Some(email.to_owned())
}

fn trimmed(text: Cow<'_, str>) -> String {
    text.trim().to_owned()
}

const NAME: TextRule = TextRule {
    longest: 100,
    lines: false,
};
const CODE: TextRule = TextRule {
    longest: 20,
    lines: false,
};
const EMAIL: TextRule = TextRule {
    longest: 254,
    lines: false,
};
