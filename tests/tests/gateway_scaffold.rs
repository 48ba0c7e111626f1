//! A new provider is a folder and nothing else: one is begun outside of the repository, tested,
//! built, and paid through.

#![allow(clippy::unwrap_used, reason = "a failed test panics")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::ensure;
use axum::extract::{Path as Segment, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};
use switchyard_core::environment::Environment;
use switchyard_core::ids::TransactionId;
use switchyard_core::transaction::{ClientContext, Status};
use switchyard_engine::access::NewConnection;
use switchyard_engine::engine::{ConfirmRequest, NewPayment};
use switchyard_engine::testing::{Bench, START, Wanted, amount, customer};
use switchyard_gateway_host::{GatewaySettings, Gateways};
use switchyard_records::NewCustomer;
use switchyard_system::clock::Clock;
use switchyard_system::ids::Ids;
use switchyard_tests::eventually;
use switchyard_tests::gateways::workers;
use switchyard_tests::tidy::root;
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

fn cargo(arguments: &[&str], folder: &Path) -> anyhow::Result<()> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let output = cargo.args(arguments).current_dir(folder).output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "cargo {arguments:?}: {said}");
    Ok(())
}

/// Begins a gateway in a folder of its own, tests it and builds it there, without a network; where
/// its library is.
fn begun(temporary: &Path) -> anyhow::Result<PathBuf> {
    let folder = temporary.join("imaginary");
    let shown = folder.display().to_string();
    let new = [
        "run",
        "--quiet",
        "--package",
        "xtask",
        "--",
        "gateway",
        "new",
        "imaginary",
        "--dir",
        &shown,
    ];
    cargo(&new, &root())?;
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
    let expected = ["Cargo.toml", "README.md", "gateway.json", "lib.rs", "src"];
    assert_eq!(files, expected.map(str::to_owned).into());
    assert!(cargo(&new, &root()).is_err(), "what is there is left alone");
    for file in ["Cargo.toml", "README.md", "gateway.json", "src/lib.rs"] {
        let text = std::fs::read_to_string(folder.join(file))?;
        let clone = root().display().to_string();
        assert!(!text.contains(&clone), "{file} has a path of this clone");
    }
    // Its own tests, its own target folder, and no network.
    let sdk = root().join("plugins/sdk");
    let sdk = format!("patch.crates-io.switchyard-gateway.path={sdk:?}");
    for command in ["test", "build"] {
        let quietly = [command, "--quiet", "--offline", "--target-dir", "target"];
        cargo(&[&quietly[..], &["--config", &sdk]].concat(), &folder)?;
    }
    Ok(folder.join("target/debug/libgateway_imaginary.so"))
}

/// The engine with the gateway at `library`.
async fn engine_with(library: &Path, kept: PathBuf) -> anyhow::Result<Bench> {
    let clock = Clock::manual(START);
    let settings = GatewaySettings {
        dir: kept,
        development: true,
        worker: workers(),
        ..GatewaySettings::default()
    };
    let gateways = Gateways::new(settings, clock.clone(), Ids::system())?;
    gateways.add(library).await?;
    let wanted = Wanted {
        clock,
        ..Wanted::with(gateways)
    };
    Ok(wanted.start().await)
}

/// A payment that its payer confirmed, through the connection with the provider at `url`.
async fn confirmed(merchant: &Bench, url: &str) -> anyhow::Result<TransactionId> {
    let engine = &merchant.engine;
    let connection = NewConnection {
        app: merchant.caller().app.id,
        environment: Environment::Sandbox,
        gateway: "imaginary".into(),
        account_name: "Ada's shop".into(),
        methods: None,
        config: json!({ "api_key": "sk_test", "base_url": url }),
    };
    engine.access().create_connection(connection).await?;
    let new = NewPayment {
        amount: amount(1_000, "XOF"),
        description: "Deux cafés".into(),
        return_url: "https://shop.example/return".into(),
        customer: customer(),
        metadata: BTreeMap::new(),
        methods: Vec::new(),
        restriction: None,
        expires_in: None,
        context: ClientContext::default(),
    };
    let payment = engine
        .initialize_payment(&merchant.caller(), new, None)
        .await?;
    let choice = ConfirmRequest {
        method: "mtn_bj".into(),
        country: Some("BJ".into()),
        phone: Some("+22951345789".into()),
        fields: BTreeMap::from([("msisdn".to_owned(), "22951345789".to_owned())]),
        missing: NewCustomer::default(),
        context: ClientContext::default(),
        agreed: None,
    };
    engine.confirm(payment.id, choice).await?;
    Ok(payment.id)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_provider_is_begun_and_paid_through_without_a_change_of_ours() -> anyhow::Result<()> {
    let temporary = TempDir::new()?;
    let library = begun(temporary.path())?;
    let books = Books::default();
    let url = provider(Arc::clone(&books)).await?;
    let merchant = engine_with(&library, temporary.path().join("kept")).await?;
    let id = confirmed(&merchant, &url).await?;
    let engine = &merchant.engine;
    let paid = eventually("the payment", Duration::from_secs(60), async || {
        merchant.clock.advance(Duration::from_secs(11));
        let found = engine.transaction(id).await?;
        Ok(found.filter(|found| found.status() == Status::Success))
    })
    .await?;
    let books = books.lock().unwrap();
    let charges: Vec<_> = books.iter().collect();
    let [(reference, charge)] = charges.as_slice() else {
        anyhow::bail!("{books:?}");
    };
    assert_eq!(**reference, paid.attempts[0].reference.to_string());
    assert_eq!(
        (&charge["amount"], &charge["currency"]),
        (&json!("1000"), &json!("XOF"))
    );
    Ok(())
}
