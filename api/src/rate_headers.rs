//! Headers that say how many requests are left, see `docs/contract/limits.md`.

use axum::http::{HeaderMap, HeaderName};
use switchyard_engine::access::Rate;

/// Names the limit and what is left of it. Without a limit there are no headers.
pub fn rate_headers(headers: &mut HeaderMap, rate: Rate) {
    if rate.limit == 0 {
        return;
    }
    headers.insert(RATE_LIMIT, rate.limit.into());
    headers.insert(RATE_REMAINING, rate.remaining.into());
    headers.insert(RATE_RESET, rate.reset_seconds.into());
}

const RATE_LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const RATE_REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const RATE_RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");
