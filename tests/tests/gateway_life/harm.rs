//! A gateway inside the server's own process that ends it: that is the price of trust. After the restart what was open ends by the money
//! rule, and nothing else is lost.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use serde_json::{Value, json};
use switchyard_tests::client::payment;
use switchyard_tests::gateways::misbehaving_for_cards;
use switchyard_tests::{Server, Setup, demo_gateway};
use tempfile::TempDir;
use tokio::time::Instant;

const WITHIN: Duration = Duration::from_secs(180);

async fn provider() -> anyhow::Result<String> {
    let router = axum::Router::new().fallback(|| async { "{}" });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}", listener.local_addr()?);
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(url)
}

fn gateways(folder: &Path) -> anyhow::Result<PathBuf> {
    let folder = folder.join("gateways");
    std::fs::create_dir(&folder)?;
    std::fs::copy(demo_gateway(), folder.join("demo.so"))?;
    misbehaving_for_cards(&folder.join("misbehaving.so"))?;
    Ok(folder)
}

/// A payment that its payer confirms, which nobody answers: the server ends over it.
async fn ends_the_server(server: &mut Server, what: &str) -> anyhow::Result<String> {
    let mut body = payment(what);
    body["methods"] = json!(["card_usd"]);
    let merchant = server.merchant();
    let made = merchant.post("/v1/payments/initialize", &body).await?;
    let id = made.expect(201)?.data("id")?.to_owned();
    let payer = server.stranger();
    let chosen = [("country", "US"), ("method", "card_usd")];
    let page = format!("/checkout/{id}");
    let sent = payer.post_form(&format!("{page}/details"), &chosen).await?;
    let next = sent.headers().get("location").cloned();
    let next = next.context("a next page")?.to_str()?.to_owned();
    let (_, answers) = next.split_once("?a=").context(next.clone())?;
    let fields = [("a", answers)];
    let confirmed = payer.post_form(&format!("{page}/confirm"), &fields).await;
    anyhow::ensure!(confirmed.is_err(), "{what}: the server lives");
    server.kill().await?;
    server.up().await?;
    Ok(id)
}

/// The transaction once its first attempt is in `state`. The server is started again as often as it ends meanwhile.
async fn settled(server: &mut Server, id: &str, state: &str) -> anyhow::Result<Value> {
    let path = format!("/operator/v1/transactions/{id}");
    let until = Instant::now() + WITHIN;
    loop {
        match server.operator().get(&path).await {
            Ok(answer) => {
                let shown = answer.expect(200)?.body["data"].clone();
                if shown["attempts"][0]["state"] == state {
                    return Ok(shown);
                }
                anyhow::ensure!(Instant::now() < until, "not {state}: {shown}");
            }
            Err(_) => {
                server.kill().await?;
                server.up().await?;
            }
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_ends_the_process_that_it_runs_in_ends_open_calls_by_the_money_rule()
-> anyhow::Result<()> {
    let folder = TempDir::new()?;
    let setup = Setup {
        settings: vec![("SWITCHYARD_GATEWAYS__ISOLATION", "in_process")],
        gateways: Some(gateways(folder.path())?),
        ..Setup::default()
    };
    let mut server = Server::start(setup).await?;
    let connection = json!({
        "environment": "sandbox", "gateway": "misbehaving", "account_name": "A", "skip_check": true,
        "config": { "url": provider().await?, "key": "sk_test_do_not_show_me" },
    });
    let path = format!("/operator/v1/apps/{}/connections", server.dev().app_id);
    let operator = server.operator();
    operator.post(&path, &connection).await?.expect(201)?;
    for what in [
        "write, harm: abort",
        "write, harm: null",
        "write, harm: overflow",
    ] {
        let id = ends_the_server(&mut server, what).await?;
        let asked = settled(&mut server, &id, "in_doubt").await?;
        assert_eq!(asked["status"], "pending", "{what}: {asked}");
    }
    // What was not sent is tried again, and ends the server again: a few times, and not for ever.
    let id = ends_the_server(&mut server, "harm: abort").await?;
    let unsent = settled(&mut server, &id, "not_sent").await?;
    let attempts = unsent["attempts"].as_array().map(Vec::len);
    assert_eq!((attempts, unsent["status"] == "success"), (Some(1), false));
    Ok(())
}
