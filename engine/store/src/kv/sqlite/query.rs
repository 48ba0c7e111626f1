//! Read-only SQL over the database, for people.
//!
//! It has the views of `reporting`.

use std::path::Path;

use rusqlite::Error;
use rusqlite::types::ValueRef;

use super::super::{KvError, checksum};
use super::reader::{Access, Reader};
use super::{get, reporting};
use crate::error::MaintenanceError;
use crate::mark::MarkPlace;
use crate::place::StoreDirectory;
use crate::point::{Point, SEQUENCE_KEY};
use crate::table::Table;
use crate::{Backend, Manifest, StoreSettings};

/// A read-only connection for queries.
pub struct Shell(Reader);

/// The answer to a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryAnswer {
    pub columns: Vec<String>,
    pub rows: Vec<Vec<Cell>>,
    /// Whether there were more rows than [`MAX_QUERY_ROWS`].
    pub is_cut: bool,
}

/// A value of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    Null,
    Text(String),
    Blob(Vec<u8>),
}

/// A query that has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// The message of the database.
    #[error("{0}")]
    Refused(String),
    /// The files of the store were deleted or replaced since the shell opened them. It answers no
    /// further query.
    #[error("{0}: open the shell again")]
    NotInPlace(String),
}

impl Shell {
    /// Opens a store, beside a server or without one.
    ///
    /// # Errors
    /// When there is no store, or its backend has no SQL; when no server has it open and it is
    /// damaged, or has lost commits.
    pub fn open(settings: &StoreSettings) -> Result<Self, MaintenanceError> {
        let place = StoreDirectory::of_existing(&settings.path, settings.backend)?;
        if let Some(place) = &place {
            settings.backend.verify_log(place)?;
        }
        // Read before the rows: a running store only gets ahead of it.
        let mark = MarkPlace::of(&settings.path);
        let reached = mark.read()?;
        let access = match place {
            Some(_) => Access::Stopped,
            None => Access::Running,
        };
        let shell = Self::connect(settings.backend.name(), &settings.path, access)?;
        match mark.compare(shell.end(), &reached) {
            // The server has more, and reports it through another index.
            Err(_) if access == Access::Running => Err(MaintenanceError::IndexNotInPlace),
            compared => Ok(compared.map(|()| shell)?),
        }
    }

    /// The last commit group. `None`: there is none, or it cannot be read.
    fn end(&self) -> Option<Point> {
        let row = get(&self.0, Table::Meta, SEQUENCE_KEY).ok()??;
        Point::of_row(checksum::value_of(Table::Meta, SEQUENCE_KEY, &row)?)
    }

    /// Opens a backup.
    ///
    /// # Errors
    /// When the folder is not a backup, or its backend has no SQL.
    pub fn open_backup(folder: &Path) -> Result<Self, MaintenanceError> {
        let manifest = Manifest::read(folder)?;
        Self::connect(&manifest.backend, &folder.join("store"), Access::Copy)
    }

    fn connect(backend: &str, store: &Path, access: Access) -> Result<Self, MaintenanceError> {
        if backend != Backend::Sqlite.name() {
            return Err(MaintenanceError::NoSql {
                backend: backend.to_owned(),
            });
        }
        let open = || {
            let reader = Reader::open(&store.join(backend), access)?;
            reader.pragma_update(None, "temp_store", "memory")?;
            for view in reporting::views("CREATE TEMP VIEW") {
                reader.execute_batch(&view)?;
            }
            Ok(reader)
        };
        let opened: Result<_, KvError> = open();
        opened.map(Self).map_err(|error| match error {
            KvError::IndexNotInPlace => MaintenanceError::IndexNotInPlace,
            KvError::NoRoom => MaintenanceError::NoRoom,
            error => MaintenanceError::Query {
                reason: error.to_string(),
            },
        })
    }

    /// Names of the views.
    pub fn views() -> impl Iterator<Item = String> {
        reporting::names()
    }

    /// Answers one query. The read ends with it: a server can restart its log between two queries.
    ///
    /// # Errors
    /// When it is not SQL, would change something, or the database cannot be read.
    /// [`QueryError::NotInPlace`] when the files are not those of the store any more.
    pub fn query(&self, sql: &str) -> Result<QueryAnswer, QueryError> {
        let verified = || {
            let verified = self.0.verify();
            verified.map_err(|error| QueryError::NotInPlace(error.to_string()))
        };
        verified()?;
        let answer = self.answer(sql);
        verified()?;
        answer
    }

    fn answer(&self, sql: &str) -> Result<QueryAnswer, QueryError> {
        let mut statement = self.0.prepare(sql)?;
        // BEGIN and SAVEPOINT return no columns: an open read would keep the log from restarting.
        if !statement.readonly() || statement.column_count() == 0 {
            return Err(QueryError::Refused(
                "the shell only answers queries".to_owned(),
            ));
        }
        let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
        let (width, mut answer) = (columns.len(), Vec::new());
        let mut rows = statement.query([])?;
        let mut is_cut = false;
        while let Some(row) = rows.next()? {
            if answer.len() == MAX_QUERY_ROWS {
                is_cut = true;
                break;
            }
            let cells = (0..width).map(|column| Ok(Cell::of(row.get_ref(column)?)));
            answer.push(cells.collect::<Result<_, Error>>()?);
        }
        Ok(QueryAnswer {
            columns,
            rows: answer,
            is_cut,
        })
    }
}

impl Cell {
    fn of(value: ValueRef<'_>) -> Self {
        match value {
            ValueRef::Null => Self::Null,
            ValueRef::Integer(number) => Self::Text(number.to_string()),
            ValueRef::Real(number) => Self::Text(number.to_string()),
            ValueRef::Text(text) => Self::Text(String::from_utf8_lossy(text).into_owned()),
            ValueRef::Blob(bytes) => Self::Blob(bytes.to_vec()),
        }
    }
}

impl From<Error> for QueryError {
    fn from(error: Error) -> Self {
        Self::Refused(error.to_string())
    }
}

/// Rows of an answer.
pub const MAX_QUERY_ROWS: usize = 10_000;
