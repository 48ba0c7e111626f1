//! Walks through the outbox: finds who has something to send, and counts. Nothing is lost when a nudge is: the next sweep finds it.

use std::sync::Arc;
use std::time::Duration;

use super::Shared;
use super::dispatcher::{Dispatcher, News};
use super::row::{self, Row, Unreadable};
use crate::actors::Door;
use crate::clock::Timestamp;
use crate::ids::WebhookId;
use crate::store::{Direction, StoreError, Table};

/// What a walk found.
#[derive(Debug, Default)]
pub struct Swept {
    pub webhooks: Vec<WebhookId>,
    /// Rows in all; `None` when they were not counted.
    pub depth: Option<i64>,
}

/// A walk that was cut short.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Row(#[from] Unreadable),
}

/// The webhooks that have rows: one look for each, however long its queue is.
pub(super) async fn find(shared: &Shared) -> Result<Swept, SweepError> {
    let (mut from, end) = row::all();
    let mut swept = Swept::default();
    loop {
        let rows = shared
            .store
            .scan(Table::Outbox, &from, &end, Direction::Forward, 1)
            .await?;
        let Some((key, _)) = rows.first() else {
            return Ok(swept);
        };
        let webhook = row::webhook_of(key)?;
        swept.webhooks.push(webhook);
        from = row::of_webhook(webhook, Timestamp::default()).1;
    }
}

/// Counts all rows, and measures the age of the oldest event that has not been delivered.
pub(super) async fn count(shared: &Shared) -> Result<Swept, SweepError> {
    let (mut from, end) = row::all();
    let mut swept = Swept::default();
    let (mut depth, mut oldest) = (0_i64, None::<Timestamp>);
    loop {
        let rows = shared
            .store
            .scan(Table::Outbox, &from, &end, Direction::Forward, CHUNK)
            .await?;
        for (key, value) in &rows {
            depth += 1;
            let webhook = row::webhook_of(key)?;
            if swept.webhooks.last() != Some(&webhook) {
                swept.webhooks.push(webhook);
            }
            if let Ok(row) = Row::read(key, value) {
                oldest = super::target::sooner(oldest, Some(row.enqueued_at));
            }
        }
        match rows.last() {
            Some((last, _)) if rows.len() == CHUNK => from = [&last[..], &[0]].concat(),
            _ => break,
        }
        tokio::task::yield_now().await;
    }
    let age = oldest.map_or(Duration::ZERO, |at| shared.clock.now().since(at));
    metrics::gauge!("switchyard_outbox_oldest_seconds", "kind" => "webhook").set(age.as_secs_f64());
    swept.depth = Some(depth);
    Ok(swept)
}

/// Finds who has something to send, at once and then every now and again, never spending more than a small part of the time on it.
pub(super) async fn sweep_on(shared: Arc<Shared>, desk: Door<Dispatcher>) {
    let mut stopping = shared.stopping.subscribe();
    match find(&shared).await {
        Ok(swept) => desk.tell(News::Swept(swept)).await,
        Err(error) => tracing::error!(%error, "The outbox cannot be read; trying again."),
    }
    loop {
        let begun = tokio::time::Instant::now();
        match count(&shared).await {
            Ok(swept) => desk.tell(News::Swept(swept)).await,
            Err(error) => tracing::error!(%error, "The outbox cannot be counted; trying again."),
        }
        let pause = SWEEP.max(begun.elapsed() * SWEEP_SHARE);
        tokio::select! {
            biased; // no chance: a seed has to give one history
            () = shared.clock.sleep(pause) => {}
            _ = stopping.wait_for(|stopping| *stopping) => return,
        }
    }
}

/// Rows read at once, on a thread of their own.
const CHUNK: usize = 1_000;
/// The least time between two sweeps.
const SWEEP: Duration = Duration::from_secs(60);
/// Sweeps take at most one part in so many of the time.
const SWEEP_SHARE: u32 = 50;
