//! Scheduled backups of the store: `store.backup_to`, `backup_every` and `backup_keep`.
//!
//! Backups are folders named by their time, in one folder, which several installations may share:
//! only backups of this store count. The newest one tells when the next is due, so a restart
//! neither skips nor repeats one. Older ones are removed only after a new one is whole.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use parking_lot::Mutex;
use switchyard_core::time::Timestamp;
use switchyard_store::{
    self as store, BackupSource, Identity, MaintenanceError, Manifest, Store, StoreSettings, Views,
};
use switchyard_system::clock::Clock;
use tokio::sync::Notify;

use crate::config::{self, Settings};
use crate::serve::{quiet, store_settings};

/// The schedule of backups of one installation.
#[derive(Clone)]
pub struct Schedule {
    to: PathBuf,
    every: Duration,
    /// Backups that are kept.
    keep: usize,
    /// Identity of the store.
    store: Option<Identity>,
    contents: BackupContents,
}

/// Whole backups of this store.
#[derive(Default)]
struct Backups {
    /// By their time, the oldest first.
    past: Vec<(Timestamp, PathBuf)>,
    /// Backups whose name is a future time. They do not count.
    future: Vec<PathBuf>,
}

/// The parts of the installation that a backup holds.
#[derive(Clone)]
pub struct BackupContents {
    pub store: StoreSettings,
    gateways: PathBuf,
    settings_file: Option<PathBuf>,
    /// Notified when a backup finds damage that the last failed one did not find. A check shows
    /// whether the store itself is damaged.
    pub suspected: Arc<Notify>,
    /// Damage that the last backup found.
    found: Arc<Mutex<Option<String>>>,
}

impl BackupContents {
    pub fn of(settings: &Settings, settings_file: Option<PathBuf>) -> Self {
        Self {
            store: store_settings(settings),
            gateways: settings.gateway_copies(),
            settings_file,
            suspected: Arc::default(),
            found: Arc::default(),
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
        let made = store::backup(source, to, BYTES_PER_SECOND, &mut |_| {});
        match &made {
            Ok(_) => *self.found.lock() = None,
            Err(MaintenanceError::Damaged { faults, .. }) => {
                let before = self.found.lock().replace(faults.clone());
                // The base of a continuous copy is tried again and again.
                if before.as_ref() != Some(faults) {
                    self.suspected.notify_one();
                }
            }
            Err(_) => {}
        }
        Ok(made?)
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
    pub fn of(settings: &Settings, contents: BackupContents, store: &Store) -> Option<Self> {
        Some(Self {
            store: store.identity(),
            to: settings.store.backup_to.clone()?,
            every: settings.store.backup_every.0,
            keep: settings.store.backup_keep as usize,
            contents,
        })
    }

    /// Makes backups until the server ends.
    async fn run(self, clock: Clock) {
        let mut ignored = BTreeSet::new();
        loop {
            let found = self.backups(clock.now()).unwrap_or_else(|error| {
                tracing::warn!(%error, folder = %self.to.display(), "failed to list backups");
                Backups::default()
            });
            for path in found.future {
                if ignored.insert(path.clone()) {
                    tracing::warn!(
                        backup = %path.display(),
                        "ignored a backup of a future time"
                    );
                }
            }
            let newest = found.past.last().map(|(at, _)| *at);
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
        self.remove_old(now)
    }

    fn make(&self, now: Timestamp) -> anyhow::Result<Manifest> {
        self.remove_drafts()?;
        self.contents
            .back_up(&self.to.join(name_of(now)), Views::Added)
    }

    /// Removes the drafts of backups of this store that a process began and did not end.
    fn remove_drafts(&self) -> io::Result<()> {
        for path in folders(&self.to)? {
            let is_draft = path.extension().is_some_and(|extension| extension == DRAFT);
            if is_draft
                && time_of(&path.with_extension("")).is_some()
                && let Some(store) = self.store
                && let Err(error) = store::remove_abandoned_draft(&path, store)
            {
                let error = format!("{:#}", anyhow::Error::from(error));
                tracing::warn!(error, "failed to remove the draft of a backup");
            }
        }
        Ok(())
    }

    fn remove_old(&self, now: Timestamp) -> anyhow::Result<()> {
        let backups = self.backups(now)?.past;
        let old = backups.len().saturating_sub(self.keep);
        for (_, path) in &backups[..old] {
            // Under its own name it would be a backup that is not whole.
            let draft = path.with_added_extension(DRAFT);
            let removed = fs::rename(path, &draft).and_then(|()| fs::remove_dir_all(&draft));
            removed.with_context(|| format!("failed to remove {}", path.display()))?;
        }
        Ok(())
    }

    fn backups(&self, now: Timestamp) -> io::Result<Backups> {
        let is_of_store = |path: &Path| {
            Manifest::read(path).is_ok_and(|manifest| Some(manifest.store) == self.store)
        };
        let latest = now.plus(self.every);
        let mut backups = Backups::default();
        for path in folders(&self.to)? {
            match time_of(&path) {
                Some(at) if is_of_store(&path) && at > latest => backups.future.push(path),
                Some(at) if is_of_store(&path) => backups.past.push((at, path)),
                _ => {}
            }
        }
        backups.past.sort();
        Ok(backups)
    }
}

/// The time of the newest backup in the folder of scheduled backups, of whichever store. `None`:
/// there is no backup.
///
/// # Errors
/// When the folder cannot be read.
pub(crate) fn newest(to: &Path, now: Timestamp) -> io::Result<Option<Timestamp>> {
    let is_backup = |path: &PathBuf| Manifest::read(path).is_ok();
    let times = folders(to)?.into_iter().filter(is_backup);
    let times = times.filter_map(|path| time_of(&path));
    Ok(times.filter(|at| *at <= now).max())
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
    use std::os::unix::fs::PermissionsExt as _;

    use switchyard_store::{Backend, Batch, Table};

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
                store: store.identity(),
                contents: BackupContents {
                    store: settings,
                    gateways: folder.path().join("gateways"),
                    settings_file: None,
                    suspected: Arc::default(),
                    found: Arc::default(),
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
    async fn a_backup_that_finds_damage_asks_for_a_check_and_one_without_room_does_not() {
        let installation = Installation::new().await;
        assert!(installation.store.close().await);
        let contents = &installation.schedule.contents;
        let is_asked = || {
            let asked = contents.suspected.notified();
            tokio::time::timeout(Duration::from_millis(10), asked)
        };
        let nowhere = installation.folder.path().join("file");
        fs::write(&nowhere, "").unwrap();
        assert!(
            contents
                .back_up(&nowhere.join("backup"), Views::Added)
                .is_err()
        );
        assert!(is_asked().await.is_err());
        let database = contents.store.path.join("sqlite/switchyard.sqlite3");
        let whole = fs::read(&database).unwrap();
        let mut damaged = whole.clone();
        let last = damaged.len() - 4_096 + 100;
        damaged[last] ^= 1;
        let to = installation.folder.path().join("backup");
        let asks = async || {
            assert!(contents.back_up(&to, Views::Added).is_err());
            is_asked().await.is_ok()
        };
        fs::write(&database, &damaged).unwrap();
        assert!(asks().await);
        assert!(!asks().await, "the same damage");
        fs::write(&database, whole).unwrap();
        contents.back_up(&to, Views::Added).unwrap();
        fs::remove_dir_all(&to).unwrap();
        fs::write(&database, &damaged).unwrap();
        assert!(asks().await, "it was sound meanwhile");
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

    #[tokio::test]
    async fn installations_that_share_a_folder_leave_the_backups_and_drafts_of_each_other_alone() {
        let [first, mut second] = [Installation::new().await, Installation::new().await];
        second.schedule.to = first.schedule.to.clone();
        second.schedule.keep = 1;
        let clock = Clock::manual(noon());
        let run = |schedule: &Schedule| tokio::spawn(schedule.clone().run(clock.clone()));
        let running = run(&first.schedule);
        let mut names = vec!["2026-11-25T12-00-00Z"];
        first.wait_for(&names).await;
        running.abort();
        // A backup of the first store that is being removed.
        let of_first = first.schedule.to.join(names[0]);
        let removed = first.schedule.to.join("2026-11-25T11-00-00Z.draft");
        fs::create_dir(&removed).unwrap();
        fs::copy(of_first.join("backup.json"), removed.join("backup.json")).unwrap();
        names.insert(0, "2026-11-25T11-00-00Z.draft");

        // The second store has no backup of its own, so it makes one at once.
        clock.advance(Duration::from_secs(60));
        let running = run(&second.schedule);
        names.push("2026-11-25T12-01-00Z");
        second.wait_for(&names).await;
        clock.advance(HOUR);
        names[2] = "2026-11-25T13-01-00Z";
        second.wait_for(&names).await;
        running.abort();
        // It is due, and removes its own draft.
        clock.advance(Duration::from_secs(60));
        let running = run(&first.schedule);
        for _ in 0..3_000 {
            if !removed.exists() && folders(&first.schedule.to).unwrap().len() == 3 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert!(!removed.exists());
        assert!(of_first.exists() && first.schedule.to.join(names[2]).exists());
        running.abort();
    }

    #[tokio::test]
    async fn a_backup_that_is_named_in_the_future_stops_no_backup() {
        let installation = Installation::new().await;
        let clock = Clock::manual(noon());
        let running = tokio::spawn(installation.schedule.clone().run(clock.clone()));
        installation.wait_for(&["2026-11-25T12-00-00Z"]).await;
        running.abort();
        let to = &installation.schedule.to;
        let future = "2036-01-01T00-00-00Z";
        fs::rename(to.join("2026-11-25T12-00-00Z"), to.join(future)).unwrap();
        let running = tokio::spawn(installation.schedule.clone().run(clock.clone()));
        let wanted = ["2026-11-25T12-00-00Z", future];
        installation.wait_for(&wanted).await;
        for hour in ["13", "14"] {
            clock.advance(HOUR);
            let newest = format!("2026-11-25T{hour}-00-00Z");
            let before = match hour {
                "13" => "2026-11-25T12-00-00Z",
                _ => "2026-11-25T13-00-00Z",
            };
            installation.wait_for(&[before, &newest, future]).await;
        }
        running.abort();
    }

    /// All bytes of the files below a folder.
    fn bytes_in(folder: &Path, bytes: &mut Vec<u8>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => bytes_in(&path, bytes),
                false => bytes.extend(fs::read(&path).unwrap()),
            }
        }
    }

    #[tokio::test]
    async fn scheduled_backups_and_the_copy_follow_the_settings_and_hold_no_master_key() {
        let Installation { folder, store, .. } = Installation::new().await;
        let root = folder.path();
        let key = "5eed".repeat(16);
        let file = root.join("switchyard.toml");
        let text = format!(
            "[data]\ndir = '{0}'\n[store]\nbackup_to = '{0}/daily'\nbackup_every = '2h'\n\
             backup_keep = 3\ncopy_to = '{0}/copy'\n[secrets]\nmaster_key = '{key}'\n",
            root.display()
        );
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        let settings = config::load(Some(&file), &config::Overrides::default()).unwrap();
        let contents = BackupContents::of(&settings, Some(file));
        let copy = crate::serve::copy::start(&store, &settings, contents.clone()).unwrap();
        let schedule = Schedule::of(&settings, contents, &store).unwrap();
        assert_eq!(schedule.to, root.join("daily"));
        let clock = Clock::manual(noon());
        let running = tokio::spawn(schedule.clone().run(clock.clone()));
        let shown = Installation {
            folder,
            store,
            schedule,
        };
        let hours = ["12", "14", "16", "18", "20"];
        let names = hours.map(|hour| format!("2026-11-25T{hour}-00-00Z"));
        let names = names.each_ref().map(String::as_str);
        for made in 1..=names.len() {
            shown.wait_for(&names[made.saturating_sub(3)..made]).await;
            clock.advance(HOUR);
            tokio::time::sleep(Duration::from_millis(100)).await;
            if made < names.len() {
                clock.advance(HOUR);
            }
        }
        running.abort();
        let root = shown.folder.path();
        let base = root.join("copy/generation-0000000001/base-0000000001");
        for _ in 0..3_000 {
            if base.exists() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        for backup in [root.join("daily").join(names[4]), base] {
            let text = fs::read_to_string(backup.join("switchyard.toml")).unwrap();
            assert!(text.contains("master_key = "), "{text}");
            let mut bytes = Vec::new();
            bytes_in(&backup, &mut bytes);
            let raw = [0x5e, 0xed].repeat(16);
            for secret in [key.as_bytes(), &raw] {
                let is_there = bytes.windows(secret.len()).any(|part| part == secret);
                assert!(!is_there, "{} holds the key", backup.display());
            }
        }
        assert!(shown.store.close().await);
        copy.unwrap().ended().await;
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
