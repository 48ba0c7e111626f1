//! A simulated power cut: loses unsynced data from files that a real process wrote.
//!
//! The child runs with `tests/power_cut/shim.c` between it and the operating system. The shim logs
//! every write and every sync below one directory. Killing the child stands for a power cut: each
//! file is reset to its synced content, plus, by a seeded choice, some of the later writes, whole
//! or torn. Directory entries count as durable at once, except that a new file without any sync may
//! be gone.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Part of the unsynced writes that survives a cut.
#[derive(Clone, Copy, Debug)]
pub enum Survives {
    Nothing,
    /// All writes before a random moment, and some sectors of the write at that moment.
    Prefix,
    /// Each page of each file as of a random moment since the last sync: the disk reordered writes.
    Pages,
}

/// Builds the shim in a directory and returns its path. Compiles to a temporary name first, because
/// a process of another test may be loading the library.
pub fn build_shim(directory: &Path) -> io::Result<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("power_cut/shim.c");
    let library = directory.join("power_cut.so");
    let draft = directory.join(format!("power_cut.{}.so", std::process::id()));
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-Wall", "-o"])
        .arg(&draft)
        .arg(&source)
        .status()?;
    if compiled.success() {
        fs::rename(&draft, &library)?;
        Ok(library)
    } else {
        Err(io::Error::other(
            "cc does not compile the shim, its message is above",
        ))
    }
}

/// Files below a directory, by inode, as of before the child starts. Their content counts as
/// durable.
pub struct Before(BTreeMap<u64, (PathBuf, Vec<u8>)>);

impl Before {
    pub fn of(root: &Path) -> io::Result<Self> {
        let mut files = BTreeMap::new();
        for path in files_below(root)? {
            let content = fs::read(&path)?;
            files.insert(fs::metadata(&path)?.ino(), (path, content));
        }
        Ok(Self(files))
    }
}

/// Removes from the files below `root` the writes that the log shows as unsynced. Returns the
/// number of bytes that could have been lost.
pub fn cut(
    before: Before,
    root: &Path,
    log: &[u8],
    survives: Survives,
    seed: u64,
) -> Result<usize, String> {
    let mut history = replay(before, log)?;
    let mut chance = Chance(seed | 1);
    let mut at_stake = 0;
    let mut seen = BTreeSet::new();
    for path in files_below(root).map_err(|error| error.to_string())? {
        if path.as_os_str().as_encoded_bytes().ends_with(SHARED_MEMORY) {
            continue;
        }
        let describe = |error: io::Error| format!("{}: {error}", path.display());
        let inode = fs::metadata(&path).map_err(describe)?.ino();
        if !seen.insert(inode) {
            continue; // another hard link to a file that was reset already
        }
        let now = fs::read(&path).map_err(describe)?;
        let Some(file) = history.files.remove(&inode) else {
            if now.is_empty() {
                continue; // killed between the creation and its log record
            }
            return Err(format!(
                "{} was written behind the shim's back",
                path.display()
            ));
        };
        if now.is_empty() && file.is_another(&path) {
            continue; // as above, and the inode was reused from a removed file
        }
        file.compare(&now)
            .map_err(|wrong| format!("{}: {wrong}", path.display()))?;
        at_stake += file.pending.iter().map(Event::size).sum::<usize>();
        if file.may_be_gone(&path, &history.synced) && chance.below(2) == 0 {
            fs::remove_file(&path).map_err(describe)?;
            continue;
        }
        let left = file.survivor(survives, &mut chance);
        if left != now {
            write_sparse(&path, &left).map_err(describe)?;
        }
    }
    Ok(at_stake)
}

/// Known durable content of a file, and its later changes.
#[derive(Default)]
struct Content {
    /// Name at which the file was found or created, if logged.
    name: PathBuf,
    durable: Vec<u8>,
    pending: Vec<Event>,
    /// Number of events that are durable and no longer pending.
    done: usize,
    /// Moment of creation, if the file was created during the log and never synced.
    unsynced_since: Option<usize>,
}

enum Event {
    Write { offset: usize, bytes: Vec<u8> },
    Resize(usize),
}

#[derive(Default)]
struct History {
    files: BTreeMap<u64, Content>,
    /// Moments at which directories (or any other inode) were synced.
    synced: BTreeSet<(u64, usize)>,
    /// Syncs in progress, with the number of events of the file that each covers.
    begun: BTreeMap<usize, usize>,
}

fn replay(before: Before, log: &[u8]) -> Result<History, String> {
    let durable = |(name, durable)| Content {
        name,
        durable,
        ..Content::default()
    };
    let mut history = History {
        files: before
            .0
            .into_iter()
            .map(|(inode, file)| (inode, durable(file)))
            .collect(),
        ..History::default()
    };
    let mut rest = log;
    let mut moment = 0;
    // The kill may have truncated the last record. Its call was not made.
    while let Some((record, after)) = Record::split(rest) {
        rest = after;
        moment += 1;
        let file = history.files.entry(record.inode);
        match record.kind {
            b'C' => {
                let created = Content {
                    name: PathBuf::from(String::from_utf8_lossy(record.bytes).into_owned()),
                    unsynced_since: Some(moment),
                    ..Content::default()
                };
                *file.or_default() = created; // the inode may be reused from another file
            }
            b'W' => file.or_default().pending.push(Event::Write {
                offset: record.offset,
                bytes: record.bytes.to_vec(),
            }),
            b'T' => file.or_default().pending.push(Event::Resize(record.offset)),
            b'B' => {
                file.and_modify(|file| {
                    history
                        .begun
                        .insert(record.offset, file.done + file.pending.len());
                });
            }
            b'S' => {
                history.synced.insert((record.inode, moment));
                let covered = history.begun.remove(&record.offset).unwrap_or(0);
                file.and_modify(|file| file.sync(covered));
            }
            kind => {
                let what = String::from_utf8_lossy(record.bytes);
                return Err(format!(
                    "the shim does not understand what was done: {} {what}",
                    kind as char
                ));
            }
        }
    }
    Ok(history)
}

struct Record<'a> {
    kind: u8,
    inode: u64,
    offset: usize,
    bytes: &'a [u8],
}

impl<'a> Record<'a> {
    fn split(log: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let (head, rest) = log.split_first_chunk::<25>()?;
        let number = |at: usize| {
            head[at..]
                .first_chunk()
                .map(|bytes| u64::from_ne_bytes(*bytes))
        };
        let (bytes, rest) = rest.split_at_checked(number(17)? as usize)?;
        let record = Self {
            kind: head[0],
            inode: number(1)?,
            offset: number(9)? as usize,
            bytes,
        };
        Some((record, rest))
    }
}

impl Event {
    fn apply(&self, to: &mut Vec<u8>) {
        match self {
            Self::Write { offset, bytes } => write_at(to, *offset, bytes),
            Self::Resize(length) => to.resize(*length, 0),
        }
    }

    fn size(&self) -> usize {
        match self {
            Self::Write { bytes, .. } => bytes.len(),
            Self::Resize(_) => 0,
        }
    }
}

impl Content {
    fn sync(&mut self, covered: usize) {
        let durable = covered.saturating_sub(self.done).min(self.pending.len());
        for event in self.pending.drain(..durable) {
            event.apply(&mut self.durable);
        }
        self.done += durable;
        self.unsynced_since = None;
    }

    /// Whether the log explains the content of the file. If not, the shim missed a call and the
    /// test would prove nothing.
    fn compare(&self, now: &[u8]) -> Result<(), String> {
        let mut logged = self.durable.clone();
        let (last, before) = match self.pending.split_last() {
            Some((last, before)) => (Some(last), before),
            None => (None, [].as_slice()),
        };
        before.iter().for_each(|event| event.apply(&mut logged));
        // A call is logged before it is made, so the kill may have prevented or interrupted the
        // last one.
        let mut is_explained = logged == now;
        if let Some(last) = last {
            if let Event::Write { offset, bytes } = last {
                let written = now.get(*offset..).unwrap_or_default();
                let made = written
                    .iter()
                    .zip(bytes)
                    .take_while(|(written, byte)| written == byte)
                    .count();
                let mut unfinished = logged.clone();
                write_at(&mut unfinished, *offset, &bytes[..made]);
                is_explained |= unfinished == now;
            }
            last.apply(&mut logged);
            is_explained |= logged == now;
        }
        if is_explained {
            return Ok(());
        }
        let at = logged
            .iter()
            .zip(now)
            .position(|(logged, now)| logged != now);
        Err(format!(
            "it has {} bytes, the log of the shim makes it {}; they part at {at:?}",
            now.len(),
            logged.len()
        ))
    }

    /// Whether the log describes a file with another name. This file may have reused its inode.
    fn is_another(&self, path: &Path) -> bool {
        self.name != path
    }

    fn may_be_gone(&self, path: &Path, synced: &BTreeSet<(u64, usize)>) -> bool {
        let Some(moment) = self.unsynced_since else {
            return false;
        };
        let Some(directory) = path.parent().and_then(|parent| fs::metadata(parent).ok()) else {
            return false;
        };
        self.name == path
            && synced
                .range((directory.ino(), moment)..=(directory.ino(), usize::MAX))
                .next()
                .is_none()
    }

    fn survivor(self, survives: Survives, chance: &mut Chance) -> Vec<u8> {
        match survives {
            Survives::Nothing => self.durable,
            Survives::Prefix => self.prefix(chance),
            Survives::Pages => self.pages(chance),
        }
    }

    fn prefix(self, chance: &mut Chance) -> Vec<u8> {
        let mut left = self.durable;
        let whole = chance.below(self.pending.len() + 1);
        for event in &self.pending[..whole] {
            event.apply(&mut left);
        }
        if let Some(Event::Write { offset, bytes }) = self.pending.get(whole) {
            let sectors = chance.below(bytes.len() / SECTOR + 1);
            write_at(&mut left, *offset, &bytes[..sectors * SECTOR]);
        }
        left
    }

    fn pages(self, chance: &mut Chance) -> Vec<u8> {
        let end = self.pending.len();
        // Half of the cuts leave holes: one page in every `older` is from an earlier moment than
        // the rest.
        let older = [1, 2, 8, 32][chance.below(4)];
        let mut moment_of = |any: usize| match chance.below(any) {
            0 => chance.below(end + 1),
            _ => end,
        };
        let resized_until = moment_of(older);
        let mut kept: BTreeMap<usize, usize> = BTreeMap::new();
        let mut left = self.durable;
        let mut length = left.len();
        for (moment, event) in self.pending.iter().enumerate() {
            match event {
                Event::Resize(to) if moment < resized_until => {
                    length = *to;
                    left.truncate(*to);
                }
                Event::Resize(_) => {}
                Event::Write { offset, bytes } => {
                    if moment < resized_until {
                        length = length.max(offset + bytes.len());
                    }
                    for (at, piece) in split_by_page(*offset, bytes) {
                        let until = kept.entry(at / PAGE).or_insert_with(|| moment_of(older));
                        if moment < *until {
                            write_at(&mut left, at, piece);
                        }
                    }
                }
            }
        }
        left.resize(length, 0);
        left
    }
}

fn split_by_page(offset: usize, bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let first = (PAGE - offset % PAGE).min(bytes.len());
    let (head, tail) = bytes.split_at(first);
    let pieces = std::iter::once(head)
        .chain(tail.chunks(PAGE))
        .filter(|piece| !piece.is_empty());
    pieces.scan(offset, |at, piece| {
        let start = *at;
        *at += piece.len();
        Some((start, piece))
    })
}

fn write_at(to: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    let end = offset + bytes.len();
    if to.len() < end {
        to.resize(end, 0);
    }
    to[offset..end].copy_from_slice(bytes);
}

/// Leaves trailing zero pages unwritten: storage backends preallocate files of many megabytes.
fn write_sparse(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let used = bytes
        .chunks(PAGE)
        .rposition(|page| page != &[0; PAGE][..page.len()]);
    let mut file = File::create(path)?;
    file.write_all(&bytes[..used.map_or(0, |last| bytes.len().min((last + 1) * PAGE))])?;
    file.set_len(bytes.len() as u64)
}

fn files_below(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                directories.push(entry.path());
            } else {
                files.push(entry.path());
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Seeded random numbers. The same seed gives the same cut.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32) as usize) % end
    }
}

/// The end of the names of files that the shim does not watch: SQLite shares memory through them
/// and discards what it finds there after a crash.
const SHARED_MEMORY: &[u8] = b"-shm";
/// Bytes that a disk writes atomically.
const SECTOR: usize = 512;
/// Bytes that the operating system passes to the disk at once.
const PAGE: usize = 4096;
