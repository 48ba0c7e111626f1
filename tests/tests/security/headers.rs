//! Headers of every response of every route, whatever a client sends.
//!
//! The routes are read from the source, so that a new one is walked, too.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, ensure};
use reqwest::header::HeaderMap;
use reqwest::{Method, Response};
use serde_json::json;
use switchyard_core::limits::BODY_BYTES;
use switchyard_tests::client::{payment, payout};
use switchyard_tests::routes::Routes;
use switchyard_tests::{PAYS, Server, Setup};

/// Requests a key may make in a minute: more than a walk, and not many to use up.
const RATE_LIMIT: u32 = 300;
/// A `Host` that a client sends, or claims in a header, is not trusted.
const LIAR: &str = "evil.example";
/// Line ends, to write a header of one's own, and addresses to be led to.
const CROOKED: &str = "lang=fr%0d%0ax-crooked:%201&a=%0d%0ax-crooked:%201&notice=%0d%0ax-crooked:1&return_url=https://crooked.example/\
    &next=//crooked.example&limit=%0d%0ax-crooked:1&event=%0d%0a%0d%0a";

/// A server that payers reach by https, with a payment, a payout, and an id for each parameter of a
/// path.
struct World {
    server: Server,
    http: reqwest::Client,
    known: BTreeMap<&'static str, String>,
}

impl World {
    async fn new() -> anyhow::Result<Self> {
        let server = Server::start(Setup {
            rate_limit: Some(RATE_LIMIT),
            settings: vec![("SWITCHYARD_SERVER__PUBLIC_URL", "https://localhost")],
            ..Setup::default()
        })
        .await?;
        let merchant = server.merchant();
        let (tea, salary) = (payment("A teapot"), payout("Salary", PAYS));
        let paid = merchant.post("/v1/payments/initialize", &tea);
        let paid = paid.await?.expect(201)?.data("id")?.to_owned();
        let sent = merchant.post("/v1/payouts/initialize", &salary);
        let sent = sent.await?.expect(201)?.data("id")?.to_owned();
        let app = server.dev().app_id.clone();
        let connections = format!("/operator/v1/apps/{app}/connections");
        let demo = json!({ "environment": "sandbox", "gateway": "switchyard_demo", "account_name": "Ours" });
        let connection = server
            .operator()
            .post(&connections, &demo)
            .await?
            .expect(201)?;
        let connection = connection.data("id")?.to_owned();
        let text = str::to_owned;
        let known = BTreeMap::from([
            ("{id}", paid.clone()),
            ("{paymentId}", paid.clone()),
            ("{payoutId}", sent),
            ("{transaction}", paid),
            ("{app}", app),
            ("{connection}", connection),
            ("{kind}", text("methods")),
            ("{file}", text("switchyard_payment_demo.svg")),
            ("{code}", text("api_key_invalid")),
            ("{gateway}", text("switchyard_demo")),
        ]);
        let http = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy();
        Ok(Self {
            server,
            http: http.build()?,
            known,
        })
    }

    fn path(&self, pattern: &str) -> String {
        let fill = |step: &str| match self.known.get(step) {
            Some(known) => known.clone(),
            None if step.starts_with('{') => "nothing".to_owned(),
            None => step.to_owned(),
        };
        let steps: Vec<_> = pattern.split('/').map(fill).collect();
        steps.join("/")
    }

    async fn ask(
        &self,
        method: Method,
        target: &str,
        key: Option<&str>,
        body: String,
    ) -> anyhow::Result<Response> {
        let url = format!("{}{target}", self.server.dev().base_url);
        let mut request = self.http.request(method, url).header("host", LIAR);
        for name in ["x-forwarded-host", "x-host", "x-forwarded-server"] {
            request = request.header(name, LIAR);
        }
        if let Some(key) = key {
            request = request.bearer_auth(key);
        }
        // From a page of another host.
        request = request
            .header("origin", "https://crooked.example")
            .header("access-control-request-method", "POST");
        let is_page = target.starts_with("/checkout/") || target.starts_with("/l/");
        let kind = match is_page {
            true => "application/x-www-form-urlencoded",
            false => "application/json",
        };
        Ok(request
            .header("content-type", kind)
            .body(body)
            .send()
            .await?)
    }
}

/// The rules, for an answer at this path.
async fn holds_the_rules(path: &str, answer: Response) -> anyhow::Result<u16> {
    let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
    let value = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    ensure!(value("x-content-type-options") == Some("nosniff"));
    ensure!(value("referrer-policy") == Some("no-referrer"));
    let hsts = value("strict-transport-security").context("no HSTS")?;
    ensure!(hsts.starts_with("max-age=63072000"), "{hsts}");
    ensure!(value("x-request-id").is_some(), "no id");
    for name in ["server", "x-powered-by", "via", "x-crooked", "set-cookie"] {
        ensure!(!headers.contains_key(name), "{name}: {headers:?}");
    }
    let kind = value("content-type").unwrap_or_default().to_owned();
    let policy = value("content-security-policy").context("no CSP")?;
    ensure!(policy.starts_with("default-src 'none'"), "{policy}");
    if kind.starts_with("text/html") {
        for part in ["frame-ancestors 'none'", "base-uri 'none'", "form-action '"] {
            ensure!(policy.contains(part), "{policy} has no {part}");
        }
        ensure!(
            !policy.contains("unsafe-eval") && !policy.contains('*'),
            "{policy}"
        );
        let inline = policy.contains("script-src 'unsafe-inline'");
        ensure!(!inline, "{policy}");
    }
    let public = [
        "/docs",
        "/openapi.json",
        "/icons/",
        "/operator/docs",
        "/operator/openapi.json",
        "/account/docs",
        "/account/openapi.json",
    ];
    let may_be_kept = status == 200 && public.iter().any(|public| path.starts_with(public));
    let kept = value("cache-control").context("nothing about caches")?;
    ensure!(may_be_kept || kept == "no-store", "cache-control: {kept}");
    if let Some(next) = value("location") {
        let is_own = next.starts_with('/') && !next.starts_with("//") && !next.starts_with("/\\");
        ensure!(is_own, "it leads to {next}");
    }
    names_no_liar(&headers)?;
    if kind.starts_with("text/event-stream") {
        return Ok(status); // it has no end
    }
    let text = answer.text().await?;
    ensure!(!text.contains(LIAR), "it believes a header: {text}");
    for link in text
        .split("href=\"")
        .skip(1)
        .filter(|_| kind.starts_with("text/html"))
    {
        let link = link.split('"').next().unwrap_or_default();
        let is_picture = link.starts_with("data:image/");
        let leads_away = !is_picture && (link.contains("://") || link.starts_with("//"));
        ensure!(
            !leads_away || link.starts_with("https://shop.example/"),
            "a link to {link}"
        );
    }
    Ok(status)
}

fn names_no_liar(headers: &HeaderMap) -> anyhow::Result<()> {
    let named = headers.values().any(|value| {
        let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
        value.contains(LIAR) || value.contains("crooked.example")
    });
    ensure!(!named, "{headers:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_answer_of_every_route_is_cautious_with_browsers_and_believes_no_header()
-> anyhow::Result<()> {
    let world = World::new().await?;
    let dev = world.server.dev();
    let (mut statuses, mut wrong) = (BTreeSet::new(), Vec::new());
    for pattern in Routes::of_the_program()?.all() {
        let path = world.path(&pattern);
        let is_operators = path.starts_with("/operator/v1/");
        let key = match is_operators {
            true => &dev.operator_token,
            false => &dev.sandbox_secret_key,
        };
        let asks = [
            (Method::GET, Some(key.as_str()), ""),
            (Method::GET, None, ""),
            (Method::HEAD, None, ""),
            (Method::POST, Some(key.as_str()), "{}"),
            (Method::POST, None, "lang=fr%0d%0ax-crooked:1&method=%0d%0a"),
            (Method::DELETE, None, ""),
            (Method::OPTIONS, None, ""),
        ];
        for (method, key, body) in asks {
            let target = format!("{path}?{CROOKED}");
            let asked = format!(
                "{method} {path}, {}",
                key.map_or("no key", |_| "with a key")
            );
            let answer = world.ask(method, &target, key, body.to_owned()).await?;
            let status = answer.status().as_u16();
            if let Err(broken) = holds_the_rules(&path, answer).await {
                wrong.push(format!("{asked}: {broken}"));
            }
            let is_let_in = is_operators && key.is_none() && !matches!(status, 401 | 405);
            if status == 500 || is_let_in {
                wrong.push(format!("{asked}: {status}"));
            }
            statuses.insert(status);
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    // What no route answers: nothing there, too much, too often.
    let initialize = "/v1/payments/initialize";
    let large = json!({ "description": "x".repeat(BODY_BYTES) }).to_string();
    let key = Some(dev.live_secret_key.as_str());
    for (method, path, body) in [
        (Method::GET, "/nowhere", String::new()),
        (Method::POST, "/operator/v1/nowhere", String::new()),
        (Method::POST, initialize, "{".to_owned()),
        (Method::POST, initialize, large),
    ] {
        let answer = world.ask(method, path, key, body).await?;
        statuses.insert(holds_the_rules(path, answer).await.context(path)?);
    }
    for _ in 0..=RATE_LIMIT {
        let answer = world
            .ask(Method::GET, "/v1/payments", key, String::new())
            .await?;
        if answer.status() == 429 {
            statuses.insert(holds_the_rules("/v1/payments", answer).await?);
            break;
        }
    }
    for status in [200, 204, 303, 400, 401, 404, 405, 413, 422, 429] {
        ensure!(
            statuses.contains(&status),
            "no answer was a {status}: {statuses:?}"
        );
    }
    Ok(())
}
