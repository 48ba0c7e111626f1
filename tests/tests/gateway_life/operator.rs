//! The operator API of gateways, on an installation that is not in development mode.

use std::path::Path;

use anyhow::Context as _;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::Request;
use serde_json::{Value, json};
use switchyard::operations::Draining;
use switchyard::operator;
use switchyard::state::{ApiState, HttpSettings};
use switchyard_engine::testing::TestEngineBuilder;
use switchyard_gateway_host::{GatewaySettings, Gateways};
use switchyard_system::clock::Clock;
use switchyard_system::ids::Ids;
use switchyard_tests::demo_as;
use switchyard_tests::gateways::workers;
use tempfile::TempDir;
use tower::ServiceExt as _;

struct World {
    router: Router,
    token: String,
    /// Of another origin.
    second: String,
    folder: TempDir,
}

impl World {
    async fn new() -> anyhow::Result<Self> {
        let folder = TempDir::new()?;
        let settings = GatewaySettings {
            dir: folder.path().join("gateways"),
            worker: workers(),
            ..GatewaySettings::default()
        };
        let gateways = Gateways::new(settings, Clock::wall(), Ids::system())?;
        let bench = TestEngineBuilder::with(gateways.clone()).start().await;
        gateways.keep_in(bench.engine.store()).await?;
        let access = bench.engine.access();
        let second = access.create_operator_token("second", None).await?;
        let state = ApiState::new(bench.engine.clone(), HttpSettings::default());
        Ok(Self {
            router: operator::routes(state.clone(), Draining::default()).with_state(state),
            token: bench.keys.operator_token.expose().clone(),
            second: second.secret.expose().clone(),
            folder,
        })
    }

    /// Status and body.
    async fn ask(&self, method: &str, path: &str, body: Body) -> anyhow::Result<(u16, Value)> {
        self.ask_as(&self.token, method, path, body).await
    }

    async fn ask_as(
        &self,
        token: &str,
        method: &str,
        path: &str,
        body: Body,
    ) -> anyhow::Result<(u16, Value)> {
        let request = Request::builder().method(method).uri(path);
        let request = request.header("authorization", format!("Bearer {token}"));
        let answer = self.router.clone().oneshot(request.body(body)?).await?;
        let status = answer.status().as_u16();
        let bytes = to_bytes(answer.into_body(), 16 << 20).await?;
        Ok((status, serde_json::from_slice(&bytes)?))
    }

    async fn file(&self, path: &str, file: &Path) -> anyhow::Result<(u16, Value)> {
        self.ask("POST", path, std::fs::read(file)?.into()).await
    }

    /// The data of a good answer.
    async fn done(&self, path: &str, said: Value) -> anyhow::Result<Value> {
        let (status, answer) = self.ask("POST", path, said.to_string().into()).await?;
        anyhow::ensure!(status == 200, "{path}: {answer}");
        Ok(answer["data"].clone())
    }

    /// The second operator approves the test gateway's file with this hash.
    async fn approve(&self, sha256: &str) -> anyhow::Result<Value> {
        let (path, body) = (
            "/gateways/switchyard_demo/approve",
            json!({ "sha256": sha256 }).to_string(),
        );
        let approved = self.ask_as(&self.second, "POST", path, body.into());
        let (status, approved) = approved.await?;
        anyhow::ensure!(status == 200, "{approved}");
        Ok(approved["data"].clone())
    }

    async fn get(&self, path: &str) -> anyhow::Result<Value> {
        let (status, answer) = self.ask("GET", path, Body::empty()).await?;
        anyhow::ensure!(status == 200, "{path}: {answer}");
        Ok(answer["data"].clone())
    }
}

fn code(answer: &Value) -> &str {
    answer["errors"][0]["code"].as_str().unwrap_or_default()
}

#[tokio::test]
async fn a_gateway_is_looked_at_consented_to_upgraded_rolled_back_drained_removed_and_restored()
-> anyhow::Result<()> {
    let world = World::new().await?;
    let first = demo_as(world.folder.path(), "switchyard_demo", 1)?;
    let second = demo_as(world.folder.path(), "switchyard_demo", 2)?;

    let (status, seen) = world.file("/gateway-inspections", &first).await?;
    let seen = &seen["data"];
    assert_eq!(
        (status, &seen["needs_consent"], &seen["replaces"]),
        (200, &json!(true), &Value::Null)
    );
    assert_eq!(
        (&seen["name"], &seen["version"]),
        (&json!("switchyard_demo"), &json!("1.0.1"))
    );
    assert!(seen["hosts"]["live"].is_array() && seen["operations"].is_array());
    assert_eq!(
        world.get("/gateways").await?,
        json!([]),
        "to look is not to take"
    );

    let (status, refused) = world.file("/gateways", &first).await?;
    assert_eq!(
        (status, code(&refused)),
        (409, "gateway_needs_consent"),
        "{refused}"
    );
    let sha256 = seen["sha256"].as_str().context("a hash")?;
    let (status, refused) = world
        .file(&format!("/gateways?consent={sha256}"), &second)
        .await?;
    assert_eq!(
        (status, code(&refused)),
        (409, "gateway_needs_consent"),
        "{refused}"
    );
    let (status, added) = world
        .file(&format!("/gateways?consent={sha256}&why=first"), &first)
        .await?;
    assert_eq!(status, 201, "{added}");
    assert_eq!(added["data"]["state"], "serving", "{added}");
    connected_in_sandbox_only(&world).await?;
    a_pinned_upgrade(&world, &second).await?;
    back_and_out(&world).await?;
    quarantined(&world).await
}

/// A test gateway reports successes without money.
async fn connected_in_sandbox_only(world: &World) -> anyhow::Result<()> {
    let apps = world.get("/apps").await?;
    let path = format!(
        "/apps/{}/connections",
        apps[0]["id"].as_str().context("an app")?
    );
    for (environment, expected) in [("live", 422), ("sandbox", 201)] {
        let new = json!({
            "environment": environment, "gateway": "switchyard_demo", "account_name": "Test",
        });
        let (status, answer) = world.ask("POST", &path, new.to_string().into()).await?;
        assert_eq!(status, expected, "{environment}: {answer}");
        let message = &answer["errors"][0];
        assert_eq!(message["field"] == "environment", status == 422, "{answer}");
    }
    Ok(())
}

/// A pinned hash needs no question.
async fn a_pinned_upgrade(world: &World, second: &Path) -> anyhow::Result<()> {
    let (_, seen) = world.file("/gateway-inspections", second).await?;
    assert_eq!(seen["data"]["replaces"]["version"], "1.0.1");
    let newer = seen["data"]["sha256"].as_str().context("a hash")?;
    world
        .ask(
            "POST",
            "/gateway-pins",
            json!({ "sha256": newer }).to_string().into(),
        )
        .await?;
    let (status, waits) = world.file("/gateways", second).await?;
    assert_eq!(
        (status, &waits["data"]["version"]),
        (202, &json!("1.0.1")),
        "{waits}"
    );
    let upgraded = world.approve(newer).await?;
    assert_eq!(upgraded["version"], "1.0.2", "{upgraded}");
    assert_eq!(upgraded["versions"].as_array().map(Vec::len), Some(2));
    let (status, _) = world
        .ask("DELETE", &format!("/gateway-pins/{newer}"), Body::empty())
        .await?;
    assert_eq!(
        (status, world.get("/gateway-pins").await?),
        (200, json!([]))
    );
    Ok(())
}

async fn back_and_out(world: &World) -> anyhow::Result<()> {
    let gateway = "/gateways/switchyard_demo";
    let back = world
        .done(&format!("{gateway}/rollback"), json!({ "why": "slower" }))
        .await?;
    assert_eq!(
        (&back["version"], &back["changes"][0]["why"]),
        (&json!("1.0.1"), &json!("slower"))
    );
    assert_eq!(back["changes"][0]["by"], "development");
    let (status, refused) = world
        .ask("POST", &format!("{gateway}/rollback"), Body::empty())
        .await?;
    assert_eq!(
        (status, code(&refused)),
        (409, "gateway_state_conflict"),
        "{refused}"
    );

    let drained = world.done(&format!("{gateway}/drain"), json!({})).await?;
    assert_eq!(
        (&drained["state"], &drained["running_calls"]),
        (&json!("drained"), &json!(0))
    );
    let removed = world.done(&format!("{gateway}/remove"), json!({})).await?;
    assert_eq!(
        (&removed["state"], &removed["version"]),
        (&json!("removed"), &Value::Null)
    );
    let (status, refused) = world
        .ask("POST", &format!("{gateway}/drain"), Body::empty())
        .await?;
    assert_eq!(
        (status, code(&refused)),
        (409, "gateway_state_conflict"),
        "{refused}"
    );
    assert_eq!(
        world.done(&format!("{gateway}/restore"), json!({})).await?["state"],
        "serving"
    );
    Ok(())
}

async fn quarantined(world: &World) -> anyhow::Result<()> {
    let gateway = "/gateways/switchyard_demo";
    let said = json!({ "why": "it double charges" });
    let held = world.done(&format!("{gateway}/quarantine"), said).await?;
    assert_eq!(held["state"], "quarantined");
    assert_eq!(held["quarantine"]["reason"], "it double charges");
    assert!(
        held["quarantine"]["at"]
            .as_str()
            .is_some_and(|at| at.ends_with('Z')),
        "{held}"
    );
    let shown = world.get(gateway).await?;
    assert_eq!(
        shown["changes"].as_array().map(Vec::len),
        Some(8),
        "{}",
        shown["changes"]
    );
    assert_eq!(
        world.done(&format!("{gateway}/restore"), json!({})).await?["state"],
        "serving"
    );
    Ok(())
}

#[tokio::test]
async fn what_is_no_gateway_or_is_not_there_is_refused_in_words_and_nothing_is_left_behind()
-> anyhow::Result<()> {
    let world = World::new().await?;
    for path in ["/gateway-inspections", "/gateways"] {
        let (status, refused) = world.ask("POST", path, "no gateway at all".into()).await?;
        assert_eq!(
            (status, code(&refused)),
            (422, "gateway_refused"),
            "{refused}"
        );
        let message = refused["errors"][0]["message"].as_str().unwrap_or_default();
        assert!(
            message.starts_with("the file is not a whole ELF file"),
            "{message}"
        );
        let (status, refused) = world.ask("POST", path, Body::empty()).await?;
        assert_eq!(
            (status, code(&refused)),
            (422, "field_invalid"),
            "{refused}"
        );
    }
    for path in [
        "/gateways/none",
        "/gateways/none/drain",
        "/gateway-candidates/00",
    ] {
        let method = if path == "/gateways/none" {
            "GET"
        } else {
            "POST"
        };
        let (status, refused) = world.ask(method, path, Body::empty()).await?;
        assert_eq!(
            (status, code(&refused)),
            (404, "resource_not_found"),
            "{path}: {refused}"
        );
    }
    let pin = json!({ "sha256": "abc" }).to_string();
    let (status, refused) = world.ask("POST", "/gateway-pins", pin.into()).await?;
    assert_eq!(
        (status, code(&refused)),
        (422, "field_invalid"),
        "{refused}"
    );
    let left = std::fs::read_dir(world.folder.path().join("gateways"))?.count();
    assert_eq!(left, 0, "uploads are deleted");
    Ok(())
}
