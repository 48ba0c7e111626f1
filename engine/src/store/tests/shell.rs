//! Read-only SQL over a store and a backup.

use std::fs;

use super::batch;
use super::damage::{Home, fill, zero};
use crate::store::*;

fn text(text: &str) -> Cell {
    Cell::Text(text.to_owned())
}

#[tokio::test]
async fn queries_see_json_without_version_and_checksum_beside_a_server_and_in_a_backup() {
    let home = Home::new();
    let store = home.open();
    let rows = batch(|batch| {
        batch.put_versioned(Table::Transaction, "py_1", 1, r#"{"id":"py_1"}"#);
        batch.put(Table::Access, "app/1", r#"{"name":"Shop"}"#);
        batch.put(Table::Index, "i", [0, 1, 2]);
    });
    store.commit(rows).await.unwrap();
    let settings = home.settings();
    let folder = home.0.path().join("backup");
    let source = BackupSource {
        store: &settings,
        gateways: &home.0.path().join("gateways"),
        settings: None,
        views: Views::Added,
    };
    backup(source, &folder, 0, &mut |_| {}).unwrap();
    let before = fs::read(home.database()).unwrap();
    for shell in [Shell::open(&settings), Shell::open_backup(&folder)] {
        let shell = shell.unwrap();
        for (sql, wanted) in [
            ("SELECT value->>'id' FROM transaction_rows", text("py_1")),
            (
                "SELECT value->>'name' FROM access_rows WHERE key = CAST('app/1' AS BLOB)",
                text("Shop"),
            ),
            ("SELECT value FROM index_rows", Cell::Blob(vec![0, 1, 2])),
            ("SELECT count(*) FROM event_rows", text("0")),
            ("SELECT max(value) FROM event_rows", Cell::Null),
        ] {
            let answer = shell.query(sql).unwrap();
            assert_eq!(answer.rows, [vec![wanted]], "{sql}");
            assert!(!answer.is_cut);
        }
        for sql in [
            "DELETE FROM history",
            "DELETE FROM transaction_rows",
            "CREATE TABLE t (a)",
            "PRAGMA user_version = 3",
            "PRAGMA journal_mode = delete",
            "SELECT 1; DELETE FROM history",
            "BEGIN",
            "SAVEPOINT one",
            "nonsense",
        ] {
            assert!(shell.query(sql).is_err(), "{sql}");
        }
        let many =
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n";
        let answer = shell.query(many).unwrap();
        assert!(answer.is_cut && answer.rows.len() == MAX_QUERY_ROWS);
    }
    assert!(before == fs::read(home.database()).unwrap());
    assert!(store.close().await);
}

#[tokio::test]
async fn a_shell_needs_a_store_with_sql() {
    let home = Home::new();
    let missing = Shell::open(&home.settings()).err();
    assert!(matches!(missing, Some(MaintenanceError::NoStore { .. })));
    let settings = StoreSettings {
        backend: Backend::Sled,
        ..home.settings()
    };
    assert!(Store::open(&settings).unwrap().close().await);
    let refused = Shell::open(&settings).err().unwrap().to_string();
    assert!(refused.contains("sled has no SQL"), "{refused}");
}

#[tokio::test]
async fn a_stopped_store_that_lost_commits_or_is_damaged_answers_no_query() {
    for is_cut in [false, true] {
        let home = Home::new();
        let store = home.open();
        fill(&store, 0, 40).await;
        let killed = home.killed();
        Shell::open(&killed.settings()).unwrap();
        match is_cut {
            true => fs::write(killed.log(), b"").unwrap(),
            false => zero(&killed.log(), 32 + 4 * (24 + 4096), 24),
        }
        let refused = Shell::open(&killed.settings()).err();
        assert!(refused.is_some(), "cut: {is_cut}");
        assert!(store.close().await);
    }
}
