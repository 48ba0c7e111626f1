//! All routes of the server, and what surrounds them.

use axum::Router;
use axum::extract::DefaultBodyLimit;
use switchyard_engine::limits::BODY_BYTES;

use crate::operations::Operations;

pub fn all(operations: &Operations) -> Router {
    Router::new()
        .merge(operations.router())
        .layer(DefaultBodyLimit::max(BODY_BYTES))
}
