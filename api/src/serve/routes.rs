//! All routes of the server, and what surrounds them.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::HeaderName;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use switchyard_engine::limits::BODY_BYTES;

use crate::config::{Settings, TrustedProxies};
use crate::error::ApiError;
use crate::operations::{Draining, Operations, Trust, identify};
use crate::state::ApiState;
use crate::{callbacks, checkout, operator, routes};

/// State that the routes share.
pub struct Parts {
    pub state: ApiState,
    pub operations: Operations,
    pub draining: Draining,
    pub trust: Trust,
    pub request_timeout: Duration,
}

impl Parts {
    /// The routes of payers, merchants and providers, with `/healthz` and `/readyz`.
    pub fn public(&self) -> Router {
        self.surrounded(self.public_routes().merge(self.operations.health()))
    }

    /// The routes of operators, balancers and Prometheus.
    pub fn admin(&self) -> Router {
        self.surrounded(self.admin_routes())
    }

    /// Both, for one listener.
    pub fn all(&self) -> Router {
        self.surrounded(self.public_routes().merge(self.admin_routes()))
    }

    fn public_routes(&self) -> Router<ApiState> {
        let checkout = checkout::router(self.state.clone(), self.draining.clone());
        routes::routes()
            .merge(callbacks::routes())
            .merge(checkout.with_state(()))
    }

    fn admin_routes(&self) -> Router<ApiState> {
        let operators = operator::routes(self.state.clone(), self.draining.clone());
        Router::new()
            .nest("/operator/v1", operators)
            .merge(self.operations.router())
    }

    /// Outermost first: the frame (id, log, metrics, panics), the client's address, the time limit,
    /// the size limit, the routes.
    fn surrounded(&self, routes: Router<ApiState>) -> Router {
        let routes = routes
            .layer(DefaultBodyLimit::max(BODY_BYTES))
            .layer(from_fn_with_state(self.request_timeout, in_time))
            .layer(from_fn_with_state(self.trust.clone(), identify));
        routes::framed(routes, self.state.clone())
    }
}

/// Proxies that the settings trust to name a client's address and country.
///
/// # Errors
/// When they hold what is no address, network or header name.
pub fn trust(settings: &Settings) -> anyhow::Result<Trust> {
    let server = &settings.server;
    let proxies = TrustedProxies::parse(&server.trusted_proxies);
    let proxies =
        proxies.map_err(|text| anyhow::anyhow!("server.trusted_proxies holds `{text}`"))?;
    let country_header = server.country_header.as_ref();
    Ok(Trust {
        proxies: Arc::new(proxies),
        country_header: country_header.map(HeaderName::try_from).transpose()?,
    })
}

/// Gives up on a request that takes too long. What it stored by then stays stored.
async fn in_time(State(limit): State<Duration>, request: Request, next: Next) -> Response {
    match tokio::time::timeout(limit, next.run(request)).await {
        Ok(response) => response,
        Err(_) => ApiError::too_slow().into_response(),
    }
}
