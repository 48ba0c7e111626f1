//! Restores: a backup becomes the store of an installation that has none.
//!
//! The restored store gets a new identity: files of the store before it are foreign to it, and are
//! refused. [`Restored`] tells the next server that the store lacks what came after the backup.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;

use super::backup::{
    GATEWAYS, Manifest, SETTINGS, STORE, add_gateways, copy_files, make_folder, must_be_sound,
    rows_of,
};
use super::check::check_copy;
use super::copied::Copied;
use super::draft::Draft;
use super::error::MaintenanceError;
use super::kv::{WriteFailed, sqlite};
use super::mark::MarkPlace;
use super::place::{Lock, replace_durably, resolved, sync_all_below};
use super::point::Point;
use super::progress::Report;
use super::restored::{Lost, Restored};
use super::{Backend, StoreSettings};
use switchyard_system::clock::Clock;
use switchyard_system::ids::Ids;

/// The installation that a backup is restored into.
#[derive(Clone, Copy, Debug)]
pub struct RestoreTarget<'a> {
    pub store: &'a StoreSettings,
    /// Folder of the engine's copies of gateways. Those of the backup are added. `None`: they are
    /// left out.
    pub gateways: Option<&'a Path>,
    /// File for the settings of the backup, replaced if it exists. It is not the settings file.
    pub settings: &'a Path,
}

/// Restores the backup in the folder `backup`, or the newest state of a continuous copy in it.
///
/// # Errors
/// When there is a store, the backup is damaged, or a file cannot be read or written. Then there is
/// still no store.
pub fn restore(
    backup: &Path,
    target: RestoreTarget<'_>,
    report: Report<'_>,
) -> Result<Restored, MaintenanceError> {
    let StoreSettings { backend, path, .. } = target.store;
    let path = &resolved(path);
    if let Some(parent) = path.parent().filter(|parent| *parent != Path::new("")) {
        make_folder(parent)?;
    }
    // Also where the folder of a running server was moved away.
    let _lock = Lock::take(path)?;
    must_be_free(path)?;
    let copied = Copied::find(backup)?;
    let backup = copied.as_ref().map_or(backup, |copied| &copied.base);
    let mut manifest = Manifest::read(backup)?;
    if manifest.backend != backend.name() {
        return Err(MaintenanceError::WrongBackend {
            found: manifest.backend,
            wanted: backend.name(),
        });
    }
    if target.gateways.is_some() {
        must_have_gateways(backup, &manifest)?;
    }
    must_have_nothing_else(&backup.join(STORE).join(backend.name()), *backend, backup)?;
    let draft = Draft::make(path, None)?;
    copy_files(&backup.join(STORE), &draft.0, report)?;
    let database = draft.0.join(backend.name());
    let last = match &copied {
        Some(copied) => copied.replay(&manifest, &database, report)?,
        None => manifest.sequence,
    };
    // The copy is verified, not the backup: this finds faults of both.
    let (checked, end) = check_copy(target.store, &database, report);
    must_be_sound("the backup", &checked)?;
    let is_as_described = |end: &Point| {
        (end.store, end.sequence) == (manifest.store, last)
            && (last > manifest.sequence || rows_of(&checked) == manifest.rows)
    };
    let Some(end) = end.filter(is_as_described) else {
        return Err(MaintenanceError::NotABackup {
            path: backup.to_owned(),
            reason: "its store is not the one that its manifest describes".to_owned(),
        });
    };
    (manifest.sequence, manifest.sequence_at) = (end.sequence, end.at);
    let clock = Clock::wall();
    clock.continue_from(end.at);
    let now = clock.now();
    let point = Point::new(Ids::system().ulid(now), manifest.sequence + 1, now);
    let mark = MarkPlace::of(path);
    let before = mark.end()?;
    let record = Restored {
        store: point.store,
        incarnation: manifest.incarnation,
        sequence: manifest.sequence,
        backup_at: manifest.sequence_at,
        restored_at: now,
        lost: end_of_loss(before, &manifest),
    };
    write_record(target.store, &draft.0, point, &record)?;
    sync_all_below(&draft.0).map_err(MaintenanceError::file("write", &draft.0))?;
    if let Some(gateways) = target.gateways {
        let mut refuse = |error: MaintenanceError| Err(without_gateways(error.to_string()));
        add_gateways(&backup.join(GATEWAYS), gateways, &mut refuse)?;
    }
    place_settings(&backup.join(SETTINGS), target.settings)?;
    place(draft, path, &mark, point, before).map_err(MaintenanceError::file("write", path))?;
    Ok(record)
}

/// The store comes last: without it a mark serves nothing and refuses everything.
fn place(
    draft: Draft,
    path: &Path,
    mark: &MarkPlace,
    point: Point,
    before: Option<Point>,
) -> io::Result<()> {
    let content = mark.content();
    mark.make_after(point, before)?;
    draft.place(path).inspect_err(|_| {
        // An older store that is moved back here fits its own mark only.
        let _ = mark.put_back(content.as_deref());
    })
}

/// A restore overwrites no store. An empty folder is none.
fn must_be_free(path: &Path) -> Result<(), MaintenanceError> {
    let mut entries = match fs::read_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(MaintenanceError::file("read", path))?,
    };
    match entries.next() {
        None => Ok(()),
        Some(_) => Err(MaintenanceError::StoreExists {
            path: path.to_owned(),
        }),
    }
}

/// The backup has every gateway that its manifest lists.
fn must_have_gateways(backup: &Path, manifest: &Manifest) -> Result<(), MaintenanceError> {
    let files = manifest.gateways.iter().map(|hash| format!("{hash}.so"));
    let missing: Vec<String> = files
        .map(|file| format!("{GATEWAYS}/{file}"))
        .filter(|file| !backup.join(file).is_file())
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let reason = format!("it lists files that are missing: {}", missing.join(", "));
    Err(without_gateways(format!("{}: {reason}", backup.display())))
}

/// A backup made with SQLite has one file. A log beside it belongs to another moment or to another
/// store.
fn must_have_nothing_else(
    database: &Path,
    backend: Backend,
    backup: &Path,
) -> Result<(), MaintenanceError> {
    if backend != Backend::Sqlite {
        return Ok(());
    }
    let unreadable = MaintenanceError::file("read", database);
    for entry in fs::read_dir(database).map_err(&unreadable)? {
        let name = entry.map_err(&unreadable)?.file_name();
        if name != sqlite::FILE {
            let name = name.display();
            return Err(MaintenanceError::NotABackup {
                path: backup.to_owned(),
                reason: format!("{name} beside its database is not of this backup, remove it"),
            });
        }
    }
    Ok(())
}

fn without_gateways(reason: String) -> MaintenanceError {
    MaintenanceError::GatewayInBackup { reason }
}

/// Gives the store in `folder` its new identity and the record of its restore.
fn write_record(
    settings: &StoreSettings,
    folder: &Path,
    identity: Point,
    record: &Restored,
) -> Result<(), MaintenanceError> {
    let backend = settings.backend;
    let written = || {
        let path = folder.join(backend.name());
        let kv = backend.open_at(&path, settings.cache_bytes, Arc::default())?;
        record
            .write(kv.as_ref(), identity)
            .map_err(|WriteFailed { error, .. }| error)?;
        kv.finish()
    };
    written().map_err(|error| MaintenanceError::Copy {
        reason: error.to_string(),
    })
}

fn place_settings(from: &Path, to: &Path) -> Result<(), MaintenanceError> {
    match fs::read(from) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(MaintenanceError::file("read", from)(error)),
        // It may hold the password of the mail server.
        Ok(text) => replace_durably(to, &text)
            .and_then(|()| fs::set_permissions(to, fs::Permissions::from_mode(0o600)))
            .map_err(MaintenanceError::file("write", to)),
    }
}

/// The last commit group that the store of the backup acknowledged, by the mark in this place.
/// `None`: the end is not known, since the mark is missing, older, or of other stores.
fn end_of_loss(end: Option<Point>, manifest: &Manifest) -> Option<Lost> {
    let is_of_store =
        |end: &Point| end.store == manifest.store && end.sequence >= manifest.sequence;
    end.filter(is_of_store).map(|end| Lost {
        sequence: end.sequence,
        at: end.at,
    })
}
