//! Starts due callbacks, a few of each connection at a time, so that a slow gateway delays only its
//! own callbacks.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt as _;

use super::row::{self, Callback, CallbackKey, CallbackState, QUEUE};
use super::verdict::Heard;
use super::{apply, match_pending, reprocess};
use crate::engine::{Engine, EngineError};
use crate::queue::{Found, Scan, each_queue};
use switchyard_core::ids::ConnectionId;
use switchyard_core::time::Timestamp;
use switchyard_store::{Batch, CommitError, Direction, Table};

/// Poll interval without a wake-up.
const TICK: Duration = Duration::from_millis(200);
/// Interval between scans of all queues from their beginning.
const FULL_LOOK: Duration = Duration::from_secs(60);
/// Delay before the next try after a store error or an engine bug.
const AFTER_A_FAILURE: Duration = Duration::from_secs(5);
/// Rows per scan at startup.
const PAGE: usize = 250;

/// Starts processing the stored callbacks, beginning with those of an earlier process.
pub(crate) fn start(engine: &Engine) {
    let handed = engine.clone();
    let is_up = engine.threads().arbiter().spawn(async move {
        run(handed).await;
    });
    if !is_up {
        tracing::error!("failed to start the callback worker");
    }
}

async fn run(engine: Engine) {
    let began = engine.clock().now();
    let mut is_counted = false;
    let mut next_full_look = Timestamp::default();
    let mut readers = reprocess::ReprocessState::default();
    while !engine.is_stopping() {
        let next = engine.clock().now().plus(TICK);
        if !is_counted {
            match look_back(&engine, began).await {
                Ok(()) => is_counted = true,
                Err(error) => {
                    tracing::error!(%error, "failed to read the callbacks queued before the start");
                }
            }
        }
        // A reprocessed callback is counted when it is queued again. Before the initial count, it
        // would be counted twice.
        if is_counted && let Err(error) = readers.look(&engine).await {
            tracing::error!(%error, "failed to scan dead-lettered callbacks");
        }
        if let Err(error) = look_through(&engine, &mut next_full_look).await {
            tracing::error!(%error, "failed to scan due callbacks");
        }
        tokio::select! {
            biased; // deterministic: one seed, one history
            () = engine.clock().sleep_until(next) => {}
            () = engine.callbacks().nudge.notified() => {}
        }
    }
}

/// Recovers the state of an earlier process: counts the queued bytes, and queues parked callbacks
/// whose transaction has appeared.
///
/// `began`: when this process began to receive callbacks, which are counted on receipt.
///
/// # Errors
/// When the store cannot be read. Nothing was counted then, so that a repetition counts once.
async fn look_back(engine: &Engine, began: Timestamp) -> Result<(), EngineError> {
    let mut queued = BTreeMap::<ConnectionId, u64>::new();
    let (mut from, to) = row::from_connection(QUEUE, None);
    loop {
        let rows = engine
            .store()
            .scan(Table::Callback, &from, &to, Direction::Forward, PAGE)
            .await?;
        for (key, size) in &rows {
            let (Some(connection), Some(callback)) =
                (row::connection_in(key), row::callback_in(key))
            else {
                continue;
            };
            let size = size.as_slice().try_into().map_or(0, u32::from_be_bytes);
            let which = CallbackKey {
                connection,
                callback,
            };
            let came = i64::try_from(callback.ulid().timestamp_ms()).unwrap_or(0);
            let lies_ahead = came > engine.clock().now().as_millis();
            if lies_ahead {
                bring_forward(engine, which).await?;
            }
            if came < began.as_millis() || lies_ahead {
                *queued.entry(connection).or_default() += u64::from(size);
            }
        }
        match rows.last() {
            Some((last, _)) if rows.len() == PAGE => from = [&last[..], &[0]].concat(),
            _ => break,
        }
    }
    if !match_pending::look_again(engine).await? {
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

/// Starts due callbacks. Each [`FULL_LOOK`] it also finds rows whose wake-up was lost.
async fn look_through(engine: &Engine, next_full_look: &mut Timestamp) -> Result<(), EngineError> {
    if engine.clock().now() >= *next_full_look {
        find_all(engine).await?;
        *next_full_look = engine.clock().now().plus(FULL_LOOK);
    }
    look(engine).await
}

/// Starts due callbacks, connection by connection.
async fn look(engine: &Engine) -> Result<(), EngineError> {
    let now = engine.clock().now();
    let mut looked = Ok(());
    for (connection, scan) in engine.callbacks().begin_scans(now) {
        if let Err(error) = look_at(engine, connection, scan, now).await {
            engine.callbacks().scan_failed(connection, scan);
            looked = Err(error);
        }
    }
    looked
}

/// Starts due callbacks of one connection while slots are free.
async fn look_at(
    engine: &Engine,
    connection: ConnectionId,
    scan: Scan,
    now: Timestamp,
) -> Result<(), EngineError> {
    let (from, to) = row::queue(connection, scan.from);
    let rows = engine
        .store()
        .scan(Table::Callback, &from, &to, Direction::Forward, scan.limit)
        .await?;
    let rows = rows.iter().filter_map(|(key, _)| {
        let (key, due) = (row::callback_in(key)?, row::due_in(key)?);
        Some(Found { key, due, row: () })
    });
    for (which, at) in engine.callbacks().take_found(connection, scan, rows, now) {
        engine.runtime().spawn(take(engine.clone(), which, at));
    }
    Ok(())
}

/// Records all connections with queued rows, also those whose wake-up was lost.
async fn find_all(engine: &Engine) -> Result<(), EngineError> {
    let all = row::from_connection(QUEUE, None);
    each_queue(engine.store(), Table::Callback, all, |key| {
        let connection = row::connection_in(key);
        if let (Some(connection), Some(at)) = (connection, row::due_in(key)) {
            engine.callbacks().left(connection, at);
        }
        Ok(match connection {
            Some(connection) => row::from_connection(QUEUE, Some(connection)).0,
            None => [key, &[0]].concat(),
        })
    })
    .await
}

/// Processes one callback. Its slot is free while it waits for the end of our own call.
async fn take(engine: Engine, which: CallbackKey, at: Timestamp) {
    let mut heard = deal_with(&engine, which, at, apply::with(&engine, which)).await;
    while let Some(waits) = heard.take() {
        // No permit: the callback is read again at its due time.
        let Ok(_place) = engine.callbacks().patience.try_acquire() else {
            return;
        };
        engine.submissions().ended(waits.attempt()).await;
        if engine.callbacks().take_up(which, at) {
            let dealt = apply::after_our_call(&engine, which, waits);
            heard = deal_with(&engine, which, at, dealt).await;
        }
    }
}

/// Awaits the processing of a callback and frees its slot. An error or a panic leads to another
/// try.
async fn deal_with(
    engine: &Engine,
    which: CallbackKey,
    at: Timestamp,
    dealing: impl Future<Output = Result<Option<Heard>, EngineError>>,
) -> Option<Heard> {
    let dealt = AssertUnwindSafe(dealing).catch_unwind().await;
    let mut heard = None;
    let went_wrong = match dealt {
        Ok(Ok(waits)) => {
            heard = waits;
            false
        }
        Ok(Err(EngineError::Stopping)) => return None,
        Ok(Err(error)) => {
            tracing::error!(callback.id = %which.callback, %error, "failed to process a callback");
            true
        }
        Err(_) => {
            metrics::counter!("switchyard_actor_panics_total", "actor" => "callback").increment(1);
            tracing::error!(callback.id = %which.callback, "callback processing panicked");
            apply::stumbled(engine, which).await.is_err()
        }
    };
    if went_wrong {
        engine.clock().sleep(AFTER_A_FAILURE).await;
    }
    engine.callbacks().lay_down(which, at);
    heard
}
