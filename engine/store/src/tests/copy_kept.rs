//! The continuous copy of a store that has lost commits: it may be the only place that has them.

use std::fs;
use std::path::Path;
use std::time::Duration;

use super::copy::{chance, copied, copier, fill_logs, generations, logs, restore_into, rows_in};
use super::damage::{Home, fill};
use crate::*;
use switchyard_system::ids::Ids;

/// A store with 30 rows, copied, and the state of its files at 20 rows.
async fn copied_store(to: &Path) -> (Home, Home) {
    let home = Home::new();
    let store = home.open();
    let copying = copier(&home, &store, to);
    fill(&store, 0, 20).await;
    let older = home.killed();
    fill(&store, 20, 30).await;
    copied(&store).await;
    assert!(store.close().await);
    copying.join().unwrap();
    (home, older)
}

/// Runs a store with its copy until all is copied, and stops both.
async fn run(home: &Home, store: Store, to: &Path, rows: std::ops::Range<u32>) {
    let copying = copier(home, &store, to);
    fill(&store, rows.start, rows.end).await;
    copied(&store).await;
    // A base that is made in the background is taken over in the rounds that follow.
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(store.close().await);
    copying.join().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commits_that_a_store_has_lost_stay_in_its_copy() {
    for is_accepted in [true, false] {
        let elsewhere = tempfile::tempdir().unwrap();
        let to = elsewhere.path().join("copy");
        let (home, older) = copied_store(&to).await;
        let first = generations(&to)[0].clone();
        // The database of before with the mark of now, or the whole data folder of before.
        let store = match is_accepted {
            true => {
                fs::copy(home.mark(), older.mark()).unwrap();
                assert!(matches!(older.refusal(), OpenError::Behind { .. }));
                Store::open_accepting_loss(&older.settings()).unwrap()
            }
            false => older.open(),
        };
        run(&older, store, &to, 20..35).await;
        for from in [35, 40] {
            run(&older, older.open(), &to, from..from + 5).await;
        }
        let kept = generations(&to);
        assert!(kept.len() == 2 && kept[0] == first, "{kept:?}");
        assert_eq!(rows_in(&to).await.unwrap(), 45, "the newest state");
        assert_eq!(rows_in(&first).await.unwrap(), 30, "the lost commits");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_was_restored_keeps_the_copy_that_it_came_from() {
    let elsewhere = tempfile::tempdir().unwrap();
    let to = elsewhere.path().join("copy");
    copied_store(&to).await;
    let home = Home::new();
    restore_into(&home, &to).unwrap();
    run(&home, home.open(), &to, 30..35).await;
    assert_eq!(generations(&to).len(), 2);
    assert_eq!(rows_in(&to).await.unwrap(), 35);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_start_beside_the_copy_keeps_the_record_of_a_restore() {
    let elsewhere = tempfile::tempdir().unwrap();
    let to = elsewhere.path().join("copy");
    copied_store(&to).await;
    let home = Home::new();
    let restored = restore_into(&home, &to).unwrap();
    for _ in 0..2 {
        let store = Store::open_beside_copy(&home.settings(), Some(&to), false).unwrap();
        assert_eq!(
            store.restored().await.unwrap().as_ref(),
            Some(&restored),
            "the span that the restore found"
        );
        assert!(store.close().await);
    }
    // A state of this restored store from before its copy went on is an older store.
    let fresh = home.killed();
    run(&home, home.open(), &to, 30..35).await;
    let older = Store::open_beside_copy(&fresh.settings(), Some(&to), false).unwrap();
    assert_ne!(older.restored().await.unwrap(), Some(restored));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_without_the_log_that_continues_its_base_is_refused_by_the_name_of_the_log() {
    let elsewhere = tempfile::tempdir().unwrap();
    let to = elsewhere.path().join("copy");
    let home = Home::new();
    let store = home.open();
    let copying = copier(&home, &store, &to);
    let all = fill_logs(&store, 0, 3).await;
    let mut next = all;
    // Until the log was restarted in the copy, too: on a slow machine that takes a while.
    for _ in 0..60 {
        fill(&store, next, next + 1).await;
        next += 1;
        tokio::time::sleep(Duration::from_secs(1)).await;
        if to.exists() && logs(&to).len() > 1 {
            break;
        }
    }
    // Several commits follow the last restart.
    fill(&store, next, next + 19).await;
    copied(&store).await;
    assert!(store.close().await);
    copying.join().unwrap();
    let generation = generations(&to)[0].clone();
    let log = logs(&to).pop().unwrap();
    // As after a day: the base is newer than all logs but the last. On a slow machine the copier
    // has made that base.
    let number = log.file_name().unwrap().to_str().unwrap().to_owned();
    let base = generation.join(number.replace("log-", "base-"));
    assert_ne!(number, "log-0000000001");
    let source = BackupSource {
        store: &home.settings(),
        gateways: Path::new("/nonexistent"),
        settings: None,
        views: Views::AsStored,
    };
    if !base.exists() {
        backup(source, &base, 0, &mut |_| {}).unwrap();
    }
    let whole = fs::read(&log).unwrap();
    assert!(rows_in(&to).await.is_ok());

    let other = Home::new();
    let store = other.open();
    fill(&store, 0, 3).await;
    let foreign = fs::read(other.log()).unwrap();
    let mut damaged = whole.clone();
    damaged[5_000] ^= 1;
    for (content, said) in [
        (None, "has no commit"),
        (Some(Vec::new()), "has no commit"),
        (Some(foreign), "belongs to another store"),
        (Some(damaged), "the log is damaged from byte"),
    ] {
        match content {
            Some(content) => fs::write(&log, content).unwrap(),
            None => fs::remove_file(&log).unwrap(),
        }
        let refused = rows_in(&to).await.unwrap_err().to_string();
        assert!(refused.contains(said), "{said}: {refused}");
        assert!(refused.contains(log.to_str().unwrap()), "{refused}");
        assert!(!refused.contains("--accept-loss"), "{refused}");
    }
    fs::write(&log, whole).unwrap();
    assert!(rows_in(&to).await.is_ok());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_data_folder_that_was_rolled_back_as_a_whole_is_held_because_its_copy_has_more() {
    let elsewhere = tempfile::tempdir().unwrap();
    let to = elsewhere.path().join("copy");
    let (home, older) = copied_store(&to).await;
    let opened = |home: &Home| Store::open_beside_copy(&home.settings(), Some(&to), false).unwrap();
    let store = opened(&home);
    assert_eq!(store.restored().await.unwrap(), None, "it has all");
    assert!(store.close().await);

    let store = opened(&older);
    let record = store.restored().await.unwrap().unwrap();
    assert_eq!((record.sequence, record.lost.unwrap().sequence), (20, 30));
    run(&older, store, &to, 20..40).await;
    let store = opened(&older);
    let again = store.restored().await.unwrap();
    assert_eq!(again, Some(record), "held once");
    assert_eq!(generations(&to).len(), 2, "the lost commits are kept");

    // A copy that is not there is no reason to hold.
    let missing = elsewhere.path().join("none");
    let [snapshot, _] = [older.killed(), older];
    let store = Store::open_beside_copy(&snapshot.settings(), Some(&missing), false).unwrap();
    assert_eq!(store.restored().await.unwrap(), again);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_generation_that_cannot_be_read_is_kept_and_no_older_one_is_restored_in_its_place() {
    let elsewhere = tempfile::tempdir().unwrap();
    let to = elsewhere.path().join("copy");
    let (home, _) = copied_store(&to).await;
    let first = generations(&to).remove(0);
    let manifest = first.join("base-0000000001/backup.json");
    let whole = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, whole.replace("\"format\": 2", "\"format\": 9")).unwrap();
    let refused = rows_in(&to).await.unwrap_err().to_string();
    let base = manifest.parent().unwrap().to_str().unwrap();
    assert!(
        refused.contains(base) && refused.contains("its format is 9"),
        "{refused}"
    );

    // Unreadable now, and marked before.
    for rows in [30..35, 35..40] {
        run(&home, home.open(), &to, rows).await;
        assert!(first.join("kept").exists());
        let damaged = whole.replace("\"store\"", "\"stoRe\"");
        fs::write(&manifest, damaged).unwrap();
    }
    let kept = generations(&to);
    assert!(kept.len() == 2 && kept[0] == first, "{kept:?}");
    assert_eq!(rows_in(&to).await.unwrap(), 40);
    fs::write(&manifest, whole).unwrap();
    let newest = kept[1].join("base-0000000001/backup.json");
    fs::write(&newest, "{").unwrap();
    let refused = rows_in(&to).await.unwrap_err().to_string();
    let base = newest.parent().unwrap().to_str().unwrap();
    assert!(
        refused.contains(base) && refused.contains("name its folder"),
        "{refused}"
    );
    assert_eq!(rows_in(&first).await.unwrap(), 30, "by its name");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_that_is_mounted_after_the_start_keeps_the_commits_that_the_store_has_lost() {
    let elsewhere = tempfile::tempdir().unwrap();
    let [disk, to, under] = ["disk", "copy", "under"].map(|name| elsewhere.path().join(name));
    let (_, older) = copied_store(&disk).await;
    let store = Store::open_beside_copy(&older.settings(), Some(&to), false).unwrap();
    assert_eq!(store.restored().await.unwrap(), None, "nothing tells");
    let copying = copier(&older, &store, &to);
    fill(&store, 20, 40).await;
    copied(&store).await;
    fs::rename(&to, under).unwrap();
    fs::rename(&disk, &to).unwrap();
    fill(&store, 40, 41).await;
    // A round that had begun may still write to the folder of before.
    tokio::time::sleep(Duration::from_secs(2)).await;
    copied(&store).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(store.close().await);
    copying.join().unwrap();
    let all = generations(&to);
    assert!(all.len() == 2 && all[0].join("kept").exists(), "{all:?}");
    assert_eq!(rows_in(&all[0]).await.unwrap(), 30);
    assert_eq!(rows_in(&to).await.unwrap(), 41);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_was_rolled_back_is_held_whatever_bit_of_its_copy_is_damaged() {
    let elsewhere = tempfile::tempdir().unwrap();
    let to = elsewhere.path().join("copy");
    let (home, older) = copied_store(&to).await;
    let log = logs(&to).pop().unwrap();
    let whole = fs::read(&log).unwrap();
    let seed = Ids::seeded(8);
    for _ in 0..40 {
        let bit = chance(&seed, whole.len() as u64 * 8) as usize;
        let mut damaged = whole.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        fs::write(&log, damaged).unwrap();
        let older = older.killed();
        let store = Store::open_beside_copy(&older.settings(), Some(&to), false).unwrap();
        let record = store.restored().await.unwrap();
        let lost = record.and_then(|record| record.lost);
        assert!(
            lost.is_some_and(|lost| lost.sequence >= 29),
            "bit {bit}: {lost:?}"
        );
    }
    // Neither base nor log can be read: held once.
    fs::write(&log, [9; 5_000]).unwrap();
    let base = generations(&to)[0].join("base-0000000001/backup.json");
    fs::write(base, "{").unwrap();
    let opened = |home: &Home| Store::open_beside_copy(&home.settings(), Some(&to), false).unwrap();
    let store = opened(&home);
    let record = store.restored().await.unwrap().unwrap();
    assert_eq!(record.lost, None, "nobody can say how far");
    run(&home, store, &to, 30..40).await;
    let store = opened(&home);
    assert_eq!(store.restored().await.unwrap(), Some(record));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_of_before_a_restore_is_held_because_its_copy_has_the_restored_store() {
    let elsewhere = tempfile::tempdir().unwrap();
    let to = elsewhere.path().join("copy");
    let (home, older) = copied_store(&to).await;
    let opened = |home: &Home| Store::open_beside_copy(&home.settings(), Some(&to), false).unwrap();
    let restored = Home::new();
    restore_into(&restored, &to).unwrap();
    run(&restored, opened(&restored), &to, 30..35).await;
    let store = opened(&restored);
    let record = store.restored().await.unwrap();
    assert!(store.close().await);
    let store = opened(&restored);
    assert_eq!(store.restored().await.unwrap(), record, "held once");
    assert!(store.close().await);
    for before in [home, older] {
        let store = opened(&before);
        let held = store.restored().await.unwrap();
        assert!(held.is_some_and(|held| Some(held) != record));
        assert!(store.close().await);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_last_log_of_other_bytes_is_refused() {
    let elsewhere = tempfile::tempdir().unwrap();
    let to = elsewhere.path().join("copy");
    copied_store(&to).await;
    let log = logs(&to).pop().unwrap();
    assert_eq!(rows_in(&to).await.unwrap(), 30);
    fs::write(&log, vec![7; 64 * 1024]).unwrap();
    assert!(rows_in(&to).await.is_err());
    fs::write(&log, vec![0; 64 * 1024]).unwrap();
    assert!(rows_in(&to).await.is_ok(), "it was begun and not flushed");
}
