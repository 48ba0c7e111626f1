//! Behaviour of the store when its backend fails: a double over the memory backend fails on
//! command.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use super::{batch, text};
use crate::batch::Change;
use crate::kv::memory::Memory;
use crate::kv::{Row, WriteFailed};
use crate::*;

/// A disk that outlives the backends that are opened on it, with its faults.
#[derive(Clone, Default)]
struct Disk(Arc<Faults>);

#[derive(Default)]
struct Faults {
    rows: Memory,
    /// Writes fail.
    is_full: AtomicBool,
    /// The rows of a failed write are present when the backend is opened again.
    log_keeps_what_failed: AtomicBool,
    /// A failed backend answers no reads.
    is_unreadable: AtomicBool,
    does_not_open: AtomicBool,
    failed: Mutex<Vec<Row>>,
    writes: AtomicU64,
    /// Writes wait.
    is_held: AtomicBool,
    /// Panics in every call of the backend.
    panics: AtomicBool,
    panics_when_closed: AtomicBool,
    /// Backends that were closed.
    closed: AtomicU64,
}

/// A backend that is open on the disk.
struct Opened(Arc<Faults>);

impl Disk {
    fn store(&self) -> Store {
        let (probed, opened) = (self.clone(), self.clone());
        let reopen = Reopen {
            probe: Box::new(move || match probed.0.is_full.load(SeqCst) {
                true => Err(probed.refusal("no room")),
                false => Ok(()),
            }),
            open: Box::new(move || opened.open()),
        };
        Store::start(
            Box::new(Opened(self.0.clone())),
            reopen,
            None,
            Arc::default(),
        )
        .unwrap()
    }

    fn open(&self) -> Result<Box<dyn Kv>, OpenError> {
        if self.0.does_not_open.load(SeqCst) {
            return Err(self.refusal("damaged"));
        }
        let failed = std::mem::take(&mut *self.0.failed.lock());
        if self.0.log_keeps_what_failed.load(SeqCst) {
            let changes: Vec<_> = failed.iter().map(Row::change).collect();
            self.0.rows.write(&changes).unwrap();
        }
        Ok(Box::new(Opened(self.0.clone())))
    }

    fn refusal(&self, reason: &str) -> OpenError {
        OpenError::Backend {
            path: PathBuf::from("disk"),
            reason: reason.to_owned(),
        }
    }
}

impl Opened {
    fn may_panic(&self) {
        assert!(!self.0.panics.load(SeqCst), "the backend panics");
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        self.0.closed.fetch_add(1, SeqCst);
        let panics = self.0.panics_when_closed.load(SeqCst);
        assert!(!panics, "the backend panics when it is closed");
    }
}

impl Kv for Opened {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, KvError> {
        self.may_panic();
        self.0.rows.get(table, key)
    }

    fn scan(&self, scan: &Scan<'_>) -> Result<KeyValues, KvError> {
        self.0.rows.scan(scan)
    }

    fn write(&self, changes: &[Change<'_>]) -> Result<(), WriteFailed> {
        while self.0.is_held.load(SeqCst) {
            std::thread::yield_now();
        }
        self.0.writes.fetch_add(1, SeqCst);
        self.may_panic();
        if !self.0.is_full.load(SeqCst) {
            return self.0.rows.write(changes);
        }
        let owned = |change: &Change<'_>| Row {
            table: change.table,
            key: change.key.to_vec(),
            value: change.value.map(<[u8]>::to_vec),
        };
        *self.0.failed.lock() = changes.iter().map(owned).collect();
        Err(WriteFailed {
            error: KvError::Failed("no space left on device".to_owned()),
            undo: kv::before(self, changes).unwrap(),
            readable: !self.0.is_unreadable.load(SeqCst),
        })
    }
}

fn put(key: &str, value: &str) -> Batch {
    batch(|batch| batch.put(Table::Meta, key, value))
}

fn full() -> Result<(), CommitError> {
    Err(CommitError::Unavailable {
        reason: "no space left on device".to_owned(),
    })
}

/// The store retries automatically; a commit succeeds once it has recovered.
async fn until_it_writes(store: &Store, probe: &str) {
    for _ in 0..600 {
        if store.commit(put(probe, "")).await.is_ok() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!(
        "the store did not recover: {:?}",
        store.commit(put(probe, "")).await
    );
}

#[tokio::test]
async fn a_full_disk_refuses_the_whole_group_and_leaves_the_rows_as_they_were() {
    let disk = Disk::default();
    let store = disk.store();
    store.commit(put("a", "before")).await.unwrap();
    let before = disk.0.writes.load(SeqCst);
    disk.0.is_full.store(true, SeqCst);
    let commits = {
        disk.0.is_held.store(true, SeqCst);
        let commits: Vec<_> = (0..10)
            .map(|n| {
                let store = store.clone();
                tokio::spawn(async move { store.commit(put("a", &n.to_string())).await })
            })
            .collect();
        while store.stats().queue < 10 {
            tokio::task::yield_now().await;
        }
        disk.0.is_held.store(false, SeqCst);
        commits
    };
    for commit in commits {
        let verdict = commit.await.unwrap();
        assert!(
            matches!(verdict, Err(CommitError::Unavailable { .. })),
            "{verdict:?}"
        );
    }
    assert!(
        disk.0.writes.load(SeqCst) <= before + 2,
        "nothing is written to a failed backend"
    );
    assert_eq!(
        text(&store, Table::Meta, "a").await.as_deref(),
        Some("before")
    );
    assert!(!store.stats().available);
    assert_eq!(store.stats().commits, 1);
}

#[tokio::test]
async fn the_store_recovers_by_itself_when_there_is_room_again() {
    let disk = Disk::default();
    let store = disk.store();
    disk.0.is_full.store(true, SeqCst);
    assert_eq!(store.commit(put("a", "1")).await, full());
    let while_down = store.commit(put("a", "2")).await;
    assert!(
        matches!(while_down, Err(CommitError::Unavailable { .. })),
        "{while_down:?}"
    );
    disk.0.is_full.store(false, SeqCst);
    until_it_writes(&store, "probe").await;
    assert!(store.stats().available);
    assert_eq!(text(&store, Table::Meta, "a").await, None);
    store.commit(put("a", "3")).await.unwrap();
    assert_eq!(text(&store, Table::Meta, "a").await.as_deref(), Some("3"));
}

#[tokio::test]
async fn what_was_refused_is_taken_back_when_the_backend_finds_it_in_its_log() {
    let disk = Disk::default();
    disk.0.log_keeps_what_failed.store(true, SeqCst);
    let store = disk.store();
    store.commit(put("kept", "before")).await.unwrap();
    store.commit(put("deleted", "before")).await.unwrap();
    let counted = batch(|batch| batch.add(Table::Count, "c", [3]));
    store.commit(counted).await.unwrap();
    disk.0.is_full.store(true, SeqCst);
    let change = batch(|batch| {
        batch.add(Table::Count, "c", [4]);
        batch.add(Table::Count, "new", [4]);
        batch.put(Table::Meta, "kept", "after");
        batch.put(Table::Meta, "new", "after");
        batch.delete(Table::Meta, "deleted");
    });
    assert_eq!(store.commit(change).await, full());
    disk.0.is_full.store(false, SeqCst);
    until_it_writes(&store, "probe").await;
    assert_eq!(
        text(&store, Table::Meta, "kept").await.as_deref(),
        Some("before")
    );
    assert_eq!(text(&store, Table::Meta, "new").await, None);
    assert_eq!(
        text(&store, Table::Meta, "deleted").await.as_deref(),
        Some("before")
    );
    for (key, before) in [("c", 3), ("new", 0)] {
        let row = store.get(Table::Count, key.as_bytes()).await.unwrap();
        assert_eq!(counts(row.as_deref()), [before], "{key}");
    }
}

#[tokio::test]
async fn a_backend_that_does_not_open_again_is_tried_until_it_does() {
    let disk = Disk::default();
    disk.0.is_unreadable.store(true, SeqCst);
    let store = disk.store();
    disk.0.is_full.store(true, SeqCst);
    disk.0.does_not_open.store(true, SeqCst);
    assert_eq!(store.commit(put("a", "1")).await, full());
    disk.0.is_full.store(false, SeqCst);
    loop {
        match store.commit(put("a", "2")).await {
            Err(CommitError::Unavailable { reason }) if reason.contains("damaged") => break,
            verdict => assert!(verdict.is_err()),
        }
    }
    let read = store.get(Table::Meta, b"a").await;
    assert!(
        matches!(read, Err(StoreError::Unavailable { .. })),
        "{read:?}"
    );
    disk.0.does_not_open.store(false, SeqCst);
    until_it_writes(&store, "probe").await;
    assert_eq!(text(&store, Table::Meta, "a").await, None);
}

#[tokio::test]
async fn a_backend_that_panics_when_it_is_closed_is_opened_again() {
    let disk = Disk::default();
    disk.0.is_unreadable.store(true, SeqCst);
    disk.0.panics_when_closed.store(true, SeqCst);
    let store = disk.store();
    store.commit(put("a", "1")).await.unwrap();
    for round in 1..=2 {
        disk.0.is_full.store(true, SeqCst);
        assert_eq!(store.commit(put("a", "2")).await, full());
        disk.0.is_full.store(false, SeqCst);
        until_it_writes(&store, "probe").await;
        assert_eq!(disk.0.closed.load(SeqCst), round);
        assert_eq!(text(&store, Table::Meta, "a").await.as_deref(), Some("1"));
    }
    store.close().await;
    assert_eq!(disk.0.closed.load(SeqCst), 3);
    let refused = store.commit(put("a", "3")).await;
    assert_eq!(
        refused,
        Err(CommitError::Unavailable {
            reason: "it is closed".to_owned()
        })
    );
}

#[tokio::test]
async fn a_backend_that_panics_in_a_check_or_a_write_has_failed_like_any_other() {
    let disk = Disk::default();
    disk.0.panics_when_closed.store(true, SeqCst);
    let store = disk.store();
    let checked = || batch(|batch| batch.require_absent(Table::Meta, "a"));
    for commit in [checked(), put("a", "1")] {
        disk.0.panics.store(true, SeqCst);
        let refused = store.commit(commit).await;
        assert!(
            matches!(&refused, Err(CommitError::Unavailable { reason }) if reason.contains("panicked")),
            "{refused:?}"
        );
        disk.0.panics.store(false, SeqCst);
        until_it_writes(&store, "probe").await;
        assert_eq!(text(&store, Table::Meta, "a").await, None);
    }
    store.commit(checked()).await.unwrap();
}

#[tokio::test]
async fn a_backend_that_panics_while_it_is_opened_again_is_tried_until_it_does_not() {
    let disk = Disk::default();
    disk.0.is_unreadable.store(true, SeqCst);
    disk.0.panics_when_closed.store(true, SeqCst);
    let store = disk.store();
    disk.0.is_full.store(true, SeqCst);
    assert_eq!(store.commit(put("a", "1")).await, full());
    disk.0.panics.store(true, SeqCst); // in the write that takes back what was refused
    disk.0.is_full.store(false, SeqCst);
    while disk.0.closed.load(SeqCst) < 3 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    disk.0.panics.store(false, SeqCst);
    until_it_writes(&store, "probe").await;
    assert_eq!(text(&store, Table::Meta, "a").await, None);
}

#[tokio::test]
async fn a_store_that_is_down_closes_all_the_same() {
    let disk = Disk::default();
    let store = disk.store();
    disk.0.is_full.store(true, SeqCst);
    assert_eq!(store.commit(put("a", "1")).await, full());
    store.close().await;
    let refused = store.commit(put("a", "2")).await;
    assert_eq!(
        refused,
        Err(CommitError::Unavailable {
            reason: "it is closed".to_owned()
        })
    );
}

#[tokio::test]
async fn commits_beyond_the_queue_wait_and_are_all_made() {
    let disk = Disk::default();
    let store = disk.store();
    let commits: Vec<_> = {
        disk.0.is_held.store(true, SeqCst);
        let commits = (0..STORE_QUEUE + 100)
            .map(|n| {
                let store = store.clone();
                tokio::spawn(async move { store.commit(put(&n.to_string(), "")).await })
            })
            .collect();
        while store.stats().queue < STORE_QUEUE {
            tokio::task::yield_now().await;
        }
        assert_eq!(store.stats().queue, STORE_QUEUE);
        disk.0.is_held.store(false, SeqCst);
        commits
    };
    for commit in commits {
        commit.await.unwrap().unwrap();
    }
    let stats = store.stats();
    assert_eq!(stats.commits as usize, STORE_QUEUE + 100);
    assert!(
        stats.largest_batch as usize <= switchyard_core::limits::STORE_BATCH,
        "{stats:?}"
    );
    assert!(stats.largest_batch > 1, "{stats:?}");
}
