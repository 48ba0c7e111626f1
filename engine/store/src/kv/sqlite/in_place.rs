//! Whether the files of an open database are still those at its path. A connection that is opened
//! later would read another file.
//!
//! Connections find the pages of the log, and tell each other of their reads, through an index in
//! shared memory, a third file. Everything in it can be read from the log. When it was deleted or
//! replaced, other processes do not see the reads and writes of this one. When it was overwritten
//! with an older one, this process sees an older end of the log: the last commit group is compared
//! in each transaction. In both cases the index is lost, and the server opens the database again.
//!
//! All connections of a process to one database share the index that the first of them opened, as
//! long as one of them is open. So all of them have one [`InPlace`], and all must end before a new
//! index can be opened. The server trusts no index that it finds: it deletes the file before it
//! opens the database, and before it empties the log at a stop. SQLite then makes a new index from
//! the log. Other programs that have the deleted file notice it and end. A deleted index keeps its
//! blocks while one of them has it. When the disk has no room for another one, the server voids the
//! headers of the index instead: SQLite then makes it again from the log in the same file, with the
//! locks that SQLite has for that.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use rusqlite::Connection;
use tokio::time::Instant;

use super::super::KvError;
use super::{database_of, frames, index_of};
use crate::opened::{FileIdentity, Opened, found, identity_of};
use crate::place::remove_file;

/// The files of an open database.
pub(super) struct InPlace {
    database: Opened,
    log: Opened,
    index: Opened,
    /// Whether the index was deleted, replaced or overwritten.
    is_index_lost: Arc<AtomicBool>,
    /// Length of the database that it keeps.
    kept: AtomicU64,
}

/// Lengths of the files.
pub(super) struct Lengths {
    pub database: u64,
    pub log: u64,
}

/// Role of the program that opens a database.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Opener {
    /// The process that has locked the store, to write.
    Server,
    /// A reader beside a server, which makes the index.
    BesideServer,
    /// A reader of a store that no server has open.
    Alone,
}

/// A database that this process has open, or had.
struct UsedDatabase {
    files: Weak<InPlace>,
    index: Option<MadeFile>,
    is_index_lost: Arc<AtomicBool>,
}

/// A file, and when it was made if the file system tells: numbers of files are used again.
type MadeFile = (FileIdentity, Option<SystemTime>);

/// The databases of this process, by the identity of their files.
static USED: Mutex<BTreeMap<FileIdentity, UsedDatabase>> = Mutex::new(BTreeMap::new());

impl InPlace {
    /// Opens the first connection of a server, with a new index. Readers of this process end
    /// before, within seconds.
    ///
    /// # Errors
    /// [`KvError::IndexNotInPlace`] when they do not.
    pub(super) fn open_first(
        folder: &Path,
        connect: impl Fn() -> Result<Connection, KvError>,
    ) -> Result<(Connection, Arc<Self>), KvError> {
        let begun = Instant::now();
        loop {
            match Self::open(folder, Opener::Server, &connect) {
                Err(KvError::IndexNotInPlace) if begun.elapsed() < READERS_END => {
                    thread::sleep(AGAIN);
                }
                opened => return opened,
            }
        }
    }

    /// Opens a connection to the database in `folder` with `connect`, which reads from it.
    ///
    /// # Errors
    /// [`KvError::IndexNotInPlace`] when this process still uses an index that is lost, a server
    /// still has readers in its process, or a server has not made a new index. Those readers end.
    pub(super) fn open(
        folder: &Path,
        opener: Opener,
        connect: impl FnOnce() -> Result<Connection, KvError>,
    ) -> Result<(Connection, Arc<Self>), KvError> {
        let mut used = USED.lock();
        used.retain(|_, database| database.is_used());
        let database = identity_of(&fs::metadata(database_of(folder))?);
        let mut lost = None;
        if let Some(used) = used.get(&database) {
            if let Some(files) = used.files.upgrade() {
                if opener == Opener::Server {
                    return Err(files.lose_index());
                }
                files.verify()?;
                let connection = connect()?;
                files.verify()?;
                return Ok((connection, files));
            }
            let is_lost = used.is_index_lost.load(Ordering::Relaxed);
            lost = used.index.filter(|_| is_lost);
        }
        if opener == Opener::Server {
            renew_index(folder)?;
        }
        let made = || found(&index_of(folder)).map(|index| index.map(|index| made_file(&index)));
        let index = made()?;
        if (index.is_none() || index == lost) && opener == Opener::BesideServer {
            return Err(KvError::IndexNotInPlace);
        }
        let connection = connect()?;
        let files = Arc::new(Self::of(folder)?);
        if !files.database.is(database) {
            return Err(files.database.fault("was replaced"));
        }
        if index.is_some_and(|(index, _)| !files.index.is(index)) {
            return Err(KvError::IndexNotInPlace);
        }
        let of_process = UsedDatabase {
            files: Arc::downgrade(&files),
            index: made()?,
            is_index_lost: files.is_index_lost.clone(),
        };
        used.insert(database, of_process);
        Ok((connection, files))
    }

    /// The files as they are now. A server that starts or stops may just have deleted the index.
    fn of(folder: &Path) -> Result<Self, KvError> {
        let index = Opened::at(index_of(folder)).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => KvError::IndexNotInPlace,
            _ => error.into(),
        });
        Ok(Self {
            database: Opened::at(database_of(folder))?,
            log: Opened::at(frames::log_of(folder))?,
            index: index?,
            is_index_lost: Arc::default(),
            kept: AtomicU64::new(0),
        })
    }

    /// Verifies the files.
    ///
    /// # Errors
    /// [`KvError::NotInPlace`] when the database or its log is gone or another one, or the database
    /// was cut off. [`KvError::IndexNotInPlace`] when only the index is not in its place, or was
    /// not.
    pub(super) fn verify(&self) -> Result<Lengths, KvError> {
        let database = self.database.verify()?;
        if database < self.kept() {
            return Err(self.database.fault("was cut off"));
        }
        let log = self.log.verify()?;
        match self.index.verify() {
            Err(KvError::NotInPlace(_)) => return Err(self.lose_index()),
            verified => verified?,
        };
        match self.is_index_lost.load(Ordering::Relaxed) {
            true => Err(KvError::IndexNotInPlace),
            false => Ok(Lengths { database, log }),
        }
    }

    /// Notes that the index is not to be used any more.
    pub(super) fn lose_index(&self) -> KvError {
        self.is_index_lost.store(true, Ordering::Relaxed);
        KvError::IndexNotInPlace
    }

    /// Length that the database had and must keep.
    pub(super) fn kept(&self) -> u64 {
        self.kept.load(Ordering::Relaxed)
    }

    /// Notes that the database has this length, and pages in all of it. Behind its last page it may
    /// become shorter.
    pub(super) fn keep(&self, length: u64) {
        self.kept.fetch_max(length, Ordering::Relaxed);
    }

    /// The error for a log that lacks pages.
    pub(super) fn log_is_cut_off(&self) -> KvError {
        self.log.fault("was cut off")
    }
}

/// Deletes the index, or voids its headers when the disk has no room for another one.
fn renew_index(folder: &Path) -> Result<(), KvError> {
    let index = index_of(folder);
    let length = found(&index)?.map_or(0, |index| index.len());
    let renewed = match length < INDEX_PART || has_room_for_index(folder) {
        true => remove_file(&index),
        false => void(&index),
    };
    renewed.map_err(|error| {
        let path = index.display();
        KvError::Failed(format!(
            "{path} cannot be deleted, delete it yourself: {error}"
        ))
    })
}

/// Whether the disk has room for an index of the log beside the one that is there.
fn has_room_for_index(folder: &Path) -> bool {
    let log = fs::metadata(frames::log_of(folder)).map_or(0, |log| log.len());
    let parts = log / (FRAMES_OF_PART * frames::FRAME_BYTES as u64) + 1;
    let draft = index_of(folder).with_added_extension("new");
    let written = File::create(&draft).and_then(|file| {
        (0..parts)
            .try_for_each(|part| file.write_all_at(&[0; INDEX_PART as usize], part * INDEX_PART))
    });
    let removed = remove_file(&draft);
    !written
        .and(removed)
        .is_err_and(|error| NO_ROOM.contains(&error.kind()))
}

/// Overwrites both headers of an index. The next connection makes its content from the log. What
/// follows the headers stays: reads that are in progress are noted there.
fn void(index: &Path) -> io::Result<()> {
    let file = File::options().write(true).open(index)?;
    file.write_all_at(&[0; INDEX_HEADERS], 0)
}

fn made_file(file: &fs::Metadata) -> MadeFile {
    (identity_of(file), file.created().ok())
}

impl UsedDatabase {
    /// Whether a connection is open, or must know that the index was lost.
    fn is_used(&self) -> bool {
        self.files.strong_count() > 0 || self.is_index_lost.load(Ordering::Relaxed)
    }
}

/// Bytes of an index that SQLite adds at a time, and of its two headers:
/// <https://www.sqlite.org/walformat.html#the_wal_index_file_format>.
const INDEX_PART: u64 = 32 * 1024;
const INDEX_HEADERS: usize = 2 * 48;
/// Frames of the log in each part of an index; the first one has fewer.
const FRAMES_OF_PART: u64 = 4062;
/// Errors of a file that cannot grow.
const NO_ROOM: [io::ErrorKind; 3] = [
    io::ErrorKind::StorageFull,
    io::ErrorKind::QuotaExceeded,
    io::ErrorKind::FileTooLarge,
];
/// How long a server waits for readers of its process to end.
const READERS_END: Duration = Duration::from_secs(3);
const AGAIN: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt as _;
    use std::path::PathBuf;

    use super::super::Sqlite;
    use super::super::reader::{Access, Reader};
    use super::*;
    use crate::Direction;
    use crate::batch::Change;
    use crate::kv::{Kv as _, Scan};
    use crate::point::SEQUENCE_KEY;
    use crate::table::Table;

    fn opened(path: &Path) -> Result<Sqlite, KvError> {
        Sqlite::open(path, 8 * 1024 * 1024, Arc::default())
    }

    fn inode(index: &Path) -> FileIdentity {
        identity_of(&fs::metadata(index).unwrap())
    }

    /// Puts the file that another program would make in the place of the index. Returns it.
    fn replace(index: &Path) -> FileIdentity {
        let other = index.with_file_name("other");
        fs::copy(index, &other).unwrap();
        fs::rename(&other, index).unwrap();
        inode(index)
    }

    /// Whether this process has mapped a file in the folder that was deleted.
    fn has_deleted(folder: &Path) -> bool {
        let maps = fs::read_to_string("/proc/self/maps").unwrap();
        let folder = folder.display().to_string();
        maps.lines()
            .any(|line| line.contains(&folder) && line.ends_with("(deleted)"))
    }

    fn filled() -> (tempfile::TempDir, PathBuf, Sqlite) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("sqlite");
        let backend = opened(&path).unwrap();
        (directory, path, backend)
    }

    /// SQLite would continue with the deleted file as long as the reader has it.
    #[test]
    fn a_database_is_not_opened_again_with_an_index_that_a_reader_of_the_process_still_has() {
        let (_directory, path, backend) = filled();
        let index = index_of(&path);
        let reader = Reader::open(&path, Access::Running).unwrap();
        let foreign = replace(&index);
        assert!(matches!(
            backend.verify_place(),
            Err(KvError::IndexNotInPlace)
        ));
        drop(backend);
        assert!(matches!(opened(&path), Err(KvError::IndexNotInPlace)));
        assert!(matches!(reader.verify(), Err(KvError::IndexNotInPlace)));
        drop(reader);
        let backend = opened(&path).unwrap();
        assert!(!has_deleted(&path));
        assert_ne!(inode(&index), foreign, "other programs have that one");
        backend.verify_place().unwrap();
        Reader::open(&path, Access::Running).unwrap();
    }

    #[test]
    fn a_long_read_ends_soon_after_its_index_is_deleted() {
        let (_directory, path, _backend) = filled();
        let reader = Reader::open(&path, Access::Running).unwrap();
        let counted = |to: u32| {
            let sql = format!(
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {to}) \
                 SELECT count(*) FROM n"
            );
            reader.query_row(&sql, [], |row| row.get::<_, u32>(0))
        };
        assert_eq!(counted(100_000), Ok(100_000));
        fs::remove_file(index_of(&path)).unwrap();
        let error = counted(100_000_000).unwrap_err();
        assert_eq!(
            error.sqlite_error_code(),
            Some(rusqlite::ErrorCode::OperationInterrupted)
        );
    }

    #[test]
    fn a_reader_beside_a_server_makes_no_index() {
        let (_directory, path, backend) = filled();
        let index = index_of(&path);
        fs::remove_file(&index).unwrap();
        drop(backend);
        let connect = || unreachable!();
        let refused = InPlace::open(&path, Opener::BesideServer, connect).err();
        assert!(matches!(refused, Some(KvError::IndexNotInPlace)));
        assert!(!index.exists());
        Reader::open(&path, Access::Stopped).unwrap();
    }

    /// The server deletes the index when it starts or stops.
    #[test]
    fn a_reader_whose_index_is_deleted_while_it_opens_the_database_reads_again() {
        let (_directory, path, backend) = filled();
        drop(backend);
        let connect = || {
            let connection = super::super::reader::connect(&path, Access::Stopped)?;
            super::super::first_read(&connection)?;
            fs::remove_file(index_of(&path))?;
            Ok(connection)
        };
        let refused = InPlace::open(&path, Opener::Alone, connect).err();
        assert!(matches!(refused, Some(KvError::IndexNotInPlace)));
        Reader::open(&path, Access::Stopped).unwrap();
    }

    #[test]
    fn a_folder_in_the_place_of_the_index_is_named() {
        let (_directory, path, backend) = filled();
        drop(backend);
        let index = index_of(&path);
        drop(fs::remove_file(&index));
        fs::create_dir(&index).unwrap();
        let refused = opened(&path).err().unwrap().to_string();
        assert!(
            refused.contains("-shm cannot be deleted, delete it yourself"),
            "{refused}"
        );
        fs::remove_dir(&index).unwrap();
        opened(&path).unwrap();
    }

    /// Overwrites the index in place with an older one, from `at` on.
    fn overwrite(path: &Path, older: &[u8], at: usize) {
        let mut index = fs::read(index_of(path)).unwrap();
        index.truncate(older.len());
        index[at..].copy_from_slice(&older[at..]);
        let file = fs::File::options().write(true).open(index_of(path));
        file.unwrap().write_all_at(&index, 0).unwrap();
    }

    fn put(backend: &Sqlite, number: u32) {
        let (group, key) = (number.to_be_bytes(), format!("{number:04}"));
        let value = vec![7; 20_000];
        let change = |table, key, value| Change {
            table,
            key,
            value: Some(value),
        };
        let changes = [
            change(Table::Event, key.as_bytes(), &value),
            change(Table::Meta, SEQUENCE_KEY, &group),
        ];
        backend.write(&changes).unwrap();
    }

    fn count(backend: &Sqlite) -> usize {
        let all = Scan {
            table: Table::Event,
            from: b"",
            to: b"z",
            direction: Direction::Forward,
            limit: 1_000,
        };
        backend.scan(&all).unwrap().len()
    }

    /// The next commit writes the newest header into the older index, which lacks commits then.
    #[test]
    fn a_stop_in_order_moves_commits_that_an_overwritten_index_lacks() {
        let (_directory, path, backend) = filled();
        (0..20).for_each(|number| put(&backend, number));
        let older = fs::read(index_of(&path)).unwrap();
        (20..40).for_each(|number| put(&backend, number));
        overwrite(&path, &older, INDEX_HEADER_BYTES);
        put(&backend, 40);
        Box::new(backend).finish().unwrap();
        assert_eq!(fs::metadata(frames::log_of(&path)).unwrap().len(), 0);
        assert_eq!(count(&opened(&path).unwrap()), 41);
    }

    /// A backup or check of the process has the older index open.
    #[test]
    fn a_stop_in_order_ends_the_readers_of_its_process_before_it_moves_commits() {
        let (_directory, path, backend) = filled();
        (0..20).for_each(|number| put(&backend, number));
        let older = fs::read(index_of(&path)).unwrap();
        let reader = Reader::open(&path, Access::Running).unwrap();
        (20..40).for_each(|number| put(&backend, number));
        overwrite(&path, &older, INDEX_HEADER_BYTES);
        put(&backend, 40);
        let reading = thread::spawn(move || {
            while reader.verify().is_ok() {
                thread::sleep(AGAIN);
            }
        });
        Box::new(backend).finish().unwrap();
        reading.join().unwrap();
        assert_eq!(fs::metadata(frames::log_of(&path)).unwrap().len(), 0);
        assert_eq!(count(&opened(&path).unwrap()), 41);
    }

    /// The log stays as it is when a reader does not end.
    #[test]
    fn a_stop_in_order_beside_a_reader_that_does_not_end_empties_no_log() {
        let (_directory, path, backend) = filled();
        (0..20).for_each(|number| put(&backend, number));
        let reader = Reader::open(&path, Access::Running).unwrap();
        let finished = Box::new(backend).finish();
        assert!(matches!(finished, Err(KvError::IndexNotInPlace)));
        drop(reader);
        assert!(fs::metadata(frames::log_of(&path)).unwrap().len() > 0);
        assert_eq!(count(&opened(&path).unwrap()), 20);
    }

    #[test]
    fn an_older_index_of_an_idle_database_is_lost_and_no_damage() {
        let (_directory, path, backend) = filled();
        (0..20).for_each(|number| put(&backend, number));
        let older = fs::read(index_of(&path)).unwrap();
        (20..40).for_each(|number| put(&backend, number));
        overwrite(&path, &older, 0);
        assert!(matches!(
            backend.verify_place(),
            Err(KvError::IndexNotInPlace)
        ));
        drop(backend);
        assert_eq!(count(&opened(&path).unwrap()), 40);
    }

    /// Length of the two headers and of the checkpoint's part of an index.
    const INDEX_HEADER_BYTES: usize = 136;
}
