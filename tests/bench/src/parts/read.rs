//! The most frequent requests of merchants: verify, retrieve, list. Each beside a bare axum handler
//! that returns the same JSON.

use std::sync::Arc;

use anyhow::{Context, Result};

use super::Scale;
use crate::figure::Sheet;
use crate::load::{Line, Request};
use crate::versus::Versus;
use crate::{bare, subject};

/// How many payments are stored: more than fit the caches of the processor, few enough to be made
/// at once.
const STORED: u64 = 20_000;

/// Any of the payments, as it is stored.
pub async fn retrieve(scale: Scale, sheet: &mut Sheet) -> Result<()> {
    let paths = |ids: &[String]| ids.iter().map(|id| format!("/v1/payments/{id}")).collect();
    read("retrieve", paths, scale, sheet).await
}

/// Any of the payments; none of them has an attempt that the provider could be asked about.
pub async fn verify(scale: Scale, sheet: &mut Sheet) -> Result<()> {
    let paths = |ids: &[String]| {
        let path = |id| format!("/v1/payments/{id}/verify");
        ids.iter().map(path).collect()
    };
    read("verify", paths, scale, sheet).await
}

/// The first page of the list, in its default size.
pub async fn list(scale: Scale, sheet: &mut Sheet) -> Result<()> {
    let path = |_: &[String]| vec!["/v1/payments".to_owned()];
    read("list, one page", path, scale, sheet).await
}

async fn read(
    what: &str,
    paths: impl Fn(&[String]) -> Vec<String>,
    scale: Scale,
    sheet: &mut Sheet,
) -> Result<()> {
    let dir = subject::folder()?;
    let bench = subject::start(dir.path()).await?;
    subject::fill(&bench, scale.count(STORED, 20), 0).await?;
    let ids = subject::stored(bench.engine.store()).await?;
    let ids: Vec<_> = ids.iter().map(ToString::to_string).collect();
    let key = bench.keys.sandbox_secret_key.expose();
    let requests: Arc<[Vec<u8>]> = paths(&ids).iter().map(|path| request(path, key)).collect();
    let address = bare::serve(subject::router(&bench)).await?;
    let work = |address| {
        let requests = requests.clone();
        Request {
            address,
            status: 200,
            bytes: Arc::new(move |number| requests[scattered(number, requests.len())].clone()),
        }
    };
    let mut line = Line::connect(address).await?;
    line.ask(&requests[0], 200).await?;
    let text = std::str::from_utf8(line.answer())?;
    let (_, body) = text.split_once("\r\n\r\n").context("no body")?;
    let versus = Versus {
        what,
        ours: work(address),
        limit: bare::NAME,
        bare: work(bare::serve(bare::answering(serde_json::from_str(body)?)).await?),
        rates: [500, 2_000],
    };
    versus.measure(scale, sheet).await
}

/// Anywhere below `count`, and elsewhere for the next number.
fn scattered(number: u64, count: usize) -> usize {
    let mixed = number
        .wrapping_add(number >> 40)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 20) as usize % count
}

fn request(path: &str, key: &str) -> Vec<u8> {
    format!(
        "GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\nAccept: application/json\r\n\r\n"
    )
    .into_bytes()
}
