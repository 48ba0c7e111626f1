//! The door: a provider's request is stored, and then answered as its gateway's manifest says.

use std::sync::Arc;

use switchyard_gateway::Callback as RawRequest;
use switchyard_gateway::manifest::CallbackAnswer;
use switchyard_gateway::wire::Body;

use super::home;
use super::row::{self, Callback, CallbackState};
use crate::access::Sealed;
use crate::engine::{Engine, EngineError};
use crate::gateway::{Operation, Version};
use crate::ids::{CallbackId, ConnectionId};
use crate::limits::{CALLBACK_BODY_BYTES, CALLBACK_HEAD_BYTES, CALLBACK_ROW_BYTES};
use crate::planted::{Fault, is_planted};
use crate::store::Batch;

/// A request as it came.
pub struct CallbackRequest {
    pub method: String,
    pub path: String,
    pub query: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// The sender's address.
    pub from: Option<String>,
}

/// Why nothing was stored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotReceived {
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
    /// Stores what a provider sent, and says how to answer it. It is dealt with in the background.
    ///
    /// # Errors
    /// When nothing was stored. The answer must make the provider send again, unless the connection does not exist.
    pub async fn receive_callback(
        &self,
        connection: ConnectionId,
        request: CallbackRequest,
    ) -> Result<CallbackAnswer, NotReceived> {
        let (home, version) = self
            .home_of(connection)
            .ok_or(NotReceived::NoSuchConnection)?;
        let answer = version
            .and_then(|version| Some(version.manifest.callback.as_ref()?.answer.clone()))
            .unwrap_or_default();
        let stored = self.store_callback(connection, &home, request).await;
        let result = match &stored {
            Ok(()) => "stored",
            Err(NotReceived::TooMany) => "limited",
            Err(NotReceived::TooLarge) => "too_large",
            Err(_) => "not_stored",
        };
        metrics::counter!("switchyard_callbacks_received_total", "gateway" => home.gateway, "result" => result)
            .increment(1);
        stored.map(|()| answer)
    }

    /// Whether there is such a connection, and its gateway takes callbacks.
    pub fn takes_callbacks(&self, connection: ConnectionId) -> bool {
        self.home_of(connection).is_some()
    }

    /// A callback whose gateway is not loaded just now waits for it.
    fn home_of(&self, connection: ConnectionId) -> Option<(home::Home, Option<Arc<Version>>)> {
        let home = home::find(self, connection)?;
        let version = self.gateways.reader(&home.gateway);
        let takes = |version: &Arc<Version>| version.has(Operation::Callback);
        version
            .as_ref()
            .is_none_or(takes)
            .then_some((home, version))
    }

    async fn store_callback(
        &self,
        connection: ConnectionId,
        home: &home::Home,
        request: CallbackRequest,
    ) -> Result<(), NotReceived> {
        let head: usize = request
            .headers
            .iter()
            .map(|(name, value)| name.len() + value.len())
            .sum();
        let head = head + request.path.len() + request.query.len();
        if head > CALLBACK_HEAD_BYTES || request.body.len() > CALLBACK_BODY_BYTES {
            return Err(NotReceived::TooLarge);
        }
        let bytes = CALLBACK_ROW_BYTES + head + request.body.len();
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        let now = self.clock.now();
        let full = |_| NotReceived::TooMany;
        self.callbacks.enter(connection, bytes, now).map_err(full)?;
        let from = request.from;
        let raw = RawRequest {
            method: request.method,
            path: request.path,
            query: request.query,
            // Made of what is set when the gateway sees it.
            url: None,
            headers: request.headers,
            body: Body::of(request.body),
        };
        let stored = async {
            // Texts and nothing else: it can always be written as JSON.
            let raw = serde_json::to_vec(&raw).unwrap_or_default();
            let sealed = self.access.seal_callback(home.account, &raw)?;
            let callback = Callback {
                from,
                bytes,
                ..self.new_callback(connection, home, sealed)
            };
            let mut batch = Batch::new();
            row::write(&mut batch, None, &callback);
            if !is_planted(Fault::CallbackDropped) {
                self.store.commit(batch).await?;
            }
            Ok::<_, EngineError>(callback.received_at)
        };
        match stored.await {
            Ok(at) => {
                self.callbacks.queued(connection, at);
                Ok(())
            }
            Err(error) => {
                self.callbacks.out(connection, bytes);
                tracing::error!(connection.id = %connection, %error, "A provider's callback could not be stored.");
                Err(NotReceived::NotStored(error))
            }
        }
    }

    fn new_callback(&self, connection: ConnectionId, home: &home::Home, raw: Sealed) -> Callback {
        let now = self.clock.now();
        Callback {
            id: CallbackId::new(self.ids.ulid(now)),
            connection,
            app: home.app,
            environment: home.environment,
            gateway: home.gateway.clone(),
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
            stumbled: None,
            awaits: false,
            version: 0,
        }
    }
}
