//! `switchyard store` as an operator uses it: beside a server that takes payments, after it was
//! killed, and to bring a lost store back.

use std::os::unix::fs::FileExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::Value;
use switchyard_tests::client::{Client, payment};
use switchyard_tests::eventually;
use switchyard_tests::server::{Server, Setup, stage};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

/// Runs `switchyard store` on the data folder of a server; answers its JSON.
async fn store(server: &Server, arguments: &[&str]) -> anyhow::Result<Value> {
    server.command(&[&["store"], arguments].concat()).await
}

/// Makes payments one after the other until `ends` is there; answers their ids.
async fn keep_paying(merchant: Client, ends: &Path) -> anyhow::Result<Vec<String>> {
    let mut made = Vec::new();
    while !ends.exists() {
        made.push(pay(&merchant, "a teapot").await?);
    }
    Ok(made)
}

async fn pay(merchant: &Client, description: &str) -> anyhow::Result<String> {
    let wanted = payment(description);
    let made = merchant.post("/v1/payments/initialize", &wanted).await?;
    Ok(made.expect(201)?.data("id")?.to_owned())
}

async fn is_known(merchant: &Client, id: &str) -> anyhow::Result<bool> {
    let answer = merchant.get(&format!("/v1/payments/{id}/verify")).await?;
    match answer.status {
        200 => Ok(true),
        404 => Ok(false),
        status => anyhow::bail!("{id}: {status}"),
    }
}

#[tokio::test]
async fn a_backup_of_a_running_server_is_restored_after_its_store_is_lost() -> anyhow::Result<()> {
    let mut server = Server::start(Setup::default()).await?;
    let merchant = server.merchant();
    let mut before = Vec::new();
    for _ in 0..20 {
        before.push(pay(&merchant, "a teapot").await?);
    }
    let folder = server.data().join("../backup");
    let backup = folder.to_str().context("its name is text")?;
    let done = server.data().join("../done");
    let during = async {
        let made = store(&server, &["backup", backup]).await;
        let checked = store(&server, &["check"]).await;
        std::fs::write(&done, "")?;
        anyhow::Ok((made?, checked?))
    };
    let paying = keep_paying(server.merchant(), &done);
    let (paid, (made, checked)) = tokio::try_join!(paying, during)?;
    ensure!(!paid.is_empty(), "no payment during the backup");
    ensure!(made["data"]["master_key"] == false, "{made}");
    ensure!(
        checked["running"] == true && checked["sound"] == true,
        "{checked}"
    );

    server.kill().await?;
    let checked = store(&server, &["check"]).await?;
    ensure!(
        checked["running"] == false && checked["sound"] == true,
        "{checked}"
    );
    std::fs::remove_dir_all(server.data().join("store"))?;
    let restored = store(&server, &["restore", backup]).await?;
    let lost = restored["data"]["lost_until"].as_str().unwrap_or_default();
    ensure!(lost.starts_with("group "), "{restored}");
    let again = store(&server, &["restore", backup]).await;
    ensure!(again.is_err(), "a restore overwrites a store");

    server.up().await?;
    let merchant = server.merchant();
    for id in &before {
        ensure!(
            is_known(&merchant, id).await?,
            "{id} was made before the backup"
        );
    }
    let last = paid.last().context("there are some")?;
    ensure!(
        !is_known(&merchant, last).await?,
        "{last} was made after the backup"
    );
    pay(&merchant, "a teapot").await?;
    let count = "SELECT count(*) AS n FROM transaction_rows WHERE value->>'id' LIKE 'py_%'";
    let counted = store(&server, &["shell", count]).await?;
    let rows = counted["rows"][0]["n"].as_str().unwrap_or_default();
    ensure!(rows.parse::<usize>()? > before.len(), "{counted}");
    server.stop().await?;
    let checked = store(&server, &["check"]).await?;
    ensure!(checked["sound"] == true, "{checked}");
    Ok(())
}

/// State of the store in `/readyz`; waits until the server answers.
async fn store_of_readiness(server: &Server) -> anyhow::Result<String> {
    eventually("the server answers", Duration::from_secs(30), async || {
        let answer = server.stranger().get("/readyz").await;
        Ok(answer
            .ok()
            .map(|answer| answer.body["checks"]["store"].to_string()))
    })
    .await
}

fn exchange(database: &Path, word: &str, other: &str) -> anyhow::Result<()> {
    let mut bytes = std::fs::read(database)?;
    let word = word.as_bytes();
    let places = bytes.windows(word.len()).enumerate();
    let places: Vec<_> = places
        .filter(|(_, found)| *found == word)
        .map(|(at, _)| at)
        .collect();
    ensure!(!places.is_empty(), "the row is not in the database");
    for at in places {
        bytes[at..at + word.len()].copy_from_slice(other.as_bytes());
    }
    Ok(std::fs::write(database, bytes)?)
}

#[tokio::test]
async fn damage_that_a_server_met_is_known_after_a_kill_until_the_store_is_found_sound()
-> anyhow::Result<()> {
    let mut server = Server::start(Setup::default()).await?;
    let id = pay(&server.merchant(), "kettle 4711").await?;
    server.stop().await?;
    let database = server.data().join("store/sqlite/switchyard.sqlite3");
    exchange(&database, "kettle 4711", "kettle 4712")?;

    server.launch()?;
    eventually("the damage is met", Duration::from_secs(30), async || {
        let met = is_known(&server.merchant(), &id).await;
        let store = store_of_readiness(&server).await?;
        Ok((met.is_err() && store.contains("damaged")).then_some(()))
    })
    .await?;
    server.kill().await?;
    exchange(&database, "kettle 4712", "kettle 4711")?;
    server.launch()?;
    let store_is = store_of_readiness(&server).await?;
    ensure!(store_is.contains("damaged"), "{store_is}");
    let cases = server
        .operator()
        .get("/operator/v1/cases")
        .await?
        .expect(200)?;
    let damage = cases.body["data"]["store_damage"]
        .as_str()
        .unwrap_or_default();
    ensure!(damage.contains("damaged"), "{}", cases.body);
    let checked = store(&server, &["check"]).await?;
    ensure!(
        checked["running"] == true && checked["recorded_damage"] == damage,
        "{checked}"
    );
    server.stop().await?;

    let checked = store(&server, &["check"]).await?;
    ensure!(
        checked["sound"] == true && checked["recorded_damage"] == damage,
        "{checked}"
    );
    server.up().await?;
    ensure!(
        is_known(&server.merchant(), &id).await?,
        "the payment is there"
    );
    server.stop().await
}

/// The server has the file open, and everything it writes is in it.
#[tokio::test]
async fn a_database_that_is_moved_away_under_a_server_refuses_writes_until_it_is_back()
-> anyhow::Result<()> {
    let mut server = Server::start(Setup::default()).await?;
    let merchant = server.merchant();
    let before = pay(&merchant, "before").await?;
    let database = server.data().join("store/sqlite/switchyard.sqlite3");
    let aside = server.data().join("aside.sqlite3");
    std::fs::rename(&database, &aside)?;
    let refused = merchant
        .post("/v1/payments/initialize", &payment("refused"))
        .await?;
    ensure!(refused.status == 503, "{}", refused.body);
    let ready = server.stranger().get("/readyz").await?;
    ensure!(ready.status == 503, "{}", ready.body);
    let cases = server.operator().get("/operator/v1/cases").await?;
    let cases = cases.expect(200)?.body;
    let damage = cases["data"]["store_damage"].as_str().unwrap_or_default();
    ensure!(
        damage.contains("is gone while the store is open"),
        "{cases}"
    );
    ensure!(!database.exists(), "nothing is made in its place");

    std::fs::rename(&aside, &database)?;
    let after = eventually("it writes again", Duration::from_secs(30), async || {
        Ok(pay(&merchant, "after").await.ok())
    })
    .await?;
    let store_is = store_of_readiness(&server).await?;
    ensure!(store_is.contains("damaged"), "{store_is}");
    server.kill().await?;
    server.launch()?;
    store_of_readiness(&server).await?;
    for id in [before, after] {
        ensure!(is_known(&server.merchant(), &id).await?, "{id} is gone");
    }
    server.stop().await
}

/// SQLite tells processes of each other's reads and writes through this file.
#[tokio::test]
async fn backups_and_checks_are_right_after_the_shared_memory_of_the_database_was_deleted()
-> anyhow::Result<()> {
    let mut server = Server::start(Setup::default()).await?;
    let merchant = server.merchant();
    let mut made = Vec::new();
    let index = server.data().join("store/sqlite/switchyard.sqlite3-shm");
    for round in 0..3 {
        made.push(pay(&merchant, "a teapot").await?);
        std::fs::remove_file(&index)?;
        let backup = server.data().join(format!("../backup{round}"));
        let backup = backup.to_str().context("its name is text")?.to_owned();
        store(&server, &["backup", &backup]).await?;
        let id = eventually("it stores again", Duration::from_secs(30), async || {
            Ok(pay(&merchant, "a teapot").await.ok())
        });
        let id = id.await?;
        let checked = store(&server, &["check"]).await?;
        ensure!(checked["sound"] == true, "{checked}");
        for (id, arguments) in [
            (&made[made.len() - 1], vec!["shell", "--backup", &backup]),
            (&id, vec!["shell"]),
        ] {
            let count =
                format!("SELECT count(*) AS n FROM transaction_rows WHERE value->>'id' = '{id}'");
            let counted = store(&server, &[&arguments[..], &[&count]].concat()).await?;
            ensure!(counted["rows"][0]["n"] == "1", "{id} is missing: {counted}");
        }
        made.push(id);
    }
    server.kill().await?;
    server.up().await?;
    for id in &made {
        ensure!(is_known(&server.merchant(), id).await?, "{id}");
    }
    Ok(())
}

/// A shell that stays open between two queries.
struct OpenShell {
    process: Child,
    queries: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
}

impl OpenShell {
    fn of(server: &Server) -> anyhow::Result<Self> {
        let mut process = Command::new(stage()?.join("switchyard"))
            .args(["store", "shell", "--data"])
            .arg(server.data())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let queries = process.stdin.take().context("it has an input")?;
        let answers = process.stdout.take().context("it has an output")?;
        Ok(Self {
            process,
            queries,
            answers: BufReader::new(answers).lines(),
        })
    }

    /// Number of payments. `None`: the shell has ended.
    async fn payments(&mut self) -> anyhow::Result<Option<usize>> {
        let query = b"SELECT count(*) AS n FROM reporting_payments;\n";
        if self.queries.write_all(query).await.is_err() {
            return Ok(None);
        }
        let heading = self.answers.next_line().await?;
        let Some(number) = self.answers.next_line().await? else {
            return Ok(None);
        };
        ensure!(heading.as_deref() == Some("N"), "{heading:?}");
        Ok(Some(number.trim().parse()?))
    }

    /// Whether its exit code is 0, and its messages.
    async fn ended(self) -> anyhow::Result<(bool, String)> {
        drop((self.queries, self.answers));
        let ended = self.process.wait_with_output().await?;
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        Ok((ended.status.success(), said))
    }
}

/// The shell has opened the file; the server makes another one.
#[tokio::test]
async fn a_shell_ends_when_the_shared_memory_that_it_has_open_is_not_the_servers_any_more()
-> anyhow::Result<()> {
    let mut server = Server::start(Setup::default()).await?;
    let merchant = server.merchant();
    pay(&merchant, "a teapot").await?;
    let index = server.data().join("store/sqlite/switchyard.sqlite3-shm");
    for round in 0..2 {
        let mut shell = OpenShell::of(&server)?;
        let paid = 1 + 20 * round;
        ensure!(shell.payments().await? == Some(paid));
        match round {
            0 => std::fs::remove_file(&index)?,
            _ => {
                let other = index.with_file_name("other");
                std::fs::copy(&index, &other)?;
                std::fs::rename(&other, &index)?;
            }
        }
        let began = tokio::time::Instant::now();
        eventually("it stores again", Duration::from_secs(30), async || {
            Ok(pay(&merchant, "a teapot").await.ok())
        })
        .await?;
        ensure!(began.elapsed() < Duration::from_secs(10), "it took long");
        for _ in 1..20 {
            pay(&merchant, "a teapot").await?;
        }
        // By now the server has made its own file.
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        let answer = shell.payments().await?;
        let (is_well, said) = shell.ended().await?;
        ensure!(answer.is_none() && !is_well, "{answer:?}, {said}");
        ensure!(said.contains("open the shell again"), "{said}");
        let mut shell = OpenShell::of(&server)?;
        ensure!(shell.payments().await? == Some(paid + 20), "it is stale");
        let backup = server.data().join(format!("../beside{round}"));
        let backup = backup.to_str().context("its name is text")?.to_owned();
        let made = store(&server, &["backup", &backup]).await?;
        ensure!(made["data"]["backup"] == backup.as_str(), "{made}");
        let checked = store(&server, &["check"]).await?;
        ensure!(checked["sound"] == true, "{checked}");
        ensure!(shell.payments().await? == Some(paid + 20));
    }
    server.stop().await
}

/// SQLite makes no new index of the log while a program has the file open.
#[tokio::test]
async fn an_overwritten_index_that_a_shell_has_open_loses_nothing_at_a_stop_or_a_start()
-> anyhow::Result<()> {
    let mut server = Server::start(Setup::default()).await?;
    let index = server.data().join("store/sqlite/switchyard.sqlite3-shm");
    let mut made = Vec::new();
    for is_killed in [false, true, false, true] {
        let merchant = server.merchant();
        for _ in 0..10 {
            made.push(pay(&merchant, "a teapot").await?);
        }
        let older = std::fs::read(&index)?;
        let mut shell = OpenShell::of(&server)?;
        ensure!(shell.payments().await? == Some(made.len()));
        for _ in 0..30 {
            made.push(pay(&merchant, "a teapot").await?);
        }
        let file = std::fs::File::options().write(true).open(&index)?;
        file.write_all_at(&older[INDEX_HEADER_BYTES..], INDEX_HEADER_BYTES as u64)?;
        // With its new header the index seems to have all commits. A server that noticed refuses.
        made.extend(pay(&merchant, "a teapot").await);
        match is_killed {
            true => server.kill().await?,
            false => server.stop().await?,
        }
        server.up().await?;
        for id in &made {
            ensure!(is_known(&server.merchant(), id).await?, "{id} is gone");
        }
        let store_is = store_of_readiness(&server).await?;
        ensure!(store_is.contains("ok"), "{store_is}");
        let (is_well, said) = shell.ended().await?;
        ensure!(is_well || said.contains("open the shell again"), "{said}");
    }
    server.stop().await
}

/// Length of the two headers and of the checkpoint's part of an index.
const INDEX_HEADER_BYTES: usize = 136;

/// The response is kept in a row of its own. It cannot be read, and the payment can.
#[tokio::test]
async fn a_request_whose_stored_response_is_on_a_damaged_page_gets_503_until_it_is_repaired()
-> anyhow::Result<()> {
    let mut server = Server::start(Setup::default()).await?;
    let wanted = payment("a teapot");
    let path = "/v1/payments/initialize";
    let first = server.merchant().post_keyed(path, &wanted, "one").await?;
    let id = first.expect(201)?.data("id")?.to_owned();
    server.stop().await?;
    let database = server.data().join("store/sqlite/switchyard.sqlite3");
    let (right, wrong) = (
        "Transaction initialized successfully",
        "Transaction initialized successfulnes",
    );
    exchange(&database, right, &wrong[..right.len()])?;

    server.launch()?;
    store_of_readiness(&server).await?;
    for _ in 0..2 {
        let refused = server.merchant().post_keyed(path, &wanted, "one").await?;
        ensure!(
            refused.status == 503,
            "{}: {}",
            refused.status,
            refused.body
        );
    }
    let store_is = store_of_readiness(&server).await?;
    ensure!(store_is.contains("damaged"), "{store_is}");
    ensure!(
        is_known(&server.merchant(), &id).await?,
        "it is not damaged"
    );
    let cases = server.operator().get("/operator/v1/cases").await?;
    let cases = cases.expect(200)?.body;
    let damage = cases["data"]["store_damage"].as_str().unwrap_or_default();
    ensure!(damage.contains("idempotency"), "{cases}");
    server.stop().await?;
    exchange(&database, &wrong[..right.len()], right)?;
    store(&server, &["check"]).await?;
    server.up().await?;
    let again = server.merchant().post_keyed(path, &wanted, "one").await?;
    ensure!(again.expect(201)?.data("id")? == id, "it was made twice");
    server.stop().await
}

/// SQLite has mapped the file. The kernel ends a process that reads behind the end of it.
#[tokio::test]
async fn nothing_acknowledged_is_lost_when_the_shared_memory_of_the_database_is_cut_off()
-> anyhow::Result<()> {
    let mut server = Server::start(Setup::default()).await?;
    let index = server.data().join("store/sqlite/switchyard.sqlite3-shm");
    let cutting = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        Ok(std::fs::File::options()
            .write(true)
            .open(&index)?
            .set_len(0)?)
    };
    let merchant = server.merchant();
    let paying = async {
        let mut made = Vec::new();
        while let Ok(id) = pay(&merchant, "a teapot").await {
            made.push(id);
        }
        anyhow::Ok(made)
    };
    let both = async { tokio::try_join!(paying, cutting) };
    let both = tokio::time::timeout(Duration::from_secs(30), both).await;
    let (made, ()) = both.context("the server goes on")??;
    let ended = server.ended().await?;
    ensure!(ended.signal() == Some(7), "not by SIGBUS: {ended}");
    ensure!(!made.is_empty(), "no payment before it");
    let checked = store(&server, &["check"]).await?;
    ensure!(checked["sound"] == true, "{checked}");
    server.up().await?;
    for id in &made {
        ensure!(is_known(&server.merchant(), id).await?, "{id} is gone");
    }
    let store_is = store_of_readiness(&server).await?;
    ensure!(store_is.contains("ok"), "{store_is}");
    pay(&server.merchant(), "a teapot").await?;
    server.stop().await
}
