//! Store in this process: one writer thread over a backend ([`super::kv`]). Reads run on the caller's
//! thread, long scans on a thread of their own.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use arc_swap::ArcSwapOption;
use async_trait::async_trait;
use parking_lot::Mutex;
use switchyard_core::limits::{STORE_QUEUE, STORE_SCAN_INLINE};
use tokio::sync::{Semaphore, oneshot};

use super::damage::FoundDamage;
use super::group_commit::GroupWait;
#[cfg(any(test, feature = "testing"))]
use super::kv::mortal::CrashingKv;
use super::kv::sqlite::tail::Tail;
use super::kv::{self, Kv, KvError, Scan};
use super::mark::{KnownLoss, Mark, MarkPlace};
use super::place::{self, StoreDirectory};
use super::point::Point;
use super::writer::{self, Message, Reopen, Request, Writer};
use super::{
    Backend, Batch, CommitError, Direction, Identity, KeyValues, OpenError, Storage, Store,
    StoreError, StoreSettings, StoreStats, Table,
};

/// Store over a backend, with the handle of its writer.
pub struct Embedded {
    shared: Arc<Shared>,
    sender: Sender<Message>,
    /// `None`: the writer has no thread of its own.
    writer: Mutex<Option<thread::JoinHandle<()>>>,
}

/// State that the handles and the writer share.
pub struct Shared {
    /// `None` while the backend is being reopened, and after the store is closed.
    pub kv: ArcSwapOption<Box<dyn Kv>>,
    /// Reason for which the store cannot be used now.
    pub down: ArcSwapOption<String>,
    pub damage: FoundDamage,
    /// Places in the writer's queue. A commit takes one, the writer gives it back.
    pub queue: Semaphore,
    pub group_wait: GroupWait,
    pub counters: Counters,
    /// The log of the SQLite backend, for its continuous copy.
    pub tail: Arc<Tail>,
    /// The last commit group when the store was opened; `None` for a store without a mark.
    pub opened: Option<Point>,
}

#[derive(Default)]
pub struct Counters {
    pub commits: AtomicU64,
    pub batches: AtomicU64,
    pub largest_batch: AtomicU64,
}

/// Log of an open store, for its continuous copy.
pub struct WriteAheadLog {
    pub(super) tail: Arc<Tail>,
    /// Last commit group when the store was opened.
    pub(super) opened: Option<Point>,
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
    /// store that ends before its copy gets a restore record: see [`super::Restored`].
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
                Box::new(move || backend.reopen(&place, cache_bytes, &tail))
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
        let backend = settings.backend;
        let kv = backend.open(&place, settings.cache_bytes, &tail)?;
        let mark = Mark::open(&settings.path, kv.as_ref(), known)?;
        Embedded::start(kv, reopen, Some(mark), tail).map(Self::over)
    }

    /// A store in memory, which forgets everything when it is dropped.
    pub fn memory() -> Self {
        let reopen = Reopen {
            probe: Box::new(|| Ok(())),
            open: Box::new(|| Ok(Box::new(kv::memory::Memory::default()))),
        };
        match Embedded::start(
            Box::new(kv::memory::Memory::default()),
            reopen,
            None,
            Arc::default(),
        ) {
            Ok(store) => Self::over(store),
            Err(error) => panic!("{error}"), // the machine gives no more threads to a process that has hardly any
        }
    }

    /// The store of a process that may die.
    #[cfg(any(test, feature = "testing"))]
    pub(super) fn on(process: &CrashingKv) -> Self {
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
        match Embedded::start(Box::new(process.clone()), reopen, None, Arc::default()) {
            Ok(store) => Self::over(store),
            Err(error) => panic!("{error}"), // as for a store in memory
        }
    }
}

impl Embedded {
    pub fn start(
        kv: Box<dyn Kv>,
        reopen: Reopen,
        mark: Option<Mark>,
        tail: Arc<Tail>,
    ) -> Result<Self, OpenError> {
        let shared = Arc::new(Shared::new(kv, tail, mark.as_ref()));
        let (sender, receiver) = channel();
        let writer = Writer::new(shared.clone(), receiver, reopen, mark);
        let writer = thread::Builder::new()
            .name("store writer".to_owned())
            .spawn(move || writer.run())
            .map_err(|error| OpenError::Backend {
                path: PathBuf::new(),
                reason: format!("no thread can be started ({error})"),
            })?;
        Ok(Self::new(shared, sender, Some(writer)))
    }

    pub fn new(
        shared: Arc<Shared>,
        sender: Sender<Message>,
        writer: Option<thread::JoinHandle<()>>,
    ) -> Self {
        Self {
            shared,
            sender,
            writer: Mutex::new(writer),
        }
    }

    /// Gives a batch to the writer. Waits while its queue is full.
    ///
    /// # Errors
    /// When the writer has stopped.
    pub async fn submit(
        &self,
        batch: Batch,
    ) -> Result<oneshot::Receiver<writer::Reply>, CommitError> {
        let place = self.shared.queue.acquire().await;
        place.map_err(|_| self.stopped())?.forget(); // the writer gives it back
        let (reply, answer) = oneshot::channel();
        let request = Message::Commit(Request { batch, reply });
        self.sender.send(request).map_err(|_| self.stopped())?;
        Ok(answer)
    }

    /// Result of a submitted batch.
    ///
    /// # Errors
    /// As [`Storage::commit`].
    pub async fn verdict(
        &self,
        answer: oneshot::Receiver<writer::Reply>,
    ) -> Result<(), CommitError> {
        match answer.await {
            Ok(reply) => reply.verdict,
            Err(_) => Err(self.stopped()),
        }
    }

    #[cfg(feature = "simulation")]
    pub fn shared(&self) -> &Shared {
        &self.shared
    }

    fn stopped(&self) -> CommitError {
        CommitError::Unavailable {
            reason: self.shared.reason(),
        }
    }
}

#[async_trait]
impl Storage for Embedded {
    async fn commit(&self, batch: Batch) -> Result<(), CommitError> {
        let answer = self.submit(batch).await?;
        let shared = &self.shared;
        shared.group_wait.joined(|| shared.waiting());
        self.verdict(answer).await
    }

    async fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.shared.read(|kv| kv.get(table, key))
    }

    async fn scan(
        &self,
        table: Table,
        from: &[u8],
        to: &[u8],
        direction: Direction,
        limit: usize,
    ) -> Result<KeyValues, StoreError> {
        if limit <= STORE_SCAN_INLINE {
            return self.shared.scan(table, from, to, direction, limit);
        }
        let shared = self.shared.clone();
        let (from, to) = (from.to_vec(), to.to_vec());
        tokio::task::spawn_blocking(move || shared.scan(table, &from, &to, direction, limit))
            .await
            .unwrap_or_else(|error| {
                Err(StoreError::Unavailable {
                    reason: format!("a scan was cut short ({error})"),
                })
            })
    }

    async fn close(&self) -> bool {
        let (closed, answer) = oneshot::channel();
        match self.sender.send(Message::Close(Some(closed))) {
            Ok(()) => answer.await.unwrap_or(false),
            Err(_) => false,
        }
    }

    fn stats(&self) -> StoreStats {
        let shared = &self.shared;
        StoreStats {
            commits: shared.counters.commits.load(Relaxed),
            batches: shared.counters.batches.load(Relaxed),
            largest_batch: shared.counters.largest_batch.load(Relaxed),
            queue: shared.waiting(),
            available: shared.down.load().is_none(),
            damaged: shared.damage.is_some(),
            copy_lag: shared.tail.lag(),
        }
    }

    fn identity(&self) -> Option<Identity> {
        self.shared.opened.map(|opened| opened.store)
    }

    fn damage(&self) -> Option<Arc<String>> {
        self.shared.damage.first()
    }

    fn report_damage(&self, what: &str) {
        self.shared.damage.note(what);
    }

    fn write_ahead_log(&self) -> Option<WriteAheadLog> {
        Some(WriteAheadLog {
            tail: self.shared.tail.clone(),
            opened: self.shared.opened,
        })
    }
}

impl Drop for Embedded {
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
    pub fn new(kv: Box<dyn Kv>, tail: Arc<Tail>, mark: Option<&Mark>) -> Self {
        let (opened, damage) = match mark {
            Some(mark) => (Some(mark.reached()), mark.found_damage()),
            None => (None, FoundDamage::default()),
        };
        Self {
            kv: ArcSwapOption::from_pointee(kv),
            down: ArcSwapOption::empty(),
            damage,
            queue: Semaphore::new(STORE_QUEUE),
            group_wait: GroupWait::default(),
            counters: Counters::default(),
            tail,
            opened,
        }
    }

    /// How many commits the writer has not decided on.
    pub fn waiting(&self) -> usize {
        STORE_QUEUE.saturating_sub(self.queue.available_permits())
    }

    pub fn mark_down(&self, reason: Option<String>) {
        self.down.store(reason.map(Arc::new));
    }

    pub fn note(&self, error: &KvError) {
        if !error.is_damage() {
            return;
        }
        if !matches!(error, KvError::Damaged { .. }) {
            tracing::error!(damage = %error, "store damaged");
        }
        self.damage.note(&error.to_string());
    }

    pub fn reason(&self) -> String {
        match &*self.down.load() {
            Some(reason) => reason.to_string(),
            None => writer::STOPPED.to_owned(),
        }
    }

    pub fn read<T>(
        &self,
        read: impl FnOnce(&dyn Kv) -> Result<T, KvError>,
    ) -> Result<T, StoreError> {
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

    pub fn scan(
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
