//! The continuous copy: ships the log of a running store to another folder every few seconds, so
//! that the loss of the machine loses no more than these.
//!
//! The folder holds generations without gaps: `generation-<n>/base-<m>` is a verified backup, and
//! `generation-<n>/log-<m>` and its successors are the logs since it began, each frame of which was
//! verified. A new generation begins at each start and after a failure; a new base begins when the
//! logs are larger than the database, or after a day. Older files are removed only when a newer
//! base is whole: until then the logs of the new generation continue those of the older ones.
//! `copied` restores.
//!
//! A generation that holds commits which the store did not have when it was opened may be the only
//! place that has them: the store was restored, its loss was accepted, or its files were replaced
//! by older ones. So each generation that another process made is read before a new one begins. One
//! with such commits, or that cannot be read, is marked by a file, and is never removed.
//!
//! The destination may be unmounted, moved or mounted over while its files are open. Each round
//! compares the open files with their paths, and fails when they are not the same.
//!
//! The store never waits for the copy. When the destination fails, commits go on, and
//! [`StoreStats::copy_lag`](super::StoreStats::copy_lag) grows.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::time::Instant;
use ulid::Ulid;

use super::backup::{MANIFEST, make_folder};
use super::copied::{
    BASE, GENERATION, GenerationEnd, KEPT, LOCK, LOG, OPENED, is_kept, name_of, numbered,
};
use super::error::{MaintenanceError, OpenError, chain};
use super::kv::sqlite::frames::{Chain, HEADER_BYTES};
use super::kv::sqlite::tail::{Part, Tail};
use super::opened::{self, identity_of};
use super::place::replace_durably;
use super::point::Point;
use super::{Store, StoreSettings, WriteAheadLog, lower_priority};
use switchyard_system::clock::Clock;
use switchyard_system::ids::Ids;

/// Makes a backup of the store in a new folder.
pub type MakeBase = Arc<dyn Fn(&Path) -> Result<(), String> + Send + Sync>;

/// The continuous copy of one store.
pub struct Copier {
    tail: Arc<Tail>,
    database: PathBuf,
    to: PathBuf,
    every: Duration,
    make_base: MakeBase,
    /// The last commit group when the store was opened.
    opened: Option<Point>,
    /// Generations that this process began: the store has all their commits.
    own: Vec<Ulid>,
    generation: Option<Generation>,
    making: Option<Making>,
    /// No base is begun before this time.
    next_base: Instant,
    /// Failures since the last base that was made.
    failures: u32,
}

/// Logs that follow each other.
struct Generation {
    /// Identity, also in a file in the folder.
    id: Ulid,
    folder: PathBuf,
    log: Option<ShippedLog>,
    base: Option<Base>,
    /// Bytes of all logs.
    shipped: u64,
    /// Older generations that the first base replaces, by their number.
    replaced: Vec<(u64, PathBuf)>,
    /// Keeps other processes from the destination.
    lock: File,
}

struct ShippedLog {
    number: u64,
    file: File,
    /// Bytes of it.
    written: u64,
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
    generation: Ulid,
    base: Base,
    thread: JoinHandle<Result<(), String>>,
}

impl Copier {
    /// Makes the copier of an open store with backend `sqlite`, and starts to measure its lag.
    /// `None`: the storage has no log to ship.
    pub fn new(
        store: &Store,
        settings: &StoreSettings,
        to: PathBuf,
        every: Duration,
        make_base: MakeBase,
    ) -> Option<Self> {
        let WriteAheadLog { tail, opened } = store.0.write_ahead_log()?;
        tail.watch();
        Some(Self {
            tail,
            database: settings.path.join(settings.backend.name()),
            to,
            every,
            make_base,
            opened,
            own: Vec::new(),
            generation: None,
            making: None,
            next_base: Instant::now(),
            failures: 0,
        })
    }

    /// Copies until the store is closed, and then its last commits.
    pub fn run(mut self) {
        let mut is_open = true;
        while is_open {
            if let Err(error) = self.round() {
                self.generation = None;
                self.tail.unfollow();
                if matches!(error, MaintenanceError::Replaced { .. }) {
                    self.tail.lose_copy();
                }
                self.fail(&chain(&error));
            }
            is_open = self.tail.wait(match self.generation {
                Some(_) => self.every,
                None => self.pause(),
            });
        }
        if self.generation.is_some()
            && let Err(error) = self.round()
        {
            self.fail(&chain(&error));
        }
    }

    fn round(&mut self) -> Result<(), MaintenanceError> {
        let generation = match &mut self.generation {
            Some(generation) => {
                generation.must_be_in_place(&self.to)?;
                generation
            }
            None => {
                let begun = Generation::begin(&self.to, self.opened, &self.own)?;
                self.own.push(begun.id);
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
        let id = generation.id;
        let thread = thread::Builder::new().name("store copy base".to_owned());
        match thread.spawn(move || {
            lower_priority();
            make_base(&to)
        }) {
            Ok(thread) => {
                self.making = Some(Making {
                    generation: id,
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
            && generation.id == making.generation
        {
            generation.base = Some(making.base);
            if let Err(error) = generation.remove_older(&self.to) {
                self.fail(&chain(&error));
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
    /// Makes the folder of a new generation. `opened`: see [`Copier`]; `own`: generations of this
    /// process.
    fn begin(to: &Path, opened: Option<Point>, own: &[Ulid]) -> Result<Self, MaintenanceError> {
        make_folder(to)?;
        let path = to.join(LOCK);
        let lock = File::create(&path).map_err(MaintenanceError::file("open", &path))?;
        if lock.try_lock().is_err() {
            let path = to.to_owned();
            return Err(OpenError::Locked { path }.into());
        }
        for path in entries(to, REMOVED)?.values() {
            fs::remove_dir_all(path).map_err(MaintenanceError::file("remove", path))?;
        }
        let older = entries(to, GENERATION)?;
        let next = next_number(&older)?;
        let mut replaced = Vec::new();
        // Whether logs of a generation without a base may continue an older generation.
        let mut may_continue = false;
        for (number, folder) in older {
            match Use::of(&folder, opened, own) {
                Use::OfLogs if may_continue => replaced.push((number, folder)),
                Use::OfLogs => remove(to, number, &folder)?,
                Use::UntilNext => {
                    may_continue = true;
                    replaced.push((number, folder));
                }
                Use::Kept => may_continue = false,
            }
        }
        let folder = to.join(name_of(GENERATION, next));
        make_folder(&folder)?;
        if let Some(opened) = opened {
            let path = folder.join(OPENED);
            let written = replace_durably(&path, opened.line().as_bytes());
            written.map_err(MaintenanceError::file("write", &path))?;
        }
        let id = Ids::system().ulid(Clock::wall().now());
        let path = folder.join(ID);
        let marked = replace_durably(&path, format!("{id}\n").as_bytes());
        marked.map_err(MaintenanceError::file("write", &path))?;
        sync(to)?;
        Ok(Self {
            id,
            folder,
            log: None,
            base: None,
            shipped: 0,
            replaced,
            lock,
        })
    }

    /// Checks that a restore of the generation is possible: each open file is still at its path,
    /// with all bytes that were written to it, and the base and all later logs exist.
    fn must_be_in_place(&self, to: &Path) -> Result<(), MaintenanceError> {
        let log = self.log.as_ref();
        let log = log.map(|log| {
            let path = self.folder.join(name_of(LOG, log.number));
            (path, &log.file, log.written)
        });
        for (path, file, written) in [Some((to.join(LOCK), &self.lock, 0)), log]
            .into_iter()
            .flatten()
        {
            let found = opened::found(&path);
            let found = found.map_err(MaintenanceError::file("read", &path))?;
            let open = file.metadata();
            let open = open.map_err(MaintenanceError::file("read", &path))?;
            let is_whole = |found: fs::Metadata| {
                identity_of(&found) == identity_of(&open) && found.len() >= written
            };
            if !found.is_some_and(is_whole) {
                return Err(MaintenanceError::Replaced { path });
            }
        }
        let Some(base) = self.base else {
            return Ok(());
        };
        let manifest = self.folder.join(name_of(BASE, base.log)).join(MANIFEST);
        let logs = (base.log..self.log_number()).map(|log| self.folder.join(name_of(LOG, log)));
        for path in std::iter::once(manifest).chain(logs) {
            let is_there = path.try_exists();
            if !is_there.map_err(MaintenanceError::file("read", &path))? {
                return Err(MaintenanceError::Replaced { path });
            }
        }
        Ok(())
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
            let path = self.folder.join(ID);
            if id_of(&self.folder) != Some(self.id) {
                return Err(MaintenanceError::Replaced { path });
            }
            let path = self.folder.join(name_of(LOG, part.log));
            let created = File::create_new(&path);
            let file = created.map_err(MaintenanceError::file("create", &path))?;
            sync(&self.folder)?;
            self.log = Some(ShippedLog {
                number: part.log,
                file,
                written: 0,
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
        log.written += part.bytes.len() as u64;
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
    fn remove_older(&mut self, to: &Path) -> Result<(), MaintenanceError> {
        let newest = self.base.map_or(0, |base| base.log);
        for (prefix, first) in [(BASE, newest), (LOG, newest)] {
            for (_, path) in entries(&self.folder, prefix)?.range(..first) {
                let removed = match path.is_dir() {
                    true => fs::remove_dir_all(path),
                    false => fs::remove_file(path),
                };
                removed.map_err(MaintenanceError::file("remove", path))?;
            }
        }
        for (number, folder) in &self.replaced {
            if !is_kept(folder) && folder.exists() {
                remove(to, *number, folder)?;
            }
        }
        self.replaced.clear();
        Ok(())
    }
}

/// How long an older generation is needed.
enum Use {
    /// The generation has no base. Its logs are of use until the next generation has one, if they
    /// continue an older generation.
    OfLogs,
    /// Until the next generation has a base.
    UntilNext,
    /// Until an operator deletes it: it holds commits that the store does not have, or may.
    Kept,
}

impl Use {
    fn of(generation: &Path, opened: Option<Point>, own: &[Ulid]) -> Self {
        let kept = generation.join(KEPT);
        if kept.exists() {
            return Self::Kept;
        }
        let is_own = id_of(generation).is_some_and(|id| own.contains(&id));
        let has_base = numbered(generation, BASE).map(|bases| !bases.is_empty());
        let reason = match opened {
            Some(opened) if !is_own => reason_to_keep(generation, opened),
            _ => None,
        };
        let reason = reason.or_else(|| has_base.as_ref().err().map(io::Error::to_string));
        let Some(reason) = reason else {
            return match has_base {
                Ok(false) => Self::OfLogs,
                _ => Self::UntilNext,
            };
        };
        tracing::warn!(
            reason,
            generation = %generation.display(),
            "a generation of the continuous copy is kept, it may hold other commits"
        );
        let written = replace_durably(&kept, KEPT_SAYS.as_bytes());
        if let Err(error) = written.map_err(MaintenanceError::file("write", &kept)) {
            // This process does not remove it either.
            tracing::warn!(
                error = chain(&error),
                "a generation could not be marked as kept"
            );
        }
        Self::Kept
    }
}

/// The reason to keep a generation that another process made, if there is one. `opened`: the end of
/// the store when it was opened.
fn reason_to_keep(generation: &Path, opened: Point) -> Option<String> {
    let found = GenerationEnd::of(generation);
    if let Some(fault) = &found.fault {
        return Some(chain(fault));
    }
    let end = found.newest()?;
    let is_past = end.store == opened.store && end.sequence <= opened.sequence;
    (!is_past).then(|| format!("it holds {end}"))
}

fn id_of(generation: &Path) -> Option<Ulid> {
    let id = fs::read_to_string(generation.join(ID)).ok()?;
    id.trim_end().parse().ok()
}

/// Removes a generation, under another name: a part of it that a crash leaves must not look like a
/// damaged generation.
fn remove(to: &Path, number: u64, generation: &Path) -> Result<(), MaintenanceError> {
    let removed = to.join(name_of(REMOVED, number));
    fs::rename(generation, &removed)
        .and_then(|()| fs::remove_dir_all(&removed))
        .map_err(MaintenanceError::file("remove", generation))?;
    tracing::info!(
        generation = %generation.display(),
        "removed an older generation of the continuous copy"
    );
    Ok(())
}

/// The number of a new generation.
fn next_number(older: &BTreeMap<u64, PathBuf>) -> Result<u64, MaintenanceError> {
    let Some((last, folder)) = older.last_key_value() else {
        return Ok(1);
    };
    let used_up = || MaintenanceError::Copy {
        reason: format!(
            "{} has the largest number of a generation: move it away",
            folder.display()
        ),
    };
    last.checked_add(1).ok_or_else(used_up)
}

fn entries(folder: &Path, prefix: &str) -> Result<BTreeMap<u64, PathBuf>, MaintenanceError> {
    numbered(folder, prefix).map_err(MaintenanceError::file("read", folder))
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

const KEPT_SAYS: &str = "\
When the store was opened, it did not have some commits of this generation, or the generation could
not be read to its end.
The server never deletes this folder: delete it when nobody needs these commits.
";
/// File with the identity of a generation.
const ID: &str = "id";
/// Name of a generation that is being removed.
const REMOVED: &str = "removed-";
/// Longest time between two attempts after failures.
const LONGEST_PAUSE: Duration = Duration::from_secs(10 * 60);
/// A base older than this is replaced.
const BASE_EVERY: Duration = Duration::from_secs(24 * 60 * 60);
/// The logs may be as large as this also when the database is smaller: a restore replays so much
/// in seconds.
const MIN_LOG_BYTES: u64 = 1024 * 1024 * 1024;
