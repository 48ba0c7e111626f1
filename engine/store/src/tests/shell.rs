//! Read-only SQL over a store and a backup.

use std::fs;

use super::batch;
use super::damage::{Home, fill, zero};
use crate::place::StoreDirectory;
use crate::*;

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

/// Rows that each view for reports shows some of.
fn reported_rows() -> Batch {
    let transaction = |id: &str, kind: &str| {
        serde_json::json!({
            "id": id, "app": "app_1", "environment": "live", "state": { "state": "failed" },
            "amount": { "minor": 2500, "currency": "USD" }, "description": "a teapot",
            "metadata": { "order": "7" }, "details": { "kind": kind }, "created_at": 1_700_000_000,
            "attempts": [{ "id": "att_1", "candidate": { "gateway": "demo" }, "started_at": 5 }],
            "cases": [{ "id": "case_1", "reason": "paid_twice", "opened_at": 9 }],
        })
    };
    batch(|batch| {
        for (first, id, kind) in [(b'p', "py_1", "payment"), (b'o', "po_1", "payout")] {
            let key = [&[first][..], &[7; 16]].concat();
            let row = transaction(id, kind).to_string();
            batch.put_versioned(Table::Transaction, &key, 1, row);
            let event = r#"{"version":1,"event":{"type":"initiated"},"at":1700000000}"#;
            batch.put(Table::Event, [&key[..], &[1]].concat(), event);
        }
        let customer = r#"{"id":"cus_1","email":"ada@example.com","created_at":3}"#;
        batch.put(Table::Customer, [&[8; 16][..], b"lada"].concat(), customer);
        let delivery = r#"{"id":"dlv_1","app":"app_1","status":"delivered","attempts":2}"#;
        batch.put(Table::Delivery, "d", delivery);
    })
}

/// Rows that a program with SQLite alone reads in a backup.
fn plainly_read(backup: &std::path::Path, sql: &str) -> Vec<Vec<Cell>> {
    use rusqlite::types::ValueRef;
    let file = backup.join("store/sqlite/switchyard.sqlite3");
    let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY | rusqlite::OpenFlags::SQLITE_OPEN_URI;
    let name = format!("file:{}?immutable=1", file.display());
    let plain = rusqlite::Connection::open_with_flags(name, flags).unwrap();
    let mut statement = plain
        .prepare(sql)
        .unwrap_or_else(|error| panic!("{sql}: {error}"));
    let columns = statement.column_count();
    let rows = statement.query_map([], |row| {
        let cells = (0..columns).map(|column| {
            Ok(match row.get_ref(column)? {
                ValueRef::Null => Cell::Null,
                ValueRef::Integer(number) => text(&number.to_string()),
                ValueRef::Real(number) => text(&number.to_string()),
                ValueRef::Text(bytes) => text(std::str::from_utf8(bytes).unwrap()),
                ValueRef::Blob(bytes) => Cell::Blob(bytes.to_vec()),
            })
        });
        cells.collect()
    });
    rows.unwrap().collect::<Result<_, _>>().unwrap()
}

#[tokio::test]
async fn the_views_in_a_backup_show_any_sqlite_program_what_the_shell_shows() {
    let home = Home::new();
    let store = home.open();
    store.commit(reported_rows()).await.unwrap();
    let settings = home.settings();
    let folder = home.0.path().join("backup");
    let source = BackupSource {
        store: &settings,
        gateways: &home.0.path().join("gateways"),
        settings: None,
        views: Views::Added,
    };
    backup(source, &folder, 0, &mut |_| {}).unwrap();
    let shell = Shell::open(&settings).unwrap();
    let mut views = 0;
    for view in Shell::views() {
        let sql = format!("SELECT * FROM \"{view}\"");
        let shown = shell.query(&sql).unwrap().rows;
        assert_eq!(plainly_read(&folder, &sql), shown, "{view}");
        let is_report = view.starts_with("reporting_");
        assert!(!is_report || !shown.is_empty(), "{view} shows nothing");
        views += 1;
    }
    assert_eq!(views, Table::ALL.len() + 8);
    let stored = "SELECT count(*) FROM sqlite_schema WHERE type = 'view'";
    let stored = plainly_read(&folder, stored);
    assert_eq!(stored, [[text(&views.to_string())]], "in the backup itself");
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

/// Without a mark, only the log shows the loss.
#[tokio::test]
async fn a_backup_and_a_shell_verify_the_log_of_a_stopped_store_beside_a_check() {
    let home = Home::new();
    let store = home.open();
    fill(&store, 0, 40).await;
    let killed = home.killed();
    assert!(store.close().await);
    fs::remove_file(killed.mark()).unwrap();
    zero(&killed.log(), 32 + 40 * (24 + 4096), 24);
    let settings = killed.settings();
    let checked = StoreDirectory::of_existing(&settings.path, settings.backend).unwrap();
    assert!(checked.is_some());
    let shell = Shell::open(&settings).err().unwrap();
    assert!(shell.to_string().contains("the log is damaged"), "{shell}");
    let source = BackupSource {
        store: &settings,
        gateways: &killed.0.path().join("gateways"),
        settings: None,
        views: Views::Added,
    };
    let made = backup(source, &killed.0.path().join("backup"), 0, &mut |_| {});
    let refused = made.err().unwrap().to_string();
    assert!(refused.contains("the log is damaged"), "{refused}");
    let found = check(&settings, &mut |_| {}).unwrap();
    assert!(!found.is_running && !found.is_sound(), "{found:?}");
    let refused = killed.refusal();
    assert!(matches!(refused, OpenError::Locked { .. }), "{refused}");
}
