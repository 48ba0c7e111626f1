//! A backup of a running server is restored: the next start is held until `switchyard release`.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Output;

use anyhow::{Context, ensure};
use switchyard_tests::client::{payment, payout};
use switchyard_tests::server::stage;
use switchyard_tests::{Server, Setup};
use tokio::process::Command;

/// The output of a command of the program.
async fn switchyard(arguments: &[&str]) -> anyhow::Result<String> {
    let mut command = Command::new(stage()?.join("switchyard"));
    let Output {
        status,
        stdout,
        stderr,
    } = command.args(arguments).output().await?;
    let (out, log) = (
        String::from_utf8(stdout)?,
        String::from_utf8_lossy(&stderr).into_owned(),
    );
    ensure!(status.success(), "{arguments:?}: {out}{log}");
    Ok(out)
}

async fn initialize(server: &Server) -> anyhow::Result<String> {
    let body = payment("a book");
    let path = "/v1/payments/initialize";
    let made = server.merchant().post(path, &body).await?.expect(201)?;
    Ok(made.data("id").context("a 201 has an id")?.to_owned())
}

async fn is_held(server: &Server) -> anyhow::Result<bool> {
    let ready = server.operator().get("/readyz").await?.expect(200)?;
    ready.body["held"].as_bool().context("readyz reports it")
}

#[tokio::test]
async fn a_restored_server_is_held_reports_its_lost_span_and_is_released() -> anyhow::Result<()> {
    let mut server = Server::start(Setup::default()).await?;
    let data = server.data();
    let (folder, backup) = (data.display().to_string(), data.with_extension("backup"));
    let backup = backup.display().to_string();
    let kept = initialize(&server).await?;
    ensure!(!is_held(&server).await?);
    switchyard(&["store", "backup", &backup, "--data", &folder]).await?;
    let gone = initialize(&server).await?;
    server.stop().await?;
    std::fs::rename(data.join("store"), data.join("store.old"))?;
    switchyard(&["store", "restore", &backup, "--data", &folder]).await?;

    // Twice: the hold survives a restart.
    for _ in 0..2 {
        server.up().await?;
        ensure!(
            server.log().contains("store is held, no payout is sent"),
            "{}",
            server.log()
        );
        ensure!(is_held(&server).await?);
        for (id, status) in [(&kept, 200), (&gone, 404)] {
            let path = format!("/v1/payments/{id}");
            server.merchant().get(&path).await?.expect(status)?;
        }
        server.stop().await?;
    }
    server.up().await?;
    let token = server.dev().operator_token.clone();
    let target = ["--url", &server.admin_url(), "--token", &token].map(str::to_owned);
    let target = target.each_ref().map(String::as_str);
    let report = switchyard(&[&target[..], &["release", "--report"]].concat()).await?;
    for said in ["backup_at", "lost", "idempotency_keys", "awaiting_customer"] {
        ensure!(report.contains(said), "no {said}: {report}");
    }
    let keys = "those of this span are unknown: a request that is repeated with one of them moves \
                money again";
    ensure!(report.contains(keys), "{report}");
    release_with_payouts_of_the_hold(&server, &target).await?;
    ensure!(!is_held(&server).await?);
    server.stop().await?;
    server.up().await?;
    ensure!(!is_held(&server).await?, "released once and for all");
    server.stop().await
}

/// A payout that was made in the hold may repeat a request of the lost span: the release asks for
/// consent, and an operator can stop the payout.
async fn release_with_payouts_of_the_hold(server: &Server, target: &[&str]) -> anyhow::Result<()> {
    let mut made = Vec::new();
    for number in ["1000000", "1000001"] {
        let path = "/v1/payouts/initialize";
        let body = payout("a repetition", number);
        let answer = server.merchant().post(path, &body).await?.expect(201)?;
        made.push(answer.data("id")?.to_owned());
    }
    let run = async |words: &[&str]| switchyard(&[target, words].concat()).await;
    let report = run(&["release", "--report"]).await?;
    ensure!(report.contains("made while held"), "{report}");
    for id in &made {
        ensure!(
            report.contains(&format!("{id}  made_while_held")),
            "{id}: {report}"
        );
    }
    let note = ["--note", "compared with the provider"];
    let refused = run(&[&["release"][..], &note].concat()).await;
    let refused = refused.err().context("it would send payouts")?.to_string();
    ensure!(refused.contains("2 payouts"), "{refused}");
    ensure!(is_held(server).await?);
    run(&[&["transactions", "cancel", &made[0]][..], &note].concat()).await?;
    let path = format!("/v1/payouts/{}", made[0]);
    let stopped = server.merchant().get(&path).await?.expect(200)?;
    ensure!(stopped.data("status")? == "failed", "{}", stopped.body);
    run(&[&["release", "--yes"][..], &note].concat()).await?;
    ensure!(!is_held(server).await?);
    Ok(())
}

/// Files that an operator keeps apart from the store: the master key, and the keys of the test.
const KEPT_APART: [&str; 2] = ["master.key", "dev.json"];

#[tokio::test]
async fn a_lost_machine_is_restored_from_its_continuous_copy_and_held() -> anyhow::Result<()> {
    let elsewhere = tempfile::tempdir()?;
    let copy = elsewhere.path().join("copy").display().to_string();
    let copy_to: &'static str = Box::leak(copy.clone().into_boxed_str());
    let mut server = Server::start(Setup {
        settings: vec![
            ("SWITCHYARD_STORE__COPY_TO", copy_to),
            ("SWITCHYARD_STORE__COPY_EVERY", "2s"),
        ],
        ..Setup::default()
    })
    .await?;
    let (data, mut kept) = (server.data(), Vec::new());
    for _ in 0..20 {
        kept.push(initialize(&server).await?);
    }
    tokio::time::sleep(RECOVERY_POINT).await;
    let metrics = server.operator().page("/metrics").await?;
    for value in [
        "switchyard_store_copy_failures_total 0",
        "switchyard_store_copy_lag_seconds ",
    ] {
        ensure!(metrics.contains(value), "no {value}: {metrics}");
    }
    for _ in 0..20 {
        initialize(&server).await?;
    }
    server.kill().await?;
    for name in KEPT_APART {
        std::fs::copy(data.join(name), elsewhere.path().join(name))?;
    }
    std::fs::remove_dir_all(&data)?;
    std::fs::create_dir(&data)?;
    std::fs::set_permissions(&data, Permissions::from_mode(0o700))?;

    let folder = data.display().to_string();
    let said = switchyard(&["store", "restore", &copy, "--data", &folder]).await?;
    ensure!(said.contains("last_commit"), "{said}");
    let found = switchyard(&["store", "check", "--data", &folder]).await?;
    ensure!(found.contains("The store is sound."), "{found}");
    for name in KEPT_APART {
        std::fs::copy(elsewhere.path().join(name), data.join(name))?;
    }
    server.up().await?;
    ensure!(is_held(&server).await?, "{}", server.log());
    for id in kept {
        let path = format!("/v1/payments/{id}");
        server.merchant().get(&path).await?.expect(200)?;
    }
    server.stop().await
}

/// The longest time by which the copy may be behind.
const RECOVERY_POINT: std::time::Duration = std::time::Duration::from_secs(10);
