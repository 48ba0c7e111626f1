//! Memory after the removal of versions: no worker, and no state of their calls.
//!
//! The gateway is as small as possible, and its calls leave no rows: the measured memory is the
//! engine's own book-keeping. Each version is a new file.

use std::fs;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::json;
use switchyard_tests::gateways::cc;
use switchyard_tests::tidy::root;
use switchyard_tests::{Client, Server, Setup, eventually};
use tempfile::TempDir;

const NAME: &str = "measured";
/// Calls of each version.
const CALLS: usize = 10;
/// The secrets of a call take many times this length: a secret is kept in every form in which it
/// may be written.
const SECRET: usize = 16 * 1024;
/// Rounds of changes before each measurement.
const ROUNDS: usize = 60;
/// How often there is a second look, of which one has to find what the first found.
const STRETCHES: usize = 3;
const WITHIN: Duration = Duration::from_secs(120);

struct Scene {
    server: Server,
    operator: Client,
    library: Vec<u8>,
    /// The versions that came so far.
    versions: usize,
    /// Workers that run when nothing is done.
    workers: usize,
    _folder: TempDir,
}

impl Scene {
    async fn open() -> anyhow::Result<Self> {
        let folder = TempDir::new()?;
        let settings = vec![
            ("SWITCHYARD_STORE__BACKEND", "memory"),
            ("SWITCHYARD_LOG__LEVEL", "warn"),
            // The allocator gives back at once what is not used: then what is not given back is
            // used.
            ("MIMALLOC_PURGE_DELAY", "0"),
        ];
        let server = Server::start(Setup {
            settings,
            ..Setup::default()
        })
        .await?;
        let source = root().join("tests/tests/gateway_life/measured.c");
        let library = fs::read(cc(&source, folder.path(), NAME, &[])?)?;
        let workers = workers(&server)?.len();
        Ok(Self {
            operator: server.operator(),
            server,
            library,
            versions: 0,
            workers,
            _folder: folder,
        })
    }

    async fn add(&self, version: usize) -> anyhow::Result<()> {
        let mut file = self.library.clone();
        file.extend_from_slice(version.to_string().as_bytes());
        let added = self.operator.upload("/operator/v1/gateways", file);
        added.await?.expect(201)?;
        Ok(())
    }

    async fn say(&self, what: &str) -> anyhow::Result<()> {
        let path = format!("/operator/v1/gateways/{NAME}/{what}");
        self.operator.post(&path, &json!({})).await?.expect(200)?;
        Ok(())
    }

    /// Offers credentials, which its worker refuses.
    async fn call(&self) -> anyhow::Result<()> {
        let path = format!("/operator/v1/apps/{}/connections", self.server.dev().app_id);
        let new = json!({
            "environment": "sandbox", "gateway": NAME, "account_name": NAME,
            "config": { "token": "t".repeat(SECRET) },
        });
        for _ in 0..CALLS {
            self.operator.post(&path, &new).await?.expect(422)?;
        }
        Ok(())
    }

    /// The version of before comes, is upgraded and used, comes back and goes.
    async fn round(&mut self) -> anyhow::Result<()> {
        self.add(self.versions).await?;
        self.versions += 1;
        self.add(self.versions).await?;
        self.call().await?;
        self.say("rollback").await?;
        self.say("drain").await?;
        self.say("remove").await
    }

    /// Memory of the server and of its workers, in kB, once the workers of removed versions have
    /// ended.
    async fn settled(&self) -> anyhow::Result<(u64, u64)> {
        eventually("no worker is left over", WITHIN, || async {
            Ok((workers(&self.server)?.len() == self.workers).then_some(()))
        })
        .await?;
        let mut all = 0;
        for worker in workers(&self.server)? {
            all += own_memory(worker)?;
        }
        let server = self.server.process().context("it runs")?;
        Ok((own_memory(server)?, all))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_version_that_went_leaves_no_worker_and_nothing_of_the_calls_that_it_held()
-> anyhow::Result<()> {
    let mut scene = Scene::open().await?;
    let mut looks: Vec<(u64, u64)> = Vec::new();
    // One stretch may coincide with fluctuations of the allocator. State that is kept of each
    // version grows in every stretch.
    while looks.len() <= STRETCHES {
        for _ in 0..ROUNDS {
            scene.round().await?;
        }
        looks.push(scene.settled().await?);
        if looks.len() > 1 && grown(&looks) <= 5 {
            break;
        }
    }
    println!("server and workers after each {ROUNDS} rounds: {looks:?} kB");
    ensure!(
        looks.windows(2).all(|two| two[1].1 * 100 <= two[0].1 * 105),
        "the workers that stay grew: {looks:?} kB"
    );
    // The data of a stretch's calls would be more than a quarter of the server.
    ensure!(
        grown(&looks) <= 5,
        "the server keeps what the calls of {ROUNDS} rounds knew: {looks:?} kB"
    );
    Ok(())
}

/// By how many per cent the server grew in the last stretch.
fn grown(looks: &[(u64, u64)]) -> u64 {
    let ((before, _), (after, _)) = (looks[looks.len() - 2], looks[looks.len() - 1]);
    after.saturating_sub(before) * 100 / before
}

/// The processes that the server has started.
pub fn workers(server: &Server) -> anyhow::Result<Vec<u32>> {
    let process = server.process().context("it runs")?;
    let mut workers = Vec::new();
    for thread in fs::read_dir(format!("/proc/{process}/task"))? {
        // A thread that has ended in between has no children.
        let children = fs::read_to_string(thread?.path().join("children")).unwrap_or_default();
        for child in children.split_whitespace() {
            workers.push(child.parse()?);
        }
    }
    Ok(workers)
}

/// Memory that is this process's alone, in kB: not what it shares, nor what is in its files and can
/// be read again. Whoever has ended has none.
fn own_memory(process: u32) -> anyhow::Result<u64> {
    let Ok(status) = fs::read_to_string(format!("/proc/{process}/status")) else {
        return Ok(0);
    };
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.map_or(Ok(0), |number| Ok(number.parse()?))
}
