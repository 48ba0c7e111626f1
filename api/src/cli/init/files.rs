//! Files of a new installation: all of them, or none.
//!
//! They are written in a private folder beside their places and then linked there, which fails if a
//! file exists. Whatever was made is removed unless it is kept.

use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use switchyard_engine::access::MasterKey;
use switchyard_system::ids::Ids;

use super::options::InitOptions;

/// Places of a new installation.
pub struct Installation {
    folder: PathBuf,
    data: PathBuf,
}

/// Files of a new installation. They are removed when this is dropped, unless they are kept.
pub struct Written {
    pub settings: PathBuf,
    pub master_key: PathBuf,
    pub master_key_id: String,
    made: CreatedPaths,
}

/// Files and folders that were made, in their order.
#[derive(Default)]
struct CreatedPaths {
    files: Vec<PathBuf>,
    folders: Vec<PathBuf>,
    /// Private folder in which files are written first.
    staging: Option<PathBuf>,
}

impl Installation {
    pub fn of(options: &InitOptions) -> Self {
        Self {
            folder: options.settings.clone(),
            data: options.data.clone(),
        }
    }

    /// Writes the settings and a new master key.
    ///
    /// # Errors
    /// When one of the files exists, a folder is open to others, or something cannot be written.
    /// Then nothing was changed.
    pub fn write(&self, text: &str, ids: &Ids) -> anyhow::Result<Written> {
        let settings = self.folder.join("switchyard.toml");
        let master_key = self.folder.join("master.key");
        for path in [&settings, &master_key, &self.data.join("store")] {
            ensure!(
                path.symlink_metadata().is_err(),
                "{} exists: init makes new installations and changes no existing one; name other \
                 folders with --settings and --data",
                path.display()
            );
        }
        let mut made = CreatedPaths::default();
        made.folder(&self.folder, "settings")?;
        made.folder(&self.data, "data")?;
        ensure_private(&self.folder)?;
        let staged = made.staging_folder(&self.folder)?;
        ensure_own(&staged, [&self.folder, &self.data])?;
        let key = MasterKey::create_file(&staged.join("master.key"), ids)?;
        write_new(&staged.join("switchyard.toml"), text.as_bytes())
            .with_context(|| failed_in(&self.folder))?;
        // The settings come last: without them there is no installation.
        for (name, path) in [("master.key", &master_key), ("switchyard.toml", &settings)] {
            fs::hard_link(staged.join(name), path).with_context(|| {
                format!("failed to make {}: nothing was written", path.display())
            })?;
            made.files.push(path.clone());
        }
        made.remove_staging();
        fs::File::open(&self.folder)
            .and_then(|folder| folder.sync_all())
            .with_context(|| failed_in(&self.folder))?;
        Ok(Written {
            settings,
            master_key,
            master_key_id: key.id(),
            made,
        })
    }
}

impl Written {
    /// Keeps the files.
    pub fn keep(mut self) {
        self.made.files.clear();
        self.made.folders.clear();
    }
}

impl CreatedPaths {
    /// Makes a folder that only its owner can enter, with its parents, unless it exists.
    fn folder(&mut self, path: &Path, option: &str) -> anyhow::Result<()> {
        let missing: Vec<&Path> = path
            .ancestors()
            .take_while(|path| path.symlink_metadata().is_err())
            .collect();
        for folder in missing.into_iter().rev() {
            self.make(folder).with_context(|| {
                format!(
                    "failed to make the folder {}: make it for this user, or name another with \
                     --{option}; nothing was written",
                    folder.display()
                )
            })?;
        }
        ensure!(
            path.is_dir(),
            "{} is no folder: name another with --{option}",
            path.display()
        );
        Ok(())
    }

    fn make(&mut self, folder: &Path) -> io::Result<()> {
        DirBuilder::new().mode(0o700).create(folder)?;
        self.folders.push(folder.to_owned());
        // The mode is independent of the umask.
        fs::set_permissions(folder, Permissions::from_mode(0o700))
    }

    fn staging_folder(&mut self, folder: &Path) -> anyhow::Result<PathBuf> {
        let staged = folder.join(format!(".init-{}", std::process::id()));
        let made = DirBuilder::new().mode(0o700).create(&staged);
        made.with_context(|| failed_in(folder))?;
        self.staging = Some(staged.clone());
        fs::set_permissions(&staged, Permissions::from_mode(0o700))?;
        Ok(staged)
    }

    fn remove_staging(&mut self) {
        if let Some(staged) = self.staging.take() {
            let _ = fs::remove_dir_all(staged);
        }
    }
}

impl Drop for CreatedPaths {
    fn drop(&mut self) {
        self.remove_staging();
        for file in &self.files {
            let _ = fs::remove_file(file);
        }
        // The innermost first. A folder in which others have put something stays.
        for folder in self.folders.iter().rev() {
            let _ = fs::remove_dir(folder);
        }
    }
}

/// Refuses folders of another user: the server, which runs as that user, could not read the files.
fn ensure_own(staged: &Path, folders: [&PathBuf; 2]) -> anyhow::Result<()> {
    let own = fs::metadata(staged)?.uid();
    for folder in folders {
        ensure!(
            fs::metadata(folder)?.uid() == own,
            "{} belongs to another user: run the command as that user, as in `runuser -u \
             switchyard -- switchyard init`; nothing was written",
            folder.display()
        );
    }
    Ok(())
}

/// Refuses a folder in which others could replace the settings.
fn ensure_private(folder: &Path) -> anyhow::Result<()> {
    let mode = fs::metadata(folder)?.permissions().mode() & 0o7777;
    if mode & 0o022 != 0 {
        bail!(
            "others than its owner can write to {0} (mode {mode:o}): run `chmod go-w {0}`; nothing \
             was written",
            folder.display()
        );
    }
    Ok(())
}

fn failed_in(folder: &Path) -> String {
    format!(
        "failed to write in {}: run the command as the user that owns the folder, or name another \
         with --settings; nothing was written",
        folder.display()
    )
}

fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.set_permissions(Permissions::from_mode(0o600))?;
    file.write_all(bytes)?;
    file.sync_all()
}
