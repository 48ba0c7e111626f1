//! Reading what an operator sends: ids in paths, JSON bodies, query strings, each with the
//! envelope's errors.

use std::str::FromStr;

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::Response;
use serde::Serialize;
use serde::de::DeserializeOwned;
use switchyard_core::time::Timestamp;

use super::audit::{Created, Fields};
use super::contract::Nothing;
use super::error::{Answer, Refused, invalid, not_found};
use crate::envelope;
use crate::error::{ApiError, ErrorCode, Problem};

/// The only id in a path. A text that is no id of its kind is not found, without a lookup.
pub struct Id<T>(pub T);

impl<S: Send + Sync, T: FromStr> FromRequestParts<S> for Id<T> {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refused> {
        let found = Path::<String>::from_request_parts(parts, state).await;
        let id = found.ok().and_then(|Path(text)| text.parse().ok());
        id.map(Self)
            .ok_or_else(|| Refused(not_found("thing with this id")))
    }
}

/// A JSON body. An empty one is `{}`.
pub struct Body<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = Refused;

    async fn from_request(request: Request, state: &S) -> Result<Self, Refused> {
        let too_large = |_| {
            let problem = Problem::new(ErrorCode::BodyTooLarge, "The body is larger than 64 KiB.");
            Refused(problem.into())
        };
        let fields = request.extensions().get::<Fields>().cloned();
        let bytes = Bytes::from_request(request, state)
            .await
            .map_err(too_large)?;
        let text: &[u8] = if bytes.trim_ascii().is_empty() {
            b"{}"
        } else {
            &bytes
        };
        if !text.trim_ascii_start().starts_with(b"{") {
            // A struct would be read from an array, too.
            let problem = Problem::new(ErrorCode::MalformedJson, "The body is no JSON object.");
            return Err(Refused(problem.into()));
        }
        if let (Some(fields), Ok(body)) = (fields, serde_json::from_slice(text)) {
            fields.note(&body);
        }
        serde_json::from_slice(text).map(Self).map_err(|why| {
            let code = if why.is_data() {
                ErrorCode::FieldInvalid
            } else {
                ErrorCode::MalformedJson
            };
            Refused(
                Problem::new(
                    code,
                    format!("The body is not what this endpoint takes: {why}"),
                )
                .into(),
            )
        })
    }
}

/// A query string.
pub struct QueryParams<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for QueryParams<T> {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refused> {
        match Query::<T>::from_request_parts(parts, state).await {
            Ok(Query(query)) => Ok(Self(query)),
            Err(why) => {
                let why = why.body_text();
                let why = why.trim_start_matches("Failed to deserialize query string: ");
                let message = format!("The query is not what this endpoint takes: {why}");
                let problem = Problem::new(ErrorCode::ParameterInvalid, message);
                Err(Refused(problem.into()))
            }
        }
    }
}

/// Reads a moment of a query string.
pub fn moment(field: &'static str, text: Option<&str>) -> Result<Option<Timestamp>, ApiError> {
    read(field, text, Timestamp::parse)
}

/// The same where it ends a span: a bare date means the whole of its day.
pub fn end(field: &'static str, text: Option<&str>) -> Result<Option<Timestamp>, ApiError> {
    read(field, text, Timestamp::parse_end)
}

fn read(
    field: &'static str,
    text: Option<&str>,
    parse: fn(&str) -> Option<Timestamp>,
) -> Result<Option<Timestamp>, ApiError> {
    let Some(text) = text else {
        return Ok(None);
    };
    let parsed = parse(text).map(Some);
    parsed.ok_or_else(|| {
        invalid(
            field,
            format!("{field} is a date (2026-11-20) or a time (2026-11-20T10:00:00Z)"),
        )
    })
}

/// 200 with data.
pub fn ok(message: &str, data: &impl Serialize) -> Answer {
    Ok(envelope::success(StatusCode::OK, message, data))
}

/// 201 with data.
pub fn created(message: &str, data: &impl Serialize) -> Answer {
    Ok(named_response(StatusCode::CREATED, message, data))
}

/// 202 with data: the request is stored and needs another operator.
pub fn accepted(message: &str, data: &impl Serialize) -> Answer {
    Ok(named_response(StatusCode::ACCEPTED, message, data))
}

/// A response that names what was created in the audit line.
fn named_response(status: StatusCode, message: &str, data: &impl Serialize) -> Response {
    let mut response = envelope::success(status, message, data);
    let data = serde_json::to_value(data).unwrap_or_default();
    let named = ["id", "name", "sha256"]
        .iter()
        .find_map(|name| data.get(*name)?.as_str());
    if let Some(named) = named {
        response.extensions_mut().insert(Created(named.to_owned()));
    }
    response
}

/// 200 with `{}`.
pub fn done(message: &str) -> Result<Response, Refused> {
    Ok(envelope::success(StatusCode::OK, message, &Nothing {}))
}
