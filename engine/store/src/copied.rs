//! Restores from the folder of a continuous copy: a backup, and the logs that continue it.
//!
//! The last log may end with a commit that was cut off while it was shipped; it is left out. Any
//! other damage and any missing commit is refused, except a last log that is gone as a whole: there
//! may have been none.
//!
//! A server begins a generation at each start, and its first base takes a while. Until it is whole,
//! the logs of the new generation are added to the generation before, if they surely continue it.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use ulid::Ulid;

use super::backup::Manifest;
use super::error::{MaintenanceError, OpenError, chain};
use super::kv::sqlite::{frames, log};
use super::point::Point;
use super::progress::{Progress, Report, Unit};
use switchyard_core::time::Timestamp;

/// The newest state in the folder of a continuous copy.
pub(super) struct Copied {
    pub base: PathBuf,
    /// The logs since the base, the oldest first.
    logs: Vec<PathBuf>,
    /// The log that was there when the base was begun.
    needed: Option<PathBuf>,
    /// Later generations, the oldest first. They have no base.
    later: Vec<Later>,
}

/// A generation without a base.
struct Later {
    /// The oldest first.
    logs: Vec<PathBuf>,
    /// The last commit group of the store when the server was started.
    opened: Option<Point>,
}

impl Copied {
    /// `None`: the folder holds no continuous copy. It may also be one generation of a copy. The
    /// newest generation with a base is taken, and refused if that base cannot be read: an older
    /// one lacks commits, and only an operator can choose it.
    pub(super) fn find(folder: &Path) -> Result<Option<Self>, MaintenanceError> {
        let read = MaintenanceError::file("read", folder);
        let generations = numbered(folder, GENERATION).map_err(read)?;
        let is_copy = !generations.is_empty();
        let mut candidates: Vec<_> = generations.into_values().rev().collect();
        if !is_copy {
            candidates.push(folder.to_owned());
        }
        let mut later = Vec::new();
        for generation in &candidates {
            let read = MaintenanceError::file("read", generation);
            let bases = numbered(generation, BASE).map_err(&read)?;
            let Some((number, base)) = bases.into_iter().next_back() else {
                later.insert(0, generation); // its first base was never whole
                continue;
            };
            Manifest::read(&base).map_err(|error| match error {
                MaintenanceError::NotABackup { path, reason } if candidates.len() > 1 => {
                    let reason = format!("{reason}. {OLDER_LACKS}");
                    MaintenanceError::NotABackup { path, reason }
                }
                error => error,
            })?;
            let logs = numbered(generation, LOG).map_err(&read)?;
            let logs = logs.into_iter().filter(|(log, _)| *log >= number);
            return Ok(Some(Self {
                base,
                logs: logs.map(|(_, log)| log).collect(),
                // The first log begins with the first commit, which may not have been made.
                needed: (number > 1).then(|| generation.join(name_of(LOG, number))),
                later: Later::of(generation, &later)?,
            }));
        }
        match is_copy {
            true => Err(MaintenanceError::NotABackup {
                path: folder.to_owned(),
                reason: "no generation of this continuous copy has a whole base".to_owned(),
            }),
            false => Ok(None),
        }
    }

    /// Adds the commits of the logs to a copy of the base. Returns the number of the last group.
    pub(super) fn replay(
        &self,
        base: &Manifest,
        database: &Path,
        report: Report<'_>,
    ) -> Result<u64, MaintenanceError> {
        let later = self.later.iter().map(|later| later.logs.len());
        let mut replay = Replay {
            database,
            end: Point::new(base.store, base.sequence, base.sequence_at),
            done: 0,
            total: (self.logs.len() + later.sum::<usize>()) as u64,
            report,
        };
        if let Some(needed) = self.needed.as_ref()
            && !self.logs.contains(needed)
        {
            return Err(damaged(needed, HAS_NO_COMMIT));
        }
        replay.add(&self.logs, self.needed.as_ref())?;
        for later in &self.later {
            if later.continues(replay.end)? {
                replay.add(&later.logs, None)?;
            }
        }
        Ok(replay.end.sequence)
    }
}

/// A restore that adds logs to a copy of a base.
struct Replay<'a> {
    /// Folder of the database.
    database: &'a Path,
    /// The last commit group in it.
    end: Point,
    /// Logs that were added, and all of them.
    done: u64,
    total: u64,
    report: Report<'a>,
}

impl Replay<'_> {
    fn add(&mut self, logs: &[PathBuf], needed: Option<&PathBuf>) -> Result<(), MaintenanceError> {
        let placed = frames::log_of(self.database);
        for log in logs {
            match span(log)? {
                None if needed == Some(log) => return Err(damaged(log, HAS_NO_COMMIT)),
                // The last one was begun and not continued.
                None => {}
                Some((_, last)) if last.store != self.end.store => {
                    return Err(damaged(log, "it belongs to another store than the base"));
                }
                // Ended before the base was made.
                Some((_, last)) if last.sequence < self.end.sequence => {}
                // May begin before the store got its present identity, and the base after it.
                Some((first, _)) if first.sequence > self.end.sequence + 1 => {
                    let (begins, end) = (first.sequence, self.end.sequence);
                    let fault = format!(
                        "it begins with commit group {begins} and does not continue group {end}"
                    );
                    return Err(damaged(log, &fault));
                }
                Some((_, last)) => {
                    fs::copy(log, &placed).map_err(MaintenanceError::file("copy", log))?;
                    log::move_in(self.database).map_err(|error| MaintenanceError::Copy {
                        reason: error.to_string(),
                    })?;
                    self.end = last;
                }
            }
            self.done += 1;
            (self.report)(Progress {
                stage: "replay",
                done: self.done,
                total: Some(self.total),
                unit: Unit::Logs,
            });
        }
        Ok(())
    }
}

impl Later {
    /// The generations that may continue `base`. A kept generation holds commits that the store
    /// lost later, so it has no continuation.
    fn of(base: &Path, later: &[&PathBuf]) -> Result<Vec<Self>, MaintenanceError> {
        let mut found = Vec::new();
        let mut before = base;
        for generation in later {
            if is_kept(before) || is_kept(generation) {
                break;
            }
            let logs = numbered(generation, LOG);
            let logs = logs.map_err(MaintenanceError::file("read", generation))?;
            let opened = fs::read(generation.join(OPENED)).ok();
            found.push(Self {
                logs: logs.into_values().collect(),
                opened: opened.and_then(|line| Point::of_line(&line)),
            });
            before = generation;
        }
        Ok(found)
    }

    /// Whether the logs continue a copy that ends with this group. Logs of another history of the
    /// store would mix pages of both. So the first log has to hold the group itself, or to begin
    /// with the one after it in a store that was opened with it.
    fn continues(&self, end: Point) -> Result<bool, MaintenanceError> {
        let Some(log) = self.logs.first() else {
            return Ok(false);
        };
        let Some((first, last)) = span(log)? else {
            return Ok(false);
        };
        if last.store != end.store {
            return Ok(false);
        }
        let is_next = first.sequence == end.sequence + 1 && self.opened == Some(end);
        let holds = || frames::holds(log, end).map_err(MaintenanceError::file("read", log));
        Ok(is_next || holds()?)
    }
}

/// End of a continuous copy.
#[derive(Default)]
pub(super) struct CopyEnd {
    /// The last commit group of the store that any generation holds.
    pub end: Option<Point>,
    /// Whether a generation that cannot be read may hold later ones.
    pub is_unknown: bool,
}

/// The commits that a generation holds.
#[derive(Default)]
pub(super) struct GenerationEnd {
    /// The last commit group of each store, also around damage.
    ends: Vec<Point>,
    /// The part of it that cannot be read.
    pub fault: Option<MaintenanceError>,
    /// Whether there may be later ones in that part.
    may_hold_more: bool,
}

/// The end of a store in its continuous copy. `since`: time of the restore that gave the store its
/// identity. A copy that is not there, or cannot be read in time, tells nothing; the log says why.
pub(super) fn end_in_time(copy: &Path, store: Ulid, since: Option<Timestamp>) -> CopyEnd {
    let (sender, answer) = channel();
    let folder = copy.to_owned();
    let reader = thread::Builder::new().name("store copy end".to_owned());
    let reading = reader.spawn(move || sender.send(end_of(&folder, store, since)));
    let error = match reading.map(|_| answer.recv_timeout(LONGEST_READ)) {
        Ok(Ok(Ok(end))) => return end,
        Ok(Ok(Err(error))) => chain(&error),
        Ok(Err(error)) => error.to_string(),
        Err(error) => error.to_string(),
    };
    tracing::warn!(
        error,
        folder = %copy.display(),
        "the store is not compared with its unreadable continuous copy"
    );
    CopyEnd::default()
}

fn end_of(copy: &Path, store: Ulid, since: Option<Timestamp>) -> Result<CopyEnd, MaintenanceError> {
    let read = MaintenanceError::file("read", copy);
    let mut copied = CopyEnd::default();
    for generation in numbered(copy, GENERATION).map_err(read)?.values() {
        let found = GenerationEnd::of(generation);
        if let Some(fault) = &found.fault {
            let error = chain(fault);
            tracing::warn!(error, "a generation of the continuous copy cannot be read");
        }
        // An unreadable generation is marked at the start that it held: it holds no later one.
        let is_of_store = match found.ends.is_empty() {
            true => !generation.is_file() && !generation.join(KEPT).exists(),
            false => found.ends.iter().any(|end| end.store == store),
        };
        copied.is_unknown |= found.may_hold_more && is_of_store;
        // A store that gets a new identity keeps all older generations once it copies. So this one
        // was made after the state that is opened now: an older store was put in its place. A store
        // that was restored since has not copied yet.
        let is_later = |end: Point| {
            let was_before = since.is_some_and(|since| end.at <= since);
            end.store != store && !was_before
        };
        if found.newest().is_some_and(is_later) && !is_kept(generation) {
            tracing::warn!(
                generation = %generation.display(),
                "a generation of the continuous copy is of a later store"
            );
            copied.is_unknown = true;
        }
        let ends = found.ends.into_iter().filter(|end| end.store == store);
        copied.end = copied
            .end
            .into_iter()
            .chain(ends)
            .max_by_key(|point| point.sequence);
    }
    Ok(copied)
}

impl GenerationEnd {
    pub(super) fn of(generation: &Path) -> Self {
        let mut found = Self {
            may_hold_more: true,
            ..Self::default()
        };
        if let Err(fault) = found.read(generation) {
            found.fault = Some(fault);
        }
        found.may_hold_more &= found.fault.is_some();
        found
    }

    /// The last commit group of any store.
    pub(super) fn newest(&self) -> Option<Point> {
        self.ends.iter().copied().max_by_key(|point| point.sequence)
    }

    fn read(&mut self, generation: &Path) -> Result<(), MaintenanceError> {
        let read = MaintenanceError::file("read", generation);
        let bases = numbered(generation, BASE).map_err(&read)?;
        let mut fault = None;
        for base in bases.values().rev() {
            match Manifest::read(base) {
                Ok(base) => {
                    let end = Point::new(base.store, base.sequence, base.sequence_at);
                    self.ends.push(end);
                    break;
                }
                Err(error) => fault = fault.or(Some(error)),
            }
        }
        let newest = bases.keys().next_back();
        let logs = numbered(generation, LOG).map_err(&read)?;
        for (number, log) in logs.iter().rev() {
            let ends = frames::ends(log).map_err(MaintenanceError::file("read", log))?;
            if !ends.is_empty() {
                // The log continues the base, whatever the base holds.
                self.may_hold_more = newest.is_some_and(|base| number < base);
                self.ends.extend(ends);
                break;
            }
        }
        match fault {
            Some(fault) => Err(fault),
            None => Ok(()),
        }
    }
}

/// Whether a generation must not be removed, or may have to be kept.
pub(super) fn is_kept(generation: &Path) -> bool {
    generation.join(KEPT).try_exists().unwrap_or(true)
}

/// The right to read a continuous copy that no server writes.
pub struct CopyLock {
    _file: Option<File>,
}

/// Locks the continuous copy in a folder, or the one of which the folder is a generation. Any other
/// folder needs no lock.
///
/// # Errors
/// When a running server writes the copy, or its lock cannot be opened.
pub fn lock_copy(folder: &Path) -> Result<CopyLock, MaintenanceError> {
    let real = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    let name = real.file_name().and_then(|name| name.to_str());
    let is_generation = name.is_some_and(|name| name.starts_with(GENERATION));
    let copy = match real.parent() {
        Some(parent) if is_generation => parent,
        _ => real.as_path(),
    };
    let path = copy.join(LOCK);
    let file = match File::open(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        file => Some(file.map_err(MaintenanceError::file("open", &path))?),
    };
    // Shared: the file is open for reading only, and a network file system refuses it another lock.
    let taken = file.as_ref().map(File::try_lock_shared);
    if let Some(Err(TryLockError::WouldBlock)) = taken {
        let path = copy.to_owned();
        return Err(MaintenanceError::CopyInUse { path });
    }
    Ok(CopyLock { _file: file })
}

/// First and last commit group of a shipped log.
fn span(log: &Path) -> Result<Option<(Point, Point)>, MaintenanceError> {
    frames::span(log).map_err(|error| match error {
        OpenError::DamagedLog { log, fault } => damaged(&log, &fault),
        error => error.into(),
    })
}

fn damaged(log: &Path, fault: &str) -> MaintenanceError {
    MaintenanceError::Damaged {
        what: format!("the continuous copy in {}", log.display()),
        faults: fault.to_owned(),
    }
}

/// The entries of a folder with this prefix and a number behind it; none without the folder.
pub(super) fn numbered(folder: &Path, prefix: &str) -> io::Result<BTreeMap<u64, PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        entries => entries?,
    };
    let mut found = BTreeMap::new();
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        let number = name.and_then(|name| name.strip_prefix(prefix)?.parse().ok());
        if let Some(number) = number.filter(|number| name == Some(&name_of(prefix, *number))) {
            found.insert(number, path);
        }
    }
    Ok(found)
}

pub(super) fn name_of(prefix: &str, number: u64) -> String {
    format!("{prefix}{number:010}")
}

pub(super) const GENERATION: &str = "generation-";
pub(super) const BASE: &str = "base-";
pub(super) const LOG: &str = "log-";
/// File of a generation with the last commit group of the store when its server was started.
pub(super) const OPENED: &str = "opened";
/// The file whose lock the server holds that writes the copy.
pub(super) const LOCK: &str = "lock";
/// A generation with this file is never removed: see `copier`.
pub(super) const KEPT: &str = "kept";
const OLDER_LACKS: &str = "An older generation lacks later commits: to restore it all the same, \
    name its folder";
const HAS_NO_COMMIT: &str = "it has no commit, and there were some when the base was begun";
/// Longest time that a start waits for the folder of the copy.
const LONGEST_READ: Duration = Duration::from_secs(20);
