//! `/callbacks/{connection}`: where providers send their news. The engine stores each before it is
//! answered.
//!
//! A sender needs the address only, and the address proves nothing: a callback takes effect when
//! its gateway has verified it. Providers read the status: any response but the gateway's own makes
//! them send again, or stop for good where there is no such connection.

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, FromRequest as _, Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use switchyard_core::ids::ConnectionId;
use switchyard_core::limits::CALLBACK_BODY_BYTES;
use switchyard_engine::callback::{CallbackRequest, ReceiveError};
use switchyard_gateway_host::manifest::CallbackAnswer;

use crate::client::context;
use crate::error::{ApiError, ErrorCode, Problem};
use crate::operations::{CLIENT_ADDRESS, CLIENT_COUNTRY};
use crate::state::ApiState;

/// Routes of callbacks. The path after the connection is for its gateway to parse.
pub fn routes() -> Router<ApiState> {
    let all = || get(receive).post(receive).put(receive).patch(receive);
    Router::new()
        .route("/callbacks/{connection}", all())
        .route("/callbacks/{connection}/", all())
        .route("/callbacks/{connection}/{*rest}", all())
        .layer(DefaultBodyLimit::max(CALLBACK_BODY_BYTES))
}

async fn receive(State(state): State<ApiState>, request: Request) -> Result<Response, ApiError> {
    let (parts, body) = request.into_parts();
    // `/callbacks/` stands before it, or this would not be the handler.
    let connection = parts.uri.path().split('/').nth(2).unwrap_or_default();
    let connection: ConnectionId = connection.parse().map_err(|_| not_found())?;
    let from = context(state.settings(), &parts.headers, &parts.extensions).ip;
    if !state.engine().takes_callbacks(connection) {
        return Err(not_found());
    }
    let request = CallbackRequest {
        method: parts.method.to_string(),
        path: parts.uri.path().to_owned(),
        query: parts.uri.query().unwrap_or_default().to_owned(),
        headers: headers(&parts.headers),
        body: Bytes::from_request(Request::from_parts(parts, body), &())
            .await
            .map_err(|_| too_large())?
            .into(),
        from,
    };
    let answer = state.engine().receive_callback(connection, request).await;
    answer.map(answered).map_err(refused)
}

fn headers(all: &HeaderMap) -> Vec<(String, String)> {
    let ours = [CLIENT_ADDRESS, CLIENT_COUNTRY];
    all.iter()
        .filter(|(name, _)| !ours.contains(&name.as_str()))
        .map(|(name, value)| {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            (name.to_string(), value)
        })
        .collect()
}

fn answered(answer: CallbackAnswer) -> Response {
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::OK);
    let mut response = (status, answer.body).into_response();
    let kind = answer
        .content_type
        .and_then(|kind| HeaderValue::try_from(kind).ok());
    if let Some(kind) = kind {
        response.headers_mut().insert(CONTENT_TYPE, kind);
    }
    response
}

fn refused(why: ReceiveError) -> ApiError {
    match why {
        ReceiveError::NoSuchConnection => not_found(),
        ReceiveError::TooLarge => too_large(),
        ReceiveError::TooMany => {
            let problem = Problem::new(ErrorCode::RateLimitExceeded, why.to_string());
            ApiError::new(problem).retry_after(LIMITED_RETRY_SECONDS)
        }
        _ => ApiError::unavailable(),
    }
}

fn not_found() -> ApiError {
    let problem = Problem::new(
        ErrorCode::ResourceNotFound,
        "There is no such connection, or its gateway takes no callbacks.",
    );
    problem.into()
}

fn too_large() -> ApiError {
    let problem = Problem::new(
        ErrorCode::BodyTooLarge,
        format!("The body is larger than {CALLBACK_BODY_BYTES} bytes, or did not come whole."),
    );
    problem.into()
}

/// A provider that receives this sends again after minutes anyway.
const LIMITED_RETRY_SECONDS: u32 = 5;
