//! Pages of the console and the export with a million payments stored.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use switchyard::state::{ApiState, ConsoleAccess, HttpSettings};
use switchyard_core::ids::UserId;
use switchyard_core::language::Language;
use switchyard_core::secret::Secret;
use switchyard_engine::testing::TestEngine;
use switchyard_users::{
    Acceptance, NewInvitation, Options, Origin, Role, Sealer, SecondFactor, Users,
};
use tokio::time::Instant;

use super::Scale;
use crate::figure::{Bar, Figure, Sheet, Unit};
use crate::load::{Request, closed};
use crate::{bare, subject};

const MANY: u64 = 1_000_000;
const EMAIL: &str = "ada@example.com";
const PASSWORD: &str = "violet teapots hum softly";
/// A page is answered within this time on the server.
const PAGE_MS: f64 = 200.0;

/// Seals nothing: the pages that are measured show no secrets.
struct NoSealer;

impl Sealer for NoSealer {
    fn seal(&self, _: UserId, _: &[u8]) -> Option<String> {
        None
    }

    fn open(&self, _: UserId, _: &str) -> Option<Secret<Vec<u8>>> {
        None
    }
}

pub async fn measure(scale: Scale, sheet: &mut Sheet) -> Result<()> {
    let many = scale.count(MANY, 500);
    let dir = subject::folder()?;
    let bench = subject::start(dir.path()).await?;
    subject::fill(&bench, many, 0).await?;
    let address = console(&bench).await?;
    let cookie = signed_in(address).await?;
    let app = format!("/console/apps/{}/sandbox", bench.keys.app);
    let stored = Unit::Count.show(many as f64);
    for (name, path) in [
        ("home, 30 days", "home".to_owned()),
        ("home, today", "home?days=1".to_owned()),
        ("list of payments", "payments".to_owned()),
        (
            "list of payments, page 20,000",
            "payments?page=20000".to_owned(),
        ),
        (
            "search by e-mail",
            "payments?q=awa77%40example.com".to_owned(),
        ),
        ("search by amount", "payments?q=USD%2025".to_owned()),
    ] {
        let work = page(address, format!("{app}/{path}"), cookie.clone());
        let load = closed(&work, 1, scale.time(Duration::from_secs(2))).await?;
        let what = format!("{name}, {stored} stored, 95 % within");
        let figure = Figure::new(what, load.percentile_ms(0.95), Unit::Millis);
        sheet.note(&figure.bar(Bar::AtMost(PAGE_MS)))?;
    }
    let url = format!("http://{address}{app}/payments.csv");
    let (rows, seconds, grown) = export(&url, &cookie).await?;
    ensure!(rows == many + 1, "the export has {rows} lines");
    sheet.note(&Figure::new(
        "rows of an export",
        rows as f64 / seconds,
        Unit::PerSecond,
    ))?;
    let what = format!("memory that an export of {stored} rows adds");
    sheet.note(&Figure::new(what, grown, Unit::Mebibytes).bar(Bar::AtMost(64.0)))
}

/// Address of a console with one owner.
async fn console(bench: &TestEngine) -> Result<SocketAddr> {
    let engine = &bench.engine;
    let users = Users::load(
        engine.store().clone(),
        Arc::new(NoSealer),
        engine.clock().clone(),
        engine.ids().clone(),
        Options {
            second_factor: SecondFactor::Optional,
            ..Options::default()
        },
    );
    let users = users.await?;
    let app = engine.access().app(bench.keys.app).context("the app")?;
    let new = NewInvitation {
        email: EMAIL.to_owned(),
        name: "Ada Lovelace".to_owned(),
        language: Language::En,
        role: Role::Owner,
    };
    let origin = Origin::default();
    let invited = users.invite_first(Some(app.account), new, &origin).await?;
    let acceptance = Acceptance {
        password: Some(Secret::new(PASSWORD.to_owned())),
        ..Acceptance::default()
    };
    let token = invited.token.expose();
    users.accept_invitation(token, acceptance, &origin).await?;
    let access = ConsoleAccess {
        users,
        url: "http://127.0.0.1".to_owned(),
        openid: None,
    };
    let state = ApiState::new(engine.clone(), HttpSettings::default());
    bare::serve(switchyard::console::router(state, &access)).await
}

/// Cookie of a new session.
async fn signed_in(address: SocketAddr) -> Result<String> {
    let http = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .build()?;
    let body = format!(
        "email={}&password={}",
        EMAIL.replace('@', "%40"),
        PASSWORD.replace(' ', "+")
    );
    let request = http
        .post(format!("http://{address}/console/sign-in"))
        .header("content-type", "application/x-www-form-urlencoded")
        .body(body);
    let response = request.send().await?;
    let cookie = response.headers().get("set-cookie");
    let cookie = cookie.context("nobody was signed in")?.to_str()?;
    Ok(cookie.split(';').next().unwrap_or_default().to_owned())
}

fn page(address: SocketAddr, path: String, cookie: String) -> Request {
    Request {
        address,
        status: 200,
        bytes: Arc::new(move |_| {
            format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nCookie: {cookie}\r\n\r\n")
                .into_bytes()
        }),
    }
}

/// Lines of the file, seconds, and the most memory that the process had more than before.
async fn export(url: &str, cookie: &str) -> Result<(u64, f64, f64)> {
    let (before, begun) = (subject::resident_mib()?, Instant::now());
    let request = reqwest::Client::new().get(url).header("cookie", cookie);
    let mut file = request.send().await?.error_for_status()?;
    let (mut lines, mut parts, mut most) = (0, 0_u64, before);
    while let Some(part) = file.chunk().await? {
        lines += part.iter().filter(|byte| **byte == b'\n').count() as u64;
        parts += 1;
        if parts.is_multiple_of(64) {
            most = most.max(subject::resident_mib()?);
        }
    }
    let seconds = begun.elapsed().as_secs_f64();
    Ok((lines, seconds, most.max(subject::resident_mib()?) - before))
}
