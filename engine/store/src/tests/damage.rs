//! Files of the store that are damaged, missing or older than the acknowledged commits.

use std::fs::{self, File};
use std::io::{Seek as _, SeekFrom, Write as _};

use super::{batch, logged, text};
use crate::mark::MarkPlace;
use crate::*;

pub(super) struct Home(pub(super) tempfile::TempDir);

impl Home {
    pub(super) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(super) fn settings(&self) -> StoreSettings {
        StoreSettings {
            backend: Backend::Sqlite,
            path: self.0.path().join("store"),
            cache_bytes: 8 * 1024 * 1024,
        }
    }

    pub(super) fn open(&self) -> Store {
        Store::open(&self.settings()).unwrap_or_else(|error| panic!("{error}"))
    }

    pub(super) fn refusal(&self) -> OpenError {
        match Store::open(&self.settings()) {
            Ok(_) => panic!("it is opened"),
            Err(refused) => refused,
        }
    }

    pub(super) fn database(&self) -> PathBuf {
        self.0.path().join("store/sqlite/switchyard.sqlite3")
    }

    pub(super) fn log(&self) -> PathBuf {
        self.0.path().join("store/sqlite/switchyard.sqlite3-wal")
    }

    pub(super) fn mark(&self) -> PathBuf {
        self.0.path().join("store.mark")
    }

    pub(super) fn record_of_damage(&self) -> PathBuf {
        self.0.path().join("store.damage")
    }

    /// A copy of the files, as a process that is killed now leaves them.
    pub(super) fn killed(&self) -> Self {
        let copy = Self::new();
        fs::create_dir_all(copy.database().parent().unwrap()).unwrap();
        fs::copy(self.mark(), copy.mark()).unwrap();
        fs::copy(
            self.0.path().join("store/STORE"),
            copy.0.path().join("store/STORE"),
        )
        .unwrap();
        for [from, to] in [[self.database(), copy.database()], [self.log(), copy.log()]] {
            fs::copy(from, to).unwrap();
        }
        copy
    }
}

/// Makes commits `from..to`, one after the other.
pub(super) async fn fill(store: &Store, from: u32, to: u32) {
    for n in from..to {
        let row = batch(|batch| {
            batch.put(Table::Event, n.to_be_bytes(), [n as u8; 700]);
            batch.add(Table::Count, "c", [1]);
        });
        store.commit(row).await.unwrap();
    }
}

pub(super) async fn stored(store: &Store) -> usize {
    let rows = store.scan(
        Table::Event,
        &[0],
        &[u8::MAX],
        Direction::Forward,
        usize::MAX,
    );
    let rows = rows.await.unwrap().len();
    let count = store.get(Table::Count, b"c").await.unwrap();
    assert_eq!(counts(count.as_deref()), [rows as u64]);
    rows
}

pub(super) fn zero(file: &std::path::Path, at: u64, bytes: usize) {
    let mut file = File::options().write(true).open(file).unwrap();
    file.seek(SeekFrom::Start(at)).unwrap();
    file.write_all(&vec![0; bytes]).unwrap();
}

fn put(table: Table, key: &str, value: &str) -> Batch {
    batch(|batch| batch.put(table, key, value))
}

/// The reader whose page is gone gets an error, and readiness learns of the damage from it.
#[tokio::test]
async fn a_log_that_is_cut_off_under_an_open_store_is_damage() {
    let home = Home::new();
    let store = home.open();
    fill(&store, 0, 20).await;
    File::options()
        .write(true)
        .open(home.log())
        .unwrap()
        .set_len(0)
        .unwrap();
    let read = store.get(Table::Event, &7_u32.to_be_bytes()).await;
    assert!(read.is_err(), "{read:?}");
    assert!(store.damage().is_some());
}

#[tokio::test]
async fn a_damaged_row_is_an_error_for_who_needs_it_and_for_nobody_else() {
    let home = Home::new();
    let store = home.open();
    for (table, key) in [
        (Table::Access, "app/one"),
        (Table::Access, "app/other"),
        (Table::Count, "c"),
    ] {
        let row = batch(|batch| batch.put(table, key, 7_u64.to_be_bytes()));
        store.commit(row).await.unwrap();
    }
    let database = rusqlite::Connection::open(home.database()).unwrap();
    let changed = "SET value = CAST(x'0000000000000009' || substr(value, 9) AS BLOB)";
    for row in [
        format!("access {changed} WHERE key = CAST('app/one' AS BLOB)"),
        format!("state {changed} WHERE key = CAST('c' AS BLOB)"),
    ] {
        assert_eq!(database.execute(&format!("UPDATE {row}"), []), Ok(1));
    }
    drop(database);

    let damaged = StoreError::Damaged {
        table: "access",
        kind: "app".to_owned(),
    };
    assert!(!store.stats().damaged, "nobody has read it");
    let read = store.get(Table::Access, b"app/one").await;
    assert_eq!(read, Err(damaged.clone()));
    assert!(store.stats().damaged);
    assert_eq!(*store.damage().unwrap(), damaged.to_string());
    let scan = store.scan(Table::Access, b"a", b"b", Direction::Forward, 10);
    assert_eq!(scan.await, Err(damaged.clone()));
    let checked = batch(|batch| {
        batch.put(Table::Event, "checked", "");
        batch.require_version(Table::Access, "app/one", 9);
    });
    let counted = batch(|batch| {
        batch.put(Table::Event, "counted", "");
        batch.add(Table::Count, "c", [1]);
    });
    let good = put(Table::Event, "good", "1");
    let (checked, counted, good) = tokio::join!(
        store.commit(checked),
        store.commit(counted),
        store.commit(good)
    );
    let refused = Err(CommitError::Unavailable {
        reason: damaged.to_string(),
    });
    assert_eq!(checked, refused);
    assert!(matches!(counted, Err(CommitError::Unavailable { .. })));
    assert_eq!(good, Ok(()));
    assert!(store.stats().available);
    assert_eq!(text(&store, Table::Event, "checked").await, None);
    assert_eq!(text(&store, Table::Event, "counted").await, None);
    let other = store.get(Table::Access, b"app/other").await.unwrap();
    assert_eq!(other, Some(7_u64.to_be_bytes().to_vec()));
}

#[tokio::test]
async fn a_damaged_row_that_a_check_of_a_commit_reads_is_known_afterwards() {
    let home = Home::new();
    let store = home.open();
    fill(&store, 0, 30).await;
    let database = rusqlite::Connection::open(home.database()).unwrap();
    let damage = "UPDATE history SET value = substr(value, 2) WHERE key = x'00000007'";
    assert_eq!(database.execute(damage, []), Ok(1));
    drop(database);
    assert!(!store.stats().damaged, "nobody has read it");
    let checked = batch(|batch| batch.require_version(Table::Event, 7_u32.to_be_bytes(), 9));
    let refused = store.commit(checked).await;
    assert!(matches!(refused, Err(CommitError::Unavailable { .. })));
    assert!(store.stats().damaged);
}

#[tokio::test]
async fn a_damaged_page_that_a_commit_writes_to_is_known_from_then_on() {
    let home = Home::new();
    let store = home.open();
    fill(&store, 0, 300).await;
    assert!(store.close().await);
    drop(store);
    let files = [home.database(), home.mark()];
    let whole = files.each_ref().map(|file| fs::read(file).unwrap());
    let put_back = || {
        for (file, bytes) in files.iter().zip(&whole) {
            fs::write(file, bytes).unwrap();
        }
        // A commit that failed may have left frames.
        fs::write(home.log(), "").unwrap();
    };
    let mut met = 0;
    for page in 0..whole[0].len() / 4096 {
        put_back();
        zero(&home.database(), page as u64 * 4096, 4096);
        let Ok(store) = Store::open(&home.settings()) else {
            continue;
        };
        assert!(!store.stats().damaged, "page {page}: nothing is recorded");
        let row = batch(|batch| batch.put(Table::Event, 150_u32.to_be_bytes(), [1; 700]));
        if store.commit(row).await.is_err() {
            assert!(store.stats().damaged, "page {page}");
            drop(store);
            put_back();
            assert!(home.open().stats().damaged, "page {page}");
            fs::remove_file(home.record_of_damage()).unwrap();
            met += 1;
        }
    }
    assert!(met > 0, "no damaged page was to be written");
}

#[tokio::test]
async fn a_store_whose_log_is_gone_is_refused_and_says_what_is_gone() {
    let home = Home::new();
    let store = home.open();
    fill(&store, 0, 60).await;
    let killed = home.killed();
    assert_eq!(stored(&killed.open()).await, 60, "nothing is missing");
    let killed = home.killed();
    fs::remove_file(killed.log()).unwrap();
    let database = fs::read(killed.database()).unwrap();
    let refused = killed.refusal().to_string();
    for said in ["is empty", "group 60 of 20", "--accept-loss", "Put back"] {
        assert!(refused.contains(said), "{said}: {refused}");
    }
    assert!(database == fs::read(killed.database()).unwrap());
    fs::copy(home.log(), killed.log()).unwrap();
    assert_eq!(stored(&killed.open()).await, 60, "it was put back");
}

#[tokio::test]
async fn a_log_that_is_damaged_before_its_end_is_refused_and_left_as_it_is() {
    let home = Home::new();
    let store = home.open();
    fill(&store, 0, 60).await;
    let length = fs::metadata(home.log()).unwrap().len();
    for part in [0, 1, 3, 7, 9] {
        let killed = home.killed();
        zero(&killed.log(), length * part / 10 / 4096 * 4096, 4096);
        let damaged = fs::read(killed.log()).unwrap();
        let refused = killed.refusal();
        assert!(
            matches!(refused, OpenError::DamagedLog { .. }),
            "{part}: {refused}"
        );
        assert!(damaged == fs::read(killed.log()).unwrap(), "{part}");
    }
}

#[tokio::test]
async fn a_torn_commit_that_was_not_acknowledged_is_no_reason_to_refuse() {
    let home = Home::new();
    let store = home.open();
    fill(&store, 0, 60).await;
    let before = home.killed();
    fill(&store, 60, 61).await;
    let whole = fs::read(home.log()).unwrap();
    let acknowledged = fs::metadata(before.log()).unwrap().len() as usize;
    for torn in [acknowledged + 100, whole.len() - 4096, whole.len() - 1] {
        let killed = before.killed();
        fs::write(killed.log(), &whole[..torn]).unwrap();
        assert_eq!(stored(&killed.open()).await, 60, "{torn}");
    }
}

#[tokio::test]
async fn an_older_copy_of_a_store_is_refused_until_its_loss_is_accepted() {
    let home = Home::new();
    let store = home.open();
    fill(&store, 0, 30).await;
    assert!(store.close().await);
    let older = fs::read(home.database()).unwrap();
    let store = home.open();
    fill(&store, 30, 50).await;
    assert!(store.close().await);
    let newest = fs::read(home.database()).unwrap();
    fs::write(home.database(), older).unwrap();
    for _ in 0..2 {
        let refused = home.refusal().to_string();
        for said in ["ends with commit group 30 of 20", "group 50 of 20"] {
            assert!(refused.contains(said), "{said}: {refused}");
        }
    }
    let store = Store::open_accepting_loss(&home.settings()).unwrap();
    assert_eq!(stored(&store).await, 30);
    let record = store.restored().await.unwrap().unwrap();
    assert_eq!((record.sequence, record.lost.unwrap().sequence), (30, 50));
    assert!(record.backup_at < record.lost.unwrap().at);
    fill(&store, 30, 35).await;
    assert!(store.close().await);
    drop(store);
    // The store that was there before has more commits, and lacks those after the accepted loss.
    let accepted = fs::read(home.database()).unwrap();
    fs::write(home.database(), newest).unwrap();
    let refused = home.refusal();
    assert!(
        matches!(refused, OpenError::ForeignMark { .. }),
        "{refused}"
    );
    fs::write(home.database(), accepted).unwrap();
    let store = home.open();
    assert_eq!(stored(&store).await, 35);
    assert_eq!(store.restored().await.unwrap(), Some(record));
}

#[tokio::test]
async fn a_store_that_is_made_because_there_was_none_is_named_in_the_log() {
    for backend in [Backend::Sqlite, Backend::Sled] {
        let home = Home::new();
        let settings = StoreSettings {
            backend,
            ..home.settings()
        };
        let path = settings.path.display();
        let said =
            format!("WARN switchyard_store::mark: made a new, empty store store.folder={path}");
        let mut made = None;
        let log = logged(|| made = Store::open(&settings).ok());
        assert!(log.contains(&said), "{log}");
        let store = made.unwrap();
        fill(&store, 0, 1).await;
        assert!(store.close().await);
        drop(store);
        let log = logged(|| drop(Store::open(&settings).unwrap()));
        assert_eq!(log, "", "it is there");
    }
}

#[tokio::test]
async fn a_store_is_held_when_the_process_ends_between_setting_the_log_aside_and_the_record() {
    let home = Home::new();
    let store = home.open();
    fill(&store, 0, 30).await;
    let killed = home.killed();
    MarkPlace::of(&killed.settings().path).spoil().unwrap();
    fs::remove_file(killed.log()).unwrap();
    let Ok(store) = Store::open(&killed.settings()) else {
        return; // the database had no commit without its log: refused, which is as good
    };
    assert!(store.restored().await.unwrap().is_some());
}

#[tokio::test]
async fn a_store_that_is_gone_or_is_another_one_is_refused() {
    for backend in [Backend::Sqlite, Backend::Sled] {
        let [home, other] = [Home::new(), Home::new()];
        let settings = |home: &Home| StoreSettings {
            backend,
            ..home.settings()
        };
        for home in [&home, &other] {
            let store = Store::open(&settings(home)).unwrap();
            fill(&store, 0, 5).await;
            assert!(store.close().await);
        }
        fs::remove_dir_all(home.settings().path).unwrap();
        for _ in 0..2 {
            let refused = Store::open(&settings(&home)).err();
            assert!(
                matches!(refused, Some(OpenError::Behind { reached: 5, .. })),
                "{refused:?}"
            );
        }
        fs::rename(other.settings().path, home.settings().path).unwrap();
        let refused = Store::open(&settings(&home)).err();
        assert!(
            matches!(refused, Some(OpenError::ForeignMark { .. })),
            "{refused:?}"
        );
        let store = Store::open_accepting_loss(&settings(&home)).unwrap();
        assert_eq!(stored(&store).await, 5);
        drop(store);
        Store::open(&settings(&home)).unwrap();
    }
}

#[tokio::test]
async fn a_mark_that_is_damaged_or_gone_is_made_anew_while_the_store_holds_rows() {
    let home = Home::new();
    let store = home.open();
    fill(&store, 0, 5).await;
    assert!(store.close().await);
    let whole = fs::read(home.mark()).unwrap();
    zero(&home.mark(), 512, 512);
    let store = home.open();
    assert_eq!(stored(&store).await, 5, "one line is enough");
    assert_eq!(store.restored().await.unwrap(), None);
    drop(store);
    fs::write(home.mark(), "").unwrap();
    let store = home.open();
    assert_eq!(stored(&store).await, 5);
    let first = store.restored().await.unwrap().unwrap();
    drop(store);
    assert_eq!(
        (first.sequence, first.lost),
        (5, None),
        "it may lack commits"
    );
    fs::remove_file(home.mark()).unwrap();
    let store = home.open();
    assert_eq!(stored(&store).await, 5);
    let second = store.restored().await.unwrap().unwrap();
    drop(store);
    assert_ne!(first.incarnation, second.incarnation, "held once more");
    assert_eq!(fs::read(home.mark()).unwrap().len(), whole.len());

    fs::write(home.mark(), "").unwrap();
    fs::remove_dir_all(home.settings().path).unwrap();
    let refused = home.refusal();
    assert!(
        matches!(refused, OpenError::EmptyWithDamagedMark { .. }),
        "{refused}"
    );
}

#[tokio::test]
async fn with_a_page_zeroed_the_store_is_refused_or_every_row_is_right_or_an_error() {
    let home = Home::new();
    let store = home.open();
    fill(&store, 0, 300).await;
    assert!(store.close().await);
    drop(store);
    let whole = fs::read(home.database()).unwrap();
    let (mut refused, mut errors) = (0, 0);
    for page in 0..whole.len() / 4096 {
        fs::write(home.database(), &whole).unwrap();
        zero(&home.database(), page as u64 * 4096, 4096);
        let Ok(store) = Store::open(&home.settings()) else {
            refused += 1;
            continue;
        };
        for n in 0..300_u32 {
            match store.get(Table::Event, &n.to_be_bytes()).await {
                Ok(row) => assert_eq!(row, Some(vec![n as u8; 700]), "page {page}, row {n}"),
                Err(StoreError::Damaged { table: "event", .. }) => errors += 1,
                Err(error) => panic!("page {page}, row {n}: {error}"),
            }
        }
    }
    assert!(
        refused > 0 && errors > 0,
        "{refused} refused, {errors} errors"
    );
}

#[tokio::test]
async fn a_missing_store_is_refused_before_anything_is_made() {
    let home = Home::new();
    let store = home.open();
    fill(&store, 0, 10).await;
    assert!(store.close().await);
    let path = home.settings().path;
    fs::remove_dir_all(&path).unwrap();
    let refused = home.refusal();
    assert!(matches!(refused, OpenError::Behind { .. }), "{refused}");
    assert!(!path.exists(), "a restore finds no store");
}
