//! Fields of a connection's forms: those of the gateway's manifest, and the methods.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::super::form::Fields;
use super::super::installation::view::{Choice, Input, InputKind};
use super::super::page::Page;
use super::super::problems::Problems;
use super::named;
use crate::operator::contract::connections::{ConfigForm, FormField};

/// Fields for the credentials. Secrets are not shown again after an error.
pub fn config_inputs(
    page: &Page,
    form: &ConfigForm,
    typed: Option<&Fields>,
    problems: &Problems,
) -> Vec<Input> {
    let inputs = form.fields.iter().map(|field| {
        let input = config_input(page, field, typed);
        problems.beside(input)
    });
    inputs.collect()
}

fn config_input(page: &Page, field: &FormField, typed: Option<&Fields>) -> Input {
    let name = input_name(field);
    let label = match field.is_required || is_flag(field) {
        true => field.title.clone(),
        false => {
            let values = [("field", field.title.as_str())];
            page.text().with("console-optional", &values)
        }
    };
    let value = match typed {
        Some(typed) => typed.text(&name).to_owned(),
        None => default_of(field),
    };
    let (kind, options) = match allowed(field) {
        Some(allowed) => (
            InputKind::Select,
            options(&allowed, &value, field.is_required),
        ),
        None if is_flag(field) => (InputKind::Box, Vec::new()),
        None if field.is_secret => (InputKind::Secret, Vec::new()),
        None => (InputKind::Line, Vec::new()),
    };
    let description = field.keywords.get("description").and_then(Value::as_str);
    Input {
        name,
        label,
        hint: description.map(str::to_owned),
        value,
        kind,
        options,
        is_required: field.is_required && kind != InputKind::Box,
        ..Input::default()
    }
}

fn input_name(field: &FormField) -> String {
    format!("config.{}", field.name)
}

fn is_flag(field: &FormField) -> bool {
    field.r#type.as_deref() == Some("boolean")
}

/// Default of a field as text. A flag that is off by default is empty.
fn default_of(field: &FormField) -> String {
    match field.keywords.get("default") {
        None | Some(Value::Null | Value::Bool(false)) => String::new(),
        Some(Value::Bool(true)) => "yes".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

fn allowed(field: &FormField) -> Option<Vec<String>> {
    let values = field.keywords.get("enum")?.as_array()?;
    let values = values.iter().map(|value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    });
    Some(values.collect())
}

fn options(allowed: &[String], value: &str, is_required: bool) -> Vec<Choice> {
    let none = (!is_required || value.is_empty()).then(String::new);
    let values = none.into_iter().chain(allowed.iter().cloned());
    let choice = |one: String| Choice {
        name: match one.is_empty() {
            true => "–".to_owned(),
            false => one.clone(),
        },
        is_chosen: one == value,
        value: one,
    };
    values.map(choice).collect()
}

/// The credentials of a form, as the gateway's schema types them. Empty fields are left out: the
/// schema says whether they are required.
pub fn config(form: &ConfigForm, fields: &Fields) -> Value {
    let mut config = Map::new();
    for field in &form.fields {
        let text = fields.text(&input_name(field));
        let value = match field.r#type.as_deref() {
            Some("boolean") => Value::Bool(!text.is_empty()),
            _ if text.is_empty() => continue,
            Some("integer") => match text.parse::<i64>() {
                Ok(number) => Value::from(number),
                Err(_) => Value::from(text),
            },
            _ => Value::from(text),
        };
        config.insert(field.name.clone(), value);
    }
    Value::Object(config)
}

/// Codes of the gateway's methods, each once.
fn codes(form: &ConfigForm) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let codes = form.methods.iter().map(|method| method.code.clone());
    codes.filter(|code| seen.insert(code.clone())).collect()
}

/// Check boxes of the methods. `None`: the gateway lists none.
pub fn methods_input(
    page: &Page,
    form: &ConfigForm,
    is_chosen: impl Fn(&str) -> bool,
    problems: &Problems,
) -> Option<Input> {
    let options = codes(form).into_iter().map(|code| Choice {
        name: named(page, &code),
        is_chosen: is_chosen(&code),
        value: code,
    });
    let options: Vec<_> = options.collect();
    if options.is_empty() {
        return None;
    }
    let input = Input {
        kind: InputKind::Boxes,
        options,
        ..Input::line(page, "methods", "console-methods", "")
    };
    let input = input.with_hint(Some(page.text().say("console-connection-methods-hint")));
    Some(problems.beside(input))
}

/// Chosen methods of a form. All of them mean: also those of later versions. `Err`: none is chosen.
pub fn chosen_methods(
    page: &Page,
    form: &ConfigForm,
    fields: &Fields,
) -> Result<Option<Vec<String>>, Problems> {
    let codes = codes(form);
    let chosen: Vec<String> = fields.all("methods").map(str::to_owned).collect();
    if codes.iter().all(|code| chosen.contains(code)) {
        return Ok(None);
    }
    if chosen.is_empty() {
        let text = page.text().say("console-connection-methods-none");
        return Err(Problems::one("methods", text));
    }
    Ok(Some(chosen))
}
