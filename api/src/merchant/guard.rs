//! Authentication by API key, and its rate limit.
//!
//! The order is fixed: a wrong key is a 401 before any lookup, then the rate limit, then the
//! permissions of the kind of key.

use axum::extract::FromRequestParts;
use axum::http::header::{AUTHORIZATION, CACHE_CONTROL, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue};
use axum::response::{IntoResponse, Response};
use switchyard_engine::access::{Caller, KeyKind, Rate, Unauthorized};
use switchyard_engine::engine::Engine;

use crate::bearer::bearer;
use crate::error::{ApiError, ErrorCode, Problem};
use crate::rate_headers::rate_headers;
use crate::state::ApiState;
use crate::{client, without_key};

/// A caller with any key: may initialize payments, and nothing else.
pub struct AnyKey(pub Guard);

/// A caller who may order payouts: with a secret key, or with a public one of an app that accepts
/// the danger. Not from a page.
pub struct PayoutKey(pub Guard);

/// A caller with a secret key.
pub struct SecretKey(pub Guard);

/// A caller who may ask now.
pub struct Guard {
    pub caller: Caller,
    rate: Rate,
}

impl Guard {
    /// The answer, with the headers that say how often the key may still be used.
    pub fn answer(&self, result: Result<Response, ApiError>) -> Response {
        let mut response = result.unwrap_or_else(IntoResponse::into_response);
        let headers = response.headers_mut();
        rate_headers(headers, self.rate);
        // Answers name customers: no cache may keep them.
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        response
    }

    fn public_key_not_allowed(&self) -> Response {
        let message = "A public key may only initialize payments";
        let problem = Problem::new(ErrorCode::PublicKeyNotAllowed, message);
        let hint = "Use a secret key, from a server and never from a page or an app.";
        self.answer(Err(problem.hint(hint).into()))
    }
}

impl FromRequestParts<ApiState> for AnyKey {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &ApiState) -> Result<Self, Response> {
        guard(state, parts).map(Self).map_err(|refused| *refused)
    }
}

impl FromRequestParts<ApiState> for SecretKey {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &ApiState) -> Result<Self, Response> {
        let guard = guard(state, parts).map_err(|refused| *refused)?;
        if guard.caller.kind == KeyKind::Secret {
            return Ok(Self(guard));
        }
        Err(guard.public_key_not_allowed())
    }
}

impl FromRequestParts<ApiState> for PayoutKey {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &ApiState) -> Result<Self, Response> {
        let guard = guard(state, parts).map_err(|refused| *refused)?;
        let settings = &guard.caller.app.settings;
        if guard.caller.kind == KeyKind::Secret || settings.unsafe_payouts_with_public_key {
            return Ok(Self(guard));
        }
        Err(guard.public_key_not_allowed())
    }
}

fn guard(state: &ApiState, parts: &Parts) -> Result<Guard, Box<Response>> {
    let engine = state.engine();
    let address = client::address(state.settings(), &parts.headers, &parts.extensions);
    let caller = authenticate(engine, &parts.headers).map_err(|error| {
        if let Some(refusal) = without_key::refusal(state, address) {
            return Box::new(refusal.into_response());
        }
        let mut response = error.into_response();
        response
            .headers_mut()
            .insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        Box::new(response)
    })?;
    let rate = engine.access().allow(&caller, address);
    let guard = Guard { caller, rate };
    if rate.allowed {
        return Ok(guard);
    }
    let refusal = ApiError::too_many_requests(rate);
    Err(Box::new(guard.answer(Err(refusal))))
}

fn authenticate(engine: &Engine, headers: &HeaderMap) -> Result<Caller, ApiError> {
    let unauthorized = |code, hint| {
        let message = match code {
            ErrorCode::ApiKeyMissing => "Unauthorized: no API key was sent",
            _ => "Unauthorized: invalid API key",
        };
        ApiError::from(Problem::new(code, message).hint(hint))
    };
    if !headers.contains_key(AUTHORIZATION) {
        let hint = "Send the header Authorization: Bearer <API key>.";
        return Err(unauthorized(ErrorCode::ApiKeyMissing, hint));
    }
    let token = bearer(headers).ok_or_else(|| {
        let hint = "Send the header Authorization once: the word Bearer, a space and the API key.";
        unauthorized(ErrorCode::ApiKeyInvalid, hint)
    })?;
    engine.access().authenticate(token).map_err(|why| {
        let hint = match why {
            Unauthorized::Malformed => {
                "This is no key of this service: its form or its checksum is wrong."
            }
            Unauthorized::Unknown | Unauthorized::Expired | Unauthorized::AppDisabled => {
                "This key does not exist, was deleted or rolled, or its app is disabled."
            }
        };
        unauthorized(ErrorCode::ApiKeyInvalid, hint)
    })
}
