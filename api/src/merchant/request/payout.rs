//! The request of `POST /v1/payouts/initialize` (docs/contract/requests.md).

use std::collections::BTreeMap;

use switchyard_core::directory::{
    Directory, FieldType, Method, PHONE_FIELD, RecipientField, phone,
};
use switchyard_core::environment::Environment;
use switchyard_core::money::Amount;
use switchyard_core::transaction::ClientContext;
use switchyard_engine::engine::NewPayout;

use super::form::{Form, LINE, verdict};
use super::json::{Object, Value};
use super::payment::{
    DESCRIPTION, is_of_another_country, is_plausible, is_test_number, other_currency,
    unknown_method,
};
use super::{amount, body, customer, metadata};
use crate::error::{ApiError, ErrorCode};

/// Reads and checks the whole request; all problems are returned at once, in their
/// documented order.
pub fn read(
    body: &[u8],
    directory: &Directory,
    environment: Environment,
    context: ClientContext,
) -> Result<NewPayout, ApiError> {
    let object = body::object(body)?;
    let mut problems = Vec::new();
    let mut form = Form::new(&object, &mut problems);
    let amount = amount::read(&mut form);
    let description = form.required_text("description", DESCRIPTION);
    let method = method(&mut form, directory, amount);
    let customer = customer::read(&mut form);
    let metadata = metadata::read(&mut form);
    let recipient = recipient(&mut form, method, environment);
    verdict(problems)?;
    // Without a problem, all required fields are present.
    let (Some(amount), Some(description), Some(method), Some(customer)) =
        (amount, description, method, customer)
    else {
        return Err(ApiError::internal());
    };
    Ok(NewPayout {
        amount,
        description: description.into_owned(),
        method: method.code.clone(),
        recipient,
        customer,
        metadata,
        context,
    })
}

fn method<'d>(
    form: &mut Form<'_, '_>,
    directory: &'d Directory,
    amount: Option<Amount>,
) -> Option<&'d Method> {
    let code = form.required_text("method", LINE)?;
    let Some(method) = directory.payout_method(&code) else {
        form.push(unknown_method("method", &code, "payout"));
        return None;
    };
    if let Some(amount) = amount.filter(|amount| amount.currency() != method.currency) {
        form.push(other_currency(
            "method",
            &method.code,
            method.currency.code(),
            amount,
        ));
    }
    Some(method)
}

/// Recipient fields of the method: from `recipient`, or from the top level of the body where
/// `recipient` lacks them.
fn recipient(
    form: &mut Form<'_, '_>,
    method: Option<&Method>,
    environment: Environment,
) -> BTreeMap<String, String> {
    let given = match form.optional("recipient") {
        None => Object::default(),
        Some(Value::Object(object)) => object,
        Some(Value::List(list)) if list.0.is_empty() => Object::default(),
        Some(other) => {
            form.wrong_type("recipient", "an object", &other);
            return BTreeMap::new();
        }
    };
    let Some(method) = method else {
        return BTreeMap::new();
    };
    let mut read = BTreeMap::new();
    for field in &method.fields {
        let Some(value) = recipient_field(form, &given, field) else {
            continue;
        };
        let value = match field.name == PHONE_FIELD {
            true => phone_number(
                &mut form.inner(&given, "recipient."),
                (method, field),
                value,
                environment,
            ),
            false => Some(value),
        };
        let Some(value) = value else {
            continue;
        };
        read.insert(field.name.clone(), value);
    }
    read
}

/// The number in E.164, so that limits, repetitions and gateways see one number however it is
/// written. Money that is sent to another country than the method's does not arrive, or arrives at
/// a stranger's.
fn phone_number(
    form: &mut Form<'_, '_>,
    (method, field): (&Method, &RecipientField),
    number: String,
    environment: Environment,
) -> Option<String> {
    let is_sandbox = environment == Environment::Sandbox;
    if method.countries.is_empty() || is_sandbox && is_test_number(&number) {
        return Some(number);
    }
    let at_home = method.countries.iter().find_map(|country| {
        let number = phone::normalise(&number, Some(country.alpha2))?;
        let is_at_home = number.starts_with(&format!("+{}", country.dial_code));
        is_at_home.then_some(number)
    });
    if at_home.is_some() {
        return at_home;
    }
    let countries = method.countries.iter().map(|country| country.alpha2);
    let countries: Vec<&str> = countries.collect();
    let names = countries.join(", ");
    if is_of_another_country(&number, &countries, environment) {
        let code = &method.code;
        let says = format!("is a phone number of another country than that of {code} ({names})");
        form.refuse(PHONE_FIELD, ErrorCode::PhoneCountryMismatch, says);
        return None;
    }
    if is_sandbox {
        return Some(number); // providers have test numbers that fit no numbering plan
    }
    let example = &field.example;
    let says = match countries.contains(&"BJ") && phone::is_old_number_of_benin(&number) {
        true => format!(
            "is a number of Benin as it was before 30 November 2024: put 01 before its eight \
             digits, as in {example}"
        ),
        false => format!("must be a phone number of {names}, such as {example}"),
    };
    form.refuse(PHONE_FIELD, ErrorCode::RecipientFieldInvalid, says);
    None
}

fn recipient_field<'a>(
    form: &mut Form<'_, 'a>,
    given: &Object<'a>,
    field: &RecipientField,
) -> Option<String> {
    let name = field.name.as_str();
    let value = if given.get(name).is_some() {
        let mut form = form.inner(given, "recipient.");
        form.optional(name)
            .and_then(|value| form.digits(name, value))
    } else if form.object.get(name).is_some() {
        form.optional(name)
            .and_then(|value| form.digits(name, value))
    } else {
        if field.required {
            form.inner(given, "recipient.").missing(name);
        }
        return None;
    };
    let value = value?.trim().to_owned();
    let mut form = form.inner(given, "recipient.");
    if value.is_empty() {
        form.refuse(name, ErrorCode::FieldBlank, "must not be blank");
        return None;
    }
    if field.field_type == FieldType::Integer && !is_plausible(&value) {
        form.refuse(
            name,
            ErrorCode::RecipientFieldInvalid,
            format!(
                "must be a number of 4 to 20 digits, such as {}",
                field.example
            ),
        );
        return None;
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recipient_of(number: &str, environment: Environment) -> Result<String, String> {
        let body = serde_json::json!({
            "amount": 500,
            "currency": "XOF",
            "description": "Wages",
            "method": "mtn_bj",
            "customer": { "email": "ada@shop.example", "first_name": "Ada", "last_name": "Byron" },
            "recipient": { "msisdn": number },
        });
        let body = body.to_string();
        let context = ClientContext::default();
        match read(
            body.as_bytes(),
            &Directory::new("switchyard"),
            environment,
            context,
        ) {
            Ok(read) => Ok(read.recipient["msisdn"].clone()),
            Err(error) => Err(format!("{error:?}")),
        }
    }

    #[test]
    fn a_number_is_one_recipient_however_it_is_written() {
        for written in [
            "+2290197000000",
            "002290197000000",
            "2290197000000",
            "0197000000",
            " +229 01 97 00 00 00 ",
            "+229 (01) 97-00.00/00",
        ] {
            for environment in [Environment::Live, Environment::Sandbox] {
                let read = recipient_of(written, environment);
                assert_eq!(read.as_deref(), Ok("+2290197000000"), "{written}");
            }
        }
    }

    #[test]
    fn a_number_that_fits_no_plan_of_the_country_is_refused() {
        for (written, live, sandbox) in [
            (
                "++2290197000000",
                "RecipientFieldInvalid",
                "RecipientFieldInvalid",
            ),
            (
                "+229+0197000000",
                "RecipientFieldInvalid",
                "RecipientFieldInvalid",
            ),
            (
                "+2290197000000+",
                "RecipientFieldInvalid",
                "RecipientFieldInvalid",
            ),
            ("12345", "RecipientFieldInvalid", "12345"),
            (
                "+33612345678",
                "PhoneCountryMismatch",
                "PhoneCountryMismatch",
            ),
        ] {
            for (environment, wanted) in
                [(Environment::Live, live), (Environment::Sandbox, sandbox)]
            {
                let read = recipient_of(written, environment);
                let shown = read.unwrap_or_else(|error| error);
                assert!(shown.contains(wanted), "{written} {environment:?}: {shown}");
            }
        }
    }

    #[test]
    fn an_old_number_of_benin_is_refused_with_the_digits_that_it_lacks() {
        for written in ["97000000", "+22997000000", "0022997000000"] {
            let refused = recipient_of(written, Environment::Live).unwrap_err();
            assert!(refused.contains("put 01 before"), "{written}: {refused}");
        }
        let refused = recipient_of("9700000", Environment::Live).unwrap_err();
        assert!(!refused.contains("put 01 before"), "{refused}");
    }
}
