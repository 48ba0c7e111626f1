//! A provider's callback, given to its gateway: verified and translated there, byte for byte as it came.
//!
//! A callback belongs to no attempt until the gateway has named one. So there is no journal to write to, and requests that can move money
//! are refused; what the gateway asked its provider is handed back, for the journal of the attempt that the callback turns out to be
//! about.

use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchyard_gateway::wire::Ready;
use switchyard_gateway::{Callback as RawRequest, CallbackResult};

use super::drive::{self, Drive, NoOutcome};
use super::journal::{Exchange, Scribe};
use super::redact::Redactor;
use super::watch::{self, Ward};
use super::{Gateways, Operation, Version, outcome};
use crate::clock::Timestamp;
use crate::environment::Environment;
use crate::ids::TransactionId;
use crate::money::Amount;
use crate::transaction::Outcome;

/// One callback for one connection's gateway.
pub struct CallbackCall {
    pub gateway: Arc<Version>,
    pub environment: Environment,
    /// When it came: a signature that was good then is not too old later.
    pub received_at: Timestamp,
    pub config: Value,
    pub request: RawRequest,
}

/// The same, as its task has it.
struct Reading {
    gateway: Arc<Version>,
    environment: Environment,
    received_at: Timestamp,
    config: Value,
    request: Arc<RawRequest>,
    redactor: Redactor,
}

/// What came of it.
pub struct CallbackEnd {
    /// `Err`: the gateway came to nothing, and why.
    pub said: Result<CallbackSaid, String>,
    /// What the gateway asked its provider meanwhile.
    pub exchanges: Vec<Exchange>,
    /// The request as people may see it.
    pub shown: ShownRequest,
}

/// What the gateway made of it.
pub struct CallbackSaid {
    result: CallbackResult,
    gateway: Arc<Version>,
    environment: Environment,
    redactor: Redactor,
}

/// A request of a provider without its secrets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownRequest {
    pub method: String,
    /// Path and query.
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Gateways {
    /// Has a gateway look at what its provider sent.
    pub async fn callback(&self, call: CallbackCall) -> CallbackEnd {
        let since = tokio::time::Instant::now();
        let (gateway, environment) = (Arc::clone(&call.gateway), call.environment);
        let running = gateway.running();
        let redactor = Redactor::new(&gateway.manifest, &call.config);
        let request = Arc::new(call.request);
        let read = Reading {
            gateway: call.gateway,
            environment,
            received_at: call.received_at,
            config: call.config,
            request: Arc::clone(&request),
            redactor: redactor.clone(),
        };
        let gateways = self.clone();
        let made = watch::guard(&self.0.watcher, &gateway, |ward| gateways.read(read, ward));
        let (said, exchanges) = made.await.unwrap_or_else(|| {
            let why = drive::given_up(&gateway, Operation::Callback);
            (Err(NoOutcome(why)), Vec::new())
        });
        super::measure(&gateway, Operation::Callback, since.elapsed());
        drop(running);
        self.note_quarantine(&gateway).await;
        let shown = shown(&request, &redactor);
        CallbackEnd {
            said: match said {
                Ok(result) => Ok(CallbackSaid {
                    result,
                    gateway,
                    environment,
                    redactor,
                }),
                Err(NoOutcome(why)) => Err(why),
            },
            exchanges,
            shown,
        }
    }

    async fn read(
        self,
        read: Reading,
        ward: Option<Ward>,
    ) -> (Result<CallbackResult, NoOutcome>, Vec<Exchange>) {
        let operation = Operation::Callback;
        let Reading {
            gateway, redactor, ..
        } = &read;
        let scribe = Scribe::new(None, redactor, gateway.name(), operation.as_str());
        let input = serde_json::to_value(&*read.request).unwrap_or(Value::Null);
        let drive = Drive {
            inner: &self.0,
            version: gateway,
            operation,
            environment: read.environment,
            now: read.received_at,
            config: &read.config,
            input: &input,
            redactor,
            scribe: &scribe,
            connection: OnceLock::new(),
            until: drive::deadline(gateway, operation),
            ward,
        };
        let said = drive.run(&mut Value::Null).await.and_then(|message| {
            let ready: Ready<CallbackResult> = drive.read(&message)?;
            drive.last(None, &ready.log, &mut Value::Null);
            Ok(ready.outcome)
        });
        (said, scribe.unwritten())
    }
}

impl CallbackSaid {
    /// Why the gateway will have none of it.
    pub fn refused(&self) -> Option<String> {
        let why = self.result.refused.as_deref()?;
        Some(self.redactor.sentence(why))
    }

    pub fn is_trusted(&self) -> bool {
        self.result.trusted
    }

    /// Does it name an outcome?
    pub fn has_outcome(&self) -> bool {
        self.result.outcome.is_some()
    }

    /// Our reference, as the provider writes it.
    pub fn reference(&self) -> Option<String> {
        let reference = self.result.reference.as_deref()?;
        Some(self.redactor.sentence(reference))
    }

    /// The provider's id, as attempts have it.
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

    /// The outcome that it names, by the same money rule as that of a query. `None`: it names none.
    /// `asked`: the amount of the attempt that it is about.
    pub fn outcome(&self, transaction: TransactionId, asked: Amount) -> Option<Outcome> {
        let said = self.result.outcome.clone()?;
        let subject = outcome::Subject {
            manifest: &self.gateway.manifest,
            transaction,
            environment: self.environment,
            asked: Some(asked),
            redactor: &self.redactor,
        };
        Some(outcome::translate(said, &subject).with_field_if(false))
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

/// Makes a URL of a path for the redactor, and is taken off again.
const NOWHERE: &str = "http://callback.invalid";
