//! Errors of the store, with the remedy for an operator.

use std::error::Error;
use std::io;
use std::path::PathBuf;

use super::kv::KvError;
use switchyard_core::time::Timestamp;

/// A commit that was not made. Nothing of it is stored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommitError {
    /// A check of the batch did not hold: someone else changed the row. Load it again and decide
    /// again.
    #[error("the stored rows have changed: load them again and decide again")]
    Conflict,
    /// The store cannot write now. It recovers automatically; the same commit may be tried later.
    #[error("the store can not write now: {reason}")]
    Unavailable { reason: String },
}

/// A read that could not be answered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The backend failed, or is being reopened after a failure. It may be asked again later.
    #[error("the store can not read now: {reason}")]
    Unavailable { reason: String },
    /// A row is not what was written.
    #[error("a row of table {table} whose key begins with \"{kind}\" is damaged: restore a backup")]
    Damaged { table: &'static str, kind: String },
    /// A row that should carry a version is too short for one.
    #[error(
        "a row of table {table} carries no version: the store was written by another program or is damaged, restore a backup"
    )]
    NoVersion { table: &'static str },
}

impl From<KvError> for StoreError {
    fn from(error: KvError) -> Self {
        match error {
            KvError::Damaged { table, kind } => Self::Damaged { table, kind },
            error @ (KvError::Failed(_)
            | KvError::DamagedDatabase(_)
            | KvError::UnreadablePage(_)
            | KvError::NotInPlace(_)
            | KvError::IndexNotInPlace
            | KvError::NoRoom) => Self::Unavailable {
                reason: error.to_string(),
            },
        }
    }
}

/// A store that could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(
        "the store in {path} is in use by another process: stop that one first, or give this one a directory of its own"
    )]
    Locked { path: PathBuf },
    #[error(
        "the store in {path} was made by backend \"{found}\" and the settings ask for \"{wanted}\": set store.backend = \"{found}\", \
         or name an empty directory"
    )]
    WrongBackend {
        path: PathBuf,
        found: String,
        wanted: &'static str,
    },
    #[error(
        "the store in {path} has layout {found} and this program reads only layout {wanted}: run the \
         program that wrote it, or name an empty directory"
    )]
    WrongLayout {
        path: PathBuf,
        found: String,
        wanted: u32,
    },
    #[error(
        "{path} says that it marks a store, but can not be understood: restore it from a backup, or name an empty directory"
    )]
    DamagedMarker { path: PathBuf },
    #[error(
        "the store in {path} {end}, and group {reached} of {reached_at} was acknowledged (mark \
         {mark}): what was stored in between is gone. Put back the files that are missing, or \
         restore the newest backup with `switchyard store restore`. With `switchyard serve \
         --accept-loss` it is opened as it is: payments and payouts of that time are unknown then, \
         and a repeated request moves money a second time"
    )]
    Behind {
        path: PathBuf,
        mark: PathBuf,
        /// The end of the store, as a part of the message.
        end: String,
        /// The last group that was acknowledged.
        reached: u64,
        reached_at: Timestamp,
    },
    #[error(
        "the mark {mark} is that of another store than {path}: the store {end}, and of the other \
         store group {reached} of {reached_at} was acknowledged. Put back the store that the mark \
         belongs to, or restore its newest backup with `switchyard store restore`. With `switchyard \
         serve --accept-loss` this store is opened and gets a new mark: payments and payouts that \
         only the other one has are unknown then, and a repeated request moves money a second time"
    )]
    ForeignMark {
        path: PathBuf,
        mark: PathBuf,
        /// The end of the store, as a part of the message.
        end: String,
        /// The last group of the other store that was acknowledged.
        reached: u64,
        reached_at: Timestamp,
    },
    #[error(
        "the store in {path} is empty and its mark {mark} is damaged, so what is gone cannot be \
         told: it may be everything that was ever stored. Put back the files of the store, or \
         restore the newest backup with `switchyard store restore`. With `switchyard serve \
         --accept-loss` it is opened empty and gets a new mark: all payments, payouts and keys of \
         before are unknown then, and a repeated request moves money a second time"
    )]
    EmptyWithDamagedMark { path: PathBuf, mark: PathBuf },
    #[error(
        "{fault} (log {log}). Put back the files that belong together, or restore a backup or the \
         continuous copy. With `switchyard serve --accept-loss` the store is opened as far as it is \
         whole and the log is set aside: payments and payouts of that time are unknown then, and a \
         repeated request moves money a second time"
    )]
    DamagedLog {
        log: PathBuf,
        /// The fault, as a part of the message.
        fault: String,
    },
    #[error(
        "can not write {path}: this user must be allowed to write it and in its folder, on a disk \
         with room"
    )]
    Unwritable {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error(
        "{path} is a folder, and damage of the store is recorded in a file of this name: look into \
         it, and move it away"
    )]
    InTheWay { path: PathBuf },
    #[error("can not read {path}: let this user read and write it, and check the disk")]
    Unreadable {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error(
        "the database of the store in {path} is damaged: {fault}. Put back the file that is \
         damaged, or restore the newest backup or the continuous copy with `switchyard store \
         restore`: what was acknowledged after it is gone. `switchyard serve --accept-loss` does \
         not open the store: it accepts that commits are missing, and this database cannot be read"
    )]
    DamagedDatabase {
        path: PathBuf,
        /// The fault, as a part of the message.
        fault: String,
    },
    #[error(
        "the store in {path} does not open: {reason}. Check the disk and the rights of this user; \
         if this goes on, restore the newest backup with `switchyard store restore`: what was \
         acknowledged after it is gone. `switchyard serve --accept-loss` does not help here"
    )]
    Backend { path: PathBuf, reason: String },
    #[error(
        "the store in {path} does not open: the disk has no room for the index of its log. Nothing \
         is missing or damaged: free space on that disk, and start again"
    )]
    NoRoom { path: PathBuf },
}

impl OpenError {
    /// Returns whether every later opening fails as well until a person has done something.
    pub fn is_lasting(&self) -> bool {
        match self {
            Self::Locked { .. } | Self::Backend { .. } | Self::NoRoom { .. } => false,
            Self::Unwritable { source, .. } | Self::Unreadable { source, .. } => {
                source.kind() == io::ErrorKind::PermissionDenied
            }
            Self::WrongBackend { .. }
            | Self::WrongLayout { .. }
            | Self::DamagedMarker { .. }
            | Self::Behind { .. }
            | Self::ForeignMark { .. }
            | Self::EmptyWithDamagedMark { .. }
            | Self::InTheWay { .. }
            | Self::DamagedLog { .. }
            | Self::DamagedDatabase { .. } => true,
        }
    }
}

/// A check, backup or restore that could not be done.
#[derive(Debug, thiserror::Error)]
pub enum MaintenanceError {
    #[error("there is no store in {path}: name the server's settings file or its data folder")]
    NoStore { path: PathBuf },
    #[error("the memory backend stores nothing")]
    NothingStored,
    #[error(
        "the store in {path} is open in another process, and the backend sled lets in one process at a time: stop the \
         server first"
    )]
    Exclusive { path: PathBuf },
    #[error("{path} exists: name another folder, or move that one away")]
    Exists { path: PathBuf },
    #[error("{path} is inside the store's folder {store}: name a folder elsewhere")]
    Inside { path: PathBuf, store: PathBuf },
    #[error("{path} is in the way, and this program did not make it: move it away")]
    NotADraft { path: PathBuf },
    #[error("another backup or restore writes {path}: wait until it has ended")]
    DraftInUse { path: PathBuf },
    #[error(
        "{path} is not the file that is written: the folder of the copy was unmounted, moved or \
         replaced"
    )]
    Replaced { path: PathBuf },
    #[error(
        "a running server writes the continuous copy in {path}: stop it first. With \
         `--from-running` its present state is restored and the server goes on: then there are two \
         stores, and each of them moves money"
    )]
    CopyInUse { path: PathBuf },
    #[error(
        "there is a store in {path}, and a restore overwrites none: stop the server and move the store away first, \
         for example to {path}.old"
    )]
    StoreExists { path: PathBuf },
    #[error("{path} is not a backup that this program can read: {reason}")]
    NotABackup { path: PathBuf, reason: String },
    #[error(
        "the backup was made of a store with backend \"{found}\" and the settings ask for \
         \"{wanted}\": set store.backend = \"{found}\""
    )]
    WrongBackend { found: String, wanted: &'static str },
    /// The copy has faults. It was removed.
    #[error("{what} is damaged: {faults}")]
    Damaged { what: String, faults: String },
    #[error(
        "{reason}. `--without-gateways` restores everything else: add the gateways again afterwards"
    )]
    GatewayInBackup { reason: String },
    #[error("the backend {backend} has no SQL: only a store with backend sqlite can be queried")]
    NoSql { backend: String },
    #[error("the database cannot be queried: {reason}")]
    Query { reason: String },
    /// The result of the read was thrown away.
    #[error(
        "the index of the database's log (-shm) was replaced during this read: the server was \
         started or stopped meanwhile, or another program changed the file. Try again, and let no \
         other program touch the files of a running server"
    )]
    IndexNotInPlace,
    /// Also for a store that is sound.
    #[error(
        "the store cannot be read now: the disk has no room for the index of its log. This is no \
         damage: free space on the disk of the store, and try again"
    )]
    NoRoom,
    #[error("failed to copy the database: {reason}")]
    Copy { reason: String },
    #[error("failed to {action} {path}")]
    File {
        action: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error(transparent)]
    Open(#[from] OpenError),
}

impl MaintenanceError {
    /// Makes the error of a failed operation on a file.
    pub(super) fn file(action: &'static str, path: &std::path::Path) -> impl Fn(io::Error) -> Self {
        move |source| Self::File {
            action,
            path: path.to_owned(),
            source,
        }
    }
}

/// An error with all its causes.
pub(super) fn chain(error: &dyn Error) -> String {
    let mut causes = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        causes = format!("{causes}: {cause}");
        next = cause.source();
    }
    causes
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn an_error_is_written_with_its_causes() {
        let full = || io::Error::from_raw_os_error(28);
        let error = MaintenanceError::file("write", Path::new("/copy/log-0000000001"))(full());
        assert_eq!(
            chain(&error),
            "failed to write /copy/log-0000000001: No space left on device (os error 28)"
        );
        let path = PathBuf::from("/store");
        let error = MaintenanceError::from(OpenError::Unreadable {
            path,
            source: full(),
        });
        let said = chain(&error);
        assert!(
            said.ends_with("check the disk: No space left on device (os error 28)"),
            "{said}"
        );
    }
}
