//! The log as the files tell: torn tails are accepted; damage and foreign or older files are not.

use std::fs;

use super::damage::{Home, fill, stored};
use crate::ids::Ids;
use crate::store::*;

/// Bytes of a frame with its page, and of the header of the log.
const FRAME: usize = 24 + 4096;
const HEADER: usize = 32;

fn said(refused: &OpenError) -> String {
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
                    said(&error).contains("the log is damaged"),
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
    let refused = said(&killed.refusal());
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
            let refused = said(&killed.refusal());
            assert!(refused.contains(fault), "{database} {log}: {refused}");
            let set_aside = Store::open_accepting_loss(&killed.settings()).unwrap();
            stored(&set_aside).await;
        }
    }
}
