//! One operator token against the secrets of a gateway's connections, on a server in production.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use switchyard_engine::access::make_for_settings;
use switchyard_system::ids::Ids;
use switchyard_tests::client::{Answer, Client};
use switchyard_tests::{Server, Setup, stripe_as};
use tempfile::TempDir;

use crate::line::{output_of, run};

const STRIPE: &str = "/operator/v1/gateways/stripe";
const EVIL: &str = "evil.pirate.io";
const SECRET: &str = "sk_live_c0nfidential";

/// A production server with a connection to Stripe, and two operators of different origins.
struct World {
    server: Server,
    folder: TempDir,
    bo: Client,
}

impl World {
    async fn new() -> anyhow::Result<Self> {
        let mut server = Server::start(Setup::default()).await?;
        let connections = format!("/operator/v1/apps/{}/connections", server.dev().app_id);
        let connection = json!({
            "gateway": "stripe", "environment": "live", "account_name": "Main",
            "config": { "secret_key": SECRET }, "skip_check": true,
        });
        let created = server.operator().post(&connections, &connection).await?;
        created.expect(201)?;
        server.stop().await?;
        server.leave_development()?;
        let (token, setting) = make_for_settings("switchyard", &Ids::system());
        let tokens = format!("[\"bo:{setting}\"]");
        server.set("SWITCHYARD_OPERATOR__TOKENS", Box::leak(tokens.into()));
        server.set("SWITCHYARD_LOG__FORMAT", "json");
        server.up().await?;
        let bo = Client::new(&server.admin_url(), Some(token.expose()));
        Ok(Self {
            server,
            folder: TempDir::new()?,
            bo,
        })
    }

    fn ada(&self) -> Client {
        self.server.operator()
    }

    fn stripe(&self, host: &str, patch: u8) -> anyhow::Result<PathBuf> {
        stripe_as(self.folder.path(), host, patch)
    }

    /// Version in use, and version that waits for approval.
    async fn state(&self) -> anyhow::Result<(Value, Value)> {
        let shown = self.ada().get(STRIPE).await?.expect(200)?;
        let data = &shown.body["data"];
        let waiting = data["awaiting_approval"]["version"].clone();
        Ok((data["version"].clone(), waiting))
    }
}

async fn sha256(client: &Client, file: &Path) -> anyhow::Result<String> {
    let path = "/operator/v1/gateway-inspections";
    let seen = client
        .upload(path, std::fs::read(file)?)
        .await?
        .expect(200)?;
    Ok(seen.data("sha256")?.to_owned())
}

/// Uploads a file and consents to it.
async fn add(client: &Client, file: &Path) -> anyhow::Result<Answer> {
    let sha256 = sha256(client, file).await?;
    let path = format!("/operator/v1/gateways?consent={sha256}");
    client.upload(&path, std::fs::read(file)?).await
}

async fn approve(client: &Client, sha256: &str) -> anyhow::Result<Answer> {
    let path = format!("{STRIPE}/approve");
    client.post(&path, &json!({ "sha256": sha256 })).await
}

fn is_refused(answer: &Answer, status: u16, code: &str) -> anyhow::Result<()> {
    let found = (answer.status, answer.body["errors"][0]["code"].as_str());
    ensure!(found == (status, Some(code)), "{found:?}: {}", answer.body);
    Ok(())
}

fn serving(version: &str) -> (Value, Value) {
    (json!(version), Value::Null)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_token_cannot_give_the_secrets_of_a_gateway_to_other_hosts() -> anyhow::Result<()> {
    let mut world = World::new().await?;
    let evil = world.stripe(EVIL, 1)?;
    let ada = world.ada();
    let hash = sha256(&ada, &evil).await?;

    let waits = add(&ada, &evil).await?.expect(202)?;
    let waiting = &waits.body["data"]["awaiting_approval"];
    assert_eq!(
        waiting["widens"]["hosts"]["live"],
        json!([EVIL]),
        "{waiting}"
    );
    assert_eq!(waiting["widens"]["source_in_use"], "folder");
    assert_eq!(
        waits.body["data"]["version"], "1.0.0",
        "the version before serves"
    );

    the_command_says_by_its_exit_code_that_it_waits(&world, &evil, &hash).await?;

    // The same token, and one that it makes for itself.
    let refused = approve(&ada, &hash).await?;
    is_refused(&refused, 403, "gateway_approval_refused")?;
    let sentence = refused.body["message"].as_str().unwrap_or_default();
    let ways = ["operator.tokens", "gateways.pinned"].map(|way| sentence.contains(way));
    assert_eq!(ways, [true; 2], "{sentence}");
    let made = ada
        .post("/operator/v1/tokens", &json!({ "name": "cy" }))
        .await?;
    let cy = ada.with_key(made.expect(201)?.data("token")?);
    is_refused(&approve(&cy, &hash).await?, 403, "gateway_approval_refused")?;

    around_it(&world, &evil, &hash).await?;
    world.server.stop().await?;
    world.server.up().await?;
    assert_eq!(world.state().await?, (json!("1.0.0"), json!("1.0.1")));

    // Seen and approved by the second operator.
    let list = output_of(&world.server, &["list"]).await?;
    assert!(
        list.contains("AWAITS APPROVAL") && list.contains("1.0.1 ("),
        "{list}"
    );
    let shown = output_of(&world.server, &["show", "stripe"]).await?;
    let told = "awaits the approval of a second operator";
    assert!(shown.contains(told) && shown.contains(EVIL), "{shown}");
    is_refused(
        &approve(&world.bo, &hash[..12]).await?,
        404,
        "resource_not_found",
    )?;
    let approved = approve(&world.bo, &hash).await?.expect(200)?;
    let version = &approved.body["data"]["versions"][0];
    assert_eq!(version["consent"]["approved_by"], "bo");
    assert_eq!(world.state().await?, serving("1.0.1"));
    after_a_way_back(&world).await
}

async fn the_command_says_by_its_exit_code_that_it_waits(
    world: &World,
    file: &Path,
    hash: &str,
) -> anyhow::Result<()> {
    let file = file.to_str().context("a path in UTF-8")?;
    let output = run(&world.server, &["upgrade", file, "--yes", "--json"]).await?;
    assert_eq!(output.status.code(), Some(3));
    let said: Value = serde_json::from_slice(&output.stdout)?;
    assert_eq!(said["data"]["awaiting_approval"]["sha256"], hash);
    Ok(())
}

/// A version that was added beside a wide one waits while the narrow one is in use again.
async fn after_a_way_back(world: &World) -> anyhow::Result<()> {
    let ada = world.ada();
    let next = world.stripe(EVIL, 3)?;
    let waits = add(&ada, &next).await?.expect(202)?;
    let hosts = "/data/awaiting_approval/widens/hosts/live";
    assert_eq!(waits.body.pointer(hosts), Some(&json!([])));
    ada.post(&format!("{STRIPE}/rollback"), &json!({}))
        .await?
        .expect(200)?;
    assert_eq!(world.state().await?, (json!("1.0.0"), json!("1.0.3")));
    let shown = world.bo.get(STRIPE).await?.expect(200)?;
    assert_eq!(shown.body.pointer(hosts), Some(&json!([EVIL])));
    // The first approval meets a wider comparison than the stored one; the second agrees to it.
    let hash = sha256(&world.bo, &next).await?;
    is_refused(
        &approve(&world.bo, &hash).await?,
        409,
        "gateway_needs_approval",
    )?;
    assert_eq!(world.state().await?, (json!("1.0.0"), json!("1.0.3")));
    approve(&world.bo, &hash).await?.expect(200)?;
    assert_eq!(world.state().await?, serving("1.0.3"));
    Ok(())
}

/// Other ways to the same end.
async fn around_it(world: &World, evil: &Path, hash: &str) -> anyhow::Result<()> {
    let ada = world.ada();
    let still = (json!("1.0.0"), json!("1.0.1"));
    for (what, body) in [
        ("rollback", json!({ "version": hash })),
        ("restore", json!({ "version": hash })),
    ] {
        let refused = ada.post(&format!("{STRIPE}/{what}"), &body).await?;
        is_refused(&refused, 404, "resource_not_found")?;
    }
    // Removed and added again under the same name.
    ada.post(&format!("{STRIPE}/remove"), &json!({}))
        .await?
        .expect(200)?;
    add(&ada, evil).await?.expect(202)?;
    let restored = ada.post(&format!("{STRIPE}/restore"), &json!({})).await?;
    restored.expect(200)?;
    assert_eq!(world.state().await?, still);
    // A hash that the same token pinned comes without a question, and not without an approval.
    let pin = json!({ "sha256": hash });
    ada.post("/operator/v1/gateway-pins", &pin)
        .await?
        .expect(201)?;
    let pinned = ada
        .upload("/operator/v1/gateways", std::fs::read(evil)?)
        .await?;
    pinned.expect(202)?;
    assert_eq!(world.state().await?, still);
    // The same hosts with other code.
    let other = world.stripe("api.stripe.com", 2)?;
    add(&ada, &other).await?.expect(202)?;
    assert_eq!(world.state().await?, (json!("1.0.0"), json!("1.0.2")));
    let reject = json!({ "sha256": sha256(&ada, &other).await? });
    ada.post(&format!("{STRIPE}/reject"), &reject)
        .await?
        .expect(200)?;
    assert_eq!(world.state().await?, serving("1.0.0"));
    add(&ada, evil).await?.expect(202)?;
    let copies = std::fs::read_dir(world.server.data().join("gateways"))?;
    ensure!(copies.count() > 0, "the engine keeps its own copies");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_settings_approve_by_a_pinned_hash_and_every_change_has_an_audit_line()
-> anyhow::Result<()> {
    let mut world = World::new().await?;
    let evil = world.stripe(EVIL, 1)?;
    let hash = sha256(&world.ada(), &evil).await?;
    add(&world.ada(), &evil).await?.expect(202)?;
    let app = world.server.dev().app_id.clone();
    let hook = json!({ "url": "https://shop.example/hook", "secret": "c0nfidential" });
    let path = format!("/operator/v1/apps/{app}/webhooks");
    let hook = world.bo.post(&path, &hook).await?.expect(201)?;
    let hook = hook.data("id")?.to_owned();
    let secret = format!("/operator/v1/webhooks/{hook}/secret");
    world.bo.get(&secret).await?.expect(200)?;
    for taken in ["bo", "Development"] {
        let refused = world
            .bo
            .post("/operator/v1/tokens", &json!({ "name": taken }))
            .await?;
        is_refused(&refused, 422, "field_invalid")?;
    }
    audited(&world.server.log(), &hook)?;
    let public = world
        .server
        .stranger()
        .with_key(&world.server.dev().operator_token);
    let answer = public.get("/operator/v1/apps").await?;
    assert_eq!(
        answer.status, 404,
        "the public listener has no operator API"
    );

    world.server.stop().await?;
    let pinned = format!("[\"{hash}\"]");
    world
        .server
        .set("SWITCHYARD_GATEWAYS__PINNED", Box::leak(pinned.into()));
    world.server.up().await?;
    assert_eq!(world.state().await?, serving("1.0.1"));
    Ok(())
}

fn audited(log: &str, hook: &str) -> anyhow::Result<()> {
    ensure!(!log.contains("c0nfidential"), "the log holds a secret");
    let line = |word: &str, object: &str| -> anyhow::Result<Value> {
        let is_meant = |line: &Value| {
            let text = line.to_string();
            text.contains(word) && text.contains(object)
        };
        let mut lines = log
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        lines
            .find(is_meant)
            .with_context(|| format!("no line `{word}` about {object}"))
    };
    let created = line("\"change\"", "/webhooks")?;
    for said in ["127.0.0.1", "\"bo\"", "secret,url", hook] {
        ensure!(created.to_string().contains(said), "{said}: {created}");
    }
    let read = line("read a secret", hook)?.to_string();
    ensure!(
        read.contains("\"bo\"") && read.contains("127.0.0.1"),
        "{read}"
    );
    line("\"change\"", "/gateways")?;
    Ok(())
}
