//! Store without a thread: its writer runs on the runtime after each commit, with the delay of the
//! simulated disk's flush. All other parts are those of the real store.

use std::sync::Arc;
use std::sync::mpsc::channel;

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::error::OpenError;
use super::writer::{RETRY, Reopen, Writer};
use super::{Disk, Inner, Shared, Store};

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
        Ok(Self(Arc::new(Inner {
            shared,
            sender,
            writer: Mutex::new(None),
            nudge: Some(nudge),
            denied: Mutex::default(),
        })))
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
