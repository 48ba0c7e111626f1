//! Limit of the stored callbacks of one connection that match no transaction, were refused or had
//! no effect. The oldest unverified one is deleted first: strangers push out no report of money.

use super::row::{self, Callback, CallbackKey, CallbackState};
use crate::engine::{Engine, EngineError};
use switchyard_core::ids::ConnectionId;
use switchyard_core::limits::{CALLBACKS_REFUSED, CALLBACKS_UNMATCHED};
use switchyard_store::{Batch, CommitError, Table};

/// Counts a callback that is stored in `state`, and deletes as many as are over the limit.
pub(super) async fn make(
    engine: &Engine,
    connection: ConnectionId,
    state: CallbackState,
) -> Result<(), EngineError> {
    let limit = match state {
        CallbackState::Unmatched => CALLBACKS_UNMATCHED,
        CallbackState::Refused | CallbackState::Ignored => CALLBACKS_REFUSED,
        CallbackState::Waiting | CallbackState::Matched => return Ok(()),
    };
    let tracker = engine.callbacks();
    // One at a time: two would choose the same callback.
    let _turn = tracker.room.lock().await;
    let mut count = match tracker.keep(connection, state, true) {
        Some(count) => count,
        None => recount(engine, connection, state).await?,
    };
    for _ in 0..DELETIONS {
        if count <= limit {
            break;
        }
        let Some(last) = least_needed(engine, connection, state).await? else {
            break;
        };
        let mut batch = Batch::new();
        row::delete(&mut batch, &last);
        count = match engine.store().commit(batch).await {
            Ok(_) => tracker.keep(connection, state, false).unwrap_or(limit),
            // It is processed again, or an operator changed it.
            Err(CommitError::Conflict) => recount(engine, connection, state).await?,
            Err(error) => return Err(error.into()),
        };
    }
    Ok(())
}

async fn recount(
    engine: &Engine,
    connection: ConnectionId,
    state: CallbackState,
) -> Result<usize, EngineError> {
    let range = row::state_prefix(connection, state).range();
    let mut pages = engine.store().pages(Table::Callback, range, PAGE);
    let mut count = 0;
    while let Some(rows) = pages.next().await? {
        count += rows.len();
    }
    engine.callbacks().counted(connection, state, count);
    Ok(count)
}

/// The oldest callback that no gateway vouches for; the oldest of all if there is none.
async fn least_needed(
    engine: &Engine,
    connection: ConnectionId,
    state: CallbackState,
) -> Result<Option<Callback>, EngineError> {
    let prefix = || row::state_prefix(connection, state);
    let verified = engine.callbacks().verified_until(connection, state);
    let unread = match verified {
        Some(last) => prefix().range().starting_at(prefix().with(last)),
        None => prefix().range(),
    };
    let mut oldest = None;
    for (range, is_any) in [(unread, false), (prefix().range(), true)] {
        let mut pages = engine.store().pages(Table::Callback, range, PAGE);
        while let Some(rows) = pages.next().await? {
            for (key, _) in &rows {
                let Some(callback) = row::callback_in(key) else {
                    continue;
                };
                let which = CallbackKey {
                    connection,
                    callback,
                };
                let found = row::load(engine.store(), which).await?;
                let is_verified = |found: &Callback| found.trusted == Some(true);
                match found {
                    Some(found) if is_any || !is_verified(&found) => {
                        oldest = Some(found);
                    }
                    Some(_) => engine.callbacks().verified(connection, state, callback),
                    None => {}
                }
                if oldest.is_some() {
                    return Ok(oldest);
                }
            }
        }
    }
    Ok(oldest)
}

/// Maximum number of deletions for one stored callback. More than one are over the limit after a
/// crash.
const DELETIONS: usize = 50;
const PAGE: usize = 100;
