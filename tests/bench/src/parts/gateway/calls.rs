//! One call of a gateway after the other, with nothing else to do.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use switchyard_core::environment::Environment;
use switchyard_core::ids::{AttemptId, PaymentId, TransactionId};
use switchyard_core::transaction::Outcome;
use switchyard_gateway_host::{Call, Gateways, Journal, Operation, Version};
use switchyard_store::Store;
use switchyard_system::clock::Clock;
use switchyard_system::ids::Ids;
use tokio::time::Instant;

use super::Scale;
use crate::figure::{Figure, Sheet, Unit, median};
use crate::subject;

pub async fn measure(scale: Scale, sheet: &mut Sheet) -> Result<()> {
    let dir = subject::folder()?;
    let mut kinds = Vec::new();
    let gateways = subject::gateways(dir.path()).await?;
    let effects = subject::built("libgateway_misbehaving.so")?;
    let effects = gateways.add(&effects).await?;
    let bare = gateways
        .current("switchyard_demo")
        .context("it was just added")?;
    let gateways = Arc::new(gateways);
    for (gateway, what) in [(bare, "without an effect"), (effects, "with one effect")] {
        let what = format!("gateway call, {what}");
        kinds.push((gateways.clone(), gateway, what, Vec::new()));
    }
    for _ in 0..scale.count(5, 1) {
        for (gateways, gateway, _, times) in &mut kinds {
            // On a thread of the runtime, where the engine makes its calls.
            let calls = nanoseconds(
                Arc::clone(gateways),
                Arc::clone(gateway),
                scale.count(5_000, 20),
            );
            times.push(tokio::spawn(calls).await??);
        }
    }
    for (_, _, what, times) in kinds {
        sheet.note(&Figure::new(what, median(times), Unit::Nanos))?;
    }
    Ok(())
}

async fn nanoseconds(gateways: Arc<Gateways>, gateway: Arc<Version>, calls: u64) -> Result<f64> {
    let (clock, ids, store) = (Clock::wall(), Ids::system(), Store::memory());
    let now = clock.now();
    let transaction = TransactionId::Payment(PaymentId::new(ids.ulid(now)));
    let attempt = AttemptId::new(ids.ulid(now));
    let since = Instant::now();
    for _ in 0..calls {
        let end = gateways.call(Call {
            gateway: Arc::clone(&gateway),
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
    Ok(since.elapsed().as_nanos() as f64 / calls as f64)
}

fn input() -> Value {
    json!({
        "reference": "7d3f0c9e-5b1a-4a52-9d6e-0f3c8a1b2c4d", "transaction": "py_1", "method": "card_usd", "country": "US",
        "amount": {"minor": 2500, "currency": "USD", "decimals": 2, "decimal": "25.00"},
        "payer": {"first_name": "Ada", "msisdn": "4149518161"}, "fields": {"msisdn": "4149518161"}, "description": "look",
        "return_url": null, "callback_url": null, "environment": "sandbox"
    })
}
