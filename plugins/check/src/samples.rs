//! `check.json`: the author's description of the provider. All of it is optional; without a part,
//! less can be checked.
//!
//! In bodies `{reference}`, `{amount}` (major units), `{currency}` and `{minor}` stand for those of
//! the call. So the check can have the provider name another amount or another currency. A JSON
//! text that is just `{minor}` or `{amount_number}` becomes a number.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde::Deserialize;
use serde_json::Value;
use switchyard_gateway::manifest::Manifest;
use switchyard_gateway::{Direction, Fields, Operation};

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Samples {
    /// A connection's configuration; else one is made up from the manifest's schema.
    pub config: Option<Value>,
    pub check_config: Sample,
    pub collect: Sample,
    pub payout: Sample,
    pub query: Sample,
    pub submit_input: Sample,
    pub cancel: Sample,
    pub refund: Sample,
    pub options: Sample,
    pub list: Sample,
    pub callback: Letters,
}

/// One operation: its input, and the provider's responses.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sample {
    pub direction: Option<Direction>,
    pub method: Option<String>,
    pub country: Option<String>,
    /// In major units.
    pub amount: Option<String>,
    /// Entries of the payer or recipient.
    pub fields: BTreeMap<String, String>,
    /// In place of `fields`, for the decline.
    pub decline_fields: Option<BTreeMap<String, String>>,
    pub description: Option<String>,
    pub provider_id: Option<String>,
    /// State that an earlier call kept.
    pub state: Value,
    /// Answers when all is well.
    pub good: Vec<Answer>,
    /// Answers when the provider says no.
    pub decline: Vec<Answer>,
}

/// Response of the provider to one request. Several for the same request are sent one after the
/// other; the last one is repeated.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// Method and a part of the address: `POST /charges`.
    pub on: String,
    #[serde(default = "ok")]
    pub status: u16,
    #[serde(default)]
    pub headers: Vec<(String, String)>,
    /// A text as it is, anything else as JSON.
    #[serde(default)]
    pub body: Value,
}

/// Callbacks of the provider.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Letters {
    /// When they come: RFC 3339. Signatures may be about time.
    pub now: Option<String>,
    /// The address that the provider was given.
    pub url: Option<String>,
    pub good: Option<SampleCallback>,
    /// About an event that the gateway has nothing to do with.
    pub unknown: Option<SampleCallback>,
    /// Responses to the gateway's other requests, such as for a public key.
    pub answers: Vec<Answer>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SampleCallback {
    pub path: String,
    pub query: String,
    pub headers: Vec<(String, String)>,
    /// A text as it is, byte for byte; anything else as JSON.
    pub body: Value,
}

fn ok() -> u16 {
    200
}

impl Samples {
    pub fn read(file: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(file)
            .with_context(|| format!("{} cannot be read", file.display()))?;
        serde_json::from_str(&text)
            .with_context(|| format!("{} does not read as samples: correct it", file.display()))
    }

    /// The `check.json` beside the `gateway.json` of a library that cargo built: in a folder above
    /// it, or in a folder of `plugins/`, `tests/` or `examples/` there whose manifest names the
    /// same package. None is no error.
    pub fn beside(library: &Path) -> anyhow::Result<Self> {
        let library = std::path::absolute(library)?;
        let bytes = match std::fs::read(&library) {
            Ok(bytes) => bytes,
            Err(error) => bail!("{} cannot be read ({error})", library.display()),
        };
        let is_its = |folder: &Path| {
            let manifest = std::fs::read(folder.join("gateway.json")).unwrap_or_default();
            // The library has the very manifest inside.
            !manifest.is_empty() && contains(&bytes, &manifest)
        };
        for above in library.ancestors().skip(1) {
            let found = folders(above).into_iter().find(|folder| is_its(folder));
            if let Some(folder) = found {
                let file = folder.join("check.json");
                return if file.is_file() {
                    Self::read(&file)
                } else {
                    Ok(Self::default())
                };
            }
        }
        Ok(Self::default())
    }

    pub(crate) fn of(&self, operation: Operation) -> &Sample {
        match operation {
            Operation::CheckConfig => &self.check_config,
            Operation::Collect | Operation::Callback => &self.collect,
            Operation::Payout => &self.payout,
            Operation::Query => &self.query,
            Operation::SubmitInput => &self.submit_input,
            Operation::Cancel => &self.cancel,
            Operation::Refund => &self.refund,
            Operation::Options => &self.options,
            Operation::List => &self.list,
        }
    }

    /// The configuration: the author's, or made up, with a text for each secret that would be seen
    /// where it should not be.
    pub(crate) fn config(&self, manifest: &Manifest) -> Value {
        if let Some(config) = &self.config {
            return config.clone();
        }
        let host = manifest
            .hosts
            .sandbox
            .iter()
            .find(|host| !host.starts_with(['*', '{']));
        let url = format!(
            "https://{}",
            host.map_or("provider.example", String::as_str)
        );
        let properties = manifest.config.get("properties").and_then(Value::as_object);
        let required = manifest.config.get("required").and_then(Value::as_array);
        let mut config = serde_json::Map::new();
        for (name, schema) in properties.into_iter().flatten() {
            let is_secret = schema.get("writeOnly") == Some(&Value::Bool(true));
            let is_required =
                required.is_some_and(|names| names.contains(&Value::from(name.as_str())));
            if !is_secret && !is_required {
                continue;
            }
            let first = schema.get("enum").and_then(|values| values.get(0));
            let value = match (schema.get("default").or(first), schema["type"].as_str()) {
                (Some(value), _) => value.clone(),
                (None, Some("integer")) => 1.into(),
                (None, Some("boolean")) => true.into(),
                _ if !is_secret && name.contains("url") => url.as_str().into(),
                _ => format!("sample-{name}-5ec7e7").into(),
            };
            config.insert(name.clone(), value);
        }
        Value::Object(config)
    }
}

fn folders(above: &Path) -> Vec<PathBuf> {
    let mut folders = vec![above.to_owned()];
    for group in ["plugins", "tests", "examples"] {
        let inside = std::fs::read_dir(above.join(group));
        folders.extend(
            inside
                .into_iter()
                .flatten()
                .flatten()
                .map(|entry| entry.path()),
        );
    }
    folders
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    let first = part.first().copied().unwrap_or_default();
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(|byte| *byte == first) {
        rest = &rest[at..];
        if rest.starts_with(part) {
            return true;
        }
        rest = &rest[1..];
    }
    false
}

impl Sample {
    pub(crate) fn fields(&self) -> Fields {
        Fields(self.fields.clone())
    }
}
