//! Fields that a payer fills in for a method, and their validation.
//!
//! Asked for is only what the method or its gateway needs and the merchant has not given. A number
//! is always shown, filled in when it is known: many people pay with another wallet than the one
//! that the shop knows.

use std::collections::BTreeMap;

use switchyard_core::directory::{Country, phone};
use switchyard_core::email;
use switchyard_core::transaction::{Customer, Restriction, Transaction};
use switchyard_engine::engine::FieldProblem;
use switchyard_gateway_host::manifest::FieldOption;

use super::menu::{GatewayField, PHONE, PaymentOption, country_name};
use super::page_context::PageContext;
use crate::pages::messages;
use switchyard_core::directory::phone::masked;
use switchyard_core::language::Language;

/// Values by field name, as the payer typed them or as they will be used.
pub type Values = BTreeMap<String, String>;

/// One field of the form.
#[derive(Clone, Debug)]
pub struct FormField {
    pub name: String,
    pub label: String,
    pub required: bool,
    pub input: Input,
    pub hint: Option<String>,
    /// Known to us before the payer says anything.
    pub known: Option<String>,
    /// Whether the known value is read-only.
    pub fixed: bool,
    /// Whether the known value came from the merchant. It is not shown in full then.
    pub masked: bool,
    /// Values to choose from, each with its label; empty when the payer types freely.
    pub options: Vec<(String, String)>,
    /// A regular expression that the whole value matches.
    pub pattern: Option<String>,
}

impl FormField {
    /// The value as people read it: the label of an option, otherwise the value itself.
    pub fn shown<'a>(&'a self, value: &'a str) -> &'a str {
        let chosen = self.options.iter().find(|(option, _)| option == value);
        chosen.map_or(value, |(_, label)| label)
    }
}

/// Attributes of the input element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Input {
    pub kind: &'static str,
    pub autocomplete: &'static str,
    pub mode: Option<&'static str>,
}

/// Result of a validation: normalized values, and a message for each invalid field.
#[derive(Clone, Debug, Default)]
pub struct ValidatedForm {
    pub values: Values,
    pub errors: Values,
}

/// Characters of one field. Longer is a mistake or an attack.
pub const MOST_CHARACTERS: usize = 200;

const TEXT: Input = Input {
    kind: "text",
    autocomplete: "on",
    mode: None,
};
const TELEPHONE: Input = Input {
    kind: "tel",
    autocomplete: "tel",
    mode: Some("tel"),
};

/// The customer's own fields, with the tokens by which browsers fill them in (WCAG 1.3.5).
pub(super) const CUSTOMER: [(&str, Input); 8] = [
    (
        "first_name",
        Input {
            autocomplete: "given-name",
            ..TEXT
        },
    ),
    (
        "last_name",
        Input {
            autocomplete: "family-name",
            ..TEXT
        },
    ),
    (
        "email",
        Input {
            kind: "email",
            autocomplete: "email",
            mode: Some("email"),
        },
    ),
    ("phone", TELEPHONE),
    (
        "address",
        Input {
            autocomplete: "street-address",
            ..TEXT
        },
    ),
    (
        "city",
        Input {
            autocomplete: "address-level2",
            ..TEXT
        },
    ),
    (
        "state",
        Input {
            autocomplete: "address-level1",
            ..TEXT
        },
    ),
    (
        "zip",
        Input {
            autocomplete: "postal-code",
            ..TEXT
        },
    ),
];

/// Fields to fill in, in the order of the form.
pub fn needs(
    context: &PageContext,
    way: &PaymentOption,
    country: &'static Country,
) -> Vec<FormField> {
    let mut needs = Vec::new();
    if way.is_tied_to_a_phone() {
        needs.push(number(context, way, country));
    }
    let own = way.method.fields.iter().map(|field| GatewayField {
        name: field.name.clone(),
        label_en: Some(field.label.to_owned()),
        label_fr: None,
        required: field.required,
        options: Vec::new(),
        pattern: None,
    });
    for asked in own.chain(way.asks.iter().cloned()) {
        let done = needs.iter().any(|need: &FormField| need.name == asked.name);
        // The country is chosen before the method.
        if !done
            && asked.name != "country"
            && of_customer(&context.tx.customer, &asked.name).is_none()
        {
            needs.push(text(context.visitor.language, asked));
        }
    }
    needs
}

/// Merchant's value of a field of the customer, by its name. `None`: missing, or no such field.
pub fn of_customer<'a>(customer: &'a Customer, name: &str) -> Option<&'a str> {
    match name {
        "first_name" => Some(&customer.first_name),
        "last_name" => Some(&customer.last_name),
        "email" => Some(&customer.email),
        "phone" => customer.phone.as_ref(),
        "address" => customer.address.as_ref(),
        "city" => customer.city.as_ref(),
        "state" => customer.state.as_ref(),
        "zip" => customer.zip_code.as_ref(),
        _ => None,
    }
    .map(String::as_str)
    .filter(|value| !value.is_empty())
}

fn number(context: &PageContext, way: &PaymentOption, country: &'static Country) -> FormField {
    let fixed = restricted_number(&context.tx);
    let home = format!("+{}", country.dial_code);
    let fits = |number: &&str| match way.is_test {
        true => test_number(number).is_some(),
        false => number.starts_with(&home),
    };
    let tried = context.tx.current_attempt();
    let tried = tried.and_then(|attempt| attempt.phone.as_deref());
    let known = tried
        .filter(fits)
        .or(context.tx.customer.phone.as_deref())
        .filter(fits);
    // Not for everybody who has the link.
    let hidden = known.filter(|_| fixed.is_none());
    let hint = || match (fixed, hidden) {
        (Some(_), _) => context.say("field-msisdn-fixed"),
        (None, Some(known)) => {
            context.say_with("field-msisdn-known", &[("number", &masked(known))])
        }
        (None, None) => context.say_with(
            "field-msisdn-hint",
            &[
                ("country", country_name(country, context.visitor.language)),
                ("dial", country.dial_code),
            ],
        ),
    };
    FormField {
        name: PHONE.to_owned(),
        label: context.say(if way.is_test {
            "field-msisdn-test"
        } else {
            "field-msisdn"
        }),
        required: hidden.is_none(),
        input: TELEPHONE,
        hint: (!way.is_test || fixed.or(hidden).is_some()).then(hint),
        known: fixed.or(known).map(str::to_owned),
        fixed: fixed.is_some(),
        masked: fixed.or(hidden).is_some(),
        options: Vec::new(),
        pattern: None,
    }
}

/// Whether the merchant named this number, for the customer or as the only one that may pay.
pub fn given_by_merchant(tx: &Transaction, number: &str) -> bool {
    let named = [restricted_number(tx), tx.customer.phone.as_deref()];
    named.contains(&Some(number))
}

fn restricted_number(tx: &Transaction) -> Option<&str> {
    match &tx.payment()?.restriction {
        Some(Restriction::Phone { number, .. }) => Some(number),
        _ => None,
    }
}

fn text(language: Language, asked: GatewayField) -> FormField {
    let of_customer = CUSTOMER.iter().find(|(name, _)| *name == asked.name);
    let by_language = match language {
        Language::En => asked.label_en.clone(),
        Language::Fr => asked.label_fr.or(asked.label_en),
    };
    let label = match of_customer {
        Some((name, _)) => messages::say(language, &format!("field-{name}")),
        None => by_language.unwrap_or_else(|| asked.name.replace('_', " ")),
    };
    FormField {
        label,
        required: asked.required,
        input: of_customer.map_or(
            Input {
                autocomplete: "off",
                ..TEXT
            },
            |(_, input)| *input,
        ),
        hint: None,
        known: None,
        fixed: false,
        masked: false,
        options: labelled(language, &asked.options),
        pattern: asked.pattern,
        name: asked.name,
    }
}

fn labelled(language: Language, options: &[FieldOption]) -> Vec<(String, String)> {
    let label = |option: &FieldOption| option.label(language.code()).to_owned();
    let options = options.iter();
    options
        .map(|option| (option.value.clone(), label(option)))
        .collect()
}

/// Validates the payer's values. Read-only values are unchanged.
pub fn check(
    context: &PageContext,
    way: &PaymentOption,
    country: &'static Country,
    needs: &[FormField],
    given: &Values,
) -> ValidatedForm {
    let mut checked = ValidatedForm::default();
    for need in needs {
        let typed = given.get(&need.name).map(|value| value.trim());
        let value = match (&need.known, typed) {
            (Some(known), _) if need.fixed => known,
            // The number that the merchant gave is not shown: a field that is left empty means it.
            (Some(known), None | Some("")) if need.masked => known,
            (_, typed) => typed.unwrap_or_default(),
        };
        if value.is_empty() {
            if need.required {
                let error = context.say_with("error-required", &[("field", &need.label)]);
                checked.errors.insert(need.name.clone(), error);
            }
            continue;
        }
        let result = if value.chars().count() > MOST_CHARACTERS {
            let most = MOST_CHARACTERS.to_string();
            Err(context.say_with("error-long", &[("most", &most)]))
        } else if need.name == PHONE && !need.fixed {
            wallet_number(context, way, country, value)
        } else {
            ordinary(context, need, country, value)
        };
        match result {
            Ok(value) => checked.values.insert(need.name.clone(), value),
            Err(error) => checked.errors.insert(need.name.clone(), error),
        };
    }
    checked
}

fn ordinary(
    context: &PageContext,
    need: &FormField,
    country: &'static Country,
    value: &str,
) -> Result<String, String> {
    let offered = |(option, _): &(String, String)| option == value;
    if !need.options.is_empty() && !need.options.iter().any(offered) {
        return Err(context.say("error-choice"));
    }
    if FieldProblem::of(need.pattern.as_deref(), &[], value).is_some() {
        return Err(context.say("error-format"));
    }
    match need.input.kind {
        "email" if !email::is_valid(value) => Err(context.say("error-email")),
        "tel" if !need.fixed => {
            phone::normalise(value, Some(country.alpha2)).ok_or_else(|| context.say("error-phone"))
        }
        _ => Ok(value.to_owned()),
    }
}

/// The number of a wallet: of the country that the payer chose. In sandbox providers have test
/// numbers of their own that fit no plan.
fn wallet_number(
    context: &PageContext,
    way: &PaymentOption,
    country: &'static Country,
    value: &str,
) -> Result<String, String> {
    if let Some(number) = test_number(value).filter(|_| way.is_test) {
        return Ok(number);
    }
    let value = &phone::plain_digits(value);
    let normal = phone::normalise(value, Some(country.alpha2));
    if context.is_sandbox() {
        let digits = value.chars().filter(char::is_ascii_digit).count();
        let plausible = (5..=20).contains(&digits) && !value.chars().any(char::is_alphabetic);
        let number = normal.or_else(|| plausible.then(|| value.to_owned()));
        return number.ok_or_else(|| context.say("error-phone"));
    }
    let number = normal.ok_or_else(|| {
        let is_old = country.alpha2 == "BJ" && phone::is_old_number_of_benin(value);
        context.say(if is_old {
            "error-phone-benin"
        } else {
            "error-phone"
        })
    })?;
    if number.starts_with(&format!("+{}", country.dial_code)) {
        return Ok(number);
    }
    let values = [
        ("country", country_name(country, context.visitor.language)),
        ("dial", country.dial_code),
    ];
    Err(context.say_with("error-phone-country", &values))
}

/// The numbers that decide a test (docs/contract/test-gateway.md), however they are written. They
/// are American, whatever the country of the method.
fn test_number(text: &str) -> Option<String> {
    let text = phone::plain_digits(text);
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let national = digits
        .strip_prefix('1')
        .filter(|rest| rest.len() == 10)
        .unwrap_or(&digits);
    TEST_NUMBERS
        .contains(&national)
        .then(|| format!("+1{national}"))
}

pub const TEST_NUMBERS: [&str; 3] = ["4149518161", "4149518162", "4149518163"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkout::tests::samples;
    use switchyard_core::directory::country;
    use switchyard_core::environment::Environment;

    fn live() -> PageContext {
        let mut tx = samples::payment_in("XOF");
        tx.environment = Environment::Live;
        samples::context(tx, Language::En)
    }

    fn number_of(context: &PageContext, is_test: bool, text: &str) -> Result<String, String> {
        let way = samples::way("mtn_bj", is_test);
        let benin = country("BJ").unwrap();
        let needs = needs(context, &way, benin);
        let given = Values::from([(PHONE.to_owned(), text.to_owned())]);
        let mut checked = check(context, &way, benin, &needs, &given);
        match checked.errors.remove(PHONE) {
            Some(error) => Err(error),
            None => Ok(checked.values.remove(PHONE).unwrap()),
        }
    }

    #[test]
    fn an_old_number_of_benin_is_explained() {
        let explained = |language| {
            let mut context = live();
            context.visitor.language = language;
            number_of(&context, false, "97 80 80 80").unwrap_err()
        };
        for (language, words) in [
            (Language::En, "Write 01 before your old number"),
            (Language::Fr, "Écrivez 01 devant votre ancien numéro"),
        ] {
            let said = explained(language);
            assert!(said.contains(words), "{said}");
        }
        let new = number_of(&live(), false, "01 97 80 80 80");
        assert_eq!(new, Ok("+2290197808080".to_owned()));
    }

    #[test]
    fn a_wallets_number_is_one_of_its_country() {
        let context = live();
        for text in [
            "0197000000",
            "01 97 00 00 00",
            "+229 01 97 00 00 00",
            "2290197000000",
        ] {
            assert_eq!(
                number_of(&context, false, text),
                Ok("+2290197000000".to_owned()),
                "{text}"
            );
        }
        assert!(
            number_of(&context, false, "+33612345678")
                .unwrap_err()
                .contains("Benin")
        );
        assert!(
            number_of(&context, false, "12")
                .unwrap_err()
                .contains("phone number")
        );
        assert!(number_of(&context, false, "<script>").is_err());
        assert!(
            number_of(&context, false, "  ")
                .unwrap_err()
                .contains("fill this in")
        );
        assert!(
            number_of(&context, false, &"9".repeat(500))
                .unwrap_err()
                .contains("at most 200")
        );
    }

    #[test]
    fn the_test_numbers_are_american_whatever_the_country() {
        let context = samples::context(samples::payment_in("XOF"), Language::En);
        for text in ["4149518161", "+1 (414) 951-8161", "1 414 951 8161"] {
            assert_eq!(
                number_of(&context, true, text),
                Ok("+14149518161".to_owned()),
                "{text}"
            );
        }
        // Another gateway's sandbox has test numbers that fit no plan.
        assert_eq!(
            number_of(&context, false, "46733123453999"),
            Ok("46733123453999".to_owned())
        );
    }

    #[test]
    fn only_what_is_missing_is_asked_for() {
        let mut way = samples::way("card_xof", false);
        let asked = |name: &str| GatewayField {
            name: name.into(),
            label_en: None,
            label_fr: None,
            required: true,
            options: Vec::new(),
            pattern: None,
        };
        way.asks = ["email", "first_name", "city", "country", "tax_number"]
            .map(asked)
            .to_vec();
        let mut context = live();
        let benin = country("BJ").unwrap();
        let names = |context: &PageContext| {
            needs(context, &way, benin)
                .into_iter()
                .map(|need| need.name)
                .collect::<Vec<_>>()
        };
        assert_eq!(names(&context), ["city", "tax_number"]);
        std::sync::Arc::make_mut(&mut context.tx).customer.city = Some("Cotonou".into());
        assert_eq!(names(&context), ["tax_number"]);
        way.asks.clear();
        assert!(needs(&context, &way, benin).is_empty());
    }

    #[test]
    fn a_known_number_is_filled_in_only_where_it_can_be_a_wallet() {
        let mut context = live();
        let way = samples::way("mtn_bj", false);
        let known = |context: &PageContext| {
            needs(context, &way, country("BJ").unwrap())[0]
                .known
                .clone()
        };
        std::sync::Arc::make_mut(&mut context.tx).customer.phone = Some("+33612345678".into());
        assert_eq!(known(&context), None);
        std::sync::Arc::make_mut(&mut context.tx).customer.phone = Some("+2290197000000".into());
        assert_eq!(known(&context).as_deref(), Some("+2290197000000"));
    }

    #[test]
    fn a_known_number_is_not_shown_and_is_meant_by_an_empty_field() {
        let mut context = live();
        let tx = std::sync::Arc::make_mut(&mut context.tx);
        tx.customer.phone = Some("+2290197000000".into());
        let way = samples::way("mtn_bj", false);
        let need = &needs(&context, &way, country("BJ").unwrap())[0];
        let hint = need.hint.as_deref().unwrap_or_default();
        assert!(
            hint.contains("••••\u{a0}0000") && !hint.contains("197000000"),
            "{hint}"
        );
        assert!(need.masked && !need.required);
        assert_eq!(
            number_of(&context, false, ""),
            Ok("+2290197000000".to_owned())
        );
        assert!(given_by_merchant(&context.tx, "+2290197000000"));
        assert!(!given_by_merchant(&context.tx, "+2290196111111"));
    }

    #[test]
    fn a_number_that_the_merchant_fixed_stays_whatever_the_form_says() {
        let mut context = live();
        if let switchyard_core::transaction::Details::Payment(payment) =
            &mut std::sync::Arc::make_mut(&mut context.tx).details
        {
            let number = "+2290197000000".to_owned();
            payment.restriction = Some(Restriction::Phone {
                number,
                country_code: "BJ".into(),
            });
        }
        assert_eq!(
            number_of(&context, false, "+2290196111111"),
            Ok("+2290197000000".to_owned())
        );
    }

    #[test]
    fn a_field_with_options_takes_one_of_them_and_nothing_else() {
        let context = live();
        let mut way = samples::way("ussd_ngn", false);
        way.asks = vec![samples::bank()];
        let nigeria = country("NG").unwrap();
        let needs = needs(&context, &way, nigeria);
        assert_eq!(needs[0].options[1], ("058".to_owned(), "GTBank".to_owned()));
        let error = |value: &str| {
            let given = Values::from([("account_bank".to_owned(), value.to_owned())]);
            let mut checked = check(&context, &way, nigeria, &needs, &given);
            checked.errors.remove("account_bank")
        };
        assert_eq!(error("058"), None);
        assert!(error("GTBank").unwrap().contains("from the list"));
        assert!(error("").unwrap().contains("fill this in"));
    }
}
