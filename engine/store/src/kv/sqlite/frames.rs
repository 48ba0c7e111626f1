//! The log file, read as its published format describes it:
//! <https://www.sqlite.org/fileformat2.html#the_write_ahead_log>.
//!
//! SQLite ends the log at the first frame whose checksum is wrong and says nothing. That is right
//! for a commit that a power cut tore, and wrong for a damaged one: the commits behind it are
//! forgotten. A commit is written only when the one before it is durable, so a whole commit behind
//! a broken frame proves damage. The checksum of a frame continues that of the frame before it, so
//! frames behind a broken one are verified against the checksum that is stored before them.
//!
//! Each commit changes the row of the sequence (see `store::mark`), which links the log to its
//! database: it shows that one of the two is from another time or another store.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufReader, ErrorKind, Read as _, Seek as _, SeekFrom};
use std::ops::{Range, RangeInclusive};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use super::log_fault::LogFault;
use super::pages::PAGE_BYTES;
use super::{FILE, check};
use crate::error::OpenError;
use crate::kv::checksum;
use crate::point::{Point, SEQUENCE_KEY};
use crate::restored::Restored;
use crate::table::Table;

/// Verifies the log of the database in a folder, which no process has open.
pub(crate) fn verify(folder: &Path) -> Result<(), OpenError> {
    match find_fault(folder)? {
        None => Ok(()),
        Some(fault) => Err(OpenError::DamagedLog {
            log: log_of(folder),
            fault: fault.to_string(),
        }),
    }
}

/// Keeps the part of a damaged log that is whole, and nothing of a log that does not belong to its
/// database. The log as it was stays under another name.
pub(crate) fn set_aside(folder: &Path) -> Result<(), OpenError> {
    let (log, fault) = (log_of(folder), find_fault(folder)?);
    let set_aside = || {
        let mut name = log.with_added_extension("damaged");
        while name.try_exists()? {
            name.add_extension("damaged");
        }
        match fault {
            Some(LogFault::Damaged { at, .. }) => {
                fs::copy(&log, &name)?;
                File::open(&name)?.sync_all()?;
                let log = File::options().write(true).open(&log)?;
                log.set_len(at)?;
                log.sync_all()?;
            }
            Some(_) => fs::rename(&log, &name)?,
            None => {}
        }
        File::open(folder)?.sync_all()
    };
    set_aside().map_err(|source| OpenError::Unwritable {
        path: log.clone(),
        source,
    })
}

/// First and last commit group of a log that no process writes, `None` without a whole commit. A
/// torn tail is left out.
pub(crate) fn span(path: &Path) -> Result<Option<(Point, Point)>, OpenError> {
    let read = || {
        let file = File::open(path)?;
        let log = LogFile::read_header(&file)?;
        let commits = log.walk()?;
        if let Some(fault) = log.damage(&commits)? {
            return Ok(Err(fault));
        }
        let (Some(first), Some(last)) = (commits.first, commits.last) else {
            // Refuses a log of other bytes.
            ends(path)?;
            return Ok(Ok(None));
        };
        Ok(Ok(log.point(first)?.zip(log.point(last)?)))
    };
    let found = read().map_err(unreadable(path))?;
    found.map_err(|fault| OpenError::DamagedLog {
        log: path.to_owned(),
        fault: fault.to_string(),
    })
}

/// The last commit group of each store of which a frame of the log holds the row, also around
/// damage: the row has a checksum of its own. The log holds durable commits only.
pub(crate) fn ends(log: &Path) -> io::Result<Vec<Point>> {
    let mut ends = BTreeMap::new();
    each_point(log, |point| {
        let end = ends.entry(point.store).or_insert(point);
        *end = [*end, point]
            .into_iter()
            .max_by_key(|point| point.sequence)
            .unwrap_or(point);
    })?;
    Ok(ends.into_values().collect())
}

/// Whether the log holds this very commit group: the same store, number and time.
pub(crate) fn holds(log: &Path, group: Point) -> io::Result<bool> {
    let mut is_there = false;
    each_point(log, |point| is_there |= point == group)?;
    Ok(is_there)
}

/// Visits the commit group in each frame that holds its row.
fn each_point(log: &Path, mut visit: impl FnMut(Point)) -> io::Result<()> {
    let file = File::open(log)?;
    let log = LogFile::read_header(&file)?;
    let mut reader = BufReader::with_capacity(256 * 1024, &file);
    reader.seek(SeekFrom::Start(HEADER_BYTES as u64))?;
    let mut frame = vec![0; FRAME_HEADER_BYTES + log.page_bytes];
    let mut has_none = true;
    loop {
        match reader.read_exact(&mut frame) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => break,
            read => read?,
        }
        if let Some(point) = point_in(&frame[FRAME_HEADER_BYTES..]) {
            has_none = false;
            visit(point);
        }
    }
    // A log that was begun and not flushed may be zeros.
    if has_none && log.header.is_none() && frame.iter().any(|&byte| byte != 0) {
        return Err(io::Error::other("no commit of the log can be read"));
    }
    Ok(())
}

fn find_fault(folder: &Path) -> Result<Option<LogFault>, OpenError> {
    let open = |path: &Path| match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        file => file.map(Some).map_err(unreadable(path)),
    };
    let path = log_of(folder);
    // Without the database there is nothing to compare: it does not open.
    let (Some(database), Some(file)) = (open(&folder.join(FILE))?, open(&path)?) else {
        return Ok(None);
    };
    if database.metadata().map_err(unreadable(&path))?.len() == 0 {
        let file = folder.join(FILE);
        return Err(OpenError::DamagedDatabase {
            fault: format!("{} is empty", file.display()),
            path: folder.to_owned(),
        });
    }
    let find = || {
        let log = LogFile::read_header(&file)?;
        let commits = log.walk()?;
        if let Some(fault) = log.damage(&commits)? {
            return Ok(Some(fault));
        }
        match (commits.first, commits.last) {
            (Some(first), Some(last)) => log.compare(folder, &database, first, last),
            _ => Ok(None),
        }
    };
    find().map_err(unreadable(&path))
}

pub(crate) fn log_of(folder: &Path) -> PathBuf {
    folder.join(format!("{FILE}-wal"))
}

fn unreadable(path: &Path) -> impl Fn(io::Error) -> OpenError {
    move |source| OpenError::Unreadable {
        path: path.to_owned(),
        source,
    }
}

/// Numbers of the frames of one commit.
type Frames = RangeInclusive<u64>;

struct LogFile<'a> {
    file: &'a File,
    page_bytes: usize,
    /// `None`: the header is damaged, and SQLite takes the log for an empty one.
    header: Option<Header>,
}

/// The parts of the header that its frames repeat or continue.
#[derive(Clone, Copy)]
struct Header {
    salts: [u8; 8],
    sums: Sums,
    is_big_endian: bool,
}

/// The whole commits of a log.
#[derive(Default)]
struct Commits {
    first: Option<Frames>,
    /// The last one that SQLite finds.
    last: Option<Frames>,
    /// The first frame that SQLite does not read.
    broken: u64,
    /// The last whole commit behind it.
    behind: Option<Frames>,
}

/// Verifies that frames follow each other, part by part.
pub(crate) struct Chain {
    header: Header,
    sums: Sums,
}

impl Chain {
    /// Begins with the header of a log. `None`: it is damaged.
    pub(crate) fn begin(log: &[u8]) -> Option<Self> {
        let header = Header::parse(log.first_chunk()?)?;
        let sums = header.sums;
        Some(Self { header, sums })
    }

    /// Whether whole frames continue the log.
    pub(crate) fn continues(&mut self, frames: &[u8]) -> bool {
        let Header {
            salts,
            is_big_endian,
            ..
        } = self.header;
        let mut frames = frames.chunks_exact(FRAME_BYTES);
        let all = frames.by_ref().all(|frame| {
            let (header, page) = frame.split_at(FRAME_HEADER_BYTES);
            let sums = self.sums.then(&header[..8], is_big_endian);
            self.sums = sums.then(page, is_big_endian);
            header[8..16] == salts && self.sums == Sums(be32(header, 16), be32(header, 20))
        });
        all && frames.remainder().is_empty()
    }
}

/// Whether a page is as its frame was written. `before`: the sums of the frame before it, or of the
/// header of the log.
pub(super) fn is_whole(before: [u8; 8], header: &[u8; FRAME_HEADER_BYTES], page: &[u8]) -> bool {
    let before = Sums(be32(&before, 0), be32(&before, 4));
    let stored = Sums(be32(header, 16), be32(header, 20));
    // The order of bytes is that of the machine that began the log.
    [false, true].into_iter().any(|is_big_endian| {
        let sums = before.then(&header[..8], is_big_endian);
        sums.then(page, is_big_endian) == stored
    })
}

/// Place in the log of the sums before the frame whose page is at `page`.
pub(super) const fn sums_before(page: i64) -> i64 {
    let frame = page - FRAME_HEADER_BYTES as i64;
    match frame == HEADER_BYTES as i64 {
        true => frame - 8,
        false => frame - FRAME_BYTES as i64 + 16,
    }
}

/// Two sums that run on from frame to frame.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Sums(u32, u32);

impl<'a> LogFile<'a> {
    fn read_header(file: &'a File) -> io::Result<Self> {
        let mut bytes = [0; HEADER_BYTES];
        let header = match file.read_exact_at(&mut bytes, 0) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => None,
            read => read.map(|()| Header::parse(&bytes))?,
        };
        let page_bytes = match header {
            Some(_) => be32(&bytes, 8) as usize,
            None => PAGE_BYTES,
        };
        Ok(Self {
            file,
            page_bytes: page_bytes.max(MIN_PAGE_BYTES),
            header,
        })
    }

    /// Reads all frames: the commits that SQLite finds, and whole ones behind them.
    fn walk(&self) -> io::Result<Commits> {
        let mut reader = BufReader::with_capacity(256 * 1024, self.file);
        reader.seek(SeekFrom::Start(HEADER_BYTES as u64))?;
        let mut commits = Commits::default();
        let is_big_endian = match self.header {
            Some(header) => header.is_big_endian,
            None => cfg!(target_endian = "big"),
        };
        let mut previous = self.header.map(|header| (header.salts, header.sums));
        let mut is_whole = previous.is_some();
        // First frame of the commit that is being read, if all its frames so far are valid.
        let mut begin = is_whole.then_some(0);
        let mut frame = vec![0; FRAME_HEADER_BYTES + self.page_bytes];
        for number in 0.. {
            match reader.read_exact(&mut frame) {
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                    if is_whole {
                        commits.broken = number;
                    }
                    break;
                }
                read => read?,
            }
            let (header, page) = frame.split_at(FRAME_HEADER_BYTES);
            let salts: [u8; 8] = header[8..16].try_into().unwrap_or_default();
            let stored = Sums(be32(header, 16), be32(header, 20));
            let is_current = self.header.is_none_or(|header| header.salts == salts);
            let is_valid = is_current
                && previous.is_some_and(|(before, sums)| {
                    let sums = sums.then(&header[..8], is_big_endian);
                    before == salts && sums.then(page, is_big_endian) == stored
                });
            previous = Some((salts, stored));
            if !is_valid {
                if is_whole {
                    commits.broken = number;
                }
                (is_whole, begin) = (false, None);
            } else if be32(header, 4) != 0 {
                commits.add(is_whole, begin, number);
                begin = Some(number + 1);
            }
        }
        Ok(commits)
    }

    /// The damage that whole commits behind a broken frame prove.
    fn damage(&self, commits: &Commits) -> io::Result<Option<LogFault>> {
        let Some(behind) = commits.behind.clone() else {
            return Ok(None);
        };
        let before = commits.last.clone().map(|last| self.point(last));
        Ok(Some(LogFault::Damaged {
            at: self.offset(commits.broken),
            before: before.transpose()?.flatten(),
            behind: self.point(behind)?,
        }))
    }

    /// Compares the groups of the log with the one that the database holds without it.
    fn compare(
        &self,
        folder: &Path,
        database: &File,
        first: Frames,
        last: Frames,
    ) -> io::Result<Option<LogFault>> {
        let (changed, all) = (self.pages(first.clone())?, 0..=*last.end());
        let opening = first.clone();
        let (Some(begins), Some(ends)) = (self.point(first)?, self.point(last)?) else {
            return Ok(None);
        };
        let mut stored = Vec::new();
        let mut holds_nothing = true;
        for number in changed {
            // The first page has the definitions of the tables.
            if let Some(page) = self.database_page(database, number)?
                && number != 1
            {
                stored.extend(point_in(&page));
                holds_nothing &= page.starts_with(&EMPTY_LEAF);
            }
        }
        // In an older database the row may be on another page. A lookup fails where a power cut
        // tore a page, and may be led astray while some pages of the log are moved.
        if !self.is_moved_in_part(database, all)?
            && let Ok(Some(found)) = check::end(folder)
        {
            stored.push(found);
        }
        // The row may have moved to another page in the first commit: the older place is stale.
        let fault = match stored.into_iter().max_by_key(|point| point.sequence) {
            // A store gets a new identity by a commit like any other, also by the first of a log.
            Some(stored)
                if ![begins.store, ends.store].contains(&stored.store)
                    && !self.renames(opening, stored)? =>
            {
                Some(LogFault::Foreign)
            }
            Some(stored) if stored.sequence + 1 < begins.sequence => Some(LogFault::OldDatabase {
                ends: Some(stored),
                begins,
            }),
            // A failed commit that is found in the log is undone by a commit of the group before.
            Some(database) if database.sequence > ends.sequence + 1 => {
                Some(LogFault::OldLog { ends, database })
            }
            None if holds_nothing && begins.sequence > 1 => {
                Some(LogFault::OldDatabase { ends: None, begins })
            }
            // Without the row nothing is known: a power cut may have torn its page in the database.
            _ => None,
        };
        Ok(fault)
    }

    /// Whether a commit gives the store that ended with the group `end` a new identity.
    fn renames(&self, commit: Frames, end: Point) -> io::Result<bool> {
        let record = Restored::mark_after(end);
        let mut page = vec![0; self.page_bytes];
        for frame in commit {
            let at = self.offset(frame) + FRAME_HEADER_BYTES as u64;
            self.file.read_exact_at(&mut page, at)?;
            if page.windows(record.len()).any(|part| part == record) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether the database has an inner page of a b-tree as it is in the log: pages below it,
    /// which are not yet moved, may hold anything.
    fn is_moved_in_part(&self, database: &File, frames: Frames) -> io::Result<bool> {
        let mut page = vec![0; self.page_bytes];
        for (frame, number) in frames.clone().zip(self.pages(frames)?) {
            let at = self.offset(frame) + FRAME_HEADER_BYTES as u64;
            self.file.read_exact_at(&mut page, at)?;
            let content = ..self.page_bytes.saturating_sub(checksum::SUM_BYTES);
            if page.first() == Some(&INTERIOR)
                && let Some(moved) = self.database_page(database, number)?
                && moved.get(content) == page.get(content)
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The group of a commit.
    fn point(&self, frames: Frames) -> io::Result<Option<Point>> {
        let mut page = vec![0; self.page_bytes];
        for number in frames.rev() {
            let at = self.offset(number) + FRAME_HEADER_BYTES as u64;
            self.file.read_exact_at(&mut page, at)?;
            if let Some(point) = point_in(&page) {
                return Ok(Some(point));
            }
        }
        Ok(None)
    }

    /// Numbers of the pages that a commit changes.
    fn pages(&self, frames: Frames) -> io::Result<Vec<u32>> {
        let number = |frame| {
            let mut number = [0; 4];
            self.file.read_exact_at(&mut number, self.offset(frame))?;
            Ok(u32::from_be_bytes(number))
        };
        frames.map(number).collect()
    }

    /// A page as the database holds it without the log.
    fn database_page(&self, database: &File, number: u32) -> io::Result<Option<Vec<u8>>> {
        let mut page = vec![0; self.page_bytes];
        let at = u64::from(number.saturating_sub(1)) * self.page_bytes as u64;
        match database.read_exact_at(&mut page, at) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(None),
            read => read.map(|()| Some(page)),
        }
    }

    fn offset(&self, frame: u64) -> u64 {
        HEADER_BYTES as u64 + frame * (FRAME_HEADER_BYTES + self.page_bytes) as u64
    }
}

impl Header {
    /// `None`: damaged, or not written wholly.
    fn parse(bytes: &[u8; HEADER_BYTES]) -> Option<Self> {
        let is_big_endian = match be32(bytes, 0) {
            LITTLE_ENDIAN_MAGIC => false,
            BIG_ENDIAN_MAGIC => true,
            _ => return None,
        };
        let sums = Sums(be32(bytes, 24), be32(bytes, 28));
        (Sums(0, 0).then(&bytes[..24], is_big_endian) == sums).then_some(Self {
            salts: bytes[SALTS].try_into().ok()?,
            sums,
            is_big_endian,
        })
    }
}

impl Commits {
    /// Adds a commit that ends with the frame `end`. `begin`: its first frame, if it is whole.
    fn add(&mut self, is_found: bool, begin: Option<u64>, end: u64) {
        let Some(begin) = begin else {
            return;
        };
        let frames = begin..=end;
        match is_found {
            true => {
                self.first.get_or_insert_with(|| frames.clone());
                self.last = Some(frames);
            }
            false => self.behind = Some(frames),
        }
    }
}

impl Sums {
    fn then(self, bytes: &[u8], is_big_endian: bool) -> Self {
        let number = |bytes: &[u8]| {
            let bytes = bytes.try_into().unwrap_or_default();
            match is_big_endian {
                true => u32::from_be_bytes(bytes),
                false => u32::from_le_bytes(bytes),
            }
        };
        let Self(mut first, mut second) = self;
        for pair in bytes.chunks_exact(8) {
            first = first.wrapping_add(number(&pair[..4])).wrapping_add(second);
            second = second.wrapping_add(number(&pair[4..])).wrapping_add(first);
        }
        Self(first, second)
    }
}

/// The row of the sequence, if it is among the rows of a page.
fn point_in(page: &[u8]) -> Option<Point> {
    let cells_begin = match *page.first()? {
        0x0a => 8,      // leaf
        INTERIOR => 12, // each cell begins with the number of a page
        _ => return None,
    };
    let child_bytes = cells_begin - 8;
    let cells = usize::from(u16::from_be_bytes(page.get(3..5)?.try_into().ok()?));
    let offsets = page.get(cells_begin..cells_begin + 2 * cells)?;
    offsets.chunks_exact(2).find_map(|offset| {
        let offset = usize::from(u16::from_be_bytes(offset.try_into().ok()?));
        let row = page.get(offset + child_bytes..)?;
        let row = row.strip_prefix(&RECORD)?.strip_prefix(SEQUENCE_KEY)?;
        let row = row.strip_prefix(&[Table::Meta.number()])?;
        let row = row.get(..Point::ROW_BYTES + checksum::SUM_BYTES)?;
        Point::of_row(checksum::value_of(Table::Meta, SEQUENCE_KEY, row)?)
    })
}

fn be32(bytes: &[u8], at: usize) -> u32 {
    let bytes = bytes.get(at..at + 4).and_then(|part| part.try_into().ok());
    u32::from_be_bytes(bytes.unwrap_or_default())
}

/// Beginning of the record of the sequence: its bytes and those of its header, and the types of
/// its columns: a blob of 8 bytes (key), an integer of one (kind), a blob of 40 (value, checksum).
const RECORD: [u8; 5] = [53, 4, 12 + 2 * 8, 1, 12 + 2 * 40];
/// First byte of an inner page of a b-tree.
const INTERIOR: u8 = 0x02;
/// Beginning of a page of a b-tree that has no rows.
const EMPTY_LEAF: [u8; 5] = [0x0a, 0, 0, 0, 0];
pub(crate) const HEADER_BYTES: usize = 32;
/// Place of the salts in the header of a log: another pair after each restart.
pub(super) const SALTS: Range<usize> = 16..24;
pub(super) const FRAME_HEADER_BYTES: usize = 24;
/// Length of a frame in the log of a store.
pub(super) const FRAME_BYTES: usize = FRAME_HEADER_BYTES + PAGE_BYTES;
const MIN_PAGE_BYTES: usize = 512;
const LITTLE_ENDIAN_MAGIC: u32 = 0x377f_0682;
const BIG_ENDIAN_MAGIC: u32 = 0x377f_0683;
