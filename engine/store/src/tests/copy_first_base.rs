//! A machine that is lost while the first base after a start is being made.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use tokio::time::sleep;

use super::copy::{
    EVERY, RECOVERY_POINT, base_of, copied, copier, copier_with, fill_logs, generations, rows_in,
    snapshot,
};
use super::damage::{Home, fill};
use crate::*;

/// Makes no base until it may.
fn slow_base(home: &Home, may_be_made: &Arc<AtomicBool>) -> MakeBase {
    let (make, may_be_made) = (base_of(home), may_be_made.clone());
    Arc::new(move |to| {
        while !may_be_made.load(Ordering::Acquire) {
            thread::sleep(Duration::from_millis(10));
        }
        make(to)
    })
}

/// Rows of a store that is restored from the copy as it is now.
async fn restorable(to: &Path) -> usize {
    sleep(RECOVERY_POINT).await;
    let elsewhere = tempfile::tempdir().unwrap();
    let lost = elsewhere.path().join("lost");
    snapshot(to, &lost).unwrap();
    rows_in(&lost).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn starts_without_a_whole_base_lose_nothing_that_was_copied() {
    let elsewhere = tempfile::tempdir().unwrap();
    let to = elsewhere.path().join("copy");
    let mut home = Home::new();
    let store = home.open();
    let copying = copier(&home, &store, &to);
    fill(&store, 0, 20).await;
    copied(&store).await;
    assert!(store.close().await);
    copying.join().unwrap();

    let may_be_made = Arc::<AtomicBool>::default();
    // After a clean stop, after one without a commit, and after two kills.
    for (rows, is_killed) in [
        (20..30, false),
        (30..30, true),
        (30..40, true),
        (40..50, false),
    ] {
        let store = home.open();
        let copying = copier_with(&home, &store, &to, slow_base(&home, &may_be_made));
        fill(&store, rows.start, rows.end).await;
        let end = rows.end as usize;
        assert_eq!(restorable(&to).await, end, "{rows:?}");
        let killed = home.killed();
        assert!(store.close().await);
        copying.join().unwrap();
        if is_killed {
            home = killed;
        }
    }
    let all = generations(&to);
    assert_eq!(all.len(), 5, "{all:?}");

    may_be_made.store(true, Ordering::Release);
    let store = home.open();
    let copying = copier_with(&home, &store, &to, slow_base(&home, &may_be_made));
    fill(&store, 50, 60).await;
    copied(&store).await;
    assert_eq!(restorable(&to).await, 60);
    assert!(store.close().await);
    copying.join().unwrap();
    let kept = generations(&to);
    assert!(kept.len() == 1 && !all.contains(&kept[0]), "{kept:?}");
    assert_eq!(rows_in(&to).await.unwrap(), 60);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn logs_of_another_history_are_not_added_to_an_older_generation() {
    let elsewhere = tempfile::tempdir().unwrap();
    let to = elsewhere.path().join("copy");
    let home = Home::new();
    let store = home.open();
    let copying = copier(&home, &store, &to);
    fill(&store, 0, 20).await;
    let older = home.killed();
    fill(&store, 20, 30).await;
    copied(&store).await;
    assert!(store.close().await);
    copying.join().unwrap();

    // The older files run on without their copy, until they have more commits than it.
    let store = older.open();
    let all = fill_logs(&store, 20, 1).await;
    let killed = older.killed();
    drop(store);
    let store = killed.open();
    let never = Arc::<AtomicBool>::default();
    let copying = copier_with(&killed, &store, &to, slow_base(&killed, &never));
    fill(&store, all, all + 5).await;
    assert_eq!(
        restorable(&to).await,
        30,
        "the generation before, as it was"
    );
    assert!(store.close().await);
    copying.join().unwrap();
    never.store(true, Ordering::Release);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gap_between_two_generations_ends_what_can_be_restored() {
    let elsewhere = tempfile::tempdir().unwrap();
    let to = elsewhere.path().join("copy");
    let home = Home::new();
    let store = home.open();
    let copying = copier(&home, &store, &to);
    fill(&store, 0, 20).await;
    copied(&store).await;
    assert!(store.close().await);
    copying.join().unwrap();
    let store = home.open();
    fill(&store, 20, 25).await;
    assert!(store.close().await);
    drop(store);

    let store = home.open();
    let never = Arc::<AtomicBool>::default();
    let copying = copier_with(&home, &store, &to, slow_base(&home, &never));
    fill(&store, 25, 30).await;
    assert_eq!(restorable(&to).await, 20, "rows 20 to 24 are in no log");
    assert!(store.stats().copy_lag >= EVERY, "{:?}", store.stats());
    assert!(store.close().await);
    copying.join().unwrap();
    never.store(true, Ordering::Release);
}
