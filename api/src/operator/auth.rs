//! Who may ask: whoever shows an operator token.

use axum::extract::{Request, State};
use axum::http::HeaderValue;
use axum::http::header::WWW_AUTHENTICATE;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tracing::Instrument as _;

use super::audit::{self, Created, Fields};
use crate::bearer::bearer;
use crate::client;
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
    let (fields, uri) = (Fields::default(), request.uri().clone());
    let client = client::address(&state.settings, request.headers(), request.extensions());
    let query = url::form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
    let asked = audit::Request {
        operator: operator.clone(),
        client: client.map_or_else(|| "-".to_owned(), |address| address.to_string()),
        method: request.method().clone(),
        object: uri.path().to_owned(),
        query: query.map(|(name, _)| name.into_owned()).collect(),
        fields: fields.clone(),
    };
    request.extensions_mut().insert(operator);
    request.extensions_mut().insert(fields);
    // A task of its own: when the client hangs up, the change and its audit line are completed.
    let change = async move {
        let response = next.run(request).await;
        asked.log(
            response.status().as_u16(),
            response.extensions().get::<Created>(),
        );
        response
    };
    match tokio::spawn(change.in_current_span()).await {
        Ok(response) => response,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => ApiError::internal().into_response(),
        },
    }
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
