//! Reprocessing of dead-lettered callbacks by other versions of their gateway.
//!
//! When the version of a gateway changes, the new version reads each dead-lettered callback once.
//! If it fails as well, its hash replaces that of the earlier version. At startup the stored hashes
//! show which versions changed while no process ran.
//!
//! Each gateway reads one callback at a time. After a success the next one follows at once, so that
//! a thousand dead letters take no longer than a thousand new callbacks. After a failure, or
//! without a result, the gateway pauses for [`PAUSE`].

use std::collections::BTreeMap;
use std::time::Duration;

use super::match_pending::{change, have_another_look};
use super::recipient;
use super::row::{self, CallbackKey, CallbackState, FAILED_VERSION};
use crate::engine::{Engine, EngineError};
use switchyard_core::limits::CALLBACK_TRIES;
use switchyard_core::time::Timestamp;
use switchyard_store::Table;

/// Progress of reprocessing.
#[derive(Default)]
pub(super) struct ReprocessState {
    /// Current version of each gateway at the last poll; `None` before the first poll.
    current: Option<BTreeMap<String, String>>,
    /// Last callback given to each gateway, until it is read successfully or the pause ends.
    reading: BTreeMap<String, ReprocessEntry>,
    /// Whether a free gateway may have unread dead letters.
    is_left: bool,
}

struct ReprocessEntry {
    which: CallbackKey,
    since: Timestamp,
}

impl ReprocessState {
    /// Queues dead letters for the current versions after a version changed or a gateway became
    /// free. Few are queued at a time; the rest stay dead letters, where an operator finds them.
    pub async fn requeue(&mut self, engine: &Engine) -> Result<(), EngineError> {
        let current = engine.gateways().list().into_iter();
        let current: BTreeMap<String, String> = current
            .map(|version| (version.name().to_owned(), version.sha256.clone()))
            .collect();
        if self.current.as_ref() != Some(&current) {
            self.is_left = true;
            self.current = Some(current);
        }
        self.forget_what_is_over(engine).await?;
        if self.is_left {
            self.give_one_each(engine).await?;
            self.is_left = false;
        }
        Ok(())
    }

    /// Frees the gateways whose last callback is finished.
    async fn forget_what_is_over(&mut self, engine: &Engine) -> Result<(), EngineError> {
        let mut over = Vec::new();
        for (gateway, reading) in &self.reading {
            let rested = engine.clock().now() >= reading.since.plus(PAUSE);
            if rested || was_read_well(engine, reading.which).await? {
                over.push(gateway.clone());
            }
        }
        for gateway in over {
            self.reading.remove(&gateway);
            self.is_left = true;
        }
        Ok(())
    }

    /// Queues one dead letter for each free gateway whose current version is not the one that
    /// failed.
    async fn give_one_each(&mut self, engine: &Engine) -> Result<(), EngineError> {
        let dead_letters = row::of_kind(FAILED_VERSION);
        let mut pages = engine.store().pages(Table::Callback, dead_letters, PAGE);
        while let Some(rows) = pages.next().await? {
            for (key, failed_version) in &rows {
                if let Some(which) = row::which_in(key) {
                    self.give(engine, which, failed_version).await?;
                }
            }
        }
        Ok(())
    }

    async fn give(
        &mut self,
        engine: &Engine,
        which: CallbackKey,
        failed_version: &[u8],
    ) -> Result<(), EngineError> {
        let Some(recipient) = recipient::find(engine, which.connection) else {
            return Ok(());
        };
        let current = self.current.as_ref();
        let version = current.and_then(|current| current.get(&recipient.gateway));
        let is_for_it = version.is_some_and(|version| version.as_bytes() != failed_version);
        if !is_for_it || self.reading.contains_key(&recipient.gateway) {
            return Ok(());
        }
        let given = change(engine, which, |callback, now| {
            have_another_look(callback, now);
            callback.tries = CALLBACK_TRIES - 1;
        });
        if given.await?.is_some() {
            let since = engine.clock().now();
            self.reading
                .insert(recipient.gateway, ReprocessEntry { which, since });
        }
        Ok(())
    }
}

/// Whether the callback was processed and the gateway version did not fail.
async fn was_read_well(engine: &Engine, which: CallbackKey) -> Result<bool, EngineError> {
    let callback = row::load(engine.store(), which).await?;
    Ok(callback.is_none_or(|callback| {
        callback.state != CallbackState::Waiting && callback.failed_version.is_none()
    }))
}

/// Pause after a failure. A version that panics on every dead letter panics at most three times a
/// minute, below [`switchyard_core::limits::GATEWAY_PANICS_A_MINUTE`], so that dead letters alone do not put
/// it into quarantine.
const PAUSE: Duration = Duration::from_secs(30);
/// Rows per scan.
const PAGE: usize = 250;
