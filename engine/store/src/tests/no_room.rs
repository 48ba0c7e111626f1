//! A store on a disk that has no room for the index of its log.
//!
//! A limit on the size of files stands for the full disk. It is for a whole process, so that a part
//! of each test runs in one of its own.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::batch;
use super::damage::{Home, fill, stored};
use crate::*;

/// Runs a test again, in a process that ignores the signal of a file that cannot grow.
fn run_in_a_process(test: &str, home: &Home) {
    let run = Command::new("sh")
        .args(["-c", "trap '' XFSZ; exec \"$@\"", "sh"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", &format!("tests::no_room::{test}"), "--nocapture"])
        .env(STORE, home.settings().path)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success() && said.contains(PASSED), "{run:?}");
}

/// The settings for the part of a test that runs in its own process.
fn in_that_process() -> Option<StoreSettings> {
    let path = PathBuf::from(std::env::var_os(STORE)?);
    Some(StoreSettings {
        path,
        ..Home::new().settings()
    })
}

/// Makes an index and a log unable to grow. A mark can be written.
fn take_room() -> Rlimit {
    let before = getrlimit(Resource::Fsize);
    let current = Some(2_048);
    setrlimit(Resource::Fsize, Rlimit { current, ..before }).unwrap();
    before
}

fn index_of(store: &Path) -> PathBuf {
    store.join("sqlite/switchyard.sqlite3-shm")
}

/// A store that was killed with 40 commits, and the content that its index had after 20.
async fn killed() -> (Home, Vec<u8>) {
    let home = Home::new();
    let store = home.open();
    fill(&store, 0, 20).await;
    let older = fs::read(index_of(&home.settings().path)).unwrap();
    fill(&store, 20, 40).await;
    let killed = home.killed();
    assert!(store.close().await);
    (killed, older)
}

/// A deleted index keeps its blocks while another program has it.
#[tokio::test]
async fn a_store_opens_with_the_index_that_a_reader_has() {
    if let Some(settings) = in_that_process() {
        // Not by the reader's process: closing the file would drop its locks.
        if let Ok(older) = fs::read(settings.path.with_file_name(OLDER)) {
            let index = File::options().write(true).open(index_of(&settings.path));
            index.unwrap().write_all_at(&older, 0).unwrap();
        }
        let before = take_room();
        let store = Store::open(&settings).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(stored(&store).await, 40);
        setrlimit(Resource::Fsize, before).unwrap();
        let row = batch(|batch| {
            batch.put(Table::Event, 40_u32.to_be_bytes(), "40");
            batch.add(Table::Count, "c", [1]);
        });
        store.commit(row).await.unwrap();
        assert_eq!(stored(&store).await, 41);
        println!("{PASSED}");
        std::process::exit(0); // a stop in order would make a new index
    }
    for is_overwritten in [false, true] {
        let (home, older) = killed().await;
        let shell = Shell::open(&home.settings()).unwrap();
        let count = || shell.query("SELECT count(*) FROM event_rows").unwrap().rows;
        let rows = |rows: &str| [[Cell::Text(rows.to_owned())]];
        assert_eq!(count(), rows("40"));
        if is_overwritten {
            fs::write(home.0.path().join(OLDER), &older).unwrap();
        }
        run_in_a_process("a_store_opens_with_the_index_that_a_reader_has", &home);
        assert_eq!(count(), rows("41"), "overwritten: {is_overwritten}");
        let draft = index_of(&home.settings().path).with_added_extension("new");
        assert!(!draft.exists());
        drop(shell);
        assert_eq!(stored(&home.open()).await, 41);
    }
}

#[tokio::test]
async fn a_store_without_an_index_is_not_called_damaged() {
    if let Some(settings) = in_that_process() {
        let before = take_room();
        let opened = Store::open(&settings).err().unwrap();
        let checked = check(&settings, &mut |_| {}).err().unwrap();
        let shell = Shell::open(&settings).err().unwrap();
        setrlimit(Resource::Fsize, before).unwrap();
        assert!(!opened.is_lasting());
        for said in [opened.to_string(), checked.to_string(), shell.to_string()] {
            assert!(
                said.contains("the disk has no room for the index"),
                "{said}"
            );
            assert!(
                said.contains("damage") && said.contains("free space"),
                "{said}"
            );
            assert!(!said.contains("restore"), "{said}");
        }
        println!("{PASSED}");
        return;
    }
    let (home, _) = killed().await;
    run_in_a_process("a_store_without_an_index_is_not_called_damaged", &home);
    assert_eq!(stored(&home.open()).await, 40);
}

/// A file beside the store, with an earlier content of its index.
const OLDER: &str = "older";
const STORE: &str = "SWITCHYARD_TEST_STORE_WITHOUT_ROOM";
const PASSED: &str = "the part in its own process has passed";
