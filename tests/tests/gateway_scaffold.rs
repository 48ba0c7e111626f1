//! A new provider is a folder and nothing else: one is begun outside of the repository, tested,
//! built, and paid through.

#![allow(clippy::unwrap_used, reason = "a failed test panics")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use axum::extract::{Path as Segment, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};
use switchyard_tests::server::stage;
use switchyard_tests::tidy::root;
use switchyard_tests::{Server, Setup, eventually};
use tempfile::TempDir;

type Books = Arc<Mutex<BTreeMap<String, Value>>>;

/// A provider as the template's README has it.
async fn provider(books: Books) -> anyhow::Result<String> {
    let routes = Router::new()
        .route(
            "/account",
            get(async || Json(json!({ "name": "Ada's shop" }))),
        )
        .route("/charges", post(charge))
        .route("/charges/{reference}", get(show))
        .with_state(books);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}", listener.local_addr()?);
    tokio::spawn(async move { axum::serve(listener, routes).await });
    Ok(url)
}

async fn charge(
    State(books): State<Books>,
    Json(mut charge): Json<Value>,
) -> (StatusCode, Json<Value>) {
    let reference = charge["reference"].as_str().unwrap_or_default().to_owned();
    charge["id"] = "ch_1".into();
    charge["status"] = "open".into();
    let mut books = books.lock().unwrap();
    if books.insert(reference, charge.clone()).is_some() {
        return (
            StatusCode::CONFLICT,
            Json(json!({ "message": "this reference is used" })),
        );
    }
    (StatusCode::CREATED, Json(charge))
}

async fn show(
    State(books): State<Books>,
    Segment(reference): Segment<String>,
) -> (StatusCode, Json<Value>) {
    match books.lock().unwrap().get_mut(&reference) {
        // The payer has confirmed in between.
        Some(charge) => {
            charge["status"] = "paid".into();
            (StatusCode::OK, Json(charge.clone()))
        }
        None => (StatusCode::NOT_FOUND, Json(json!({}))),
    }
}

/// Runs a program; an error with what it printed unless it ends well.
fn run(command: &mut Command) -> anyhow::Result<String> {
    let output = command.output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    let printed = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.success(), "{command:?}: {printed}{said}");
    Ok(printed.into_owned())
}

fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// The SDK as a registry would have it, packed and unpacked.
fn packaged_sdk(folder: &Path) -> anyhow::Result<PathBuf> {
    let packed = folder.join("packed");
    // Tests may run in a tree with changes. The build is that of the new gateway.
    let flags = [
        "--package",
        "switchyard-gateway",
        "--allow-dirty",
        "--no-verify",
        "--offline",
    ];
    let mut pack = cargo();
    pack.arg("package")
        .args(flags)
        .arg("--target-dir")
        .arg(&packed)
        .current_dir(root());
    let output = pack.output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success() && !said.contains("warning:"),
        "{said}"
    );
    let name = format!("switchyard-gateway-{}", env!("CARGO_PKG_VERSION"));
    let file = packed.join("package").join(format!("{name}.crate"));
    run(Command::new("tar")
        .arg("xf")
        .arg(file)
        .arg("--directory")
        .arg(folder))?;
    Ok(folder.join(name))
}

/// Begins a gateway in a folder of its own, tests it and builds it there, without a network; where
/// its library is.
fn begun(temporary: &Path) -> anyhow::Result<PathBuf> {
    let sdk = packaged_sdk(temporary)?;
    let folder = temporary.join("imaginary");
    let new = || {
        let mut new = Command::new(stage().unwrap().join("switchyard"));
        new.args(["gateway", "new", "imaginary", "--sdk"]).arg(&sdk);
        new.current_dir(temporary);
        new
    };
    let said = run(&mut new())?;
    let library = "imaginary/target/debug/libgateway_imaginary.so";
    assert!(
        said.contains(&format!("switchyard gateway check {library}\n")),
        "{said}"
    );
    let files: BTreeSet<String> = ["", "src"]
        .iter()
        .flat_map(|inside| {
            std::fs::read_dir(folder.join(inside))
                .into_iter()
                .flatten()
                .flatten()
        })
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    let expected = [
        "Cargo.toml",
        "README.md",
        "gateway.json",
        "gateway.schema.json",
        "lib.rs",
        "src",
    ];
    assert_eq!(files, expected.map(str::to_owned).into());
    assert!(run(&mut new()).is_err(), "what is there is left alone");
    for command in ["test", "build"] {
        let mut cargo = cargo();
        cargo.args([command, "--quiet", "--offline", "--target-dir", "target"]);
        // The minimum version of the SDK, where `cargo xtask test` has it.
        if let Some(rust) = std::env::var_os("SWITCHYARD_OLDEST_RUST") {
            let program = |name| Path::new(&rust).join(name);
            cargo
                .env("RUSTC", program("rustc"))
                .env("RUSTDOC", program("rustdoc"));
        }
        run(cargo.current_dir(&folder))?;
    }
    Ok(temporary.join(library))
}

/// A server with the gateway at `library`, and a connection with the provider at `url`.
async fn server_with(library: &Path, url: &str) -> anyhow::Result<Server> {
    let server = Server::start(Setup::default()).await?;
    let library = library.display().to_string();
    server
        .command(&["gateway", "add", &library, "--yes"])
        .await?;
    let path = format!("/operator/v1/apps/{}/connections", server.dev().app_id);
    let connection = json!({
        "environment": "sandbox", "gateway": "imaginary", "account_name": "Ada's shop",
        "config": { "api_key": "sk_test", "base_url": url },
    });
    let made = server.operator().post(&path, &connection).await?;
    made.expect(201)?;
    Ok(server)
}

/// A payment that its payer confirmed on the checkout page; its id.
async fn confirmed(server: &Server) -> anyhow::Result<String> {
    let body = json!({
        "amount": 1_000, "currency": "XOF", "description": "Deux cafés", "return_url": "https://shop.example/return",
        "customer": { "email": "ada@example.com", "first_name": "Ada", "last_name": "Lovelace" },
        "methods": ["mtn_bj"],
    });
    let made = server
        .merchant()
        .post("/v1/payments/initialize", &body)
        .await?;
    let id = made.expect(201)?.data("id")?.to_owned();
    let details = [
        ("country", "BJ"),
        ("method", "mtn_bj"),
        ("msisdn", "22951345789"),
    ];
    let payer = server.stranger();
    let sent = payer
        .post_form(&format!("/checkout/{id}/details"), &details)
        .await?;
    let next = sent.headers()["location"].to_str()?.to_owned();
    let (_, answers) = next.split_once("?a=").with_context(|| next.clone())?;
    let sent = payer
        .post_form(&format!("/checkout/{id}/confirm"), &[("a", answers)])
        .await?;
    ensure!(sent.status() == 303, "{sent:?}");
    Ok(id)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_provider_is_begun_outside_of_a_clone_and_paid_through() -> anyhow::Result<()> {
    let temporary = TempDir::new()?;
    let library = begun(temporary.path())?;
    let mut check = Command::new(stage()?.join("switchyard"));
    let report = run(check.args(["gateway", "check", "--json"]).arg(&library))?;
    let report: Value = serde_json::from_str(&report)?;
    assert_eq!(report["title"], "imaginary 0.1.0");

    let books = Books::default();
    let url = provider(Arc::clone(&books)).await?;
    let mut server = server_with(&library, &url).await?;
    let id = confirmed(&server).await?;
    let verify = format!("/v1/payments/{id}/verify");
    eventually(
        "the payment succeeds",
        Duration::from_secs(90),
        async || {
            let verified = server.merchant().get(&verify).await?.expect(200)?;
            Ok((verified.data("status")? == "success").then_some(()))
        },
    )
    .await?;
    server.stop().await?;
    let books = books.lock().unwrap();
    let charges: Vec<_> = books.values().collect();
    let [charge] = charges.as_slice() else {
        anyhow::bail!("{books:?}");
    };
    assert_eq!(
        (&charge["amount"], &charge["currency"]),
        (&json!("1000"), &json!("XOF"))
    );
    Ok(())
}
