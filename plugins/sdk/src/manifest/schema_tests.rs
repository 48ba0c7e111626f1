//! The JSON Schema of the manifest, as `gateway.schema.json` has it for editors.

use std::fs;
use std::path::Path;

use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use super::Manifest;

fn schema() -> Value {
    let settings = SchemaSettings::draft07();
    let schema = settings.into_generator().into_root_schema_for::<Manifest>();
    let mut schema = schema.to_value();
    schema["title"] = json!("Manifest of a gateway (gateway.json)");
    // Editors find the schema by it.
    schema["properties"]["$schema"] = json!({ "type": "string" });
    remove_examples(&mut schema);
    schema
}

/// Descriptions are the documentation of the types. Its examples are in Rust, and say nothing to an
/// author of a manifest.
fn remove_examples(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if let Some(Value::String(text)) = fields.get_mut("description") {
                let end = text.find("```").unwrap_or(text.len());
                text.truncate(text[..end].trim_end().len());
            }
            fields.values_mut().for_each(remove_examples);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_examples),
        _ => {}
    }
}

#[test]
fn the_file_has_the_schema_of_the_code() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("gateway.schema.json");
    let expected = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        fs::write(&file, &expected).unwrap();
    }
    assert!(
        fs::read_to_string(&file).unwrap() == expected,
        "the manifest has changed: run this test with UPDATE_SNAPSHOTS=1"
    );
}
