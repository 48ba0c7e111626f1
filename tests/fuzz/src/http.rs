//! Any request at all, at every route that a server has, over a whole engine in memory.
//!
//! A sample is a request as it goes over a connection, with the server's own keys and ids put in
//! place of `{secret}`, `{operator}`, `{app}` and the like. Whatever it is, the answer is none of
//! the 500s, shows no secret, and carries the headers that every answer carries.
//!
//! The app has a connection to the test gateway, `{connection}`, where an attempt of `{reference}`
//! is pending; the target waits until the gateway has processed a callback to it. `{signed}` is the
//! body's signature by the connection's secret, and only a callback that carries it is trusted.
//! `{answers}` are the form entries of a payer who is about to confirm `{payment}`.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Method, Request, Uri};
use ring::hmac;
use serde_json::{Value, json};
use switchyard_core::environment::Environment;
use switchyard_core::ids::{ConnectionId, TransactionId};
use switchyard_core::transaction::ClientContext;
use switchyard_engine::access::{NewConnection, NewWebhook};
use switchyard_engine::callback::{Callback, CallbackQuery, CallbackState};
use switchyard_engine::engine::{ConfirmRequest, NewPayment};
use switchyard_engine::testing::{START, TestEngine, TestEngineBuilder, amount, customer};
use switchyard_records::NewCustomer;
use switchyard_system::clock::Clock;
use tokio::runtime::{Builder, Runtime};
use tower::ServiceExt as _;

use crate::{headers, linked};

/// Requests of merchants, payers and providers.
pub fn public(bytes: &[u8]) {
    HOUSE.with_borrow_mut(|house| house.ask(bytes, None));
}

/// Requests of an operator: the token is valid, so that the rest is processed.
pub fn operator(bytes: &[u8]) {
    HOUSE.with_borrow_mut(|house| house.ask(bytes, Some("/operator/v1")));
}

/// Result of a public request: the state of the newest callback, and the number of attempts of
/// `{payment}`. For the test that each sample gets as far as intended.
pub fn comes_of(bytes: &[u8]) -> (Option<CallbackState>, usize) {
    HOUSE.with_borrow_mut(|house| {
        house.ask(bytes, None);
        let id: TransactionId = house.names["payment"].parse().expect("an id");
        let tx = house.runtime.block_on(house.bench.engine.transaction(id));
        let attempts = tx.expect("the store").map_or(0, |tx| tx.attempts.len());
        (
            house.heard.as_ref().map(|callback| callback.state),
            attempts,
        )
    })
}

thread_local! {
    static HOUSE: RefCell<House> = RefCell::new(House::open());
}

/// A server without a socket.
struct House {
    runtime: Runtime,
    router: Router,
    bench: TestEngine,
    connection: ConnectionId,
    /// The last callback that was looked at.
    heard: Option<Callback>,
    /// Values of the placeholders in a sample.
    names: BTreeMap<&'static str, String>,
    /// Keys that a request wrote into a name or a description: any later answer may show them.
    written: BTreeSet<&'static str>,
    asked: u32,
}

impl House {
    fn open() -> Self {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.expect("a runtime");
        let (bench, connection, names, router) = runtime.block_on(async {
            let clock = Clock::manual(START);
            let wanted = TestEngineBuilder {
                clock: clock.clone(),
                ..TestEngineBuilder::with(linked::gateways(&clock).await)
            };
            let bench = wanted.start().await;
            let connection = connect(&bench).await;
            let mut names = names(&bench).await;
            names.insert("connection", connection.to_string());
            names.insert("reference", waiting(&bench).await);
            let router = switchyard::fuzzing::server(&bench.engine);
            (
                bench,
                connection,
                names,
                router.expect("the routes of a server"),
            )
        });
        Self {
            runtime,
            router,
            bench,
            connection,
            heard: None,
            names,
            written: BTreeSet::new(),
            asked: 0,
        }
    }

    fn ask(&mut self, bytes: &[u8], under: Option<&str>) {
        self.asked += 1;
        if self.asked > MOST {
            // Objects stay in memory: a long run restarts now and then.
            let old = std::mem::replace(self, Self::open());
            old.runtime
                .block_on(old.bench.engine.stop(std::time::Duration::ZERO));
        }
        // Keeps the run below all rate limits.
        self.bench.clock.advance(A_MOMENT);
        if contains(bytes, b"{answers}") {
            self.answer_anew();
        }
        let Some((request, is_signed)) = self.request(bytes, under) else {
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
        if status.is_success() && path.starts_with(&format!("/callbacks/{}", self.connection)) {
            self.is_dealt_with(is_signed);
        }
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
            // A key of an address or a body may be in the response, the key of a header never.
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

    /// The newest callback to the connection came to rest, and was believed only if it was signed.
    fn is_dealt_with(&mut self, is_signed: bool) {
        let newest = CallbackQuery {
            connection: self.connection,
            state: None,
            before: None,
            limit: 1,
        };
        let waiting = CallbackQuery {
            state: Some(CallbackState::Waiting),
            ..newest
        };
        let engine = &self.bench.engine;
        let newest = self.runtime.block_on(async {
            for _ in 0..LOOKS {
                let waiting = engine.list_callbacks(&waiting).await.expect("the store");
                // A callback that is due later by the clock waits for good: the clock hardly moves.
                let is_due = |one: &Callback| one.next_try_at <= Some(engine.clock().now());
                if !waiting.iter().any(is_due) {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            engine.list_callbacks(&newest).await
        });
        let newest = newest.expect("the store").pop();
        let is_new = newest.as_ref().map(|one| one.id) != self.heard.as_ref().map(|one| one.id);
        if let Some(callback) = newest.as_ref().filter(|_| is_new) {
            assert!(
                is_signed || callback.trusted != Some(true),
                "believed without a signature: {callback:?}"
            );
        }
        self.heard = newest;
    }

    /// A payment of which the payer is about to confirm what was answered, for one that has been
    /// confirmed or has ended.
    fn answer_anew(&mut self) {
        let engine = &self.bench.engine;
        let router = &self.router;
        let known = (
            self.names["payment"].clone(),
            self.names.contains_key("answers"),
        );
        let fresh = self.runtime.block_on(async {
            let id: TransactionId = known.0.parse().expect("an id");
            let tx = engine.transaction(id).await.expect("the store");
            let is_open = tx.is_some_and(|tx| tx.attempts.is_empty() && !tx.state.is_final());
            if is_open && known.1 {
                return None;
            }
            let id = initialize(&self.bench).await.to_string();
            let sealed = answered(router, &id).await;
            Some((id, sealed))
        });
        if let Some((id, sealed)) = fresh {
            self.names.insert("payment", id);
            self.names.insert("answers", sealed);
        }
    }

    /// The second part: whether the body's signature by the connection's secret is in the headers.
    fn request(&self, bytes: &[u8], under: Option<&str>) -> Option<(Request<Body>, bool)> {
        let gap = bytes.windows(2).position(|pair| pair == b"\n\n");
        let (head, body) = gap.map_or((bytes, &[][..]), |gap| (&bytes[..gap], &bytes[gap + 2..]));
        let body = match std::str::from_utf8(body) {
            Ok(text) => self.named(text).into_bytes(),
            Err(_) => body.to_vec(),
        };
        let signed = signature(&body);
        let head = self.named(std::str::from_utf8(head).ok()?);
        let head = head.replace("{signed}", &signed);
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
        let signatures = request.headers().get_all("x-demo-signature").iter();
        let is_signed = signatures
            .filter_map(|value| value.to_str().ok())
            .any(|value| value.eq_ignore_ascii_case(&signed));
        *request.body_mut() = Body::from(body);
        Some((request, is_signed))
    }

    fn named(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (name, value) in &self.names {
            text = text.replace(&format!("{{{name}}}"), value);
        }
        text
    }
}

/// The app's connection to the test gateway, whose callbacks have to be signed.
async fn connect(bench: &TestEngine) -> ConnectionId {
    let new = NewConnection {
        app: bench.keys.app,
        environment: Environment::Sandbox,
        gateway: "switchyard_demo".to_owned(),
        account_name: "Signed".to_owned(),
        methods: None,
        config: json!({ "callback_secret": CALLBACK_SECRET }),
    };
    let made = bench.engine.access().create_connection(new).await;
    made.expect("a connection").id
}

/// The reference of an attempt that its provider will not answer before it sends news.
async fn waiting(bench: &TestEngine) -> String {
    let id = initialize(bench).await;
    let choice = ConfirmRequest {
        method: METHOD.to_owned(),
        country: Some("US".to_owned()),
        phone: None,
        fields: BTreeMap::from([("msisdn".to_owned(), STAYS_PENDING.to_owned())]),
        missing: NewCustomer::default(),
        context: ClientContext::default(),
        agreed: None,
    };
    let confirmed = bench.engine.confirm(id, choice).await;
    let tx = confirmed.expect("a method that works");
    let attempt = tx.attempts.first().expect("it was confirmed");
    attempt.reference.to_string()
}

/// Entries of a payment's payer on the pages: sealed, from the form of the last page.
async fn answered(router: &Router, id: &str) -> String {
    let details = Request::post(format!("/checkout/{id}/details"))
        .header("content-type", "application/x-www-form-urlencoded")
        .body(Body::from(format!(
            "country=US&method={METHOD}&msisdn={STAYS_PENDING}"
        )));
    let ask = async |request: Request<Body>| {
        let answer = router.clone().oneshot(request).await;
        answer.unwrap_or_else(|never| match never {})
    };
    let next = ask(details.expect("a request")).await;
    let next = next.headers()["location"].to_str().expect("an address");
    let confirm = Request::get(next).body(Body::empty());
    let page = ask(confirm.expect("a request")).await;
    let page = to_bytes(page.into_body(), 16 << 20).await.expect("a page");
    let page = lossy(&page);
    let (_, rest) = page.split_once("name=\"a\" value=\"").expect(&page);
    rest.split('"').next().unwrap_or_default().to_owned()
}

async fn initialize(bench: &TestEngine) -> TransactionId {
    let new = NewPayment {
        amount: amount(2500, "USD"),
        description: "A teapot".to_owned(),
        return_url: "https://shop.example/done".to_owned(),
        customer: customer(),
        metadata: BTreeMap::new(),
        methods: Vec::new(),
        restriction: None,
        expires_in: None,
        context: ClientContext::default(),
    };
    let payment = bench
        .engine
        .initialize_payment(&bench.caller(), new, None)
        .await;
    payment.expect("a payment").id
}

/// As the test gateway's provider signs.
fn signature(body: &[u8]) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, CALLBACK_SECRET.as_bytes());
    base16ct::lower::encode_string(hmac::sign(&key, body).as_ref())
}

async fn names(bench: &TestEngine) -> BTreeMap<&'static str, String> {
    let keys = &bench.keys;
    let access = bench.engine.access();
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
        ("payment", initialize(bench).await.to_string()),
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
const CALLBACK_SECRET: &str = "a secret of the test gateway's";
const METHOD: &str = "switchyard_payment_demo";
/// The number of the test gateway whose payments stay pending.
const STAYS_PENDING: &str = "4149518162";
/// Looks at a callback, a millisecond apart, before it counts as stuck and is left alone.
const LOOKS: u32 = 2_000;
const A_MOMENT: Duration = Duration::from_millis(2);
