//! A store that has lost what it acknowledged is not served, until an operator accepts the loss.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::json;
use switchyard_tests::client::payment;
use switchyard_tests::{Server, Setup};
use tokio::time::Instant;

async fn initialize(server: &Server) -> anyhow::Result<String> {
    let body = payment("a book");
    let made = server
        .merchant()
        .post("/v1/payments/initialize", &body)
        .await?;
    ensure!(made.status == 201, "{} {}", made.status, made.body);
    Ok(made.data("id").context("a 201 has an id")?.to_owned())
}

async fn retrieved(server: &Server, id: &str) -> anyhow::Result<u16> {
    let path = format!("/v1/payments/{id}");
    Ok(server.merchant().get(&path).await?.status)
}

fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    let copied = Command::new("cp").arg("-a").arg(from).arg(to).status()?;
    ensure!(copied.success(), "cp: {copied}");
    Ok(())
}

#[tokio::test]
async fn an_older_copy_of_the_store_is_not_served_until_its_loss_is_accepted() -> anyhow::Result<()>
{
    let mut server = Server::start(Setup::default()).await?;
    let kept = initialize(&server).await?;
    server.stop().await?;
    let (store, older) = (server.data().join("store"), server.data().join("older"));
    copy(&store, &older)?;
    server.up().await?;
    let gone = initialize(&server).await?;
    server.stop().await?;
    std::fs::remove_dir_all(&store)?;
    copy(&older, &store)?;

    server.launch()?;
    let status = server.ended().await?;
    let log = server.log();
    // Systemd does not restart after 2: every start is refused until a person decides.
    ensure!(status.code() == Some(2), "{status}: {log}");
    for said in ["is gone", "--accept-loss", "ends with commit group"] {
        ensure!(log.contains(said), "{said}: {log}");
    }

    server.accept_loss();
    server.up().await?;
    ensure!(retrieved(&server, &kept).await? == 200);
    ensure!(retrieved(&server, &gone).await? == 404);
    is_held_until_its_release(&server, &kept).await?;
    server.stop().await
}

/// An accepted loss is as a restore: no attempt starts before an operator releases it.
async fn is_held_until_its_release(server: &Server, kept: &str) -> anyhow::Result<()> {
    let (operator, page) = (server.operator(), format!("/checkout/{kept}"));
    ensure!(
        server.log().contains("store is held, no payout is sent"),
        "{}",
        server.log()
    );
    let ready = operator.get("/readyz").await?;
    ensure!(
        ready.status == 200 && ready.body["held"] == true,
        "{}",
        ready.body
    );
    initialize(server).await?;
    let paused = server.stranger().get(&page).await?;
    ensure!(paused.status == 503, "{}", paused.status);
    let held = operator.get("/operator/v1/hold").await?.expect(200)?.body;
    ensure!(held["data"]["held"] == true, "{held}");
    ensure!(held["data"]["open"][0]["count"] == 1, "{held}");

    let body = json!({ "note": "compared with the provider" });
    let path = "/operator/v1/hold/release";
    let released = operator.post(path, &body).await?.expect(200)?.body;
    ensure!(released["data"]["held"] == false, "{released}");
    ensure!(released["data"]["changed"] == true, "{released}");
    let again = operator.post(path, &body).await?.expect(200)?.body;
    ensure!(again["data"]["changed"] == false, "{again}");
    let message = again["message"].as_str().unwrap_or_default();
    ensure!(message.starts_with("No app was held"), "{message}");
    let ready = operator.get("/readyz").await?;
    ensure!(ready.body["held"] == false, "{}", ready.body);
    let deadline = Instant::now() + Duration::from_secs(30);
    while server.stranger().get(&page).await?.status != 200 {
        ensure!(Instant::now() < deadline, "the page stays paused");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}
