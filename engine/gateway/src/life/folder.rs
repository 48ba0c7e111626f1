//! The operator's folder: a new file is a candidate, a changed file an upgrade. A deleted file
//! changes nothing.
//!
//! A file is inspected when its size and modification time are the same at two scans, so that a
//! copy in progress is not. The hash of each installed file is stored, also over a restart: after a
//! rollback the newer file in the folder is not installed again. Each event is logged once, not at
//! every scan.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use tokio::task::JoinHandle;

use super::propose::Proposal;
use super::{ChangeAuthor, Consent, LifeError, rows};
use crate::version::{ENGINE, Version};
use crate::{Gateways, inspect};
use switchyard_core::limits::{GATEWAY_FOLDER_FILES, GATEWAY_FOLDER_POLL_INTERVAL};

/// File of the folder, and its status.
#[derive(Clone, Debug)]
pub struct FolderFile {
    pub file: String,
    pub path: PathBuf,
    pub notice: FileStatus,
}

/// Status of a file in the folder.
#[derive(Clone, Debug)]
pub enum FileStatus {
    /// New, or still changing.
    Settling,
    /// Installed as one of its gateway's versions.
    Taken { sha256: String },
    /// Can be installed as soon as an operator consents to its hash.
    AwaitsConsent(Box<Proposal>),
    /// Not a gateway, or not one that this engine can install.
    Refused { why: String },
    /// Installed, then deleted from the folder. The gateway continues on the engine's own copy.
    Gone { sha256: String },
}

/// State of a file that a scan has seen.
#[derive(Default)]
pub(super) struct SeenFile {
    /// Hash that was installed from it last.
    pub taken: Option<String>,
    stamp: Option<FileFingerprint>,
    /// Fingerprint of the content that `notice` is about.
    settled: Option<FileFingerprint>,
    notice: Option<FileStatus>,
}

/// Size and modification time of a file.
type FileFingerprint = (u64, Option<SystemTime>);

/// Periodic scan of the folder. Dropping it stops the scan.
pub struct FolderWatch(JoinHandle<()>);

impl Drop for FolderWatch {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Gateways {
    /// Scans the folder now, then periodically.
    ///
    /// # Errors
    /// Returns an error when the folder exists and cannot be read.
    pub async fn watch(&self, folder: &Path) -> io::Result<FolderWatch> {
        self.set_folder(folder).await?;
        let gateways = self.clone();
        Ok(FolderWatch(tokio::spawn(async move {
            let mut is_readable = true;
            loop {
                tokio::time::sleep(GATEWAY_FOLDER_POLL_INTERVAL).await;
                match gateways.scan_folder(false).await {
                    Ok(()) => is_readable = true,
                    Err(error) if is_readable => {
                        is_readable = false;
                        tracing::error!(%error, "failed to read the gateway folder");
                    }
                    Err(_) => {}
                }
            }
        })))
    }

    /// Sets the folder and scans it. Files are inspected at once, without a second scan.
    ///
    /// # Errors
    /// Returns an error when the folder exists and cannot be read.
    pub async fn set_folder(&self, folder: &Path) -> io::Result<()> {
        self.0.life.book().folder = Some(folder.to_owned());
        self.scan_folder(true).await
    }

    /// Files of the folder, in order of name.
    pub fn folder_files(&self) -> Vec<FolderFile> {
        let book = self.0.life.book();
        let Some(folder) = &book.folder else {
            return Vec::new();
        };
        let files = book.files.iter().filter_map(|(file, known)| {
            Some(FolderFile {
                file: file.clone(),
                path: folder.join(file),
                notice: known.notice.clone()?,
            })
        });
        files.collect()
    }

    /// Installs a file that awaits consent in the folder. Requires its SHA-256.
    pub async fn accept(
        &self,
        sha256: &str,
        by: &ChangeAuthor<'_>,
    ) -> Result<Arc<Version>, LifeError> {
        let sha256 = sha256.trim().to_lowercase();
        let waits = |file: &FolderFile| match &file.notice {
            FileStatus::AwaitsConsent(proposal) => proposal.inspection.sha256 == sha256,
            _ => false,
        };
        let waiting = self.folder_files().into_iter().find(waits);
        let waiting = waiting.ok_or_else(|| LifeError::NotWaiting(sha256.clone()))?;
        let consent = Consent::Given {
            sha256,
            hosts: None,
        };
        let taken = self.install(&waiting.path, consent, by).await;
        // A version that awaits approval has been copied: its file is not needed any more.
        if let Ok(Version { sha256, .. }) | Err(LifeError::AwaitsApproval { sha256, .. }) =
            taken.as_deref()
        {
            self.took(&waiting.file, sha256).await?;
        }
        taken
    }

    /// Scans the folder once. `is_first`: files are inspected as they are, because they were there
    /// before the engine started.
    pub async fn scan_folder(&self, is_first: bool) -> io::Result<()> {
        let Some(folder) = self.0.life.book().folder.clone() else {
            return Ok(());
        };
        let listed = folder.clone();
        let found = tokio::task::spawn_blocking(move || libraries(&listed));
        let found = found.await.map_err(io::Error::other)??;
        let mut settled = Vec::new();
        {
            let mut book = self.0.life.book();
            for (file, known) in &mut book.files {
                known.notice_absence(file, found.contains_key(file));
            }
            for (file, stamp) in found {
                let known = book.files.entry(file.clone()).or_default();
                if known.is_settled(stamp, is_first) {
                    settled.push(file);
                }
            }
        }
        for file in settled {
            let notice = self.look_at(&folder, &file).await;
            if let Some(known) = self.0.life.book().files.get_mut(&file) {
                known.notice = Some(notice);
            }
        }
        Ok(())
    }

    /// Inspects a file with new content, and installs it if consent is given already.
    async fn look_at(&self, folder: &Path, file: &str) -> FileStatus {
        let path = folder.join(file);
        let (looked, pace) = (path.clone(), self.0.pace());
        let task = tokio::task::spawn_blocking(move || inspect::inspect_new(&looked, pace));
        let inspection = match task.await {
            Ok(Ok(inspected)) => inspected.inspection,
            Ok(Err(refused)) => return refusal(file, refused.to_string()),
            Err(error) => return refusal(file, error.to_string()),
        };
        let (name, sha256) = (inspection.manifest.name.clone(), inspection.sha256.clone());
        if self.was_taken(file, &sha256) && !self.is_missing(&name, &sha256) {
            return FileStatus::Taken { sha256 };
        }
        let current = self.current(&name);
        if current.is_some_and(|current| current.sha256 == sha256) {
            return self.installed(file, sha256).await;
        }
        match self
            .install(&path, Consent::Standing, &ChangeAuthor::new(ENGINE))
            .await
        {
            Ok(version) => self.installed(file, version.sha256.clone()).await,
            Err(LifeError::NoConsent { .. }) => {
                tracing::warn!(
                    file,
                    gateway.name = name,
                    gateway.version = %inspection.manifest.version,
                    gateway.sha256 = %sha256,
                    "gateway file awaits consent"
                );
                let source = self.source(&path, &sha256);
                FileStatus::AwaitsConsent(Box::new(self.proposal(inspection, source)))
            }
            Err(waits @ LifeError::AwaitsApproval { .. }) => {
                tracing::warn!(
                    file,
                    gateway.name = name,
                    reason = %waits,
                    "gateway file awaits approval"
                );
                self.installed(file, sha256).await
            }
            Err(error) => refusal(file, error.to_string()),
        }
    }

    fn was_taken(&self, file: &str, sha256: &str) -> bool {
        let book = self.0.life.book();
        let taken = book
            .files
            .get(file)
            .and_then(|known| known.taken.as_deref());
        taken == Some(sha256)
    }

    /// Whether this version is the current one and its copy could not be loaded. Its file then
    /// replaces the copy.
    fn is_missing(&self, name: &str, sha256: &str) -> bool {
        let record = self.0.life.record(name);
        let is_current = record.is_some_and(|record| record.current.as_deref() == Some(sha256));
        is_current && self.current(name).is_none()
    }

    /// Status of a file whose content is installed now, after that is stored.
    async fn installed(&self, file: &str, sha256: String) -> FileStatus {
        match self.took(file, &sha256).await {
            Ok(()) => FileStatus::Taken { sha256 },
            Err(error) => refusal(file, error.to_string()),
        }
    }

    /// Stores which hash was installed from a file.
    async fn took(&self, file: &str, sha256: &str) -> Result<(), LifeError> {
        if let Some(store) = self.0.life.store.get() {
            rows::write_file(store, file, sha256).await?;
        }
        let mut book = self.0.life.book();
        let known = book.files.entry(file.to_owned()).or_default();
        known.taken = Some(sha256.to_owned());
        known.notice = Some(FileStatus::Taken {
            sha256: sha256.to_owned(),
        });
        Ok(())
    }
}

impl SeenFile {
    /// Whether the content is new and has stopped changing.
    fn is_settled(&mut self, stamp: FileFingerprint, is_first: bool) -> bool {
        let is_same = self.stamp.replace(stamp) == Some(stamp);
        if self.settled == Some(stamp) {
            return false;
        }
        if !is_same && !is_first {
            self.notice = Some(FileStatus::Settling);
            return false;
        }
        self.settled = Some(stamp);
        true
    }

    fn notice_absence(&mut self, file: &str, is_there: bool) {
        if is_there || self.stamp.is_none() {
            return;
        }
        (self.stamp, self.settled) = (None, None);
        self.notice = self.taken.clone().map(|sha256| {
            tracing::info!(file, "gateway file deleted from the folder");
            FileStatus::Gone { sha256 }
        });
    }
}

fn refusal(file: &str, why: String) -> FileStatus {
    tracing::error!(file, %why, "gateway skipped");
    FileStatus::Refused { why }
}

/// The folder's `*.so`, each with its fingerprint. A missing folder is empty.
fn libraries(folder: &Path) -> io::Result<BTreeMap<String, FileFingerprint>> {
    let mut found = BTreeMap::new();
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
        entries => entries?,
    };
    for entry in entries {
        let path = entry?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
            continue;
        };
        if path.extension().is_none_or(|extension| extension != "so") {
            continue;
        }
        // The file may be deleted by now. A dangling link is kept: its refusal names the reason.
        let metadata = fs::metadata(&path).or_else(|_| fs::symlink_metadata(&path));
        if let Ok(metadata) = metadata {
            let stamp = (metadata.len(), metadata.modified().ok());
            found.insert(name.to_owned(), stamp);
        }
        if found.len() == GATEWAY_FOLDER_FILES {
            break;
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_to_nothing_is_seen_and_looked_at_again_when_its_file_comes() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("elsewhere");
        std::os::unix::fs::symlink(&file, folder.path().join("a.so")).unwrap();
        let before = libraries(folder.path()).unwrap();
        assert!(before.contains_key("a.so"), "{before:?}");
        fs::write(&file, "there").unwrap();
        let after = libraries(folder.path()).unwrap();
        assert_ne!(before["a.so"], after["a.so"]);
    }
}
