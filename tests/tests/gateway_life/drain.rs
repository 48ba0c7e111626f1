//! A drain while a call is in flight and a payment is pending: open attempts are counted down to
//! zero, and only then the drain ends.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use switchyard_tests::client::{payment, payout};
use switchyard_tests::provider::{NOWHERE, Provider};
use switchyard_tests::{PAYS, Server, Setup, demo_gateway, eventually, programmable_gateway};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStderr, Command};

use crate::load::pay;

const NAME: &str = "programmable";
const WITHIN: Duration = Duration::from_secs(60);

/// A server with two gateways: payments go to the one that a test drains, and only without it to
/// the other.
struct Scene {
    server: Server,
    provider: Provider,
    _folder: TempDir,
}

impl Scene {
    async fn open() -> anyhow::Result<Self> {
        let (folder, provider) = (TempDir::new()?, Provider::start().await);
        let server = Server::start(Setup {
            gateways: Some(gateways(folder.path())?),
            ..Setup::default()
        })
        .await?;
        let scene = Self {
            server,
            provider,
            _folder: folder,
        };
        let config = json!({
            "url": scene.provider.url, "nowhere": NOWHERE, "slot": 0, "patience_ms": 30_000,
        });
        let first = scene.connect(NAME, config).await?;
        let second = scene.connect("switchyard_demo", json!({})).await?;
        let order = json!({ "type": "priority", "connections": [first, second] });
        let rules = json!({ "environment": "sandbox", "rules": [{ "strategy": order }] });
        let (operator, app) = (scene.server.operator(), &scene.server.dev().app_id);
        let path = format!("/operator/v1/apps/{app}/routing");
        operator.put(&path, &rules).await?.expect(200)?;
        Ok(scene)
    }

    async fn connect(&self, gateway: &str, config: Value) -> anyhow::Result<String> {
        let path = format!("/operator/v1/apps/{}/connections", self.server.dev().app_id);
        let connection = json!({
            "environment": "sandbox", "gateway": gateway, "account_name": gateway, "config": config,
        });
        let made = self.server.operator().post(&path, &connection).await?;
        Ok(made.expect(201)?.data("id")?.to_owned())
    }

    /// A payment that its payer confirms: the provider does what the word says.
    async fn pays(&self, word: &str) -> anyhow::Result<String> {
        let merchant = self.server.merchant();
        let new = payment(word);
        let made = merchant.post("/v1/payments/initialize", &new).await?;
        let id = made.expect(201)?.data("id")?.to_owned();
        pay(&self.server.stranger(), &id, PAYS).await?;
        Ok(id)
    }

    /// The transaction as operators see it, once it has this status.
    async fn becomes(&self, id: &str, status: &str) -> anyhow::Result<Value> {
        let path = format!("/operator/v1/transactions/{id}");
        eventually(&format!("{id} is {status}"), WITHIN, || async {
            let shown = self.server.operator().get(&path).await?.expect(200)?.body;
            Ok((shown["data"]["status"] == status).then(|| shown["data"].clone()))
        })
        .await
    }

    /// State, calls that run and attempts that are open.
    async fn left(&self) -> anyhow::Result<(String, u64, u64)> {
        let path = format!("/operator/v1/gateways/{NAME}");
        let shown = self.server.operator().get(&path).await?.expect(200)?;
        let count = |pointer: &str| {
            let found = shown.body["data"].pointer(pointer).and_then(Value::as_u64);
            found.with_context(|| format!("{pointer}: {}", shown.body))
        };
        Ok((
            shown.data("state")?.to_owned(),
            count("/running_calls")?,
            count("/open_attempts/count")?,
        ))
    }

    /// Waits for this. A pending attempt may be asked about at any look, so a call more may run for
    /// a moment.
    async fn comes_to(&self, state: &str, calls: u64, open: u64) -> anyhow::Result<()> {
        let what = format!("{state}, {calls} running, {open} open");
        eventually(&what, WITHIN, || async {
            let left = self.left().await?;
            Ok((left == (state.to_owned(), calls, open)).then_some(()))
        })
        .await
    }

    /// A transaction that went through the other gateway, at its first attempt.
    async fn went_elsewhere(&self, id: &str) -> anyhow::Result<()> {
        let shown = self.becomes(id, "success").await?;
        let attempts = shown["attempts"].as_array().map(Vec::len);
        ensure!(
            (attempts, &shown["gateway"]) == (Some(1), &json!("switchyard_demo")),
            "{shown}"
        );
        let books = self.provider.books();
        ensure!(books.values().all(|entry| entry.transaction != id));
        Ok(())
    }
}

fn gateways(folder: &Path) -> anyhow::Result<PathBuf> {
    let folder = folder.join("gateways");
    std::fs::create_dir(&folder)?;
    std::fs::copy(demo_gateway(), folder.join("demo.so"))?;
    std::fs::copy(programmable_gateway(), folder.join("programmable.so"))?;
    Ok(folder)
}

/// `switchyard gateway drain --wait`, as long as it waits.
struct Wait {
    process: Child,
    notes: Lines<BufReader<ChildStderr>>,
}

impl Wait {
    fn begin(server: &Server) -> anyhow::Result<Self> {
        let dev = server.dev();
        let mut command = Command::new(switchyard_tests::server::stage()?.join("switchyard"));
        command.args(["--url", &dev.base_url, "--token", &dev.operator_token]);
        command.args(["gateway", "drain", NAME, "--wait", "--why", "moving house"]);
        let piped = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = piped.kill_on_drop(true).spawn()?;
        let notes = process.stderr.take().context("a pipe")?;
        Ok(Self {
            process,
            notes: BufReader::new(notes).lines(),
        })
    }

    /// Reads what it notes until this line.
    async fn notes(&mut self, wanted: &str) -> anyhow::Result<()> {
        let found = async {
            while let Some(line) = self.notes.next_line().await? {
                if line == wanted {
                    return Ok(());
                }
            }
            anyhow::bail!("it ended before it said: {wanted}")
        };
        tokio::time::timeout(WITHIN, found)
            .await
            .with_context(|| format!("it never said: {wanted}"))?
    }

    /// Last output of the command.
    async fn ends(mut self) -> anyhow::Result<String> {
        let mut said = String::new();
        let mut output = self.process.stdout.take().context("a pipe")?;
        tokio::time::timeout(WITHIN, output.read_to_string(&mut said)).await??;
        ensure!(self.process.wait().await?.success(), "{said}");
        Ok(said)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_drain_counts_down_what_is_left_and_is_over_only_when_nothing_is() -> anyhow::Result<()> {
    let scene = Scene::open().await?;
    let held = scene.pays("held").await?;
    let pending = scene.pays("waits").await?;
    scene.comes_to("serving", 1, 2).await?;

    let mut wait = Wait::begin(&scene.server)?;
    wait.notes("1 call running, 2 attempts open").await?;
    scene.comes_to("draining", 1, 2).await?;
    let paid = scene.pays("ok").await?;
    scene.went_elsewhere(&paid).await?;
    let merchant = scene.server.merchant();
    let salary = payout("ok", PAYS);
    let made = merchant.post("/v1/payouts/initialize", &salary).await?;
    scene.went_elsewhere(made.expect(201)?.data("id")?).await?;

    // The call that was away comes back: its payment ends at the gateway where it began.
    scene.provider.let_go();
    let ended = scene.becomes(&held, "success").await?;
    assert_eq!(ended["gateway"], NAME);
    wait.notes("0 calls running, 1 attempt open").await?;
    scene.comes_to("draining", 0, 1).await?;
    assert!(wait.process.try_wait()?.is_none(), "one is still open");

    scene.provider.pay(&pending);
    let check = format!("/operator/v1/transactions/{pending}/check");
    let asked = scene.server.operator().post(&check, &json!({})).await?;
    asked.expect(200)?;
    let ended = scene.becomes(&pending, "success").await?;
    assert_eq!(ended["gateway"], NAME);
    let said = wait.ends().await?;
    let drained = "drained at 1.0.0, 0 calls running, 0 attempts open";
    assert!(said.contains(drained), "{said}");
    assert!(said.contains("moving house"), "{said}");
    scene.comes_to("drained", 0, 0).await?;
    for entry in scene.provider.books().values() {
        assert_eq!((entry.requests, entry.charges), (1, 1), "{entry:?}");
    }

    let path = format!("/operator/v1/gateways/{NAME}/restore");
    let back = scene.server.operator().post(&path, &json!({})).await?;
    assert_eq!(back.expect(200)?.data("state")?, "serving");
    let paid = scene.pays("ok").await?;
    let ended = scene.becomes(&paid, "success").await?;
    assert_eq!(ended["gateway"], NAME, "it takes new payments again");
    Ok(())
}
