//! Whole payments through a gateway: from `initialize` until it has succeeded, at the engine,
//! without HTTP; every commit durable.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::{Result, ensure};
use switchyard_core::transaction::{ClientContext, State};
use switchyard_engine::access::Caller;
use switchyard_engine::engine::{ConfirmRequest, Engine, EngineSettings};
use switchyard_engine::testing::TestEngine;
use switchyard_records::NewCustomer;

use super::Scale;
use crate::figure::{Figure, Sheet, Unit, median};
use crate::load::{CLIENTS, Work, closed};
use crate::subject;

pub async fn measure(scale: Scale, sheet: &mut Sheet) -> Result<()> {
    let dir = subject::folder()?;
    let bench = engine(dir.path()).await?;
    let mut rates = Vec::new();
    // The first round only warms up.
    for round in 0..=scale.count(3, 1) {
        let time = scale.time(Duration::from_secs(4));
        let load = closed(&Payer::of(&bench), CLIENTS, time).await?;
        if round > 0 {
            rates.push(load.per_second());
        }
    }
    let what = "payments through a gateway, without HTTP";
    sheet.note(&Figure::new(what, median(rates), Unit::PerSecond))
}

/// An engine on a store of its own, that keeps there what happens to its gateways.
pub async fn engine(path: &Path) -> Result<TestEngine> {
    let gateways = subject::gateways(path).await?;
    let bench = subject::start_with_gateways(path, EngineSettings::default(), gateways).await?;
    bench
        .engine
        .gateways()
        .keep_in(bench.engine.store())
        .await?;
    Ok(bench)
}

/// Pays at the engine.
#[derive(Clone)]
pub struct Payer {
    engine: Engine,
    caller: Caller,
}

impl Payer {
    pub fn of(bench: &TestEngine) -> Self {
        Self {
            engine: bench.engine.clone(),
            caller: bench.caller(),
        }
    }
}

impl Work for Payer {
    type Line = ();

    async fn begin(&self) -> Result<()> {
        Ok(())
    }

    async fn once(&self, (): &mut (), number: u64) -> Result<()> {
        let new = subject::payment(number);
        let made = self
            .engine
            .initialize_payment(&self.caller, new, None)
            .await?;
        let end = self.engine.confirm(made.id, choice()).await?;
        ensure!(end.state == State::Succeeded, "not paid: {:?}", end.state);
        Ok(())
    }
}

fn choice() -> ConfirmRequest {
    ConfirmRequest {
        method: "switchyard_payment_demo".to_owned(),
        country: Some("US".to_owned()),
        phone: Some("4149518161".to_owned()),
        fields: BTreeMap::from([("msisdn".to_owned(), "4149518161".to_owned())]),
        missing: NewCustomer::default(),
        context: ClientContext::default(),
        agreed: None,
    }
}
