//! Receives callbacks: stores a provider's request, then answers as the gateway's manifest
//! specifies.

use std::sync::Arc;

use switchyard_gateway::Callback as RawRequest;
use switchyard_gateway::manifest::CallbackAnswer;
use switchyard_gateway::wire::Body;

use super::recipient;
use super::row::{self, Callback, CallbackState};
use crate::access::Sealed;
use crate::engine::{Engine, EngineError};
use switchyard_core::ids::{CallbackId, ConnectionId};
use switchyard_core::limits::{CALLBACK_BODY_BYTES, CALLBACK_HEAD_BYTES, CALLBACK_ROW_BYTES};
use switchyard_gateway_host::{Operation, Version};
use switchyard_store::Batch;

/// Request as received.
pub struct CallbackRequest {
    pub method: String,
    pub path: String,
    pub query: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// The sender's address.
    pub from: Option<String>,
}

/// Reason why a callback was not stored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReceiveError {
    #[error("There is no such connection, or its gateway takes no callbacks.")]
    NoSuchConnection,
    #[error(
        "The request is larger than {CALLBACK_BODY_BYTES} bytes, or its head than {CALLBACK_HEAD_BYTES}."
    )]
    TooLarge,
    #[error("This connection is sent more than it is given time for: send it again later.")]
    TooMany,
    #[error("The request could not be stored: send it again later.")]
    NotStored(#[source] EngineError),
}

impl Engine {
    /// Stores a provider's request for processing in the background, and returns the response.
    ///
    /// # Errors
    /// When nothing was stored. The response must make the provider send again, unless the
    /// connection does not exist.
    pub async fn receive_callback(
        &self,
        connection: ConnectionId,
        request: CallbackRequest,
    ) -> Result<CallbackAnswer, ReceiveError> {
        let (recipient, version) = self
            .recipient_of(connection)
            .ok_or(ReceiveError::NoSuchConnection)?;
        let answer = version
            .and_then(|version| Some(version.manifest.callback.as_ref()?.answer.clone()))
            .unwrap_or_default();
        let stored = self.store_callback(connection, &recipient, request).await;
        let result = match &stored {
            Ok(()) => "stored",
            Err(ReceiveError::TooMany) => "limited",
            Err(ReceiveError::TooLarge) => "too_large",
            Err(_) => "not_stored",
        };
        metrics::counter!(
            "switchyard_callbacks_received_total",
            "gateway" => recipient.gateway,
            "result" => result
        )
        .increment(1);
        stored.map(|()| answer)
    }

    /// Whether the connection exists and its gateway supports callbacks.
    pub fn takes_callbacks(&self, connection: ConnectionId) -> bool {
        self.recipient_of(connection).is_some()
    }

    /// Connection and gateway version. Without a loaded version, the callback waits until one is
    /// loaded.
    fn recipient_of(
        &self,
        connection: ConnectionId,
    ) -> Option<(recipient::Recipient, Option<Arc<Version>>)> {
        let recipient = recipient::find(self, connection)?;
        let version = self.gateways().reader(&recipient.gateway);
        let takes = |version: &Arc<Version>| version.has(Operation::Callback);
        version
            .as_ref()
            .is_none_or(takes)
            .then_some((recipient, version))
    }

    async fn store_callback(
        &self,
        connection: ConnectionId,
        recipient: &recipient::Recipient,
        request: CallbackRequest,
    ) -> Result<(), ReceiveError> {
        let head: usize = request
            .headers
            .iter()
            .map(|(name, value)| name.len() + value.len())
            .sum();
        let head = head + request.path.len() + request.query.len();
        if head > CALLBACK_HEAD_BYTES || request.body.len() > CALLBACK_BODY_BYTES {
            return Err(ReceiveError::TooLarge);
        }
        let bytes = CALLBACK_ROW_BYTES + head + request.body.len();
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        let now = self.clock().now();
        let full = |_| ReceiveError::TooMany;
        self.callbacks()
            .enter(connection, bytes, now)
            .map_err(full)?;
        let from = request.from;
        let raw = RawRequest {
            method: request.method,
            path: request.path,
            query: request.query,
            // Set from the settings when the gateway reads the request.
            url: None,
            headers: request.headers,
            body: Body::of(request.body),
        };
        let stored = async {
            // A struct of strings always serializes.
            let raw = serde_json::to_vec(&raw).unwrap_or_default();
            let sealed = self.access().seal_callback(recipient.account, &raw)?;
            let callback = Callback {
                from,
                bytes,
                ..self.new_callback(connection, recipient, sealed)
            };
            let mut batch = Batch::new();
            row::write(&mut batch, None, &callback);
            self.store().commit(batch).await?;
            Ok::<_, EngineError>(callback.received_at)
        };
        match stored.await {
            Ok(at) => {
                self.callbacks().queued(connection, at);
                Ok(())
            }
            Err(error) => {
                self.callbacks().out(connection, bytes);
                tracing::error!(connection.id = %connection, %error, "failed to store a callback");
                Err(ReceiveError::NotStored(error))
            }
        }
    }

    fn new_callback(
        &self,
        connection: ConnectionId,
        recipient: &recipient::Recipient,
        raw: Sealed,
    ) -> Callback {
        let now = self.clock().now();
        Callback {
            id: CallbackId::new(self.ids().ulid(now)),
            connection,
            app: recipient.app,
            environment: recipient.environment,
            gateway: recipient.gateway.clone(),
            received_at: now,
            from: None,
            bytes: 0,
            raw,
            state: CallbackState::Waiting,
            tries: 0,
            next_try_at: Some(now),
            dealt_with_at: None,
            trusted: None,
            reference: None,
            provider_id: None,
            transaction: None,
            attempt: None,
            note: None,
            request: None,
            failed_version: None,
            awaits: false,
            version: 0,
        }
    }
}
