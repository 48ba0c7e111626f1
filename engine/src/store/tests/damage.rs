//! What the store does about files that are damaged, gone or older than what was acknowledged.

use super::{batch, text};
use crate::store::*;

struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn settings(&self) -> StoreSettings {
        StoreSettings {
            backend: Backend::Sqlite,
            path: self.0.path().join("store"),
            cache_bytes: 8 * 1024 * 1024,
        }
    }

    fn open(&self) -> Store {
        Store::open(&self.settings()).unwrap_or_else(|error| panic!("{error}"))
    }

    fn database(&self) -> PathBuf {
        self.0.path().join("store/sqlite/switchyard.sqlite3")
    }
}

fn put(table: Table, key: &str, value: &str) -> Batch {
    batch(|batch| batch.put(table, key, value))
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
    let read = store.get(Table::Access, b"app/one").await;
    assert_eq!(read, Err(damaged.clone()));
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
