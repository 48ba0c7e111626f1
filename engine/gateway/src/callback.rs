//! Callback of a provider, passed to its gateway byte for byte, which verifies and translates it.
//!
//! A callback has no attempt until the gateway has named one. So there is no journal to write to,
//! and requests that can move money are refused. The exchanges of the gateway with its provider are
//! returned, for the journal of the attempt that the callback is matched to.

use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchyard_gateway::{Callback as RawRequest, CallbackResult};

use super::drive::{self, CallDriver, CallFailure};
use super::journal::{JournalWriter, ProviderCall};
use super::malformed;
use super::redact::Redactor;
use super::{Gateways, Operation, Version, outcome};
use switchyard_core::environment::Environment;
use switchyard_core::ids::TransactionId;
use switchyard_core::money::Amount;
use switchyard_core::time::Timestamp;
use switchyard_core::transaction::Outcome;

/// One callback for the gateway of one connection.
pub struct CallbackCall {
    pub gateway: Arc<Version>,
    pub environment: Environment,
    /// Time of receipt. A signature that was valid then does not expire before a later retry.
    pub received_at: Timestamp,
    pub config: Value,
    pub request: RawRequest,
}

/// Result of a callback.
pub struct CallbackEnd {
    /// `Err`: the gateway failed; the reason.
    pub report: Result<CallbackReport, String>,
    /// Exchanges of the gateway with its provider during the call.
    pub exchanges: Vec<ProviderCall>,
    /// Request with its secrets redacted.
    pub shown: ShownRequest,
}

/// The gateway's interpretation of a callback.
pub struct CallbackReport {
    result: CallbackResult,
    gateway: Arc<Version>,
    environment: Environment,
    redactor: Redactor,
}

/// Request of a provider with its secrets redacted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownRequest {
    pub method: String,
    /// Path and query.
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Gateways {
    /// Passes a callback to its gateway.
    pub async fn callback(&self, call: CallbackCall) -> CallbackEnd {
        let since = tokio::time::Instant::now();
        let running = call.gateway.running();
        let redactor = Redactor::new(&call.gateway.manifest, &call.config);
        let (report, exchanges) = self.read(&call, &redactor).await;
        super::measure(&call.gateway, Operation::Callback, since.elapsed());
        drop(running);
        self.note_health(&call.gateway).await;
        let shown = shown(&call.request, &redactor);
        CallbackEnd {
            report: match report {
                Ok(result) => Ok(CallbackReport {
                    result,
                    gateway: call.gateway,
                    environment: call.environment,
                    redactor,
                }),
                Err(CallFailure(why)) => Err(why),
            },
            exchanges,
            shown,
        }
    }

    async fn read(
        &self,
        call: &CallbackCall,
        redactor: &Redactor,
    ) -> (Result<CallbackResult, CallFailure>, Vec<ProviderCall>) {
        let (gateway, operation) = (&call.gateway, Operation::Callback);
        let scribe = JournalWriter::new(None, redactor, gateway.name(), operation.as_str());
        let input = serde_json::to_value(&call.request).unwrap_or(Value::Null);
        let drive = CallDriver {
            inner: &self.0,
            version: gateway,
            operation,
            environment: call.environment,
            now: call.received_at,
            config: &call.config,
            input: &input,
            redactor,
            scribe: &scribe,
            connection: OnceLock::new(),
            until: drive::deadline(gateway, operation),
        };
        let report = drive.run(&mut Value::Null).await.and_then(|message| {
            let ready = drive.read_end(&message, malformed::report)?;
            drive.last(None, &ready.log, &mut Value::Null);
            Ok(ready.outcome)
        });
        (report, scribe.unwritten())
    }
}

impl CallbackReport {
    /// Reason for which the gateway rejected the callback, if it did.
    pub fn refused(&self) -> Option<String> {
        let why = self.result.refused.as_deref()?;
        Some(self.redactor.sentence(why))
    }

    pub fn is_trusted(&self) -> bool {
        self.result.trusted
    }

    /// Whether it names an outcome.
    pub fn has_outcome(&self) -> bool {
        self.result.outcome.is_some()
    }

    /// Our reference, as the provider writes it.
    pub fn reference(&self) -> Option<String> {
        let reference = self.result.reference.as_deref()?;
        Some(self.redactor.sentence(reference))
    }

    /// The provider's id, in the form that attempts store.
    pub fn provider_id(&self) -> Option<String> {
        use switchyard_gateway::Outcome::{Declined, Pending, Succeeded};
        let of_outcome = match &self.result.outcome {
            Some(
                Succeeded { provider_id, .. }
                | Declined { provider_id, .. }
                | Pending { provider_id, .. },
            ) => provider_id.as_deref(),
            _ => None,
        };
        let id = self.result.provider_id.as_deref().or(of_outcome)?;
        Some(self.redactor.id(id))
    }

    /// Outcome that it names, by the same money rule as that of a query, under the provider's id of
    /// the callback if it has none of its own. `None`: it names no outcome. `asked`: amount of the
    /// attempt that it is about.
    pub fn outcome(&self, transaction: TransactionId, asked: Amount) -> Option<Outcome> {
        let outcome = self.result.outcome.clone()?;
        let subject = outcome::Subject {
            manifest: &self.gateway.manifest,
            transaction,
            environment: self.environment,
            asked: Some(asked),
            redactor: &self.redactor,
        };
        let outcome = outcome::translate(outcome, &subject).with_field_if(false);
        Some(outcome.with_id_of(self.provider_id()))
    }
}

fn shown(request: &RawRequest, redactor: &Redactor) -> ShownRequest {
    let query = match request.query.as_str() {
        "" => String::new(),
        query => format!("?{query}"),
    };
    let url = redactor.url(&format!("{NOWHERE}{}{query}", request.path));
    ShownRequest {
        method: redactor.sentence(&request.method),
        path: url.strip_prefix(NOWHERE).unwrap_or(&url).to_owned(),
        headers: redactor.headers(&request.headers),
        body: redactor.body(&request.body),
    }
}

/// Base that turns a path into a URL for the redactor, and is removed afterwards.
const NOWHERE: &str = "http://callback.invalid";
