//! A store whose disk turns read-only refuses commits, and recovers by itself when it can be
//! written again.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use switchyard_store::{Backend, OpenError, Store};
use switchyard_tests::small_disk::{may_mount, mount};
use switchyard_tests::store::power_cut::build_shim;
use switchyard_tests::store::rows::{check, lost, settings};

/// A child that must not outlive the test, however that ends.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn turn_read_only_and_back(backend: Backend) {
    let directory = tempfile::tempdir().expect("a directory");
    let shim = build_shim(directory.path()).expect("the shim is built");
    let root = directory
        .path()
        .canonicalize()
        .expect("it is there")
        .join("store");
    fs::create_dir(&root).expect("a directory");
    let switch = directory.path().join("read only");
    let child = Command::new(env!("CARGO_BIN_EXE_store_child"))
        .arg(backend.name())
        .arg(&root)
        .arg("patient")
        .env("LD_PRELOAD", shim)
        .env("SWITCHYARD_CUT_ROOT", &root)
        .env("SWITCHYARD_CUT_LOG", directory.path().join("log"))
        .env("SWITCHYARD_CUT_READ_ONLY", &switch)
        .stdout(Stdio::piped())
        .spawn();
    let mut child = Killed(child.expect("the child starts"));
    let output = child.0.stdout.take().expect("it is piped");
    let mut lines = BufReader::new(output)
        .lines()
        .map(|line| line.expect("the child writes text"));
    let mut acknowledged = Vec::new();
    for _ in 0..2 {
        listen(&mut lines, &mut acknowledged, |said| {
            said.acknowledged == 300
        });
        fs::write(&switch, "").expect("a file");
        // The reason is known when it was tried to open the store again.
        listen(&mut lines, &mut acknowledged, |said| {
            assert!(said.refused < 2_000, "no reason is given");
            said.refused >= 40 && said.is_read_only
        });
        fs::remove_file(&switch).expect("it is there");
    }
    listen(&mut lines, &mut acknowledged, |said| {
        said.acknowledged == 300
    });
    drop(child);
    seen_again(backend, &root, &acknowledged);
}

struct Said {
    acknowledged: usize,
    refused: usize,
    /// Whether the reason of the last refusal is a read-only disk.
    is_read_only: bool,
}

/// Takes lines until it is enough.
fn listen(
    lines: &mut impl Iterator<Item = String>,
    acknowledged: &mut Vec<(u64, u64)>,
    enough: impl Fn(&Said) -> bool,
) {
    let mut said = Said {
        acknowledged: 0,
        refused: 0,
        is_read_only: false,
    };
    for line in lines {
        if line.starts_with("refused") {
            said.refused += 1;
            said.is_read_only = line.contains("Read-only file system");
        } else if let Some((lane, n)) = line.split_once(' ') {
            acknowledged.push((lane.parse().expect("a lane"), n.parse().expect("a number")));
            said.acknowledged += 1;
        }
        if enough(&said) {
            return;
        }
    }
    panic!("the child ended by itself, its last words are above");
}

#[tokio::main]
async fn seen_again(backend: Backend, root: &Path, acknowledged: &[(u64, u64)]) {
    let store = Store::open(&settings(backend, root)).unwrap_or_else(|error| panic!("{error}"));
    let heads = check(&store)
        .await
        .unwrap_or_else(|wrong| panic!("{wrong}"));
    assert_eq!(lost(acknowledged, &heads), []);
}

#[test]
fn sqlite_recovers_from_a_disk_that_was_read_only() {
    turn_read_only_and_back(Backend::Sqlite);
}

#[test]
fn sled_recovers_from_a_disk_that_was_read_only() {
    turn_read_only_and_back(Backend::Sled);
}

/// A file system that is mounted read-only from the start.
#[test]
fn a_store_on_a_read_only_disk_is_not_opened_and_says_what_to_do() {
    if !may_mount("a_store_on_a_read_only_disk_is_not_opened_and_says_what_to_do") {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    mount(directory.path(), "ro,size=1m").expect("it can be mounted");
    let refused = Store::open(&settings(Backend::Sqlite, &directory.path().join("store"))).err();
    let unmounted = Command::new("umount").arg(directory.path()).status();
    assert!(
        matches!(refused, Some(OpenError::Unwritable { .. })),
        "{refused:?}"
    );
    assert!(unmounted.is_ok_and(|status| status.success()));
}
