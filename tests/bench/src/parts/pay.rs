//! From `initialize` until the payment has succeeded, all over HTTP and every commit durable: the
//! merchant's request, then the two forms that the payer sends; the second is answered after the
//! test gateway has accepted. Beside bare axum with the same three requests, and once beside bare
//! axum with a single one.

use std::net::SocketAddr;

use anyhow::{Result, ensure};
use switchyard::checkout;
use switchyard::operations::Draining;
use switchyard::state::{ApiState, HttpSettings};
use switchyard_engine::testing::Bench;

use super::{Scale, initialize};
use crate::figure::Sheet;
use crate::load::{Line, Work};
use crate::versus::Versus;
use crate::{bare, subject};

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

/// The routes of the merchant API and of the checkout.
fn router(bench: &Bench) -> axum::Router {
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
