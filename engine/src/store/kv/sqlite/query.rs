//! Read-only SQL over the database, for people.
//!
//! Each table of the store is a view, `<table>_rows`, with `key` and `value`: the value is without
//! its version and checksum, and JSON where the store keeps JSON. The rows are those of the program
//! of this version.

use std::path::Path;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Error};

use super::super::KvError;
use super::check::{Access, connect};
use super::cluster;
use crate::store::error::MaintenanceError;
use crate::store::kv::checksum::SUM_BYTES;
use crate::store::place::Place;
use crate::store::table::Table;
use crate::store::{Backend, Manifest, StoreSettings};

/// A read-only connection for queries.
pub struct Shell(Connection);

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

/// A query that has no answer: the message of the database.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct QueryError(String);

impl Shell {
    /// Opens a store, beside a server or without one.
    ///
    /// # Errors
    /// When there is no store, or its backend has no SQL.
    pub fn open(settings: &StoreSettings) -> Result<Self, MaintenanceError> {
        Place::of_existing(&settings.path, settings.backend)?;
        Self::connect(settings.backend.name(), &settings.path, Access::Running)
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
            let connection = connect(&store.join(backend), access)?;
            connection.pragma_update(None, "temp_store", "memory")?;
            for table in Table::ALL {
                connection.execute_batch(&view(table))?;
            }
            Ok(connection)
        };
        let opened: Result<_, KvError> = open();
        opened.map(Self).map_err(|error| MaintenanceError::Query {
            reason: error.to_string(),
        })
    }

    /// Names of the views.
    pub fn views() -> impl Iterator<Item = String> {
        Table::ALL.into_iter().map(name_of)
    }

    /// Answers one query. The read ends with it: a server can restart its log between two queries.
    ///
    /// # Errors
    /// When it is not SQL, would change something, or the database cannot be read.
    pub fn query(&self, sql: &str) -> Result<QueryAnswer, QueryError> {
        let mut statement = self.0.prepare(sql)?;
        if !statement.readonly() {
            return Err(QueryError("the shell only reads".to_owned()));
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
        Self(error.to_string())
    }
}

/// The view of a table. A versioned row begins with eight bytes of its version, the first of which
/// is zero and cannot begin JSON.
fn view(table: Table) -> String {
    let (name, cluster, kind) = (name_of(table), cluster(table), table.number());
    format!(
        "CREATE TEMP VIEW \"{name}\" AS SELECT key, \
         iif(substr(stored, 1, 1) = x'00' AND substr(stored, 9, 1) = x'7b', \
             CAST(substr(stored, 9) AS TEXT), \
             iif(substr(stored, 1, 1) = x'7b', CAST(stored AS TEXT), stored)) AS value \
         FROM (SELECT key, substr(value, 1, length(value) - {SUM_BYTES}) AS stored \
               FROM \"{cluster}\" WHERE kind = {kind})"
    )
}

fn name_of(table: Table) -> String {
    format!("{}_rows", table.name())
}

/// Rows of an answer.
pub const MAX_QUERY_ROWS: usize = 10_000;
