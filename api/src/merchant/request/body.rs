//! The body of a request, from bytes on the wire to the members of a JSON object.

use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use switchyard_core::limits::BODY_BYTES;

use super::json::Object;
use crate::error::{ApiError, ErrorCode, Problem};

/// Reads a JSON body of at most [`BODY_BYTES`].
pub async fn read(headers: &HeaderMap, body: Body) -> Result<Bytes, ApiError> {
    if !is_json(headers) {
        let message = "The body must be JSON, and its Content-Type must say so";
        let problem = Problem::new(ErrorCode::UnsupportedMediaType, message);
        return Err(problem
            .hint("Send the header Content-Type: application/json")
            .into());
    }
    if is_encoded(headers) {
        let message = "The body must come as it is, without a Content-Encoding";
        let problem = Problem::new(ErrorCode::UnsupportedMediaType, message);
        return Err(problem.hint("Send it uncompressed").into());
    }
    let announced = headers
        .get(CONTENT_LENGTH)
        .and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if announced.is_some_and(|length| length > BODY_BYTES as u64) {
        return Err(too_large());
    }
    let incomplete = || {
        ApiError::from(Problem::new(
            ErrorCode::BodyIncomplete,
            "The body ended, or stopped coming, before it was complete",
        ))
    };
    match tokio::time::timeout(BODY_DEADLINE, to_bytes(body, BODY_BYTES)).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(error)) if is_length_limit(&error) => Err(too_large()),
        Ok(Err(_)) | Err(_) => Err(incomplete()),
    }
}

/// The members of the object that the body is.
pub fn object(body: &[u8]) -> Result<Object<'_>, ApiError> {
    let malformed =
        |message: String| ApiError::from(Problem::new(ErrorCode::MalformedJson, message));
    if body.iter().all(u8::is_ascii_whitespace) {
        return Err(malformed(
            "The body is empty: it must be a JSON object".to_owned(),
        ));
    }
    // A byte order mark has no meaning in UTF-8, and a JSON parser may ignore it (RFC 8259, 8.1).
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    let text = std::str::from_utf8(body).map_err(|error| {
        let at = error.valid_up_to();
        malformed(format!(
            "The body is not UTF-8: the byte at position {at} does not belong there"
        ))
    })?;
    if !text.trim_start().starts_with('{') {
        // Something else than an object is either JSON or not, and the answer says which.
        return Err(match serde_json::from_str::<serde::de::IgnoredAny>(text) {
            Ok(_) => {
                Problem::new(ErrorCode::BodyNotObject, "The body must be a JSON object").into()
            }
            Err(error) => malformed(format!("The body is not JSON: {error}")),
        });
    }
    serde_json::from_str(text).map_err(|error| malformed(format!("The body is not JSON: {error}")))
}

fn is_json(headers: &HeaderMap) -> bool {
    let Some(value) = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
    else {
        return false;
    };
    let essence = value.split(';').next().unwrap_or_default().trim();
    let Some((_, subtype)) = essence
        .split_once('/')
        .filter(|(kind, _)| kind.eq_ignore_ascii_case("application"))
    else {
        return false;
    };
    let suffix = subtype.rsplit('+').next().unwrap_or_default();
    subtype.eq_ignore_ascii_case("json")
        || (subtype.contains('+') && suffix.eq_ignore_ascii_case("json"))
}

/// Whether the body was compressed. `identity` says that it was not.
fn is_encoded(headers: &HeaderMap) -> bool {
    let codings = headers.get_all(CONTENT_ENCODING).iter();
    codings
        .flat_map(|coding| coding.as_bytes().split(|byte| *byte == b','))
        .map(<[u8]>::trim_ascii)
        .any(|coding| !coding.is_empty() && !coding.eq_ignore_ascii_case(b"identity"))
}

fn is_length_limit(error: &axum::Error) -> bool {
    let mut cause: Option<&dyn std::error::Error> = Some(error);
    while let Some(error) = cause {
        if error.is::<http_body_util::LengthLimitError>() {
            return true;
        }
        cause = error.source();
    }
    false
}

fn too_large() -> ApiError {
    let message = format!(
        "The body is too large: at most {} KiB are allowed",
        BODY_BYTES / 1024
    );
    Problem::new(ErrorCode::BodyTooLarge, message).into()
}

/// A client that sends 64 KiB slower than this does not mean to be answered.
const BODY_DEADLINE: Duration = Duration::from_secs(10);
