//! Gateways are added, upgraded, rolled back and removed while payments and payouts go through
//! them, without any effect on these.

#![expect(clippy::print_stdout, reason = "progress of a long test")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use switchyard_tests::client::{payment, payout};
use switchyard_tests::{Client, PAYS, STAYS_PENDING, Server, Setup, demo_as};
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio::time::Instant;

const ROUNDS: usize = 100;
/// Stretches of rounds under load after the first, of which one has to leave the memory as it was.
const STRETCHES: usize = 3;
/// Transactions before anything counts: the store's memory for rows is full then, and every library
/// was loaded.
const WARM: usize = 3_000;
/// Changes of a round: add, upgrade, roll back, drain, remove, restore, remove.
const CHANGES: usize = 7;
const CLIENTS: usize = 8;
/// Transactions that end between two changes, at the least.
const BETWEEN: usize = 5;
const GATEWAYS: [&str; 2] = ["switchyard_demo", "understudy_demo"];

/// Counts of the clients.
#[derive(Default)]
struct Tally {
    /// Payments that have to be successful, payments that have to be pending, and payouts that have
    /// to be successful at the end.
    ended: [AtomicUsize; 3],
    stop: AtomicBool,
}

impl Tally {
    fn note(&self, what: usize) {
        self.ended[what].fetch_add(1, Ordering::SeqCst);
    }

    fn payments(&self) -> usize {
        self.ended[0].load(Ordering::SeqCst)
    }

    fn waiting(&self) -> usize {
        self.ended[1].load(Ordering::SeqCst)
    }

    fn payouts(&self) -> usize {
        self.ended[2].load(Ordering::SeqCst)
    }

    fn done(&self) -> usize {
        self.payments() + self.waiting() + self.payouts()
    }

    fn is_over(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    async fn more(&self, count: usize) {
        let enough = self.done() + count;
        while self.done() < enough && !self.is_over() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

/// One client: payments that are paid by form and payouts in turn, until it is stopped. Any refusal
/// is an error.
async fn client(merchant: Client, payer: Client, tally: Arc<Tally>) -> anyhow::Result<()> {
    for turn in 0_usize.. {
        if tally.is_over() {
            break;
        }
        if turn % 2 == 1 {
            let body = payout("Salary", PAYS);
            let made = merchant.post("/v1/payouts/initialize", &body);
            made.await?.expect(201)?;
            tally.note(2);
            continue;
        }
        let body = payment("A teapot");
        let made = merchant.post("/v1/payments/initialize", &body);
        let id = made.await?.expect(201)?.data("id")?.to_owned();
        // Every tenth payment stays with its provider, on the version that it began on.
        let stays = turn % 20 == 0;
        pay(&payer, &id, if stays { STAYS_PENDING } else { PAYS }).await?;
        tally.note(usize::from(stays));
    }
    Ok(())
}

/// As a payer with nothing but forms.
pub(crate) async fn pay(payer: &Client, id: &str, number: &str) -> anyhow::Result<()> {
    let fields = [
        ("country", "US"),
        ("method", "switchyard_payment_demo"),
        ("msisdn", number),
    ];
    let sent = payer
        .post_form(&format!("/checkout/{id}/details"), &fields)
        .await?;
    let next = location(&sent)?;
    let (_, answers) = next.split_once("?a=").context(next.clone())?;
    let sent = payer
        .post_form(&format!("/checkout/{id}/confirm"), &[("a", answers)])
        .await?;
    let next = location(&sent)?;
    ensure!(!next.contains("?a="), "not confirmed: {next}");
    Ok(())
}

fn location(response: &reqwest::Response) -> anyhow::Result<String> {
    let location = response.headers().get("location");
    let location = location.with_context(|| format!("no location: {response:?}"))?;
    Ok(location.to_str()?.to_owned())
}

/// The operator, with a handful of versions of two gateways.
struct Operator {
    client: Client,
    files: BTreeMap<(&'static str, u8), Vec<u8>>,
}

impl Operator {
    fn new(client: Client, folder: &Path) -> anyhow::Result<Self> {
        let mut files = BTreeMap::new();
        for name in GATEWAYS {
            for patch in 1..=9 {
                let file: PathBuf = demo_as(folder, name, patch)?;
                files.insert((name, patch), std::fs::read(file)?);
            }
        }
        Ok(Self { client, files })
    }

    async fn add(&self, name: &'static str, patch: u8) -> anyhow::Result<()> {
        let file = self.files[&(name, patch)].clone();
        let added = self.client.upload("/operator/v1/gateways", file);
        added.await?.expect(201)?;
        Ok(())
    }

    async fn say(&self, name: &str, what: &str) -> anyhow::Result<()> {
        let path = format!("/operator/v1/gateways/{name}/{what}");
        self.client.post(&path, &json!({})).await?.expect(200)?;
        Ok(())
    }

    /// Both gateways come, change and go, and at each moment one of them serves. It begins and ends
    /// with the first alone.
    async fn round(&self, number: usize, tally: &Tally) -> anyhow::Result<()> {
        let [lead, understudy] = GATEWAYS;
        let patch = |offset: usize| [1, 2, 3][(number + offset) % 3];
        self.add(understudy, patch(0)).await?;
        tally.more(BETWEEN).await;
        self.add(lead, patch(0)).await?;
        tally.more(BETWEEN).await;
        self.add(lead, patch(1)).await?;
        tally.more(BETWEEN).await;
        self.say(lead, "rollback").await?;
        tally.more(BETWEEN).await;
        self.say(lead, "drain").await?;
        tally.more(BETWEEN).await;
        self.say(lead, "remove").await?;
        tally.more(BETWEEN).await;
        self.say(lead, "restore").await?;
        self.say(understudy, "remove").await?;
        tally.more(BETWEEN).await;
        Ok(())
    }
}

/// Resident memory of the server, in kB.
fn resident(server: &Server) -> anyhow::Result<u64> {
    let process = server.process().context("it runs")?;
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    Ok(number.context("VmRSS")?.parse()?)
}

async fn connect(server: &Server) -> anyhow::Result<()> {
    let path = format!("/operator/v1/apps/{}/connections", server.dev().app_id);
    for gateway in GATEWAYS {
        let connection =
            json!({ "environment": "sandbox", "gateway": gateway, "account_name": gateway });
        server
            .operator()
            .post(&path, &connection)
            .await?
            .expect(201)?;
    }
    Ok(())
}

/// Each transaction ends as its number says: none failed, and none is lost.
async fn ended_well(server: &Server, tally: &Tally) -> anyhow::Result<()> {
    let merchant = server.merchant();
    let merchant = &merchant;
    let count = |kind: &'static str, status: &'static str| async move {
        let found = merchant
            .get(&format!("/v1/{kind}?status={status}&limit=1"))
            .await?
            .expect(200)?;
        let total = found.body.pointer("/meta/total").and_then(Value::as_u64);
        total.with_context(|| found.body.to_string())
    };
    for (kind, paid, pending) in [
        ("payments", tally.payments(), tally.waiting()),
        ("payouts", tally.payouts(), 0),
    ] {
        let within = Duration::from_secs(60);
        let (paid, pending) = (paid as u64, pending as u64);
        switchyard_tests::eventually(&format!("{kind} are paid"), within, || async {
            let lost = count(kind, "failed").await?;
            ensure!(lost == 0, "{lost} {kind} failed");
            let found = (count(kind, "success").await?, count(kind, "pending").await?);
            Ok((found == (paid, pending)).then_some(()))
        })
        .await?;
    }
    Ok(())
}

/// A load that runs until it is ended.
struct Load {
    tally: Arc<Tally>,
    clients: Vec<JoinHandle<anyhow::Result<()>>>,
}

impl Load {
    fn begin(server: &Server, tally: &Arc<Tally>) -> Self {
        tally.stop.store(false, Ordering::SeqCst);
        let one = |_| {
            let stop = tally.clone();
            let work = client(server.merchant(), server.stranger(), tally.clone());
            tokio::spawn(async move {
                let done = work.await;
                if done.is_err() {
                    stop.stop.store(true, Ordering::SeqCst);
                }
                done
            })
        };
        Self {
            tally: tally.clone(),
            clients: (0..CLIENTS).map(one).collect(),
        }
    }

    /// Fails when a single request of it did.
    async fn end(self) -> anyhow::Result<()> {
        self.tally.stop.store(true, Ordering::SeqCst);
        for client in self.clients {
            client.await??;
        }
        Ok(())
    }
}

/// A hundred rounds while payments and payouts go on. Answers the resident memory in between, in
/// kB, the mean of all rounds: the store takes more and more for rows that it has not written out,
/// until it writes them, some ten times in a stretch.
async fn stretch(server: &Server, operator: &Operator, tally: &Arc<Tally>) -> anyhow::Result<u64> {
    let load = Load::begin(server, tally);
    let (begun, since) = (tally.done(), Instant::now());
    let mut all = 0;
    for round in 0..ROUNDS {
        if tally.is_over() {
            break;
        }
        operator.round(round, tally).await?;
        all += resident(server)?;
    }
    let (took, ended) = (since.elapsed(), tally.done() - begun);
    load.end().await?;
    let rate = ended as u128 * 1_000 / took.as_millis().max(1);
    println!(
        "{ROUNDS} rounds of {CHANGES} changes in {took:?}: {ended} transactions, {rate} a second"
    );
    ensure!(
        ended >= ROUNDS * CHANGES * BETWEEN,
        "too little load to prove anything"
    );
    Ok(all / ROUNDS as u64)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_rounds_of_changes_under_load_fail_nobody_and_cost_no_memory()
-> anyhow::Result<()> {
    let folder = TempDir::new()?;
    let settings = vec![
        ("SWITCHYARD_ACTORS__IDLE_AFTER", "1s"),
        ("SWITCHYARD_STORE__CACHE", "8MiB"),
        ("SWITCHYARD_LOG__LEVEL", "warn"),
        // The allocator gives back at once what is not used: then what is not given back is used.
        ("MIMALLOC_PURGE_DELAY", "0"),
    ];
    let server = Server::start(Setup {
        settings,
        ..Setup::default()
    })
    .await?;
    let operator = Operator::new(server.operator(), folder.path())?;
    operator.add(GATEWAYS[1], 1).await?;
    connect(&server).await?;
    operator.say(GATEWAYS[1], "remove").await?;

    let tally = Arc::new(Tally::default());
    let load = Load::begin(&server, &tally);
    for round in 0..3 {
        operator.round(round, &tally).await?;
    }
    tally.more(WARM).await;
    load.end().await?;
    let mut looks = vec![stretch(&server, &operator, &tally).await?];
    // One stretch may meet the allocator's tides. What leaks grows in every stretch.
    while looks.len() <= STRETCHES {
        let (before, after) = (
            looks[looks.len() - 1],
            stretch(&server, &operator, &tally).await?,
        );
        looks.push(after);
        if after * 100 <= before * 105 {
            break;
        }
    }
    ended_well(&server, &tally).await?;
    let known = resident(&server)?;
    for patch in 4..=9 {
        operator.add(GATEWAYS[0], patch).await?;
    }
    let new = resident(&server)?.saturating_sub(known) / 6;
    println!("resident in each {ROUNDS} rounds: {looks:?} kB; about {new} kB for each new version");
    let (before, after) = (looks[looks.len() - 2], looks[looks.len() - 1]);
    ensure!(
        after * 100 <= before * 105,
        "memory grew by more than 5 % in each of {STRETCHES} stretches of {ROUNDS} rounds: {looks:?} kB"
    );
    Ok(())
}
