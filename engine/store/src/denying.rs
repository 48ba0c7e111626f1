//! Storage of a test that denies a commit which it made.

use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::{
    Batch, CommitError, Direction, Identity, KeyValues, Storage, Store, StoreError, StoreStats,
    Table,
};

/// Handle of a store that denies its next commit on demand.
#[derive(Clone, Default)]
pub struct Denier(Arc<Mutex<Option<oneshot::Receiver<()>>>>);

impl Denier {
    /// A store over `store` that this handle controls.
    pub fn over(&self, store: Store) -> Store {
        Store::over(Denying {
            store,
            denier: self.clone(),
        })
    }

    /// Makes the next commit, and answers after `until` that it conflicts, as a store in a network
    /// does that repeats a commit whose answer was lost.
    pub fn deny_next_commit(&self, until: oneshot::Receiver<()>) {
        *self.0.lock() = Some(until);
    }
}

struct Denying {
    store: Store,
    denier: Denier,
}

#[async_trait]
impl Storage for Denying {
    async fn commit(&self, batch: Batch) -> Result<(), CommitError> {
        let denied = self.denier.0.lock().take();
        let verdict = self.store.commit(batch).await;
        let Some(until) = denied else {
            return verdict;
        };
        let _ = until.await;
        Err(CommitError::Conflict)
    }

    async fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.store.get(table, key).await
    }

    async fn scan(
        &self,
        table: Table,
        from: &[u8],
        to: &[u8],
        direction: Direction,
        limit: usize,
    ) -> Result<KeyValues, StoreError> {
        self.store.scan(table, from, to, direction, limit).await
    }

    async fn close(&self) -> bool {
        self.store.close().await
    }

    fn stats(&self) -> StoreStats {
        self.store.stats()
    }

    fn identity(&self) -> Option<Identity> {
        self.store.identity()
    }

    fn damage(&self) -> Option<Arc<String>> {
        self.store.damage()
    }

    fn report_damage(&self, what: &str) {
        self.store.report_damage(what);
    }
}
