//! Upload of a file: written as it arrives, inspected when it is complete, deleted when it is
//! dropped.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tokio::fs::File;
use tokio::io::AsyncWriteExt as _;

use super::LifeError;
use crate::Gateways;
use crate::inspect::Refused;
use switchyard_core::limits::GATEWAY_FILE_BYTES;

/// Upload in progress. Dropping it deletes the file.
pub struct Incoming {
    path: PathBuf,
    file: File,
    bytes: u64,
}

impl Gateways {
    /// Creates the file of an upload, in the engine's own folder.
    pub async fn incoming(&self) -> Result<Incoming, LifeError> {
        let mut random = [0; 16];
        self.0.ids.fill(&mut random);
        let name = format!("upload-{:032x}.partial", u128::from_be_bytes(random));
        let dir = &self.0.settings.dir;
        tokio::fs::create_dir_all(dir)
            .await
            .map_err(LifeError::Upload)?;
        let path = dir.join(name);
        let file = File::create_new(&path).await.map_err(LifeError::Upload)?;
        Ok(Incoming {
            path,
            file,
            bytes: 0,
        })
    }
}

impl Incoming {
    /// Writes the next part. An upload over the maximum size of a gateway is refused before it
    /// fills the disk.
    pub async fn write(&mut self, part: &[u8]) -> Result<(), LifeError> {
        self.bytes = self.bytes.saturating_add(part.len() as u64);
        if self.bytes > GATEWAY_FILE_BYTES {
            let path = PathBuf::from("the upload");
            return Err(Refused::TooLarge { path }.into());
        }
        self.file.write_all(part).await.map_err(LifeError::Upload)
    }

    /// Completes the upload and returns its path.
    pub async fn whole(&mut self) -> Result<&Path, LifeError> {
        self.file.flush().await.map_err(LifeError::Upload)?;
        Ok(&self.path)
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!(path = %self.path.display(), %error, "failed to delete an upload");
            }
            _ => {}
        }
    }
}
