//! Queues of callbacks: one for each connection, so that a slow gateway delays only its own
//! callbacks.

use std::collections::BTreeMap;
use std::time::Duration;

use parking_lot::Mutex;

use super::row::{self, Callback, CallbackKey, CallbackState, QUEUE};
use super::verdict::MatchedResult;
use super::{apply, match_pending, reprocess};
use crate::engine::{Engine, EngineError};
use crate::queue::{
    Executed, Item, LaneLimits, Queue, QueueContext, QueueError, QueueHandler, QueueLimits,
    RowState,
};
use switchyard_core::ids::{CallbackId, ConnectionId};
use switchyard_core::limits::{CALLBACK_MAILBOX, CALLBACKS_IN_FLIGHT};
use switchyard_core::time::Timestamp;
use switchyard_store::{Batch, CommitError, KeyRange, KeyReader, Table};
use switchyard_system::trace::{Span, SpanKind};

/// Poll interval of the gateways' versions.
const TICK: Duration = Duration::from_millis(200);
/// Rows per scan at startup.
const PAGE: usize = 250;

pub(crate) struct CallbackQueue(Engine);

/// Gateway's reading of a callback that waits for the end of our own call.
pub(crate) struct CallbackRow(Mutex<Option<MatchedResult>>);

impl QueueHandler for CallbackQueue {
    type Queue = ConnectionId;
    type Key = CallbackId;
    type Row = CallbackRow;

    const NAME: &'static str = "callback";
    const MAILBOX: usize = CALLBACK_MAILBOX;
    const TABLE: Table = Table::Callback;
    const LANES: LaneLimits = LaneLimits {
        quick: usize::MAX,
        slow: None,
    };
    const REST: Duration = Duration::from_secs(5);

    fn queue(&self) -> &Queue<Self> {
        &self.0.callbacks().queue
    }

    fn all() -> KeyRange {
        row::of_kind(QUEUE)
    }

    fn range(connection: ConnectionId, from: Timestamp) -> KeyRange {
        row::queue(connection, from)
    }

    fn read_key(key: &[u8]) -> Option<(ConnectionId, CallbackId, Timestamp)> {
        let which = row::which_in(key)?;
        Some((which.connection, which.callback, row::due_in(key)?))
    }

    fn read_row(_: &[u8], _: &[u8]) -> Result<CallbackRow, QueueError> {
        Ok(CallbackRow(Mutex::new(None)))
    }

    fn limits(&self, _: ConnectionId) -> QueueLimits {
        QueueLimits {
            concurrency: CALLBACKS_IN_FLIGHT,
            ..QueueLimits::default()
        }
    }

    async fn execute(&self, connection: ConnectionId, item: &Item<Self>) -> Executed {
        let engine = &self.0;
        let which = key_of(connection, item);
        let heard = item.row.0.lock().take();
        let span = Span::begin("callback", SpanKind::Consumer);
        span.set("callback.id", || which.callback.to_string());
        span.set("connection.id", || which.connection.to_string());
        let applied = match heard {
            Some(heard) => {
                span.scope(apply::after_our_call(engine, which, heard))
                    .await
            }
            None => span.scope(apply::with(engine, which)).await,
        };
        drop(span);
        engine.callbacks().processed.notify_one();
        match applied {
            Ok(heard) => {
                *item.row.0.lock() = heard;
                // If the callback is still queued, it is due then or later.
                RowState::DueAt(item.due)
            }
            Err(EngineError::Stopping) => RowState::Unchanged,
            Err(error) => {
                tracing::error!(
                    callback.id = %which.callback,
                    %error,
                    "failed to process a callback"
                );
                RowState::Unchanged
            }
        }
        .into()
    }

    /// Waits for the end of our own call about the attempt.
    async fn resumes(&self, _: ConnectionId, item: &Item<Self>) -> bool {
        let attempt = item.row.0.lock().as_ref().map(MatchedResult::attempt);
        // Without a permit, the gateway reads the callback again at its due time.
        let permit = self.0.callbacks().patience.try_acquire();
        let (Some(attempt), Ok(_permit)) = (attempt, permit) else {
            return false;
        };
        self.0.submissions().ended(attempt).await;
        true
    }

    async fn panicked(&self, connection: ConnectionId, item: &Item<Self>) -> RowState {
        match apply::gateway_failed(&self.0, key_of(connection, item)).await {
            Ok(()) => RowState::DueAt(item.due),
            Err(_) => RowState::Unchanged,
        }
    }
}

fn key_of(connection: ConnectionId, item: &Item<CallbackQueue>) -> CallbackKey {
    CallbackKey {
        connection,
        callback: item.key,
    }
}

/// Starts processing the stored callbacks, beginning with those of an earlier process.
pub(crate) fn start(engine: &Engine) {
    let began = engine.clock().now();
    let run = run(engine.clone(), began);
    if !engine.threads().arbiter().spawn(run) {
        tracing::error!("failed to start the queues of callbacks");
    }
}

async fn run(engine: Engine, began: Timestamp) {
    // Processed callbacks are subtracted, so those of an earlier process are counted before.
    let mut is_counted = count_queued(&engine, began).await;
    let context = QueueContext {
        store: engine.store().clone(),
        clock: engine.clock().clone(),
        runtime: engine.runtime().clone(),
    };
    let handler = CallbackQueue(engine.clone());
    let queue = &engine.callbacks().queue;
    queue.start(engine.threads().arbiter(), context, handler);
    let mut readers = reprocess::ReprocessState::default();
    while !engine.is_stopping() {
        let next = engine.clock().now().plus(TICK);
        if !is_counted {
            is_counted = count_queued(&engine, began).await;
        }
        // A reprocessed callback is counted when it is queued again. Before the initial count, it
        // would be counted twice.
        if is_counted && let Err(error) = readers.requeue(&engine).await {
            tracing::error!(%error, "failed to scan dead-lettered callbacks");
        }
        tokio::select! {
            biased; // deterministic: one seed, one history
            () = engine.clock().sleep_until(next) => {}
            () = engine.callbacks().processed.notified() => {}
        }
    }
}

/// Recovers the state of an earlier process. `false`: it must be repeated.
async fn count_queued(engine: &Engine, began: Timestamp) -> bool {
    let counted = recover_queued(engine, began).await;
    if let Err(error) = &counted {
        tracing::error!(%error, "failed to read the callbacks queued before the start");
    }
    counted.is_ok()
}

/// Recovers the state of an earlier process: counts the queued bytes, and queues parked callbacks
/// whose transaction has appeared.
///
/// `began`: when this process began to receive callbacks, which are counted on receipt.
///
/// # Errors
/// When the store cannot be read. Nothing was counted then, so that a repetition counts once.
async fn recover_queued(engine: &Engine, began: Timestamp) -> Result<(), EngineError> {
    let mut queued = BTreeMap::<ConnectionId, u64>::new();
    let mut pages = engine
        .store()
        .pages(Table::Callback, row::of_kind(QUEUE), PAGE);
    while let Some(rows) = pages.next().await? {
        for (key, size) in &rows {
            let Some(which) = row::which_in(key) else {
                continue;
            };
            let CallbackKey {
                connection,
                callback,
            } = which;
            let size = KeyReader::new(size).take::<u32>().unwrap_or(0);
            let came = i64::try_from(callback.ulid().timestamp_ms()).unwrap_or(0);
            let lies_ahead = came > engine.clock().now().as_millis();
            if lies_ahead {
                bring_forward(engine, which).await?;
            }
            if came < began.as_millis() || lies_ahead {
                *queued.entry(connection).or_default() += u64::from(size);
            }
        }
    }
    if !match_pending::rescan(engine).await? {
        engine.callbacks().none_was_aside();
    }
    for (connection, bytes) in queued {
        engine.callbacks().wait(connection, bytes);
    }
    Ok(())
}

/// Makes a callback due that was received before the clock was set back: its processing does not
/// wait until the clock reaches its due time.
async fn bring_forward(engine: &Engine, which: CallbackKey) -> Result<(), EngineError> {
    let Some(before) = row::load(engine.store(), which).await? else {
        return Ok(());
    };
    if before.state == CallbackState::Waiting {
        let now = engine.clock().now();
        let after = Callback {
            next_try_at: Some(now),
            ..before.clone()
        };
        let mut batch = Batch::new();
        row::write(&mut batch, Some(&before), &after);
        match engine.store().commit(batch).await {
            Ok(()) => engine.callbacks().queued(which.connection, now),
            // Conflict: the callback is being processed.
            Err(CommitError::Conflict) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
