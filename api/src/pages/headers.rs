//! Security headers of the checkout: no foreign script, frame, form or referrer, and no caching.
//!
//! `form-action` is `'self'` alone: forms lead to our own pages, and both ways out, to the
//! provider's page and back to the merchant, are links whose host is shown before. So no foreign
//! host ever needs to be let in.

use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, REFERRER_POLICY, STRICT_TRANSPORT_SECURITY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue};

/// A name that only this answer's own script and style know.
#[derive(Clone, Debug)]
pub struct Nonce(String);

impl Nonce {
    pub fn new(ids: &switchyard_system::ids::Ids) -> Self {
        use base64::Engine as _;
        let mut random = [0; 18];
        ids.fill(&mut random);
        Self(base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(random))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Headers of a page with this nonce. `https`: whether payers reach the service that way, so that
/// browsers may hold to it.
pub fn of_page(nonce: &Nonce, https: bool) -> HeaderMap {
    let nonce = nonce.as_str();
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}' 'strict-dynamic'; style-src 'nonce-{nonce}'; img-src 'self' data:; \
         connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'; \
         require-trusted-types-for 'script'; trusted-types 'none'"
    );
    let mut headers = of_anything(https);
    // A nonce is URL-safe base64, so the policy is always a valid header.
    if let Ok(policy) = HeaderValue::from_str(&policy) {
        headers.insert(CONTENT_SECURITY_POLICY, policy);
    }
    headers
}

/// Headers of responses without a page: redirects, events and the status.
pub fn of_anything(https: bool) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in FIXED {
        headers.insert(name.clone(), HeaderValue::from_static(value));
    }
    if https {
        headers.insert(STRICT_TRANSPORT_SECURITY, HeaderValue::from_static(HSTS));
    }
    headers
}

/// The policy of a response that is no page.
pub const NO_PAGE: &str =
    "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";
/// Two years, where payers reach the service by https.
pub const HSTS: &str = "max-age=63072000; includeSubDomains";

const FIXED: [(HeaderName, &str); 6] = [
    (CONTENT_SECURITY_POLICY, NO_PAGE),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (REFERRER_POLICY, "no-referrer"),
    (CACHE_CONTROL, "no-store"),
    (
        HeaderName::from_static("permissions-policy"),
        "accelerometer=(), autoplay=(), browsing-topics=(), camera=(), display-capture=(), encrypted-media=(), fullscreen=(), \
         geolocation=(), gyroscope=(), hid=(), idle-detection=(), magnetometer=(), microphone=(), midi=(), payment=(), \
         picture-in-picture=(), publickey-credentials-create=(), publickey-credentials-get=(), screen-wake-lock=(), serial=(), \
         usb=(), xr-spatial-tracking=()",
    ),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn page(https: bool) -> HeaderMap {
        of_page(&Nonce("abc".to_owned()), https)
    }

    #[test]
    fn a_page_allows_its_own_script_and_style_and_nothing_else() {
        let headers = page(false);
        let policy = headers[CONTENT_SECURITY_POLICY].to_str().unwrap();
        for part in [
            "default-src 'none'",
            "script-src 'nonce-abc' 'strict-dynamic'",
            "style-src 'nonce-abc'",
            "img-src 'self' data:",
            "connect-src 'self'",
            "form-action 'self'",
            "frame-ancestors 'none'",
            "base-uri 'none'",
            "require-trusted-types-for 'script'",
        ] {
            assert!(policy.split("; ").any(|given| given == part), "{part}");
        }
        assert!(!policy.contains("unsafe") && !policy.contains('*'));
        assert_eq!(headers[CACHE_CONTROL], "no-store");
        assert_eq!(headers[X_CONTENT_TYPE_OPTIONS], "nosniff");
        assert_eq!(headers[REFERRER_POLICY], "no-referrer");
        assert_eq!(headers["cross-origin-opener-policy"], "same-origin");
        assert!(
            headers["permissions-policy"]
                .to_str()
                .unwrap()
                .contains("camera=()")
        );
    }

    #[test]
    fn browsers_are_held_to_https_only_where_there_is_https() {
        assert!(!page(false).contains_key(STRICT_TRANSPORT_SECURITY));
        assert!(page(true).contains_key(STRICT_TRANSPORT_SECURITY));
    }
}
