//! Any request at all, at every route that a server has, over a whole engine in memory.
//!
//! A sample is a request as it goes over a connection, with the server's own keys and ids put in place of `{secret}`, `{operator}`, `{app}`
//! and the like. Whatever it is, the answer is none of the 500s, shows no secret, and carries the headers that every answer carries.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Method, Request, Uri};
use serde_json::Value;
use switchyard_engine::access::NewWebhook;
use switchyard_engine::engine::NewPayment;
use switchyard_engine::gateway::Gateways;
use switchyard_engine::testing::{Bench, Wanted, amount, customer};
use switchyard_engine::transaction::ClientContext;
use tokio::runtime::{Builder, Runtime};
use tower::ServiceExt as _;

use crate::headers;

/// What merchants, payers and providers ask.
pub fn public(bytes: &[u8]) {
    HOUSE.with_borrow_mut(|house| house.ask(bytes, None));
}

/// What an operator asks: the token is right, so that all else is looked at.
pub fn operator(bytes: &[u8]) {
    HOUSE.with_borrow_mut(|house| house.ask(bytes, Some("/operator/v1")));
}

thread_local! {
    static HOUSE: RefCell<House> = RefCell::new(House::open());
}

/// A server without a socket.
struct House {
    runtime: Runtime,
    router: Router,
    bench: Bench,
    /// What stands for what in a sample.
    names: BTreeMap<&'static str, String>,
    /// Keys that a request wrote into a name or a description: any later answer may show them.
    written: BTreeSet<&'static str>,
    asked: u32,
}

impl House {
    fn open() -> Self {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.expect("a runtime");
        let (bench, names) = runtime.block_on(async {
            let bench = Wanted::with(Gateways::default()).start().await;
            let names = names(&bench).await;
            (bench, names)
        });
        let router = runtime.block_on(async { switchyard::fuzzing::server(&bench.engine) });
        Self {
            runtime,
            router: router.expect("the routes of a server"),
            bench,
            names,
            written: BTreeSet::new(),
            asked: 0,
        }
    }

    fn ask(&mut self, bytes: &[u8], under: Option<&str>) {
        self.asked += 1;
        if self.asked > MOST {
            // What was made stays in memory: a long run begins again now and then.
            let old = std::mem::replace(self, Self::open());
            old.runtime
                .block_on(old.bench.engine.stop(std::time::Duration::ZERO));
        }
        let Some(request) = self.request(bytes, under) else {
            return;
        };
        let (path, head) = (
            request.uri().path().to_owned(),
            request.method() == Method::HEAD,
        );
        let writes = !request.method().is_safe();
        let router = self.router.clone();
        let (status, headers, body) = self.runtime.block_on(async {
            let answer = router
                .oneshot(request)
                .await
                .unwrap_or_else(|never| match never {});
            let (parts, body) = answer.into_parts();
            let is_stream = kind(&parts.headers).starts_with("text/event-stream");
            let body = match is_stream {
                true => None,
                false => to_bytes(body, 16 << 20).await.ok(),
            };
            (parts.status, parts.headers, body.unwrap_or_default())
        });
        assert!(
            !status.is_server_error(),
            "{path} is answered with {status}: {}",
            lossy(&body)
        );
        assert_eq!(headers["x-content-type-options"], "nosniff", "{path}");
        assert!(headers.contains_key("cache-control"), "{path}");
        if path.starts_with("/v1/") || path.starts_with("/operator/v1/") {
            assert!(!headers.contains_key("set-cookie"), "{path}");
            let is_read =
                status.as_u16() != 204 && !head && kind(&headers).starts_with("application/json");
            if is_read {
                let answer: Value = serde_json::from_slice(&body).expect("an envelope");
                let is_refused = answer["errors"]
                    .as_array()
                    .is_some_and(|errors| !errors.is_empty());
                assert_eq!(is_refused, !status.is_success(), "{path}: {answer}");
            }
        }
        let text = lossy(&body);
        for (name, key) in self.names.iter().filter(|(name, _)| KEYS.contains(name)) {
            // What stands in an address or a body may be named in the answer; the key in a header never is.
            let is_named = contains(&without_key(bytes), format!("{{{name}}}").as_bytes());
            if is_named && writes {
                self.written.insert(name);
            }
            assert!(
                is_named || self.written.contains(name) || !text.contains(key),
                "{path} shows the key of {name}"
            );
        }
    }

    fn request(&self, bytes: &[u8], under: Option<&str>) -> Option<Request<Body>> {
        let gap = bytes.windows(2).position(|pair| pair == b"\n\n");
        let (head, body) = gap.map_or((bytes, &[][..]), |gap| (&bytes[..gap], &bytes[gap + 2..]));
        let head = self.named(std::str::from_utf8(head).ok()?);
        let (line, rest) = head.split_once('\n').unwrap_or((&head, ""));
        let (method, target) = line.split_once(' ')?;
        let target = format!("{}{target}", under.unwrap_or_default());
        let mut request = Request::new(Body::empty());
        *request.method_mut() = Method::from_bytes(method.as_bytes()).ok()?;
        *request.uri_mut() = target
            .parse::<Uri>()
            .ok()
            .filter(|uri| uri.path().starts_with('/'))?;
        *request.headers_mut() = headers::read(rest.as_bytes());
        if under.is_some() {
            let token = format!("Bearer {}", self.names["operator"]);
            request
                .headers_mut()
                .insert("authorization", token.parse().ok()?);
        }
        let body = match std::str::from_utf8(body) {
            Ok(text) => Body::from(self.named(text)),
            Err(_) => Body::from(body.to_vec()),
        };
        *request.body_mut() = body;
        Some(request)
    }

    fn named(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (name, value) in &self.names {
            text = text.replace(&format!("{{{name}}}"), value);
        }
        text
    }
}

async fn names(bench: &Bench) -> BTreeMap<&'static str, String> {
    let keys = &bench.keys;
    let access = &bench.engine.access;
    let new = NewPayment {
        amount: amount(2500, "USD"),
        description: "A teapot".to_owned(),
        return_url: "https://shop.example/done".to_owned(),
        customer: customer(),
        metadata: BTreeMap::new(),
        methods: Vec::new(),
        restriction: None,
        context: ClientContext::default(),
    };
    let payment = bench.engine.initialize_payment(&bench.caller(), new).await;
    let webhook = access.create_webhook(NewWebhook {
        app: keys.app,
        secret: None,
        url: "https://shop.example/hook".to_owned(),
        options: Default::default(),
    });
    let webhook = webhook.await.expect("a webhook");
    let app = access.app(keys.app).expect("the app");
    BTreeMap::from([
        ("secret", keys.sandbox_secret_key.expose().clone()),
        ("public", keys.sandbox_public_key.expose().clone()),
        ("live", keys.live_secret_key.expose().clone()),
        ("operator", keys.operator_token.expose().clone()),
        ("app", keys.app.to_string()),
        ("account", app.account.to_string()),
        ("webhook", webhook.id.to_string()),
        ("payment", payment.expect("a payment").id.to_string()),
    ])
}

/// The sample without its `authorization`.
fn without_key(bytes: &[u8]) -> Vec<u8> {
    let is_other = |line: &&[u8]| !line.to_ascii_lowercase().starts_with(b"authorization:");
    let lines: Vec<&[u8]> = bytes
        .split(|byte| *byte == b'\n')
        .filter(is_other)
        .collect();
    lines.join(&b'\n')
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

fn kind(headers: &HeaderMap) -> &str {
    let value = headers.get("content-type");
    value
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default()
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const KEYS: &[&str] = &["secret", "public", "live", "operator"];
const MOST: u32 = 5_000;
