//! Restart of the engine: loads the current version of every gateway from the engine's own copies.

use std::fs;
use std::sync::Arc;

use super::approval::{Awaiting, Source};
use super::record::Record;
use super::{ChangeAuthor, GatewayRecords, LifeError, rows};
use crate::inspect::Refused;
use crate::throttled_io::Throttle;
use crate::version::{ENGINE, Quarantine, Version};
use crate::{Gateways, inspect};
use switchyard_store::Store;

impl Gateways {
    /// Sets `store` as the store of the records of gateways, and loads those that it has. Call it
    /// once, before any other method.
    ///
    /// # Errors
    /// Returns an error when the records cannot be read. A version that cannot be loaded is
    /// quarantined with the reason instead.
    pub async fn keep_in(&self, store: &Store) -> Result<(), LifeError> {
        let life = &self.0.life;
        let _changing = life.changing.lock().await;
        self.delete_leftovers();
        let mut book = GatewayRecords::default();
        rows::read(store, &mut book).await?;
        {
            let mut kept = life.book();
            kept.records.extend(book.records);
            kept.past.extend(book.past);
            kept.pins.extend(book.pins);
            kept.files.extend(book.files);
        }
        let _ = life.store.set(store.clone()); // a second store is ignored
        let records: Vec<Record> = life.book().records.values().cloned().collect();
        for record in records {
            let Some(sha256) = record.current.clone() else {
                continue;
            };
            match self.loaded(&record, &sha256).await {
                Ok(version) => {
                    version.set_draining(record.is_draining);
                    self.0.registry.swap(&record.name, Some(version));
                }
                Err(error) => self.could_not_load(&record, &sha256, &error).await,
            }
        }
        self.adopt_listed().await;
        self.start_workers();
        Ok(())
    }

    /// Makes versions current that waited for approval and are pinned by the settings now. The
    /// caller holds `changing`.
    async fn adopt_listed(&self) {
        let records: Vec<Record> = self.0.life.book().records.values().cloned().collect();
        for mut record in records {
            let is_listed =
                |waiting: &Awaiting| self.is_pinned_by_settings(&waiting.version.sha256);
            let Some(waiting) = record.awaiting.take().filter(is_listed) else {
                continue;
            };
            let (name, mut version) = (record.name.clone(), waiting.version);
            version.source = Source::Listed;
            let by = ChangeAuthor::because(ENGINE, "pinned by the settings");
            let adopted = async {
                let loaded = self.loaded(&record, &version.sha256).await?;
                self.activate(record, &loaded, version, &by).await
            };
            if let Err(error) = adopted.await {
                tracing::error!(gateway.name = name, %error, "failed to adopt a pinned upgrade");
            }
        }
    }

    /// Deletes copies and uploads that a crash cut short. This process owns the store, so no other
    /// process writes here.
    fn delete_leftovers(&self) {
        let entries = fs::read_dir(&self.0.settings.dir).into_iter().flatten();
        for path in entries.flatten().map(|entry| entry.path()) {
            let is_partial = path
                .extension()
                .is_some_and(|extension| extension == "partial");
            if is_partial && let Err(error) = fs::remove_file(&path) {
                tracing::warn!(path = %path.display(), %error, "failed to delete a partial file");
            }
        }
    }

    /// Returns a version of the record. If it is not loaded yet, loads it from the engine's copy,
    /// with its granted hosts and its quarantine.
    pub(super) async fn loaded(
        &self,
        record: &Record,
        sha256: &str,
    ) -> Result<Arc<Version>, LifeError> {
        if let Some(version) = self.0.registry.version(&record.name, sha256) {
            return Ok(version);
        }
        #[cfg(any(feature = "simulation", feature = "fuzzing"))]
        if let Some(version) = self.taken_from_shelf(&record.name, sha256) {
            return Ok(version);
        }
        let (gateways, sha256) = (self.clone(), sha256.to_owned());
        let name = record.name.clone();
        let task = tokio::task::spawn_blocking(move || gateways.load_kept(&name, &sha256));
        task.await
            .map_err(|_| LifeError::Stopping)?
            .map_err(LifeError::Refused)
    }

    /// Loads the engine's own copy, whose content has to match its name. Not throttled: a start or
    /// a call waits for it.
    pub(crate) fn load_kept(&self, name: &str, sha256: &str) -> Result<Arc<Version>, Refused> {
        let kept = self.0.kept(sha256);
        let inspected = inspect::inspect(&kept, Throttle::AtOnce)?;
        let found = &inspected.inspection;
        if found.sha256 != sha256 || found.manifest.name != name {
            return Err(Refused::Damaged { path: kept });
        }
        let version = self.0.open(&kept, &inspected, Throttle::AtOnce)?;
        self.remind(&version);
        Ok(version)
    }

    /// Restores the granted hosts, the quarantine and the crashes of a version that was loaded
    /// again.
    pub(super) fn remind(&self, version: &Version) {
        let Some(known) = self.0.life.remembered(version.name(), &version.sha256) else {
            return;
        };
        version.grant(known.hosts);
        match known.quarantine {
            Some(quarantine) => version.set_quarantine(Some(quarantine)),
            None => version.remember_deaths(known.deaths),
        }
    }

    /// Starts the worker of a version that becomes current, if it does not run: no call waits for
    /// it after the swap.
    pub(super) async fn started(&self, version: &Arc<Version>) -> Result<(), LifeError> {
        if version.host.is_started() {
            return Ok(());
        }
        let own = Arc::clone(version);
        let task = tokio::task::spawn_blocking(move || own.host.start());
        task.await
            .map_err(|_| LifeError::Stopping)?
            .map_err(LifeError::Refused)
    }

    /// Starts the workers of all current versions, one after the other. A version that its worker
    /// refuses to load is quarantined. After another failure, such as a machine that is too busy,
    /// the next call tries again.
    fn start_workers(&self) {
        let gateways = self.clone();
        tokio::spawn(async move {
            for version in gateways.list() {
                match gateways.started(&version).await {
                    Ok(())
                    | Err(LifeError::Stopping)
                    | Err(LifeError::Refused(Refused::NotStarted { .. })) => {}
                    Err(error) => {
                        version.put_into_quarantine(&format!("it could not be loaded: {error}"));
                        gateways.note_health(&version).await;
                    }
                }
            }
        });
    }

    async fn could_not_load(&self, record: &Record, sha256: &str, error: &LifeError) {
        let reason = format!("it could not be loaded: {error}");
        tracing::error!(
            gateway.name = record.name,
            gateway.sha256 = sha256,
            reason,
            "gateway skipped"
        );
        let is_said = record
            .version(sha256)
            .and_then(|kept| kept.quarantine.as_ref())
            .is_some();
        if is_said {
            return;
        }
        let quarantine = Quarantine {
            reason,
            at: self.0.clock.now(),
            by: ENGINE.to_owned(),
        };
        let written = self.write_quarantine(&record.name, sha256, &quarantine);
        if let Err(error) = written.await {
            tracing::error!(gateway.name = record.name, %error, "failed to record the quarantine");
        }
    }
}
