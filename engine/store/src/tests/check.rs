//! The check of a whole store.

use std::fs;
use std::time::Duration;

use super::damage::{Home, fill, stored, zero};
use super::{batch, text};
use crate::*;
use switchyard_system::ids::Ids;

fn checked(settings: &StoreSettings) -> CheckReport {
    check(settings, &mut |_| {}).unwrap_or_else(|error| panic!("{error}"))
}

/// The damage on record, and whether the record is removed.
fn recorded(report: &CheckReport) -> Option<(&str, bool)> {
    let recorded = report.recorded.as_ref();
    recorded.map(|recorded| {
        (
            recorded.what.as_str(),
            recorded.record == RecordState::Removed,
        )
    })
}

fn rows_of(report: &CheckReport, table: Table) -> u64 {
    report.rows[table.position()].1
}

/// A store whose clusters have several levels of pages.
async fn large(home: &Home) -> Vec<(Table, KeyValues)> {
    let store = home.open();
    for n in 0..400_u32 {
        let rows = batch(|batch| {
            let key = format!("{:04}", n * 7 % 400);
            batch.put(Table::Event, &key, vec![n as u8; 300]);
            batch.put(Table::Transaction, &key, vec![n as u8; 100]);
            batch.put(Table::Index, format!("an/index/{key}"), "");
            batch.add(Table::Count, format!("c{}", n % 30), [1]);
        });
        store.commit(rows).await.unwrap();
    }
    let mut all = Vec::new();
    for table in Table::ALL {
        let rows = store.scan(table, b"", &[u8::MAX], Direction::Forward, usize::MAX);
        all.push((table, rows.await.unwrap()));
    }
    assert!(store.close().await);
    all
}

/// Answers of a damaged store to reads of all rows.
#[derive(PartialEq, Eq)]
enum Reads {
    AsBefore,
    /// The store is not opened, or reads are errors.
    Refused,
    /// A read says that there is no such row, or answers another one.
    Wrong,
}

async fn reads(settings: &StoreSettings, rows: &[(Table, KeyValues)]) -> Reads {
    let Ok(store) = Store::open(settings) else {
        return Reads::Refused;
    };
    let mut reads = Reads::AsBefore;
    for (table, rows) in rows {
        let scan = store.scan(*table, b"", &[u8::MAX], Direction::Forward, usize::MAX);
        match scan.await {
            Ok(found) if found != *rows => return Reads::Wrong,
            Ok(_) => {}
            Err(_) => reads = Reads::Refused,
        }
        for (key, value) in rows {
            match store.get(*table, key).await {
                Ok(row) if row.as_ref() != Some(value) => return Reads::Wrong,
                Ok(_) => {}
                Err(_) => reads = Reads::Refused,
            }
        }
    }
    reads
}

#[tokio::test]
async fn each_flipped_bit_of_a_database_is_found_and_hides_no_row() {
    let home = Home::new();
    let rows = large(&home).await;
    let whole = fs::read(home.database()).unwrap();
    assert!(checked(&home.settings()).is_sound());
    let is_interior = |page: &&[u8]| page[0] == 0x02;
    let interior: Vec<usize> = whole
        .chunks(4096)
        .enumerate()
        .filter(|(_, page)| is_interior(page))
        .map(|(number, _)| number)
        .collect();
    assert!(interior.len() >= 3, "{interior:?}");
    let chance = Ids::seeded(20);
    let number = |below: usize| {
        let mut bytes = [0; 8];
        chance.fill(&mut bytes);
        (u64::from_le_bytes(bytes) % below as u64) as usize
    };
    let mut refused = 0;
    for trial in 0..TRIALS {
        let bit = match trial % 2 {
            0 => number(whole.len() * 8),
            _ => interior[number(interior.len())] * 4096 * 8 + number(4096 * 8),
        };
        let mut damaged = whole.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        fs::write(home.database(), &damaged).unwrap();
        let report = checked(&home.settings());
        let reads = reads(&home.settings(), &rows).await;
        assert!(!report.is_sound(), "bit {bit} is not found: {report:?}");
        assert!(reads != Reads::Wrong, "bit {bit} hides a row");
        refused += usize::from(reads == Reads::Refused);
    }
    assert!(refused > 0, "no damage was read");
}

const TRIALS: usize = 300;

#[tokio::test]
async fn a_check_names_tables_rows_and_damaged_keys_of_a_stopped_and_of_a_running_store() {
    for backend in [Backend::Sqlite, Backend::Sled] {
        let home = Home::new();
        let settings = StoreSettings {
            backend,
            ..home.settings()
        };
        let missing = check(&settings, &mut |_| {});
        assert!(matches!(missing, Err(MaintenanceError::NoStore { .. })));
        let store = Store::open(&settings).unwrap();
        fill(&store, 0, 30).await;
        let running = check(&settings, &mut |_| {});
        match backend {
            Backend::Sled => {
                assert!(matches!(running, Err(MaintenanceError::Exclusive { .. })));
            }
            _ => {
                let report = running.unwrap();
                assert!(report.is_running && report.is_sound(), "{report:?}");
                assert_eq!(rows_of(&report, Table::Event), 30);
            }
        }
        assert!(store.close().await);
        let report = checked(&settings);
        assert!(!report.is_running && report.is_sound(), "{report:?}");
        assert_eq!(rows_of(&report, Table::Event), 30);
        assert_eq!(rows_of(&report, Table::Count), 1);
        assert_eq!(report.end.unwrap().sequence, 30);
    }
}

#[tokio::test]
async fn damage_is_known_after_a_restart_until_the_stopped_store_is_found_sound() {
    for backend in [Backend::Sqlite, Backend::Sled] {
        let home = Home::new();
        let settings = StoreSettings {
            backend,
            ..home.settings()
        };
        let store = Store::open(&settings).unwrap();
        fill(&store, 0, 3).await;
        assert_eq!(store.damage(), None);
        store.report_damage("the first one");
        store.report_damage("the second one");
        assert!(store.close().await);
        for _ in 0..2 {
            let store = Store::open(&settings).unwrap();
            assert_eq!(store.damage().unwrap().as_str(), "the first one");
            assert!(store.stats().damaged);
            if backend == Backend::Sqlite {
                let running = checked(&settings);
                assert!(running.is_running && running.is_sound());
                assert_eq!(recorded(&running), Some(("the first one", false)));
            }
            assert_eq!(stored(&store).await, 3);
            assert!(store.close().await);
        }
        let stopped = checked(&settings);
        assert_eq!(recorded(&stopped), Some(("the first one", true)));
        assert_eq!(checked(&settings).recorded, None);
        assert_eq!(Store::open(&settings).unwrap().damage(), None);
    }
}

#[tokio::test]
async fn the_record_of_damage_outlives_a_check_that_finds_damage_and_not_a_restore() {
    let home = Home::new();
    let store = home.open();
    fill(&store, 0, 30).await;
    store.report_damage("a row is damaged");
    assert!(store.close().await);
    let copy = home.0.path().join("copy");
    let source = BackupSource {
        store: &home.settings(),
        gateways: &home.0.path().join("none"),
        settings: None,
        views: Views::AsStored,
    };
    backup(source, &copy, 0, &mut |_| {}).unwrap();
    let pages = fs::metadata(home.database()).unwrap().len() / 4096;
    zero(&home.database(), (pages - 1) * 4096, 4096);
    assert!(!checked(&home.settings()).is_sound());
    assert!(home.record_of_damage().exists());
    fs::rename(home.settings().path, home.0.path().join("store.old")).unwrap();
    super::copy::restore_into(&home, &copy).unwrap();
    let store = home.open();
    assert_eq!(store.damage(), None, "it is another store");
    assert_eq!(checked(&home.settings()).recorded, None);
    store.report_damage("new damage");
    assert!(store.close().await);
    assert_eq!(home.open().damage().unwrap().as_str(), "new damage");
    fs::write(home.record_of_damage(), [0xff, b'\n']).unwrap();
    assert!(home.open().damage().unwrap().contains("store.damage"));
}

/// Each way to change or replace the record leaves the damage known, and the check ends it.
#[tokio::test]
async fn a_record_of_damage_that_was_changed_counts_as_damage() {
    type Change = fn(&std::path::Path);
    let changes: [(&str, Change, &str); 7] = [
        ("a bit of the identity", |path| flip(path, 20), "changed"),
        ("a bit of the sentence", |path| flip(path, 30), "changed"),
        ("a bit of the checksum", |path| flip(path, 60), "changed"),
        ("emptied", |path| fs::write(path, "").unwrap(), "changed"),
        (
            "zeroed",
            |path| fs::write(path, [0; 80]).unwrap(),
            "changed",
        ),
        ("a socket", replaced_by_socket, "not a file"),
        ("a link into nowhere", replaced_by_link, "not a file"),
    ];
    for (name, change, reason) in changes {
        let home = Home::new();
        let store = home.open();
        fill(&store, 0, 3).await;
        store.report_damage("a row is damaged");
        assert!(store.close().await);
        change(&home.record_of_damage());
        let store = home.open();
        let damage = store
            .damage()
            .unwrap_or_else(|| panic!("{name}: forgotten"));
        assert!(
            damage.contains("store.damage") && damage.contains(reason),
            "{name}: {damage}"
        );
        assert!(store.close().await);
        let known = checked(&home.settings()).recorded.unwrap();
        assert_eq!(
            (known.what, known.record),
            (damage.to_string(), RecordState::Removed),
            "{name}"
        );
        assert_eq!(home.open().damage(), None, "{name}");
    }
}

#[tokio::test]
async fn a_new_store_does_not_take_over_the_record_of_the_one_before() {
    let home = Home::new();
    let store = home.open();
    fill(&store, 0, 3).await;
    store.report_damage("a row is damaged");
    assert!(store.close().await);
    fs::remove_dir_all(home.settings().path).unwrap();
    fs::remove_file(home.mark()).unwrap();
    let store = home.open();
    assert_eq!(store.damage(), None);
    assert!(store.close().await);
    assert_eq!(home.open().damage(), None);
}

#[tokio::test]
async fn a_record_of_damage_that_could_not_be_written_is_written_later() {
    for then in ["commits", "nothing", "close"] {
        let home = Home::new();
        let store = home.open();
        fill(&store, 0, 3).await;
        let draft = home.record_of_damage().with_added_extension("new");
        fs::create_dir(&draft).unwrap();
        store.report_damage("a row is damaged");
        assert!(!home.record_of_damage().exists());
        fs::remove_dir(&draft).unwrap();
        if then == "close" {
            assert!(store.close().await);
        }
        // The writer tries again once a second.
        for n in 3..103 {
            if home.record_of_damage().exists() {
                break;
            }
            if then == "commits" {
                fill(&store, n, n + 1).await;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        assert!(home.record_of_damage().exists(), "{then}");
    }
}

#[tokio::test]
async fn a_folder_in_place_of_the_record_of_damage_is_to_be_moved_away() {
    let home = Home::new();
    let store = home.open();
    fill(&store, 0, 3).await;
    assert!(store.close().await);
    drop(store);
    // Then the store gets a new identity.
    fs::remove_file(home.mark()).unwrap();
    let draft = home.record_of_damage().with_added_extension("new");
    for folder in [home.record_of_damage(), draft.clone()] {
        if folder == draft {
            fs::remove_file(&draft).unwrap();
            fs::write(home.record_of_damage(), "").unwrap();
        }
        fs::create_dir(&folder).unwrap();
        let refused = home.refusal();
        assert!(refused.is_lasting());
        let said = refused.to_string();
        let advice = format!("{} is a folder", folder.display());
        assert!(
            said.starts_with(&advice) && said.ends_with("move it away"),
            "{said}"
        );
        fs::remove_dir(&folder).unwrap();
    }
    assert!(home.open().damage().is_some(), "the record was emptied");
}

/// A new identity that the rows have and the record has not would be that of another store.
#[tokio::test]
async fn a_store_gets_no_new_identity_that_its_record_of_damage_cannot_name() {
    let home = Home::new();
    let store = home.open();
    fill(&store, 0, 3).await;
    store.report_damage("a row is damaged");
    let before = store.identity().unwrap();
    assert!(store.close().await);
    fs::remove_file(home.mark()).unwrap();
    let draft = home.record_of_damage().with_added_extension("new");
    fs::create_dir(&draft).unwrap();
    let refused = home.refusal().to_string();
    assert!(refused.contains("store.damage"), "{refused}");
    fs::remove_dir(&draft).unwrap();
    // A crash before and one after the rows have the new identity.
    let path = home.settings().path;
    let (to, other) = (ulid::Ulid::from_parts(1, 1), ulid::Ulid::from_parts(1, 2));
    crate::damage::carry_over(&path, Some(before), to).unwrap();
    for known in [before, to] {
        assert!(crate::damage::recorded(&path, Some(known)).is_some());
    }
    assert!(crate::damage::recorded(&path, Some(other)).is_none());
    let store = home.open();
    assert_eq!(store.damage().unwrap().as_str(), "a row is damaged");
    // An older copy of the store has the older identity.
    assert!(crate::damage::recorded(&path, Some(before)).is_some());
}

/// sled reads on behind a damaged change in its log, and shows the rows before it.
#[tokio::test]
async fn a_change_that_sled_leaves_out_when_it_opens_is_noticed() {
    let home = Home::new();
    let settings = large_in_sled(&home).await;
    let whole = fs::read(settings.path.join("sled/db")).unwrap();
    let mut refused = 0;
    for place in places_of_row(&whole) {
        let trial = Home::new();
        copy_all(home.0.path(), trial.0.path());
        let settings = StoreSettings {
            path: trial.settings().path,
            ..settings.clone()
        };
        flip(&settings.path.join("sled/db"), place + 200);
        // Earlier versions of a page stay in the file unread.
        let Ok(store) = Store::open(&settings) else {
            assert!(!checked(&settings).is_sound());
            refused += 1;
            continue;
        };
        for table in [Table::Event, Table::Transaction] {
            let rows = store.scan(table, &[0], &[u8::MAX], Direction::Forward, usize::MAX);
            assert_eq!(rows.await.unwrap().len(), LARGE as usize);
        }
        assert!(store.close().await);
    }
    assert!(refused > 0, "no damage was met");
}

/// A stopped store of rows that fill a page each.
async fn large_in_sled(home: &Home) -> StoreSettings {
    let settings = StoreSettings {
        backend: Backend::Sled,
        cache_bytes: 1024 * 1024,
        ..home.settings()
    };
    let store = Store::open(&settings).unwrap();
    for n in 0..LARGE {
        let rows = batch(|batch| {
            for table in [Table::Event, Table::Transaction] {
                batch.put(table, n.to_be_bytes(), vec![n as u8; 4_000]);
            }
        });
        store.commit(rows).await.unwrap();
    }
    assert!(store.close().await);
    settings
}

/// Rows of each table.
const LARGE: u32 = 200;

/// Places of all copies of the hundredth row in the file.
fn places_of_row(file: &[u8]) -> Vec<usize> {
    let copies = file.windows(4_000).enumerate();
    let copies = copies.filter(|(_, part)| *part == [100_u8; 4_000]);
    copies.map(|(place, _)| place).collect()
}

fn copy_all(from: &std::path::Path, to: &std::path::Path) {
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            fs::create_dir(&to).unwrap();
            copy_all(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), &to).unwrap();
        }
    }
}

#[tokio::test]
async fn a_record_of_damage_that_cannot_be_removed_is_named_by_the_check() {
    let home = Home::new();
    let store = home.open();
    fill(&store, 0, 3).await;
    assert!(store.close().await);
    fs::create_dir(home.record_of_damage()).unwrap();
    let store = home.open();
    assert!(store.damage().unwrap().contains("not a file"));
    assert!(store.close().await);
    let known = checked(&home.settings()).recorded.unwrap();
    let RecordState::NotRemoved(why) = known.record else {
        panic!("{:?}", known.record);
    };
    assert!(why.contains("store.damage"), "{why}");
}

fn replaced_by_socket(path: &std::path::Path) {
    fs::remove_file(path).unwrap();
    drop(std::os::unix::net::UnixListener::bind(path).unwrap());
}

fn replaced_by_link(path: &std::path::Path) {
    fs::remove_file(path).unwrap();
    std::os::unix::fs::symlink("nowhere", path).unwrap();
}

fn flip(path: &std::path::Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 1;
    fs::write(path, bytes).unwrap();
}

#[tokio::test]
async fn damage_stays_known_when_the_store_gets_a_new_identity() {
    let home = Home::new();
    let store = home.open();
    fill(&store, 0, 3).await;
    store.report_damage("a row is damaged");
    let before = store.identity();
    assert!(store.close().await);
    fs::remove_file(home.mark()).unwrap();
    for _ in 0..2 {
        let store = home.open();
        assert_ne!(store.identity(), before);
        assert_eq!(store.damage().unwrap().as_str(), "a row is damaged");
        assert!(store.close().await);
    }
    assert_eq!(
        recorded(&checked(&home.settings())),
        Some(("a row is damaged", true))
    );
}

#[tokio::test]
async fn a_damaged_row_is_named_and_a_check_changes_nothing() {
    let home = Home::new();
    let store = home.open();
    fill(&store, 0, 30).await;
    let database = rusqlite::Connection::open(home.database()).unwrap();
    for change in [
        "UPDATE history SET value = substr(value, 2) WHERE key = x'00000007'",
        "UPDATE history SET kind = 4 WHERE key = x'00000008'",
        "UPDATE history SET key = 'text' WHERE key = x'00000009'",
    ] {
        assert_eq!(database.execute(change, []), Ok(1));
    }
    drop(database);
    let report = checked(&home.settings());
    let named = |row: &DamagedRow| (row.table.clone(), row.key.clone());
    let mut damaged: Vec<_> = report.damaged.iter().map(named).collect();
    damaged.sort();
    assert_eq!(
        damaged,
        [
            ("event".to_owned(), vec![0, 0, 0, 7]),
            ("event".to_owned(), b"text".to_vec()),
            ("history".to_owned(), vec![0, 0, 0, 8]),
        ]
    );
    assert_eq!(report.damaged_rows, 3);
    assert_eq!(text(&store, Table::Event, "none").await, None, "it serves");
}

#[tokio::test]
async fn a_store_behind_its_mark_or_with_a_damaged_log_fails_the_check() {
    let home = Home::new();
    let store = home.open();
    fill(&store, 0, 60).await;
    let killed = home.killed();
    assert!(checked(&killed.settings()).is_sound());
    let log = fs::read(killed.log()).unwrap();
    zero(&killed.log(), log.len() as u64 / 2, 4096);
    let report = checked(&killed.settings());
    assert!(
        report.faults[0].contains("the log is damaged"),
        "{report:?}"
    );
    fs::write(killed.log(), "").unwrap();
    let report = checked(&killed.settings());
    assert!(report.faults[0].contains("group 60"), "{report:?}");
    fs::write(killed.log(), log).unwrap();
    assert!(checked(&killed.settings()).is_sound());
    assert_eq!(stored(&killed.open()).await, 60);
}

#[tokio::test]
async fn an_empty_database_file_is_named_and_nothing_removes_its_log() {
    let home = Home::new();
    let store = home.open();
    fill(&store, 0, 60).await;
    let killed = home.killed();
    let whole = fs::read(killed.database()).unwrap();
    let log = fs::read(killed.log()).unwrap();
    fs::write(killed.database(), "").unwrap();
    let said = "switchyard.sqlite3 is empty";
    let report = checked(&killed.settings());
    let is_named = |fault: &String| fault.contains(said);
    assert!(report.faults.iter().any(is_named), "{report:?}");
    let shell = Shell::open(&killed.settings()).err().unwrap().to_string();
    assert!(shell.contains(said), "{shell}");
    let mark = fs::read(killed.mark()).unwrap();
    for accepts_loss in [false, true] {
        let opened = Store::open_beside_copy(&killed.settings(), None, accepts_loss);
        let refused = opened.err().unwrap().to_string();
        assert!(refused.contains(said), "{refused}");
    }
    assert!(log == fs::read(killed.log()).unwrap(), "the log is there");
    assert!(mark == fs::read(killed.mark()).unwrap());
    fs::write(killed.database(), whole).unwrap();
    assert_eq!(stored(&killed.open()).await, 60);

    fs::write(killed.database(), "").unwrap();
    fs::write(killed.log(), "").unwrap();
    let refused = killed.refusal().to_string();
    assert!(refused.contains(said), "{refused}");
}
