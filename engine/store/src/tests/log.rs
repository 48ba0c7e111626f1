//! The log as the files tell: torn tails are accepted; damage and foreign or older files are not.

use std::fs;

use super::batch;
use super::damage::{Home, fill, stored, zero};
use crate::*;
use switchyard_system::ids::Ids;

/// Bytes of a frame with its page, and of the header of the log.
const FRAME: usize = 24 + 4096;
const HEADER: usize = 32;

fn refusal_text(refused: &OpenError) -> String {
    let said = refused.to_string();
    assert!(matches!(refused, OpenError::DamagedLog { .. }), "{said}");
    assert!(said.contains("--accept-loss"), "{said}");
    said
}

/// Ends of the commits in a log, as numbers of frames.
fn commits(log: &[u8]) -> Vec<usize> {
    let frames = log[HEADER..].chunks_exact(FRAME).enumerate();
    let ends = frames.filter(|(_, frame)| frame[4..8] != [0; 4]);
    ends.map(|(number, _)| number + 1).collect()
}

#[tokio::test]
async fn each_flipped_bit_of_a_log_is_found_while_a_commit_follows_it() {
    let home = Home::new();
    let store = home.open();
    fill(&store, 0, 40).await;
    let killed = home.killed();
    let whole = fs::read(killed.log()).unwrap();
    let ends = commits(&whole);
    // The last commit may have been torn: damage there looks the same.
    let safe = HEADER + ends[ends.len() - 3] * FRAME;
    let chance = Ids::seeded(20);
    let mut refused = 0;
    for trial in 0..TRIALS {
        let mut bytes = [0; 8];
        chance.fill(&mut bytes);
        let bit = match trial % 3 {
            0 => u64::from_le_bytes(bytes) as usize % (HEADER * 8),
            _ => u64::from_le_bytes(bytes) as usize % (safe * 8),
        };
        let mut damaged = whole.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        fs::write(killed.log(), &damaged).unwrap();
        // The mark tells nothing: the log alone shows it.
        fs::write(killed.mark(), "").unwrap();
        match Store::open(&killed.settings()) {
            Ok(store) => assert_eq!(stored(&store).await, 40, "bit {bit}"),
            Err(error) => {
                assert!(
                    refusal_text(&error).contains("the log is damaged"),
                    "bit {bit}: {error}"
                );
                refused += 1;
            }
        }
        assert!(damaged == fs::read(killed.log()).unwrap(), "bit {bit}");
    }
    assert!(refused > TRIALS * 9 / 10, "{refused} refused");
}

const TRIALS: usize = 120;

#[tokio::test]
async fn a_tail_that_is_torn_in_any_order_is_accepted() {
    let home = Home::new();
    let store = home.open();
    fill(&store, 0, 30).await;
    let before = home.killed();
    let acknowledged = fs::read(before.log()).unwrap();
    fill(&store, 30, 31).await;
    let whole = fs::read(home.log()).unwrap();
    let torn = (whole.len() - acknowledged.len()) / FRAME;
    assert!(torn >= 2, "{torn} frames");
    for lost in 0..torn {
        // All frames but one reached the disk.
        let mut log = whole.clone();
        let at = acknowledged.len() + lost * FRAME;
        log[at..at + FRAME].fill(0);
        fs::write(before.log(), &log).unwrap();
        let killed = before.killed();
        let store = killed.open();
        assert_eq!(stored(&store).await, 30, "frame {lost} of {torn}");
        // The rest of the torn commit stays behind shorter commits that overwrite it.
        for n in 30..40 {
            fill(&store, n, n + 1).await;
            assert_eq!(stored(&killed.killed().open()).await, n as usize + 1);
        }
    }
}

#[tokio::test]
async fn a_damaged_log_tells_what_is_gone_and_its_whole_part_is_opened_on_demand() {
    let home = Home::new();
    let store = home.open();
    fill(&store, 0, 40).await;
    let killed = home.killed();
    let whole = fs::read(killed.log()).unwrap();
    let mut damaged = whole.clone();
    damaged[HEADER + commits(&whole)[19] * FRAME + 100] ^= 1;
    fs::write(killed.log(), &damaged).unwrap();
    let refused = refusal_text(&killed.refusal());
    for part in [
        "ends with commit group 20 of 20",
        "holds commit group 40 of 20",
    ] {
        assert!(refused.contains(part), "{part}: {refused}");
    }
    let store = Store::open_accepting_loss(&killed.settings()).unwrap();
    assert_eq!(stored(&store).await, 20);
    fill(&store, 20, 23).await;
    drop(store);
    let kept = killed.log().with_added_extension("damaged");
    assert!(
        fs::read(kept).unwrap() == damaged,
        "the log as it was is kept"
    );
    assert_eq!(stored(&killed.open()).await, 23);
}

#[tokio::test]
async fn a_log_and_a_database_of_different_times_or_stores_are_refused() {
    let [home, other] = [Home::new(), Home::new()];
    let mut files = Vec::new();
    for (home, rows) in [(&home, [20, 40, 60]), (&other, [30, 50, 70])] {
        let mut from = 0;
        for to in rows {
            // Each time a new log begins.
            let store = home.open();
            fill(&store, from, to).await;
            let killed = home.killed();
            files.push([
                fs::read(killed.database()).unwrap(),
                fs::read(killed.log()).unwrap(),
            ]);
            assert!(store.close().await);
            from = to;
        }
    }
    for (database, log, fault) in [
        (
            1,
            2,
            "the database is older than its log: it ends with commit group 20 of",
        ),
        (
            0,
            2,
            "the database is older than its log: it ends with no commit group",
        ),
        (
            2,
            0,
            "the log is older than the database: it ends with commit group 20 of",
        ),
        (2, 4, "the log belongs to another store"),
        (5, 2, "the log belongs to another store"),
    ] {
        for mark in ["", "sound"] {
            let killed = home.killed();
            if mark.is_empty() {
                fs::write(killed.mark(), mark).unwrap();
            }
            fs::write(killed.database(), &files[database][0]).unwrap();
            fs::write(killed.log(), &files[log][1]).unwrap();
            let refused = refusal_text(&killed.refusal());
            assert!(refused.contains(fault), "{database} {log}: {refused}");
            let set_aside = Store::open_accepting_loss(&killed.settings()).unwrap();
            stored(&set_aside).await;
        }
    }
}

/// A store whose counts fill several pages only after the older database file was copied, so that
/// the row of the sequence is on another page in it. Returns the older file and the store as it
/// was killed: its log changes pages that the older file has, too.
async fn grown() -> (Vec<u8>, Home) {
    let home = Home::new();
    let access = |key: &str| batch(|batch| batch.put(Table::Access, key, "an app"));
    let store = home.open();
    store.commit(access("a")).await.unwrap();
    fill(&store, 0, 5).await;
    assert!(store.close().await);
    let older = fs::read(home.database()).unwrap();
    let store = home.open();
    for n in 0..400 {
        let counted = batch(|batch| batch.add(Table::Count, format!("{n:04}"), [n]));
        store.commit(counted).await.unwrap();
    }
    assert!(store.close().await);
    let store = home.open();
    store.commit(access("b")).await.unwrap();
    for n in 400..500 {
        let counted = batch(|batch| batch.add(Table::Count, format!("{n:04}"), [n]));
        store.commit(counted).await.unwrap();
    }
    let killed = home.killed();
    assert!(store.close().await);
    (older, killed)
}

#[tokio::test]
async fn an_older_database_is_refused_also_where_the_sequence_was_on_another_page() {
    let [(older, killed), (foreign, _)] = [grown().await, grown().await];
    assert!(stored(&killed.killed().open()).await == 5, "it is sound");
    let log = fs::read(killed.log()).unwrap();
    for (database, fault) in [
        (
            older,
            "the database is older than its log: it ends with commit group 6 of",
        ),
        (foreign, "the log belongs to another store"),
    ] {
        fs::write(killed.database(), database).unwrap();
        let refused = refusal_text(&killed.refusal());
        assert!(refused.contains(fault), "{refused}");
        assert!(log == fs::read(killed.log()).unwrap());
    }
}

#[tokio::test]
async fn a_log_that_goes_on_after_the_store_got_a_new_identity_is_opened() {
    let home = Home::new();
    let store = home.open();
    fill(&store, 0, 20).await;
    let killed = home.killed();
    fs::remove_file(killed.mark()).unwrap();
    let store = killed.open();
    fill(&store, 20, 25).await;
    // The pages are moved, and the log is not restarted before the process is killed.
    let whole = fs::read(killed.log()).unwrap();
    let moved = killed.killed();
    kv::sqlite::log::move_in(moved.database().parent().unwrap()).unwrap();
    fs::write(moved.log(), whole).unwrap();
    assert_eq!(stored(&moved.open()).await, 25);
    assert!(store.close().await);
}

#[tokio::test]
async fn a_log_that_begins_with_a_new_identity_of_the_store_is_opened_after_a_crash() {
    for more in [0, 5] {
        let home = Home::new();
        let store = home.open();
        fill(&store, 0, 20).await;
        assert!(store.close().await);
        drop(store);
        // The log is empty now. Without its mark the store may have lost commits.
        fs::remove_file(home.mark()).unwrap();
        let store = home.open();
        let restored = store.restored().await.unwrap();
        assert!(restored.is_some());
        fill(&store, 20, 20 + more).await;
        let killed = home.killed();
        let again = killed.open();
        assert_eq!(stored(&again).await, 20 + more as usize);
        assert_eq!(again.restored().await.unwrap(), restored, "the same loss");
    }
}

#[tokio::test]
async fn a_log_that_begins_with_a_new_identity_of_another_store_is_foreign() {
    let [home, other] = [Home::new(), Home::new()];
    for (home, rows) in [(&home, 20), (&other, 19)] {
        let store = home.open();
        fill(&store, 0, rows).await;
        assert!(store.close().await);
    }
    fs::remove_file(other.mark()).unwrap();
    let store = other.open();
    fill(&store, 19, 25).await;
    let killed = other.killed();
    fs::copy(killed.log(), home.log()).unwrap();
    let refused = refusal_text(&home.refusal());
    assert!(refused.contains("belongs to another store"), "{refused}");
}

#[tokio::test]
async fn a_damaged_header_of_the_log_hides_nothing_of_what_was_acknowledged() {
    let home = Home::new();
    let store = home.open();
    fill(&store, 0, 40).await;
    let killed = home.killed();
    // All but the first commits are torn off, too.
    let log = fs::read(killed.log()).unwrap();
    fs::write(killed.log(), &log[..HEADER + commits(&log)[9] * FRAME]).unwrap();
    zero(&killed.log(), 0, HEADER);
    let refused = refusal_text(&killed.refusal());
    assert!(
        refused.contains("commit group 40 of 20"),
        "the mark says it: {refused}"
    );
    let checked = check(&killed.settings(), &mut |_| {}).unwrap();
    assert!(checked.faults[0].contains("commit group 40 of 20"));
}

#[tokio::test]
async fn a_log_that_cannot_be_read_is_no_damage_and_its_loss_cannot_be_accepted() {
    let home = Home::new();
    let store = home.open();
    fill(&store, 0, 10).await;
    assert!(store.close().await);
    drop(store);
    let mark = fs::read(home.mark()).unwrap();
    fs::remove_file(home.log()).unwrap();
    fs::create_dir(home.log()).unwrap();
    let checked = check(&home.settings(), &mut |_| {}).err().unwrap();
    let accepted = Store::open_accepting_loss(&home.settings()).err().unwrap();
    for refused in [home.refusal(), accepted] {
        let said = refused.to_string();
        assert!(said.contains("can not read"), "{said}");
        assert!(said.contains("switchyard.sqlite3-wal"), "{said}");
        assert!(!said.contains("estore a backup"), "{said}");
        assert_eq!(checked.to_string(), said);
    }
    assert!(mark == fs::read(home.mark()).unwrap(), "it is as it was");
    fs::remove_dir(home.log()).unwrap();
    assert_eq!(stored(&home.open()).await, 10);
}

/// A power cut leaves any of the pages that were being moved into the database, torn or whole.
#[tokio::test]
async fn pages_of_the_log_that_are_moved_in_part_are_no_reason_to_refuse() {
    let home = Home::new();
    let store = home.open();
    fill(&store, 0, 20).await;
    assert!(store.close().await);
    let store = home.open();
    fill(&store, 20, 25).await;
    for n in 0..300 {
        let counted = batch(|batch| batch.add(Table::Count, format!("{n:04}"), [n]));
        store.commit(counted).await.unwrap();
    }
    let killed = home.killed();
    assert!(store.close().await);
    let [before, log] = [killed.database(), killed.log()].map(|file| fs::read(file).unwrap());
    kv::sqlite::log::move_in(killed.database().parent().unwrap()).unwrap();
    let moved = fs::read(killed.database()).unwrap();
    let pages = moved.len() / 4096;
    let chance = Ids::seeded(21);
    for trial in 0..60 {
        let mut bytes = vec![0; pages + 1];
        chance.fill(&mut bytes);
        // In the order of the pages, or any of them.
        let first = usize::from(bytes[pages]) * pages / 256;
        let is_moved = |page: usize| match trial % 2 {
            0 => page < first,
            _ => bytes[page] < 128,
        };
        let mut database = before.clone();
        for page in (0..pages).filter(|page| is_moved(*page)) {
            let place = page * 4096..(page + 1) * 4096;
            database.resize(database.len().max(place.end), 0);
            database[place.clone()].copy_from_slice(&moved[place]);
        }
        fs::write(killed.database(), &database).unwrap();
        fs::write(killed.log(), &log).unwrap();
        assert_eq!(stored(&killed.killed().open()).await, 25, "trial {trial}");
        // The page that was written last is torn.
        let torn = first.min(database.len() / 4096 - 1);
        let number = (torn as u32 + 1).to_be_bytes();
        if log[HEADER..]
            .chunks(FRAME)
            .any(|frame| frame.starts_with(&number))
        {
            zero(&killed.database(), torn as u64 * 4096 + 2048, 2048);
            assert_eq!(stored(&killed.killed().open()).await, 25, "trial {trial}");
        }
    }
}
