//! A store whose disk is full refuses commits with nothing half done, and recovers by itself when
//! there is room again.
//!
//! The disk is a small file system in memory.

use std::path::Path;
use std::time::Duration;

use switchyard_store::{Backend, CommitError, Store};
use switchyard_tests::SmallDisk;
use switchyard_tests::store::rows::{LANES, check, commit, settings};

/// Commits in every lane until each is refused once. The acknowledged heads.
async fn fill(store: &Store, heads: &[u64]) -> Vec<u64> {
    let lanes: Vec<_> = (0..LANES)
        .map(|lane| {
            let (store, mut head) = (store.clone(), heads[lane as usize]);
            tokio::spawn(async move {
                loop {
                    match commit(&store, lane, head + 1).await {
                        Ok(()) => head += 1,
                        Err(CommitError::Unavailable { reason }) => return (head, reason),
                        Err(error) => panic!("commit {} of lane {lane}: {error}", head + 1),
                    }
                }
            })
        })
        .collect();
    let mut filled = Vec::new();
    for lane in lanes {
        let (head, reason) = lane.await.expect("a lane ends when it is refused");
        assert!(!reason.is_empty());
        filled.push(head);
    }
    filled
}

/// Makes so many commits in every lane, waiting for the store as long as it refuses.
async fn go_on(store: &Store, heads: &mut [u64], commits: u64) {
    for lane in 0..LANES {
        let head = &mut heads[lane as usize];
        let end = *head + commits;
        let mut refused = 0;
        while *head < end {
            match commit(store, lane, *head + 1).await {
                Ok(()) => *head += 1,
                Err(CommitError::Unavailable { reason }) => {
                    refused += 1;
                    assert!(refused < 300, "the store does not recover: {reason}");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
                Err(CommitError::Conflict) => {
                    panic!(
                        "commit {} of lane {lane} was refused, and is there",
                        *head + 1
                    )
                }
            }
        }
    }
}

async fn open(backend: Backend, path: &Path) -> Store {
    let settings = settings(backend, path);
    Store::open(&settings).unwrap_or_else(|error| panic!("{error}"))
}

async fn a_full_disk_comes_and_goes(backend: Backend, test: &str) {
    let Some(disk) = SmallDisk::mount(MEBIBYTES, test) else {
        return;
    };
    let store = open(backend, &disk.store()).await;
    let mut heads = vec![0; LANES as usize];
    (0..ROUNDS).for_each(|round| disk.take(round, PIECE));
    for round in 0..ROUNDS {
        heads = fill(&store, &heads).await;
        assert!(!store.stats().available);
        if let Ok(seen) = check(&store).await {
            assert_eq!(
                seen, heads,
                "round {round}: what is seen while the disk is full"
            );
        }
        disk.give_back(round);
        go_on(&store, &mut heads, 5).await;
        assert!(store.stats().available);
        let seen = check(&store)
            .await
            .unwrap_or_else(|wrong| panic!("round {round}: {wrong}"));
        assert_eq!(
            seen, heads,
            "round {round}: what is seen when there is room again"
        );
    }
    store.close().await;
    let store = open(backend, &disk.store()).await;
    assert_eq!(
        check(&store).await,
        Ok(heads),
        "what is seen after it is opened again"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sqlite_recovers_from_a_full_disk() {
    a_full_disk_comes_and_goes(Backend::Sqlite, "sqlite_recovers_from_a_full_disk").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sled_recovers_from_a_full_disk() {
    a_full_disk_comes_and_goes(Backend::Sled, "sled_recovers_from_a_full_disk").await;
}

/// The file system: too small for the load, and large enough that the backends write their tables
/// as well as their logs.
const MEBIBYTES: u32 = 96;
/// How often it fills up and is given room, and how much.
const ROUNDS: usize = 3;
const PIECE: usize = 20 * 1024 * 1024;
