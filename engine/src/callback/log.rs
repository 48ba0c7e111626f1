//! Operator access to callbacks: lists, one callback, retry.

use super::match_pending::{change, have_another_look};
use super::row::{self, Callback, CallbackKey, CallbackState};
use crate::engine::{Engine, EngineError};
use switchyard_core::ids::{CallbackId, ConnectionId, TransactionId};
use switchyard_store::{Batch, Direction, Table};

/// Query for callbacks of a connection, newest first.
#[derive(Clone, Copy, Debug)]
pub struct CallbackQuery {
    pub connection: ConnectionId,
    pub state: Option<CallbackState>,
    /// Exclusive upper bound: only older callbacks.
    pub before: Option<CallbackId>,
    pub limit: usize,
}

impl Engine {
    /// Callbacks of a connection, newest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn list_callbacks(
        &self,
        query: &CallbackQuery,
    ) -> Result<Vec<Callback>, EngineError> {
        let listed = match query.state {
            Some(state) => row::state_prefix(query.connection, state),
            None => row::main_prefix(query.connection),
        };
        let mut range = listed.range();
        if let Some(before) = query.before {
            range = range.ending_at(listed.with(before));
        }
        let rows = self
            .store()
            .scan(
                Table::Callback,
                range.from(),
                range.to(),
                Direction::Backward,
                query.limit,
            )
            .await?;
        let mut callbacks = Vec::with_capacity(rows.len());
        for callback in rows.iter().filter_map(|(key, _)| row::callback_in(key)) {
            callbacks.extend(self.callback(query.connection, callback).await?);
        }
        Ok(callbacks)
    }

    /// One callback of a connection.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn callback(
        &self,
        connection: ConnectionId,
        callback: CallbackId,
    ) -> Result<Option<Callback>, EngineError> {
        let which = CallbackKey {
            connection,
            callback,
        };
        Ok(row::load(self.store(), which).await?)
    }

    /// Requeues a callback. No effect if it is queued already.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub async fn retry_callback(
        &self,
        connection: ConnectionId,
        callback: CallbackId,
    ) -> Result<Option<Callback>, EngineError> {
        let which = CallbackKey {
            connection,
            callback,
        };
        let anew = change(self, which, |callback, now| {
            have_another_look(callback, now);
            callback.tries = 0;
        });
        match anew.await? {
            Some(callback) => Ok(Some(callback)),
            None => Ok(row::load(self.store(), which).await?),
        }
    }

    /// Deletes the callbacks of a transaction that are not queued.
    ///
    /// # Errors
    /// When the store cannot be read or written, or one of them has changed.
    pub(crate) async fn delete_callbacks_about(
        &self,
        transaction: TransactionId,
    ) -> Result<(), EngineError> {
        let all = self.callbacks_about(transaction).await?;
        let done = |one: &&Callback| one.state != CallbackState::Waiting;
        for callback in all.iter().filter(done) {
            let mut batch = Batch::new();
            row::delete(&mut batch, callback);
            self.store().commit(batch).await?;
            self.callbacks()
                .keep(callback.connection, callback.state, false);
        }
        Ok(())
    }

    /// Callbacks of a transaction, oldest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn callbacks_about(
        &self,
        transaction: TransactionId,
    ) -> Result<Vec<Callback>, EngineError> {
        let rows = row::of_transaction(self.store(), transaction).await?;
        let mut callbacks = Vec::with_capacity(rows.len());
        for (key, connection) in &rows {
            if let (Some(connection), Some(callback)) =
                (row::connection_of(connection), row::callback_in(key))
            {
                callbacks.extend(self.callback(connection, callback).await?);
            }
        }
        Ok(callbacks)
    }
}
