//! The damage that was found in an open store, and its record: a file beside the store, from which
//! the store knows of the damage at once when it is opened again.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::error::MaintenanceError;
use super::mark::Point;
use super::place::{replace_durably, resolved};

/// Damage of an open store. Only the damage that was found first is kept.
#[derive(Default)]
pub(super) struct FoundDamage {
    first: OnceLock<Arc<String>>,
    /// `None`: the store is not in files.
    record: Option<Record>,
}

/// The file of a store that holds the damage found first.
struct Record {
    path: PathBuf,
    /// Identity of the store. A restored store has another one, so that the record of the store
    /// before it does not hold.
    store: String,
}

impl FoundDamage {
    /// The damage that was recorded for the store in `path`, whose last commit group is `opened`.
    pub fn open(path: &Path, opened: Point) -> Self {
        let record = Record {
            path: path_of(path),
            store: opened.store().to_string(),
        };
        let first = OnceLock::new();
        if let Some(known) = record.read() {
            tracing::error!(damage = known, "store damage known since an earlier run");
            let _ = first.set(Arc::new(known)); // it is empty
        }
        Self {
            first,
            record: Some(record),
        }
    }

    pub fn first(&self) -> Option<Arc<String>> {
        self.first.get().cloned()
    }

    pub fn is_some(&self) -> bool {
        self.first.get().is_some()
    }

    /// Keeps and records the damage if it is the first.
    pub fn note(&self, what: &str) {
        self.first.get_or_init(|| {
            if let Some(record) = &self.record
                && let Err(error) = record.write(what)
            {
                let path = record.path.display();
                tracing::error!(%error, %path, damage = what, "store damage not recorded");
            }
            Arc::new(what.to_owned())
        });
    }
}

impl Record {
    /// The recorded damage; `None`: there is no record, or it is of another store. A record that
    /// cannot be read counts as damage.
    fn read(&self) -> Option<String> {
        let found = match fs::read_to_string(&self.path) {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => return Some(format!("{}: {error}", self.path.display())),
        };
        let (store, what) = found.split_once('\n')?;
        (store == self.store).then(|| what.trim_end().to_owned())
    }

    fn write(&self, what: &str) -> io::Result<()> {
        replace_durably(&self.path, format!("{}\n{what}\n", self.store).as_bytes())
    }
}

/// Damage that was recorded for the store in `path`, whichever identity the store had then.
pub(super) fn recorded(path: &Path) -> Option<String> {
    let found = fs::read_to_string(path_of(path)).ok()?;
    found
        .split_once('\n')
        .map(|(_, what)| what.trim_end().to_owned())
}

/// Removes the record of a store that was found whole.
///
/// # Errors
/// When the file cannot be removed.
pub(super) fn settle(path: &Path) -> Result<(), MaintenanceError> {
    let record = path_of(path);
    match fs::remove_file(&record) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(MaintenanceError::file("remove", &record)(error))
        }
        _ => Ok(()),
    }
}

fn path_of(store: &Path) -> PathBuf {
    resolved(store).with_added_extension("damage")
}
