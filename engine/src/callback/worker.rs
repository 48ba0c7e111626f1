//! Hands out the callbacks that are due, a few of each connection at a time, so that a slow gateway holds up only its own.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt as _;

use super::row::{self, Callback, CallbackState, QUEUE, Which};
use super::verdict::Heard;
use super::{appear, deal, reread};
use crate::clock::Timestamp;
use crate::engine::{Engine, EngineError};
use crate::ids::ConnectionId;
use crate::limits::{CALLBACKS_IN_FLIGHT, STORE_SCAN_INLINE};
use crate::store::{Batch, CommitError, Direction, Table};

/// How often is looked for what is due, when nothing new comes.
const TICK: Duration = Duration::from_millis(200);
/// How often all queues are looked at from their beginning.
const FULL_LOOK: Duration = Duration::from_secs(60);
/// How long after the store failed, or a defect of ours, a callback is taken up again.
const AFTER_A_FAILURE: Duration = Duration::from_secs(5);
/// Rows read at once at the start.
const PAGE: usize = 250;
/// Rows read at once when all queues are looked at: too many to be read on the thread that others wait for.
const CHUNK: usize = STORE_SCAN_INLINE + 1;

/// Starts dealing with what is stored, first with what an earlier process left.
pub(crate) fn start(engine: &Engine) {
    let handed = engine.clone();
    let is_up = engine.house.arbiter().spawn(async move {
        run(handed).await;
    });
    if !is_up {
        tracing::error!("Callbacks are stored and not dealt with: their thread has ended.");
    }
}

async fn run(engine: Engine) {
    let mut is_counted = false;
    let mut next_full_look = Timestamp::default();
    let mut readers = reread::Readers::default();
    while !engine.is_stopping() {
        let next = engine.clock.now().plus(TICK);
        if !is_counted {
            match look_back(&engine).await {
                Ok(()) => is_counted = true,
                Err(error) => {
                    tracing::error!(%error, "The callbacks of before could not be read; trying again.");
                }
            }
        }
        // What is read again is counted as waiting, so not before what waits was counted.
        if is_counted && let Err(error) = readers.look(&engine).await {
            tracing::error!(%error, "What gateways stumbled over could not be read; trying again.");
        }
        if let Err(error) = look_through(&engine, &mut next_full_look).await {
            tracing::error!(%error, "The callbacks that are due could not be read; trying again.");
        }
        tokio::select! {
            biased; // no chance: a seed has to give one history
            () = engine.clock.sleep_until(next) => {}
            () = engine.callbacks.nudge.notified() => {}
        }
    }
}

/// What an earlier process left: how much waits, and whether something that was put aside has a transaction by now.
async fn look_back(engine: &Engine) -> Result<(), EngineError> {
    let began = engine.clock.now();
    let (mut from, to) = row::from_connection(QUEUE, None);
    loop {
        let rows = engine
            .store
            .scan(Table::Callback, &from, &to, Direction::Forward, PAGE)
            .await?;
        for (key, size) in &rows {
            let (Some(connection), Some(callback)) =
                (row::connection_in(key), row::callback_in(key))
            else {
                continue;
            };
            let size = size.as_slice().try_into().map_or(0, u32::from_be_bytes);
            let which = Which {
                connection,
                callback,
            };
            let came = i64::try_from(callback.ulid().timestamp_ms()).unwrap_or(0);
            let lies_ahead = came > engine.clock.now().as_millis();
            if lies_ahead {
                bring_forward(engine, which).await?;
            }
            // What came since was counted at the door.
            if came < began.as_millis() || lies_ahead {
                engine.callbacks.wait(connection, size);
            }
        }
        match rows.last() {
            Some((last, _)) if rows.len() == PAGE => from = [&last[..], &[0]].concat(),
            _ => break,
        }
    }
    if !appear::look_again(engine).await? {
        engine.callbacks.none_was_aside();
    }
    Ok(())
}

/// Makes a callback due that came by a clock which was set back since: what a provider has told does not wait for the clock to get there.
async fn bring_forward(engine: &Engine, which: Which) -> Result<(), EngineError> {
    let Some(before) = row::load(&engine.store, which).await? else {
        return Ok(());
    };
    if before.state == CallbackState::Waiting {
        let now = engine.clock.now();
        let after = Callback {
            next_try_at: Some(now),
            ..before.clone()
        };
        let mut batch = Batch::new();
        row::write(&mut batch, Some(&before), &after);
        match engine.store.commit(batch).await {
            Ok(()) => engine.callbacks.queued(which.connection, now),
            // It is being dealt with.
            Err(CommitError::Conflict) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Takes up what is due; once in a while what nobody told of, too.
async fn look_through(engine: &Engine, next_full_look: &mut Timestamp) -> Result<(), EngineError> {
    if engine.clock.now() >= *next_full_look {
        find_all(engine).await?;
        *next_full_look = engine.clock.now().plus(FULL_LOOK);
    }
    look(engine).await
}

/// Takes up what is due, connection by connection.
async fn look(engine: &Engine) -> Result<(), EngineError> {
    let now = engine.clock.now();
    let mut looked = Ok(());
    for (connection, from) in engine.callbacks.take_due(now) {
        if let Err(error) = look_at(engine, connection, from, now).await {
            engine.callbacks.left(connection, from);
            looked = Err(error);
        }
    }
    looked
}

/// Takes up what is due of one connection's, as far as there are places, and notes from when on something is left.
async fn look_at(
    engine: &Engine,
    connection: ConnectionId,
    from: Timestamp,
    now: Timestamp,
) -> Result<(), EngineError> {
    // Those that are under way are still in the queue.
    let limit = 2 * CALLBACKS_IN_FLIGHT;
    let (from, to) = row::queue(connection, from);
    let rows = engine
        .store
        .scan(Table::Callback, &from, &to, Direction::Forward, limit)
        .await?;
    let mut places = engine.callbacks.places(connection);
    let seen_to = rows.last().filter(|_| rows.len() == limit);
    let mut left = seen_to.and_then(|(key, _)| row::due_in(key));
    for (key, _) in &rows {
        let (Some(callback), Some(at)) = (row::callback_in(key), row::due_in(key)) else {
            continue;
        };
        let which = Which {
            connection,
            callback,
        };
        if at > now || places == 0 {
            left = Some(at);
            break;
        }
        if engine.callbacks.take_up(which) {
            places -= 1;
            engine.runtime.spawn(take(engine.clone(), which, at));
        }
    }
    if let Some(at) = left {
        engine.callbacks.left(connection, at);
    }
    Ok(())
}

/// Notes every connection in whose queue there is something, whoever put it there and told nobody.
async fn find_all(engine: &Engine) -> Result<(), EngineError> {
    let mut last = None;
    loop {
        let (from, to) = row::from_connection(QUEUE, last);
        let rows = engine
            .store
            .scan(Table::Callback, &from, &to, Direction::Forward, CHUNK)
            .await?;
        for (key, _) in &rows {
            if let (Some(connection), Some(at)) = (row::connection_in(key), row::due_in(key)) {
                engine.callbacks.left(connection, at);
                last = Some(connection);
            }
        }
        if rows.len() < CHUNK {
            return Ok(());
        }
    }
}

/// Deals with one. What has to wait for the end of our own call leaves its place to others meanwhile.
async fn take(engine: Engine, which: Which, at: Timestamp) {
    let mut heard = deal_with(&engine, which, at, deal::with(&engine, which)).await;
    while let Some(waits) = heard.take() {
        // Beyond the limit it is read again a little later.
        let Ok(_place) = engine.callbacks.patience.try_acquire() else {
            return;
        };
        engine.running.back(waits.attempt()).await;
        if engine.callbacks.take_up(which) {
            let dealt = deal::after_our_call(&engine, which, waits);
            heard = deal_with(&engine, which, at, dealt).await;
        }
    }
}

/// Follows one that was taken up, and lays it down. What goes wrong inside is met by another try.
async fn deal_with(
    engine: &Engine,
    which: Which,
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
            tracing::error!(callback.id = %which.callback, %error, "A callback could not be dealt with; trying again.");
            true
        }
        Err(_) => {
            metrics::counter!("switchyard_actor_panics_total", "actor" => "callback").increment(1);
            tracing::error!(callback.id = %which.callback, "Dealing with a callback panicked; trying again.");
            deal::stumbled(engine, which).await.is_err()
        }
    };
    if went_wrong {
        engine.clock.sleep(AFTER_A_FAILURE).await;
    }
    engine.callbacks.lay_down(which, at);
    heard
}
