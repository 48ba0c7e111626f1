//! Callbacks of providers.

use serde::{Deserialize, Serialize};
use switchyard_core::environment::Environment;
use switchyard_core::ids::{AppId, AttemptId, CallbackId, ConnectionId, TransactionId};
use switchyard_engine::callback::{self, CallbackState};
use switchyard_gateway_host as gateway;
use utoipa::{IntoParams, ToSchema};

use super::schemas;
use crate::iso_timestamp::IsoTimestamp;

/// Request of a provider, with the result of its processing.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
pub struct Callback {
    #[schema(value_type = String)]
    pub id: CallbackId,
    #[schema(value_type = String)]
    pub connection: ConnectionId,
    #[schema(value_type = String)]
    pub app: AppId,
    #[schema(value_type = schemas::Environment)]
    pub environment: Environment,
    pub gateway: String,
    #[schema(value_type = schemas::CallbackState)]
    pub state: CallbackState,
    pub received_at: IsoTimestamp,
    /// Address of the sender.
    pub from: Option<String>,
    pub bytes: u32,
    /// Whether the gateway verified the callback; null until it has answered.
    pub trusted: Option<bool>,
    pub reference: Option<String>,
    pub provider_id: Option<String>,
    #[schema(value_type = Option<String>)]
    pub transaction: Option<TransactionId>,
    #[schema(value_type = Option<String>)]
    pub attempt: Option<AttemptId>,
    /// Result of the processing, or the reason why it had no effect.
    pub note: Option<String>,
    /// Number of tries at which the gateway failed.
    pub tries: u32,
    pub next_try_at: Option<IsoTimestamp>,
    pub dealt_with_at: Option<IsoTimestamp>,
    /// Whether the callback is parked until a transaction with its name appears.
    pub awaits_its_transaction: bool,
    /// The request without its secrets, once the gateway has read it.
    pub request: Option<CallbackRequest>,
}

/// Request of a provider, redacted by its gateway.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
pub struct CallbackRequest {
    pub method: String,
    /// Path and query.
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

/// Page of callbacks.
#[derive(Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct CallbackFilter {
    /// Only callbacks in this state.
    #[param(value_type = Option<schemas::CallbackState>)]
    pub state: Option<String>,
    /// Callbacks older than this id: `more` of the last page.
    pub before: Option<String>,
    /// Page size, at most 100. Default: 20.
    pub limit: Option<usize>,
}

/// Callbacks, newest first.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct Callbacks {
    pub callbacks: Vec<Callback>,
    /// Start of the next page.
    #[schema(value_type = Option<String>)]
    pub more: Option<CallbackId>,
}

impl From<&callback::Callback> for Callback {
    fn from(callback: &callback::Callback) -> Self {
        Self {
            id: callback.id,
            connection: callback.connection,
            app: callback.app,
            environment: callback.environment,
            gateway: callback.gateway.clone(),
            state: callback.state,
            received_at: callback.received_at.into(),
            from: callback.from.clone(),
            bytes: callback.bytes,
            trusted: callback.trusted,
            reference: callback.reference.clone(),
            provider_id: callback.provider_id.clone(),
            transaction: callback.transaction,
            attempt: callback.attempt,
            note: callback.note.clone(),
            tries: callback.tries,
            next_try_at: callback.next_try_at.map(IsoTimestamp),
            dealt_with_at: callback.dealt_with_at.map(IsoTimestamp),
            awaits_its_transaction: callback.awaits,
            request: callback.request.as_ref().map(CallbackRequest::from),
        }
    }
}

impl From<&gateway::ShownRequest> for CallbackRequest {
    fn from(request: &gateway::ShownRequest) -> Self {
        Self {
            method: request.method.clone(),
            path: request.path.clone(),
            headers: request.headers.clone(),
            body: request.body.clone(),
        }
    }
}
