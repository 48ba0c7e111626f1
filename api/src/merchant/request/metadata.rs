//! `metadata`: the merchant's own keys and values, all of them strings.

use std::collections::BTreeMap;

use switchyard_core::limits::{METADATA_KEY_CHARACTERS, METADATA_KEYS, METADATA_VALUE_CHARACTERS};

use super::form::{Form, has_control_characters, is_longer};
use super::json::{Object, Value};
use crate::error::{ErrorCode, Problem};

/// Absent, null and `[]` (an empty map in PHP) are all empty.
pub fn read(form: &mut Form<'_, '_>) -> BTreeMap<String, String> {
    match form.optional("metadata") {
        None => BTreeMap::new(),
        Some(Value::List(list)) if list.0.is_empty() => BTreeMap::new(),
        Some(Value::Object(object)) => members(form, &object),
        Some(other) => {
            let says = format!(
                "must be an object whose values are strings, not {}",
                other.name()
            );
            form.refuse("metadata", ErrorCode::MetadataNotObject, says);
            BTreeMap::new()
        }
    }
}

fn members(form: &mut Form<'_, '_>, object: &Object<'_>) -> BTreeMap<String, String> {
    if object.0.len() > METADATA_KEYS {
        form.refuse(
            "metadata",
            ErrorCode::MetadataTooManyKeys,
            format!("has more than {METADATA_KEYS} keys"),
        );
        return BTreeMap::new();
    }
    let mut metadata = BTreeMap::new();
    for (key, raw) in &object.0 {
        if key.is_empty()
            || is_longer(key, METADATA_KEY_CHARACTERS)
            || has_control_characters(key, false)
        {
            let says = format!(
                "has a key that is empty, longer than {METADATA_KEY_CHARACTERS} characters or not printable"
            );
            form.refuse("metadata", ErrorCode::MetadataKeyInvalid, says);
            continue;
        }
        match value(key, Value::of(raw)) {
            Ok(text) => {
                if metadata.insert(key.to_string(), text).is_some() {
                    form.refuse(
                        &format!("metadata.{key}"),
                        ErrorCode::FieldDuplicated,
                        "is given more than once",
                    );
                }
            }
            Err(problem) => form.push(problem),
        }
    }
    metadata
}

fn value(key: &str, value: Value<'_>) -> Result<String, Problem> {
    let refused = |code, says: String| {
        let field = format!("metadata.{key}");
        Err(Problem::new(code, format!("{field} {says}")).at(field))
    };
    match value {
        Value::Text(text) if has_control_characters(&text, true) => refused(
            ErrorCode::FieldHasControlCharacters,
            "has a control character, such as NUL, in it".to_owned(),
        ),
        Value::Text(text) if is_longer(&text, METADATA_VALUE_CHARACTERS) => refused(
            ErrorCode::MetadataValueTooLong,
            format!("has more than {METADATA_VALUE_CHARACTERS} characters"),
        ),
        Value::Text(text) => Ok(text.into_owned()),
        other => refused(
            ErrorCode::MetadataValueNotString,
            format!("must be a string, not {}", other.name()),
        ),
    }
}
