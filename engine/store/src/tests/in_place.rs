//! Files of an open store that are deleted, replaced or cut off.

use std::fs::{self, File};
use std::path::Path;
use std::time::Duration;

use super::damage::{Home, fill, stored};
use super::{batch, logged};
use crate::kv::sqlite::log;
use crate::opened::identity_of;
use crate::*;

async fn commit(store: &Store, n: u32) -> Result<(), CommitError> {
    let row = batch(|batch| {
        batch.put(Table::Event, n.to_be_bytes(), [n as u8; 700]);
        batch.add(Table::Count, "c", [1]);
    });
    store.commit(row).await
}

/// Waits until the store knows of damage and refuses writes.
async fn until_damaged(store: &Store) -> String {
    for _ in 0..100 {
        if let Some(damage) = store.damage().filter(|_| !store.stats().available) {
            return damage.to_string();
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("no damage was found");
}

/// Waits until the store writes again.
async fn until_it_writes(store: &Store, n: u32) {
    for _ in 0..300 {
        if commit(store, n).await.is_ok() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("it does not write again");
}

fn cut(file: &Path, length: u64) {
    let file = File::options().write(true).open(file).unwrap();
    file.set_len(length).unwrap();
}

type Harm = fn(&Home);

const HARMS: [(&str, Harm); 6] = [
    ("the database is deleted", |home| {
        fs::remove_file(home.database()).unwrap();
    }),
    ("the log is deleted", |home| {
        fs::remove_file(home.log()).unwrap();
    }),
    ("the database is replaced", |home| {
        let other = home.0.path().join("other");
        fs::copy(home.database(), &other).unwrap();
        fs::rename(&other, home.database()).unwrap();
    }),
    ("the database is cut off", |home| {
        cut(&home.database(), 4096)
    }),
    ("the log is cut off", |home| cut(&home.log(), 4096)),
    ("the folder is moved", |home| {
        let path = home.settings().path;
        fs::rename(&path, path.with_file_name("store.old")).unwrap();
    }),
];

/// A store with rows in its database and in its log.
async fn filled() -> (Home, Store) {
    let home = Home::new();
    let store = home.open();
    fill(&store, 0, 40).await;
    assert!(store.close().await);
    drop(store);
    let store = home.open();
    fill(&store, 40, 60).await;
    // Opens a connection, which stays open.
    store.get(Table::Event, b"none").await.unwrap();
    (home, store)
}

#[tokio::test]
async fn no_commit_is_acknowledged_that_only_a_deleted_or_replaced_file_would_have() {
    for (name, harm) in HARMS {
        let (home, store) = filled().await;
        harm(&home);
        let refused = commit(&store, 60).await;
        assert!(
            matches!(refused, Err(CommitError::Unavailable { .. })),
            "{name}: {refused:?}"
        );
        let damage = until_damaged(&store).await;
        assert!(damage.contains("switchyard.sqlite3"), "{name}: {damage}");
        tokio::time::sleep(Duration::from_millis(400)).await;
        let refused = commit(&store, 61).await;
        assert!(refused.is_err(), "{name}");
        let row = store.get(Table::Event, &7_u32.to_be_bytes()).await;
        if let Ok(row) = row {
            assert_eq!(row, Some(vec![7; 700]), "{name}");
        }
        store.close().await;
    }
}

#[tokio::test]
async fn a_file_that_is_gone_is_noticed_without_any_commit() {
    for (name, harm) in HARMS {
        let (home, store) = filled().await;
        harm(&home);
        until_damaged(&store).await;
        let path = home.record_of_damage();
        let recorded = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            recorded.contains("while the store is open"),
            "{name}: {recorded}"
        );
    }
}

#[tokio::test]
async fn reads_go_on_from_deleted_files_and_writes_when_they_are_put_back() {
    let (home, store) = filled().await;
    let path = home.settings().path;
    let old = path.with_file_name("store.old");
    fs::rename(&path, &old).unwrap();
    assert!(commit(&store, 60).await.is_err());
    let row = store.get(Table::Event, &50_u32.to_be_bytes()).await;
    assert_eq!(row, Ok(Some(vec![50; 700])));
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(!path.exists(), "nothing is made in its place");
    fs::rename(&old, &path).unwrap();
    until_it_writes(&store, 60).await;
    assert_eq!(stored(&store).await, 61);
    assert!(store.damage().is_some(), "it stays known");
    assert!(store.close().await);
    drop(store);
    assert_eq!(stored(&home.open()).await, 61);
}

/// More connections are opened when more threads read at a time.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_row_of_another_file_in_the_place_of_the_database_is_answered() {
    let other = Home::new();
    let empty = other.open();
    fill(&empty, 0, 1).await;
    assert!(empty.close().await);
    let (home, store) = filled().await;
    for file in [
        home.log(),
        home.log().with_file_name("switchyard.sqlite3-shm"),
    ] {
        fs::remove_file(file).unwrap();
    }
    fs::rename(other.database(), home.database()).unwrap();
    let reads = (0..400_u32).map(|n| {
        let store = store.clone();
        tokio::spawn(async move {
            let n = n % 60;
            let from = n.to_be_bytes();
            let rows = store.scan(Table::Event, &from, &[u8::MAX], Direction::Forward, 100);
            (n, rows.await)
        })
    });
    for read in reads.collect::<Vec<_>>() {
        let (n, rows) = read.await.unwrap();
        if let Ok(rows) = rows {
            assert_eq!(rows.len(), 60 - n as usize, "from row {n}");
        }
    }
    assert!(until_damaged(&store).await.contains("replaced"));
}

/// Its pages are in the database then.
#[tokio::test]
async fn a_log_that_another_connection_has_emptied_is_no_damage() {
    let (home, store) = filled().await;
    log::move_in(home.database().parent().unwrap()).unwrap();
    assert_eq!(fs::metadata(home.log()).unwrap().len(), 0);
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    assert_eq!(store.damage(), None);
    fill(&store, 60, 65).await;
    assert_eq!(stored(&store).await, 65);
}

#[test]
fn a_page_that_cannot_be_read_is_logged_as_damage() {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.build().unwrap();
    let (home, store) = runtime.block_on(filled());
    cut(&home.log(), 0);
    let said = logged(|| {
        let read = runtime.block_on(store.get(Table::Event, &50_u32.to_be_bytes()));
        assert!(read.is_err(), "{read:?}");
    });
    let event = "ERROR switchyard_store::embedded: store damaged damage=a page of the database";
    assert!(said.contains(event), "{said}");
}

/// Other processes that open the database then see neither its reads nor its writes.
#[tokio::test]
async fn a_store_whose_shared_memory_was_deleted_or_replaced_opens_its_files_again() {
    let harms: [fn(&Path); 2] = [
        |index| fs::remove_file(index).unwrap(),
        |index| {
            let other = index.with_file_name("other");
            fs::copy(index, &other).unwrap();
            fs::rename(&other, index).unwrap();
        },
    ];
    for harm in harms {
        let (home, store) = filled().await;
        let index = home.log().with_file_name("switchyard.sqlite3-shm");
        harm(&index);
        // Held open, so that no other file gets its identity.
        let held = File::open(&index).ok();
        let was_there = held.map(|file| (identity_of(&file.metadata().unwrap()), file));
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        until_it_writes(&store, 60).await;
        fill(&store, 61, 80).await;
        let is_there = identity_of(&fs::metadata(&index).unwrap());
        // Programs that have opened the other file notice it.
        assert!(was_there.is_none_or(|(was_there, _)| was_there != is_there));
        assert_eq!(store.damage(), None);
        let found = check(&home.settings(), &mut |_| {}).unwrap();
        assert!(found.is_running && found.is_sound(), "{found:?}");
        assert_eq!(stored(&store).await, 80);
        assert!(store.close().await);
    }
}

/// Writes an earlier content into the file of the shared memory, which stays mapped.
fn overwrite(index: &Path, content: &[u8]) {
    use std::os::unix::fs::FileExt as _;
    let file = File::options().write(true).open(index).unwrap();
    file.write_all_at(content, 0).unwrap();
}

/// The store then sees an older end of its log, behind which it must write nothing.
#[tokio::test]
async fn an_older_shared_memory_in_place_loses_no_commit() {
    for (commits_after, waits) in [(0, false), (5, false), (5, true), (0, true)] {
        let home = Home::new();
        let store = home.open();
        fill(&store, 0, 20).await;
        let index = home.log().with_file_name("switchyard.sqlite3-shm");
        let older = fs::read(&index).unwrap();
        fill(&store, 20, 60).await;
        overwrite(&index, &older);
        if waits {
            tokio::time::sleep(Duration::from_millis(1_500)).await;
        }
        for n in 0..commits_after {
            until_it_writes(&store, 60 + n).await;
        }
        if waits || commits_after > 0 {
            assert_eq!(stored(&store).await, 60 + commits_after as usize);
            assert_eq!(store.damage(), None);
        }
        store.close().await;
        drop(store);
        let rows = stored(&home.open()).await;
        assert_eq!(
            rows,
            60 + commits_after as usize,
            "{commits_after}, {waits}"
        );
    }
}

/// All files of the database are overwritten with their earlier content, and stay open.
#[tokio::test]
async fn an_older_database_in_place_loses_no_commit() {
    for waits in [false, true] {
        let home = Home::new();
        let store = home.open();
        fill(&store, 0, 20).await;
        let index = home.log().with_file_name("switchyard.sqlite3-shm");
        let files = [home.database(), home.log(), index];
        let older = files.clone().map(|file| fs::read(file).unwrap());
        fill(&store, 20, 60).await;
        for (file, older) in files.iter().zip(&older) {
            overwrite(file, older);
        }
        if waits {
            tokio::time::sleep(Duration::from_millis(1_500)).await;
        }
        let refused = commit(&store, 60).await;
        store.close().await;
        drop(store);
        if let Ok(store) = Store::open(&home.settings()) {
            let all = 60 + usize::from(refused.is_ok());
            assert_eq!(stored(&store).await, all, "its log has all of them");
        }
    }
}

/// sled writes to its file and to a folder of large nodes.
#[tokio::test]
async fn no_commit_is_acknowledged_that_only_a_deleted_or_replaced_file_of_sled_would_have() {
    let moved: [(&str, &str); 4] = [
        ("", "old"),
        ("sled", "old"),
        ("sled/db", "db.old"),
        ("sled/blobs", "b.old"),
    ];
    for (name, old) in moved {
        let home = Home::new();
        let settings = StoreSettings {
            backend: Backend::Sled,
            ..home.settings()
        };
        let store = Store::open(&settings).unwrap();
        fill(&store, 0, 20).await;
        let path = settings.path.join(name);
        let path = path.components().collect::<PathBuf>(); // without a slash at its end
        let old = path.with_file_name(old);
        fs::rename(&path, &old).unwrap();
        if name == "sled/db" {
            fs::copy(&old, &path).unwrap();
        }
        let refused = commit(&store, 20).await;
        assert!(
            matches!(refused, Err(CommitError::Unavailable { .. })),
            "{name}: {refused:?}"
        );
        assert!(
            until_damaged(&store)
                .await
                .contains("while the store is open"),
            "{name}"
        );
        assert_eq!(stored(&store).await, 20, "{name}: it can be read");
        fs::rename(&old, &path).unwrap();
        until_it_writes(&store, 20).await;
        assert!(store.close().await, "{name}");
        drop(store);
        assert_eq!(stored(&Store::open(&settings).unwrap()).await, 21, "{name}");
    }
}

#[tokio::test]
async fn a_file_of_sled_that_is_gone_is_noticed_without_any_commit() {
    let home = Home::new();
    let settings = StoreSettings {
        backend: Backend::Sled,
        ..home.settings()
    };
    let store = Store::open(&settings).unwrap();
    fill(&store, 0, 20).await;
    fs::remove_file(settings.path.join("sled/db")).unwrap();
    assert!(until_damaged(&store).await.contains("sled/db is gone"));
    store.close().await;
    drop(store);
    let refused = Store::open(&settings).err().unwrap();
    assert!(refused.to_string().contains("group 20 of"), "{refused}");
}
