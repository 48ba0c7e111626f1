//! A small file system in memory, for what happens when a disk is full.
//!
//! Mounting one takes root, or a user namespace in which the creator is root: there the whole test
//! runs a second time.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::surroundings::{self, Right, is_root};

/// A file system with so much room and no more.
pub struct SmallDisk {
    directory: tempfile::TempDir,
}

impl SmallDisk {
    /// Mounts one for a test, whose whole name is asked for. Nothing when [`may_mount`] says no:
    /// then the test is over.
    pub fn mount(mebibytes: u32, test: &str) -> Option<Self> {
        may_mount(test).then(|| {
            let directory = tempfile::tempdir().expect("a directory");
            mount(directory.path(), &format!("size={mebibytes}m")).expect("it can be mounted");
            Self { directory }
        })
    }

    /// Folder for a store on it.
    pub fn store(&self) -> PathBuf {
        self.directory.path().join("store")
    }

    /// Takes room away, as a log or a backup on the same disk does.
    pub fn take(&self, piece: usize, bytes: usize) {
        fs::write(self.piece(piece), vec![1; bytes]).expect("there is room");
    }

    /// Takes all the room that is left.
    pub fn take_all(&self, piece: usize) {
        let mut file = fs::File::create(self.piece(piece)).expect("a file of no size has room");
        while let Ok(written) = file.write(&[1; 4_096]) {
            assert!(written > 0, "a full disk is an error");
        }
    }

    pub fn give_back(&self, piece: usize) {
        fs::remove_file(self.piece(piece)).expect("it is there");
    }

    fn piece(&self, piece: usize) -> PathBuf {
        self.directory.path().join(format!("other {piece}"))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount")
            .arg("--lazy")
            .arg(self.directory.path())
            .output();
    }
}

/// Whether this process may mount. If not, the test returns without checks: either it was run in
/// another process that may, and passed, or the machine permits that to root only, and
/// `cargo xtask test` reports that at its end.
///
/// # Panics
/// When the test failed there; and as root outside of `cargo xtask test`, where a skipped check
/// would not be reported.
pub fn may_mount(test: &str) -> bool {
    if Right::Mount.is_ours().expect("/proc tells") {
        return true;
    }
    let probe = tempfile::tempdir().expect("a directory");
    let probe = Command::new("unshare")
        .args(IN_A_NAMESPACE)
        .args(MOUNT)
        .args(["size=1m", "tmpfs"])
        .arg(probe.path())
        .output();
    if probe.as_ref().is_ok_and(|output| output.status.success()) {
        let passed = surroundings::once_more("unshare", &IN_A_NAMESPACE, test);
        passed.unwrap_or_else(|why| panic!("{why:#}"));
        return false;
    }
    let why = format!(
        "{test}: no file system can be mounted here: run it as root, or permit user namespaces without root"
    );
    let list = std::env::var_os(NOT_LOOKED_AT).filter(|_| !is_root());
    let list = list.unwrap_or_else(|| panic!("{why} ({probe:?})"));
    let list = fs::File::options().create(true).append(true).open(list);
    writeln!(list.expect("a list that can be written"), "{why}").expect("there is room");
    false
}

/// Mounts a file system in memory.
///
/// # Errors
/// What `mount` says.
pub fn mount(at: &Path, options: &str) -> anyhow::Result<()> {
    let mounted = Command::new(MOUNT[0])
        .args(&MOUNT[1..])
        .args([options, "tmpfs"])
        .arg(at)
        .output()?;
    anyhow::ensure!(mounted.status.success(), "{mounted:?}");
    Ok(())
}

/// Environment variable with the file in which skipped tests are listed, a line each.
const NOT_LOOKED_AT: &str = "SWITCHYARD_NOT_LOOKED_AT";
const IN_A_NAMESPACE: [&str; 3] = ["--user", "--map-root-user", "--mount"];
const MOUNT: [&str; 4] = ["mount", "-t", "tmpfs", "-o"];
