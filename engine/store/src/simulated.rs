//! Store without a thread: its writer runs on the runtime after each commit, with the delay of the
//! simulated disk's flush. All other parts are those of the real store.

use std::sync::Arc;
use std::sync::mpsc::channel;

use async_trait::async_trait;
use tokio::sync::Notify;

use super::embedded::{Embedded, Shared};
use super::retry::RETRY;
use super::writer::{Reopen, Writer};
use super::{
    Batch, CommitError, Direction, Disk, Identity, KeyValues, OpenError, Storage, Store,
    StoreError, StoreStats, Table,
};

impl Store {
    /// A store on a simulated disk. Call it on the runtime that shall write.
    ///
    /// # Errors
    /// When the disk cannot be read.
    pub fn simulated(disk: &Disk) -> Result<Self, OpenError> {
        let shared = Arc::new(Shared::new(Box::new(open(disk)?), Arc::default(), None));
        let (sender, receiver) = channel();
        let (probed, opened) = (disk.clone(), disk.clone());
        let reopen = Reopen {
            probe: Box::new(move || match probed.probe() {
                true => Ok(()),
                false => Err(refused("the simulated disk is full".to_owned())),
            }),
            open: Box::new(move || Ok(Box::new(open(&opened)?))),
        };
        let mut writer = Writer::new(shared.clone(), receiver, reopen, None);
        let nudge = Arc::new(Notify::new());
        let (nudged, nature) = (nudge.clone(), disk.nature.clone());
        tokio::spawn(async move {
            loop {
                let pause = match writer.has_failed() {
                    true => RETRY,
                    false => {
                        nudged.notified().await;
                        (nature.takes)()
                    }
                };
                tokio::time::sleep(pause).await;
                writer.turn();
            }
        });
        Ok(Self::over(Simulated {
            embedded: Embedded::new(shared, sender, None),
            nudge,
        }))
    }
}

struct Simulated {
    embedded: Embedded,
    /// Wakes the writer.
    nudge: Arc<Notify>,
}

#[async_trait]
impl Storage for Simulated {
    async fn commit(&self, batch: Batch) -> Result<(), CommitError> {
        let answer = self.embedded.submit(batch).await?;
        self.nudge.notify_one();
        self.embedded.verdict(answer).await
    }

    async fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.embedded.get(table, key).await
    }

    async fn scan(
        &self,
        table: Table,
        from: &[u8],
        to: &[u8],
        direction: Direction,
        limit: usize,
    ) -> Result<KeyValues, StoreError> {
        let shared = self.embedded.shared();
        shared.scan(table, from, to, direction, limit) // no threads
    }

    async fn close(&self) -> bool {
        self.embedded.close().await
    }

    fn stats(&self) -> StoreStats {
        self.embedded.stats()
    }

    fn identity(&self) -> Option<Identity> {
        self.embedded.identity()
    }

    fn damage(&self) -> Option<Arc<String>> {
        self.embedded.damage()
    }

    fn report_damage(&self, what: &str) {
        self.embedded.report_damage(what);
    }
}

fn open(disk: &Disk) -> Result<Disk, OpenError> {
    disk.opened().map_err(|error| refused(error.to_string()))
}

fn refused(reason: String) -> OpenError {
    OpenError::Backend {
        path: std::path::PathBuf::new(),
        reason,
    }
}
