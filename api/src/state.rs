//! What every handler may use.

use std::sync::Arc;

use switchyard_engine::engine::Engine;
use switchyard_engine::idempotency::Idempotency;

/// Shared by all routes; cloning gives another handle.
#[derive(Clone)]
pub struct ApiState {
    pub engine: Engine,
    pub settings: Arc<HttpSettings>,
    pub idempotency: Idempotency,
}

/// What the HTTP side has to know besides the engine's settings.
#[derive(Clone, Debug, Default)]
pub struct HttpSettings {
    /// Header in which a trusted proxy names the client's address, such as `x-forwarded-for`; `None`: the connection's own address.
    pub client_address_header: Option<String>,
    /// Header in which a trusted proxy names the client's country (ISO 3166-1 alpha-2); `None`: the country is not known.
    pub client_country_header: Option<String>,
    /// Development mode: pages may say so.
    pub development: bool,
}

impl ApiState {
    pub fn new(engine: Engine, settings: HttpSettings) -> Self {
        let idempotency = Idempotency::new(engine.store.clone(), engine.clock.clone());
        Self {
            engine,
            settings: Arc::new(settings),
            idempotency,
        }
    }
}
