//! Calls that belong to no attempt: a check of the configuration, and lists. They have no journal,
//! so a request that could move money is refused.

use std::sync::{Arc, OnceLock};

use serde::de::DeserializeOwned;
use serde_json::Value;
use switchyard_gateway::wire::Ready;

use super::drive::{self, CallDriver, CallFailure};
use super::journal::JournalWriter;
use super::redact::Redactor;
use super::{Gateways, Operation, Version, measure};
use switchyard_core::environment::Environment;

/// A call without an attempt.
pub(super) struct Question {
    pub gateway: Arc<Version>,
    pub operation: Operation,
    pub environment: Environment,
    /// The connection's configuration, opened.
    pub config: Value,
    pub input: Value,
    /// Redactor of the configuration. It learns the secrets of the call.
    pub redactor: Redactor,
}

impl Gateways {
    /// Makes a call to its end. `Err`: the reason why it has no result, without secrets.
    pub(super) async fn ask<T>(&self, question: Question) -> Result<T, String>
    where
        T: DeserializeOwned,
    {
        let (gateway, operation) = (Arc::clone(&question.gateway), question.operation);
        let since = tokio::time::Instant::now();
        let running = gateway.running();
        let answered = self.answer(question).await;
        measure(&gateway, operation, since.elapsed());
        drop(running);
        self.note_health(&gateway).await;
        answered
    }

    async fn answer<T: DeserializeOwned>(&self, question: Question) -> Result<T, String> {
        let Question {
            gateway,
            operation,
            environment,
            config,
            input,
            redactor,
        } = question;
        let scribe = JournalWriter::new(None, &redactor, gateway.name(), operation.as_str());
        let drive = CallDriver {
            inner: &self.0,
            version: &gateway,
            operation,
            environment,
            now: self.0.clock.shown(),
            config: &config,
            input: &input,
            redactor: &redactor,
            scribe: &scribe,
            connection: OnceLock::new(),
            until: drive::deadline(&gateway, operation),
        };
        let message = drive.run(&mut Value::Null).await;
        let ready = message.and_then(|message| drive.read::<Ready<T>>(&message));
        Ok(ready.map_err(|CallFailure(why)| why)?.outcome)
    }
}
