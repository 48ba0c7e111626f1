//! Page of an HTTP API, from its OpenAPI document.

use serde_json::{Map, Value};

use super::cell;

pub fn page(document: &Value) -> String {
    let info = &document["info"];
    let mut text = format!(
        "# {}\n\n{}\n",
        word(&info["title"]),
        word(&info["description"])
    );
    for tag in list(&document["tags"]) {
        let name = word(&tag["name"]);
        text.push_str(&format!("\n## {name}\n"));
        if let Some(about) = tag["description"].as_str() {
            text.push_str(&format!("\n{about}\n"));
        }
        for (path, operations) in object(&document["paths"]) {
            for (method, operation) in object(operations) {
                if list(&operation["tags"]).contains(&tag["name"]) {
                    text.push_str(&operation_text(document, method, path, operation));
                }
            }
        }
    }
    text.push_str("\n## Objects\n");
    for (name, schema) in object(&document["components"]["schemas"]) {
        text.push_str(&schema_text(name, schema));
    }
    // Addresses of a server.
    text.replace("](/docs/errors)", ERRORS)
        .replace("](/operator/docs/errors)", ERRORS)
        .replace("](/account/docs/errors)", ERRORS)
}

/// End of a link to the page of the error codes.
const ERRORS: &str = "](../errors/README.md)";

fn operation_text(document: &Value, method: &str, path: &str, operation: &Value) -> String {
    let mut text = format!(
        "\n### `{} {path}`\n\n{}.\n",
        method.to_uppercase(),
        word(&operation["summary"]).trim_end_matches('.')
    );
    if let Some(about) = operation["description"].as_str() {
        text.push_str(&format!("\n{about}\n"));
    }
    let parameters = list(&operation["parameters"]);
    if !parameters.is_empty() {
        text.push_str("\n| parameter | in | type | |\n|---|---|---|---|\n");
    }
    for parameter in parameters {
        text.push_str(&format!(
            "| `{}`{} | {} | {} | {} |\n",
            word(&parameter["name"]),
            required(parameter["required"] == true),
            word(&parameter["in"]),
            kind(&parameter["schema"]),
            cell(word(&parameter["description"]))
        ));
    }
    for (media, body) in object(&operation["requestBody"]["content"]) {
        text.push_str(&format!("\nBody: {} (`{media}`)\n", kind(&body["schema"])));
    }
    text.push_str("\n| status | body | |\n|---|---|---|\n");
    for (status, response) in object(&operation["responses"]) {
        let response = resolved(document, response);
        let bodies = object(&response["content"]).map(|(_, body)| kind(&body["schema"]));
        text.push_str(&format!(
            "| {status} | {} | {} |\n",
            bodies.collect::<Vec<_>>().join(", "),
            cell(word(&response["description"]))
        ));
    }
    text
}

fn schema_text(name: &str, schema: &Value) -> String {
    let mut text = format!("\n### {name}\n");
    if let Some(about) = schema["description"].as_str() {
        text.push_str(&format!("\n{about}\n"));
    }
    let parts = parts(schema);
    if parts.iter().all(|part| part["properties"].is_null()) {
        text.push_str(&format!("\n{}\n", kind(schema)));
        return text;
    }
    text.push_str("\n| field | type | |\n|---|---|---|\n");
    for part in parts {
        if let Some(reference) = part["$ref"].as_str() {
            text.push_str(&format!("| all of {} | | |\n", linked(reference)));
        }
        for (field, schema) in object(&part["properties"]) {
            let is_required = list(&part["required"]).iter().any(|name| name == field);
            text.push_str(&format!(
                "| `{field}`{} | {} | {} |\n",
                required(is_required),
                kind(schema),
                cell(word(&schema["description"]))
            ));
        }
    }
    text
}

/// The schema itself, or the parts that it is made of.
fn parts(schema: &Value) -> Vec<&Value> {
    match schema["allOf"].as_array() {
        Some(parts) => parts.iter().collect(),
        None => vec![schema],
    }
}

/// Type of a value, with a link to an object.
fn kind(schema: &Value) -> String {
    if let Some(reference) = schema["$ref"].as_str() {
        return linked(reference);
    }
    for choice in ["oneOf", "anyOf", "allOf"] {
        if let Some(choices) = schema[choice].as_array() {
            let between = if choice == "allOf" { " and " } else { " or " };
            return choices.iter().map(kind).collect::<Vec<_>>().join(between);
        }
    }
    if let Some(words) = schema["enum"].as_array() {
        let words = words
            .iter()
            .map(|word| format!("`{word}`").replace('"', ""));
        return words.collect::<Vec<_>>().join(", ");
    }
    if let Some(constant) = schema.get("const") {
        return format!("`{constant}`").replace('"', "");
    }
    let names = match &schema["type"] {
        Value::Array(names) => names.iter().map(|name| one(word(name), schema)).collect(),
        Value::String(name) => vec![one(name, schema)],
        _ => vec!["any".to_owned()],
    };
    names.join(" or ")
}

fn one(name: &str, schema: &Value) -> String {
    match name {
        "array" => format!("list of {}", kind(&schema["items"])),
        "object" if schema["additionalProperties"].is_object() => {
            format!("object of {}", kind(&schema["additionalProperties"]))
        }
        "object" if schema["properties"].is_object() => {
            let fields = object(&schema["properties"]).map(|(name, _)| format!("`{name}`"));
            format!("object ({})", fields.collect::<Vec<_>>().join(", "))
        }
        "string" => match schema["format"].as_str() {
            Some(format) => format!("string ({format})"),
            None => name.to_owned(),
        },
        _ => name.to_owned(),
    }
}

fn linked(reference: &str) -> String {
    let name = reference.rsplit('/').next().unwrap_or_default();
    format!("[{name}](#{})", name.to_lowercase())
}

fn required(is_required: bool) -> &'static str {
    if is_required { " \\*" } else { "" }
}

fn resolved<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    let reference = value["$ref"]
        .as_str()
        .and_then(|text| text.strip_prefix('#'));
    reference
        .and_then(|at| document.pointer(at))
        .unwrap_or(value)
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn object(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_operation_has_its_parameters_body_and_responses_with_links_to_objects() {
        let document = json!({
            "info": { "title": "Shop API", "description": "About." },
            "tags": [{ "name": "Pots" }],
            "paths": { "/pots/{id}": { "post": {
                "tags": ["Pots"], "summary": "Buy a pot", "description": "At once.",
                "parameters": [{
                    "name": "id", "in": "path", "required": true,
                    "schema": { "type": ["string", "null"] }, "description": "Its | id."
                }],
                "requestBody": { "content": { "application/json": {
                    "schema": { "$ref": "#/components/schemas/Pot" }
                } } },
                "responses": { "404": { "$ref": "#/components/responses/gone" } }
            } } },
            "components": {
                "responses": { "gone": { "description": "No such pot." } },
                "schemas": {
                    "Colour": { "type": "string", "enum": ["blue", "red"] },
                    "Pot": { "type": "object", "required": ["colour"], "properties": {
                        "colour": { "$ref": "#/components/schemas/Colour" },
                        "sizes": { "type": "array", "items": { "type": "integer" } }
                    } }
                }
            }
        });
        let page = page(&document);
        for part in [
            "# Shop API\n\nAbout.\n\n## Pots\n\n### `POST /pots/{id}`\n\nBuy a pot.\n\nAt once.\n",
            "| `id` \\* | path | string or null | Its \\| id. |\n",
            "Body: [Pot](#pot) (`application/json`)\n",
            "| 404 |  | No such pot. |\n",
            "### Colour\n\n`blue`, `red`\n",
            "| `colour` \\* | [Colour](#colour) |  |\n| `sizes` | list of integer |  |\n",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
    }
}
