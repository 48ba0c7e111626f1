//! The high-water mark: a file beside the store that says how far its acknowledged commits reach.
//!
//! Each group of commits has a sequence number, which is stored with its rows. After the flush of
//! a group and before its commits are acknowledged, the number is written into the mark. A store
//! that ends before its mark has lost acknowledged commits and is not opened. The mark is not
//! flushed with each group but once a second: after a power cut it may be older than the store,
//! which holds more than it promises.
//!
//! Also once a second the file is verified. A mark that was deleted, replaced or overwritten while
//! the store is open is written again: the next start notices when the store was, too.
//!
//! The mark of a restored store also has the end of the store before it. A restore that is killed
//! between the mark and the store leaves only the mark, and the next restore still tells how far
//! the lost store reached.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::copied::{self, CopyEnd};
use super::damage::{self, FoundDamage};
use super::error::OpenError;
use super::kv::{Kv, KvError, WriteFailed};
use super::opened::{self, identity_of};
use super::place::{replace_durably, resolved};
use super::point::{Point, SEQUENCE_KEY};
use super::restored::{Lost, Restored};
use super::table::Table;
use switchyard_core::time::Timestamp;
use switchyard_system::clock::Clock;
use switchyard_system::ids::Ids;
use ulid::Ulid;

/// The open mark of a store.
pub(super) struct Mark {
    place: MarkPlace,
    file: File,
    reached: Point,
    /// Identity of the store in the rows, before this opening. An empty store has its new one.
    before: Option<Ulid>,
    is_flushed: bool,
    /// Whether the last write failed: each failure is logged once.
    has_failed: bool,
    /// Whether the mark could not be put back: each failure is logged once.
    is_misplaced: bool,
    /// Whether the mark of another store is in the place of this one: that is logged once.
    is_foreign: bool,
    clock: Clock,
}

/// A store and where its mark is.
#[derive(Clone)]
pub(super) struct MarkPlace {
    store: PathBuf,
    mark: PathBuf,
}

/// The content of the mark file.
#[derive(Clone, Copy)]
pub(super) enum Found {
    Nothing,
    Damaged,
    Point(Point),
}

impl Mark {
    /// Opens the mark of the store in `path` and compares it with the rows of `kv`. With an
    /// accepted loss a store that ends before its mark, or has the mark of another store, gets a
    /// new one. A store that has lost commits, or may have, gets a restore record and a new
    /// identity: files of the store before it do not fit the new mark.
    pub(super) fn open(path: &Path, kv: &dyn Kv, known: KnownLoss<'_>) -> Result<Self, OpenError> {
        let place = MarkPlace::of(path);
        let unwritable = |source| OpenError::Unwritable {
            path: place.mark.clone(),
            source,
        };
        let stored = place.stored(kv)?;
        let found = match known.log_set_aside {
            Some(mark) => mark,
            None => place.read()?,
        };
        let is_behind = match place.compare(stored, &found) {
            Err(refused) if known.is_accepted => {
                tracing::warn!(reason = %refused, "the loss is accepted, the store is opened");
                true
            }
            compared => compared.map(|()| false)?,
        };
        let copied = stored.zip(known.copy);
        let copied = copied.map_or_else(CopyEnd::default, |(stored, copy)| {
            copied_ahead(copy, stored, identity_since(kv, stored))
        });
        place.warn(stored, &found, &copied);
        let has_no_mark = stored.is_some() && !matches!(found, Found::Point(_));
        let clock = Clock::wall();
        let behind = stored.map_or(Duration::ZERO, |stored| clock.continue_from(stored.at));
        if behind > CLOCK_BEHIND {
            tracing::warn!(
                seconds = behind.as_secs(),
                "the machine's clock is behind the last commit of the store"
            );
        }
        let now = clock.now();
        let mut reached = stored.unwrap_or_else(|| Point {
            store: Ids::system().ulid(now),
            sequence: 0,
            at: now,
        });
        let was_set_aside = known.log_set_aside.is_some();
        let copy_has_more = copied.end.is_some() || copied.is_unknown;
        if is_behind || has_no_mark || was_set_aside || copy_has_more {
            // Before the new mark: with that alone a store that lost commits looks whole.
            reached = Point::new(Ids::system().ulid(now), reached.sequence + 1, now);
            damage::carry_over(path, stored.map(|stored| stored.store), reached.store)?;
            let record = accepted(stored, &later(&copied, found), reached);
            let written = record.write(kv, reached);
            written.map_err(|WriteFailed { error, .. }| place.refusal(&error))?;
        }
        match found {
            Found::Point(point) if point == reached => Ok(()),
            Found::Point(point) if point.store == reached.store => place.move_on(point, reached),
            Found::Point(_) | Found::Damaged | Found::Nothing => place.make(reached),
        }
        .map_err(unwritable)?;
        let file = File::options().write(true).open(&place.mark);
        Ok(Self {
            file: file.map_err(unwritable)?,
            place,
            reached,
            before: stored
                .map(|stored| stored.store)
                .or((!is_behind).then_some(reached.store)),
            is_flushed: true,
            has_failed: false,
            is_misplaced: false,
            is_foreign: false,
            clock,
        })
    }

    /// The last acknowledged group.
    pub(super) fn reached(&self) -> Point {
        self.reached
    }

    /// Damage that was recorded for the store of this mark.
    pub(super) fn found_damage(&self) -> FoundDamage {
        FoundDamage::open(&self.place.store, self.before, self.reached.store)
    }

    /// The point that the next group reaches.
    pub(super) fn next(&self) -> Point {
        Point {
            store: self.reached.store,
            sequence: self.reached.sequence + 1,
            at: self.clock.now(),
        }
    }

    /// Notes that the group of this point is flushed. Only then may it be acknowledged.
    pub(super) fn advance(&mut self, point: Point) {
        self.reached = point;
        self.is_flushed = false;
        // In turns: a write that is cut short leaves the line of the group before.
        let offset = point.sequence % OWN_LINES as u64 * SECTOR;
        let written = self.file.write_all_at(point.line().as_bytes(), offset);
        self.note(&written);
    }

    /// Keeps the mark durable at its path. The mark of another store, which was put there, stays.
    pub(super) fn keep(&mut self) {
        self.flush();
        let put = self.put_in_place();
        if let Err(error) = &put
            && !self.is_misplaced
        {
            tracing::error!(%error, mark = %self.place.mark.display(), "the mark is not written");
        }
        self.is_misplaced = put.is_err();
    }

    /// Writes the mark again if its path does not lead to it, or it has older groups only.
    fn put_in_place(&mut self) -> io::Result<()> {
        let own = identity_of(&self.file.metadata()?);
        let is_own = |found: fs::Metadata| identity_of(&found) == own;
        let is_in_place = opened::found(&self.place.mark)?.is_some_and(is_own);
        let found = self.place.found()?;
        let is_foreign = |point: &Point| point.store != self.reached.store;
        let was_foreign = self.is_foreign;
        self.is_foreign = matches!(&found, Found::Point(point) if is_foreign(point));
        if self.is_foreign {
            if !was_foreign {
                tracing::warn!(
                    mark = %self.place.mark.display(),
                    "the mark was replaced by that of another store"
                );
            }
            return Ok(());
        }
        match found {
            Found::Point(found) if found.sequence >= self.reached.sequence => {
                if is_in_place {
                    return Ok(());
                }
            }
            Found::Point(_) | Found::Damaged | Found::Nothing => {
                self.place.make(self.reached)?;
                tracing::warn!(
                    mark = %self.place.mark.display(),
                    "the mark was changed while the store was open, it is written again"
                );
            }
        }
        self.file = File::options().write(true).open(&self.place.mark)?;
        Ok(())
    }

    /// Makes the written lines durable.
    fn flush(&mut self) {
        if !self.is_flushed {
            let flushed = self.file.sync_data();
            self.note(&flushed);
            self.is_flushed = flushed.is_ok();
        }
    }

    #[cfg(test)]
    pub(super) fn is_flushed(&self) -> bool {
        self.is_flushed
    }

    fn note(&mut self, done: &io::Result<()>) {
        if let Err(error) = done
            && !self.has_failed
        {
            tracing::error!(%error, mark = %self.place.mark.display(), "the mark is not written");
        }
        self.has_failed = done.is_err();
    }

    /// Whether a backend that was opened again still has every acknowledged commit.
    pub(super) fn check(&self, kv: &dyn Kv) -> Result<(), OpenError> {
        self.place
            .compare(self.place.stored(kv)?, &Found::Point(self.reached))
    }
}

impl MarkPlace {
    /// The content of the mark file. `None`: there is none, or it cannot be read.
    pub(super) fn content(&self) -> Option<Vec<u8>> {
        fs::read(&self.mark).ok()
    }

    /// Gives the mark file an earlier content.
    pub(super) fn put_back(&self, content: Option<&[u8]>) -> io::Result<()> {
        match content {
            Some(content) => replace_durably(&self.mark, content),
            None => fs::remove_file(&self.mark),
        }
    }

    /// Beside the store and not in it: a copy of the store that is put back does not bring its own.
    pub(super) fn of(store: &Path) -> Self {
        let store = &resolved(store);
        let mark = match (store.parent(), store.file_name()) {
            (Some(parent), Some(name)) => {
                let mut name = name.to_owned();
                name.push(".mark");
                parent.join(name)
            }
            _ => store.join("mark"),
        };
        Self {
            store: store.to_owned(),
            mark,
        }
    }

    pub(super) fn read(&self) -> Result<Found, OpenError> {
        self.found().map_err(|source| OpenError::Unreadable {
            path: self.mark.clone(),
            source,
        })
    }

    fn found(&self) -> io::Result<Found> {
        let bytes = match fs::read(&self.mark) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Nothing),
            read => read?,
        };
        let lines = bytes.chunks(SECTOR as usize).take(OWN_LINES);
        let points = lines.filter_map(Point::of_line);
        Ok(match points.max_by_key(|point| point.sequence) {
            Some(point) => Found::Point(point),
            None => Found::Damaged,
        })
    }

    /// The last acknowledged group that the mark tells of. A store that was restored and has
    /// acknowledged nothing since, or was never put in its place, has none: then it is that of the
    /// store before it.
    pub(super) fn end(&self) -> Result<Option<Point>, OpenError> {
        let Found::Point(own) = self.read()? else {
            return Ok(None);
        };
        let content = self.content().unwrap_or_default();
        let mut lines = content.chunks(SECTOR as usize);
        let is_as_made = lines
            .by_ref()
            .take(OWN_LINES)
            .all(|line| Point::of_line(line) == Some(own));
        let before = lines
            .next()
            .and_then(|line| line.strip_prefix(BEFORE.as_bytes()));
        let before = before.filter(|_| is_as_made).and_then(Point::of_line);
        Ok(before.or(Some(own)))
    }

    /// Reads the mark and makes it unreadable, durably: should the process end before it has a new
    /// one, the store is held, or refused if it is empty.
    pub(super) fn spoil(&self) -> Result<Found, OpenError> {
        let found = self.read()?;
        let spoiled = replace_durably(&self.mark, b"The log of the store was set aside.\n");
        spoiled.map_err(|source| OpenError::Unwritable {
            path: self.mark.clone(),
            source,
        })?;
        Ok(found)
    }

    /// Adds to a refusal how far the acknowledged commits reach, as far as the mark tells.
    pub(super) fn complete(&self, refused: OpenError) -> OpenError {
        let mark = self.mark.display();
        let reached = match self.read() {
            Ok(Found::Point(reached)) => {
                format!("{reached} was acknowledged, as the mark {mark} says")
            }
            Ok(Found::Nothing) if matches!(refused, OpenError::Backend { .. }) => return refused,
            Ok(Found::Nothing | Found::Damaged) | Err(_) => format!(
                "how far the acknowledged commits reach is not known, since the mark {mark} is \
                 missing or damaged"
            ),
        };
        match refused {
            OpenError::DamagedLog { log, fault } => OpenError::DamagedLog {
                log,
                fault: format!("{fault}; {reached}"),
            },
            OpenError::DamagedDatabase { path, fault } => OpenError::DamagedDatabase {
                path,
                fault: format!("{fault}; {reached}"),
            },
            OpenError::Backend { path, reason } => OpenError::Backend {
                path,
                reason: format!("{reason}; {reached}"),
            },
            refused => refused,
        }
    }

    /// The refusal of a store whose backend failed with `error` when it was opened.
    pub(super) fn refusal(&self, error: &KvError) -> OpenError {
        let path = self.store.clone();
        self.complete(match error {
            KvError::DamagedDatabase(fault) => OpenError::DamagedDatabase {
                path,
                fault: fault.clone(),
            },
            KvError::Damaged { .. } | KvError::UnreadablePage(_) | KvError::NotInPlace(_) => {
                OpenError::DamagedDatabase {
                    path,
                    fault: error.to_string(),
                }
            }
            KvError::NoRoom => OpenError::NoRoom { path },
            KvError::Failed(_) | KvError::IndexNotInPlace => OpenError::Backend {
                path,
                reason: error.to_string(),
            },
        })
    }

    /// Moves the mark durably from one group of its store to a later one. That takes no room: a
    /// store whose disk is full is opened too. The line that has `from` is the last that is
    /// written: a write that is cut short leaves one of both groups.
    fn move_on(&self, from: Point, to: Point) -> io::Result<()> {
        let file = File::options().write(true).open(&self.mark)?;
        let write = |group: u64| {
            file.write_all_at(to.line().as_bytes(), group % OWN_LINES as u64 * SECTOR)?;
            // The end of the store before a restored one: this store has groups of its own now.
            file.set_len(OWN_LINES as u64 * SECTOR)?;
            file.sync_all()
        };
        write(from.sequence + 1)?;
        write(from.sequence)
    }

    /// Makes the mark durably, in place of an older one.
    pub(super) fn make(&self, point: Point) -> io::Result<()> {
        self.make_after(point, None)
    }

    /// The same for a store that is restored. `before`: [`Self::end`] of the older mark.
    pub(super) fn make_after(&self, point: Point, before: Option<Point>) -> io::Result<()> {
        let before = before.map(|before| format!("{BEFORE}{}", before.line()));
        let lines = std::iter::repeat_n(point.line(), OWN_LINES).chain(before);
        let sectors = lines.map(|line| format!("{line:0$}", SECTOR as usize));
        replace_durably(&self.mark, sectors.collect::<String>().as_bytes())
    }

    /// Says what an operator has to know of a store that is opened.
    fn warn(&self, stored: Option<Point>, found: &Found, copied: &CopyEnd) {
        if stored.is_none() {
            tracing::warn!(store.folder = %self.store.display(), "made a new, empty store");
        } else if !matches!(found, Found::Point(_)) {
            tracing::warn!(
                mark = %self.mark.display(),
                "the store has no readable mark and may be an older copy, it is held"
            );
        }
        if copied.is_unknown {
            tracing::warn!("the continuous copy cannot be read to its end, the store is held");
        }
        if let (Some(stored), Some(ahead)) = (stored, copied.end) {
            tracing::warn!(
                store.end = %stored,
                copy.end = %ahead,
                "the store is older than its continuous copy, it is held"
            );
        }
    }

    /// The last group that is stored.
    fn stored(&self, kv: &dyn Kv) -> Result<Option<Point>, OpenError> {
        let row = kv.get_on_writer(Table::Meta, SEQUENCE_KEY);
        let row = row.and_then(|row| match row {
            None => Ok(None),
            Some(row) => match Point::of_row(&row) {
                Some(point) => Ok(Some(point)),
                None => Err(KvError::DamagedDatabase(
                    "its sequence cannot be read".to_owned(),
                )),
            },
        });
        row.map_err(|error| self.refusal(&error))
    }

    /// Whether a store that ends with the group `stored` has all that its mark tells.
    pub(super) fn compare(&self, stored: Option<Point>, found: &Found) -> Result<(), OpenError> {
        let (path, mark) = (self.store.clone(), self.mark.clone());
        let reached = match (found, stored) {
            (Found::Point(reached), _) => reached,
            (Found::Damaged, None) => return Err(OpenError::EmptyWithDamagedMark { path, mark }),
            (Found::Damaged | Found::Nothing, _) => return Ok(()),
        };
        match stored {
            Some(stored) if stored.store != reached.store => Err(OpenError::ForeignMark {
                path,
                mark,
                end: format!("ends with {stored}"),
                reached: reached.sequence,
                reached_at: reached.at,
            }),
            Some(stored) if stored.sequence < reached.sequence => Err(OpenError::Behind {
                path,
                mark,
                end: format!("ends with {stored}"),
                reached: reached.sequence,
                reached_at: reached.at,
            }),
            None if reached.sequence > 0 => Err(OpenError::Behind {
                path,
                mark,
                end: "is empty".to_owned(),
                reached: reached.sequence,
                reached_at: reached.at,
            }),
            _ => Ok(()),
        }
    }
}

/// Knowledge about a loss before the mark is read.
#[derive(Clone, Copy, Default)]
pub(super) struct KnownLoss<'a> {
    /// A loss that the mark shows is accepted.
    pub is_accepted: bool,
    /// The damaged log was set aside. With the mark of before: [`MarkPlace::spoil`].
    pub log_set_aside: Option<Found>,
    /// The folder of the continuous copy.
    pub copy: Option<&'a Path>,
}

/// The last group in the continuous copy, if it is later than the one that the store ends with: the
/// store was replaced by an older one, with its mark.
fn copied_ahead(copy: &Path, stored: Point, since: Option<Timestamp>) -> CopyEnd {
    let mut copied = copied::end_in_time(copy, stored.store, since);
    copied.end = copied.end.filter(|end| end.sequence > stored.sequence);
    copied
}

/// Time at which a restore, or an accepted loss, gave the store its identity. `None`: its identity
/// is its first one, or the record cannot be read.
fn identity_since(kv: &dyn Kv, stored: Point) -> Option<Timestamp> {
    let record = Restored::read(kv)?;
    (record.store == stored.store).then_some(record.restored_at)
}

/// The later one of a group in the copy and the mark.
fn later(copied: &CopyEnd, found: Found) -> Found {
    match (copied.end, found) {
        _ if copied.is_unknown => Found::Damaged,
        (Some(copied), Found::Point(point)) if point.sequence > copied.sequence => found,
        (Some(copied), _) => Found::Point(copied),
        (None, _) => found,
    }
}

/// The restore record of a store whose loss was accepted: its remaining commits are its backup.
fn accepted(stored: Option<Point>, found: &Found, reached: Point) -> Restored {
    let now = reached.at;
    let is_later = |point: &Point| match stored {
        Some(stored) => stored.store == point.store && stored.sequence < point.sequence,
        None => true,
    };
    let lost = match found {
        Found::Point(point) if is_later(point) => Some(Lost {
            sequence: point.sequence,
            at: point.at,
        }),
        Found::Point(_) | Found::Damaged | Found::Nothing => None,
    };
    Restored {
        store: reached.store,
        incarnation: Ids::system().ulid(now),
        sequence: stored.map_or(0, |stored| stored.sequence),
        backup_at: stored.map_or_else(Timestamp::default, |stored| stored.at),
        restored_at: now,
        lost,
    }
}

/// The unit that a disk writes whole: each line has one of its own.
const SECTOR: u64 = 512;
/// Lines of a mark that are written in turns.
const OWN_LINES: usize = 2;
/// Beginning of the line with the end of the store before a restored one.
const BEFORE: &str = "before ";
/// A warning is logged when the machine's clock is further behind the last commit.
const CLOCK_BEHIND: Duration = Duration::from_secs(1);
