//! A gateway inside the server's own process that ends it: that is the price of trust. After the restart what was open ends by the money
//! rule, another gateway pays, and nothing else is lost. One that loops there ends nothing.

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

/// A server with the misbehaving gateway in its own process, which alone serves cards, and the books of that gateway's provider.
async fn server(folder: &Path) -> anyhow::Result<(Server, Books)> {
    let setup = Setup {
        settings: vec![("SWITCHYARD_GATEWAYS__ISOLATION", "in_process")],
        gateways: Some(gateways(folder)?),
        ..Setup::default()
    };
    let server = Server::start(setup).await?;
    let (url, books) = provider().await?;
    let connection = json!({
        "environment": "sandbox", "gateway": "misbehaving", "account_name": "A", "skip_check": true, "methods": ["card_usd"],
        "config": { "url": url, "key": "sk_test_do_not_show_me" },
    });
    let path = format!("/operator/v1/apps/{}/connections", server.dev().app_id);
    let operator = server.operator();
    operator.post(&path, &connection).await?.expect(201)?;
    Ok((server, books))
}

/// A payment that its payer confirms; whether anybody answers that.
async fn confirmed(server: &Server, what: &str, method: &str) -> anyhow::Result<(String, bool)> {
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
    let confirmed = payer.post_form(&format!("{page}/confirm"), &fields).await;
    Ok((id, confirmed.is_ok()))
}

/// A payment over which the server ends, and is started again.
async fn ends_the_server(server: &mut Server, what: &str) -> anyhow::Result<String> {
    let (id, is_answered) = confirmed(server, what, "card_usd").await?;
    anyhow::ensure!(!is_answered, "{what}: the server lives");
    server.kill().await?;
    server.up().await?;
    Ok(id)
}

/// A payment through the test gateway.
async fn another_gateway_pays(server: &Server) -> anyhow::Result<()> {
    let (id, _) = confirmed(server, "elsewhere", DEMO).await?;
    let path = format!("/v1/payments/{id}/verify");
    let paid = server.merchant().get(&path).await?.expect(200)?;
    assert_eq!(paid.data("status")?, "success");
    Ok(())
}

/// The process may have so much more memory than it has: what eats it ends then.
fn limit_memory(server: &Server, more: u64) -> anyhow::Result<()> {
    let process = server.process().context("it runs")?;
    let statm = std::fs::read_to_string(format!("/proc/{process}/statm"))?;
    let pages: u64 = statm.split(' ').next().context(statm.clone())?.parse()?;
    let bytes = pages * 4096 + more;
    let limit = libc::rlimit {
        rlim_cur: bytes,
        rlim_max: bytes,
    };
    let process = libc::pid_t::try_from(process)?;
    // SAFETY: the pointer is to a live `rlimit` of ours, and the call gives nothing back.
    let done = unsafe {
        libc::prlimit(
            process,
            libc::RLIMIT_AS,
            &raw const limit,
            std::ptr::null_mut(),
        )
    };
    anyhow::ensure!(done == 0, std::io::Error::last_os_error());
    Ok(())
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
    let (mut server, books) = server(folder.path()).await?;
    let harms = ["abort", "null", "overflow", "exit", "memory"];
    for harm in harms {
        if harm == "memory" {
            limit_memory(&server, 256 * 1024 * 1024)?;
        }
        let what = format!("write, harm: {harm}");
        let id = ends_the_server(&mut server, &what).await?;
        let doubted = settled(&mut server, &id, "in_doubt").await?;
        assert_eq!(doubted["status"], "pending", "{what}: {doubted}");
        let check = format!("/operator/v1/transactions/{id}/check");
        let asked = server.operator().post(&check, &json!({})).await?;
        assert_eq!(asked.expect(200)?.data("status")?, "pending", "{what}");
        another_gateway_pays(&server).await?;
        // Otherwise the third death is one too many.
        restore(&server).await?;
    }
    // An attempt that was not sent does not go to the same version again.
    let id = ends_the_server(&mut server, "panic twice").await?;
    let unsent = settled(&mut server, &id, "not_sent").await?;
    let attempts = unsent["attempts"].as_array().map(Vec::len);
    assert_eq!((attempts, unsent["status"] == "success"), (Some(1), false));
    another_gateway_pays(&server).await?;
    let books = books.lock().unwrap();
    assert_eq!(books.len(), harms.len(), "{books:?}");
    assert!(books.values().all(|charges| *charges == 1), "{books:?}");
    Ok(())
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
async fn a_version_in_which_the_server_died_three_times_is_in_quarantine_after_the_start()
-> anyhow::Result<()> {
    let folder = TempDir::new()?;
    let (mut server, _) = server(folder.path()).await?;
    for (number, harm) in ["abort", "null", "exit"].into_iter().enumerate() {
        // A clean stop and a kill in between count for nothing.
        server.stop().await?;
        server.up().await?;
        server.kill().await?;
        server.up().await?;
        assert_eq!(shown(&server).await?["state"], "serving", "{number} deaths");
        ends_the_server(&mut server, &format!("write, harm: {harm}")).await?;
    }
    let gateway = shown(&server).await?;
    assert_eq!(gateway["state"], "quarantined", "{gateway}");
    let reason = gateway["quarantine"]["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("died 3 times"), "{gateway}");
    assert_eq!(gateway["versions"][0]["isolation"], "process", "{gateway}");
    another_gateway_pays(&server).await?;
    // It stays so over a start, until an operator restores it; the count is reset.
    server.stop().await?;
    server.up().await?;
    assert_eq!(shown(&server).await?["state"], "quarantined");
    restore(&server).await?;
    server.stop().await?;
    server.up().await?;
    let gateway = shown(&server).await?;
    assert_eq!(gateway["state"], "serving", "{gateway}");
    ends_the_server(&mut server, "write, harm: abort").await?;
    assert_eq!(shown(&server).await?["state"], "serving");
    server.stop().await
}

/// A server with the misbehaving gateway in a worker, and two connections to it.
async fn isolated(folder: &Path) -> anyhow::Result<Server> {
    let setup = Setup {
        settings: vec![("SWITCHYARD_GATEWAYS__ISOLATION", "process")],
        gateways: Some(gateways(folder)?),
        ..Setup::default()
    };
    let server = Server::start(setup).await?;
    let (url, _) = provider().await?;
    let path = format!("/operator/v1/apps/{}/connections", server.dev().app_id);
    for account in ["A", "B"] {
        let connection = json!({
            "environment": "sandbox", "gateway": "misbehaving", "account_name": account,
            "skip_check": true, "methods": ["card_usd", "switchyard_payout_demo"],
            "config": { "url": url, "key": "sk_test_do_not_show_me" },
        });
        let operator = server.operator();
        operator.post(&path, &connection).await?.expect(201)?;
    }
    Ok(server)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_fails_over_to_the_version_whose_worker_died() -> anyhow::Result<()> {
    let folder = TempDir::new()?;
    let mut server = isolated(folder.path()).await?;
    for (what, attempts) in [("harm: abort", 1), ("panic", 2)] {
        let (id, _) = confirmed(&server, what, "card_usd").await?;
        let unsent = settled(&mut server, &id, "not_sent").await?;
        let made = unsent["attempts"].as_array().map(Vec::len);
        assert_eq!(made, Some(attempts), "{what}: {unsent}");
    }
    server.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payout_that_kills_its_worker_does_not_quarantine_the_gateway() -> anyhow::Result<()> {
    let folder = TempDir::new()?;
    let mut server = isolated(folder.path()).await?;
    let order = |what: &str| payout(what, "4149518161");
    let merchant = server.merchant();
    let made = async |what: &str| {
        let order = order(what);
        let made = merchant.post("/v1/payouts/initialize", &order);
        let made = made.await?.expect(201)?;
        anyhow::Ok(made.data("id")?.to_owned())
    };
    let poison = made("harm: abort").await?;
    settled(&mut server, &poison, "not_sent").await?;
    // Three deaths within a minute are a quarantine: at the former pace they take 20 s.
    tokio::time::sleep(Duration::from_secs(25)).await;
    let kept = settled(&mut server, &poison, "not_sent").await?;
    assert_eq!(kept["attempts"].as_array().map(Vec::len), Some(1), "{kept}");
    assert_eq!(kept["status"], "pending", "{kept}");
    assert_eq!(shown(&server).await?["state"], "serving");
    let sent = made("Salary").await?;
    settled(&mut server, &sent, "succeeded").await?;
    server.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gateway_that_loops_in_the_servers_process_ends_no_other_payment_and_holds_up_no_stop()
-> anyhow::Result<()> {
    let folder = TempDir::new()?;
    let (mut server, books) = server(folder.path()).await?;
    let process = server.process();
    for (number, (what, state)) in [
        ("write, harm: loop", "in_doubt"),
        ("harm: loop", "not_sent"),
    ]
    .into_iter()
    .enumerate()
    {
        let (id, is_answered) = confirmed(&server, what, "card_usd").await?;
        assert!(is_answered, "{what}");
        let shown = settled(&mut server, &id, state).await?;
        assert!(
            ["pending", "initiated"]
                .iter()
                .any(|open| shown["status"] == *open),
            "{shown}"
        );
        another_gateway_pays(&server).await?;
        let operator = server.operator();
        let shown = operator.get("/operator/v1/gateways/misbehaving").await?;
        let shown = shown.expect(200)?.body["data"].clone();
        let reason = shown["quarantine"]["reason"].as_str();
        assert!(
            reason.is_some_and(|reason| reason.contains("held a thread")),
            "{shown}"
        );
        if number == 0 {
            let restore = "/operator/v1/gateways/misbehaving/restore";
            operator.post(restore, &json!({})).await?.expect(200)?;
        }
    }
    assert_eq!(
        books.lock().unwrap().values().copied().collect::<Vec<_>>(),
        [1]
    );
    assert_eq!(server.process(), process, "it was never started again");
    server.stop().await
}

/// The method that the test gateway serves.
const DEMO: &str = "switchyard_payment_demo";
