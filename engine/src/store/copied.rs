//! Restores from the folder of a continuous copy: a backup, and the logs that continue it.
//!
//! The last log may end with a commit that was cut off while it was shipped; it is left out. Any
//! other damage and any missing commit is refused.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::backup::Manifest;
use super::error::MaintenanceError;
use super::kv::sqlite::{frames, log};
use super::progress::{Progress, Report};

/// The newest state in the folder of a continuous copy.
pub(super) struct Copied {
    pub base: PathBuf,
    /// The logs since the base, the oldest first.
    logs: Vec<PathBuf>,
}

impl Copied {
    /// `None`: the folder holds no continuous copy with a whole base.
    pub(super) fn find(folder: &Path) -> Result<Option<Self>, MaintenanceError> {
        let read = MaintenanceError::file("read", folder);
        for generation in numbered(folder, GENERATION).map_err(&read)?.values().rev() {
            let bases = numbered(generation, BASE).map_err(&read)?;
            let logs = numbered(generation, LOG).map_err(&read)?;
            let mut whole = bases.into_iter().rev();
            if let Some((number, base)) = whole.find(|(_, base)| Manifest::read(base).is_ok()) {
                let logs = logs.into_iter().filter(|(log, _)| *log >= number);
                return Ok(Some(Self {
                    base,
                    logs: logs.map(|(_, log)| log).collect(),
                }));
            }
        }
        Ok(None)
    }

    /// Adds the commits of the logs to a copy of the base. Returns the number of the last group.
    pub(super) fn replay(
        &self,
        base: &Manifest,
        database: &Path,
        report: Report<'_>,
    ) -> Result<u64, MaintenanceError> {
        let mut end = base.sequence;
        let placed = frames::log_of(database);
        for (done, log) in (1_u64..).zip(&self.logs) {
            fs::copy(log, &placed).map_err(MaintenanceError::file("copy", log))?;
            match frames::span(database)? {
                // Older logs ended before the base was made. A log may begin before the store got
                // its present identity, and the base after it.
                Some((first, last)) if last.sequence() >= end => {
                    if last.store() != base.store || first.sequence() > end + 1 {
                        return Err(missing(log, end, first.sequence()));
                    }
                    log::move_in(database).map_err(|error| MaintenanceError::Copy {
                        reason: error.to_string(),
                    })?;
                    end = last.sequence();
                }
                _ => fs::remove_file(&placed).map_err(MaintenanceError::file("remove", &placed))?,
            }
            report(Progress {
                stage: "logs",
                done,
                total: None,
            });
        }
        Ok(end)
    }
}

fn missing(log: &Path, end: u64, begins: u64) -> MaintenanceError {
    MaintenanceError::Damaged {
        what: "the continuous copy".to_owned(),
        faults: format!(
            "{} begins with commit group {begins} and does not continue group {end} of this store",
            log.display()
        ),
    }
}

/// The entries of a folder with this prefix and a number behind it; none without the folder.
pub(super) fn numbered(folder: &Path, prefix: &str) -> io::Result<BTreeMap<u64, PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        entries => entries?,
    };
    let mut found = BTreeMap::new();
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        let number = name.and_then(|name| name.strip_prefix(prefix)?.parse().ok());
        if let Some(number) = number.filter(|number| name == Some(&name_of(prefix, *number))) {
            found.insert(number, path);
        }
    }
    Ok(found)
}

pub(super) fn name_of(prefix: &str, number: u64) -> String {
    format!("{prefix}{number:010}")
}

pub(super) const GENERATION: &str = "generation-";
pub(super) const BASE: &str = "base-";
pub(super) const LOG: &str = "log-";
