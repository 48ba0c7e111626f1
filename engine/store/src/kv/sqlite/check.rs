//! A check of a whole database: its structure, and each row in the order of the b-trees.
//!
//! `integrity_check` reads each page, whose checksum must be right, and finds keys that are out of
//! order and pages that are reached twice or never.
//! The rows are read without bounds on key and kind, so that one with a damaged key is read too.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, params};

use super::super::{KvError, checksum};
use super::{CLUSTERS, FILE, STATEMENTS, bytes, cluster, definition, pages};
use crate::check::Findings;
use crate::point::{Point, SEQUENCE_KEY};
use crate::table::Table;

/// The use of the database file by others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// A server writes to it.
    Running,
    /// No server has it open, but one may be started.
    Stopped,
    /// No process changes it: a backup. Nothing is made beside it.
    Copy,
}

/// Opens a database for reading.
pub(super) fn connect(folder: &Path, access: Access) -> Result<Connection, KvError> {
    let file = folder.join(FILE);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = match access {
        Access::Running | Access::Stopped => pages::open(&file, flags)?,
        Access::Copy => pages::open_immutable(&file, flags)?,
    };
    connection.busy_timeout(BUSY)?;
    connection.set_db_config(
        rusqlite::config::DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE,
        true,
    )?;
    connection.pragma_update(None, "cell_size_check", true)?;
    Ok(connection)
}

/// The last commit group in a database without its log, which no process has open.
pub(super) fn end(folder: &Path) -> Result<Option<Point>, KvError> {
    let connection = connect(folder, Access::Copy)?;
    let mut statement = connection.prepare(&STATEMENTS[Table::Meta.position()].get)?;
    let row = statement.query_row(params![SEQUENCE_KEY], |row| bytes(row, 0));
    let row = row.optional()?;
    let value = row
        .as_deref()
        .and_then(|row| checksum::value_of(Table::Meta, SEQUENCE_KEY, row));
    Ok(value.and_then(Point::of_row))
}

/// Checks the database in a folder.
pub(crate) fn check(
    folder: &Path,
    access: Access,
    findings: &mut Findings<'_>,
) -> Result<(), KvError> {
    let connection = connect(folder, access)?;
    check_definitions(&connection, findings)?;
    check_structure(&connection, access, findings)?;
    for cluster in CLUSTERS.iter() {
        if let Err(error) = check_rows(&connection, cluster, findings) {
            findings.fault(format!("rows of {cluster} cannot be read: {error}"));
        }
    }
    Ok(())
}

fn check_definitions(connection: &Connection, findings: &mut Findings<'_>) -> Result<(), KvError> {
    let mut statement =
        connection.prepare("SELECT name, sql FROM sqlite_schema WHERE type <> 'view'")?;
    let found = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let found = found.collect::<Result<BTreeMap<String, String>, _>>()?;
    let wanted = CLUSTERS
        .iter()
        .map(|cluster| ((*cluster).to_owned(), definition(cluster)));
    if found != wanted.collect() {
        findings.fault("the definitions of the tables are not those of this program".to_owned());
    }
    Ok(())
}

/// A check of a running database goes table by table: a read that lasts keeps the log from being
/// restarted. It leaves out the list of free pages.
fn check_structure(
    connection: &Connection,
    access: Access,
    findings: &mut Findings<'_>,
) -> Result<(), KvError> {
    let parts: Vec<String> = match access {
        Access::Running => CLUSTERS
            .iter()
            .map(|part| format!("(\"{part}\")"))
            .collect(),
        Access::Stopped | Access::Copy => vec![String::new()],
    };
    for part in parts {
        findings.begin("structure");
        let mut statement = connection.prepare(&format!("PRAGMA integrity_check{part}"))?;
        let mut lines = statement.query([])?;
        while let Some(line) = lines.next()? {
            let text: String = line.get(0)?;
            let is_fault = |line: &&str| *line != "ok" && !line.starts_with("***");
            for fault in text.lines().filter(is_fault) {
                findings.fault(fault.to_owned());
            }
        }
    }
    Ok(())
}

fn check_rows(
    connection: &Connection,
    part: &'static str,
    findings: &mut Findings<'_>,
) -> Result<(), KvError> {
    findings.begin(part);
    let select = |bound| {
        format!("SELECT key, kind, value FROM \"{part}\" {bound} ORDER BY key, kind LIMIT {CHUNK}")
    };
    let mut first = connection.prepare(&select(""))?;
    let mut next = connection.prepare(&select("WHERE (key, kind) > (?1, ?2)"))?;
    let mut last: Option<(Vec<u8>, i64)> = None;
    loop {
        let mut rows = match &last {
            None => first.query([])?,
            Some((key, kind)) => next.query(params![key, kind])?,
        };
        let (mut read, mut end) = (0, None);
        while let Some(row) = rows.next()? {
            let (key, kind, value) = (row.get_ref(0)?, row.get_ref(1)?, row.get_ref(2)?);
            end = match (key, kind) {
                (ValueRef::Blob(key), ValueRef::Integer(kind)) => Some((key.to_vec(), kind)),
                _ => None,
            };
            check_row(part, [key, kind, value], findings);
            read += 1;
        }
        if read < CHUNK {
            return Ok(());
        }
        if end.is_none() || end <= last {
            findings.fault(format!("rows of {part} are not in the order of their keys"));
            return Ok(());
        }
        last = end;
    }
}

fn check_row(
    part: &'static str,
    [key, kind, value]: [ValueRef<'_>; 3],
    findings: &mut Findings<'_>,
) {
    let table = match kind {
        ValueRef::Integer(kind) => Table::ALL
            .into_iter()
            .find(|table| i64::from(table.number()) == kind && cluster(*table) == part),
        _ => None,
    };
    match (table, key, value) {
        (Some(table), ValueRef::Blob(key), ValueRef::Blob(value)) => {
            findings.row(table, key, value);
        }
        (table, key, _) => {
            let key = match Value::try_from(key) {
                Ok(Value::Blob(key)) => key,
                Ok(Value::Text(key)) => key.into_bytes(),
                _ => Vec::new(),
            };
            findings.damaged(table.map_or(part, Table::name), &key);
        }
    }
}

/// Rows that are read at a time: between two chunks the server can restart its log.
const CHUNK: usize = 2_000;
const BUSY: Duration = Duration::from_secs(5);
