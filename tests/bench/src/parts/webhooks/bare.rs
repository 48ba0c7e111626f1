//! The limit: the same bytes to the same receivers with reqwest alone. No store, no signature, no
//! order, and no dead receiver.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result, ensure};
use switchyard_core::ids::EventId;
use switchyard_system::clock::Clock;
use switchyard_system::ids::Ids;
use tokio::task::JoinSet;

/// Requests at a time: as many as the engine has to quick receivers, to one and to all.
const TO_ONE: usize = 16;
const TO_ALL: usize = 256;

pub async fn send(urls: &[String], body: Vec<u8>, count: usize) -> Result<()> {
    // Installed already when this is not the first time.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().no_proxy().build()?;
    let urls: Arc<[String]> = urls.into();
    let body = axum::body::Bytes::from(body);
    let next = Arc::new(AtomicUsize::new(0));
    let mut tasks = JoinSet::new();
    for _ in 0..TO_ALL.min(TO_ONE * urls.len()) {
        let (client, urls, body, next) = (client.clone(), urls.clone(), body.clone(), next.clone());
        tasks.spawn(async move {
            let (clock, ids) = (Clock::wall(), Ids::system());
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= count {
                    return anyhow::Ok(());
                }
                let id = EventId::new(ids.ulid(clock.now())).to_string();
                let request = client.post(&urls[number % urls.len()]);
                let request = request.header("webhook-id", id).body(body.clone());
                let answer = request.send().await.context("bare reqwest")?;
                ensure!(answer.status() == 200, "{}", answer.status());
                answer.bytes().await?;
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    Ok(())
}
