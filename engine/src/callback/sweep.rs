//! Hourly retention sweep of callbacks.

use super::match_pending::{came_before, rescan};
use super::recipient;
use super::row::{self, CallbackKey, CallbackState, STATE};
use crate::engine::{Engine, EngineError};
use switchyard_core::environment::Environment;
use switchyard_core::ids::ConnectionId;
use switchyard_core::limits::{CALLBACK_RETENTION, CALLBACK_UNMATCHED_RETENTION};
use switchyard_core::time::Timestamp;
use switchyard_store::{Batch, CommitError, Direction, Table};

/// Rescans parked callbacks and deletes those past their retention. Returns the number of deleted
/// callbacks.
pub(crate) async fn sweep(engine: &Engine) -> Result<u64, EngineError> {
    rescan(engine).await?;
    let mut range = row::of_kind(STATE);
    let mut gone = 0;
    // One pass for each list: the callbacks of a connection in one state.
    loop {
        let (from, to) = (range.from(), range.to());
        let first = engine
            .store()
            .scan(Table::Callback, from, to, Direction::Forward, 1)
            .await?;
        let Some((key, _)) = first.first() else {
            return Ok(gone);
        };
        let Some((connection, state)) = row::state_in(key) else {
            range = range.behind_row(key);
            continue;
        };
        if let Some(before) = kept_since(engine, connection, state) {
            gone += delete_older(engine, connection, state, before).await?;
        }
        range = range.behind(row::state_prefix(connection, state).range());
    }
}

/// Start of the retention period: older callbacks are deleted. `None`: none are.
fn kept_since(
    engine: &Engine,
    connection: ConnectionId,
    state: CallbackState,
) -> Option<Timestamp> {
    let recipient = recipient::find(engine, connection);
    let is_sandbox =
        recipient.is_none_or(|recipient| recipient.environment == Environment::Sandbox);
    let retention = match state {
        CallbackState::Waiting => return None,
        // Sandbox transactions have the same retention.
        CallbackState::Matched if is_sandbox => engine.settings().sandbox_retention,
        CallbackState::Matched => CALLBACK_RETENTION,
        CallbackState::Unmatched | CallbackState::Refused | CallbackState::Ignored => {
            CALLBACK_UNMATCHED_RETENTION
        }
    };
    Some(engine.clock().now().minus(retention))
}

async fn delete_older(
    engine: &Engine,
    connection: ConnectionId,
    state: CallbackState,
    before: Timestamp,
) -> Result<u64, EngineError> {
    let range = row::state_prefix(connection, state).range();
    let mut gone = 0;
    let mut pages = engine.store().pages(Table::Callback, range, CHUNK);
    while let Some(rows) = pages.next().await? {
        let (mut batch, mut count) = (Batch::new(), 0);
        let mut is_over = false;
        for callback in rows.iter().filter_map(|(key, _)| row::callback_in(key)) {
            let which = CallbackKey {
                connection,
                callback,
            };
            if !came_before(which, before) {
                is_over = true;
                break;
            }
            if let Some(old) = row::load(engine.store(), which).await? {
                row::delete(&mut batch, &old);
                count += 1;
            }
        }
        match engine.store().commit(batch).await {
            Ok(()) => {
                gone += count;
                for _ in 0..count {
                    engine.callbacks().keep(connection, state, false);
                }
            }
            // Conflict: one of them changed since the read. The next sweep deletes them.
            Err(CommitError::Conflict) => {}
            Err(error) => return Err(error.into()),
        }
        if is_over {
            break;
        }
    }
    Ok(gone)
}

/// Callbacks per commit.
const CHUNK: usize = 100;
