//! Life of a key, seen from outside: its rights, its start and end, and its traces on the disk.

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use switchyard_engine::access::make_for_settings;
use switchyard_system::ids::Ids;
use switchyard_tests::{Client, Server, Setup};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// A connection that is kept, over which one asks with whatever key.
struct Kept(TcpStream);

impl Kept {
    async fn open(server: &Server) -> anyhow::Result<Self> {
        Ok(Self(TcpStream::connect(server.address()).await?))
    }

    async fn ask(&mut self, key: &str, path: &str) -> anyhow::Result<u16> {
        let asked =
            format!("GET {path} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {key}\r\n\r\n");
        self.0.write_all(asked.as_bytes()).await?;
        let mut heard = Vec::new();
        loop {
            let mut part = [0; 4_096];
            let count = self.0.read(&mut part).await?;
            ensure!(count > 0, "the connection was closed");
            heard.extend_from_slice(&part[..count]);
            let text = String::from_utf8_lossy(&heard);
            let Some((head, body)) = text.split_once("\r\n\r\n") else {
                continue;
            };
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.context("a length")?.parse()? {
                let status = head.split(' ').nth(1).context("a status")?;
                return Ok(status.parse()?);
            }
        }
    }
}

async fn made(operator: &Client, path: &str, wanted: &Value) -> anyhow::Result<(String, String)> {
    let made = operator.post(path, wanted).await?.expect(201)?;
    let secret = made.data("key").or_else(|_| made.data("token"))?;
    Ok((made.data("id")?.to_owned(), secret.to_owned()))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_ends_at_once_on_connections_that_are_kept_and_leaves_no_trace_on_the_disk()
-> anyhow::Result<()> {
    let mut server = Server::start(Setup::default()).await?;
    let operator = server.operator();
    let app = format!("/operator/v1/apps/{}", server.dev().app_id);
    let keys = format!("{app}/keys");
    let wanted = json!({ "environment": "live", "kind": "secret", "name": "found in the store" });
    let mut kept = Kept::open(&server).await?;
    let list = "/v1/payments";

    let (id, first) = made(&operator, &keys, &wanted).await?;
    assert_eq!(kept.ask(&first, list).await?, 200);
    let roll = format!("/operator/v1/keys/{id}/roll");
    let (second_id, second) = made(&operator, &roll, &json!({ "grace": "1h" })).await?;
    assert_eq!(
        kept.ask(&first, list).await?,
        200,
        "both are good while one is rolled"
    );
    assert_eq!(kept.ask(&second, list).await?, 200);
    remove(&server, &format!("/operator/v1/keys/{id}")).await?;
    assert_eq!(kept.ask(&first, list).await?, 401, "deleted in its grace");
    assert_eq!(kept.ask(&second, list).await?, 200);
    let roll = format!("/operator/v1/keys/{second_id}/roll");
    let (_, third) = made(&operator, &roll, &json!({ "grace": "0s" })).await?;
    assert_eq!(
        kept.ask(&second, list).await?,
        401,
        "rolled without a grace"
    );
    assert_eq!(kept.ask(&third, list).await?, 200);

    let switch = |on: bool| json!({ "is_enabled": on });
    operator.patch(&app, &switch(false)).await?.expect(200)?;
    assert_eq!(
        kept.ask(&third, list).await?,
        401,
        "its app is switched off"
    );
    operator.patch(&app, &switch(true)).await?.expect(200)?;
    assert_eq!(kept.ask(&third, list).await?, 200);

    let desk = "/operator/v1/apps";
    let new = json!({ "name": "gone soon" });
    let (id, token) = made(&operator, "/operator/v1/tokens", &new).await?;
    assert_eq!(kept.ask(&token, desk).await?, 200);
    assert_eq!(kept.ask(&token, list).await?, 401, "a token is no key");
    assert_eq!(kept.ask(&third, desk).await?, 401, "and a key no token");
    remove(&server, &format!("/operator/v1/tokens/{id}")).await?;
    assert_eq!(kept.ask(&token, desk).await?, 401, "deleted");

    server.stop().await?;
    let secrets = [
        first,
        second,
        third,
        token,
        server.dev().live_secret_key.clone(),
    ];
    on_the_disk(&server, &secrets)
}

async fn remove(server: &Server, path: &str) -> anyhow::Result<()> {
    let url = format!("{}{path}", server.dev().base_url);
    let http = reqwest::Client::builder().no_proxy().build()?;
    let gone = http.delete(url).bearer_auth(&server.dev().operator_token);
    let gone = gone.send().await?;
    ensure!(gone.status() == 200, "{gone:?}");
    Ok(())
}

/// Only the hash and the last four characters of a key are on the disk.
fn on_the_disk(server: &Server, secrets: &[String]) -> anyhow::Result<()> {
    let mut folders = vec![server.data().join("store")];
    let (mut files, mut is_searched) = (0, false);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            files += 1;
            let bytes = std::fs::read(&path)?;
            let text = String::from_utf8_lossy(&bytes);
            is_searched |= text.contains("found in the store");
            for secret in secrets {
                // The random part, of which eight characters cannot be there by chance.
                let random = secret.rsplit('_').next().context("a random part")?;
                for part in [&random[..8], &random[12..20], &random[24..32]] {
                    ensure!(
                        !text.contains(part),
                        "{} holds {part} of a key",
                        path.display()
                    );
                }
            }
        }
    }
    ensure!(files > 0 && is_searched, "what is no secret is found");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_start_warns_of_tokens_whose_maker_left_the_settings() -> anyhow::Result<()> {
    const TOKENS: &str = "SWITCHYARD_OPERATOR__TOKENS";
    let mut server = Server::start(Setup::default()).await?;
    server.stop().await?;
    server.leave_development()?;
    let (token, setting) = make_for_settings("switchyard", &Ids::system());
    server.set(TOKENS, Box::leak(format!("[\"bo:{setting}\"]").into()));
    server.up().await?;
    let bo = Client::new(&server.admin_url(), Some(token.expose()));
    let new = json!({ "name": "night shift" });
    bo.post("/operator/v1/tokens", &new).await?.expect(201)?;
    server.stop().await?;
    let warnings = |server: &Server| {
        let log = server.log();
        let told = log
            .lines()
            .filter(|line| line.contains("operator tokens outlive"));
        told.filter(|line| line.contains("night shift")).count()
    };
    assert_eq!(warnings(&server), 0);

    server.set(TOKENS, "[]");
    server.up().await?;
    assert_eq!(warnings(&server), 1, "{}", server.log());
    let revocation = json!({ "made_by": "bo" });
    let path = "/operator/v1/tokens/revoke";
    server
        .operator()
        .post(path, &revocation)
        .await?
        .expect(200)?;
    server.stop().await?;
    server.up().await?;
    assert_eq!(warnings(&server), 1, "{}", server.log());
    Ok(())
}
