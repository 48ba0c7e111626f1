//! Fields for the credentials of a gateway.

use axum::extract::State;
use serde_json::{Map, Value};
use switchyard_gateway_host::{Operation, Version};

use super::contract::connections::{ConfigForm, FormField};
use super::error::{Answer, not_found};
use super::gateways::Name;
use super::input::ok;
use crate::openapi::Success;
use crate::state::ApiState;

/// Retrieve the form for the credentials of a gateway
///
/// The fields of `config` of a connection.
#[utoipa::path(
    get,
    path = "/gateways/{gateway}/form",
    operation_id = "retrieveConfigForm",
    tag = "Gateways",
    responses((status = 200, description = "The form.", body = Success<ConfigForm>)),
)]
pub async fn show(State(state): State<ApiState>, Name(name): Name) -> Answer {
    let version = state.engine().gateways().current(&name);
    let version = version.ok_or_else(|| not_found("gateway"))?;
    ok("Form fetched successfully", &config_form(&version))
}

/// The form for the credentials of a version.
pub fn config_form(version: &Version) -> ConfigForm {
    let manifest = &version.manifest;
    ConfigForm {
        gateway: manifest.name.clone(),
        title: manifest.title.clone(),
        fields: fields(&manifest.config),
        can_be_checked: version.has(Operation::CheckConfig),
        methods: manifest.methods.clone(),
    }
}

fn fields(schema: &Value) -> Vec<FormField> {
    let nothing = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object);
    let required = schema.get("required").and_then(Value::as_array);
    let is_required =
        |name: &str| required.is_some_and(|names| names.iter().any(|required| required == name));
    let properties = properties.unwrap_or(&nothing).iter();
    let mut fields: Vec<_> = properties
        .map(|(name, property)| field(name, property, is_required(name)))
        .collect();
    fields.sort_by_key(|field| !field.is_required);
    fields
}

fn field(name: &str, property: &Value, is_required: bool) -> FormField {
    let text = |keyword: &str| property.get(keyword).and_then(Value::as_str);
    let keywords = KEYWORDS.into_iter().filter_map(|keyword| {
        let value = property.get(keyword)?.clone();
        Some((keyword.to_owned(), value))
    });
    FormField {
        name: name.to_owned(),
        title: text("title").unwrap_or(name).to_owned(),
        r#type: text("type").map(str::to_owned),
        is_required,
        is_secret: property.get("writeOnly") == Some(&Value::Bool(true)),
        keywords: keywords.collect(),
    }
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
    use serde_json::json;

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
            serde_json::to_value(form).unwrap(),
            json!([
                {
                    "name": "token", "title": "API token", "type": "string", "is_required": true,
                    "is_secret": true,
                },
                {
                    "name": "region", "title": "region", "type": "string", "is_required": false,
                    "is_secret": false, "enum": ["eu", "us"], "default": "eu",
                },
            ])
        );
        assert_eq!(fields(&Value::Null), []);
    }
}
