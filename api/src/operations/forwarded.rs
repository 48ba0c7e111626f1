//! Client of a request: its address and country, from trusted headers.
//!
//! The connection's own address counts, unless it is a trusted proxy's; then what the proxy says.
//! The result is put into two headers of ours, over whatever a client may have written there, so
//! that handlers need not know whom to trust.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;

use crate::config::TrustedProxies;

/// The client's address, on every request that reaches a handler.
pub const CLIENT_ADDRESS: &str = "x-switchyard-client-address";
/// The client's country, when a trusted proxy named it.
pub const CLIENT_COUNTRY: &str = "x-switchyard-client-country";

/// Trusted proxies and headers.
#[derive(Clone, Debug)]
pub struct Trust {
    pub proxies: Arc<TrustedProxies>,
    pub country_header: Option<HeaderName>,
}

/// Settles what handlers will believe.
pub async fn identify(State(trust): State<Trust>, mut request: Request, next: Next) -> Response {
    let peer = request
        .extensions()
        .get::<ConnectInfo<SocketAddr>>()
        .map(|info| info.0.ip().to_canonical());
    let headers = request.headers_mut();
    headers.remove(CLIENT_ADDRESS);
    headers.remove(CLIENT_COUNTRY);
    // A peer that is not trusted needs nothing: without our headers, the connection's own address
    // counts.
    if let Some(peer) = peer.filter(|peer| trust.proxies.contains(*peer)) {
        let lines = headers.get_all("x-forwarded-for").iter();
        // A payer may have put any bytes in front of the address that the proxy appends.
        let lines = lines.map(|line| String::from_utf8_lossy(line.as_bytes()));
        let forwarded: Vec<_> = lines.collect();
        let client = trust.proxies.client(peer, Some(&forwarded.join(",")));
        if let Ok(value) = HeaderValue::try_from(client.to_string()) {
            headers.insert(CLIENT_ADDRESS, value);
        }
        let country = trust
            .country_header
            .as_ref()
            .and_then(|name| headers.get(name))
            .cloned();
        if let Some(country) = country {
            headers.insert(CLIENT_COUNTRY, country);
        }
    }
    next.run(request).await
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::body::Body;
    use axum::http::HeaderMap;
    use axum::middleware::from_fn_with_state;
    use axum::routing::get;
    use tower::ServiceExt as _;

    use super::*;

    async fn seen(peer: &str, headers: &[(&str, &str)]) -> String {
        let trust = Trust {
            proxies: Arc::new(TrustedProxies::parse(&["10.0.0.0/8".to_owned()]).unwrap()),
            country_header: Some(HeaderName::from_static("cf-ipcountry")),
        };
        let show = |headers: HeaderMap| async move {
            let one = |name| {
                headers
                    .get(name)
                    .map_or("-", |value| value.to_str().unwrap())
                    .to_owned()
            };
            format!("{} {}", one(CLIENT_ADDRESS), one(CLIENT_COUNTRY))
        };
        let router = Router::new()
            .route("/", get(show))
            .layer(from_fn_with_state(trust, identify));
        let mut request = Request::builder().uri("/");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut request = request.body(Body::empty()).unwrap();
        request
            .extensions_mut()
            .insert(ConnectInfo(SocketAddr::new(peer.parse().unwrap(), 1)));
        let answer = router.oneshot(request).await.unwrap();
        let bytes = axum::body::to_bytes(answer.into_body(), 1_000)
            .await
            .unwrap();
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    #[tokio::test]
    async fn only_a_trusted_proxy_names_address_and_country() {
        let claims = [("x-forwarded-for", "203.0.113.9"), ("cf-ipcountry", "BJ")];
        assert_eq!(seen("10.0.0.1", &claims).await, "203.0.113.9 BJ");
        assert_eq!(seen("198.51.100.7", &claims).await, "- -");
        // Bytes of the client before the address that the proxy appends hide nothing.
        let strange = [("x-forwarded-for", "é, 203.0.113.9")];
        assert_eq!(seen("10.0.0.1", &strange).await, "203.0.113.9 -");
    }

    #[tokio::test]
    async fn a_client_cannot_write_our_own_headers() {
        let forged = [(CLIENT_ADDRESS, "1.1.1.1"), (CLIENT_COUNTRY, "FR")];
        assert_eq!(seen("198.51.100.7", &forged).await, "- -");
        assert_eq!(seen("10.0.0.1", &forged).await, "10.0.0.1 -");
    }
}
