//! Entry points for fuzzing the parsers of this module without a running engine. Requires the
//! feature `fuzzing`.

use std::path::Path;

use serde_json::Value;
use switchyard_gateway::manifest::Manifest;
use switchyard_gateway::wire::Body;
use switchyard_gateway::{Outcome as WireOutcome, manifest::ManifestError};

use super::redact::Redactor;
pub use super::worker::fuzzing::frames;
use super::{inspect, outcome};
use switchyard_core::environment::Environment;
use switchyard_core::ids::TransactionId;
use switchyard_core::money::{Amount, Currency};
use switchyard_core::transaction::Outcome;

/// Inspects a gateway's file. Returns its manifest and its imports.
///
/// # Errors
/// Returns the message of the refusal for the operator.
pub fn file(bytes: &[u8]) -> Result<(Manifest, Vec<String>), String> {
    inspect::read_manifest(Path::new("gateway.so"), bytes).map_err(|refused| refused.to_string())
}

/// Parses a manifest, as in a file's section.
///
/// # Errors
/// Returns an error when the manifest is not valid.
pub fn manifest(bytes: &[u8]) -> Result<Manifest, ManifestError> {
    Manifest::parse(bytes)
}

/// Translates a gateway's outcome of an attempt into the engine's outcome.
pub fn translate(reported: WireOutcome, transaction: TransactionId) -> Outcome {
    let manifest = Manifest::parse(include_bytes!("../../../plugins/demo/gateway.json"));
    let subject = outcome::Subject {
        manifest: &manifest.expect("the test gateway's manifest"),
        transaction,
        environment: Environment::Live,
        asked: Currency::from_code("USD").map(|usd| Amount::from_minor(2_500, usd)),
        redactor: &Redactor::default(),
    };
    outcome::translate(reported, &subject)
}

/// Returns the results of all redactor functions for one text, with `secret` as the only secret of
/// the configuration.
pub fn redacted(secret: &str, text: &str) -> Vec<String> {
    let redactor = Redactor::default();
    redactor.learn(secret);
    let pair = (text.to_owned(), text.to_owned());
    let mut shown = vec![
        redactor.sentence(text),
        redactor.id(text),
        redactor.url(text),
        redactor.body(&Body::Text(text.to_owned())),
        redactor.body(&Body::Form(vec![pair.clone()])),
        redactor.body(&Body::Text(Value::from(text).to_string())),
    ];
    for (_, value) in redactor.headers(&[pair, ("content-type".to_owned(), text.to_owned())]) {
        shown.push(value);
    }
    shown
}
