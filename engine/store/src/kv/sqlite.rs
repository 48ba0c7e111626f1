//! The SQLite backend: a b-tree for each cluster of tables and one write-ahead log.
//!
//! A batch goes to the log, the log is flushed with `fdatasync`, and only then do readers see the
//! batch: they see nothing that a power cut could take back. One connection writes, on the thread
//! of the store's writer; a few read-only connections answer reads. `log` moves the pages of the
//! log into the database.
//!
//! Rows have checksums (`checksum`), and so have pages (`pages`).
//!
//! Opening an existing database writes neither to it nor to its log, and closing it without
//! [`Kv::finish`] leaves both as they are: a store that is refused is not changed.

pub(crate) mod check;
pub(crate) mod copy;
pub(crate) mod frames;
mod in_place;
pub(crate) mod log;
mod log_fault;
mod pages;
pub(crate) mod query;
pub(crate) mod reader;
mod reporting;
pub(crate) mod tail;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use rusqlite::config::DbConfig;
use rusqlite::ffi::{SQLITE_IOERR_DATA, SQLITE_IOERR_READ, SQLITE_IOERR_SHORT_READ};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Error, ErrorCode, OpenFlags, OptionalExtension as _};
use rusqlite::{TransactionBehavior, params};

use self::in_place::InPlace;
use self::log::Log;
use self::pages::PAGE_BYTES;
use self::tail::Tail;
use super::checksum::read_failed;
use super::{Kv, KvError, Scan, WriteFailed, before, contained};
use crate::batch::Change;
use crate::point::SEQUENCE_KEY;
use crate::table::Table;
use crate::{Direction, KeyValues};

pub(crate) struct Sqlite {
    database: Database,
    writer: Mutex<Writer>,
    /// Read-only connections that are idle.
    readers: Mutex<Vec<Connection>>,
    /// Ends after the connections.
    files: Arc<InPlace>,
}

/// The one connection that writes, and the log that it writes to.
struct Writer {
    connection: Connection,
    log: Log,
    /// The row of the last commit group, as it was written.
    last: Option<Vec<u8>>,
}

/// The database and how connections to it are set up.
struct Database {
    folder: PathBuf,
    cache_bytes: u64,
}

/// The statements of a table.
struct Statements {
    get: String,
    put: String,
    delete: String,
    forward: String,
    backward: String,
}

/// The database file in the folder of a store.
pub(crate) fn database_of(folder: &Path) -> PathBuf {
    folder.join(FILE)
}

/// The file with the index of the log.
fn index_of(folder: &Path) -> PathBuf {
    folder.join(format!("{FILE}-shm"))
}

impl Sqlite {
    pub(crate) fn open(path: &Path, cache_bytes: u64, tail: Arc<Tail>) -> Result<Self, KvError> {
        contained(|| Self::open_database(path, cache_bytes, tail))
    }

    fn open_database(path: &Path, cache_bytes: u64, tail: Arc<Tail>) -> Result<Self, KvError> {
        let database = Database {
            folder: path.to_owned(),
            cache_bytes,
        };
        let is_new = !path.try_exists()?;
        if is_new {
            fs::create_dir(path)?;
            make_database(&database)?;
        }
        let (connection, files) = database.open_first()?;
        tail.opened(frames::log_of(path));
        let log = Log::start(database.connect_writer(false)?, tail)?;
        let opened = Self {
            writer: Mutex::new(Writer {
                last: last_group(&connection)?,
                connection,
                log,
            }),
            readers: Mutex::default(),
            files,
            database,
        };
        opened.verify_files(&opened.writer())?;
        Ok(opened)
    }

    fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock()
    }

    fn readers(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.readers.lock()
    }

    /// Reads with an idle connection or a new one. A connection whose read failed is closed.
    fn read<T>(&self, read: impl FnOnce(&Connection) -> Result<T, KvError>) -> Result<T, KvError> {
        let idle = self.readers().pop();
        let connection = match idle {
            Some(connection) => connection,
            None => {
                let connected = self.database.connect_reader();
                self.files.verify()?;
                connected?
            }
        };
        let rows = match read(&connection) {
            // With an older index, the pages of different commits are read as those of one.
            Err(damage) if damage.is_damage() => {
                return Err(match self.verify_place() {
                    Err(lost @ KvError::IndexNotInPlace) => lost,
                    _ => damage,
                });
            }
            rows => rows?,
        };
        let mut readers = self.readers();
        if readers.len() < IDLE_READERS {
            readers.push(connection);
        }
        Ok(rows)
    }

    fn commit(&self, changes: &[Change<'_>]) -> Result<(), KvError> {
        let mut writer = self.writer();
        self.verify_files(&writer)?;
        // A page that the index lacks is not moved, and is lost when the log is restarted.
        if writer.log.may_move(&writer.connection)? {
            self.verify_index(&writer)?;
        }
        let Writer {
            connection,
            log,
            last,
        } = &mut *writer;
        log.make_room(connection)?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // In the transaction: a commit after an older end of the log would overwrite others.
        if last_group(&transaction)? != *last {
            return Err(self.files.lose_index());
        }
        for change in changes {
            let statements = &STATEMENTS[change.table.position()];
            match change.value {
                Some(value) => transaction
                    .prepare_cached(&statements.put)?
                    .execute(params![change.key, value])?,
                None => transaction
                    .prepare_cached(&statements.delete)?
                    .execute(params![change.key])?,
            };
        }
        transaction.commit()?;
        let is_group =
            |change: &&Change<'_>| change.table == Table::Meta && change.key == SEQUENCE_KEY;
        if let Some(group) = changes.iter().find(is_group) {
            *last = group.value.map(<[u8]>::to_vec);
        }
        log.committed(connection);
        // The commit is made. Only files that are not in their place make it one that is lost.
        match self.verify_files(&writer) {
            Err(lost @ KvError::NotInPlace(_)) => Err(lost),
            _ => Ok(()),
        }
    }

    /// Compares the last commit group as the writer and as a new connection see it. The pages that
    /// the writer has in its memory are right whatever is in the index.
    ///
    /// # Errors
    /// [`KvError::IndexNotInPlace`] when they differ, or one of them cannot be read.
    fn verify_index(&self, writer: &Writer) -> Result<(), KvError> {
        let new = || last_group(&self.database.connect_reader()?);
        let seen = [last_group(&writer.connection), new()];
        for group in seen {
            match group {
                Ok(group) if group == writer.last => {}
                Err(error) if !error.is_damage() => return Err(error),
                Ok(_) | Err(_) => return Err(self.files.lose_index()),
            }
        }
        Ok(())
    }

    fn verify_files(&self, writer: &Writer) -> Result<(), KvError> {
        let (connection, log) = (&writer.connection, &writer.log);
        let lengths = self.files.verify()?;
        if lengths.database > self.files.kept() {
            let pages = connection.pragma_query_value(None, "page_count", |row| row.get(0));
            let pages = pages.map(|pages: u32| u64::from(pages) * PAGE_BYTES as u64)?;
            self.files.keep(lengths.database.min(pages));
        }
        match log.is_whole(connection, lengths.log)? {
            true => Ok(()),
            false => Err(self.files.log_is_cut_off()),
        }
    }
}

impl Kv for Sqlite {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, KvError> {
        self.read(|connection| get(connection, table, key))
    }

    fn get_on_writer(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, KvError> {
        // The cache of this connection outlives its own commits; a reader's does not.
        get(&self.writer().connection, table, key)
    }

    fn scan(&self, scan: &Scan<'_>) -> Result<KeyValues, KvError> {
        let statements = &STATEMENTS[scan.table.position()];
        let sql = match scan.direction {
            Direction::Forward => &statements.forward,
            Direction::Backward => &statements.backward,
        };
        let limit = i64::try_from(scan.limit).unwrap_or(i64::MAX);
        self.read(|connection| {
            let mut statement = connection.prepare_cached(sql)?;
            let rows = statement.query_map(params![scan.from, scan.to, limit], |row| {
                Ok((bytes(row, 0)?, bytes(row, 1)?))
            })?;
            rows.collect::<Result<_, _>>()
                .map_err(|error| read_failed(error.into(), scan.table, scan.from))
        })
    }

    fn write(&self, changes: &[Change<'_>]) -> Result<(), WriteFailed> {
        contained(|| self.commit(changes)).map_err(|error| WriteFailed {
            readable: !matches!(error, KvError::IndexNotInPlace),
            undo: match &error {
                // It was not begun, or it was made in a file that is not found again.
                KvError::NotInPlace(_) | KvError::IndexNotInPlace => Vec::new(),
                // A commit that failed was rolled back: reads still show the rows before it.
                _ => contained(|| before(self, changes)).unwrap_or_default(),
            },
            error,
        })
    }

    fn verify_place(&self) -> Result<(), KvError> {
        let writer = self.writer();
        self.verify_files(&writer)?;
        self.verify_index(&writer)
    }

    fn finish(self: Box<Self>) -> Result<(), KvError> {
        self.verify_place()?;
        let Self {
            database,
            writer,
            readers,
            files,
        } = *self;
        let Writer {
            connection,
            log,
            last,
        } = writer.into_inner();
        log.finish();
        drop((readers, connection, files));
        // Pages that an overwritten index lacks would be lost with the log.
        let (connection, _files) = database.open_first()?;
        match last_group(&connection)? == last {
            true => log::empty(&connection),
            false => Err(KvError::IndexNotInPlace),
        }
    }
}

impl Database {
    /// Opens the first connection, with a new index.
    fn open_first(&self) -> Result<(Connection, Arc<InPlace>), KvError> {
        InPlace::open_first(&self.folder, || {
            let connection = self.connect_writer(false)?;
            first_read(&connection)?;
            Ok(connection)
        })
    }

    fn connect_writer(&self, is_new: bool) -> Result<Connection, KvError> {
        let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        flags.set(OpenFlags::SQLITE_OPEN_CREATE, is_new);
        let connection = self.connect(flags, self.cache_bytes / 2)?;
        if is_new {
            connection.pragma_update(None, "page_size", PAGE_BYTES as u32)?;
            pages::reserve(&connection)?;
            connection.pragma_update(None, "journal_mode", "wal")?;
        }
        connection.pragma_update(None, "synchronous", "full")?;
        connection.pragma_update(None, "wal_autocheckpoint", 0)?;
        // Pages that go to the log before their commit get their checksums with it: see `pages`.
        connection.pragma_update(None, "cache_spill", false)?;
        Ok(connection)
    }

    fn connect_reader(&self) -> Result<Connection, KvError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        self.connect(flags, self.cache_bytes / 2 / IDLE_READERS as u64)
    }

    fn connect(&self, flags: OpenFlags, cache_bytes: u64) -> Result<Connection, KvError> {
        let connection = pages::open(&database_of(&self.folder), flags)?;
        connection.busy_timeout(BUSY)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        connection.set_prepared_statement_cache_capacity(5 * Table::ALL.len());
        let cache_kibibytes = i64::try_from(cache_bytes / 1024).unwrap_or(i64::MAX);
        connection.pragma_update(None, "cache_size", -cache_kibibytes)?;
        connection.pragma_update(None, "cell_size_check", true)?;
        Ok(connection)
    }
}

fn make_database(database: &Database) -> Result<(), KvError> {
    let connection = database.connect_writer(true)?;
    make_tables(&connection)?;
    log::empty(&connection) // without a log the database is empty, not unreadable
}

/// Opens the log of the database, and its index.
fn first_read(connection: &Connection) -> Result<(), Error> {
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))
}

fn make_tables(connection: &Connection) -> Result<(), Error> {
    CLUSTERS
        .iter()
        .try_for_each(|cluster| connection.execute_batch(&definition(cluster)))
}

/// The statement that makes a cluster, as SQLite keeps it.
fn definition(cluster: &str) -> String {
    format!(
        "CREATE TABLE \"{cluster}\" (key BLOB, kind INTEGER, value BLOB, PRIMARY KEY (key, kind)) \
         WITHOUT ROWID"
    )
}

/// The row of the last commit group, as this connection sees the database.
fn last_group(connection: &Connection) -> Result<Option<Vec<u8>>, KvError> {
    get(connection, Table::Meta, SEQUENCE_KEY)
}

fn get(connection: &Connection, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, KvError> {
    let mut statement = connection.prepare_cached(&STATEMENTS[table.position()].get)?;
    statement
        .query_row(params![key], |row| bytes(row, 0))
        .optional()
        .map_err(|error| read_failed(error.into(), table, key))
}

/// The bytes of a column. A damaged row may have another type; then its checksum is wrong.
fn bytes(row: &rusqlite::Row<'_>, column: usize) -> Result<Vec<u8>, Error> {
    Ok(match row.get_ref(column)? {
        ValueRef::Blob(bytes) | ValueRef::Text(bytes) => bytes.to_vec(),
        ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => Vec::new(),
    })
}

/// The b-tree that holds the rows of a table. Tables whose keys begin with the same id share one:
/// the rows of one commit are neighbours in it, on few pages.
const fn cluster(table: Table) -> &'static str {
    match table {
        Table::Transaction | Table::Event | Table::Journal => "history",
        Table::Meta | Table::Count => "state",
        alone => alone.name(),
    }
}

/// All clusters, in the order of their names.
static CLUSTERS: LazyLock<BTreeSet<&str>> =
    LazyLock::new(|| Table::ALL.into_iter().map(cluster).collect());

static STATEMENTS: LazyLock<[Statements; Table::ALL.len()]> = LazyLock::new(|| {
    Table::ALL.map(|table| {
        let (cluster, kind) = (cluster(table), table.number());
        let scan = |order: &str| {
            format!(
                "SELECT key, value FROM \"{cluster}\" WHERE key >= ?1 AND key < ?2 \
                 AND kind = {kind} ORDER BY key {order} LIMIT ?3"
            )
        };
        Statements {
            get: format!("SELECT value FROM \"{cluster}\" WHERE key = ?1 AND kind = {kind}"),
            put: format!("REPLACE INTO \"{cluster}\" (key, kind, value) VALUES (?1, {kind}, ?2)"),
            delete: format!("DELETE FROM \"{cluster}\" WHERE key = ?1 AND kind = {kind}"),
            forward: scan("ASC"),
            backward: scan("DESC"),
        }
    })
});

impl From<Error> for KvError {
    fn from(error: Error) -> Self {
        let text = error.to_string();
        let Some(code) = error.sqlite_error() else {
            return Self::Failed(text);
        };
        match (code.code, code.extended_code) {
            (ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase, _) | (_, SQLITE_IOERR_DATA) => {
                Self::DamagedDatabase(text)
            }
            // The disk failed, or the file was cut off.
            (_, SQLITE_IOERR_READ | SQLITE_IOERR_SHORT_READ) => Self::UnreadablePage(text),
            (_, rusqlite::ffi::SQLITE_IOERR_SHMSIZE) => Self::NoRoom,
            _ => Self::Failed(text),
        }
    }
}

pub(crate) const FILE: &str = "switchyard.sqlite3";
/// Read-only connections that are kept open; more are opened when more threads read at a time.
const IDLE_READERS: usize = 8;
/// How long a connection waits for a lock of another one.
const BUSY: Duration = Duration::from_millis(5);

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::frames::log_of;
    use super::*;
    use crate::{Backend, Batch, Store, StoreSettings};

    const CACHE: u64 = 8 * 1024 * 1024;

    fn put<'a>(key: &'a [u8], value: &'a [u8]) -> Change<'a> {
        Change {
            table: Table::Event,
            key,
            value: Some(value),
        }
    }

    #[test]
    fn the_bundled_version_does_not_lose_commits_when_it_restarts_its_log() {
        assert!(rusqlite::version_number() >= 3_053_001);
    }

    #[test]
    fn the_log_stays_bounded_while_batches_are_written_and_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("sqlite");
        let backend = Sqlite::open(&path, CACHE, Arc::default()).unwrap();
        let all = Scan {
            table: Table::Event,
            from: b"",
            to: b"z",
            direction: Direction::Forward,
            limit: 200,
        };
        let value = vec![7; 50_000];
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                for n in 0..3_000_u32 {
                    backend
                        .write(&[put(&(n % 500).to_be_bytes(), &value)])
                        .unwrap();
                }
            });
            while !writer.is_finished() {
                backend.scan(&all).unwrap();
            }
        });
        let longest = fs::metadata(log_of(&path)).unwrap().len();
        assert!(longest < 64 * 1024 * 1024, "{longest} of 150 MB written");
    }

    #[test]
    fn an_opening_that_is_given_up_leaves_database_and_log_as_they_were() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("sqlite");
        let written = Sqlite::open(&path, CACHE, Arc::default()).unwrap();
        written.write(&[put(b"a", b"1")]).unwrap();
        drop(written);
        let files = || [path.join(FILE), log_of(&path)].map(|file| fs::read(file).unwrap());
        let before = files();
        assert!(!before[1].is_empty(), "the commit is in the log");
        let opened = Sqlite::open(&path, CACHE, Arc::default()).unwrap();
        let row = opened.get(Table::Event, b"a").unwrap();
        assert_eq!(row.as_deref(), Some(b"1".as_slice()));
        drop(opened);
        assert!(files() == before);
    }

    #[tokio::test]
    async fn a_store_that_is_closed_leaves_nothing_in_the_log() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store");
        let settings = StoreSettings {
            backend: Backend::Sqlite,
            path: path.clone(),
            cache_bytes: CACHE,
        };
        let store = Store::open(&settings).unwrap();
        let mut batch = Batch::new();
        batch.put(Table::Event, "a", "1");
        store.commit(batch).await.unwrap();
        let log = log_of(&path.join("sqlite"));
        assert!(fs::metadata(&log).unwrap().len() > 0);
        assert!(store.close().await);
        assert_eq!(fs::metadata(&log).unwrap().len(), 0);
    }

    /// Without this lock another process that closes the database removes its log.
    #[test]
    fn a_database_stays_locked_however_often_it_is_opened() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("sqlite");
        let backend = Sqlite::open(&path, CACHE, Arc::default()).unwrap();
        let inode = fs::metadata(path.join(FILE)).unwrap().ino();
        let (process, place) = (std::process::id().to_string(), format!(":{inode}"));
        let is_locked = || {
            let locks = fs::read_to_string("/proc/locks").unwrap();
            locks.lines().any(|lock| {
                let words: Vec<&str> = lock.split_whitespace().collect();
                words.contains(&process.as_str()) && words.iter().any(|word| word.ends_with(&place))
            })
        };
        backend.write(&[put(b"a", b"1")]).unwrap();
        assert!(is_locked());
        for _ in 0..2 * IDLE_READERS {
            let other = reader::Reader::open(&path, reader::Access::Running).unwrap();
            other
                .query_row("SELECT count(*) FROM history", [], |_| Ok(()))
                .unwrap();
        }
        assert!(is_locked());
    }

    /// A read of a mapped page that the disk cannot deliver ends the process.
    #[test]
    fn the_database_is_never_mapped_into_memory() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("sqlite");
        let backend = Sqlite::open(&path, CACHE, Arc::default()).unwrap();
        backend.write(&[put(b"a", b"1")]).unwrap();
        let file = path.join(FILE).display().to_string();
        let is_mapped = || {
            let maps = fs::read_to_string("/proc/self/maps").unwrap();
            maps.lines().any(|line| line.ends_with(&file))
        };
        let reader = backend.database.connect_reader().unwrap();
        let writer = backend.writer();
        for connection in [&reader, &writer.connection] {
            let mapped = |sql| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
            assert_eq!(mapped("PRAGMA mmap_size"), Ok(0));
            // Also not after a request for it.
            mapped("PRAGMA mmap_size = 1048576").unwrap();
            mapped("SELECT count(*) FROM history").unwrap();
            assert!(!is_mapped());
        }
    }

    #[test]
    fn a_database_that_is_gone_is_not_made_anew() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("sqlite");
        drop(Sqlite::open(&path, CACHE, Arc::default()).unwrap());
        fs::remove_file(path.join(FILE)).unwrap();
        assert!(Sqlite::open(&path, CACHE, Arc::default()).is_err());
        assert!(!path.join(FILE).exists());
    }
}
