//! `gateway.json`: the description of a gateway, readable without running it.
//!
//! [`Manifest::parse`] is used by the engine before it loads a library and by the test that
//! `gateway!` makes, so an author sees the engine's refusals first. Each says what to do. Unknown
//! fields are ignored.
//!
//! ```
//! use switchyard_gateway::manifest::Manifest;
//!
//! let text = r#"{ "name": "acme", "version": "1.0.0", "abi": 1, "title": "Acme",
//!     "operations": ["collect"], "methods": [
//!         { "code": "mtn_bj", "direction": "collect", "currency": "XOF", "countries": ["BJ"] }
//!     ] }"#;
//! let refused = Manifest::parse(text.as_bytes()).unwrap_err().to_string();
//! assert!(refused.contains("query"), "the manifest {refused}");
//! let corrected = text.replace(r#"["collect"]"#, r#"["collect", "query"]"#);
//! assert!(Manifest::parse(corrected.as_bytes()).is_ok());
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::abi::ABI_MAJOR;
use crate::input::{Direction, Environment};
use crate::wire::Operation;

mod callback;
mod method;

pub use self::callback::{CallbackAnswer, CallbackPer, CallbackRule};
pub use self::method::{Field, FieldOption, Method, check_options};

/// Description of a gateway: the content of `gateway.json`.
///
/// ```
/// use switchyard_gateway::manifest::Manifest;
///
/// let manifest = Manifest::parse(br#"{
///     "name": "acme", "version": "1.0.0", "abi": 1, "title": "Acme", "icon": "<svg></svg>",
///     "operations": ["collect", "query"], "deadline_ms": { "collect": 30000 },
///     "methods": [
///         { "code": "mtn_bj", "direction": "collect", "currency": "XOF", "countries": ["BJ"] }
///     ],
///     "hosts": { "sandbox": ["sandbox.acme.example"], "live": ["{config.base_url}"] },
///     "config": { "type": "object", "required": ["base_url"], "properties": {
///         "base_url": { "type": "string", "format": "uri" },
///         "api_key": { "type": "string", "writeOnly": true }
///     } }
/// }"#)?;
/// assert_eq!((manifest.name.as_str(), manifest.methods.len()), ("acme", 1));
/// # Ok::<(), switchyard_gateway::manifest::ManifestError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Manifest {
    /// `[a-z][a-z0-9_]*`, at most 40 characters: the gateway's code for ever.
    pub name: String,
    pub version: String,
    pub abi: u32,
    /// Features that the gateway needs beyond this ABI's first version: see [`FEATURES`].
    #[serde(default)]
    pub needs: Vec<String>,
    pub title: String,
    #[serde(default)]
    pub description: String,
    /// An SVG, inline.
    #[serde(default)]
    pub icon: Option<String>,
    pub methods: Vec<Method>,
    /// Whether it serves all other method codes of its directions, too, in each currency. For test
    /// gateways.
    #[serde(default)]
    pub any_method: bool,
    pub operations: BTreeSet<Operation>,
    #[serde(default)]
    pub hosts: Hosts,
    #[serde(default)]
    pub callback: Option<CallbackRule>,
    #[serde(default)]
    pub reference: Reference,
    #[serde(default)]
    pub capabilities: Capabilities,
    /// How long the engine waits for each operation, in milliseconds.
    #[serde(default)]
    pub deadline_ms: BTreeMap<Operation, u64>,
    /// JSON Schema of the connection's configuration: an object of strings, integers and booleans.
    #[serde(default)]
    pub config: Value,
}

/// Features of an engine of this ABI beyond its first version: `counter`, the effect
/// `counter.next`; `counter_from`, its field `from`; `list` and `options`, the operations of these
/// names; `progress`, the payer action `wait`, and `received` of a pending outcome.
///
/// ```
/// use switchyard_gateway::manifest::FEATURES;
///
/// let needs = ["counter", "options"];
/// assert!(needs.iter().all(|need| FEATURES.contains(need)));
/// ```
pub const FEATURES: [&str; 5] = ["counter", "counter_from", "list", "options", "progress"];

/// The hosts that a gateway talks to, in each environment: `api.acme.example`, `*.acme.example`,
/// `acme.example:8443`, or `{config.field}`: the host of the URL that the connection's
/// configuration has in that field.
///
/// ```
/// use switchyard_gateway::manifest::Hosts;
///
/// let hosts: Hosts = serde_json::from_str(r#"{
///     "sandbox": ["sandbox.acme.example:8443"],
///     "live": ["*.acme.example", "{config.base_url}"]
/// }"#)?;
/// assert_eq!(hosts.live.len(), 2);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Hosts {
    pub sandbox: Vec<String>,
    pub live: Vec<String>,
}

impl Hosts {
    /// The hosts of an environment.
    ///
    /// ```
    /// use switchyard_gateway::Environment;
    /// use switchyard_gateway::manifest::Hosts;
    ///
    /// let hosts = Hosts {
    ///     sandbox: vec!["sandbox.acme.example".into()],
    ///     live: vec!["api.acme.example".into(), "*.acme.example".into()],
    /// };
    /// assert_eq!(hosts.of(Environment::Sandbox), ["sandbox.acme.example"]);
    /// ```
    pub fn of(&self, environment: Environment) -> &[String] {
        match environment {
            Environment::Sandbox => &self.sandbox,
            Environment::Live => &self.live,
        }
    }
}

/// Format in which the provider accepts our reference. Ours is always a UUID of 36 characters; a
/// manifest with a format that excludes it is refused.
///
/// ```
/// use switchyard_gateway::manifest::{Reference, ReferenceFormat};
///
/// // `"reference"` of a manifest, for a provider that takes at most 64 characters.
/// let reference: Reference = serde_json::from_str(r#"{ "format": "uuid", "max": 64 }"#)?;
/// assert_eq!(reference, Reference { format: ReferenceFormat::Uuid, max: Some(64) });
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Reference {
    pub format: ReferenceFormat,
    /// In characters: 36 or more, or none.
    pub max: Option<u32>,
}

/// Characters of which a provider's references consist.
///
/// ```
/// use switchyard_gateway::manifest::ReferenceFormat;
/// use switchyard_gateway::testing;
///
/// // A provider that takes letters and digits only: the manifest keeps the default, and the
/// // gateway shortens our reference in the same way in each call.
/// assert_eq!(ReferenceFormat::default(), ReferenceFormat::Uuid);
/// let theirs = testing::REFERENCE.replace('-', "");
/// assert!(theirs.chars().all(|letter| letter.is_ascii_alphanumeric()));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ReferenceFormat {
    /// Digits and small letters of hexadecimal in five groups with hyphens between them: the only
    /// form there is.
    #[default]
    Uuid,
    /// Refused: a UUID has hyphens.
    Alphanumeric,
    /// Refused: a UUID has letters and hyphens.
    Digits,
}

/// Promises of the provider. The engine acts on all of them but the first.
///
/// ```
/// use switchyard_gateway::manifest::Capabilities;
///
/// let promised: Capabilities = serde_json::from_str(r#"{
///     "query_by_reference": true, "not_found_is_final_after_s": 300
/// }"#)?;
/// assert!(promised.query_by_reference && !promised.idempotent_by_reference);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Capabilities {
    /// The same request under the same reference moves money once. The engine never sends one again
    /// whose answer was lost: it asks.
    pub idempotent_by_reference: bool,
    /// `query` works with our reference alone: without the provider's id and without the state that
    /// an earlier call kept. The engine gives both where it has them. After a restore from a backup
    /// it looks for unknown attempts by their reference, at gateways that state this.
    pub query_by_reference: bool,
    /// After this long, in seconds, "not found" means that the provider never got it. The engine
    /// acts on it.
    pub not_found_is_final_after_s: Option<u64>,
    /// Reason why the provider cannot name the captured amount, 1 to 200 characters. Without it a
    /// success that names no amount settles nothing: the engine opens a case and queries again.
    pub success_without_amount: Option<String>,
}

/// The field that a listed host of the form `{config.field}` stands for.
///
/// ```
/// use switchyard_gateway::manifest::config_field;
///
/// assert_eq!(config_field("{config.node_url}"), Some("node_url"));
/// assert_eq!(config_field("api.acme.example"), None);
/// ```
pub fn config_field(host: &str) -> Option<&str> {
    host.strip_prefix("{config.")?.strip_suffix('}')
}

impl Manifest {
    /// Reads and checks a manifest.
    ///
    /// ```
    /// use switchyard_gateway::manifest::Manifest;
    ///
    /// let refused = Manifest::parse(b"{}").unwrap_err().to_string();
    /// assert!(refused.contains("name"), "{refused}");
    /// ```
    pub fn parse(bytes: &[u8]) -> Result<Self, ManifestError> {
        // A C compiler ends a string with a zero byte.
        let end = bytes
            .iter()
            .rposition(|byte| *byte != 0)
            .map_or(0, |at| at + 1);
        let text = std::str::from_utf8(&bytes[..end])
            .map_err(|_| ManifestError("is not UTF-8: save gateway.json as UTF-8".into()))?;
        let manifest: Self = serde_json::from_str(text).map_err(|error| {
            ManifestError(format!(
                "does not read as a manifest ({error}): correct gateway.json"
            ))
        })?;
        manifest.check()?;
        check_direction(&manifest)?;
        Ok(manifest)
    }

    /// Whether the gateway has the operation.
    ///
    /// ```
    /// use switchyard_gateway::Operation;
    /// use switchyard_gateway::manifest::Manifest;
    ///
    /// # let text = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/acme.json"));
    /// // `"operations": ["collect", "query"]`
    /// let manifest = Manifest::parse(text)?;
    /// assert!(manifest.has(Operation::Collect) && !manifest.has(Operation::Payout));
    /// # Ok::<(), switchyard_gateway::manifest::ManifestError>(())
    /// ```
    pub fn has(&self, operation: Operation) -> bool {
        self.operations.contains(&operation)
    }

    /// The names of the configuration's fields that are secrets.
    ///
    /// ```
    /// use switchyard_gateway::manifest::Manifest;
    ///
    /// # let text = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/acme.json"));
    /// // `"properties": { "api_key": { "type": "string", "writeOnly": true }, "shop": … }`
    /// let manifest = Manifest::parse(text)?;
    /// assert_eq!(manifest.secret_fields(), ["api_key"]);
    /// # Ok::<(), switchyard_gateway::manifest::ManifestError>(())
    /// ```
    pub fn secret_fields(&self) -> Vec<&str> {
        self.properties()
            .into_iter()
            .flatten()
            .filter(|(_, schema)| schema.get("writeOnly") == Some(&Value::Bool(true)))
            .map(|(name, _)| name.as_str())
            .collect()
    }

    fn properties(&self) -> Option<&Map<String, Value>> {
        self.config.get("properties")?.as_object()
    }

    fn check(&self) -> Result<(), ManifestError> {
        if self.abi != ABI_MAJOR {
            return refuse(format!(
                "is for ABI {}, and this engine has ABI {ABI_MAJOR}: build the gateway with a `switchyard-gateway` of that ABI",
                self.abi
            ));
        }
        let unmet = |need: &&String| !FEATURES.contains(&need.as_str());
        if let Some(need) = self.needs.iter().find(unmet) {
            return refuse(format!(
                "needs `{need}`, which this engine does not have: upgrade the engine"
            ));
        }
        if !is_code(&self.name) {
            return refuse(format!(
                "names the gateway `{}`: a name is 1 to {CODE_CHARACTERS} of a-z, 0-9 and _, and begins with a letter",
                shortened(&self.name)
            ));
        }
        if !is_version(&self.version) {
            return refuse(format!(
                "has version `{}`: write three numbers, as in 1.0.0",
                shortened(&self.version)
            ));
        }
        if self.title.trim().is_empty() || self.title.chars().count() > TITLE_CHARACTERS {
            return refuse(format!(
                "needs a `title` of 1 to {TITLE_CHARACTERS} characters"
            ));
        }
        let is_svg = |icon: &String| icon.trim_start().starts_with("<svg");
        let is_icon = |icon: &String| is_svg(icon) && icon.len() <= ICON_BYTES;
        if !self.icon.as_ref().is_none_or(is_icon) {
            return refuse(format!(
                "has an icon that is no inline SVG of at most {ICON_BYTES} bytes"
            ));
        }
        self.check_reference()?;
        self.check_capabilities()?;
        self.check_operations()?;
        method::check(&self.methods)?;
        for host in self.hosts.sandbox.iter().chain(&self.hosts.live) {
            if !is_host(host) && !self.is_configured_host(host) {
                return refuse(format!(
                    "lists the host `{}`: write `api.example.com`, `*.example.com` or `example.com:8443`, without scheme or path, \
                     or `{{config.field}}` for a field of `config` with the format `uri`",
                    shortened(host)
                ));
            }
        }
        self.check_config()
    }

    /// Is it `{config.field}`, and that field a URL?
    fn is_configured_host(&self, host: &str) -> bool {
        config_field(host).is_some_and(|field| {
            self.properties()
                .and_then(|properties| properties.get(field))
                .is_some_and(|schema| schema.get("format") == Some(&Value::from("uri")))
        })
    }

    /// A provider that takes less would be sent what it refuses, or cuts: better known before the
    /// first payment.
    fn check_reference(&self) -> Result<(), ManifestError> {
        let Reference { format, max } = self.reference;
        if format == ReferenceFormat::Uuid && max.is_none_or(|max| max >= REFERENCE_CHARACTERS) {
            return Ok(());
        }
        refuse(format!(
            "has a rule for `reference` that ours does not fit, which is always a UUID of {REFERENCE_CHARACTERS} characters: leave \
             `reference` out; where the provider takes less, make the shorter form in the gateway, the same in every call, as in \
             `ask.reference.replace('-', \"\")` with its 32 letters and digits"
        ))
    }

    fn check_capabilities(&self) -> Result<(), ManifestError> {
        let Some(reason) = &self.capabilities.success_without_amount else {
            return Ok(());
        };
        let characters = reason.trim().chars().count();
        if (1..=REASON_CHARACTERS).contains(&characters) && !reason.contains(char::is_control) {
            return Ok(());
        }
        refuse(format!(
            "has `success_without_amount` that is not 1 to {REASON_CHARACTERS} characters on one \
             line: write why the provider cannot name the amount, or leave it out"
        ))
    }

    fn check_operations(&self) -> Result<(), ManifestError> {
        for (direction, operation) in [
            (Direction::Collect, Operation::Collect),
            (Direction::Payout, Operation::Payout),
        ] {
            let has_methods = self
                .methods
                .iter()
                .any(|method| method.direction == direction);
            if has_methods != self.has(operation) {
                let name = operation.as_str();
                return refuse(if has_methods {
                    format!(
                        "has methods for `{name}` and does not list that operation: add it to `operations`"
                    )
                } else {
                    format!(
                        "lists the operation `{name}` and has no method for it: add one to `methods`"
                    )
                });
            }
        }
        if !self.has(Operation::Collect) && !self.has(Operation::Payout) {
            return refuse(
                "lists neither `collect` nor `payout`: a gateway has at least one of them",
            );
        }
        if !self.has(Operation::Query) {
            return refuse(
                "does not list `query`: without it a lost answer could never be settled",
            );
        }
        let mut fields = self.methods.iter().flat_map(|method| &method.fields);
        let has_source = fields.any(|field| field.options_from.is_some());
        if has_source != self.has(Operation::Options) {
            return refuse(
                "has `options` in `operations` or `options_from` in a field only: it needs both or \
                 none",
            );
        }
        if self.has(Operation::Callback) != self.callback.is_some() {
            return refuse(
                "has `callback` in one of `operations` and the object `callback` only: it needs both or none",
            );
        }
        Ok(())
    }

    fn check_config(&self) -> Result<(), ManifestError> {
        if self.config.is_null() {
            return Ok(());
        }
        if self.config.get("type") != Some(&Value::from("object")) {
            return refuse("has a `config` that is no JSON Schema of type `object`");
        }
        let properties = self.properties();
        for (name, schema) in properties.into_iter().flatten() {
            let kind = schema.get("type").and_then(Value::as_str);
            if !matches!(kind, Some("string" | "integer" | "boolean")) {
                return refuse(format!(
                    "has the configuration field `{}` of a type that is not string, integer or boolean",
                    shortened(name)
                ));
            }
        }
        let required = self.config.get("required").and_then(Value::as_array);
        for name in required.into_iter().flatten() {
            let known = name
                .as_str()
                .is_some_and(|name| properties.is_some_and(|all| all.contains_key(name)));
            if !known {
                return refuse(format!(
                    "requires the configuration field {name} and does not describe it"
                ));
            }
        }
        Ok(())
    }
}

/// Reason for which a manifest is refused; continues "the manifest".
///
/// ```
/// use switchyard_gateway::manifest::Manifest;
///
/// let report = |text: &str| match Manifest::parse(text.as_bytes()) {
///     Ok(manifest) => format!("{} {} is valid", manifest.name, manifest.version),
///     Err(refused) => format!("the manifest {refused}"),
/// };
/// assert!(report("name: acme").starts_with("the manifest does not read as a manifest ("));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestError(String);

impl fmt::Display for ManifestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ManifestError {}

/// Refuses characters that change the direction of the text behind them: with them a title or the
/// name of an option reads as another one. All texts are checked, the unknown fields excepted. The
/// direction of a script itself needs none of these characters.
fn check_direction(texts: &impl Serialize) -> Result<(), ManifestError> {
    let written = serde_json::to_string(texts).unwrap_or_default();
    match written.chars().find(turns_text) {
        None => Ok(()),
        Some(character) => refuse(format!(
            "has U+{:04X} in a text, which changes the direction of the text behind it: remove \
             this character",
            u32::from(character)
        )),
    }
}

/// Embeddings, overrides and isolates of the bidirectional algorithm, and their ends.
fn turns_text(letter: &char) -> bool {
    matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn refuse(why: impl Into<String>) -> Result<(), ManifestError> {
    Err(ManifestError(why.into()))
}

fn is_code(text: &str) -> bool {
    text.len() <= CODE_CHARACTERS
        && text.starts_with(|first: char| first.is_ascii_lowercase())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}

fn is_version(text: &str) -> bool {
    let numbers: Vec<_> = text.split('.').collect();
    numbers.len() == 3
        && numbers
            .iter()
            .all(|number| number.len() <= 9 && number.parse::<u32>().is_ok())
}

fn is_host(text: &str) -> bool {
    let (name, port) = text.rsplit_once(':').unwrap_or((text, "443"));
    let name = name.strip_prefix("*.").unwrap_or(name);
    port.parse::<u16>().is_ok_and(|port| port > 0)
        && !name.is_empty()
        && name.len() <= 253
        && name.split('.').all(|label| {
            !label.is_empty()
                && label
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        })
}

/// Shortens a quotation of a manifest and removes its control characters.
fn shortened(text: &str) -> String {
    text.chars()
        .filter(|char| !char.is_control())
        .take(40)
        .collect()
}

const CODE_CHARACTERS: usize = 40;
/// Of a UUID as text.
const REFERENCE_CHARACTERS: u32 = 36;
const REASON_CHARACTERS: usize = 200;
const TITLE_CHARACTERS: usize = 60;
const ICON_BYTES: usize = 16 * 1024;

#[cfg(test)]
mod schema_tests;
#[cfg(test)]
mod tests;
