//! Who may ask: whoever shows an operator token.

use axum::extract::{MatchedPath, Request, State};
use axum::http::header::WWW_AUTHENTICATE;
use axum::http::{HeaderValue, Method};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::bearer::bearer;
use crate::error::{ApiError, ErrorCode, Problem};
use crate::state::ApiState;

/// Lets operators through, and logs what they change.
pub async fn require_operator(
    State(state): State<ApiState>,
    mut request: Request,
    next: Next,
) -> Response {
    let token = bearer(request.headers()).unwrap_or_default();
    let operator = match state.engine.access.authenticate_operator(token) {
        Ok(operator) => operator,
        Err(why) => {
            let mut refused = unauthorized(why).into_response();
            let scheme = HeaderValue::from_static("Bearer");
            refused.headers_mut().insert(WWW_AUTHENTICATE, scheme);
            return refused;
        }
    };
    request.extensions_mut().insert(operator.clone());
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let response = next.run(request).await;
    if method != Method::GET {
        let route = route.as_ref().map_or("", MatchedPath::as_str);
        let status = response.status().as_u16();
        tracing::info!(operator.name, http.method = %method, http.route = route, http.status = status, "An operator asked for a change.");
    }
    response
}

fn unauthorized(why: switchyard_engine::access::Unauthorized) -> ApiError {
    let problem = Problem::new(
        ErrorCode::OperatorTokenInvalid,
        "Unauthorized: invalid operator token",
    );
    ApiError::new(problem.hint(format!(
        "{why}. Send `Authorization: Bearer <operator token>`; `switchyard operator-token` makes one."
    )))
}
