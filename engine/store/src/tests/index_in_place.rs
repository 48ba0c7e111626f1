//! Checks and backups in the process of an open store whose index of the log is lost.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::batch;
use super::damage::{Home, fill, stored};
use crate::*;

type Harm = fn(&Path, &[u8]);

/// Each with an earlier content of the index.
const HARMS: [(&str, Harm); 3] = [
    ("deleted", |index, _| fs::remove_file(index).unwrap()),
    ("replaced", |index, _| {
        let other = index.with_file_name("other");
        fs::copy(index, &other).unwrap();
        fs::rename(&other, index).unwrap();
    }),
    ("overwritten", |index, older| {
        let file = File::options().write(true).open(index).unwrap();
        file.write_all_at(older, 0).unwrap();
    }),
];

/// Loses the index at the first report of progress, and then delays each report.
fn losing(harm: Harm, index: PathBuf, older: Vec<u8>) -> impl FnMut(Progress) {
    let mut is_lost = false;
    move |_| match is_lost {
        false => {
            harm(&index, &older);
            is_lost = true;
        }
        true => thread::sleep(Duration::from_millis(300)),
    }
}

fn checked(
    settings: StoreSettings,
    mut report: impl FnMut(Progress) + Send + 'static,
) -> JoinHandle<Result<u64, MaintenanceError>> {
    thread::spawn(move || {
        let found = check(&settings, &mut report)?;
        assert!(found.is_sound(), "{found:?}");
        Ok(found.end.unwrap().sequence)
    })
}

fn backed_up(
    settings: StoreSettings,
    mut report: impl FnMut(Progress) + Send + 'static,
) -> JoinHandle<Result<u64, MaintenanceError>> {
    thread::spawn(move || {
        let source = BackupSource {
            store: &settings,
            gateways: Path::new("/nonexistent"),
            settings: None,
            views: Views::AsStored,
        };
        let to = settings.path.with_file_name("backup");
        Ok(backup(source, &to, 1024 * 1024, &mut report)?.sequence)
    })
}

async fn commit(store: &Store, n: u32) -> bool {
    let row = batch(|batch| {
        batch.put(Table::Event, n.to_be_bytes(), [n as u8; 700]);
        batch.add(Table::Count, "c", [1]);
    });
    store.commit(row).await.is_ok()
}

/// A store with an earlier content of its index.
async fn filled() -> (Home, Store, Vec<u8>) {
    let home = Home::new();
    let store = home.open();
    let row = batch(|batch| batch.put(Table::Callback, "large", vec![7; 3 * 1024 * 1024]));
    store.commit(row).await.unwrap();
    fill(&store, 0, 20).await;
    let older = fs::read(index_of(&home)).unwrap();
    fill(&store, 20, 60).await;
    (home, store, older)
}

fn index_of(home: &Home) -> PathBuf {
    home.log().with_file_name("switchyard.sqlite3-shm")
}

/// The store writes again while the read, which was begun again, is in progress.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_in_the_process_that_lost_its_index_does_not_hold_up_the_store() {
    for (name, harm) in HARMS {
        for is_backup in [false, true] {
            let (home, store, older) = filled().await;
            let report = losing(harm, index_of(&home), older);
            let reading = match is_backup {
                false => checked(home.settings(), report),
                true => backed_up(home.settings(), report),
            };
            tokio::time::sleep(Duration::from_millis(1_500)).await;
            let begun = tokio::time::Instant::now();
            while !commit(&store, 60).await {
                assert!(begun.elapsed() < Duration::from_secs(5), "{name}");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            assert!(!reading.is_finished(), "{name}: it shows nothing");
            assert_eq!(store.damage(), None, "{name}");
            let sequence = reading.join().unwrap().unwrap();
            assert!(sequence >= 61, "{name}: {sequence}");
            assert_eq!(stored(&store).await, 61, "{name}");
            assert!(store.close().await, "{name}");
            drop(store);
            assert_eq!(stored(&home.open()).await, 61, "{name}");
        }
    }
}
