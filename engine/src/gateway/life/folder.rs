//! The operator's folder: a new file is a candidate, a changed one an upgrade, a vanished one changes nothing.
//!
//! A file is looked at when its size and time of change are the same at two looks, so that a copy under way is not. What was taken
//! from a file is remembered by its hash, also over a restart: after a roll back the newer file that still lies there is not taken
//! again. Each thing is said once, not at every look.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use tokio::task::JoinHandle;

use super::propose::Proposal;
use super::{By, Consent, LifeError, rows};
use crate::gateway::version::{ENGINE, Version};
use crate::gateway::{Gateways, inspect};
use crate::limits::{GATEWAY_FOLDER_FILES, GATEWAY_FOLDER_POLL_INTERVAL};

/// A file of the folder, and what became of it.
#[derive(Clone, Debug)]
pub struct FolderFile {
    pub file: String,
    pub path: PathBuf,
    pub notice: Notice,
}

/// What the engine makes of a file.
#[derive(Clone, Debug)]
pub enum Notice {
    /// It is still changing, or has just come.
    Settling,
    /// It is one of its gateway's versions.
    Taken { sha256: String },
    /// It can be taken on as soon as an operator says yes to its hash.
    AwaitsConsent(Box<Proposal>),
    /// It is no gateway, or cannot be one here.
    Refused { why: String },
    /// It was taken, and lies there no more. The engine has its own copy: its gateway goes on.
    Gone { sha256: String },
}

/// What is known of a file.
#[derive(Default)]
pub(super) struct Known {
    /// The hash that was taken from it last.
    pub taken: Option<String>,
    stamp: Option<Stamp>,
    /// The stamp of the content that `notice` is about.
    settled: Option<Stamp>,
    notice: Option<Notice>,
}

/// What changes when a file does.
type Stamp = (u64, Option<SystemTime>);

/// The watch on a folder; it ends when this is dropped.
pub struct FolderWatch(JoinHandle<()>);

impl Drop for FolderWatch {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Gateways {
    /// Takes in what lies in the folder now, then keeps looking.
    ///
    /// # Errors
    /// When the folder is there and cannot be read.
    pub async fn watch(&self, folder: &Path) -> io::Result<FolderWatch> {
        self.look_at_folder(folder).await?;
        let gateways = self.clone();
        Ok(FolderWatch(tokio::spawn(async move {
            let mut is_readable = true;
            loop {
                tokio::time::sleep(GATEWAY_FOLDER_POLL_INTERVAL).await;
                match gateways.look_into_folder(false).await {
                    Ok(()) => is_readable = true,
                    Err(error) if is_readable => {
                        is_readable = false;
                        tracing::error!(%error, "The folder of gateways cannot be read; what is loaded goes on.");
                    }
                    Err(_) => {}
                }
            }
        })))
    }

    /// From now on this is the folder; what lies in it is taken in as it is.
    ///
    /// # Errors
    /// When the folder is there and cannot be read.
    pub async fn look_at_folder(&self, folder: &Path) -> io::Result<()> {
        self.0.life.book().folder = Some(folder.to_owned());
        self.look_into_folder(true).await
    }

    /// The files of the folder, in order of name.
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

    /// An operator says yes to a file that waits in the folder.
    pub async fn accept(&self, sha256: &str, by: &By<'_>) -> Result<Arc<Version>, LifeError> {
        let sha256 = sha256.trim().to_lowercase();
        let waits = |file: &FolderFile| match &file.notice {
            Notice::AwaitsConsent(proposal) => proposal.inspection.sha256 == sha256,
            _ => false,
        };
        let waiting = self.folder_files().into_iter().find(waits);
        let waiting = waiting.ok_or_else(|| LifeError::NotWaiting(sha256.clone()))?;
        let consent = Consent::Given {
            sha256,
            hosts: None,
        };
        let taken = self.install(&waiting.path, consent, by).await;
        // A version that waits for approval has been copied: its file is not needed any more.
        if let Ok(Version { sha256, .. }) | Err(LifeError::AwaitsApproval { sha256, .. }) =
            taken.as_deref()
        {
            self.took(&waiting.file, sha256).await?;
        }
        taken
    }

    /// One look. `is_first`: files are taken as they are; who starts the engine has put them there.
    pub async fn look_into_folder(&self, is_first: bool) -> io::Result<()> {
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

    /// What is to be done with a file whose content is new.
    async fn look_at(&self, folder: &Path, file: &str) -> Notice {
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
            return Notice::Taken { sha256 };
        }
        match self
            .install(&path, Consent::Standing, &By::new(ENGINE))
            .await
        {
            Ok(version) => match self.took(file, &version.sha256).await {
                Ok(()) => Notice::Taken { sha256 },
                Err(error) => refusal(file, error.to_string()),
            },
            Err(LifeError::NoConsent { .. }) => {
                tracing::warn!(
                    file,
                    gateway.name = name,
                    gateway.version = %inspection.manifest.version,
                    gateway.sha256 = %sha256,
                    "A gateway awaits consent: `switchyard gateway add {sha256}` takes it on."
                );
                let source = self.source(&path, &sha256);
                Notice::AwaitsConsent(Box::new(self.proposal(inspection, source)))
            }
            Err(waits @ LifeError::AwaitsApproval { .. }) => {
                tracing::warn!(file, gateway.name = name, "{waits}");
                match self.took(file, &sha256).await {
                    Ok(()) => Notice::Taken { sha256 },
                    Err(error) => refusal(file, error.to_string()),
                }
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

    /// Should this version be in use, and could its copy not be loaded? Then the file mends it.
    fn is_missing(&self, name: &str, sha256: &str) -> bool {
        let record = self.0.life.record(name);
        let is_current = record.is_some_and(|record| record.current.as_deref() == Some(sha256));
        is_current && self.current(name).is_none()
    }

    /// Remembers what was taken from a file, for good.
    async fn took(&self, file: &str, sha256: &str) -> Result<(), LifeError> {
        if let Some(store) = self.0.life.store.get() {
            rows::write_file(store, file, sha256).await?;
        }
        let mut book = self.0.life.book();
        let known = book.files.entry(file.to_owned()).or_default();
        known.taken = Some(sha256.to_owned());
        known.notice = Some(Notice::Taken {
            sha256: sha256.to_owned(),
        });
        Ok(())
    }
}

impl Known {
    /// Whether the content is new and has stopped changing.
    fn is_settled(&mut self, stamp: Stamp, is_first: bool) -> bool {
        let is_same = self.stamp.replace(stamp) == Some(stamp);
        if self.settled == Some(stamp) {
            return false;
        }
        if !is_same && !is_first {
            self.notice = Some(Notice::Settling);
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
            tracing::info!(file, "A file of the folder of gateways is gone. Its gateway goes on: `switchyard gateway remove` ends it.");
            Notice::Gone { sha256 }
        });
    }
}

fn refusal(file: &str, why: String) -> Notice {
    tracing::error!(file, "A gateway is left out: {why}.");
    Notice::Refused { why }
}

/// The folder's `*.so`, each with its stamp. A folder that is not there holds none.
fn libraries(folder: &Path) -> io::Result<BTreeMap<String, Stamp>> {
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
        // It may be gone again. A link to nothing is there, and is refused as what it is.
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
