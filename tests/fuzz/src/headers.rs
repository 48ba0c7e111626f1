//! Headers, which anybody can send.

use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use switchyard::bearer::bearer;
use switchyard::fuzzing::{client_context, read_idempotency_key};
use switchyard_core::limits::IDEMPOTENCY_KEY_BYTES;

/// One header a line, name and value with a colon between them.
pub fn headers(bytes: &[u8]) {
    let headers = read(bytes);
    if let Some(token) = bearer(&headers) {
        assert_eq!(token, token.trim());
        assert!(headers[AUTHORIZATION].len() > token.len());
    }
    if let Ok(Some(key)) = read_idempotency_key(&headers) {
        assert!((1..=IDEMPOTENCY_KEY_BYTES).contains(&key.len()));
        assert!(key.bytes().all(|byte| byte.is_ascii_graphic()));
    }
    let context = client_context(&headers);
    assert!(context.user_agent.is_none_or(|agent| agent.len() <= 512));
    assert!(
        context
            .locale
            .is_none_or(|locale| (2..=35).contains(&locale.len()))
    );
    assert!(context.country.is_none_or(|country| country.len() == 2));
}

/// Headers as a server would parse them from a connection.
pub fn read(bytes: &[u8]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for line in bytes.split(|byte| *byte == b'\n').take(100) {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else {
            continue;
        };
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        if let (Ok(name), Ok(value)) =
            (HeaderName::from_bytes(name), HeaderValue::from_bytes(value))
        {
            headers.append(name, value);
        }
    }
    headers
}
