//! From `initialize` until the payment has succeeded, all over HTTP and every commit durable: the
//! merchant's request, then the two forms that the payer sends; the second is answered after the
//! test gateway has accepted. Beside bare axum with the same three requests, and once beside bare
//! axum with a single one.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Result, ensure};
use switchyard::checkout;
use switchyard::operations::Draining;
use switchyard::state::{ApiState, HttpSettings};
use switchyard_engine::testing::TestEngine;

use super::{Scale, initialize};
use crate::figure::{Bar, Figure, Sheet, Unit};
use crate::load::{Line, Work, open};
use crate::versus::Versus;
use crate::{bare, machine, subject};

pub async fn measure(scale: Scale, sheet: &mut Sheet) -> Result<()> {
    let dir = subject::folder()?;
    let bench = subject::start(dir.path()).await?;
    let key = bench.keys.sandbox_secret_key.expose().clone();
    let ours = Payer {
        address: bare::serve(router(&bench)).await?,
        key: key.clone(),
    };
    let versus = Versus {
        what: "pay to success",
        bare: Payer {
            address: bare::serve(bare::payment()).await?,
            key: key.clone(),
        },
        limit: "bare axum, the same requests",
        ours: ours.clone(),
        rates: [100, 400],
    };
    versus.measure(scale, sheet).await?;
    let versus = Versus {
        what: "pay to success, beside one request",
        bare: initialize::work(bare::serve(bare::initialize()).await?, &key),
        limit: "bare axum, a single request",
        ours,
        rates: versus.rates,
    };
    versus.only_the_most(scale, sheet).await
}

/// Payments at 400 a second for two minutes.
pub async fn steady(scale: Scale, sheet: &mut Sheet) -> Result<()> {
    let rate = if scale.tiny { 50 } else { 400 };
    let dir = subject::folder()?;
    let bench = subject::start(dir.path()).await?;
    let payer = Payer {
        address: bare::serve(router(&bench)).await?,
        key: bench.keys.sandbox_secret_key.expose().clone(),
    };
    // The first seconds only warm up.
    open(&payer, rate, scale.time(Duration::from_secs(4)))
        .await?
        .whole()?;
    let before = machine::written_bytes()?;
    let load = open(&payer, rate, scale.time(Duration::from_secs(120)))
        .await?
        .whole()?;
    let written = machine::written_bytes()?.saturating_sub(before);
    let what = |name: &str| format!("pay to success, {rate} offered a second: {name}");
    let tail = |name, share, most| {
        let figure = Figure::new(what(name), load.percentile_ms(share), Unit::Millis);
        figure.bar(Bar::AtMost(most))
    };
    sheet.note(&tail("p99 of two minutes", 0.99, 25.0))?;
    sheet.note(&tail("the most of two minutes", 1.0, 150.0))?;
    let each = written as f64 / load.latencies.len() as f64;
    let figure = Figure::new(what("written to the disk for each"), each, Unit::Bytes);
    sheet.note(&figure.bar(Bar::AtMost(120_000.0)))
}

/// The routes of the merchant API and of the checkout.
fn router(bench: &TestEngine) -> axum::Router {
    let state = ApiState::new(bench.engine.clone(), HttpSettings::default());
    let pages = checkout::router(state, Draining::default());
    subject::router(bench).merge(pages)
}

/// A merchant and its payer, who are never idle.
#[derive(Clone)]
struct Payer {
    address: SocketAddr,
    key: String,
}

impl Work for Payer {
    type Line = Line;

    async fn begin(&self) -> Result<Line> {
        Line::connect(self.address).await
    }

    async fn once(&self, line: &mut Line, number: u64) -> Result<()> {
        line.ask(&initialize::request(&self.key, number), 201)
            .await?;
        let id = line.between("\"id\":\"", '"')?.to_owned();
        let details = "country=US&method=switchyard_payment_demo&msisdn=4149518161";
        line.ask(&form(&id, "details", details), 303).await?;
        let answers = format!("a={}", line.between("/confirm?a=", '\r')?);
        line.ask(&form(&id, "confirm", &answers), 303).await?;
        // Anywhere else the page leads when it has not succeeded yet: to wait, or to choose again.
        let next = line.between("/checkout/", '\r')?;
        ensure!(next == format!("{id}/result"), "not paid, but at {next}");
        Ok(())
    }
}

fn form(id: &str, step: &str, form: &str) -> Vec<u8> {
    format!(
        "POST /checkout/{id}/{step} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n\
         Content-Length: {}\r\n\r\n{form}",
        form.len()
    )
    .into_bytes()
}
