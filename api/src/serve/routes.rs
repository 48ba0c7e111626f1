//! All routes of the server, and what surrounds them.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::HeaderName;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use switchyard_core::limits::BODY_BYTES;

use crate::config::{Settings, TrustedProxies};
use crate::error::ApiError;
use crate::operations::{Draining, Operations, Trust, identify};
use crate::state::ApiState;
use crate::{account, callbacks, checkout, console, docs, operator, routes, without_key};

/// State that the routes share.
pub struct ServerContext {
    pub state: ApiState,
    pub operations: Operations,
    pub draining: Draining,
    pub trust: Trust,
    pub request_timeout: Duration,
}

impl ServerContext {
    /// The routes of payers, merchants and providers, with `/healthz` and `/readyz`.
    pub fn public(&self) -> Router {
        self.surrounded(self.public_routes().merge(self.operations.health()))
    }

    /// The routes of operators, balancers and Prometheus.
    pub fn admin(&self) -> Router {
        self.surrounded(self.admin_routes())
    }

    /// The pages of the console alone, for a listener of its own.
    pub fn console(&self) -> Router {
        let start = get(async || Redirect::to(&format!("{}/", console::PREFIX)));
        self.surrounded(self.console_routes().route("/", start))
    }

    /// All of them, for one listener. In production the console is never on the origin of the
    /// checkout pages.
    pub fn all(&self) -> Router {
        let routes = self.public_routes().merge(self.admin_routes());
        self.surrounded(match self.state.settings().development {
            true => routes.merge(self.console_routes()),
            false => routes,
        })
    }

    fn console_routes(&self) -> Router<ApiState> {
        match self.state.console() {
            Some(access) => console::router(self.state.clone(), access)
                .with_state(())
                .nest(account::PREFIX, account::routes(self.state.clone()))
                .merge(docs::account_routes()),
            None => Router::new(),
        }
    }

    fn public_routes(&self) -> Router<ApiState> {
        let checkout = checkout::router(self.state.clone(), self.draining.clone());
        routes::routes()
            .merge(callbacks::routes())
            .merge(checkout.with_state(()))
    }

    fn admin_routes(&self) -> Router<ApiState> {
        let operators = operator::routes(self.state.clone(), self.draining.clone());
        Router::new()
            .nest(operator::PREFIX, operators)
            .merge(docs::operator_routes())
            .merge(self.operations.router())
    }

    /// Outermost first: the frame (id, log, metrics, panics), the client's address, the time limit,
    /// the limit on requests without a key, the size limit, the routes.
    fn surrounded(&self, routes: Router<ApiState>) -> Router {
        let routes = routes::complete(routes, &self.state)
            .layer(DefaultBodyLimit::max(BODY_BYTES))
            .layer(from_fn_with_state(self.state.clone(), without_key::limit))
            .layer(from_fn_with_state(self.request_timeout, in_time))
            .layer(from_fn_with_state(self.trust.clone(), identify));
        routes::framed(routes, self.state.clone())
    }
}

/// Proxies that the settings trust to name a client's address and country.
///
/// # Errors
/// When they hold what is no address, network or header name.
pub fn trust(settings: &Settings) -> anyhow::Result<Trust> {
    let server = &settings.server;
    let proxies = TrustedProxies::parse(&server.trusted_proxies);
    let proxies =
        proxies.map_err(|text| anyhow::anyhow!("server.trusted_proxies holds `{text}`"))?;
    let country_header = server.country_header.as_ref();
    Ok(Trust {
        proxies: Arc::new(proxies),
        country_header: country_header.map(HeaderName::try_from).transpose()?,
    })
}

/// Ends a request at its timeout. Its commits until then stay.
async fn in_time(State(limit): State<Duration>, request: Request, next: Next) -> Response {
    match tokio::time::timeout(limit, next.run(request)).await {
        Ok(response) => response,
        Err(_) => ApiError::too_slow().into_response(),
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use axum::body::Body;
    use axum::extract::ConnectInfo;
    use axum::http::{HeaderMap, StatusCode};
    use switchyard_core::transaction::ClientContext;
    use switchyard_engine::engine::NewPayment;
    use switchyard_engine::testing::{TestEngine, TestEngineBuilder, amount, customer};
    use switchyard_gateway_host::Gateways;
    use tower::ServiceExt as _;

    use super::*;
    use crate::operations::{CLIENT_ADDRESS, Surroundings};
    use crate::state::HttpSettings;

    async fn server() -> (TestEngine, Router) {
        let wanted = TestEngineBuilder {
            requests_per_minute: 120,
            ..TestEngineBuilder::with(Gateways::default())
        };
        let test = wanted.start().await;
        let http = HttpSettings {
            client_address_header: Some(CLIENT_ADDRESS.to_owned()),
            ..HttpSettings::default()
        };
        let (engine, draining) = (test.engine.clone(), Draining::default());
        let around = Surroundings::default();
        let proxies = TrustedProxies::parse(&["10.0.0.1".to_owned()]).unwrap();
        let parts = ServerContext {
            state: ApiState::new(engine.clone(), http),
            operations: Operations::new(engine, None, false, draining.clone(), around),
            draining,
            trust: Trust {
                proxies: Arc::new(proxies),
                country_header: None,
            },
            request_timeout: Duration::from_secs(30),
        };
        (test, parts.all())
    }

    /// A GET from `address`, through the proxy.
    async fn get(
        router: &Router,
        address: &str,
        path: &str,
        headers: &[(&str, &str)],
    ) -> (StatusCode, HeaderMap, String) {
        let mut request = Request::get(path).header("x-forwarded-for", address);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut request = request.body(Body::empty()).unwrap();
        let proxy = SocketAddr::from(([10, 0, 0, 1], 1));
        request.extensions_mut().insert(ConnectInfo(proxy));
        let response = router.clone().oneshot(request).await.unwrap();
        let (head, body) = response.into_parts();
        let body = axum::body::to_bytes(body, 1 << 21).await.unwrap();
        let text = String::from_utf8_lossy(&body).into_owned();
        (head.status, head.headers, text)
    }

    #[tokio::test]
    async fn requests_without_a_key_are_limited_for_each_address_and_others_are_not() {
        let (test, router) = server().await;
        let secret = test.keys.sandbox_secret_key.expose();
        let key = format!("Bearer {secret}");
        let key: &[_] = &[("authorization", key.as_str())];
        let (busy, other) = ("192.0.2.1", "192.0.2.2");
        for n in 0..1_200 {
            // A path with a needless slash is one request.
            let path = ["/nothing", "/utils/payment/methods/"][n % 2];
            let (status, _, text) = get(&router, busy, path, &[]).await;
            assert_ne!(status, StatusCode::TOO_MANY_REQUESTS, "{n}: {text}");
        }
        let wrong_key: &[_] = &[("authorization", "Bearer switchyard_sk_test_wrong")];
        for (path, headers) in [
            ("/", &[][..]),
            ("/nothing", &[]),
            ("/utils/payment/methods", &[]),
            ("/checkout/py_1/status", &[]),
            ("/v1/payments", &[]),
            ("/v1/payments", wrong_key),
        ] {
            let (status, headers, text) = get(&router, busy, path, headers).await;
            assert_eq!(status, StatusCode::TOO_MANY_REQUESTS, "{path}: {text}");
            assert!(headers.contains_key("retry-after"), "{path}");
            assert!(text.contains("rate_limit_exceeded"), "{path}: {text}");
            assert!(text.contains("1200 in 60 seconds"), "{path}: {text}");
        }
        let browser = [("accept", "text/html"), ("accept-language", "fr-BJ")];
        let (status, headers, page) = get(&router, busy, "/checkout/py_1", &browser).await;
        assert_eq!(status, StatusCode::TOO_MANY_REQUESTS);
        assert!(headers.contains_key("retry-after"));
        assert!(page.contains("Trop de requêtes"), "{page}");
        assert!(page.contains("lang=\"fr\""), "{page}");
        for (address, path, headers, expected) in [
            (busy, "/v1/payments", key, StatusCode::OK),
            (busy, "/healthz", &[], StatusCode::OK),
            (busy, "/readyz", &[], StatusCode::OK),
            (busy, "/operator/v1/apps", &[], StatusCode::UNAUTHORIZED),
            (other, "/utils/payment/methods", &[], StatusCode::OK),
            (other, "/nothing", &[], StatusCode::NOT_FOUND),
        ] {
            let (status, _, text) = get(&router, address, path, headers).await;
            assert_eq!(status, expected, "{path}: {text}");
        }
    }

    #[tokio::test]
    async fn each_reference_finds_its_assets_and_its_document() {
        let (_bench, router) = server().await;
        for (path, title) in [
            ("/docs", "Switchyard merchant API"),
            ("/operator/docs", "Switchyard operator API"),
        ] {
            let (status, _, page) = get(&router, "192.0.2.1", path, &[]).await;
            assert_eq!(status, StatusCode::OK, "{page}");
            let named = page.split(['"', '\'']).filter(|text| text.starts_with('/'));
            let assets: Vec<_> = named.collect();
            assert_eq!(assets.len(), 4, "{assets:?}");
            for asset in &assets {
                let (status, _, text) = get(&router, "192.0.2.1", asset, &[]).await;
                assert_eq!(status, StatusCode::OK, "{asset}: {text}");
            }
            let (above, _) = path.rsplit_once('/').unwrap();
            let document = format!("{above}/openapi.json");
            let (_, _, text) = get(&router, "192.0.2.1", &document, &[]).await;
            assert!(text.contains(title), "{document}");
            let script = format!("{path}/page.js");
            let (_, _, text) = get(&router, "192.0.2.1", &script, &[]).await;
            assert!(text.contains(&format!("\"{document}\"")), "{text}");
        }
    }

    #[tokio::test]
    async fn the_test_connection_takes_no_callbacks_without_a_test_gateway() {
        let (test, router) = server().await;
        let app = test.keys.app.to_string();
        let (_, ulid) = app.split_once('_').unwrap();
        let path = format!("/callbacks/con_{ulid}");
        let (status, _, text) = get(&router, "192.0.2.1", &path, &[]).await;
        assert_eq!(status, StatusCode::NOT_FOUND);
        assert!(text.contains("no such connection"), "{text}");
    }

    async fn payment(test: &TestEngine) -> String {
        let new = NewPayment {
            amount: amount(2_500, "USD"),
            description: "A teapot".to_owned(),
            return_url: "https://shop.example/done".to_owned(),
            customer: customer(),
            metadata: std::collections::BTreeMap::new(),
            methods: Vec::new(),
            restriction: None,
            expires_in: None,
            context: ClientContext::default(),
        };
        let payment = test
            .engine
            .initialize_payment(&test.caller(), new, None)
            .await;
        payment.unwrap().id.to_string()
    }

    #[tokio::test]
    async fn payers_behind_an_address_over_its_limit_reach_their_own_pages() {
        let (test, router) = server().await;
        let busy = "192.0.2.1";
        let (one, other) = (payment(&test).await, payment(&test).await);
        for _ in 0..1_200 {
            get(&router, busy, "/nothing", &[]).await;
        }
        let paths = [
            format!("/checkout/{one}"),
            format!("/checkout/{one}/status"),
        ];
        for n in 0..60 {
            let (status, _, text) = get(&router, busy, &paths[n % 2], &[]).await;
            assert_eq!(status, StatusCode::OK, "{n}: {text}");
        }
        let last = if one.ends_with('0') { '1' } else { '0' };
        let unknown = format!("{}{last}", &one[..one.len() - 1]);
        for (path, counted) in [
            (
                &paths[0],
                "60 in 60 seconds are allowed for the pages of one payment",
            ),
            (&"/checkout".to_owned(), "1200 in 60 seconds"),
            (&format!("/checkout/{unknown}"), "1200 in 60 seconds"),
            (&"/checkout/nothing/status".to_owned(), "1200 in 60 seconds"),
        ] {
            let (status, _, text) = get(&router, busy, path, &[]).await;
            assert_eq!(status, StatusCode::TOO_MANY_REQUESTS, "{path}: {text}");
            assert!(text.contains(counted), "{path}: {text}");
        }
        let browser = [("accept", "text/html")];
        let (_, _, page) = get(&router, busy, &paths[0], &browser).await;
        assert!(page.contains("it started and cancelled nothing"), "{page}");
        let back = format!("href=\"/checkout/{one}\"");
        assert!(page.contains(&back), "{page}");
        let (status, ..) = get(&router, busy, &format!("/checkout/{other}"), &[]).await;
        assert_eq!(status, StatusCode::OK);
        let elsewhere = get(&router, "192.0.2.2", &paths[0], &[]).await;
        assert_eq!(elsewhere.0, StatusCode::OK);
    }
}
