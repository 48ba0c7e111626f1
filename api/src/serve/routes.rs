//! All routes of the server, and what surrounds them.

use axum::Router;
use axum::extract::DefaultBodyLimit;
use switchyard_engine::limits::BODY_BYTES;

use crate::operations::Operations;
use crate::routes::{framed, routes};
use crate::state::ApiState;

/// Every room's routes under one frame.
pub fn all(state: ApiState, operations: &Operations) -> Router {
    let all = routes()
        .merge(operations.router().with_state(()))
        .layer(DefaultBodyLimit::max(BODY_BYTES));
    framed(all, state)
}
