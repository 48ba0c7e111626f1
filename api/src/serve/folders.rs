//! Checks of the folders in the settings: only the owner can read the store, and only the owner can
//! put a gateway, which is code, into a folder from which gateways are loaded.
//!
//! Development mode has no such checks: it stores no live data, and other tools create its folders.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::config::{Fault, Faults, Settings};

/// Returns the faults of the folders. A missing folder is no fault.
pub fn check(settings: &Settings) -> Vec<Fault> {
    let mut faults = Faults::default();
    if settings.development {
        return faults.0;
    }
    let data = &settings.data.dir;
    let store = settings.store_path();
    // A data folder with mode 700 also protects the folders in it.
    let elsewhere = (!store.starts_with(data)).then_some(("store.path", store.as_path()));
    for (name, path) in [("data.dir", data.as_path())].into_iter().chain(elsewhere) {
        if let Some(mode) = mode(path).filter(|mode| mode & OTHERS != 0) {
            faults.push(name, format!(
                "{name} is {}, which others than its owner can look into or write to (mode {mode:o}): it holds what customers gave, so run \
                 `chmod 700 {0}`",
                path.display()
            ));
        }
    }
    for path in code(&settings.gateways.dir) {
        if let Some(mode) = mode(&path).filter(|mode| mode & WRITE_BY_OTHERS != 0) {
            faults.push("gateways.dir", format!(
                "gateways.dir is {}, and others than its owner can write to {} (mode {mode:o}): \
                 whoever can put a gateway there can run code in this server, so run \
                 `chmod go-w {1}`",
                settings.gateways.dir.display(),
                path.display()
            ));
        }
    }
    faults.0
}

/// The folder of the gateways, and the gateways.
fn code(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let libraries = entries.map(|entry| entry.path()).filter(|path| {
        let extension = path.extension();
        extension.is_some_and(|extension| extension == "so")
    });
    let mut paths: Vec<_> = libraries.collect();
    paths.sort();
    paths.insert(0, folder.to_owned());
    paths
}

fn mode(path: &Path) -> Option<u32> {
    let permissions = fs::metadata(path).ok()?.permissions();
    Some(permissions.mode() & 0o7777)
}

/// Everything for others, and writing for the group.
const OTHERS: u32 = 0o027;
const WRITE_BY_OTHERS: u32 = 0o022;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_that_others_can_get_at_are_refused_with_what_to_do() {
        for (part, mode, word) in [
            ("data", 0o755, Some("data.dir")),
            ("data", 0o777, Some("data.dir")),
            ("data", 0o770, Some("data.dir")),
            ("data", 0o750, None),
            ("data/store", 0o755, None),
            ("store", 0o755, Some("store.path")),
            ("store", 0o705, Some("store.path")),
            ("store", 0o700, None),
            ("gateways", 0o777, Some("gateways.dir")),
            ("gateways", 0o1777, Some("gateways.dir")),
            ("gateways", 0o775, Some("gateways.dir")),
            ("gateways", 0o755, None),
            ("gateways/a.so", 0o664, Some("gateways.dir")),
            ("gateways/a.so", 0o666, Some("gateways.dir")),
            ("gateways/a.so", 0o644, None),
            ("gateways/notes.txt", 0o666, None),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path();
            fs::create_dir_all(root.join("data/store")).unwrap();
            fs::create_dir(root.join("gateways")).unwrap();
            fs::create_dir(root.join("store")).unwrap();
            fs::write(root.join("gateways/a.so"), "").unwrap();
            fs::write(root.join("gateways/notes.txt"), "").unwrap();
            for (path, safe) in [
                ("data", 0o700),
                ("data/store", 0o755),
                ("store", 0o700),
                ("gateways", 0o755),
                ("gateways/a.so", 0o644),
            ] {
                chmod(&root.join(path), safe);
            }
            let mut settings = Settings::default();
            settings.data.dir = root.join("data");
            settings.gateways.dir = root.join("gateways");
            if part == "store" {
                settings.store.path = Some(root.join("store"));
            }
            assert_eq!(check(&settings), Vec::new());
            chmod(&root.join(part), mode);
            let refusals = check(&settings);
            match word {
                Some(word) => {
                    assert_eq!(refusals.len(), 1, "{part} {mode:o}: {refusals:?}");
                    let said = &refusals[0].text;
                    assert!(said.contains(word) && said.contains("chmod"), "{said}");
                }
                None => assert_eq!(refusals, Vec::new(), "{part} {mode:o}"),
            }
            settings.development = true;
            assert_eq!(check(&settings), Vec::new());
        }
    }

    fn chmod(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
}
