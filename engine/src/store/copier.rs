//! The continuous copy: ships the log of a running store to another folder every few seconds, so
//! that the loss of the machine loses no more than these.
//!
//! The folder holds generations without gaps: `generation-<n>/base-<m>` is a verified backup, and
//! `generation-<n>/log-<m>` and its successors are the logs since it began, each frame of which was
//! verified. A new generation begins at each start and after a failure; a new base begins when the
//! logs are larger than the database, or after a day. Older files are removed only when a newer
//! base is whole. `copied` restores.
//!
//! The store never waits for the copy. When the destination fails, commits go on, and
//! [`StoreStats::copy_lag`](super::StoreStats::copy_lag) grows.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::time::Instant;

use super::backup::make_folder;
use super::copied::{BASE, GENERATION, LOG, name_of, numbered};
use super::error::{MaintenanceError, OpenError};
use super::kv::sqlite::frames::{Chain, HEADER_BYTES};
use super::kv::sqlite::tail::{Part, Tail};
use super::{Manifest, Store, StoreSettings, lower_priority};

/// Makes a backup of the store in a new folder.
pub type MakeBase = Arc<dyn Fn(&Path) -> Result<(), String> + Send + Sync>;

/// The continuous copy of one store.
pub struct Copier {
    tail: Arc<Tail>,
    database: PathBuf,
    to: PathBuf,
    every: Duration,
    make_base: MakeBase,
    generation: Option<Generation>,
    making: Option<Making>,
    /// No base is begun before this time.
    next_base: Instant,
    /// Failures since the last base that was made.
    failures: u32,
}

/// Logs that follow each other.
struct Generation {
    number: u64,
    folder: PathBuf,
    log: Option<ShippedLog>,
    base: Option<Base>,
    /// Bytes of all logs.
    shipped: u64,
    /// Keeps other processes from the destination.
    _lock: File,
}

struct ShippedLog {
    number: u64,
    file: File,
    chain: Chain,
}

#[derive(Clone, Copy)]
struct Base {
    /// Number of the first log that continues it.
    log: u64,
    begun: Instant,
    /// Bytes of the generation that were shipped when it was begun.
    shipped: u64,
}

/// A base that is being made, on a thread of its own.
struct Making {
    generation: u64,
    base: Base,
    thread: JoinHandle<Result<(), String>>,
}

impl Copier {
    /// Makes the copier of an open store with backend `sqlite`, and starts to measure its lag.
    pub fn new(
        store: &Store,
        settings: &StoreSettings,
        to: PathBuf,
        every: Duration,
        make_base: MakeBase,
    ) -> Self {
        let tail = store.0.shared.tail.clone();
        tail.watch();
        Self {
            tail,
            database: settings.path.join(settings.backend.name()),
            to,
            every,
            make_base,
            generation: None,
            making: None,
            next_base: Instant::now(),
            failures: 0,
        }
    }

    /// Copies until the store is closed, and then its last commits.
    pub fn run(mut self) {
        let mut is_open = true;
        while is_open {
            if let Err(error) = self.round() {
                self.generation = None;
                self.tail.unfollow();
                self.fail(&error.to_string());
            }
            is_open = self.tail.wait(match self.generation {
                Some(_) => self.every,
                None => self.pause(),
            });
        }
        if self.generation.is_some()
            && let Err(error) = self.round()
        {
            self.fail(&error.to_string());
        }
    }

    fn round(&mut self) -> Result<(), MaintenanceError> {
        let generation = match &mut self.generation {
            Some(generation) => generation,
            None => {
                let begun = Generation::begin(&self.to)?;
                self.tail.follow();
                self.generation.insert(begun)
            }
        };
        self.tail.begin_round();
        while let Some(part) = self.tail.next().map_err(describe)? {
            generation.append(&part)?;
        }
        generation.sync()?;
        if generation.base.is_some() {
            self.tail.end_round();
        }
        self.finish_base();
        self.begin_base();
        Ok(())
    }

    fn begin_base(&mut self) {
        let (Some(generation), None) = (&self.generation, &self.making) else {
            return;
        };
        if Instant::now() < self.next_base || !generation.needs_base(&self.database) {
            return;
        }
        let base = Base {
            log: generation.log_number(),
            begun: Instant::now(),
            shipped: generation.shipped,
        };
        let to = generation.folder.join(name_of(BASE, base.log));
        let make_base = self.make_base.clone();
        let number = generation.number;
        let thread = thread::Builder::new().name("store copy base".to_owned());
        match thread.spawn(move || {
            lower_priority();
            make_base(&to)
        }) {
            Ok(thread) => {
                self.making = Some(Making {
                    generation: number,
                    base,
                    thread,
                });
            }
            Err(error) => self.fail(&error.to_string()),
        }
    }

    /// Takes over a base that is made, and removes the files that it replaces.
    fn finish_base(&mut self) {
        let Some(making) = self.making.take_if(|making| making.thread.is_finished()) else {
            return;
        };
        let made = making.thread.join();
        match made.unwrap_or_else(|_| Err("its thread has panicked".to_owned())) {
            Ok(()) => self.failures = 0,
            Err(error) => return self.fail(&error),
        }
        if let Some(generation) = &mut self.generation
            && generation.number == making.generation
        {
            generation.base = Some(making.base);
            if let Err(error) = generation.remove_older(&self.to) {
                self.fail(&error.to_string());
            }
        }
    }

    fn fail(&mut self, error: &str) {
        self.failures = self.failures.saturating_add(1);
        self.next_base = Instant::now() + self.pause();
        metrics::counter!("switchyard_store_copy_failures_total").increment(1);
        tracing::error!(
            error,
            folder = %self.to.display(),
            "failed to copy the store continuously"
        );
    }

    /// Time until the next attempt after a failure.
    fn pause(&self) -> Duration {
        let factor = 2_u32.saturating_pow(self.failures);
        self.every.saturating_mul(factor).min(LONGEST_PAUSE)
    }
}

impl Generation {
    /// Makes the folder of a new generation. Generations without a base are of no use.
    fn begin(to: &Path) -> Result<Self, MaintenanceError> {
        make_folder(to)?;
        let path = to.join("lock");
        let lock = File::create(&path).map_err(MaintenanceError::file("open", &path))?;
        if lock.try_lock().is_err() {
            let path = to.to_owned();
            return Err(OpenError::Locked { path }.into());
        }
        let older = numbered(to, GENERATION).map_err(MaintenanceError::file("read", to))?;
        for folder in older.values() {
            let bases = numbered(folder, BASE).map_err(MaintenanceError::file("read", folder))?;
            if !bases.values().any(|base| Manifest::read(base).is_ok()) {
                fs::remove_dir_all(folder).map_err(MaintenanceError::file("remove", folder))?;
            }
        }
        let number = older.keys().next_back().map_or(1, |last| last + 1);
        let folder = to.join(name_of(GENERATION, number));
        make_folder(&folder)?;
        sync(to)?;
        Ok(Self {
            number,
            folder,
            log: None,
            base: None,
            shipped: 0,
            _lock: lock,
        })
    }

    fn log_number(&self) -> u64 {
        self.log.as_ref().map_or(1, |log| log.number)
    }

    fn append(&mut self, part: &Part) -> Result<(), MaintenanceError> {
        let damaged = || MaintenanceError::Damaged {
            what: "the log".to_owned(),
            faults: "a frame does not follow the one before it".to_owned(),
        };
        let mut frames = part.bytes.as_slice();
        if self.log.as_ref().is_none_or(|log| log.number != part.log) {
            // The log before is whole before the next one exists.
            self.sync()?;
            let path = self.folder.join(name_of(LOG, part.log));
            let created = File::create_new(&path);
            let file = created.map_err(MaintenanceError::file("create", &path))?;
            sync(&self.folder)?;
            self.log = Some(ShippedLog {
                number: part.log,
                file,
                chain: Chain::begin(frames).ok_or_else(damaged)?,
            });
            frames = frames.get(HEADER_BYTES..).unwrap_or_default();
        }
        let Some(log) = &mut self.log else {
            return Ok(());
        };
        if !log.chain.continues(frames) {
            return Err(damaged());
        }
        let written = log.file.write_all(&part.bytes);
        written.map_err(MaintenanceError::file("write", &self.folder))?;
        self.shipped += part.bytes.len() as u64;
        Ok(())
    }

    fn sync(&self) -> Result<(), MaintenanceError> {
        let flushed = self.log.as_ref().map_or(Ok(()), |log| log.file.sync_data());
        flushed.map_err(MaintenanceError::file("flush", &self.folder))
    }

    fn needs_base(&self, database: &Path) -> bool {
        let Some(base) = &self.base else {
            return true;
        };
        let size = || {
            let files = fs::read_dir(database).into_iter().flatten().flatten();
            let sizes = files.filter_map(|file| Some(file.metadata().ok()?.len()));
            sizes.sum::<u64>()
        };
        self.log_number() > base.log
            && (base.begun.elapsed() >= BASE_EVERY
                || self.shipped - base.shipped > size().max(MIN_LOG_BYTES))
    }

    /// Removes all that the newest base replaces.
    fn remove_older(&self, to: &Path) -> Result<(), MaintenanceError> {
        let newest = self.base.map_or(0, |base| base.log);
        for (parent, prefix, first) in [
            (to, GENERATION, self.number),
            (self.folder.as_path(), BASE, newest),
            (self.folder.as_path(), LOG, newest),
        ] {
            let found = numbered(parent, prefix).map_err(MaintenanceError::file("read", parent))?;
            for (_, path) in found.range(..first) {
                let removed = match path.is_dir() {
                    true => fs::remove_dir_all(path),
                    false => fs::remove_file(path),
                };
                removed.map_err(MaintenanceError::file("remove", path))?;
            }
        }
        Ok(())
    }
}

fn sync(folder: &Path) -> Result<(), MaintenanceError> {
    let flushed = File::open(folder).and_then(|folder| folder.sync_all());
    flushed.map_err(MaintenanceError::file("flush", folder))
}

fn describe(error: super::kv::KvError) -> MaintenanceError {
    MaintenanceError::Copy {
        reason: error.to_string(),
    }
}

/// Longest time between two attempts after failures.
const LONGEST_PAUSE: Duration = Duration::from_secs(10 * 60);
/// A base older than this is replaced.
const BASE_EVERY: Duration = Duration::from_secs(24 * 60 * 60);
/// The logs may be as large as this also when the database is smaller: a restore replays so much
/// in seconds.
const MIN_LOG_BYTES: u64 = 1024 * 1024 * 1024;
