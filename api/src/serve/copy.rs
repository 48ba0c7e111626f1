//! The continuous copy of the store: `store.copy_to` and `store.copy_every`.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use switchyard_store::{Copier, MakeBase, Store, Views};
use tokio::sync::oneshot;

use super::backups::BackupContents;
use crate::config::Settings;

/// A copier that runs on a thread of its own until the store is closed.
pub struct RunningCopy(oneshot::Receiver<()>);

/// Starts the copier of the settings, `None` without `store.copy_to`.
pub fn start(
    store: &Store,
    settings: &Settings,
    contents: BackupContents,
) -> anyhow::Result<Option<RunningCopy>> {
    let Some(to) = settings.store.copy_to.clone() else {
        return Ok(None);
    };
    let source = contents.store.clone();
    let make_base: MakeBase = Arc::new(move |to| {
        let made = contents.back_up(to, Views::AsStored);
        made.map(drop).map_err(|error| format!("{error:#}"))
    });
    let copier = Copier::new(store, &source, to, settings.store.copy_every.0, make_base);
    let (sender, ended) = oneshot::channel();
    thread::Builder::new()
        .name("store copy".to_owned())
        .spawn(move || {
            copier.run();
            let _ = sender.send(()); // a server that ends waits for a moment only
        })?;
    Ok(Some(RunningCopy(ended)))
}

impl RunningCopy {
    /// Waits until the last commits are copied. A destination may hang, so it does not wait long.
    pub async fn ended(self) {
        if tokio::time::timeout(LAST_ROUND, self.0).await.is_err() {
            tracing::warn!("the continuous copy lacks the last commits");
        }
    }
}

const LAST_ROUND: Duration = Duration::from_secs(5);
