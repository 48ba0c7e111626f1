//! A check of a whole store: every row, the structure of the database, its log and its mark.
//!
//! It works beside a server that has the store open where the backend lets a second process read.
//! It changes nothing, but removes the record of earlier damage when no server has the store open
//! and the whole store is sound.

use std::path::Path;

use super::damage;
use super::error::{MaintenanceError, OpenError};
use super::kv::sqlite::reader::Access;
use super::kv::{Kv, KvError, Scan, checksum, sled, sqlite};
use super::mark::MarkPlace;
use super::place::StoreDirectory;
use super::point::{Point, SEQUENCE_KEY};
use super::progress::{Progress, Report, Unit};
use super::table::Table;
use super::{Backend, Direction, StoreSettings};
use switchyard_core::limits::STORE_KEY_BYTES;
use switchyard_core::time::Timestamp;

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckReport {
    /// Whether a server had the store open.
    pub is_running: bool,
    /// Rows of each table.
    pub rows: Vec<(Table, u64)>,
    /// Damaged rows, the first [`MAX_DAMAGED`] of them.
    pub damaged: Vec<DamagedRow>,
    pub damaged_rows: u64,
    /// All other faults, a sentence each.
    pub faults: Vec<String>,
    /// Last commit group in the store. `None`: it has none, or it cannot be read.
    pub end: Option<CommitGroup>,
    /// Damage that a server found earlier and that is on record.
    pub recorded: Option<RecordedDamage>,
}

/// Damage on record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedDamage {
    /// A sentence.
    pub what: String,
    /// State of the record after this check.
    pub record: RecordState,
}

/// Record of damage after a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordState {
    /// A process has the store open, or the store is not sound.
    Kept,
    Removed,
    /// The store is sound, and the file cannot be removed. The text names it.
    NotRemoved(String),
}

/// A row that is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedRow {
    /// Name of the table, or of the tables that share a b-tree where the damage hides which it is.
    pub table: String,
    pub key: Vec<u8>,
}

/// A group of commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommitGroup {
    pub sequence: u64,
    pub at: Timestamp,
}

impl CheckReport {
    /// Whether the store is not damaged.
    pub fn is_sound(&self) -> bool {
        self.damaged_rows == 0 && self.faults.is_empty()
    }
}

/// Checks a store.
///
/// # Errors
/// When it cannot be checked now. Damage is no error but a part of the report.
pub fn check(
    settings: &StoreSettings,
    report: Report<'_>,
) -> Result<CheckReport, MaintenanceError> {
    while_index_is_in_place(|| check_once(settings, report))
}

/// Reads again after a read that the server may not have seen.
pub(super) fn while_index_is_in_place<T>(
    mut read: impl FnMut() -> Result<T, MaintenanceError>,
) -> Result<T, MaintenanceError> {
    for _ in 1..READS {
        match read() {
            Err(MaintenanceError::IndexNotInPlace) => {}
            read => return read,
        }
    }
    read()
}

fn check_once(
    settings: &StoreSettings,
    report: Report<'_>,
) -> Result<CheckReport, MaintenanceError> {
    let path = &settings.path;
    let place = StoreDirectory::of_existing(path, settings.backend)?;
    let is_running = place.is_none();
    let mut findings = Findings::new(report);
    // Read before the rows: a running store only gets ahead of it.
    let mark = MarkPlace::of(path);
    let reached = mark.read()?;
    match settings.backend {
        Backend::Memory => return Err(MaintenanceError::NothingStored),
        Backend::Sled if is_running => {
            return Err(MaintenanceError::Exclusive { path: path.clone() });
        }
        Backend::Sled => findings.sled(&path.join(settings.backend.name()), settings.cache_bytes),
        Backend::Sqlite => {
            if let Some(place) = &place {
                match settings.backend.verify_log(place) {
                    Err(refused @ OpenError::Unreadable { .. }) => return Err(refused.into()),
                    Err(refused) => findings.fault(refused.to_string()),
                    Ok(()) => {}
                }
            }
            let access = match is_running {
                true => Access::Running,
                false => Access::Stopped,
            };
            findings.sqlite(&path.join(settings.backend.name()), access)?;
        }
    }
    // A store whose rows cannot be read is damaged, and not empty.
    if (findings.end.is_some() || findings.faults.is_empty())
        && let Err(fault) = mark.compare(findings.end, &reached)
    {
        // The server has more, and reports it through another index.
        if is_running {
            return Err(MaintenanceError::IndexNotInPlace);
        }
        findings.fault(fault.to_string());
    }
    let store = findings.end.map(|end| end.store);
    let mut report = findings.report(is_running);
    let may_settle = report.is_sound() && !is_running;
    report.recorded = damage::recorded(path, store).map(|recorded| RecordedDamage {
        what: recorded.what,
        record: match may_settle.then(|| damage::settle(path)) {
            None => RecordState::Kept,
            Some(Ok(())) => RecordState::Removed,
            Some(Err(why)) => RecordState::NotRemoved(why),
        },
    });
    Ok(report)
}

/// Checks the files of a backend that no process has open. Returns the last group, too.
pub(super) fn check_copy(
    settings: &StoreSettings,
    folder: &Path,
    report: Report<'_>,
) -> (CheckReport, Option<Point>) {
    let mut findings = Findings::new(report);
    match settings.backend {
        Backend::Sled => findings.sled(folder, settings.cache_bytes),
        Backend::Sqlite => {
            if let Err(error) = findings.sqlite(folder, Access::Copy) {
                findings.fault(error.to_string());
            }
        }
        Backend::Memory => {}
    }
    let end = findings.end;
    (findings.report(false), end)
}

/// Results of a check that is in progress.
pub(super) struct Findings<'a> {
    rows: [u64; Table::ALL.len()],
    damaged: Vec<DamagedRow>,
    damaged_rows: u64,
    faults: Vec<String>,
    end: Option<Point>,
    progress: Progress,
    report: Report<'a>,
}

impl<'a> Findings<'a> {
    fn new(report: Report<'a>) -> Self {
        Self {
            rows: [0; Table::ALL.len()],
            damaged: Vec::new(),
            damaged_rows: 0,
            faults: Vec::new(),
            end: None,
            progress: Progress {
                stage: "structure",
                done: 0,
                total: None,
                unit: Unit::Rows,
            },
            report,
        }
    }

    /// Begins a stage.
    pub(super) fn begin(&mut self, stage: &'static str) {
        self.progress = Progress {
            stage,
            done: 0,
            total: None,
            unit: Unit::Rows,
        };
        (self.report)(self.progress);
    }

    /// A row as the backend stores it, with its checksum.
    pub(super) fn row(&mut self, table: Table, key: &[u8], stored: &[u8]) {
        self.progress.done += 1;
        if self.progress.done.is_multiple_of(REPORT_EVERY) {
            (self.report)(self.progress);
        }
        let Some(value) = checksum::value_of(table, key, stored) else {
            return self.damaged(table.name(), key);
        };
        self.rows[table.position()] += 1;
        if table == Table::Meta && key == SEQUENCE_KEY {
            match Point::of_row(value) {
                Some(point) => self.end = Some(point),
                None => self.damaged(table.name(), key),
            }
        }
    }

    pub(super) fn damaged(&mut self, table: &str, key: &[u8]) {
        self.damaged_rows += 1;
        if self.damaged.len() < MAX_DAMAGED {
            self.damaged.push(DamagedRow {
                table: table.to_owned(),
                key: key.to_vec(),
            });
        }
    }

    pub(super) fn fault(&mut self, fault: String) {
        if self.faults.len() < MAX_DAMAGED {
            self.faults.push(fault);
        }
    }

    fn sqlite(&mut self, folder: &Path, access: Access) -> Result<(), MaintenanceError> {
        match sqlite::check::check(folder, access, self) {
            Err(KvError::IndexNotInPlace) => return Err(MaintenanceError::IndexNotInPlace),
            Err(KvError::NoRoom) => return Err(MaintenanceError::NoRoom),
            Err(error) => self.fault(format!("the database cannot be read: {error}")),
            Ok(()) => {}
        }
        Ok(())
    }

    fn sled(&mut self, folder: &Path, cache_bytes: u64) {
        let kv = match sled::Sled::open_unread(folder, cache_bytes) {
            Ok(kv) => kv,
            Err(error) => return self.fault(format!("the database cannot be read: {error}")),
        };
        match kv.fault() {
            Ok(fault) => fault.into_iter().for_each(|fault| self.fault(fault)),
            Err(error) => self.fault(format!("the database cannot be read to its end: {error}")),
        }
        for table in Table::ALL {
            if let Err(error) = self.all_rows(&kv, table) {
                let table = table.name();
                self.fault(format!(
                    "the table {table} cannot be read to its end: {error}"
                ));
            }
        }
    }

    fn all_rows(&mut self, kv: &dyn Kv, table: Table) -> Result<(), KvError> {
        self.begin(table.name());
        let mut from = Vec::new();
        loop {
            let rows = kv.scan(&Scan {
                table,
                from: &from,
                to: &[u8::MAX; STORE_KEY_BYTES + 1],
                direction: Direction::Forward,
                limit: CHUNK,
            })?;
            for (key, value) in &rows {
                self.row(table, key, value);
            }
            match rows.last() {
                Some((last, _)) if rows.len() == CHUNK => {
                    from.clone_from(last);
                    from.push(0);
                }
                _ => return Ok(()),
            }
        }
    }

    fn report(self, is_running: bool) -> CheckReport {
        CheckReport {
            is_running,
            rows: Table::ALL.into_iter().zip(self.rows).collect(),
            damaged: self.damaged,
            damaged_rows: self.damaged_rows,
            faults: self.faults,
            end: self.end.map(|end| CommitGroup {
                sequence: end.sequence,
                at: end.at,
            }),
            recorded: None,
        }
    }
}

/// Damaged rows and faults that a report lists.
pub const MAX_DAMAGED: usize = 1_000;
/// Rows between two reports of progress.
const REPORT_EVERY: u64 = 5_000;
/// Rows that are read at a time.
const CHUNK: usize = 2_000;
/// Reads of a database whose index is lost each time.
const READS: usize = 3;
