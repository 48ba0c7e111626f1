//! The directory of an embedded store: who may use it, and which backend's files are in it.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

use super::Backend;
use super::error::{MaintenanceError, OpenError};

/// A directory that this process holds, marked with its backend and layout, until this value is
/// dropped.
pub(super) struct StoreDirectory {
    path: PathBuf,
    backend: &'static str,
    _lock: Lock,
    /// The locked folder itself: it is the same under every path that leads to it, and it has no
    /// lock file that could be deleted.
    _folder: File,
}

/// The right to use a store, or to make one where there is none. It is a file beside the store and
/// not in it: a directory that is moved away while a process uses it leaves the lock where it is.
pub(super) struct Lock {
    _file: File,
}

/// The path of a store without symbolic links, so that each store has one lock and one mark.
pub(super) fn resolved(store: &Path) -> PathBuf {
    let parent = || {
        Some(
            fs::canonicalize(store.parent()?)
                .ok()?
                .join(store.file_name()?),
        )
    };
    let found = fs::canonicalize(store).ok().or_else(parent);
    found.unwrap_or_else(|| store.to_owned())
}

/// Whether there is anything in the folder of a store.
///
/// # Errors
/// When the folder is there and cannot be read.
pub(super) fn is_used(store: &Path) -> Result<bool, OpenError> {
    match fs::read_dir(store) {
        Ok(mut entries) => Ok(entries.next().is_some()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(source) => Err(OpenError::Unreadable {
            path: store.to_owned(),
            source,
        }),
    }
}

/// Use of a store that a lock is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    /// No other process has a lock.
    Alone,
    /// Other processes may have the same lock.
    Shared,
}

impl Lock {
    pub(super) fn take(store: &Path) -> Result<Self, OpenError> {
        Self::take_for(store, Use::Alone)
    }

    fn take_for(store: &Path, usage: Use) -> Result<Self, OpenError> {
        let path = resolved(store).with_added_extension("lock");
        let unwritable = |source| OpenError::Unwritable {
            path: path.clone(),
            source,
        };
        let mut options = File::options();
        // Readable too: some file systems share a lock only of such a file.
        options.create(true).truncate(false).read(true).write(true);
        let file = options.mode(0o600).open(&path).map_err(unwritable)?;
        try_lock(&file, usage, store, unwritable)?;
        Ok(Self { _file: file })
    }
}

/// Opens and locks the folder of a store.
fn lock_folder(store: &Path, usage: Use) -> Result<File, OpenError> {
    let unreadable = |source| OpenError::Unreadable {
        path: store.to_owned(),
        source,
    };
    let folder = File::open(store).map_err(unreadable)?;
    try_lock(&folder, usage, store, unreadable)?;
    Ok(folder)
}

fn try_lock(
    file: &File,
    usage: Use,
    store: &Path,
    failed: impl Fn(io::Error) -> OpenError,
) -> Result<(), OpenError> {
    let locked = match usage {
        Use::Alone => file.try_lock(),
        Use::Shared => file.try_lock_shared(),
    };
    locked.map_err(|error| match error {
        TryLockError::WouldBlock => OpenError::Locked {
            path: store.to_owned(),
        },
        TryLockError::Error(source) => failed(source),
    })
}

impl StoreDirectory {
    /// Makes the directory when there is none, locks it, and checks or writes its marker. A full
    /// disk is no reason to refuse a existing store, whose rows can be read.
    pub(super) fn take(path: &Path, backend: &'static str) -> Result<Self, OpenError> {
        let unwritable = |source| OpenError::Unwritable {
            path: path.to_owned(),
            source,
        };
        // Readable for its owner only, whatever the umask: a server refuses a store that others can
        // read.
        let mut directory = DirBuilder::new();
        directory.recursive(true).mode(0o700);
        directory.create(path).map_err(unwritable)?;
        let place = Self {
            path: path.to_owned(),
            backend,
            _lock: Lock::take(path)?,
            _folder: lock_folder(path, Use::Alone)?,
        };
        match fs::read(path.join(MARKER)) {
            Ok(marker) => {
                if check_marker(path, &marker, backend)? == MarkerState::Damaged {
                    tracing::warn!(
                        store.marker = MARKER,
                        "rewriting damaged marker of the store"
                    );
                    Self::mark(path, backend).map_err(unwritable)?;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Self::mark(path, backend).map_err(unwritable)?;
            }
            Err(source) => {
                let path = path.join(MARKER);
                return Err(OpenError::Unreadable { path, source });
            }
        }
        Ok(place)
    }

    /// Locks the directory of a store that exists against a server, and changes nothing in it.
    /// Processes that only read share the lock where the backend lets several of them read: each
    /// verifies the store itself. `None`: a server, or another process that must be alone, has
    /// locked it.
    pub(super) fn of_existing(
        path: &Path,
        backend: Backend,
    ) -> Result<Option<Self>, MaintenanceError> {
        match fs::read(path.join(MARKER)) {
            // Only the marker is missing: the server writes it again.
            Err(error)
                if error.kind() == io::ErrorKind::NotFound && has_files(path, backend.name()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(MaintenanceError::NoStore {
                    path: path.to_owned(),
                });
            }
            read => {
                let marker = read.map_err(MaintenanceError::file("read", &path.join(MARKER)))?;
                check_marker(path, &marker, backend.name())?;
            }
        }
        let usage = match backend {
            Backend::Sqlite => Use::Shared,
            Backend::Sled | Backend::Memory => Use::Alone,
        };
        let lock = Lock::take_for(path, usage);
        match lock.and_then(|lock| Ok((lock, lock_folder(path, usage)?))) {
            Err(OpenError::Locked { .. }) => Ok(None),
            taken => {
                let (lock, folder) = taken?;
                Ok(Some(Self {
                    path: path.to_owned(),
                    backend: backend.name(),
                    _lock: lock,
                    _folder: folder,
                }))
            }
        }
    }

    /// Folder of the backend's files. The first time `make` creates it, under another name until
    /// its files are complete and durable: not all backends open files whose creation a crash has
    /// interrupted, and these hold no commit.
    pub(super) fn backend_path(
        &self,
        make: impl FnOnce(&Path) -> Result<(), OpenError>,
    ) -> Result<PathBuf, OpenError> {
        let path = self.path.join(self.backend);
        let unwritable = |source| OpenError::Unwritable {
            path: self.path.clone(),
            source,
        };
        if !path.try_exists().map_err(unwritable)? {
            let draft = self.path.join(format!("{}.new", self.backend));
            match fs::remove_dir_all(&draft) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(unwritable(error));
                }
                _ => {}
            }
            make(&draft)?;
            sync_all_below(&draft)
                .and_then(|()| rename_durably(&draft, &path))
                .map_err(unwritable)?;
        }
        Ok(path)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether there is room to write at all: a backend needs some to recover.
    pub(super) fn probe(&self) -> Result<(), OpenError> {
        let path = self.path.join(PROBE);
        let written = write_durably(&path, &vec![0; PROBE_BYTES]);
        written
            .and(remove_file(&path))
            .map_err(|source| OpenError::Unwritable {
                path: self.path.clone(),
                source,
            })
    }

    /// Writes the marker of a new store.
    pub(super) fn mark(path: &Path, backend: &str) -> io::Result<()> {
        let facts = format!(
            "A store of Switchyard. Do not edit.\nbackend = {backend}\nlayout = {LAYOUT}\n"
        );
        let sum = xxh3_64(facts.as_bytes());
        let marker = format!("{facts}{CHECKSUM}{sum:016x}\n");
        replace_durably(&path.join(MARKER), marker.as_bytes())
    }
}

/// State of a marker that does not refuse the store.
#[derive(Debug, PartialEq, Eq)]
enum MarkerState {
    Whole,
    /// Changed bytes, beside files of the expected backend.
    Damaged,
}

/// Whether the store in `path` was made by this backend, in the layout of this program. A damaged
/// marker refuses no store: the rows themselves tell a foreign layout, as they carry the version of
/// their format.
///
/// # Errors
/// When it was made by another backend or in another layout, or the marker is damaged and the
/// backend has no files here.
fn check_marker(
    path: &Path,
    marker: &[u8],
    wanted: &'static str,
) -> Result<MarkerState, OpenError> {
    let Some((backend, layout)) = facts_of(marker) else {
        return match has_files(path, wanted) {
            true => Ok(MarkerState::Damaged),
            false => Err(OpenError::DamagedMarker {
                path: path.join(MARKER),
            }),
        };
    };
    if layout != LAYOUT.to_string() {
        return Err(OpenError::WrongLayout {
            path: path.to_owned(),
            found: layout.to_owned(),
            wanted: LAYOUT,
        });
    }
    if backend != wanted {
        return Err(OpenError::WrongBackend {
            path: path.to_owned(),
            found: backend.to_owned(),
            wanted,
        });
    }
    Ok(MarkerState::Whole)
}

/// Backend and layout of a whole marker.
fn facts_of(marker: &[u8]) -> Option<(&str, &str)> {
    let marker = std::str::from_utf8(marker).ok()?;
    let (facts, sum) = marker.split_once(CHECKSUM)?;
    let sum = u64::from_str_radix(sum.trim_end(), 16).ok()?;
    let value = |name: &str| {
        let line = facts.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|rest| rest.strip_prefix(" = "))
    };
    let is_whole = sum == xxh3_64(facts.as_bytes());
    Some((value("backend")?, value("layout")?)).filter(|_| is_whole)
}

/// Whether the backend has a folder of files in a store.
fn has_files(path: &Path, backend: &str) -> bool {
    path.join(backend).is_dir()
}

/// Flushes all files and folders below a folder.
pub(super) fn sync_all_below(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync_all_below(&entry.path())?;
        } else {
            File::open(entry.path())?.sync_all()?;
        }
    }
    File::open(directory)?.sync_all()
}

/// Removes a file if it is there.
pub(super) fn remove_file(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Makes a file or replaces it, wholly or not at all: it is written under another name first.
pub(super) fn replace_durably(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let draft = path.with_added_extension("new");
    write_durably(&draft, bytes)?;
    rename_durably(&draft, path)
}

/// Renames a file or folder, and returns when the new name survives a power cut.
pub(super) fn rename_durably(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)?;
    match to.parent() {
        Some(parent) if parent != Path::new("") => File::open(parent)?.sync_all(),
        _ => File::open(".")?.sync_all(),
    }
}

fn write_durably(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

const MARKER: &str = "STORE";
const CHECKSUM: &str = "checksum = ";
const PROBE: &str = "room";
/// Free bytes that the disk must have before a failed backend is opened again.
const PROBE_BYTES: usize = 1024 * 1024;
/// Version of the layout of rows. Raise it when an older program could not read the rows of this
/// one.
const LAYOUT: u32 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_for_one_holder_at_a_time() {
        let directory = tempfile::tempdir().unwrap();
        let store = directory.path().join("store");
        let first = StoreDirectory::take(&store, "sqlite").unwrap();
        fs::rename(&store, directory.path().join("moved")).unwrap();
        let second = StoreDirectory::take(&store, "sqlite").err().unwrap();
        assert!(matches!(second, OpenError::Locked { .. }));
        assert!(
            second
                .to_string()
                .contains("is in use by another process: stop that one first")
        );
        drop(first);
        StoreDirectory::take(&store, "sqlite").unwrap();
    }

    #[test]
    fn a_store_without_its_lock_file_is_for_one_holder_at_a_time() {
        let directory = tempfile::tempdir().unwrap();
        let store = directory.path().join("store");
        let first = StoreDirectory::take(&store, "sqlite").unwrap();
        fs::remove_file(store.with_added_extension("lock")).unwrap();
        let second = StoreDirectory::take(&store, "sqlite").err().unwrap();
        assert!(matches!(second, OpenError::Locked { .. }), "{second}");
        let existing = StoreDirectory::of_existing(&store, Backend::Sqlite).unwrap();
        assert!(existing.is_none());
        drop(first);
        StoreDirectory::take(&store, "sqlite").unwrap();
    }

    #[test]
    fn a_damaged_marker_beside_the_files_of_the_backend_is_rewritten() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store");
        drop(StoreDirectory::take(&path, "sqlite").unwrap());
        let whole = fs::read(path.join(MARKER)).unwrap();
        let take = || StoreDirectory::take(&path, "sqlite").map(drop);
        for at in 0..whole.len() {
            let mut marker = whole.clone();
            marker[at] ^= 0x81;
            fs::write(path.join(MARKER), &marker).unwrap();
            assert!(
                matches!(take(), Err(OpenError::DamagedMarker { .. })),
                "byte {at}"
            );
            fs::create_dir(path.join("sqlite")).unwrap();
            let existing = StoreDirectory::of_existing(&path, Backend::Sqlite);
            assert!(existing.unwrap().is_some(), "byte {at}");
            assert_eq!(fs::read(path.join(MARKER)).unwrap(), marker, "byte {at}");
            take().unwrap();
            assert_eq!(fs::read(path.join(MARKER)).unwrap(), whole, "byte {at}");
            fs::remove_dir(path.join("sqlite")).unwrap();
        }
        fs::remove_file(path.join(MARKER)).unwrap();
        let none = StoreDirectory::of_existing(&path, Backend::Sqlite);
        assert!(matches!(none, Err(MaintenanceError::NoStore { .. })));
    }

    #[test]
    fn a_whole_marker_of_another_layout_or_backend_refuses_the_store() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store");
        drop(StoreDirectory::take(&path, "sled").unwrap());
        fs::create_dir(path.join("sqlite")).unwrap();
        let other = StoreDirectory::take(&path, "sqlite").err().unwrap();
        assert!(matches!(other, OpenError::WrongBackend { .. }), "{other}");
        let facts = "backend = sqlite\nlayout = 99\n";
        let sum = xxh3_64(facts.as_bytes());
        fs::write(path.join(MARKER), format!("{facts}{CHECKSUM}{sum:x}\n")).unwrap();
        let newer = StoreDirectory::take(&path, "sqlite").err().unwrap();
        assert!(matches!(newer, OpenError::WrongLayout { .. }), "{newer}");
    }

    #[test]
    fn a_new_directory_is_for_its_owner_only() {
        use std::os::unix::fs::PermissionsExt as _;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("data/store");
        StoreDirectory::take(&path, "sqlite").unwrap();
        for made in [path.as_path(), path.parent().unwrap()] {
            let mode = fs::metadata(made).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o700, "{}", made.display());
        }
    }

    #[test]
    fn a_directory_stays_with_the_backend_that_made_it() {
        let directory = tempfile::tempdir().unwrap();
        let store = directory.path().join("store");
        StoreDirectory::take(&store, "sled").unwrap();
        let refused = StoreDirectory::take(&store, "sqlite").err().unwrap();
        assert!(
            refused.to_string().contains("set store.backend = \"sled\""),
            "{refused}"
        );
        StoreDirectory::take(&store, "sled").unwrap();
    }

    #[test]
    fn a_path_that_can_not_be_written_is_refused_with_what_to_do() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        fs::write(&file, "").unwrap();
        let refused = StoreDirectory::take(&file.join("store"), "sqlite")
            .err()
            .unwrap();
        assert!(
            refused
                .to_string()
                .contains("this user must be allowed to write it")
        );
    }
}
