//! Drafts: folders that are written under another name, and renamed when they are whole.
//!
//! A file in each draft says that this program made it, and for which store. The process that
//! writes the draft holds a lock on the file, so two of them never write, or remove, one draft.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use ulid::Ulid;

use super::backup::{Manifest, make_folder};
use super::error::MaintenanceError;
use super::opened::identity_of;
use super::place::rename_durably;

/// A folder that is written under another name, and removed unless it was renamed.
pub(super) struct Draft(pub PathBuf, Option<File>);

impl Draft {
    /// Makes the draft of the folder `path`, in place of one that a killed process left. `store`:
    /// the store that is copied.
    pub(super) fn make(path: &Path, store: Option<Ulid>) -> Result<Self, MaintenanceError> {
        let draft = path.with_added_extension(EXTENSION);
        match Found::of(&draft)? {
            Found::Nothing => {}
            Found::Empty => {
                fs::remove_dir(&draft).map_err(MaintenanceError::file("remove", &draft))?;
            }
            Found::Abandoned { _lock, .. } => {
                fs::remove_dir_all(&draft).map_err(MaintenanceError::file("remove", &draft))?;
            }
            Found::InUse => return Err(MaintenanceError::DraftInUse { path: draft }),
            Found::Other => return Err(MaintenanceError::NotADraft { path: draft }),
        }
        if let Some(parent) = draft.parent().filter(|parent| *parent != Path::new("")) {
            make_folder(parent)?;
        }
        match DirBuilder::new().mode(0o700).create(&draft) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(MaintenanceError::DraftInUse { path: draft });
            }
            made => made.map_err(MaintenanceError::file("make", &draft))?,
        }
        let mark = draft.join(MARK);
        let marked = || {
            let mut file = File::create_new(&mark)?;
            let _ = file.try_lock(); // without locks there, nothing is worse than before
            let store = store.map(|store| store.to_string()).unwrap_or_default();
            file.write_all(format!("{SAYS}{store}\n").as_bytes())?;
            Ok(file)
        };
        let file = marked().map_err(MaintenanceError::file("write", &mark))?;
        Ok(Self(draft, Some(file)))
    }

    /// Gives the draft its final name, durably.
    pub(super) fn place(mut self, path: &Path) -> io::Result<()> {
        rename_durably(&self.0, path)?;
        self.1 = None;
        // After the rename: a draft without its mark would stay for ever.
        let _ = fs::remove_file(path.join(MARK));
        Ok(())
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if self.1.is_some() {
            let _ = fs::remove_dir_all(&self.0); // the next one removes what is left
        }
    }
}

/// Removes a draft of a backup of this store that no process writes, or an older backup that was
/// being removed. Returns whether it did.
///
/// # Errors
/// When the folder cannot be read or removed.
pub fn remove_abandoned_draft(draft: &Path, store: Ulid) -> Result<bool, MaintenanceError> {
    let is_backup = || Manifest::read(draft).is_ok_and(|manifest| manifest.store == store);
    let removed = match Found::of(draft)? {
        Found::Abandoned { store: of, _lock } if of.is_none_or(|of| of == store) => {
            fs::remove_dir_all(draft)
        }
        Found::Empty => fs::remove_dir(draft), // fails when its process has begun to fill it
        Found::Other if is_backup() => fs::remove_dir_all(draft),
        _ => return Ok(false),
    };
    removed.map_err(MaintenanceError::file("remove", draft))?;
    Ok(true)
}

/// The folder with the name of a draft.
enum Found {
    Nothing,
    Empty,
    InUse,
    /// A draft whose process was killed. The lock is held.
    Abandoned {
        store: Option<Ulid>,
        _lock: File,
    },
    /// A folder or file of another program.
    Other,
}

impl Found {
    fn of(draft: &Path) -> Result<Self, MaintenanceError> {
        let mark = draft.join(MARK);
        let read = MaintenanceError::file("read", &mark);
        let lock = match File::open(&mark) {
            Ok(lock) => lock,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return match fs::read_dir(draft) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::Nothing),
                    entries => match entries.map_err(read)?.next() {
                        None => Ok(Self::Empty),
                        Some(_) => Ok(Self::Other),
                    },
                };
            }
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => return Ok(Self::Other),
            Err(error) => return Err(read(error)),
        };
        if lock.try_lock().is_err() {
            return Ok(Self::InUse);
        }
        // Another process may have removed it, and made the next one, before it was locked.
        match (fs::metadata(&mark), lock.metadata()) {
            (Ok(found), Ok(open)) if identity_of(&found) == identity_of(&open) => {}
            _ => return Ok(Self::InUse),
        }
        let text = fs::read_to_string(&mark).map_err(read)?;
        let store = text.strip_prefix(SAYS).map(str::trim_end);
        Ok(match store {
            None if !SAYS.starts_with(&text) => Self::Other,
            store => Self::Abandoned {
                store: store.and_then(|store| store.parse().ok()),
                _lock: lock,
            },
        })
    }
}

/// Extension of a draft.
const EXTENSION: &str = "draft";
/// File in a draft.
const MARK: &str = "DRAFT";
const SAYS: &str = "A draft of Switchyard: it is removed when it was left behind.\nstore = ";
