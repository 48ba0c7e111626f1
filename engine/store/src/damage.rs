//! The damage that was found in an open store, and its record: a file beside the store, from which
//! the store knows of the damage at once when it is opened again.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use ulid::Ulid;

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
    store: Ulid,
    state: Mutex<State>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    NotWritten,
    /// The last write failed. The failure was logged.
    Failed,
    Written,
}

/// Content of a record.
pub(super) struct Recorded {
    /// Identity that the store had. `None`: the record cannot be read, or names none.
    store: Option<Ulid>,
    pub what: String,
}

impl FoundDamage {
    /// The damage that was recorded for the store in `path`. A store with another identity than
    /// `before` was restored, and its damage is not known. The record is written again when the
    /// store has got a new identity.
    pub fn open(path: &Path, before: Option<Ulid>, store: Ulid) -> Self {
        let found = Self {
            first: OnceLock::new(),
            record: Some(Record {
                path: path_of(path),
                store,
                state: Mutex::new(State::NotWritten),
            }),
        };
        if let Some(known) = recorded(path, before) {
            tracing::error!(
                damage = known.what,
                "store damage known since an earlier run"
            );
            found.note(&known.what);
        }
        found
    }

    pub fn first(&self) -> Option<Arc<String>> {
        self.first.get().cloned()
    }

    pub fn is_some(&self) -> bool {
        self.first.get().is_some()
    }

    /// Keeps and records the damage if it is the first. A record that could not be written is
    /// tried again with each later damage.
    pub fn note(&self, what: &str) {
        let first = self.first.get_or_init(|| Arc::new(what.to_owned()));
        if let Some(record) = &self.record {
            record.write(first);
        }
    }
}

impl Record {
    /// Writes the record once. Another thread that writes it is not waited for.
    fn write(&self, what: &str) {
        let Some(mut state) = self.state.try_lock() else {
            return;
        };
        if *state == State::Written {
            return;
        }
        let text = format!("{}\n{what}\n", self.store);
        *state = match replace_durably(&self.path, text.as_bytes()) {
            Ok(()) => State::Written,
            Err(error) => {
                if *state == State::NotWritten {
                    let path = self.path.display();
                    tracing::error!(%error, %path, damage = what, "store damage not recorded");
                }
                State::Failed
            }
        };
    }
}

/// Damage that was recorded for the store in `path` with this identity; `None` for the identity:
/// it is not known. A record that cannot be read counts as damage.
pub(super) fn recorded(path: &Path, store: Option<Ulid>) -> Option<Recorded> {
    let path = path_of(path);
    let found = match fs::read_to_string(&path) {
        Ok(text) => Recorded::of(&text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => Recorded {
            store: None,
            what: format!("{}: {error}", path.display()),
        },
    };
    let is_other = found
        .store
        .zip(store)
        .is_some_and(|(of, store)| of != store);
    (!is_other).then_some(found)
}

/// Removes the record of a store that was found sound.
///
/// # Errors
/// When the file cannot be removed.
pub(super) fn settle(path: &Path) -> io::Result<()> {
    match fs::remove_file(path_of(path)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

impl Recorded {
    fn of(text: &str) -> Self {
        let line = text.split_once('\n');
        let named = line.and_then(|(store, what)| Some((Ulid::from_string(store).ok()?, what)));
        let (store, what) = match named {
            Some((store, what)) => (Some(store), what),
            None => (None, text),
        };
        Self {
            store,
            what: what.trim_end().to_owned(),
        }
    }
}

fn path_of(store: &Path) -> PathBuf {
    resolved(store).with_added_extension("damage")
}
