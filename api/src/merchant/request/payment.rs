//! The request of `POST /v1/payments/initialize` (docs/contract/requests.md).

use std::time::Duration;

use switchyard_core::directory::{Directory, country, phone};
use switchyard_core::environment::Environment;
use switchyard_core::limits::{
    DESCRIPTION_CHARACTERS, MAX_PAYMENT_EXPIRES_IN, MIN_PAYMENT_EXPIRES_IN,
};
use switchyard_core::money::Amount;
use switchyard_core::transaction::{ClientContext, Restriction};
use switchyard_engine::engine::NewPayment;
use url::Url;

use super::form::{Form, LINE, TextRule, verdict};
use super::json::{Object, Value};
use super::{amount, body, customer, metadata};
use crate::error::{ApiError, ErrorCode, Problem};

/// Reads and checks the whole request; all problems are returned at once, in their
/// documented order.
pub fn read(
    body: &[u8],
    directory: &Directory,
    environment: Environment,
    converts: bool,
    context: ClientContext,
) -> Result<NewPayment, ApiError> {
    let object = body::object(body)?;
    let mut problems = Vec::new();
    let mut form = Form::new(&object, &mut problems);
    let amount = amount::read(&mut form);
    let description = form.required_text("description", DESCRIPTION);
    let return_url = return_url(&mut form);
    let customer = customer::read(&mut form);
    let metadata = metadata::read(&mut form);
    // An app that converts may offer methods of any currency.
    let bound = amount.filter(|_| !converts);
    let methods = methods(&mut form, directory, bound);
    let restriction = restriction(&mut form, directory, environment, &methods);
    let expires_in = expires_in(&mut form);
    verdict(problems)?;
    // Without a problem, all required fields are present.
    let (Some(amount), Some(description), Some(return_url), Some(customer)) =
        (amount, description, return_url, customer)
    else {
        return Err(ApiError::internal());
    };
    Ok(NewPayment {
        amount,
        description: description.into_owned(),
        return_url,
        customer,
        metadata,
        methods,
        restriction,
        expires_in,
        context,
    })
}

fn return_url(form: &mut Form<'_, '_>) -> Option<String> {
    let text = form.required_text("return_url", URL)?;
    let text = text.trim();
    let url = Url::parse(text).ok();
    let url = url.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    let fault = match url {
        None => "must be an absolute http or https URL",
        // Browsers show it to the payer, and some do not follow it.
        Some(url) if !url.username().is_empty() || url.password().is_some() => {
            "must have no user name and no password in it"
        }
        Some(_) => return Some(text.to_owned()),
    };
    form.refuse("return_url", ErrorCode::UrlInvalid, fault);
    None
}

/// The offered methods, each once, in the order given. Absent, null and empty: all eligible
/// methods.
fn methods(form: &mut Form<'_, '_>, directory: &Directory, amount: Option<Amount>) -> Vec<String> {
    let list = match form.optional("methods") {
        None => return Vec::new(),
        Some(Value::List(list)) => list,
        Some(other) => {
            form.wrong_type("methods", "a list of method codes", &other);
            return Vec::new();
        }
    };
    let mut methods: Vec<String> = Vec::new();
    for (at, raw) in list.0.into_iter().enumerate() {
        let name = format!("methods.{at}");
        let code = match Value::of(raw) {
            Value::Text(code) => code,
            other => {
                form.wrong_type(&name, "a string", &other);
                continue;
            }
        };
        let Some(method) = directory.payment_method(&code) else {
            form.push(unknown_method(&name, &code, "payment"));
            continue;
        };
        if let Some(amount) = amount.filter(|amount| amount.currency() != method.currency) {
            form.push(other_currency(
                &name,
                &method.code,
                method.currency.code(),
                amount,
            ));
        } else if !methods.contains(&method.code) {
            methods.push(method.code.clone());
        }
    }
    methods
}

fn restriction(
    form: &mut Form<'_, '_>,
    directory: &Directory,
    environment: Environment,
    methods: &[String],
) -> Option<Restriction> {
    let country = country_restriction(form);
    let phone = form.optional("restricted_phone");
    if country.is_some() && phone.is_some() {
        let says = "cannot be sent together with restrict_country_code: send one of them";
        form.refuse("restricted_phone", ErrorCode::RestrictionConflict, says);
        return None;
    }
    let Some(value) = phone else {
        let country_code = country?;
        check_served(form, directory, methods, country_code);
        return Some(Restriction::Country {
            country_code: country_code.to_owned(),
        });
    };
    match value {
        Value::Object(object) => phone_restriction(form, &object, environment),
        other => {
            form.wrong_type("restricted_phone", "an object", &other);
            None
        }
    }
}

fn country_restriction(form: &mut Form<'_, '_>) -> Option<&'static str> {
    let code = form.optional_text("restrict_country_code", LINE)?;
    customer::known_country(form, "restrict_country_code", &code)
}

/// Requested methods of which none exists in the requested country: no payer could use them.
fn check_served(form: &mut Form<'_, '_>, directory: &Directory, methods: &[String], country: &str) {
    let serves = |code: &String| {
        directory
            .payment_method(code)
            .is_some_and(|method| method.serves(country))
    };
    if !methods.is_empty() && !methods.iter().any(serves) {
        let says = format!("is {country}, where none of the given methods exists");
        form.refuse(
            "restrict_country_code",
            ErrorCode::RestrictionUnservable,
            says,
        );
    }
}

fn phone_restriction<'a>(
    form: &mut Form<'_, 'a>,
    object: &Object<'a>,
    environment: Environment,
) -> Option<Restriction> {
    let mut form = form.inner(object, "restricted_phone.");
    let number = form
        .required("number")
        .and_then(|value| form.digits("number", value));
    let country = form
        .required_text("country_code", LINE)
        .and_then(|code| customer::known_country(&mut form, "country_code", &code));
    let number = number.and_then(|number| {
        let parsed = phone::normalise(&number, country);
        let is_number = parsed.is_some() || is_plausible(&number);
        if !is_number {
            form.refuse(
                "number",
                ErrorCode::PhoneInvalid,
                "must be a phone number of 4 to 20 digits",
            );
            return None;
        }
        if let Some(code) = country
            && is_of_another_country(&number, &[code], environment)
        {
            let says = format!("is a phone number of another country than {code}");
            form.refuse("number", ErrorCode::PhoneCountryMismatch, says);
            return None;
        }
        Some(parsed.unwrap_or_else(|| number.trim().to_owned()))
    });
    Some(Restriction::Phone {
        number: number?,
        country_code: country?.to_owned(),
    })
}

/// How long the payment may wait for its payer.
fn expires_in(form: &mut Form<'_, '_>) -> Option<Duration> {
    let wait = match form.optional("expires_in")? {
        // More digits than the longest time has are too many whatever they say.
        Value::Number(number) if number.bytes().all(|byte| byte.is_ascii_digit()) => {
            Duration::from_secs(number.parse().unwrap_or(u64::MAX))
        }
        Value::Number(_) => Duration::ZERO,
        other => {
            form.wrong_type("expires_in", "a number of seconds", &other);
            return None;
        }
    };
    let (soonest, latest) = (MIN_PAYMENT_EXPIRES_IN, MAX_PAYMENT_EXPIRES_IN);
    if (soonest..=latest).contains(&wait) {
        return Some(wait);
    }
    let says = format!(
        "must be a whole number of seconds from {} to {}",
        soonest.as_secs(),
        latest.as_secs()
    );
    form.refuse("expires_in", ErrorCode::ExpiresInOutOfRange, says);
    None
}

/// Whether a number says by its calling code that it belongs to none of `countries` (alpha-2). One
/// without a calling code belongs wherever it fits. In sandbox the numbers of the test gateway
/// belong everywhere.
pub fn is_of_another_country(number: &str, countries: &[&str], environment: Environment) -> bool {
    if environment == Environment::Sandbox && is_test_number(number) {
        return false;
    }
    let is_at_home = |code: &&str| {
        let Some(home) = country(code) else {
            return true;
        };
        let code = format!("+{}", home.dial_code);
        // A number that fits no numbering plan still says its calling code.
        let normalised = phone::normalise(number, Some(home.alpha2));
        let written = normalised.or_else(|| with_calling_code(number));
        written.is_none_or(|number| number.starts_with(&code))
    };
    !countries.is_empty() && !countries.iter().any(is_at_home)
}

/// The digits of a number that is written with its calling code, after a plus sign.
fn with_calling_code(number: &str) -> Option<String> {
    let number = phone::plain_digits(number.trim());
    let rest = number
        .strip_prefix('+')
        .or_else(|| number.strip_prefix("00"))?;
    let digits: String = rest.chars().filter(char::is_ascii_digit).collect();
    Some(format!("+{digits}"))
}

/// The three numbers of the test gateway, which are American ones (docs/contract/test-gateway.md).
pub fn is_test_number(number: &str) -> bool {
    let digits: String = number.chars().filter(char::is_ascii_digit).collect();
    let national = digits.strip_prefix('1').unwrap_or(&digits);
    ["4149518161", "4149518162", "4149518163"].contains(&national)
}

/// Whether a text could be a phone number of a numbering plan that we do not know, such as that of
/// the test gateway.
pub fn is_plausible(number: &str) -> bool {
    let digits = number.bytes().filter(u8::is_ascii_digit).count();
    let number = number.trim();
    let rest = number.strip_prefix('+').unwrap_or(number);
    let is_only = |c: char| c.is_ascii_digit() || " -.()/".contains(c);
    (4..=20).contains(&digits) && rest.chars().all(is_only)
}

pub fn unknown_method(field: &str, code: &str, kind: &str) -> Problem {
    let shown: String = code.chars().take(60).filter(|c| !c.is_control()).collect();
    let message = format!("{field}: there is no {kind} method with the code {shown:?}");
    Problem::new(ErrorCode::MethodUnknown, message)
        .at(field.to_owned())
        .hint(format!("GET /utils/{kind}/methods lists the codes."))
}

pub fn other_currency(field: &str, code: &str, currency: &str, amount: Amount) -> Problem {
    let message = format!(
        "{field}: the method {code} is for {currency}, and the amount is in {}",
        amount.currency()
    );
    Problem::new(ErrorCode::MethodCurrencyMismatch, message).at(field.to_owned())
}

pub const DESCRIPTION: TextRule = TextRule {
    longest: DESCRIPTION_CHARACTERS,
    lines: true,
};
const URL: TextRule = TextRule {
    longest: 2048,
    lines: false,
};
