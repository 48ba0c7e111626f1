//! The store: ordered rows in tables, changed by atomic, checked, durable commits.
//!
//! Promises:
//! - A commit is made whole or not at all. `Ok` means that it survives a power cut: it was flushed
//!   through the disk's cache.
//! - Checks (absent, version, value) are evaluated by the only writer, in the order of arrival.
//!   `Conflict` changes nothing.
//! - Increments of counts are made by the only writer, once for a group of commits, and become
//!   durable with the other changes of their commits: a count is exact, and counting never
//!   conflicts.
//! - `Unavailable` changes nothing: the disk is full or failing. The store opens its backend again
//!   until it can write; should the backend find the failed commits in its log, they are taken back
//!   before anyone can read them. The one exception: a process that dies in that state may find
//!   them made when it starts again.
//! - Reads see only what is committed and flushed: no power cut takes back what was read.
//! - A row that was damaged on disk is an error and never wrong data: rows carry a checksum. With
//!   SQLite pages do, too, so that damage hides no row. Damage that was found stays known until the
//!   store is closed: [`Store::damage`].
//! - A store that ends before its last acknowledged commit is not opened: `mark` tells.
//! - One scan sees all of a commit or nothing of it. Two reads may see two moments.
//!
//! There are no transactions over several calls: read, decide, and let a check detect a concurrent
//! change.
//!
//! [`Store`] is the whole interface; below it the embedded store is one writer thread (`writer`)
//! over a small backend trait (`kv`) with three backends: SQLite, sled and memory. Reads go to the
//! backend on the caller's thread, because they are answered from memory or the page cache; only
//! long scans go to a thread of their own. With sled a read also waits for a flush in progress,
//! because sled shows rows before they are flushed.

mod backend;
mod backup;
mod batch;
mod check;
mod copied;
mod copier;
mod draft;
mod error;
mod group_commit;
mod kv;
mod mark;
mod place;
mod progress;
mod restore;
mod restored;
#[cfg(feature = "simulation")]
mod simulated;
mod table;
mod throttle;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use parking_lot::Mutex;
use tokio::sync::{Semaphore, oneshot};
use ulid::Ulid;

pub use self::backend::Backend;
pub use self::backup::{BackupSource, Manifest, Views, backup, is_inside};
pub use self::batch::{Batch, counts};
pub use self::check::{CheckReport, CommitGroup, DamagedRow, MAX_DAMAGED, check};
pub use self::copied::{CopyLock, lock_copy};
pub use self::copier::{Copier, MakeBase};
pub use self::draft::remove_abandoned_draft;
pub use self::error::{CommitError, MaintenanceError, OpenError, StoreError};
use self::group_commit::GroupWait;
#[cfg(any(test, feature = "testing"))]
pub use self::kv::mortal::{CrashingKv, Death, MemoryDisk};
#[cfg(feature = "simulation")]
pub use self::kv::simulated::{ChangedRow, Disk, DiskModel, FlushEnd, Replaces, Tables};
pub use self::kv::sqlite::query::{Cell, MAX_QUERY_ROWS, QueryAnswer, QueryError, Shell};
use self::kv::sqlite::tail::Tail;
use self::kv::{Kv, KvError, Scan};
use self::mark::{KnownLoss, Mark, MarkPlace, Point};
use self::place::StoreDirectory;
pub use self::progress::{Progress, Report, Unit};
pub use self::restore::{RestoreTarget, restore};
pub use self::restored::{Lost, Restored};
pub use self::table::Table;
pub use self::throttle::lower_priority;
use self::writer::{Message, Reopen, Request, Writer};
use switchyard_core::limits::{STORE_KEY_BYTES, STORE_QUEUE, STORE_SCAN_INLINE};

/// Handle of an open store; clones share it. Dropping the last one waits for open commits and
/// closes the store.
#[derive(Clone)]
pub struct Store(Arc<Inner>);

/// Identity of a store. A restore gives it another one.
pub type Identity = Ulid;

/// How to open a store.
#[derive(Clone, Debug)]
pub struct StoreSettings {
    pub backend: Backend,
    /// The directory of the store, made when there is none. The memory backend has no use for it.
    pub path: PathBuf,
    /// Memory for rows that were read from disk.
    pub cache_bytes: u64,
}

/// The order of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Forward,
    Backward,
}

/// Rows as a scan answers them, in its order: key and value.
pub type KeyValues = Vec<(Vec<u8>, Vec<u8>)>;

/// Counters of the store since it was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreStats {
    /// Commits made.
    pub commits: u64,
    /// Flushes they took.
    pub batches: u64,
    /// The most commits that shared a flush.
    pub largest_batch: u64,
    /// Commits that wait or are being made.
    pub queue: usize,
    /// False from a failure of the disk until the store writes again.
    pub available: bool,
    /// Whether damage was found since the store was opened; see [`Store::damage`].
    pub damaged: bool,
    /// Age of the oldest commit that cannot be restored from the continuous copy; 0 without one.
    pub copy_lag: Duration,
}

struct Inner {
    shared: Arc<Shared>,
    sender: Sender<Message>,
    writer: Mutex<Option<thread::JoinHandle<()>>>,
    /// Wakes a writer that has no thread of its own.
    #[cfg(feature = "simulation")]
    nudge: Option<Arc<tokio::sync::Notify>>,
    /// See [`Store::deny_next_commit`].
    #[cfg(any(test, feature = "testing"))]
    denied: Mutex<Option<oneshot::Receiver<()>>>,
}

/// State that the handles and the writer share.
struct Shared {
    /// `None` while the backend is being reopened, and after the store is closed.
    kv: ArcSwapOption<Box<dyn Kv>>,
    /// Reason for which the store cannot be used now.
    down: ArcSwapOption<String>,
    /// The damage that was found first.
    damage: ArcSwapOption<String>,
    /// Places in the writer's queue. A commit takes one, the writer gives it back.
    queue: Semaphore,
    group_wait: GroupWait,
    counters: Counters,
    /// The log of the SQLite backend, for its continuous copy.
    tail: Arc<Tail>,
    /// The last commit group when the store was opened; `None` for a store without a mark.
    opened: Option<Point>,
}

#[derive(Default)]
struct Counters {
    commits: AtomicU64,
    batches: AtomicU64,
    largest_batch: AtomicU64,
}

impl Store {
    /// Opens the store, and makes one when there is none. Reads what a crash left behind, so it may
    /// take seconds.
    ///
    /// A store that has lost acknowledged commits is refused.
    pub fn open(settings: &StoreSettings) -> Result<Self, OpenError> {
        Self::open_knowing(settings, KnownLoss::default())
    }

    /// Opens a store as it is, also one that has lost acknowledged commits.
    pub fn open_accepting_loss(settings: &StoreSettings) -> Result<Self, OpenError> {
        Self::open_beside_copy(settings, None, true)
    }

    /// Opens a store and compares it with its continuous copy, if it can be read in seconds. A
    /// store that ends before its copy gets a restore record: see [`Restored`].
    pub fn open_beside_copy(
        settings: &StoreSettings,
        copy: Option<&Path>,
        accepts_loss: bool,
    ) -> Result<Self, OpenError> {
        let known = KnownLoss {
            is_accepted: accepts_loss,
            copy,
            ..KnownLoss::default()
        };
        Self::open_knowing(settings, known)
    }

    fn open_knowing(settings: &StoreSettings, mut known: KnownLoss<'_>) -> Result<Self, OpenError> {
        if settings.backend == Backend::Memory {
            return Ok(Self::memory());
        }
        let files = settings.path.join(settings.backend.name());
        let is_there = place::is_used(&settings.path)? && files.exists();
        if !known.is_accepted && !is_there {
            // Before anything is made where a store, or its files, are missing.
            let mark = MarkPlace::of(&settings.path);
            mark.compare(None, &mark.read()?)?;
        }
        let place = Arc::new(StoreDirectory::take(
            &settings.path,
            settings.backend.name(),
        )?);
        let tail = Arc::<Tail>::default();
        let reopen = Reopen {
            probe: {
                let place = place.clone();
                Box::new(move || place.probe())
            },
            open: {
                let (place, backend) = (place.clone(), settings.backend);
                let (cache_bytes, tail) = (settings.cache_bytes, tail.clone());
                Box::new(move || backend.open(&place, cache_bytes, &tail))
            },
        };
        settings.backend.verify_files(&place)?;
        match settings.backend.verify_log(&place) {
            Err(refused @ OpenError::DamagedLog { .. }) if known.is_accepted => {
                tracing::warn!(reason = %refused, "the loss is accepted, the log is set aside");
                known.log_set_aside = Some(MarkPlace::of(&settings.path).spoil()?);
                settings.backend.set_log_aside(&place)?;
            }
            verified => verified?,
        }
        let kv = (reopen.open)()?;
        let mark = Mark::open(&settings.path, kv.as_ref(), known)?;
        Self::start(kv, reopen, Some(mark), tail)
    }

    /// A store in memory, which forgets everything when it is dropped.
    pub fn memory() -> Self {
        let reopen = Reopen {
            probe: Box::new(|| Ok(())),
            open: Box::new(|| Ok(Box::new(kv::memory::Memory::default()))),
        };
        match Self::start(
            Box::new(kv::memory::Memory::default()),
            reopen,
            None,
            Arc::default(),
        ) {
            Ok(store) => store,
            Err(error) => panic!("{error}"), // the machine gives no more threads to a process that has hardly any
        }
    }

    /// The store of a process that may die.
    #[cfg(any(test, feature = "testing"))]
    fn on(process: &CrashingKv) -> Self {
        let (probed, opened) = (process.clone(), process.clone());
        let reopen = Reopen {
            probe: Box::new(move || match probed.is_dead() {
                false => Ok(()),
                true => Err(OpenError::Backend {
                    path: PathBuf::new(),
                    reason: "this process is dead".to_owned(),
                }),
            }),
            open: Box::new(move || Ok(Box::new(opened.clone()))),
        };
        match Self::start(Box::new(process.clone()), reopen, None, Arc::default()) {
            Ok(store) => store,
            Err(error) => panic!("{error}"), // as for a store in memory
        }
    }

    fn start(
        kv: Box<dyn Kv>,
        reopen: Reopen,
        mark: Option<Mark>,
        tail: Arc<Tail>,
    ) -> Result<Self, OpenError> {
        let opened = mark.as_ref().map(Mark::reached);
        let shared = Arc::new(Shared::new(kv, tail, opened));
        let (sender, receiver) = channel();
        let writer = Writer::new(shared.clone(), receiver, reopen, mark);
        let writer = thread::Builder::new()
            .name("store writer".to_owned())
            .spawn(move || writer.run())
            .map_err(|error| OpenError::Backend {
                path: PathBuf::new(),
                reason: format!("no thread can be started ({error})"),
            })?;
        Ok(Self(Arc::new(Inner {
            shared,
            sender,
            writer: Mutex::new(Some(writer)),
            #[cfg(feature = "simulation")]
            nudge: None,
            #[cfg(any(test, feature = "testing"))]
            denied: Mutex::default(),
        })))
    }

    /// Makes all changes of the batch if all its checks hold. Returns when that survives a power
    /// cut.
    ///
    /// Waits while too many commits wait already. A caller that stops waiting does not stop the
    /// commit.
    pub async fn commit(&self, batch: Batch) -> Result<(), CommitError> {
        if batch.is_empty() {
            return Ok(());
        }
        let stopped = || CommitError::Unavailable {
            reason: self.0.shared.reason(),
        };
        #[cfg(any(test, feature = "testing"))]
        let denied = self.0.denied.lock().take();
        let place = self.0.shared.queue.acquire().await.map_err(|_| stopped())?;
        place.forget(); // the writer gives it back
        let (reply, answer) = oneshot::channel();
        let request = Message::Commit(Request { batch, reply });
        self.0.sender.send(request).map_err(|_| stopped())?;
        let shared = &self.0.shared;
        shared.group_wait.joined(|| shared.waiting());
        #[cfg(feature = "simulation")]
        if let Some(nudge) = &self.0.nudge {
            nudge.notify_one();
        }
        let verdict = answer
            .await
            .map_or_else(|_| Err(stopped()), |reply| reply.verdict);
        #[cfg(any(test, feature = "testing"))]
        if let Some(until) = denied {
            let _ = until.await;
            return Err(CommitError::Conflict);
        }
        verdict
    }

    /// Makes the next commit, and answers after `until` that it conflicts, as a store in a network
    /// does that repeats a commit whose answer was lost.
    #[cfg(any(test, feature = "testing"))]
    pub fn deny_next_commit(&self, until: oneshot::Receiver<()>) {
        *self.0.denied.lock() = Some(until);
    }

    /// The value of a row.
    pub async fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.0.shared.read(|kv| kv.get(table, key))
    }

    /// A row that [`Batch::put_versioned`] wrote: its version and its value.
    pub async fn get_versioned(
        &self,
        table: Table,
        key: &[u8],
    ) -> Result<Option<(u64, Vec<u8>)>, StoreError> {
        let Some(mut row) = self.get(table, key).await? else {
            return Ok(None);
        };
        let Some(version) = row.first_chunk().copied() else {
            return Err(StoreError::NoVersion {
                table: table.name(),
            });
        };
        row.drain(..size_of_val(&version));
        Ok(Some((u64::from_be_bytes(version), row)))
    }

    /// At most `limit` rows with `from <= key < to`; `Backward` begins with the last of them.
    pub async fn scan(
        &self,
        table: Table,
        from: &[u8],
        to: &[u8],
        direction: Direction,
        limit: usize,
    ) -> Result<KeyValues, StoreError> {
        if from >= to || limit == 0 {
            return Ok(Vec::new());
        }
        #[cfg(feature = "simulation")]
        if self.0.nudge.is_some() {
            return self.0.shared.scan(table, from, to, direction, limit); // no threads
        }
        if limit <= STORE_SCAN_INLINE {
            return self.0.shared.scan(table, from, to, direction, limit);
        }
        let shared = self.0.shared.clone();
        let (from, to) = (from.to_vec(), to.to_vec());
        tokio::task::spawn_blocking(move || shared.scan(table, &from, &to, direction, limit))
            .await
            .unwrap_or_else(|error| {
                Err(StoreError::Unavailable {
                    reason: format!("a scan was cut short ({error})"),
                })
            })
    }

    /// Makes the commits that wait, then closes the backend and lets the directory go. Everything
    /// after it is refused. Returns whether the store could write to the end; `false` also when
    /// another call has closed it.
    pub async fn close(&self) -> bool {
        let (closed, answer) = oneshot::channel();
        match self.0.sender.send(Message::Close(Some(closed))) {
            Ok(()) => answer.await.unwrap_or(false),
            Err(_) => false,
        }
    }

    pub fn stats(&self) -> StoreStats {
        let shared = &self.0.shared;
        StoreStats {
            commits: shared.counters.commits.load(Relaxed),
            batches: shared.counters.batches.load(Relaxed),
            largest_batch: shared.counters.largest_batch.load(Relaxed),
            queue: shared.waiting(),
            available: shared.down.load().is_none(),
            damaged: shared.damage.load().is_some(),
            copy_lag: shared.tail.lag(),
        }
    }

    /// The identity of the store, as its backups have it; `None`: it is in memory.
    pub fn identity(&self) -> Option<Identity> {
        self.0.shared.opened.map(|opened| opened.store())
    }

    /// The damage that was found first since the store was opened, a sentence. The store still
    /// answers reads of undamaged rows.
    pub fn damage(&self) -> Option<Arc<String>> {
        self.0.shared.damage.load_full()
    }

    /// Notes damage that was found without reading through this store.
    pub fn report_damage(&self, what: &str) {
        self.0.shared.note_damage(what);
    }
}

impl Drop for Inner {
    /// Without the wait, opening the same directory right after would find it in use.
    fn drop(&mut self) {
        let _ = self.sender.send(Message::Close(None));
        let writer = self.writer.get_mut();
        if let Some(writer) = writer.take() {
            let _ = writer.join(); // a panic of the writer has been reported where it happened
        }
    }
}

impl Shared {
    fn new(kv: Box<dyn Kv>, tail: Arc<Tail>, opened: Option<Point>) -> Self {
        Self {
            kv: ArcSwapOption::from_pointee(kv),
            down: ArcSwapOption::empty(),
            damage: ArcSwapOption::empty(),
            queue: Semaphore::new(STORE_QUEUE),
            group_wait: GroupWait::default(),
            counters: Counters::default(),
            tail,
            opened,
        }
    }

    /// How many commits the writer has not decided on.
    fn waiting(&self) -> usize {
        STORE_QUEUE.saturating_sub(self.queue.available_permits())
    }

    fn mark_down(&self, reason: Option<String>) {
        self.down.store(reason.map(Arc::new));
    }

    fn note(&self, error: &KvError) {
        if error.is_damage() {
            self.note_damage(&error.to_string());
        }
    }

    fn note_damage(&self, what: &str) {
        let first = |known: &Option<Arc<String>>| match known {
            Some(known) => Arc::clone(known),
            None => Arc::new(what.to_owned()),
        };
        self.damage.rcu(|known| Some(first(known)));
    }

    fn reason(&self) -> String {
        match &*self.down.load() {
            Some(reason) => reason.to_string(),
            None => writer::STOPPED.to_owned(),
        }
    }

    fn read<T>(&self, read: impl FnOnce(&dyn Kv) -> Result<T, KvError>) -> Result<T, StoreError> {
        match &*self.kv.load() {
            Some(kv) => read(kv.as_ref().as_ref()).map_err(|error| {
                self.note(&error);
                error.into()
            }),
            None => Err(StoreError::Unavailable {
                reason: self.reason(),
            }),
        }
    }

    fn scan(
        &self,
        table: Table,
        from: &[u8],
        to: &[u8],
        direction: Direction,
        limit: usize,
    ) -> Result<KeyValues, StoreError> {
        let scan = Scan {
            table,
            from,
            to,
            direction,
            limit,
        };
        self.read(|kv| kv.scan(&scan))
    }
}

/// The end of the range of all keys that begin with `prefix`, for the `to` of a scan.
pub fn prefix_end(prefix: &[u8]) -> Vec<u8> {
    match prefix.iter().rposition(|&byte| byte != u8::MAX) {
        Some(last) => {
            let mut end = prefix[..=last].to_vec();
            end[last] += 1;
            end
        }
        None => vec![u8::MAX; STORE_KEY_BYTES + 1], // longer than any key, and nothing sorts behind it
    }
}

#[cfg(test)]
mod tests;
