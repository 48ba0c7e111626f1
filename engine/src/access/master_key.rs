//! Master key: 32 bytes outside the store, as 64 hexadecimal characters in a file that only its
//! owner can read, or in an environment variable.
//!
//! The store with this key reveals all secrets, the store alone none. A lost master key cannot be
//! recovered: keep a copy apart from the store's backup.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use base16ct::lower::encode_string;
use sha2::{Digest as _, Sha256};

use switchyard_core::secret::Secret;
use switchyard_system::ids::Ids;
use switchyard_system::secrets::hex_32;

pub struct MasterKey(Secret<[u8; 32]>);

/// Error of reading the master key.
#[derive(Debug, thiserror::Error)]
pub enum MasterKeyError {
    #[error(
        "the master key file {0} does not exist: make one with `switchyard master-key {0}`, and keep a copy of it in a safe place"
    )]
    Missing(PathBuf),
    #[error(
        "the master key file {path} can be read by others (mode {mode:o}): run `chmod 600 {path}`"
    )]
    OpenToOthers { path: PathBuf, mode: u32 },
    #[error("a master key is 64 hexadecimal characters (32 bytes), and {0} holds something else")]
    Malformed(String),
    #[error("the master key file {path} could not be read")]
    Read {
        path: PathBuf,
        #[source]
        why: io::Error,
    },
    #[error("the master key file {path} could not be written")]
    Write {
        path: PathBuf,
        #[source]
        why: io::Error,
    },
}

impl MasterKey {
    pub fn random(ids: &Ids) -> Self {
        let mut bytes = [0; 32];
        ids.fill(&mut bytes);
        Self(Secret::new(bytes))
    }

    /// Reads 64 hexadecimal characters; `origin` is what an error names in place of them.
    pub fn from_text(text: &Secret<String>, origin: &str) -> Result<Self, MasterKeyError> {
        hex_32(text.expose().trim())
            .map(|bytes| Self(Secret::new(bytes)))
            .ok_or_else(|| MasterKeyError::Malformed(origin.to_owned()))
    }

    /// Reads a file that only its owner may read.
    pub fn from_file(path: &Path) -> Result<Self, MasterKeyError> {
        let read = |why: io::Error| match why.kind() {
            io::ErrorKind::NotFound => MasterKeyError::Missing(path.to_owned()),
            _ => MasterKeyError::Read {
                path: path.to_owned(),
                why,
            },
        };
        let mode = fs::metadata(path).map_err(read)?.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            return Err(MasterKeyError::OpenToOthers {
                path: path.to_owned(),
                mode,
            });
        }
        let text = Secret::new(fs::read_to_string(path).map_err(read)?);
        Self::from_text(&text, &path.display().to_string())
    }

    /// Makes a new key in a file that did not exist, readable for its owner only, and sure to be on
    /// the disk.
    pub fn create_file(path: &Path, ids: &Ids) -> Result<Self, MasterKeyError> {
        let key = Self::random(ids);
        let write = || -> io::Result<()> {
            let mut file = OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(path)?;
            let text = Secret::new(encode_string(key.0.expose()));
            file.write_all(text.expose().as_bytes())?;
            file.write_all(b"\n")?;
            file.sync_all()?;
            // The name has to survive a power cut, too, before anything is sealed under the key.
            match path
                .parent()
                .filter(|parent| !parent.as_os_str().is_empty())
            {
                Some(parent) => fs::File::open(parent)?.sync_all(),
                None => fs::File::open(".")?.sync_all(),
            }
        };
        write().map_err(|why| MasterKeyError::Write {
            path: path.to_owned(),
            why,
        })?;
        Ok(key)
    }

    /// A name for this key that says nothing about it: 8 hexadecimal characters of its hash.
    pub fn id(&self) -> String {
        let mut hash = Sha256::new();
        hash.update(b"switchyard master key id");
        hash.update(self.0.expose());
        encode_string(&hash.finalize()[..4])
    }

    pub(super) fn expose(&self) -> &[u8; 32] {
        self.0.expose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_key_file_is_private_and_reads_back_as_the_same_key() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("master.key");
        let made = MasterKey::create_file(&path, &Ids::system()).unwrap();
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        assert_eq!(MasterKey::from_file(&path).unwrap().id(), made.id());
        assert!(matches!(
            MasterKey::create_file(&path, &Ids::system()),
            Err(MasterKeyError::Write { .. })
        ));
    }

    #[test]
    fn a_key_file_that_others_can_read_is_refused_with_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("master.key");
        MasterKey::create_file(&path, &Ids::system()).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let refusal = MasterKey::from_file(&path).err().unwrap().to_string();
        assert!(
            refusal.contains("mode 644") && refusal.contains("chmod 600"),
            "{refusal}"
        );
    }

    #[test]
    fn a_missing_or_malformed_key_is_refused_without_showing_it() {
        assert!(matches!(
            MasterKey::from_file(Path::new("/nowhere/master.key")),
            Err(MasterKeyError::Missing(_))
        ));
        let short =
            MasterKey::from_text(&Secret::from("abcd1234"), "SWITCHYARD_SECRETS__MASTER_KEY")
                .err()
                .unwrap();
        assert!(!short.to_string().contains("abcd1234"));
    }
}
