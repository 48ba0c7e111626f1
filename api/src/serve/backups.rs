//! Scheduled backups of the store: `store.backup_to`, `backup_every` and `backup_keep`.
//!
//! Backups are folders named by their time, in one folder. The newest one tells when the next is
//! due, so a restart neither skips nor repeats one. Older ones are removed only after a new one is
//! whole.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use switchyard_engine::clock::{Clock, Timestamp};
use switchyard_engine::store::{self, BackupSource, Manifest, StoreSettings, Views};

use crate::config::{self, Settings};
use crate::serve::{quiet, store_settings};

/// The schedule of backups of one installation.
#[derive(Clone)]
pub struct Schedule {
    to: PathBuf,
    every: Duration,
    /// Backups that are kept.
    keep: usize,
    contents: BackupContents,
}

/// The parts of the installation that a backup holds.
#[derive(Clone)]
pub struct BackupContents {
    pub store: StoreSettings,
    gateways: PathBuf,
    settings_file: Option<PathBuf>,
}

impl BackupContents {
    pub fn of(settings: &Settings, settings_file: Option<PathBuf>) -> Self {
        Self {
            store: store_settings(settings),
            gateways: settings.gateway_copies(),
            settings_file,
        }
    }

    /// Makes a backup in the new folder `to`.
    pub fn back_up(&self, to: &Path, views: Views) -> anyhow::Result<Manifest> {
        let settings = match &self.settings_file {
            Some(file) => Some(config::without_master_key(&fs::read_to_string(file)?)?),
            None => None,
        };
        let source = BackupSource {
            store: &self.store,
            gateways: &self.gateways,
            settings: settings.as_deref(),
            views,
        };
        Ok(store::backup(source, to, BYTES_PER_SECOND, &mut |_| {})?)
    }
}

/// Makes scheduled backups until the server ends.
pub async fn run(schedule: Option<Schedule>) {
    if let Some(schedule) = schedule {
        schedule.run(Clock::wall()).await;
    }
}

impl Schedule {
    /// The schedule of the settings, `None` without `store.backup_to`.
    pub fn of(settings: &Settings, contents: BackupContents) -> Option<Self> {
        Some(Self {
            to: settings.store.backup_to.clone()?,
            every: settings.store.backup_every.0,
            keep: settings.store.backup_keep as usize,
            contents,
        })
    }

    /// Makes backups until the server ends.
    async fn run(self, clock: Clock) {
        loop {
            let newest = match self.backups() {
                Ok(backups) => backups.last().map(|(at, _)| *at),
                Err(error) => {
                    tracing::warn!(%error, folder = %self.to.display(), "failed to list backups");
                    None
                }
            };
            if let Some(newest) = newest {
                metrics::gauge!("switchyard_store_last_backup_timestamp_seconds")
                    .set(newest.as_seconds() as f64);
                clock.sleep_until(newest.plus(self.every)).await;
            }
            if let Err(error) = self.back_up(clock.now()).await {
                metrics::counter!("switchyard_store_backups_failed_total").increment(1);
                tracing::error!(
                    error = format!("{error:#}"),
                    folder = %self.to.display(),
                    "failed to back up the store"
                );
                clock.sleep(RETRY.min(self.every)).await;
            }
        }
    }

    /// Makes one backup and removes the oldest ones, on a thread of low priority.
    async fn back_up(&self, now: Timestamp) -> anyhow::Result<()> {
        let schedule = self.clone();
        let manifest = quiet::run("store backup", move || schedule.make(now)).await??;
        tracing::info!(
            backup.incarnation = %manifest.incarnation,
            store.sequence = manifest.sequence,
            folder = %self.to.display(),
            "store backed up"
        );
        self.remove_old()
    }

    fn make(&self, now: Timestamp) -> anyhow::Result<Manifest> {
        self.remove_drafts()?;
        self.contents
            .back_up(&self.to.join(name_of(now)), Views::Added)
    }

    /// Removes the drafts of backups that a process began and did not end.
    fn remove_drafts(&self) -> io::Result<()> {
        for path in folders(&self.to)? {
            let is_draft = path.extension().is_some_and(|extension| extension == DRAFT);
            if is_draft && time_of(&path.with_extension("")).is_some() {
                fs::remove_dir_all(path)?;
            }
        }
        Ok(())
    }

    fn remove_old(&self) -> anyhow::Result<()> {
        let backups = self.backups()?;
        let old = backups.len().saturating_sub(self.keep);
        for (_, path) in &backups[..old] {
            // Under its own name it would be a backup that is not whole.
            let draft = path.with_added_extension(DRAFT);
            let removed = fs::rename(path, &draft).and_then(|()| fs::remove_dir_all(&draft));
            removed.with_context(|| format!("failed to remove {}", path.display()))?;
        }
        Ok(())
    }

    /// Whole backups by their time, the oldest first.
    fn backups(&self) -> io::Result<Vec<(Timestamp, PathBuf)>> {
        let folders = folders(&self.to)?.into_iter();
        let mut backups: Vec<_> = folders
            .filter_map(|path| Some((time_of(&path)?, path)))
            .filter(|(_, path)| Manifest::read(path).is_ok())
            .collect();
        backups.sort();
        Ok(backups)
    }
}

/// The entries of a folder; none if the folder does not exist.
fn folders(path: &Path) -> io::Result<Vec<PathBuf>> {
    match fs::read_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        entries => entries?.map(|entry| Ok(entry?.path())).collect(),
    }
}

/// `2026-11-25T10-00-00Z`.
fn name_of(at: Timestamp) -> String {
    let seconds = Timestamp::from_seconds(at.as_seconds()).to_string();
    let seconds = seconds.split('.').next().unwrap_or_default();
    format!("{}Z", seconds.replace(':', "-"))
}

/// The time in the name of a backup. Other folders are left alone.
fn time_of(path: &Path) -> Option<Timestamp> {
    let name = path.file_name()?.to_str()?;
    let (date, time) = name.split_once('T')?;
    let at = Timestamp::parse(&format!("{date}T{}", time.replace('-', ":")))?;
    (name_of(at) == name).then_some(at)
}

/// Extension of a backup that is not whole.
const DRAFT: &str = "draft";
/// Time until a failed backup is tried again.
const RETRY: Duration = Duration::from_secs(10 * 60);
/// As `switchyard store backup` does without `--speed`.
const BYTES_PER_SECOND: u64 = 64 * 1024 * 1024;

#[cfg(test)]
mod tests {
    use switchyard_engine::store::{Backend, Batch, Store, Table};

    use super::*;

    const HOUR: Duration = Duration::from_secs(60 * 60);

    struct Installation {
        folder: tempfile::TempDir,
        store: Store,
        schedule: Schedule,
    }

    impl Installation {
        async fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let settings = StoreSettings {
                backend: Backend::Sqlite,
                path: folder.path().join("store"),
                cache_bytes: 8 * 1024 * 1024,
            };
            let store = Store::open(&settings).unwrap();
            let mut batch = Batch::new();
            batch.put(Table::Event, "a", "1");
            store.commit(batch).await.unwrap();
            let schedule = Schedule {
                to: folder.path().join("backups"),
                every: HOUR,
                keep: 2,
                contents: BackupContents {
                    store: settings,
                    gateways: folder.path().join("gateways"),
                    settings_file: None,
                },
            };
            Self {
                folder,
                store,
                schedule,
            }
        }

        /// Names in the folder of backups, once they are the wanted ones.
        async fn wait_for(&self, wanted: &[&str]) {
            let names = || {
                let paths = folders(&self.schedule.to).unwrap_or_default().into_iter();
                let mut names: Vec<_> = paths
                    .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
                    .collect();
                names.sort();
                names
            };
            for _ in 0..3_000 {
                if names() == wanted {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            assert_eq!(names(), wanted);
        }
    }

    fn noon() -> Timestamp {
        Timestamp::parse("2026-11-25T12:00:00.5Z").unwrap()
    }

    #[tokio::test]
    async fn backups_are_made_on_schedule_and_the_oldest_go() {
        let installation = Installation::new().await;
        let clock = Clock::manual(noon());
        let to = &installation.schedule.to;
        // Folders of others stay, also one that is named like a backup.
        for name in ["mine", "2020-01-01T00-00-00Z", "2026-11-25T11-00-00Z.draft"] {
            fs::create_dir_all(to.join(name)).unwrap();
        }
        let running = tokio::spawn(installation.schedule.clone().run(clock.clone()));
        let others = ["2020-01-01T00-00-00Z", "mine"];
        let with = |names: &[&'static str]| {
            let mut all = [&others[..], names].concat();
            all.sort_unstable();
            all
        };
        installation
            .wait_for(&with(&["2026-11-25T12-00-00Z"]))
            .await;
        clock.advance(HOUR);
        installation
            .wait_for(&with(&["2026-11-25T12-00-00Z", "2026-11-25T13-00-00Z"]))
            .await;
        // A restart waits for the rest of the hour.
        running.abort();
        let running = tokio::spawn(installation.schedule.clone().run(clock.clone()));
        clock.advance(HOUR / 2);
        tokio::time::sleep(Duration::from_millis(200)).await;
        installation
            .wait_for(&with(&["2026-11-25T12-00-00Z", "2026-11-25T13-00-00Z"]))
            .await;
        clock.advance(HOUR / 2);
        installation
            .wait_for(&with(&["2026-11-25T13-00-00Z", "2026-11-25T14-00-00Z"]))
            .await;
        running.abort();
        assert!(installation.store.close().await);
    }

    #[tokio::test]
    async fn a_backup_that_fails_is_tried_again_and_no_older_one_goes() {
        let installation = Installation::new().await;
        let clock = Clock::manual(noon());
        let mut schedule = installation.schedule.clone();
        schedule.contents.settings_file = Some(installation.folder.path().join("switchyard.toml"));
        let running = tokio::spawn(schedule.run(clock.clone()));
        tokio::time::sleep(Duration::from_millis(200)).await;
        installation.wait_for(&[]).await;
        fs::write(installation.folder.path().join("switchyard.toml"), "").unwrap();
        clock.advance(RETRY);
        installation.wait_for(&["2026-11-25T12-10-00Z"]).await;
        running.abort();
    }

    #[test]
    fn a_time_is_read_from_the_name_that_was_made_of_it() {
        let name = name_of(noon());
        assert_eq!(name, "2026-11-25T12-00-00Z");
        let read = time_of(Path::new(&name)).unwrap();
        assert_eq!(read.as_seconds(), noon().as_seconds());
        for other in [
            "",
            "T",
            "2026-11-25",
            "2026-11-25T12-00-00",
            "2026-11-25T12-00-00Z.draft",
        ] {
            assert_eq!(time_of(Path::new(other)), None, "{other}");
        }
    }
}
