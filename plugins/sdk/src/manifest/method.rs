//! Methods of a manifest: their limits, their fields, and the time that an attempt takes.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{ManifestError, check_direction, is_code, refuse, shortened};
use crate::input::Direction;
use crate::outcome::{Prompt, Texts};

/// One way to move money by this gateway.
///
/// ```
/// use switchyard_gateway::Prompt;
/// use switchyard_gateway::manifest::Method;
///
/// let method: Method = serde_json::from_str(r#"{
///     "code": "mtn_bj", "direction": "collect", "currency": "XOF", "countries": ["BJ"],
///     "min": "100", "max": "2000000", "decimals": 0, "prompt": "auto",
///     "attempt_ends_after_s": 900, "usual_s": 30,
///     "wake": { "en": "Dial *880# and choose Approvals" }
/// }"#)?;
/// assert_eq!((method.prompt, method.usual_s), (Some(Prompt::Auto), Some(30)));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Method {
    /// The engine's code; `{service}` in it stands for the installation's own code.
    pub code: String,
    pub direction: Direction,
    pub currency: String,
    /// Two letters each, or `World`.
    pub countries: Vec<String>,
    /// Limits in major units, as decimals.
    #[serde(default)]
    pub min: Option<String>,
    #[serde(default)]
    pub max: Option<String>,
    #[serde(default)]
    pub decimals: Option<u8>,
    #[serde(default)]
    pub fields: Vec<Field>,
    #[serde(default)]
    pub prompt: Option<Prompt>,
    /// Seconds from the beginning of an attempt after which the provider moves no money for it any
    /// more: its prompt or page is no longer valid. 1 to 2,592,000 (30 days). Leave it out unless
    /// the provider guarantees it: the engine starts the next attempt on the strength of it.
    #[serde(default)]
    pub attempt_ends_after_s: Option<u64>,
    /// Seconds that a payer usually takes, 1 to 86,400. Pages choose their words by it.
    #[serde(default)]
    pub usual_s: Option<u64>,
    /// Text that tells the payer how to call the prompt up again, by language; `en` is required
    /// when there is any.
    #[serde(default)]
    pub wake: Texts,
}

/// An input that the payer or the recipient fills in.
///
/// ```
/// use switchyard_gateway::manifest::Field;
///
/// let account: Field = serde_json::from_str(r#"{
///     "name": "account", "pattern": "[0-9]{10}",
///     "label": { "en": "Account number", "fr": "Numéro de compte" }
/// }"#)?;
/// assert!(account.required, "unless it has `\"required\": false`");
/// let bank: Field = serde_json::from_str(r#"{ "name": "bank", "options_from": "banks" }"#)?;
/// assert_eq!(bank.options_from.as_deref(), Some("banks"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Field {
    pub name: String,
    #[serde(default)]
    pub label: Texts,
    #[serde(default)]
    pub pattern: Option<String>,
    #[serde(default = "yes")]
    pub required: bool,
    /// The values to choose from, at most 200; empty when the payer types freely.
    #[serde(default)]
    pub options: Vec<FieldOption>,
    /// The name of a list that the gateway's operation `options` returns, in place of `options`.
    /// While there is no list, the payer types freely.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options_from: Option<String>,
}

/// One value of a field with the text that people read.
///
/// ```
/// use switchyard_gateway::manifest::FieldOption;
///
/// let savings: FieldOption = serde_json::from_str(r#"{
///     "value": "S", "label": { "en": "Savings account", "fr": "Compte d'épargne" }
/// }"#)?;
/// assert_eq!((savings.value.as_str(), savings.label("fr")), ("S", "Compte d'épargne"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FieldOption {
    /// The text that the gateway receives: 1 to 100 characters.
    pub value: String,
    /// Label by language; `en` is required.
    pub label: Texts,
}

impl Field {
    /// Whether the field accepts this value: any value when it has no options.
    ///
    /// ```
    /// use switchyard_gateway::OptionList;
    /// use switchyard_gateway::manifest::Field;
    ///
    /// let mut bank: Field = serde_json::from_str(r#"{ "name": "bank" }"#)?;
    /// assert!(bank.offers("any text"));
    /// bank.options = OptionList::named([("058".to_owned(), "GTBank".to_owned())]).options;
    /// assert!(bank.offers("058") && !bank.offers("999"));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn offers(&self, value: &str) -> bool {
        self.options.is_empty() || self.options.iter().any(|option| option.value == value)
    }
}

impl FieldOption {
    /// The label in this language, else in English.
    ///
    /// ```
    /// use switchyard_gateway::OptionList;
    ///
    /// let banks = OptionList::named([("058".to_owned(), "GTBank".to_owned())]);
    /// // The name of a bank has no translation.
    /// assert_eq!(banks.options[0].label("fr"), "GTBank");
    /// ```
    pub fn label(&self, language: &str) -> &str {
        let label = self.label.get(language).or_else(|| self.label.get("en"));
        label.map_or(&self.value, String::as_str)
    }
}

/// Checks all methods of a manifest.
pub(super) fn check(methods: &[Method]) -> Result<(), ManifestError> {
    let mut seen = BTreeSet::new();
    for method in methods {
        let code = shortened(&method.code);
        if !is_code(&method.code.replace("{service}", "service")) {
            return refuse(format!("has the method code `{code}`: use a-z, 0-9 and _"));
        }
        if !seen.insert((method.direction, &method.code)) {
            return refuse(format!(
                "has the method `{code}` twice in one direction: merge the two"
            ));
        }
        check_place(method, &code)?;
        check_amounts(method, &code)?;
        check_times(method, &code)?;
        for field in &method.fields {
            check_field(field, &code)?;
        }
    }
    Ok(())
}

fn check_place(method: &Method, code: &str) -> Result<(), ManifestError> {
    if !is_upper(&method.currency, 3) {
        return refuse(format!(
            "has the currency `{}` on method `{code}`: write the three letters of ISO 4217",
            shortened(&method.currency)
        ));
    }
    let is_place = |country: &String| is_upper(country, 2) || country == EVERYWHERE;
    if method.countries.is_empty() || !method.countries.iter().all(is_place) {
        return refuse(format!(
            "has method `{code}` with countries that are not two letters of ISO 3166 each (or \
             `World`), or with none"
        ));
    }
    Ok(())
}

fn check_amounts(method: &Method, code: &str) -> Result<(), ManifestError> {
    for limit in [&method.min, &method.max].into_iter().flatten() {
        if !is_decimal(limit) {
            return refuse(format!(
                "has a limit on method `{code}` that is no decimal such as \"100.00\""
            ));
        }
    }
    if method.decimals.is_some_and(|decimals| decimals > 8) {
        return refuse(format!("gives method `{code}` more than 8 decimals"));
    }
    Ok(())
}

fn check_times(method: &Method, code: &str) -> Result<(), ManifestError> {
    let out_of = |seconds: Option<u64>, max: u64| seconds.is_some_and(|s| !(1..=max).contains(&s));
    if out_of(method.attempt_ends_after_s, MAX_ATTEMPT_S) {
        return refuse(format!(
            "has `attempt_ends_after_s` on method `{code}` outside of 1 to {MAX_ATTEMPT_S}: write \
             seconds, or leave it out"
        ));
    }
    if out_of(method.usual_s, MAX_USUAL_S) {
        return refuse(format!(
            "has `usual_s` on method `{code}` outside of 1 to {MAX_USUAL_S}: write seconds, or \
             leave it out"
        ));
    }
    let ends = method.attempt_ends_after_s.unwrap_or(u64::MAX);
    if method.usual_s.is_some_and(|usual| usual > ends) {
        return refuse(format!(
            "has `usual_s` on method `{code}` longer than its `attempt_ends_after_s`: correct one \
             of them"
        ));
    }
    check_texts(&method.wake, MAX_WAKE_CHARACTERS, || {
        format!("`wake` of method `{code}`")
    })
}

fn check_field(field: &Field, code: &str) -> Result<(), ManifestError> {
    let name = shortened(&field.name);
    if !is_code(&field.name) {
        return refuse(format!(
            "has the field `{name}` on method `{code}`: use a-z, 0-9 and _"
        ));
    }
    if let Some(source) = &field.options_from {
        let quoted = shortened(source);
        if !is_code(source) {
            return refuse(format!(
                "has `options_from` `{quoted}` in the field `{name}` on method `{code}`: use a-z, \
                 0-9 and _"
            ));
        }
        if !field.options.is_empty() {
            return refuse(format!(
                "has both `options` and `options_from` in the field `{name}` on method `{code}`: \
                 leave one out"
            ));
        }
    }
    check_options(
        &field.options,
        &format!("field `{name}` on method `{code}`"),
    )
}

/// Checks a list of options, of a manifest or from the operation `options`. `place` is where it is.
///
/// ```
/// use switchyard_gateway::OptionList;
/// use switchyard_gateway::manifest::check_options;
///
/// let twice = ["058", "058"].map(|code| (code.to_owned(), "GTBank".to_owned()));
/// let refused = check_options(&OptionList::named(twice).options, "list `banks`");
/// assert!(refused.unwrap_err().to_string().contains("twice"));
/// ```
pub fn check_options(options: &[FieldOption], place: &str) -> Result<(), ManifestError> {
    if options.len() > MAX_OPTIONS {
        return refuse(format!(
            "has more than {MAX_OPTIONS} options in the {place}"
        ));
    }
    check_direction(&options)?;
    let mut seen = BTreeSet::new();
    for FieldOption { value, label } in options {
        let quoted = shortened(value);
        let characters = value.chars().count();
        if !(1..=MAX_OPTION_CHARACTERS).contains(&characters) || value.contains(char::is_control) {
            return refuse(format!(
                "has the option `{quoted}` in the {place}: a value is 1 to \
                 {MAX_OPTION_CHARACTERS} characters on one line"
            ));
        }
        if !seen.insert(value) {
            return refuse(format!("has the option `{quoted}` twice in the {place}"));
        }
        let whose = || format!("the label of option `{quoted}` in {place}");
        if label.is_empty() {
            return refuse(format!("lacks {}: write at least `en`", whose()));
        }
        check_texts(label, MAX_OPTION_CHARACTERS, whose)?;
    }
    Ok(())
}

/// Texts by language: none, or at least one in English, each short and not empty.
fn check_texts(
    texts: &Texts,
    max_characters: usize,
    place: impl Fn() -> String,
) -> Result<(), ManifestError> {
    if !texts.is_empty() && !texts.contains_key("en") {
        return refuse(format!("lacks English in {}: add `en`", place()));
    }
    let fits = |text: &String| {
        let characters = text.trim().chars().count();
        (1..=max_characters).contains(&characters) && !text.contains(char::is_control)
    };
    if !texts.values().all(fits) {
        return refuse(format!(
            "has a text in {} that is not 1 to {max_characters} characters on one line",
            place()
        ));
    }
    Ok(())
}

fn is_upper(text: &str, characters: usize) -> bool {
    text.len() == characters && text.bytes().all(|byte| byte.is_ascii_uppercase())
}

fn is_decimal(text: &str) -> bool {
    let (major, fraction) = text.split_once('.').unwrap_or((text, "0"));
    [major, fraction].iter().all(|digits| {
        (1..=18).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
    })
}

fn yes() -> bool {
    true
}

const EVERYWHERE: &str = "World";
/// Payment pages of providers are valid for days at most, vouchers for weeks.
const MAX_ATTEMPT_S: u64 = 30 * 24 * 3_600;
const MAX_USUAL_S: u64 = 24 * 3_600;
/// More values than that need a search, which pages do not have.
const MAX_OPTIONS: usize = 200;
const MAX_OPTION_CHARACTERS: usize = 100;
const MAX_WAKE_CHARACTERS: usize = 300;
