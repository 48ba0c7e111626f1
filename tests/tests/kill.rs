//! The server is killed in the middle of its work, again and again, without a loss.

#![expect(clippy::print_stdout, reason = "progress of a long test")]

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, ensure};
use switchyard_tests::client::{payment, payout, pays};
use switchyard_tests::{Client, FAILS, PAYS, Receiver, Server, Setup, eventually};

const ROUNDS: usize = 50;
const CLIENTS: usize = 6;
/// More than the longest wait between two questions about an outcome that is not known, as long as
/// it is young.
const SETTLED_WITHIN: Duration = Duration::from_secs(90);
const DELIVERED_WITHIN: Duration = Duration::from_secs(120);
const SECRET: &str = "whsec_b2YgdGhlc2UgdGVzdHM=";
const ENDS: [&str; 3] = ["success", "failed", "cancelled"];

/// Required end of a transaction that a 201 named.
#[derive(Clone, Copy, Debug)]
struct Promise {
    rests: &'static str,
    /// Number that its payer enters on the checkout page, if it has one.
    number: Option<&'static str>,
}

#[derive(Default)]
struct Promises {
    made: BTreeMap<String, Promise>,
    /// Payments whose payer has not yet seen the end, and comes back to the page.
    open: VecDeque<String>,
}

/// One merchant and one payer, who continue until the server is gone.
#[derive(Clone)]
struct Load {
    merchant: Client,
    payer: Client,
    promises: Arc<Mutex<Promises>>,
}

impl Load {
    fn promises(&self) -> MutexGuard<'_, Promises> {
        self.promises.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Half are payouts; of three payments one is paid by number, another kind of number in turn.
    async fn run(self, first: usize) {
        for turn in first.. {
            let (path, body, promise) = match turn % 12 {
                5 => paid(PAYS, "success"),
                11 => paid(FAILS, "failed"),
                odd if odd % 2 == 1 => left(),
                _ => paid_out(),
            };
            let id = match self.merchant.post(path, &body).await {
                Ok(answer) if answer.status == 201 => {
                    answer.data("id").expect("a 201 has an id").to_owned()
                }
                Ok(answer) if answer.status == 503 => continue,
                Ok(answer) => panic!("{path}: {} {}", answer.status, answer.body),
                Err(_) => return,
            };
            self.promises().made.insert(id.clone(), promise);
            if promise.number.is_some() {
                self.promises().open.push_back(id);
            }
            if self.comes_back().await.is_err() {
                return;
            }
        }
    }

    /// The payer who has waited longest goes to the page, and on from whatever it shows.
    async fn comes_back(&self) -> anyhow::Result<()> {
        let Some(id) = self.promises().open.pop_front() else {
            return Ok(());
        };
        let saw_the_end = pays(&self.payer, &id, self.number_for(&id)).await;
        if !matches!(saw_the_end, Ok(true)) {
            self.promises().open.push_back(id);
        }
        saw_the_end.map(|_| ())
    }

    fn number_for(&self, id: &str) -> &'static str {
        let promise = self.promises().made.get(id).copied();
        promise
            .and_then(|promise| promise.number)
            .expect("only those with a number come back")
    }
}

type Made = (&'static str, serde_json::Value, Promise);

fn paid(number: &'static str, rests: &'static str) -> Made {
    let number = Some(number);
    (
        "/v1/payments/initialize",
        payment("A teapot"),
        Promise { rests, number },
    )
}

fn left() -> Made {
    let promise = Promise {
        rests: "initiated",
        number: None,
    };
    ("/v1/payments/initialize", payment("A teapot"), promise)
}

fn paid_out() -> Made {
    let promise = Promise {
        rests: "success",
        number: None,
    };
    ("/v1/payouts/initialize", payout("Salary", PAYS), promise)
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

    let promises = Arc::new(Mutex::new(Promises::default()));
    for round in 0..ROUNDS {
        let load = Load {
            merchant: server.merchant(),
            payer: server.stranger(),
            promises: promises.clone(),
        };
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| tokio::spawn(load.clone().run(round * 5 + client * 2 + client / 3)))
            .collect();
        // Another moment each time, without chance: 20 to 320 ms.
        tokio::time::sleep(Duration::from_millis(20 + round as u64 * 73 % 300)).await;
        server.kill().await?;
        for client in clients {
            client.await?;
        }
        server.up().await?;
    }

    let promises = std::mem::take(&mut *promises.lock().unwrap_or_else(PoisonError::into_inner));
    let made = &promises.made;
    let with_payer = made.values().filter(|one| one.number.is_some()).count();
    let (all, open) = (made.len(), promises.open.len());
    println!("{all} promised, {with_payer} with a payer, {open} of whom had not seen the end");
    ensure!(
        all > ROUNDS && with_payer > ROUNDS / 2,
        "there was too little load"
    );
    everything_is_found_and_ends_as_it_must(&server, made).await?;
    no_webhook_is_lost(&receiver, made).await
}

/// Unpaid payments wait; all others end as their number says, by one attempt. A payer to whom the
/// page shows the choice again, since the kill came before their answer was stored, answers again.
async fn everything_is_found_and_ends_as_it_must(
    server: &Server,
    made: &BTreeMap<String, Promise>,
) -> anyhow::Result<()> {
    let (merchant, payer, operator) = (server.merchant(), server.stranger(), server.operator());
    let mut more_than_one = 0;
    for (id, promise) in made {
        let path = match id.starts_with("po_") {
            true => format!("/v1/payouts/{id}"),
            false => format!("/v1/payments/{id}"),
        };
        let what = format!("{id} is at rest");
        let at_rest = eventually(&what, SETTLED_WITHIN, async || {
            let answer = merchant.get(&path).await?.expect(200)?;
            let status = answer.data("status")?.to_owned();
            if let Some(number) = promise.number.filter(|_| !ENDS.contains(&&*status)) {
                pays(&payer, id, number).await?;
            }
            let rests = status == promise.rests || ENDS.contains(&&*status);
            Ok(rests.then_some(status))
        })
        .await;
        let by_operator = format!("/operator/v1/transactions/{id}");
        let shown = operator.get(&by_operator).await?.expect(200)?.body;
        let status = at_rest.with_context(|| format!("the operator sees {shown:#}"))?;
        ensure!(status == promise.rests, "{id} is {status}: {shown:#}");
        let attempts = shown["data"]["attempts"].as_array().context("attempts")?;
        let succeeded = attempts.iter().filter(|one| one["state"] == "succeeded");
        let wanted = usize::from(promise.rests == "success");
        ensure!(succeeded.count() == wanted, "{id}: {shown:#}");
        more_than_one += usize::from(attempts.len() > 1);
    }
    println!("{more_than_one} of them took more than one attempt");
    Ok(())
}

async fn no_webhook_is_lost(
    receiver: &Receiver,
    made: &BTreeMap<String, Promise>,
) -> anyhow::Result<()> {
    let mut expected = BTreeSet::new();
    for (id, Promise { rests, .. }) in made {
        let kind = if id.starts_with("po_") {
            "payout"
        } else {
            "payment"
        };
        expected.insert((id.clone(), format!("{kind}.initiated")));
        expected.insert((id.clone(), format!("{kind}.{rests}")));
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
