//! Backups that a server makes by its settings.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::ensure;
use switchyard_tests::{Server, Setup, eventually};

/// A folder in `folder` whose name begins with `prefix` and which is a whole backup.
fn backup_in(folder: &Path, prefix: &str) -> anyhow::Result<Option<PathBuf>> {
    if !folder.exists() {
        return Ok(None);
    }
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        let is_wanted = name.is_some_and(|name| name.starts_with(prefix));
        // A draft has another extension.
        if is_wanted && path.extension().is_none() && path.join("backup.json").exists() {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

/// Names of the files below a folder that hold one of these texts.
fn files_with(folder: &Path, texts: &[&[u8]]) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files_with(&path, texts)?);
            continue;
        }
        let bytes = fs::read(&path)?;
        let holds = |text: &&[u8]| bytes.windows(text.len()).any(|part| part == *text);
        if texts.iter().any(holds) {
            found.push(path);
        }
    }
    Ok(found)
}

#[tokio::test]
async fn a_server_with_its_master_key_in_the_settings_backs_up_without_the_key()
-> anyhow::Result<()> {
    let elsewhere = tempfile::tempdir()?;
    let root = elsewhere.path();
    let key = "5eed".repeat(16);
    let file = root.join("switchyard.toml");
    let text = format!(
        "[store]\nbackup_to = '{0}/backups'\nbackup_every = '1h'\nbackup_keep = 2\n\
         copy_to = '{0}/copy'\n[secrets]\nmaster_key = '{key}'\n",
        root.display()
    );
    fs::write(&file, text)?;
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600))?;
    let file: &'static str = Box::leak(file.display().to_string().into_boxed_str());
    let mut server = Server::start(Setup {
        settings: vec![("SWITCHYARD_CONFIG", file)],
        ..Setup::default()
    })
    .await?;
    let generation = root.join("copy/generation-0000000001");
    let made = eventually("a backup and a base are whole", SOON, async || {
        let made = backup_in(&root.join("backups"), "20")?;
        Ok(made.zip(backup_in(&generation, "base-")?))
    });
    let (scheduled, base) = made.await?;
    server.stop().await?;
    let raw = [0x5e, 0xed].repeat(16);
    for backup in [scheduled, base] {
        let settings = fs::read_to_string(backup.join("switchyard.toml"))?;
        ensure!(settings.contains("backup_keep = 2"), "{settings}");
        let found = files_with(&backup, &[key.as_bytes(), &raw])?;
        ensure!(found.is_empty(), "the key is in {found:?}");
    }
    Ok(())
}

const SOON: Duration = Duration::from_secs(60);
