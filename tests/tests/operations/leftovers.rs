//! Leftovers of development mode in the store of a server that then starts in production.

use anyhow::ensure;
use serde_json::json;
use switchyard_tests::{Server, Setup};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_in_production_warns_of_what_development_mode_left() -> anyhow::Result<()> {
    let mut server = Server::start(Setup::default()).await?;
    let connections = format!("/operator/v1/apps/{}/connections", server.dev().app_id);
    let live = json!({ "environment": "live", "gateway": "switchyard_demo", "account_name": "A" });
    let operator = server.operator();
    let made = operator.post(&connections, &live).await?.expect(201)?;
    let connection = made.data("id")?.to_owned();
    server.stop().await?;
    let log = server.log();
    ensure!(!log.contains("a test gateway serves live"), "{log}");

    server.leave_development()?;
    server.up().await?;
    let log = server.log();
    let test_gateway = log
        .lines()
        .find(|line| line.contains("a test gateway serves live"));
    ensure!(
        test_gateway.is_some_and(|line| line.contains("WARN") && line.contains(&connection)),
        "{log}"
    );
    ensure!(
        log.contains("the operator token of development mode is valid"),
        "{log}"
    );
    server.stop().await
}
