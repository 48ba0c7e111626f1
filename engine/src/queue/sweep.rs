//! Sweeps: find the queues that have rows, and measure them. If a wake-up is lost, the next sweep
//! finds its row.

use std::time::Duration;

use actix::Addr;
use tokio::sync::watch;

use super::actor::{Envelope, QueueActor};
use super::dispatcher::Message;
use super::handler::QueueHandler;
use super::walk::{each_queue, each_row};
use super::{QueueContext, sooner};
use switchyard_core::time::Timestamp;
use switchyard_store::StoreError;

/// Result of a sweep.
pub(super) struct ScanResult<Q> {
    /// Queues with rows, each with the due time of its first one.
    pub queues: Vec<(Q, Timestamp)>,
    /// Number of all rows; `None` when they were not counted.
    pub depth: Option<i64>,
    /// Time at which the oldest row was added. `None`: there is none, or they were not counted.
    pub oldest: Option<Timestamp>,
}

/// Sweeps at once and then periodically. Sweeps take at most 1/[`SWEEP_SHARE`] of the time.
pub(super) async fn sweep_on<H: QueueHandler>(
    context: QueueContext,
    address: Addr<QueueActor<H>>,
    mut stopping: watch::Receiver<bool>,
) {
    let mut is_first = true;
    loop {
        let begun = tokio::time::Instant::now();
        if is_first || H::MEASURED.is_none() {
            report(&address, find::<H>(&context).await).await;
        }
        if let Some(kind) = H::MEASURED {
            report(&address, count::<H>(&context, kind).await).await;
        }
        is_first = false;
        let pause = SWEEP.max(begun.elapsed() * SWEEP_SHARE);
        tokio::select! {
            biased; // deterministic: one seed, one history
            () = context.clock.sleep(pause) => {}
            _ = stopping.wait_for(|stopping| *stopping) => return,
        }
    }
}

async fn report<H: QueueHandler>(
    address: &Addr<QueueActor<H>>,
    swept: Result<ScanResult<H::Queue>, StoreError>,
) {
    match swept {
        Ok(swept) => {
            // A stopped actor needs no result.
            let _ = address.send(Envelope(Message::ScanResult(swept))).await;
        }
        Err(error) => tracing::error!(actor = H::NAME, %error, "failed to sweep the queues"),
    }
}

/// Finds the queues that have rows, with one read for each, independent of its length.
async fn find<H: QueueHandler>(context: &QueueContext) -> Result<ScanResult<H::Queue>, StoreError> {
    let mut queues = Vec::new();
    each_queue(&context.store, H::TABLE, H::all(), |key, left| {
        let Some((queue, _, due)) = H::read_key(key) else {
            return left.behind_row(key);
        };
        queues.push((queue, due));
        left.behind(H::range(queue, Timestamp::default()))
    })
    .await?;
    Ok(ScanResult {
        queues,
        depth: None,
        oldest: None,
    })
}

/// Counts all rows and measures the age of the oldest.
async fn count<H: QueueHandler>(
    context: &QueueContext,
    kind: &'static str,
) -> Result<ScanResult<H::Queue>, StoreError> {
    let mut queues: Vec<(H::Queue, Timestamp)> = Vec::new();
    let (mut depth, mut oldest) = (0_i64, None);
    each_row(&context.store, H::TABLE, H::all(), |key, value| {
        depth += 1;
        if let Some((queue, _, due)) = H::read_key(key)
            && queues.last().is_none_or(|(last, _)| *last != queue)
        {
            queues.push((queue, due));
        }
        let row = H::read_row(key, value).ok();
        oldest = sooner(oldest, row.as_ref().and_then(H::enqueued_at));
    })
    .await?;
    let age = oldest.map_or(Duration::ZERO, |at| context.clock.now().since(at));
    metrics::gauge!("switchyard_outbox_oldest_seconds", "kind" => kind).set(age.as_secs_f64());
    Ok(ScanResult {
        queues,
        depth: Some(depth),
        oldest,
    })
}

/// Minimum time between two sweeps.
const SWEEP: Duration = Duration::from_secs(60);
/// Minimum pause after a sweep, as a multiple of its duration.
const SWEEP_SHARE: u32 = 50;
