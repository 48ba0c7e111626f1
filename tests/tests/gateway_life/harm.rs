//! A gateway that ends its own process: the server stays up, open calls end by the money rule,
//! another gateway pays, and no attempt goes to the same version again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::Context as _;
use serde_json::{Value, json};
use switchyard_tests::client::{payment, payout};
use switchyard_tests::{Server, Setup, demo_gateway, misbehaving_gateway};
use tempfile::TempDir;
use tokio::time::Instant;

const WITHIN: Duration = Duration::from_secs(180);

/// The provider's books: how often each reference was charged.
type Books = Arc<Mutex<BTreeMap<String, u32>>>;

async fn provider() -> anyhow::Result<(String, Books)> {
    let books = Books::default();
    let kept = Arc::clone(&books);
    let charge = move |axum::Json(charge): axum::Json<Value>| async move {
        let reference = charge["reference"].as_str().unwrap_or_default().to_owned();
        *kept.lock().unwrap().entry(reference).or_default() += 1;
        "{}"
    };
    let router = axum::Router::new().route("/charges", axum::routing::post(charge));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}", listener.local_addr()?);
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok((url, books))
}

fn gateways(folder: &Path) -> anyhow::Result<PathBuf> {
    let folder = folder.join("gateways");
    std::fs::create_dir(&folder)?;
    std::fs::copy(demo_gateway(), folder.join("demo.so"))?;
    std::fs::copy(misbehaving_gateway(), folder.join("misbehaving.so"))?;
    Ok(folder)
}

/// A server with the misbehaving gateway, which alone serves cards, one connection to it for each
/// account, and the books of its provider.
async fn server(folder: &Path, accounts: &[&str]) -> anyhow::Result<(Server, Books)> {
    let setup = Setup {
        gateways: Some(gateways(folder)?),
        ..Setup::default()
    };
    let server = Server::start(setup).await?;
    let (url, books) = provider().await?;
    let path = format!("/operator/v1/apps/{}/connections", server.dev().app_id);
    for account in accounts {
        let connection = json!({
            "environment": "sandbox", "gateway": "misbehaving", "account_name": account,
            "skip_check": true, "methods": ["card_usd", "switchyard_payout_demo"],
            "config": { "url": url, "key": "sk_test_do_not_show_me" },
        });
        let operator = server.operator();
        operator.post(&path, &connection).await?.expect(201)?;
    }
    Ok((server, books))
}

/// A payment that its payer confirms; its id.
async fn confirmed(server: &Server, what: &str, method: &str) -> anyhow::Result<String> {
    let mut body = payment(what);
    body["methods"] = json!([method]);
    let merchant = server.merchant();
    let made = merchant.post("/v1/payments/initialize", &body).await?;
    let id = made.expect(201)?.data("id")?.to_owned();
    let payer = server.stranger();
    let mut chosen = vec![("country", "US"), ("method", method)];
    if method == DEMO {
        chosen.push(("msisdn", "4149518161"));
    }
    let page = format!("/checkout/{id}");
    let sent = payer.post_form(&format!("{page}/details"), &chosen).await?;
    let next = sent.headers().get("location").cloned();
    let next = next.context("a next page")?.to_str()?.to_owned();
    let (_, answers) = next.split_once("?a=").context(next.clone())?;
    let fields = [("a", answers)];
    payer.post_form(&format!("{page}/confirm"), &fields).await?;
    Ok(id)
}

/// A payment through the test gateway.
async fn another_gateway_pays(server: &Server) -> anyhow::Result<()> {
    let id = confirmed(server, "elsewhere", DEMO).await?;
    let path = format!("/v1/payments/{id}/verify");
    let paid = server.merchant().get(&path).await?.expect(200)?;
    assert_eq!(paid.data("status")?, "success");
    Ok(())
}

/// The transaction once its first attempt is in `state`.
async fn settled(server: &Server, id: &str, state: &str) -> anyhow::Result<Value> {
    let path = format!("/operator/v1/transactions/{id}");
    let until = Instant::now() + WITHIN;
    loop {
        let shown = server.operator().get(&path).await?.expect(200)?;
        let shown = shown.body["data"].clone();
        if shown["attempts"][0]["state"] == state {
            return Ok(shown);
        }
        anyhow::ensure!(Instant::now() < until, "not {state}: {shown}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gateway_that_ends_its_process_ends_open_calls_by_the_money_rule_and_not_the_server()
-> anyhow::Result<()> {
    let folder = TempDir::new()?;
    let (mut server, books) = server(folder.path(), &["A"]).await?;
    let process = server.process();
    let harms = ["abort", "null", "overflow", "exit", "memory", "loop"];
    for harm in harms {
        let what = format!("write, harm: {harm}");
        let id = confirmed(&server, &what, "card_usd").await?;
        let doubted = settled(&server, &id, "in_doubt").await?;
        assert_eq!(doubted["status"], "pending", "{what}: {doubted}");
        let check = format!("/operator/v1/transactions/{id}/check");
        let asked = server.operator().post(&check, &json!({})).await?;
        assert_eq!(asked.expect(200)?.data("status")?, "pending", "{what}");
        another_gateway_pays(&server).await?;
        // Otherwise the third death is one too many.
        restore(&server).await?;
    }
    // An attempt that was not sent does not go to the same version again.
    let id = confirmed(&server, "panic twice", "card_usd").await?;
    let unsent = settled(&server, &id, "not_sent").await?;
    let attempts = unsent["attempts"].as_array().map(Vec::len);
    assert_eq!((attempts, unsent["status"] == "success"), (Some(1), false));
    another_gateway_pays(&server).await?;
    {
        let books = books.lock().unwrap();
        assert_eq!(books.len(), harms.len(), "{books:?}");
        assert!(books.values().all(|charges| *charges == 1), "{books:?}");
    }
    assert_eq!(server.process(), process, "it was never started again");
    server.stop().await
}

async fn restore(server: &Server) -> anyhow::Result<()> {
    let path = "/operator/v1/gateways/misbehaving/restore";
    server
        .operator()
        .post(path, &json!({}))
        .await?
        .expect(200)?;
    Ok(())
}

async fn shown(server: &Server) -> anyhow::Result<Value> {
    let path = "/operator/v1/gateways/misbehaving";
    let shown = server.operator().get(path).await?;
    Ok(shown.expect(200)?.body["data"].clone())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_fails_over_to_the_version_whose_worker_died() -> anyhow::Result<()> {
    let folder = TempDir::new()?;
    let (mut server, _) = server(folder.path(), &["A", "B"]).await?;
    for (what, attempts) in [("harm: abort", 1), ("panic", 2)] {
        let id = confirmed(&server, what, "card_usd").await?;
        let unsent = settled(&server, &id, "not_sent").await?;
        let made = unsent["attempts"].as_array().map(Vec::len);
        assert_eq!(made, Some(attempts), "{what}: {unsent}");
    }
    server.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payout_that_kills_its_worker_does_not_quarantine_the_gateway() -> anyhow::Result<()> {
    let folder = TempDir::new()?;
    let (mut server, _) = server(folder.path(), &["A", "B"]).await?;
    let order = |what: &str| payout(what, "4149518161");
    let merchant = server.merchant();
    let made = async |what: &str| {
        let order = order(what);
        let made = merchant.post("/v1/payouts/initialize", &order);
        let made = made.await?.expect(201)?;
        anyhow::Ok(made.data("id")?.to_owned())
    };
    let poison = made("harm: abort").await?;
    settled(&server, &poison, "not_sent").await?;
    // Three deaths within an hour are a quarantine: at the former pace they take 20 s.
    tokio::time::sleep(Duration::from_secs(25)).await;
    let kept = settled(&server, &poison, "not_sent").await?;
    assert_eq!(kept["attempts"].as_array().map(Vec::len), Some(1), "{kept}");
    assert_eq!(kept["status"], "pending", "{kept}");
    assert_eq!(shown(&server).await?["state"], "serving");
    // A restart does not forget the death: the payout still waits for its time.
    server.kill().await?;
    server.up().await?;
    tokio::time::sleep(Duration::from_secs(8)).await;
    let kept = settled(&server, &poison, "not_sent").await?;
    assert_eq!(kept["attempts"].as_array().map(Vec::len), Some(1), "{kept}");
    let sent = made("Salary").await?;
    settled(&server, &sent, "succeeded").await?;
    server.stop().await
}

/// The method that the test gateway serves.
const DEMO: &str = "switchyard_payment_demo";
