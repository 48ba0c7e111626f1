//! Backups: a folder with a verified copy of the store, its gateways and its settings file.
//!
//! A backup is made beside a server that writes, where the backend lets a second process read. It
//! is written under another name, verified by the same check as a store, flushed and renamed: a
//! folder with the name of a backup is whole. The master key is no part of it.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use ulid::Ulid;

use super::check::{CheckReport, check_copy, while_index_is_in_place};
use super::draft::Draft;
use super::error::{MaintenanceError, chain};
use super::kv::sqlite::reader::Access;
use super::kv::{KvError, sqlite};
use super::mark::{Found, MarkPlace};
use super::place::{StoreDirectory, replace_durably, sync_all_below};
use super::point::Point;
use super::progress::{Progress, Report, Unit};
use super::throttle::Throttle;
use super::{Backend, StoreSettings};
use switchyard_core::time::Timestamp;
use switchyard_system::clock::Clock;
use switchyard_system::ids::Ids;

/// The description of a backup, `backup.json` in its folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Format of the backup.
    pub format: u32,
    /// Version of the program that made it.
    pub version: String,
    /// Identity of this backup: each has its own.
    pub incarnation: Ulid,
    /// Name of the backend.
    pub backend: String,
    /// Identity of the store.
    pub store: Ulid,
    /// Last commit group in it.
    pub sequence: u64,
    /// Time of the last commit group, in microseconds since 1970.
    pub sequence_at: Timestamp,
    /// Time of the backup.
    pub taken_at: Timestamp,
    /// Rows of each table.
    pub rows: BTreeMap<String, u64>,
    /// SHA-256 of each gateway in it.
    pub gateways: Vec<String>,
    /// Files of gateways that could not be read, or have not the content of their name, and are
    /// missing in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gateways_left_out: Vec<String>,
}

/// The parts of an installation that a backup holds.
#[derive(Clone, Copy, Debug)]
pub struct BackupSource<'a> {
    pub store: &'a StoreSettings,
    /// Folder of the engine's copies of gateways. It need not exist.
    pub gateways: &'a Path,
    /// Text of the settings file, without a master key.
    pub settings: Option<&'a str>,
    pub views: Views,
}

/// Views for reports in a backup, with backend `sqlite`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Views {
    /// Adds the views of this version of the program.
    Added,
    /// No page differs from the store's, so that its log can continue the backup.
    AsStored,
}

/// Makes a backup in the new folder `to`. It reads at most `bytes_per_second`; 0: no limit. A
/// gateway that cannot be read is left out: the store is more urgent than a file that its source
/// has.
///
/// # Errors
/// When the store is damaged or behind its mark, or a file cannot be read or written. Then there is
/// no folder `to`.
pub fn backup(
    source: BackupSource<'_>,
    to: &Path,
    bytes_per_second: u64,
    report: Report<'_>,
) -> Result<Manifest, MaintenanceError> {
    if to
        .try_exists()
        .map_err(MaintenanceError::file("read", to))?
    {
        return Err(MaintenanceError::Exists {
            path: to.to_owned(),
        });
    }
    if is_inside(to, &source.store.path) {
        return Err(MaintenanceError::Inside {
            path: to.to_owned(),
            store: source.store.path.clone(),
        });
    }
    while_index_is_in_place(|| backup_once(source, to, bytes_per_second, report))
}

fn backup_once(
    source: BackupSource<'_>,
    to: &Path,
    bytes_per_second: u64,
    report: Report<'_>,
) -> Result<Manifest, MaintenanceError> {
    let reached = MarkPlace::of(&source.store.path);
    let mark = reached.read()?;
    let identity = match &mark {
        Found::Point(point) => Some(point.store),
        Found::Damaged | Found::Nothing => None,
    };
    let draft = Draft::make(to, identity)?;
    let access = copy_store(
        (source.store, source.views),
        &draft.0.join(STORE),
        &mut Throttle::new(bytes_per_second),
        report,
    )?;
    let mut left_out = Vec::new();
    let added = add_gateways(source.gateways, &draft.0.join(GATEWAYS), &mut |error| {
        let reason = chain(&error);
        tracing::warn!(reason, "a gateway was left out of a backup");
        metrics::counter!("switchyard_store_gateways_left_out_total").increment(1);
        left_out.push(reason);
        Ok(())
    });
    let gateways = added?;
    if let Some(settings) = source.settings {
        let path = draft.0.join(SETTINGS);
        private_file(&path)
            .and_then(|mut file| file.write_all(settings.as_bytes()))
            .map_err(MaintenanceError::file("write", &path))?;
    }
    let folder = draft.0.join(STORE).join(source.store.backend.name());
    let (checked, end) = check_copy(source.store, &folder, report);
    must_be_sound("the copy", &checked)?;
    match reached.compare(end, &mark) {
        // The server has more, and reports it through another index.
        Err(_) if access == Access::Running => return Err(MaintenanceError::IndexNotInPlace),
        compared => compared?,
    }
    let Some(end) = end else {
        return Err(MaintenanceError::NothingStored);
    };
    let mut manifest = Manifest::of(source.store.backend, end, &checked, gateways);
    manifest.gateways_left_out = left_out;
    manifest
        .write(&draft.0.join(MANIFEST))
        .and_then(|()| sync_all_below(&draft.0))
        .and_then(|()| draft.place(to))
        .map_err(MaintenanceError::file("write", to))?;
    Ok(manifest)
}

/// Copies the files of a store into a new folder. Returns the use of the files by others.
fn copy_store(
    (settings, views): (&StoreSettings, Views),
    to: &Path,
    throttle: &mut Throttle,
    report: Report<'_>,
) -> Result<Access, MaintenanceError> {
    let (path, backend) = (&settings.path, settings.backend);
    let place = StoreDirectory::of_existing(path, backend)?;
    let [from, folder] = [path, to].map(|store| store.join(backend.name()));
    let written = MaintenanceError::file("write", to);
    fs::create_dir_all(&folder).map_err(&written)?;
    StoreDirectory::mark(to, backend.name()).map_err(&written)?;
    match (backend, place) {
        (Backend::Memory, _) => Err(MaintenanceError::NothingStored),
        (Backend::Sled, None) => Err(MaintenanceError::Exclusive { path: path.clone() }),
        (Backend::Sled, Some(_place)) => {
            copy_files(&from, &folder, report)?;
            Ok(Access::Stopped)
        }
        (Backend::Sqlite, place) => {
            let access = match place {
                Some(place) => {
                    backend.verify_log(&place)?; // and let the place go: a server may be started
                    Access::Stopped
                }
                None => Access::Running,
            };
            let paths = [from.as_path(), &folder];
            let copied = sqlite::copy::copy(paths, access, views, throttle, report);
            copied.map(|()| access).map_err(|error| match error {
                KvError::IndexNotInPlace => MaintenanceError::IndexNotInPlace,
                KvError::NoRoom => MaintenanceError::NoRoom,
                damage if damage.is_damage() => MaintenanceError::Damaged {
                    what: from.display().to_string(),
                    faults: damage.to_string(),
                },
                error => MaintenanceError::Copy {
                    reason: error.to_string(),
                },
            })
        }
    }
}

/// Adds the gateways of one folder to another. Returns the SHA-256 of each. A file that cannot be
/// read, or has not the content of its name, is left out if `unreadable` returns no error.
pub(super) fn add_gateways(
    from: &Path,
    to: &Path,
    unreadable: &mut dyn FnMut(MaintenanceError) -> Result<(), MaintenanceError>,
) -> Result<Vec<String>, MaintenanceError> {
    let mut hashes = Vec::new();
    let entries = match fs::read_dir(from) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(hashes),
        Err(error) => {
            unreadable(MaintenanceError::file("read", from)(error))?;
            return Ok(hashes);
        }
        Ok(entries) => entries,
    };
    make_folder(to)?;
    for entry in entries {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                unreadable(MaintenanceError::file("read", from)(error))?;
                break;
            }
        };
        let (path, name) = (entry.path(), entry.file_name());
        // Only whole copies of gateways have such a name; nothing else is taken along.
        let hash = name.to_str().and_then(|name| name.strip_suffix(".so"));
        let Some(hash) = hash.filter(|hash| hash.len() == 64) else {
            continue;
        };
        let read = fs::read(&path).map_err(MaintenanceError::file("read", &path));
        let verified = read.and_then(|bytes| match sha256(&bytes) == hash {
            true => Ok(bytes),
            false => Err(MaintenanceError::Damaged {
                what: path.display().to_string(),
                faults: "its SHA-256 is not its name".to_owned(),
            }),
        });
        let bytes = match verified {
            Ok(bytes) => bytes,
            Err(error) => {
                unreadable(error)?;
                continue;
            }
        };
        let kept = to.join(&name);
        let is_there = fs::read(&kept).is_ok_and(|kept| kept == bytes);
        if !is_there {
            replace_durably(&kept, &bytes).map_err(MaintenanceError::file("write", &kept))?;
        }
        hashes.push(hash.to_owned());
    }
    hashes.sort();
    Ok(hashes)
}

/// Copies a folder and its content. Links and other special files are left out.
pub(super) fn copy_files(
    from: &Path,
    to: &Path,
    report: Report<'_>,
) -> Result<(), MaintenanceError> {
    let mut progress = Progress {
        stage: "copy",
        done: 0,
        total: Some(bytes_in(from)?),
        unit: Unit::Bytes,
    };
    copy_folder(from, to, &mut |bytes| {
        progress.done += bytes;
        report(progress);
    })
}

/// Bytes of the files in a folder that [`copy_files`] copies.
fn bytes_in(folder: &Path) -> Result<u64, MaintenanceError> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder).map_err(MaintenanceError::file("read", folder))? {
        let entry = entry.map_err(MaintenanceError::file("read", folder))?;
        let path = entry.path();
        let found = entry.metadata();
        let found = found.map_err(MaintenanceError::file("read", &path))?;
        if found.is_dir() {
            bytes += bytes_in(&path)?;
        } else if found.is_file() {
            bytes += found.len();
        }
    }
    Ok(bytes)
}

/// Copies a folder; `copied` is called with the number of bytes of each part.
fn copy_folder(
    from: &Path,
    to: &Path,
    copied: &mut dyn FnMut(u64),
) -> Result<(), MaintenanceError> {
    make_folder(to)?;
    for entry in fs::read_dir(from).map_err(MaintenanceError::file("read", from))? {
        let entry = entry.map_err(MaintenanceError::file("read", from))?;
        let (path, copy) = (entry.path(), to.join(entry.file_name()));
        let kind = entry
            .file_type()
            .map_err(MaintenanceError::file("read", &path))?;
        if kind.is_dir() {
            copy_folder(&path, &copy, copied)?;
        } else if kind.is_file() {
            copy_file(&path, &copy, copied).map_err(MaintenanceError::file("copy", &path))?;
        }
    }
    Ok(())
}

/// Opens a new file that only its owner can read: settings may hold passwords.
fn private_file(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create(true).truncate(true).mode(0o600);
    options.open(path)
}

/// Copies a file and its permissions.
fn copy_file(from: &Path, to: &Path, copied: &mut dyn FnMut(u64)) -> io::Result<()> {
    let (mut source, mut target) = (File::open(from)?, File::create(to)?);
    target.set_permissions(source.metadata()?.permissions())?;
    loop {
        match io::copy(&mut (&mut source).take(PART_BYTES), &mut target)? {
            0 => return Ok(()),
            bytes => copied(bytes),
        }
    }
}

/// Makes a folder that only its owner can read, and those above it. An existing one stays.
pub(super) fn make_folder(path: &Path) -> Result<(), MaintenanceError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(MaintenanceError::file("make", path))
}

/// Whether a path is a folder or is in it. Symbolic links are resolved.
pub fn is_inside(path: &Path, folder: &Path) -> bool {
    resolved(path).starts_with(resolved(folder))
}

/// A path without symbolic links, as far as it exists.
fn resolved(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let existing = path.ancestors().find_map(|above| {
        let real = fs::canonicalize(above).ok()?;
        Some((real, path.strip_prefix(above).ok()?))
    });
    let Some((mut real, rest)) = existing else {
        return path;
    };
    for part in rest.components() {
        match part {
            Component::ParentDir => drop(real.pop()),
            part => real.push(part),
        }
    }
    real
}

pub(super) fn must_be_sound(what: &str, report: &CheckReport) -> Result<(), MaintenanceError> {
    if report.is_sound() {
        return Ok(());
    }
    let mut faults = report.faults.clone();
    if let Some(row) = report.damaged.first() {
        faults.push(format!(
            "{} damaged rows, the first of them in table {}",
            report.damaged_rows, row.table
        ));
    }
    faults.truncate(MAX_FAULTS);
    Err(MaintenanceError::Damaged {
        what: what.to_owned(),
        faults: faults.join("; "),
    })
}

impl Manifest {
    fn of(backend: Backend, end: Point, checked: &CheckReport, gateways: Vec<String>) -> Self {
        let now = Clock::wall().now();
        Self {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            incarnation: Ids::system().ulid(now),
            backend: backend.name().to_owned(),
            store: end.store,
            sequence: end.sequence,
            sequence_at: end.at,
            taken_at: now,
            rows: rows_of(checked),
            gateways,
            gateways_left_out: Vec::new(),
        }
    }

    /// Reads the manifest of the backup in a folder.
    ///
    /// # Errors
    /// When the folder is not a backup of a format that this program reads.
    pub fn read(backup: &Path) -> Result<Self, MaintenanceError> {
        let not_a_backup = |reason: String| MaintenanceError::NotABackup {
            path: backup.to_owned(),
            reason,
        };
        let text = fs::read(backup.join(MANIFEST))
            .map_err(|error| not_a_backup(format!("{MANIFEST} cannot be read ({error})")))?;
        let manifest: serde_json::Value = serde_json::from_slice(&text)
            .map_err(|error| not_a_backup(format!("{MANIFEST} is damaged ({error})")))?;
        let format = manifest["format"].as_u64();
        if format != Some(u64::from(FORMAT)) {
            return Err(not_a_backup(format!(
                "its format is {}, and this program reads format {FORMAT}",
                manifest["format"]
            )));
        }
        let Sealed { manifest, sha256 } = serde_json::from_value(manifest)
            .map_err(|error| not_a_backup(format!("{MANIFEST} is damaged ({error})")))?;
        match manifest.sha256() {
            Ok(computed) if computed == sha256 => Ok(manifest),
            _ => Err(not_a_backup(format!(
                "{MANIFEST} is damaged (its content does not have its SHA-256)"
            ))),
        }
    }

    fn write(&self, path: &Path) -> io::Result<()> {
        let sealed = Sealed {
            sha256: self.sha256()?,
            manifest: self.clone(),
        };
        serde_json::to_writer_pretty(private_file(path)?, &sealed)?;
        Ok(())
    }

    /// SHA-256 of the compact JSON of the manifest.
    fn sha256(&self) -> serde_json::Result<String> {
        Ok(sha256(&serde_json::to_vec(self)?))
    }
}

/// The content of the file: a manifest and its checksum.
#[derive(Serialize, Deserialize)]
struct Sealed {
    #[serde(flatten)]
    manifest: Manifest,
    sha256: String,
}

pub(super) fn rows_of(checked: &CheckReport) -> BTreeMap<String, u64> {
    let rows = checked.rows.iter();
    rows.map(|(table, rows)| (table.name().to_owned(), *rows))
        .collect()
}

fn sha256(bytes: &[u8]) -> String {
    base16ct::lower::encode_string(&Sha256::digest(bytes))
}

/// The parts of a backup.
pub(super) const STORE: &str = "store";
pub(super) const GATEWAYS: &str = "gateways";
pub(super) const SETTINGS: &str = "switchyard.toml";
pub(super) const MANIFEST: &str = "backup.json";
const FORMAT: u32 = 2;
/// Bytes of a file that are copied between two reports of progress.
const PART_BYTES: u64 = 4 * 1024 * 1024;
/// Faults that an error lists.
const MAX_FAULTS: usize = 5;
