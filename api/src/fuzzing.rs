//! Doors for fuzzing: every route of the server over a running engine, and what reads headers.
//! Behind the feature `fuzzing`.

use axum::Router;
use axum::http::{Extensions, HeaderMap};
use switchyard_core::transaction::ClientContext;
use switchyard_engine::engine::Engine;

pub use crate::merchant::fuzzing::*;

use crate::client;
use crate::config::Settings;
use crate::merchant::render::context::UserAgent;
use crate::operations::{Draining, Operations, Surroundings};
use crate::serve::routes;
use crate::state::{ApiState, HttpSettings};

/// All routes that a server has, as it serves them.
///
/// # Errors
/// When the settings cannot be read, which are the defaults.
pub fn server(engine: &Engine) -> anyhow::Result<Router> {
    let draining = Draining::default();
    let settings = Settings::default();
    let parts = routes::ServerContext {
        state: ApiState::new(engine.clone(), HttpSettings::default()),
        operations: Operations::new(
            engine.clone(),
            None,
            true,
            draining.clone(),
            Surroundings::default(),
        ),
        draining,
        trust: routes::trust(&settings)?,
        request_timeout: settings.server.request_timeout.0,
    };
    Ok(parts.all())
}

/// Client's context from its headers.
pub fn client_context(headers: &HeaderMap) -> ClientContext {
    let settings = HttpSettings {
        client_address_header: Some("x-address".to_owned()),
        client_country_header: Some("x-country".to_owned()),
        ..HttpSettings::default()
    };
    let context = client::context(&settings, headers, &Extensions::new());
    let _ = UserAgent::parse(context.user_agent.as_deref().unwrap_or_default());
    context
}
