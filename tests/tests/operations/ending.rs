//! Graceful shutdown and abort, with requests in flight.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use switchyard_tests::client::{payment, payout};
use switchyard_tests::{Client, PAYS, Receiver, Server, Setup, eventually};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::Instant;

/// Requests a second, and for how long before the signal comes.
const RATE: u32 = 200;
const BEFORE: Duration = Duration::from_secs(2);
const SECRET: &str = "whsec_b2YgdGhlc2UgdGVzdHM=";

/// Result of every request.
#[derive(Default)]
struct Fates {
    promised: BTreeSet<String>,
    /// 503: refused with an answer.
    refused: usize,
    /// The port was closed: refused without one.
    turned_away: usize,
    broken: Vec<String>,
}

type Shared = Arc<Mutex<Fates>>;

async fn one(merchant: Client, turn: u32, fates: Shared) {
    let (path, body) = match turn % 2 {
        0 => ("/v1/payouts/initialize", payout("Salary", PAYS)),
        _ => ("/v1/payments/initialize", payment("A teapot")),
    };
    let answer = merchant.post(path, &body).await;
    let mut fates = fates.lock().unwrap_or_else(PoisonError::into_inner);
    match answer {
        Ok(answer) if answer.status == 201 => {
            let id = answer.data("id").expect("a 201 has an id");
            fates.promised.insert(id.to_owned());
        }
        Ok(answer) if answer.status == 503 => fates.refused += 1,
        Ok(answer) => fates.broken.push(format!("{answer:?}")),
        Err(error) if is_connect(&error) => fates.turned_away += 1,
        Err(error) => fates.broken.push(format!("{error:#}: {error:?}")),
    }
}

fn is_connect(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<switchyard_tests::client::HttpError>()
        .is_some_and(switchyard_tests::client::HttpError::is_connect)
}

/// Sends requests at a steady rate, with any result, until stopped.
async fn load(merchant: Client, fates: Shared, stop: Arc<AtomicBool>) {
    let mut tasks = tokio::task::JoinSet::new();
    let mut tick = tokio::time::interval(Duration::from_secs(1) / RATE);
    for turn in 0.. {
        tick.tick().await;
        if stop.load(Ordering::Relaxed) {
            break;
        }
        tasks.spawn(one(merchant.clone(), turn, fates.clone()));
    }
    while let Some(ended) = tasks.join_next().await {
        ended.expect("no request panics");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_end_under_load_loses_nothing_and_breaks_no_connection() -> anyhow::Result<()> {
    let receiver = Receiver::start().await?;
    let mut server = Server::start(Setup::default()).await?;
    server.add_webhook(&receiver.url(), SECRET).await?;
    let (fates, stop) = (Shared::default(), Arc::new(AtomicBool::new(false)));
    let loading = tokio::spawn(load(server.merchant(), fates.clone(), stop.clone()));
    tokio::time::sleep(BEFORE).await;
    let told = Instant::now();
    server.terminate().await?;
    let status = server.ended().await?;
    let took = told.elapsed();
    tokio::time::sleep(Duration::from_millis(100)).await;
    stop.store(true, Ordering::Relaxed);
    loading.await?;
    assert!(status.success(), "{status}: {}", server.log());
    assert!(took < Duration::from_secs(31), "{took:?}");

    let fates = std::mem::take(&mut *fates.lock().unwrap_or_else(PoisonError::into_inner));
    println!(
        "{} promised, {} refused, {} turned away, ended after {took:?}",
        fates.promised.len(),
        fates.refused,
        fates.turned_away
    );
    assert!(
        fates.broken.is_empty(),
        "{} broken: {:#?}",
        fates.broken.len(),
        fates.broken.first()
    );
    assert!(fates.promised.len() > RATE as usize, "there was load");
    assert!(fates.turned_away > 0, "the load went on to the end");
    server.up().await?;
    everything_goes_on(&server, &receiver, &fates.promised).await
}

/// Each transaction is there, each payout ends, each of their webhooks comes.
async fn everything_goes_on(
    server: &Server,
    receiver: &Receiver,
    promised: &BTreeSet<String>,
) -> anyhow::Result<()> {
    let merchant = server.merchant();
    for id in promised {
        let is_payout = id.starts_with("po_");
        let path = match is_payout {
            true => format!("/v1/payouts/{id}"),
            false => format!("/v1/payments/{id}"),
        };
        eventually(
            &format!("{id} is at rest"),
            Duration::from_secs(60),
            async || {
                let answer = merchant.get(&path).await?.expect(200)?;
                let rests = if is_payout { "success" } else { "initiated" };
                Ok((answer.data("status")? == rests).then_some(()))
            },
        )
        .await?;
    }
    let mut expected = BTreeSet::new();
    for id in promised {
        let events: &[&str] = match id.starts_with("po_") {
            true => &["payout.initiated", "payout.success"],
            false => &["payment.initiated"],
        };
        expected.extend(events.iter().map(|event| (id.clone(), (*event).to_owned())));
    }
    eventually(
        "all webhooks have come",
        Duration::from_secs(60),
        async || {
            let received = receiver.received();
            let received: BTreeSet<_> =
                received.iter().map(|one| (one.id(), one.event())).collect();
            Ok(expected.is_subset(&received).then_some(()))
        },
    )
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_it_ends_it_answers_tells_balancers_and_closes_connections() -> anyhow::Result<()> {
    let mut server = Server::start(Setup {
        settings: vec![("SWITCHYARD_SERVER__SHUTDOWN_DELAY", "3s")],
        ..Setup::default()
    })
    .await?;
    let before = server.stranger().get("/readyz").await?.expect(200)?;
    assert_eq!(before.headers.get("connection"), None);
    server.terminate().await?;
    let ready = eventually(
        "it is not ready any more",
        Duration::from_secs(2),
        async || {
            let answer = server.stranger().get("/readyz").await?;
            Ok((answer.status == 503).then_some(answer))
        },
    )
    .await?;
    assert_eq!(ready.body["checks"]["shutdown"], "has begun");
    assert_eq!(ready.headers["connection"], "close");
    let path = "/v1/payments/initialize";
    let made = server
        .merchant()
        .post(path, &payment("A last teapot"))
        .await?;
    assert_eq!(
        (made.status, &made.headers["connection"]),
        (201, &"close".parse()?)
    );
    assert!(server.ended().await?.success());
    assert!(server.stranger().get("/readyz").await.is_err());
    Ok(())
}

#[tokio::test]
async fn a_second_signal_ends_it_at_once_with_a_word_about_it() -> anyhow::Result<()> {
    let mut server = Server::start(Setup {
        settings: vec![("SWITCHYARD_SERVER__SHUTDOWN_DELAY", "60s")],
        ..Setup::default()
    })
    .await?;
    server.terminate().await?;
    eventually("it was told", Duration::from_secs(10), async || {
        Ok(server
            .log()
            .contains("graceful shutdown started")
            .then_some(()))
    })
    .await?;
    let told = Instant::now();
    server.terminate().await?;
    let status = server.ended().await?;
    assert_eq!(status.code(), Some(1), "{}", server.log());
    assert!(told.elapsed() < Duration::from_secs(20));
    assert!(
        server.log().contains("second signal, process ends at once"),
        "{}",
        server.log()
    );
    server.up().await
}

#[tokio::test]
async fn a_request_that_does_not_end_is_cut_off_when_the_time_is_up() -> anyhow::Result<()> {
    let mut server = Server::start(Setup {
        settings: vec![("SWITCHYARD_SERVER__SHUTDOWN_TIMEOUT", "1s")],
        ..Setup::default()
    })
    .await?;
    let mut endless = TcpStream::connect(server.address()).await?;
    let head = format!(
        "POST /v1/payments/initialize HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\nauthorization: Bearer {}\r\n\
         content-length: 100\r\n\r\n{{",
        server.dev().sandbox_secret_key
    );
    endless.write_all(head.as_bytes()).await?;
    tokio::time::sleep(Duration::from_millis(300)).await;
    let told = Instant::now();
    server.terminate().await?;
    let status = server.ended().await?;
    assert!(status.success(), "{status}: {}", server.log());
    // Far below the ten seconds and more that the request itself may take.
    assert!(
        told.elapsed() < Duration::from_secs(9),
        "{:?}",
        told.elapsed()
    );
    assert!(
        server.log().contains("shutdown timeout reached"),
        "{}",
        server.log()
    );
    let mut rest = Vec::new();
    // Whether the end is orderly or not is no promise here.
    let _ = endless.read_to_end(&mut rest).await;
    server.up().await
}
