//! Work for a request that is finished although its client hangs up: a change with its audit line.

use axum::response::{IntoResponse as _, Response};
use switchyard_system::trace::TraceContext;
use tracing::Instrument as _;

use crate::error::ApiError;

/// Runs `work` in a task of its own, and returns its response.
pub async fn run(work: impl Future<Output = Response> + Send + 'static) -> Response {
    let work = TraceContext::current().scope(work.in_current_span());
    match tokio::spawn(work).await {
        Ok(response) => response,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => ApiError::internal().into_response(),
        },
    }
}
