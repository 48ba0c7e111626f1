//! Whether a connection's configuration is what its gateway asks for: first by the manifest's
//! schema, then, when the gateway can tell, by one harmless call to the provider.
//!
//! Nothing that is said here repeats a value: most of them are secrets.

use std::sync::Arc;

use serde_json::{Map, Value};
use switchyard_core::environment::Environment;
use switchyard_gateway_host::{self as gateway, Gateways, Operation, Version};

use super::contract::connections::ConfigCheck;
use super::schema_checks;
use crate::error::{ApiError, ErrorCode, Problem};
use crate::reason::Reason;

/// The configuration with its defaults filled in, if it fits the schema. All that does not fit is
/// named.
pub fn validated(schema: &Value, config: &Value) -> Result<Value, ApiError> {
    let mut problems = Vec::new();
    let mut fitted = config.as_object().cloned().unwrap_or_default();
    if !config.is_object() {
        problems.push(
            problem("config", "The configuration is a JSON object.")
                .because(Reason::ConfigWrongType),
        );
    }
    let nothing = Map::new();
    let properties = schema
        .get("properties")
        .and_then(Value::as_object)
        .unwrap_or(&nothing);
    if !schema.is_null() {
        for name in fitted.keys().filter(|name| !properties.contains_key(*name)) {
            let known: Vec<&str> = properties.keys().map(String::as_str).collect();
            let message = format!(
                "The gateway has no configuration field `{name}`; it has: {}.",
                known.join(", ")
            );
            let unknown = problem(&format!("config.{name}"), &message);
            problems.push(unknown.because(Reason::ConfigFieldUnknown));
        }
    }
    let required = schema.get("required").and_then(Value::as_array);
    for (name, property) in properties {
        let is_required =
            required.is_some_and(|names| names.iter().any(|required| required == name));
        match (fitted.get(name), property.get("default")) {
            (Some(Value::String(text)), _) if is_required && text.trim().is_empty() => {
                problems.push(missing(name));
            }
            (Some(value), _) => problems.extend(invalid_value(name, property, value)),
            (None, Some(default)) => drop(fitted.insert(name.clone(), default.clone())),
            (None, None) if is_required => {
                problems.push(missing(name));
            }
            (None, None) => {}
        }
    }
    ApiError::of(problems).map_or(Ok(Value::Object(fitted)), Err)
}

/// Check of credentials before they are stored.
pub struct Check<'c> {
    pub gateways: &'c Gateways,
    pub version: &'c Arc<Version>,
    pub environment: Environment,
    /// The operator knows that the provider is down.
    pub skip: bool,
    /// The operator wants the connection enabled although the provider cannot be asked.
    pub enable_unchecked: bool,
}

impl Check<'_> {
    /// Queries the provider whether the credentials work. Returns its answer and whether the
    /// connection may be enabled; an error when the provider refuses them. Credentials that cannot
    /// be checked are stored.
    pub async fn of(&self, config: &Value) -> Result<(ConfigCheck, bool), ApiError> {
        let not_checked = |why: &str, message: Option<&str>| ConfigCheck::NotChecked {
            why: why.to_owned(),
            message: message.map(str::to_owned),
        };
        if self.skip {
            return Ok((not_checked("as asked for", None), true));
        }
        if !self.version.has(Operation::CheckConfig) {
            let why = "the gateway cannot tell without moving money";
            return Ok((not_checked(why, Some(UNTESTED)), true));
        }
        let asked = self
            .gateways
            .check_config(self.version, self.environment, config);
        match asked.await {
            Ok(gateway::ConfigCheck::Works { account }) => {
                let message = match &account {
                    Some(account) => format!("These keys work: account {account}."),
                    None => "These keys work.".to_owned(),
                };
                Ok((ConfigCheck::Works { account, message }, true))
            }
            Ok(gateway::ConfigCheck::Refused { message, field }) => {
                let field =
                    field.map_or_else(|| "config".to_owned(), |field| format!("config.{field}"));
                let sentence = format!("The provider refuses these credentials: {message}");
                let because = Reason::CredentialsRefused.with("detail", message);
                Err(problem(&field, &sentence).because(because).into())
            }
            Err(why) => {
                let message = (!self.enable_unchecked).then_some(DISABLED);
                Ok((not_checked(&why, message), self.enable_unchecked))
            }
        }
    }
}

/// Refusal of credentials that could not be checked, for a connection in use: it keeps its present
/// ones.
pub fn unchecked(check: Option<&ConfigCheck>) -> ApiError {
    let why = match check {
        Some(ConfigCheck::NotChecked { why, .. }) => why.as_str(),
        _ => "no reason is known",
    };
    let message = format!(
        "The credentials could not be checked, so the connection keeps those that it has: {why}. Try \
         again, or set `enable_unchecked` to store them unchecked."
    );
    let unchecked = problem("config", &message);
    unchecked.because(Reason::CredentialsUnchecked).into()
}

const UNTESTED: &str = "The gateway has no check: the credentials are untested.";
const DISABLED: &str = "The credentials could not be checked, so the connection is disabled. Save \
    them again to check them, or enable the connection.";

fn invalid_value(name: &str, property: &Value, value: &Value) -> Option<Problem> {
    let field = format!("config.{name}");
    let kind = property
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let fits = match kind {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "boolean" => value.is_boolean(),
        _ => true,
    };
    if !fits {
        let wrong = problem(&field, &format!("`{name}` has to be of type {kind}."));
        return Some(wrong.because(Reason::ConfigWrongType));
    }
    let wrong = match property.get("enum").and_then(Value::as_array) {
        Some(allowed) if !allowed.contains(value) => {
            let names: Vec<String> = allowed.iter().map(Value::to_string).collect();
            let names = names.join(", ");
            let because = Reason::ConfigChoice.with("allowed", &names);
            Some((format!("has to be one of {names}"), because))
        }
        _ => schema_checks::problem(property, value),
    };
    wrong.map(|(wrong, because)| problem(&field, &format!("`{name}` {wrong}.")).because(because))
}

fn missing(name: &str) -> Problem {
    let message = format!("The gateway needs `{name}`.");
    problem(&format!("config.{name}"), &message).because(Reason::ConfigRequired)
}

fn problem(field: &str, message: &str) -> Problem {
    Problem::new(ErrorCode::FieldInvalid, message.to_owned()).at(field.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> Value {
        json!({
            "type": "object",
            "required": ["api_key"],
            "properties": {
                "api_key": { "type": "string", "writeOnly": true },
                "region": { "type": "string", "enum": ["eu", "us"], "default": "eu" },
                "shop": { "type": "integer" },
            },
        })
    }

    fn refused(config: &Value) -> Vec<(String, String)> {
        let error = validated(&schema(), config).unwrap_err();
        let said = error.problems().iter();
        said.map(|problem| {
            (
                problem.field.clone().unwrap_or_default().into_owned(),
                problem.message.clone().into_owned(),
            )
        })
        .collect()
    }

    #[test]
    fn defaults_are_filled_in() {
        let config = validated(&schema(), &json!({ "api_key": "k" })).unwrap();
        assert_eq!(config, json!({ "api_key": "k", "region": "eu" }));
        assert_eq!(
            validated(&Value::Null, &json!({ "any": 1 })).unwrap(),
            json!({ "any": 1 })
        );
    }

    #[test]
    fn a_required_text_is_not_blank() {
        assert_eq!(refused(&json!({ "api_key": " " }))[0].0, "config.api_key");
    }

    #[test]
    fn everything_that_does_not_fit_is_named_at_once_and_no_value_is_repeated() {
        let said = refused(&json!({ "region": "hunter2", "shop": "hunter2", "colour": "hunter2" }));
        let fields: Vec<&str> = said.iter().map(|(field, _)| field.as_str()).collect();
        assert_eq!(
            fields,
            [
                "config.colour",
                "config.api_key",
                "config.region",
                "config.shop"
            ]
        );
        assert!(said.iter().all(|(_, message)| !message.contains("hunter2")));
        assert_eq!(refused(&json!("hunter2"))[0].0, "config");
    }
}
