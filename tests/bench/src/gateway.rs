//! What a gateway costs: one call of it, and a whole payment through it, from `initialize` until it has succeeded. In process and in a
//! worker, in turns, in this process; every commit of a payment is durable.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use switchyard_engine::clock::Clock;
use switchyard_engine::engine::{Choice, EngineSettings};
use switchyard_engine::environment::Environment;
use switchyard_engine::gateway::{Call, Gateways, Isolation, Journal, Operation, Version};
use switchyard_engine::ids::{AttemptId, Ids, PaymentId, TransactionId};
use switchyard_engine::records::NewCustomer;
use switchyard_engine::store::Store;
use switchyard_engine::testing::Bench;
use switchyard_engine::transaction::{ClientContext, Outcome, State};
use tokio::time::Instant;

use crate::subject;

const PLACES: [(Isolation, &str); 2] = [
    (Isolation::InProcess, "in process"),
    (Isolation::Process, "in a worker"),
];
const CALLS: u32 = 10_000;
const ROUNDS: usize = 3;
const PAYERS: u64 = 64;
const ROUND: Duration = Duration::from_secs(5);

pub async fn measure() -> Result<()> {
    calls().await?;
    payments().await
}

/// One call after the other: the fastest of the rounds, because what disturbs a round only makes it slower.
async fn calls() -> Result<()> {
    println!("one call of a gateway, one after the other");
    let dir = tempfile::tempdir_in(".")?;
    let mut hosts = Vec::new();
    for (isolation, place) in PLACES {
        let gateways = subject::gateways(&dir.path().join(place), isolation).await?;
        let library = std::env::current_exe()?.with_file_name("libgateway_misbehaving.so");
        let effects = gateways.add(&library).await?;
        let bare = gateways
            .current("switchyard_demo")
            .context("it was just added")?;
        hosts.push((
            gateways,
            place,
            [(bare, "no effect"), (effects, "one effect")],
        ));
    }
    let mut best: BTreeMap<(&str, &str), u128> = BTreeMap::new();
    for _ in 0..ROUNDS {
        for (gateways, place, kinds) in &hosts {
            for (gateway, kind) in kinds {
                let took = nanoseconds_a_call(gateways, gateway).await?;
                let least = best.entry((kind, place)).or_insert(took);
                *least = took.min(*least);
            }
        }
    }
    for ((kind, place), nanoseconds) in best {
        println!("  {kind:<12} {place:<12} {nanoseconds:>10} ns");
    }
    Ok(())
}

async fn nanoseconds_a_call(gateways: &Gateways, gateway: &Arc<Version>) -> Result<u128> {
    let (clock, ids, store) = (Clock::wall(), Ids::system(), Store::memory());
    let now = clock.now();
    let transaction = TransactionId::Payment(PaymentId::new(ids.ulid(now)));
    let attempt = AttemptId::new(ids.ulid(now));
    let since = Instant::now();
    for _ in 0..CALLS {
        let end = gateways.call(Call {
            gateway: Arc::clone(gateway),
            operation: Operation::Collect,
            journal: Journal {
                store: store.clone(),
                transaction,
                attempt,
            },
            now,
            environment: Environment::Sandbox,
            config: json!({}),
            config_changed_at: None,
            state: Value::Null,
            input: input(),
        });
        let outcome = end.await.outcome;
        ensure!(matches!(outcome, Outcome::Succeeded { .. }), "{outcome:?}");
    }
    Ok(since.elapsed().as_nanos() / u128::from(CALLS))
}

fn input() -> Value {
    json!({
        "reference": "7d3f0c9e-5b1a-4a52-9d6e-0f3c8a1b2c4d", "transaction": "py_1", "method": "misbehaving_usd", "country": "US",
        "amount": {"minor": 2500, "currency": "USD", "decimals": 2, "decimal": "25.00"},
        "payer": {"first_name": "Ada", "msisdn": "4149518161"}, "fields": {"msisdn": "4149518161"}, "description": "look",
        "return_url": null, "callback_url": null, "environment": "sandbox"
    })
}

/// Payers who each pay again as soon as they have paid.
async fn payments() -> Result<()> {
    println!("pay to success, {PAYERS} payers at once, every commit durable on the default store");
    let dir = tempfile::tempdir_in(".")?;
    let mut engines = Vec::new();
    for (isolation, place) in PLACES {
        let path = dir.path().join(place);
        std::fs::create_dir_all(&path)?;
        engines.push((engine(&path, isolation).await?, place, 0));
    }
    // The first round of each only warms up.
    for round in 0..=ROUNDS {
        for (bench, _, paid) in &mut engines {
            let count = pay(bench).await?;
            *paid += if round > 0 { count } else { 0 };
        }
    }
    let seconds = ROUND.as_secs_f64() * ROUNDS as f64;
    for (_, place, paid) in &engines {
        println!("  {place:<12} {:>8.0} payments/s", *paid as f64 / seconds);
    }
    Ok(())
}

async fn engine(path: &Path, isolation: Isolation) -> Result<Bench> {
    let gateways = subject::gateways(path, isolation).await?;
    let settings = EngineSettings {
        idle_after: Duration::from_secs(10),
        ..EngineSettings::default()
    };
    subject::start_with_gateways(path, settings, gateways).await
}

async fn pay(bench: &Bench) -> Result<u64> {
    let end = Instant::now() + ROUND;
    let mut payers = tokio::task::JoinSet::new();
    for payer in 0..PAYERS {
        let (engine, caller) = (bench.engine.clone(), bench.caller());
        payers.spawn(async move {
            let mut paid = 0;
            while Instant::now() < end {
                let new = subject::payment(payer);
                let made = engine.initialize_payment(&caller, new).await?;
                let end = engine.confirm(made.id, choice()).await?;
                ensure!(end.state == State::Succeeded, "not paid: {:?}", end.state);
                paid += 1;
            }
            Ok(paid)
        });
    }
    let mut paid = 0;
    while let Some(done) = payers.join_next().await {
        paid += done??;
    }
    Ok(paid)
}

fn choice() -> Choice {
    Choice {
        method: "switchyard_payment_demo".to_owned(),
        country: Some("US".to_owned()),
        phone: Some("4149518161".to_owned()),
        fields: BTreeMap::from([("msisdn".to_owned(), "4149518161".to_owned())]),
        missing: NewCustomer::default(),
        context: ClientContext::default(),
        agreed: None,
    }
}
