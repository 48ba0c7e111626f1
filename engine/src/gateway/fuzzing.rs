//! Doors for fuzzing: what reads foreign bytes in this room, without a running engine around it. Behind the feature `fuzzing`.

use std::path::Path;

use serde_json::Value;
use switchyard_gateway::manifest::Manifest;
use switchyard_gateway::wire::Body;
use switchyard_gateway::{Outcome as WireOutcome, manifest::ManifestError};

use super::redact::Redactor;
pub use super::worker::fuzzing::frames;
use super::{inspect, outcome};
use crate::environment::Environment;
use crate::ids::TransactionId;
use crate::money::{Amount, Currency};
use crate::transaction::Outcome;

/// Looks at a gateway's file: its manifest and its imports, or the sentence of the refusal.
///
/// # Errors
/// What an operator would read.
pub fn file(bytes: &[u8]) -> Result<(Manifest, Vec<String>), String> {
    inspect::look(Path::new("gateway.so"), bytes).map_err(|refused| refused.to_string())
}

/// Reads a manifest as it stands in a file's section.
///
/// # Errors
/// What is wrong with it.
pub fn manifest(bytes: &[u8]) -> Result<Manifest, ManifestError> {
    Manifest::parse(bytes)
}

/// The engine's outcome of what a gateway said about an attempt.
pub fn translate(said: WireOutcome, transaction: TransactionId) -> Outcome {
    let manifest = Manifest::parse(include_bytes!("../../../plugins/demo/gateway.json"));
    let subject = outcome::Subject {
        manifest: &manifest.expect("the test gateway's manifest"),
        transaction,
        environment: Environment::Live,
        asked: Currency::from_code("USD").map(|usd| Amount::from_minor(2_500, usd)),
        redactor: &Redactor::default(),
    };
    outcome::translate(said, &subject)
}

/// All that the redactor makes of one text, with `secret` as the one secret of the configuration.
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
