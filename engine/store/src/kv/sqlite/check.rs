//! A check of a whole database: its structure, and each row in the order of the b-trees.
//!
//! `integrity_check` reads each page, whose checksum must be right, and finds keys that are out of
//! order and pages that are reached twice or never.
//! The rows are read without bounds on key and kind, so that one with a damaged key is read too.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, OptionalExtension as _, params};

use super::super::{KvError, checksum};
use super::reader::{Access, Reader};
use super::{CLUSTERS, STATEMENTS, bytes, cluster, definition};
use crate::check::Findings;
use crate::point::{Point, SEQUENCE_KEY};
use crate::table::Table;

/// The last commit group in a database without its log, which no process has open.
pub(super) fn end(folder: &Path) -> Result<Option<Point>, KvError> {
    let connection = Reader::open(folder, Access::Copy)?;
    let mut statement = connection.prepare(&STATEMENTS[Table::Meta.position()].get)?;
    let row = statement.query_row(params![SEQUENCE_KEY], |row| bytes(row, 0));
    let row = row.optional()?;
    let value = row
        .as_deref()
        .and_then(|row| checksum::value_of(Table::Meta, SEQUENCE_KEY, row));
    Ok(value.and_then(Point::of_row))
}

/// Checks the database in a folder.
///
/// # Errors
/// When it cannot be read. After [`KvError::IndexNotInPlace`] the findings do not count.
pub(crate) fn check(
    folder: &Path,
    access: Access,
    findings: &mut Findings<'_>,
) -> Result<(), KvError> {
    let reader = Reader::open(folder, access)?;
    let checked = check_parts(&reader, access, findings);
    // An overwritten index may show an older database, which is sound.
    reader.verify_with_server()?;
    checked
}

fn check_parts(
    reader: &Reader,
    access: Access,
    findings: &mut Findings<'_>,
) -> Result<(), KvError> {
    check_definitions(reader, findings)?;
    check_structure(reader, access, findings)?;
    for cluster in CLUSTERS.iter() {
        if let Err(error) = check_rows(reader, cluster, findings) {
            reader.verify()?;
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
    reader: &Reader,
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
        reader.verify()?;
        let mut statement = reader.prepare(&format!("PRAGMA integrity_check{part}"))?;
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
    reader: &Reader,
    part: &'static str,
    findings: &mut Findings<'_>,
) -> Result<(), KvError> {
    findings.begin(part);
    reader.verify()?;
    let select = |bound| {
        format!("SELECT key, kind, value FROM \"{part}\" {bound} ORDER BY key, kind LIMIT {CHUNK}")
    };
    let mut first = reader.prepare(&select(""))?;
    let mut next = reader.prepare(&select("WHERE (key, kind) > (?1, ?2)"))?;
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
