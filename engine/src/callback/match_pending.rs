//! Matches parked callbacks with transactions that appear later.

use std::time::Duration;

use super::row::{self, AWAITED, Callback, CallbackKey, CallbackState};
use crate::engine::{Engine, EngineError};
use switchyard_core::limits::CALLBACK_MATCH_WINDOW;
use switchyard_core::time::Timestamp;
use switchyard_core::transaction::Transaction;
use switchyard_records::{self as records, Name};
use switchyard_store::{Batch, CommitError, Table};

/// Queues the callbacks that are parked for a name that this commit made known.
pub(crate) fn appeared(engine: &Engine, before: Option<&Transaction>, after: &Transaction) {
    if !engine.callbacks().may_be_awaited() {
        return;
    }
    let names = records::new_names(before, after);
    if names.is_empty() {
        return;
    }
    let handed = engine.clone();
    engine.runtime().spawn(async move {
        for (name, _) in names {
            for _ in 0..TRIES {
                match wake(&handed, &name).await {
                    Ok(()) => break,
                    Err(error) => {
                        // After the last try, the hourly sweep finds them.
                        tracing::warn!(%error, "failed to queue parked callbacks");
                        handed.clock().sleep(PAUSE).await;
                    }
                }
            }
        }
    });
}

async fn wake(engine: &Engine, name: &Name) -> Result<(), EngineError> {
    let range = row::name_prefix(name).range();
    let mut pages = engine.store().pages(Table::Callback, range, PAGE);
    let (mut verified, mut others) = (Vec::new(), Vec::new());
    while let Some(rows) = pages.next().await? {
        for (key, connection) in &rows {
            let Some((_, which)) = waiting_in(key, connection) else {
                continue;
            };
            match row::load(engine.store(), which).await? {
                Some(callback) if callback.trusted == Some(true) => verified.push(which),
                _ => others.push(which),
            }
        }
    }
    // A verified one may report money. Strangers may have sent any number of the others.
    for which in verified.into_iter().chain(others) {
        change(engine, which, have_another_look).await?;
    }
    Ok(())
}

/// Scans all parked callbacks: queues those whose transaction has appeared, and unparks those past
/// the match window. Returns whether any stay parked.
pub(super) async fn rescan(engine: &Engine) -> Result<bool, EngineError> {
    let young = engine.clock().now().minus(CALLBACK_MATCH_WINDOW);
    let mut waits = false;
    let parked = row::of_kind(AWAITED);
    let mut pages = engine.store().pages(Table::Callback, parked, PAGE);
    while let Some(rows) = pages.next().await? {
        for (key, connection) in &rows {
            let Some((name, which)) = waiting_in(key, connection) else {
                continue;
            };
            let is_known = engine.store().get(Table::Index, name).await?.is_some();
            if is_known {
                change(engine, which, have_another_look).await?;
            } else if came_before(which, young) {
                change(engine, which, |callback, _| callback.awaits = false).await?;
            } else {
                waits = true;
            }
        }
    }
    Ok(waits)
}

/// Queues a callback again.
pub(super) fn have_another_look(callback: &mut Callback, now: Timestamp) {
    callback.state = CallbackState::Waiting;
    callback.awaits = false;
    callback.next_try_at = Some(now);
}

/// Changes a stored callback that is not queued. `None`: it does not exist, or it is queued.
pub(super) async fn change(
    engine: &Engine,
    which: CallbackKey,
    change: impl Fn(&mut Callback, Timestamp),
) -> Result<Option<Callback>, EngineError> {
    for _ in 0..TRIES {
        let Some(before) = row::load(engine.store(), which).await? else {
            return Ok(None);
        };
        if before.state == CallbackState::Waiting {
            return Ok(None);
        }
        let mut after = before.clone();
        change(&mut after, engine.clock().now());
        let mut batch = Batch::new();
        row::write(&mut batch, Some(&before), &after);
        match engine.store().commit(batch).await {
            Err(CommitError::Conflict) => continue,
            stored => stored?,
        }
        if after.state != before.state {
            engine
                .callbacks()
                .keep(which.connection, before.state, false);
            engine
                .callbacks()
                .wait(which.connection, after.bytes.into());
        }
        if let Some(at) = after.next_try_at {
            engine.callbacks().queued(which.connection, at);
        }
        return Ok(Some(after));
    }
    Ok(None)
}

pub(super) fn came_before(which: CallbackKey, moment: Timestamp) -> bool {
    let came = i64::try_from(which.callback.ulid().timestamp_ms()).unwrap_or(i64::MAX);
    came < moment.as_millis()
}

/// Name and identity of a parked callback.
fn waiting_in<'k>(key: &'k [u8], connection: &[u8]) -> Option<(&'k [u8], CallbackKey)> {
    let connection = row::connection_of(connection)?;
    let (name, callback) = row::parked_in(key)?;
    let which = CallbackKey {
        connection,
        callback,
    };
    Some((name, which))
}

const PAGE: usize = 250;
const TRIES: usize = 5;
const PAUSE: Duration = Duration::from_secs(1);
