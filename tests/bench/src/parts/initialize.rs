//! `POST /v1/payments/initialize`, durable on the default store, beside a bare axum handler that
//! parses the same body and answers the same JSON. Both run in this process, in turns.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Result;

use super::Scale;
use crate::figure::{Figure, Sheet, Unit};
use crate::load::Request;
use crate::versus::Versus;
use crate::{bare, subject};

pub async fn measure(scale: Scale, sheet: &mut Sheet) -> Result<()> {
    let dir = subject::folder()?;
    let bench = subject::start(dir.path()).await?;
    let key = bench.keys.sandbox_secret_key.expose();
    let versus = Versus {
        what: "initialize",
        ours: work(bare::serve(subject::router(&bench)).await?, key),
        limit: bare::NAME,
        bare: work(bare::serve(bare::initialize()).await?, key),
        rates: [500, 2_000],
    };
    let before = bench.engine.store().stats();
    versus.measure(scale, sheet).await?;
    let after = bench.engine.store().stats();
    let shared = (after.commits - before.commits) as f64 / (after.batches - before.batches) as f64;
    sheet.note(&Figure::new(
        "commits that shared a flush",
        shared,
        Unit::Count,
    ))
}

/// One `initialize` after the other, by other customers.
pub fn work(address: SocketAddr, key: &str) -> Request {
    let key = key.to_owned();
    Request {
        address,
        status: 201,
        bytes: Arc::new(move |number| request(&key, number)),
    }
}

pub fn request(key: &str, number: u64) -> Vec<u8> {
    let body = format!(
        concat!(
            r#"{{"amount":2500,"currency":"USD","description":"Two coffees and a croissant","return_url":"https://shop.example/return","#,
            r#""customer":{{"email":"awa{number}@example.com","first_name":"Awa","last_name":"Diop","phone":"+22997000001"}},"#,
            r#""metadata":{{"order":"{number}"}}}}"#
        ),
        number = number
    );
    format!(
        "POST /v1/payments/initialize HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\n\
         Accept: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}
