//! Authentication by the token of a user or of a session, and the rate limit of each.

use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::http::header::{CACHE_CONTROL, USER_AGENT, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS};
use axum::http::{Extensions, HeaderValue};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use switchyard_users::{Channel, Identity, Origin, Refusal, Via};

use crate::bearer::bearer;
use crate::error::{ApiError, ErrorCode, Problem};
use crate::operator::error::Refused;
use crate::rate_headers::rate_headers;
use crate::state::{ApiState, ConsoleAccess};
use crate::{client, to_end, without_key};

/// Lets signed-in users and their tokens through.
pub async fn require_user(
    State(state): State<ApiState>,
    mut request: Request,
    next: Next,
) -> Response {
    let who = match authenticate(&state, request.headers(), request.extensions()) {
        Ok(who) => who,
        Err(refused) => return *refused,
    };
    let (access, address) = (state.engine().access(), who.origin.address);
    let id = match &who.via {
        Via::Session(session) => session.id.ulid(),
        Via::Token(token) => token.id.ulid(),
    };
    let rate = access.allow_user(id, address);
    let mut response = match rate.allowed {
        false => ApiError::too_many_requests(rate).into_response(),
        true => {
            request.extensions_mut().insert(who);
            // When the client hangs up, the change and its audit entry are completed.
            to_end::run(next.run(request)).await
        }
    };
    rate_headers(response.headers_mut(), rate);
    private(response)
}

/// Marks a response as one that no cache may keep: responses name customers and secrets.
pub fn private(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

fn authenticate(
    state: &ApiState,
    headers: &HeaderMap,
    extensions: &Extensions,
) -> Result<Identity, Box<Response>> {
    let origin = origin(state, headers, extensions);
    let found = match (state.console(), bearer(headers)) {
        (Some(console), Some(token)) => sender(console, token, &origin),
        _ => Err(Refusal::NotSignedIn),
    };
    found.map_err(|refusal| {
        // A token that opens nothing is counted as a request without one.
        if let Some(busy) = without_key::refusal(state, origin.address) {
            return Box::new(busy.into_response());
        }
        let mut response = Refused::from(refusal).into_response();
        let scheme = HeaderValue::from_static("Bearer");
        response.headers_mut().insert(WWW_AUTHENTICATE, scheme);
        Box::new(private(response))
    })
}

/// The user with this API token or session.
fn sender(console: &ConsoleAccess, token: &str, origin: &Origin) -> Result<Identity, Refusal> {
    let by_token = console.users.authenticate_token(token, origin);
    by_token.or_else(|_| console.users.authenticate_session(token, origin))
}

/// Client of a request, for the audit log.
pub fn origin(state: &ApiState, headers: &HeaderMap, extensions: &Extensions) -> Origin {
    let agent = headers.get(USER_AGENT).and_then(|text| text.to_str().ok());
    Origin {
        channel: Channel::Api,
        address: client::address(state.settings(), headers, extensions),
        user_agent: agent.unwrap_or_default().to_owned(),
    }
}

/// The console's users, unless the console is off.
pub fn console_of(state: &ApiState) -> Result<&ConsoleAccess, ApiError> {
    state.console().ok_or_else(|| {
        let off = "The console is off, so there are no users.";
        Problem::new(ErrorCode::ResourceNotFound, off).into()
    })
}
