//! `GET /operator/v1/gateways/{gateway}/form`: fields for connecting an app to a gateway.

use axum::extract::State;
use serde_json::{Map, Value, json};
use switchyard_engine::gateway::Operation;

use super::error::{Answer, not_found};
use super::gateways::Name;
use super::input::ok;
use crate::state::ApiState;

/// Required fields first, each group in the order of their names.
pub async fn show(State(state): State<ApiState>, Name(name): Name) -> Answer {
    let version = state.engine.gateways.current(&name);
    let version = version.ok_or_else(|| not_found("gateway"))?;
    let manifest = &version.manifest;
    let view = json!({
        "gateway": manifest.name,
        "title": manifest.title,
        "fields": fields(&manifest.config),
        "can_be_checked": version.has(Operation::CheckConfig),
        "methods": manifest.methods,
    });
    ok("Form fetched successfully", &view)
}

fn fields(schema: &Value) -> Vec<Value> {
    let nothing = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object);
    let required = schema.get("required").and_then(Value::as_array);
    let is_required =
        |name: &str| required.is_some_and(|names| names.iter().any(|required| required == name));
    let mut fields: Vec<(bool, Value)> = properties
        .unwrap_or(&nothing)
        .iter()
        .map(|(name, property)| {
            let is_required = is_required(name);
            (!is_required, field(name, property, is_required))
        })
        .collect();
    fields.sort_by_key(|(is_optional, _)| *is_optional);
    fields.into_iter().map(|(_, field)| field).collect()
}

fn field(name: &str, property: &Value, is_required: bool) -> Value {
    let mut field = json!({
        "name": name,
        "title": property.get("title").and_then(Value::as_str).unwrap_or(name),
        "type": property["type"],
        "is_required": is_required,
        "is_secret": property["writeOnly"] == true,
    });
    for keyword in KEYWORDS {
        if let Some(value) = property.get(keyword) {
            field[keyword] = value.clone();
        }
    }
    field
}

/// Further keywords of a property that a form uses.
const KEYWORDS: [&str; 9] = [
    "description",
    "default",
    "enum",
    "pattern",
    "format",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn required_fields_come_first_and_secrets_are_marked() {
        let form = fields(&json!({
            "required": ["token"],
            "properties": {
                "region": { "type": "string", "enum": ["eu", "us"], "default": "eu" },
                "token": { "type": "string", "title": "API token", "writeOnly": true },
            },
        }));
        assert_eq!(
            form,
            [
                json!({ "name": "token", "title": "API token", "type": "string", "is_required": true, "is_secret": true }),
                json!({
                    "name": "region", "title": "region", "type": "string", "is_required": false, "is_secret": false,
                    "enum": ["eu", "us"], "default": "eu",
                }),
            ]
        );
        assert_eq!(fields(&Value::Null), Vec::<Value>::new());
    }
}
