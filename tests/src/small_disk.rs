//! A small file system in memory, for what happens when a disk is full. Mounting one takes root; without it tests say so and pass.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;

/// A file system with so much room and no more.
pub struct SmallDisk {
    directory: tempfile::TempDir,
}

impl SmallDisk {
    /// Mounts one. Nothing, and a word about it, when that is not allowed here.
    pub fn mount(mebibytes: u32) -> Option<Self> {
        let directory = tempfile::tempdir().expect("a directory");
        let size = format!("size={mebibytes}m");
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &size, "tmpfs"])
            .arg(directory.path())
            .output();
        match mount {
            Ok(output) if output.status.success() => Some(Self { directory }),
            refused => {
                eprintln!(
                    "SKIPPED: a small file system can not be mounted here, run as root: {refused:?}"
                );
                None
            }
        }
    }

    /// Where a store may lie on it.
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
