//! A store that has lost what it acknowledged is not served, until an operator accepts the loss.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};
use switchyard_tests::client::payment;
use switchyard_tests::{Server, Setup};

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
    ensure!(!status.success(), "it was served: {log}");
    for said in ["is gone", "--accept-loss", "ends with commit group"] {
        ensure!(log.contains(said), "{said}: {log}");
    }

    server.accept_loss();
    server.up().await?;
    ensure!(retrieved(&server, &kept).await? == 200);
    ensure!(retrieved(&server, &gone).await? == 404);
    server.stop().await
}
