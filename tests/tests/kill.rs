//! The server dies in the middle of its work, again and again, and nobody is the worse for it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::ensure;
use switchyard_tests::client::{payment, payout};
use switchyard_tests::{Client, PAYS, Receiver, Server, Setup, eventually};

const ROUNDS: u64 = 50;
const CLIENTS: usize = 6;
/// More than the longest wait between two questions about an outcome that is not known, as long as it is young.
const SETTLED_WITHIN: Duration = Duration::from_secs(90);
const DELIVERED_WITHIN: Duration = Duration::from_secs(120);
const SECRET: &str = "whsec_of_these_tests";

/// All ids that a 201 named.
#[derive(Clone, Default)]
struct Promised(Arc<Mutex<BTreeSet<String>>>);

impl Promised {
    fn add(&self, id: &str) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(id.to_owned());
    }

    fn all(&self) -> BTreeSet<String> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// Initializes payments and payouts in turn until the server is gone. Only a 201 is a promise.
async fn load(merchant: Client, promised: Promised) {
    for turn in 0_usize.. {
        let (path, body) = match turn % 2 {
            0 => ("/v1/payouts/initialize", payout("Salary", PAYS)),
            _ => ("/v1/payments/initialize", payment("A teapot")),
        };
        match merchant.post(path, &body).await {
            Ok(answer) if answer.status == 201 => {
                promised.add(answer.data("id").expect("a 201 has an id"))
            }
            Ok(answer) if answer.status == 503 => {}
            Ok(answer) => panic!("{path}: {} {}", answer.status, answer.body),
            Err(_) => return,
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_kills_under_load_lose_nothing() -> anyhow::Result<()> {
    let receiver = Receiver::start().await?;
    let settings = vec![
        ("SWITCHYARD_WEBHOOK__RETRY_AFTER", "1s"),
        ("SWITCHYARD_WEBHOOK__RETRIES", "10"),
    ];
    let mut server = Server::start(Setup {
        settings,
        ..Setup::default()
    })
    .await?;
    server.add_webhook(&receiver.url(), SECRET).await?;

    let promised = Promised::default();
    for round in 0..ROUNDS {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|_| tokio::spawn(load(server.merchant(), promised.clone())))
            .collect();
        // Another moment each time, without chance: 20 to 320 ms.
        tokio::time::sleep(Duration::from_millis(20 + round * 73 % 300)).await;
        server.kill().await?;
        for client in clients {
            client.await?;
        }
        server.up().await?;
    }

    let promised = promised.all();
    assert!(
        promised.len() > ROUNDS as usize,
        "there was load: {} transactions",
        promised.len()
    );
    println!("{} transactions were promised", promised.len());
    let found = everything_is_found_and_nothing_is_stuck(&server, &promised).await?;
    no_webhook_is_lost(&receiver, &found).await
}

/// The status in which each came to rest: payments wait for their payer, payouts end. One that the kills hit again and again before it
/// was sent may fail, and says so; it never stays open.
async fn everything_is_found_and_nothing_is_stuck(
    server: &Server,
    promised: &BTreeSet<String>,
) -> anyhow::Result<BTreeMap<String, String>> {
    let merchant = server.merchant();
    let mut found = BTreeMap::new();
    for id in promised {
        let (path, rests): (_, &[&str]) = match id.starts_with("po_") {
            true => (format!("/v1/payouts/{id}"), &["success", "failed"]),
            false => (format!("/v1/payments/{id}"), &["initiated"]),
        };
        let what = format!("{id} is at rest");
        let at_rest = eventually(&what, SETTLED_WITHIN, async || {
            let answer = merchant.get(&path).await?.expect(200)?;
            let status = answer.data("status")?.to_owned();
            Ok(rests.contains(&status.as_str()).then_some(status))
        });
        let shown = async || {
            let path = format!("/operator/v1/transactions/{id}");
            anyhow::Ok(server.operator().get(&path).await?.expect(200)?.body)
        };
        let status = match at_rest.await {
            Ok(status) => status,
            Err(error) => anyhow::bail!("{error}; the operator sees {:#}", shown().await?),
        };
        if status == "failed" {
            let shown = shown().await?;
            let why = shown["data"]["failure_message"]
                .as_str()
                .unwrap_or_default();
            ensure!(why.contains("nothing was sent"), "{id} failed: {shown:#}");
        }
        found.insert(id.clone(), status);
    }
    let failed = found.values().filter(|status| *status == "failed").count();
    println!("{failed} of them were never sent and failed");
    ensure!(
        failed * 20 < found.len(),
        "{failed} of {} failed",
        found.len()
    );
    Ok(found)
}

async fn no_webhook_is_lost(
    receiver: &Receiver,
    found: &BTreeMap<String, String>,
) -> anyhow::Result<()> {
    let mut expected = BTreeSet::new();
    for (id, status) in found {
        let kind = if id.starts_with("po_") {
            "payout"
        } else {
            "payment"
        };
        expected.insert((id.clone(), format!("{kind}.initiated")));
        expected.insert((id.clone(), format!("{kind}.{status}")));
    }
    let missing = || {
        let received = receiver.received();
        let received: BTreeSet<_> = received.iter().map(|one| (one.id(), one.event())).collect();
        expected.difference(&received).cloned().collect::<Vec<_>>()
    };
    let all_came = eventually("all webhooks have come", DELIVERED_WITHIN, async || {
        Ok(missing().is_empty().then_some(()))
    });
    if let Err(error) = all_came.await {
        let missing = missing();
        let some = &missing[..missing.len().min(5)];
        anyhow::bail!(
            "{error}; {} of {} are missing: {some:?}",
            missing.len(),
            expected.len()
        );
    }
    let unsigned = receiver
        .received()
        .iter()
        .filter(|one| !one.is_signed_with(SECRET))
        .count();
    ensure!(
        unsigned == 0,
        "{unsigned} webhooks are not signed with the app's secret"
    );
    Ok(())
}
