//! Finds the actor of a transaction, starts it when there is none, and forgets it when it rests.

use std::collections::HashMap;
use std::sync::Arc;

use actix::prelude::*;
use parking_lot::{Mutex, MutexGuard};

use super::transaction::{CommandWithRows, Execute, Rest, TransactionActor};
use crate::engine::{Engine, EngineError};
use switchyard_core::ids::TransactionId;
use switchyard_core::time::Timestamp;
use switchyard_core::transaction::{Command, Transaction};
use switchyard_system::trace::TraceContext;

/// Parts of the map with a lock each, so that transactions seldom wait for one another.
const SHARDS: usize = 64;
/// How often a message that met a resting actor is sent to its successor.
const SENDS: usize = 4;

pub(crate) struct Registry {
    shards: Vec<Mutex<Shard>>,
}

type Shard = HashMap<TransactionId, LiveActor>;

/// An actor that is up.
struct LiveActor {
    address: Addr<TransactionActor>,
    last_command_at: Timestamp,
}

impl Registry {
    pub(crate) fn new() -> Self {
        Self {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
        }
    }

    /// Hands `command` to the transaction's actor and waits for the result, which follows the commit.
    pub(crate) async fn send(
        &self,
        engine: &Engine,
        id: TransactionId,
        command: Command,
    ) -> Result<Arc<Transaction>, EngineError> {
        let order = CommandWithRows::from(command);
        self.send_about(engine, id, None, order).await
    }

    /// The same. `seen`: the transaction, if the caller has just read it, which saves the actor a look into the store. Should it have
    /// gone on since, the commit is refused, and the actor reads it and decides again.
    pub(crate) async fn send_about(
        &self,
        engine: &Engine,
        id: TransactionId,
        seen: Option<Arc<Transaction>>,
        order: CommandWithRows,
    ) -> Result<Arc<Transaction>, EngineError> {
        for _ in 0..SENDS {
            let address = self.find_or_start(engine, id)?;
            let execute = Execute {
                order: order.clone(),
                seen: seen.clone(),
                trace: TraceContext::current(),
            };
            match address.send(execute).await {
                Ok(answer) => return answer,
                // The actor stopped before it read this message: its successor receives it. A
                // command that was executed just before a panic conflicts with the new version.
                Err(_) => self.forget(id, &address),
            }
        }
        Err(if engine.is_stopping() {
            EngineError::Stopping
        } else {
            EngineError::Internal
        })
    }

    /// Takes the actor out of the map, if it is still the one in it. Whoever asks next starts another.
    pub(crate) fn forget(&self, id: TransactionId, address: &Addr<TransactionActor>) {
        let mut shard = self.shard(id);
        if shard.get(&id).is_some_and(|up| up.address == *address) {
            shard.remove(&id);
        }
    }

    /// How many actors are up.
    pub(crate) fn live(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().len()).sum()
    }

    /// The address of the actor that is up, if one is.
    pub(crate) fn find(&self, id: TransactionId) -> Option<Addr<TransactionActor>> {
        self.shard(id).get(&id).map(|up| up.address.clone())
    }

    /// Forgets all actors, so that they can be freed.
    pub(crate) fn clear(&self) {
        for shard in &self.shards {
            shard.lock().clear();
        }
    }

    /// Stops every actor without a command since `before`. A submission in flight keeps no actor:
    /// its answer starts a new one.
    pub(crate) fn passivate_idle(&self, before: Timestamp) {
        for shard in &self.shards {
            let mut shard = shard.lock();
            let mut idle: Vec<_> = shard
                .extract_if(|_, up| up.last_command_at < before)
                .collect();
            idle.sort_unstable_by_key(|(id, _)| *id); // a map has another order in each process
            for (_, up) in idle {
                up.address.do_send(Rest);
            }
            if shard.capacity() > 4 * shard.len().max(16) {
                shard.shrink_to_fit();
            }
        }
    }

    /// Refused when there are as many actors as there may be. They rest when they are idle, so it passes.
    fn find_or_start(
        &self,
        engine: &Engine,
        id: TransactionId,
    ) -> Result<Addr<TransactionActor>, EngineError> {
        let now = engine.clock().now();
        let mut shard = self.shard(id);
        if let Some(up) = shard.get_mut(&id) {
            up.last_command_at = now;
            return Ok(up.address.clone());
        }
        if shard.len() >= (engine.settings().live_actors / SHARDS).max(1) {
            return Err(EngineError::Unavailable(
                "too many transactions are at work at once".to_owned(),
            ));
        }
        let actor = TransactionActor::new(id, engine.clone());
        let address = TransactionActor::start_in_arbiter(engine.threads().arbiter(), |_| actor);
        let up = LiveActor {
            address: address.clone(),
            last_command_at: now,
        };
        shard.insert(id, up);
        Ok(address)
    }

    fn shard(&self, id: TransactionId) -> MutexGuard<'_, Shard> {
        // The random part of an id is as good as a hash of it.
        let index = usize::try_from(id.ulid().random() % SHARDS as u128).unwrap_or(0);
        self.shards[index].lock()
    }
}
