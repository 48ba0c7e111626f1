//! The server dies in the middle of its work, again and again, and nobody is the worse for it.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use switchyard_tests::client::{payment, payout};
use switchyard_tests::{Client, Delivery, PAYS, Receiver, Server, Setup, eventually};

const ROUNDS: u64 = 50;
const CLIENTS: usize = 6;
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
    everything_is_found_and_nothing_is_stuck(&server, &promised).await?;
    no_webhook_is_lost(&receiver, &promised).await
}

async fn everything_is_found_and_nothing_is_stuck(
    server: &Server,
    promised: &BTreeSet<String>,
) -> anyhow::Result<()> {
    let merchant = server.merchant();
    for id in promised {
        let (kind, rest) = if id.starts_with("po_") {
            ("payouts", "success")
        } else {
            ("payments", "initiated")
        };
        let path = format!("/v1/{kind}/{id}");
        eventually(
            &format!("{id} is {rest}"),
            Duration::from_secs(60),
            async || {
                let answer = merchant.get(&path).await?.expect(200)?;
                Ok((answer.data("status")? == rest).then_some(()))
            },
        )
        .await?;
    }
    Ok(())
}

async fn no_webhook_is_lost(
    receiver: &Receiver,
    promised: &BTreeSet<String>,
) -> anyhow::Result<()> {
    let mut expected = BTreeSet::new();
    for id in promised {
        let events: &[&str] = if id.starts_with("po_") {
            &["payout.initiated", "payout.success"]
        } else {
            &["payment.initiated"]
        };
        expected.extend(events.iter().map(|event| (id.clone(), (*event).to_owned())));
    }
    let missing = || {
        let received: BTreeSet<_> = receiver
            .received()
            .iter()
            .map(|delivery: &Delivery| (delivery.id(), delivery.event()))
            .collect();
        expected.difference(&received).cloned().collect::<Vec<_>>()
    };
    let all_came = eventually(
        "all webhooks have come",
        Duration::from_secs(120),
        async || Ok(missing().is_empty().then_some(())),
    );
    if let Err(error) = all_came.await {
        let missing = missing();
        anyhow::bail!(
            "{error}; {} of {} are missing: {:?}",
            missing.len(),
            expected.len(),
            &missing[..missing.len().min(5)]
        );
    }
    assert!(
        receiver
            .received()
            .iter()
            .all(|delivery| delivery.is_signed_with(SECRET)),
        "each is signed"
    );
    Ok(())
}
