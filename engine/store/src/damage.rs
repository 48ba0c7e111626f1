//! The damage that was found in an open store, and its record: a file beside the store, from which
//! the damage is known at once when the store is opened again.

use std::fmt;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use ulid::Ulid;
use xxhash_rust::xxh3::xxh3_64;

use super::error::OpenError;
use super::place::{remove_file, replace_durably, resolved};

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
    /// Identities of the store: the present one, and those of its earlier copies.
    stores: Vec<Ulid>,
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
    /// Identities of the store. Empty: the record cannot be read.
    stores: Vec<Ulid>,
    pub what: String,
}

impl FoundDamage {
    /// The damage that was recorded for the store in `path`. A store with another identity than
    /// `before` was restored, and its damage is not known. The record is written again when the
    /// store has got a new identity.
    pub fn open(path: &Path, before: Option<Ulid>, store: Ulid) -> Self {
        let known = recorded(path, before);
        let mut stores = vec![store];
        let earlier = known.iter().flat_map(|known| &known.stores);
        stores.extend(earlier.filter(|earlier| **earlier != store));
        let found = Self {
            first: OnceLock::new(),
            record: Some(Record {
                path: path_of(path),
                stores,
                state: Mutex::new(State::NotWritten),
            }),
        };
        if let Some(known) = known {
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

    /// Keeps and records the damage if it is the first.
    pub fn note(&self, what: &str) {
        self.first.get_or_init(|| Arc::new(what.to_owned()));
        self.record();
    }

    /// Writes the record, unless there is no damage or it is written. The writer tries again once a
    /// second, and when the store is closed: the disk may have been full.
    pub fn record(&self) {
        if let Some((first, record)) = self.first.get().zip(self.record.as_ref()) {
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
        let text = written(&self.stores, what);
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
/// it is not known. A record that cannot be read, or was changed, counts as damage.
pub(super) fn recorded(path: &Path, store: Option<Ulid>) -> Option<Recorded> {
    let path = path_of(path);
    let unreadable = |why: &dyn fmt::Display| Recorded {
        stores: Vec::new(),
        what: format!("the record of damage {}: {why}", path.display()),
    };
    let found = match read(&path) {
        Ok(text) => Recorded::of(&text).unwrap_or_else(|| unreadable(&"it was changed or cut off")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => unreadable(&error),
    };
    let is_other = |store| !found.stores.is_empty() && !found.stores.contains(&store);
    (!store.is_some_and(is_other)).then_some(found)
}

/// Text of a record. Something else than a file is an error: a pipe would never end.
fn read(path: &Path) -> io::Result<String> {
    if !fs::symlink_metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let mut text = String::new();
    fs::File::open(path)?
        .take(RECORD_BYTES)
        .read_to_string(&mut text)?;
    Ok(text)
}

fn written(stores: &[Ulid], what: &str) -> String {
    let stores: Vec<_> = stores.iter().map(Ulid::to_string).collect();
    let text = format!("{}\n{what}\n", stores.join(" "));
    format!("{text}{CHECKSUM}{:016x}\n", xxh3_64(text.as_bytes()))
}

/// Adds the identity that a store is about to get to its record. Before the rows have it: a crash
/// after that must not make the damage one of another store.
///
/// # Errors
/// The record cannot be written.
pub(super) fn carry_over(path: &Path, before: Option<Ulid>, to: Ulid) -> Result<(), OpenError> {
    let Some(mut known) = recorded(path, before) else {
        return Ok(());
    };
    known.stores.extend(before);
    known.stores.push(to);
    known.stores.dedup();
    let record = path_of(path);
    let text = written(&known.stores, &known.what);
    replace_durably(&record, text.as_bytes()).map_err(|source| match source.kind() {
        io::ErrorKind::IsADirectory => {
            let draft = record.with_added_extension("new");
            let path = if draft.is_dir() { draft } else { record };
            OpenError::InTheWay { path }
        }
        _ => OpenError::Unwritable {
            path: record,
            source,
        },
    })
}

/// Removes the record of a store that was found sound.
///
/// # Errors
/// The file cannot be removed. The text names it.
pub(super) fn settle(path: &Path) -> Result<(), String> {
    let path = path_of(path);
    remove_file(&path).map_err(|error| format!("{}: {error}", path.display()))
}

impl Recorded {
    /// `None`: the text is not what [`written`] makes.
    fn of(text: &str) -> Option<Self> {
        let (stores, rest) = text.split_once('\n')?;
        let stores = stores.split(' ').map(Ulid::from_string);
        let stores: Vec<_> = stores.collect::<Result<_, _>>().ok()?;
        let (what, _) = rest.rsplit_once(CHECKSUM)?;
        let what = what.strip_suffix('\n')?;
        (written(&stores, what) == text).then(|| Self {
            what: what.to_owned(),
            stores,
        })
    }
}

fn path_of(store: &Path) -> PathBuf {
    resolved(store).with_added_extension("damage")
}

const CHECKSUM: &str = "checksum ";
/// Longest record that is read. A sentence about damage has some hundred bytes.
const RECORD_BYTES: u64 = 64 * 1024;
