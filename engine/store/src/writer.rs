//! The one thread that writes: group commit, and recovery of the backend when it fails.
//!
//! It takes all commits that wait, up to [`STORE_BATCH`], checks each in order against the stored
//! rows and the changes of those before it, gives the accepted ones to the backend as one batch
//! with one flush, and only then answers. When the backend fails, every commit of the group is
//! answered `Unavailable`, and until the backend is open again so is every other. The pause before
//! it is opened again grows while it keeps failing.
//!
//! A backend whose files were moved or replaced is not closed: nothing else has its commits. It
//! answers reads, and writes again when its files are back in their place.
//!
//! A backend that panics has failed like one that answers an error, also when it does so while it
//! is closed: the thread lives on and opens it again.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvError, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::batch::Batch;
use super::embedded::Shared;
use super::error::{CommitError, OpenError};
use super::group_commit::CommitLoad;
use super::kv::{Kv, KvError, Row, WriteFailed, contained};
use super::mark::Mark;
use super::point::Point;
use super::retry::{RETRY, Retry};
use super::rows::Rows;
use switchyard_core::limits::STORE_BATCH;

pub(super) enum Message {
    Commit(Request),
    /// Commits that were sent before are still made.
    Close(Option<oneshot::Sender<bool>>),
}

pub(super) struct Request {
    pub batch: Batch,
    pub reply: oneshot::Sender<Reply>,
}

pub(super) struct Reply {
    pub verdict: Result<(), CommitError>,
    /// Goes back to be freed where it was made: memory that one thread takes and another gives back
    /// costs both several times as much.
    pub _batch: Batch,
}

/// How to open the backend again after it has failed.
pub(super) struct Reopen {
    /// Tests whether a reopening can succeed, before the failed backend, which may still answer
    /// reads, is closed.
    pub probe: Box<dyn Fn() -> Result<(), OpenError> + Send>,
    pub open: Box<dyn Fn() -> Result<Box<dyn Kv>, OpenError> + Send>,
}

pub(super) struct Writer {
    shared: Arc<Shared>,
    receiver: Receiver<Message>,
    reopen: Reopen,
    /// The mark of a store on disk.
    mark: Option<Mark>,
    /// Set from a failure of the backend until it is open again.
    failure: Option<Failure>,
    retry: Retry,
    group: Vec<Request>,
    load: CommitLoad,
    /// Time of the last [`Writer::tick`].
    ticked: Instant,
}

struct Failure {
    reason: String,
    /// Puts the rows of the failed group back, should the backend find them in its log.
    undo: Vec<Row>,
    /// Whether the files of the open backend are not in their place. It is whole itself.
    is_displaced: bool,
}

type CheckResults = Vec<Result<(), CommitError>>;
/// Answers to a group, and its commit point if it changed rows.
type Written = (CheckResults, Option<Point>);

/// Reason for which a group was not committed.
enum Refused {
    Failed(WriteFailed),
    Down(String),
}

impl Writer {
    pub(super) fn new(
        shared: Arc<Shared>,
        receiver: Receiver<Message>,
        reopen: Reopen,
        mark: Option<Mark>,
    ) -> Self {
        Self {
            shared,
            receiver,
            reopen,
            mark,
            failure: None,
            retry: Retry::new(),
            group: Vec::with_capacity(STORE_BATCH),
            load: CommitLoad::default(),
            ticked: Instant::now(),
        }
    }

    /// Works until it is closed; then nothing of the store is open any more.
    pub(super) fn run(mut self) {
        let closed = loop {
            if let Some(failure) = self.failure.take() {
                thread::sleep(RETRY);
                self.failure = match self.retry.is_due() {
                    true => self.recover(failure),
                    false => Some(failure),
                };
            }
            let closing = self.gather();
            self.serve();
            if let Some(closed) = closing {
                break closed;
            }
        };
        let has_stored_all = self.failure.is_none();
        self.shared.mark_down(Some("it is closed".to_owned()));
        self.close_backend(has_stored_all);
        if let Some(mark) = &mut self.mark {
            mark.keep();
        }
        self.shared.damage.record();
        drop(self); // and with it the hold on the directory
        if let Some(closed) = closed {
            let _ = closed.send(has_stored_all); // whoever asked may have stopped waiting
        }
    }

    /// Commits the group, and answers each of it.
    fn serve(&mut self) {
        let mut group = std::mem::take(&mut self.group);
        let begun = Instant::now();
        let verdicts = self.decide(&group);
        self.load.record(self.shared.waiting(), begun.elapsed());
        self.shared.queue.add_permits(group.len());
        for (Request { batch, reply }, verdict) in group.drain(..).zip(verdicts) {
            let _ = reply.send(Reply {
                verdict,
                _batch: batch,
            }); // whoever asked may have stopped waiting
        }
        self.group = group;
        if self.tick_due_in() == Some(Duration::ZERO) {
            self.tick();
        }
    }

    /// Time until the next [`Self::tick`]. `None`: the store is not on disk.
    fn tick_due_in(&self) -> Option<Duration> {
        let due = || TICK.saturating_sub(self.ticked.elapsed());
        self.mark.as_ref().map(|_| due())
    }

    /// Work of once a second, also without commits: keeps the mark in its place and durable,
    /// records damage that could not be recorded, and verifies the place of the files.
    fn tick(&mut self) {
        self.ticked = Instant::now();
        if let Some(mark) = &mut self.mark {
            mark.keep();
        }
        self.shared.damage.record();
        if self.failure.is_none()
            && let Err(error @ (KvError::NotInPlace(_) | KvError::IndexNotInPlace)) =
                self.verify_place()
        {
            self.fail(WriteFailed {
                readable: matches!(error, KvError::NotInPlace(_)),
                error,
                undo: Vec::new(),
            });
        }
    }

    /// Whether the files of the open backend are in their place.
    fn verify_place(&self) -> Result<(), KvError> {
        match self.shared.kv.load_full() {
            Some(kv) => contained(|| kv.verify_place()),
            None => Ok(()),
        }
    }

    /// Whether the backend has to be opened again.
    #[cfg(feature = "simulation")]
    pub(super) fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// One round of [`Self::run`] that waits for nothing: for a writer without a thread.
    #[cfg(feature = "simulation")]
    pub(super) fn turn(&mut self) {
        if let Some(failure) = self.failure.take() {
            self.failure = self.recover(failure);
        }
        while self.group.len() < STORE_BATCH
            && let Ok(Message::Commit(request)) = self.receiver.try_recv()
        {
            self.group.push(request);
        }
        self.serve();
    }

    /// Fills the group with what waits. Blocks for the first commit, except when a failed backend
    /// waits to be reopened. Answers `Some` when the store is to be closed after this group.
    fn gather(&mut self) -> Option<Option<oneshot::Sender<bool>>> {
        let mut next = match self.failure {
            None => match self.wait_for_message() {
                Ok(message) => message,
                Err(_) => return Some(None),
            },
            Some(_) => self.receiver.try_recv().ok(),
        };
        // Under load further commits arrive soon. Sharing the flush saves more than the delay
        // costs.
        if let Some(wanted) = self.load.wanted() {
            let shared = &self.shared;
            let timeout = self.load.timeout();
            shared.group_wait.wait(wanted, timeout, || shared.waiting());
        }
        loop {
            match next? {
                Message::Close(closed) => return Some(closed),
                Message::Commit(request) => self.group.push(request),
            }
            if self.group.len() == STORE_BATCH {
                return None;
            }
            next = self.receiver.try_recv().ok();
        }
    }

    /// Blocks for the next message, and ticks until it comes. `None`: the backend has failed.
    fn wait_for_message(&mut self) -> Result<Option<Message>, RecvError> {
        while let Some(due) = self.tick_due_in() {
            match self.receiver.recv_timeout(due) {
                Ok(message) => return Ok(Some(message)),
                Err(RecvTimeoutError::Disconnected) => return Err(RecvError),
                Err(RecvTimeoutError::Timeout) => self.tick(),
            }
            if self.failure.is_some() {
                return Ok(None);
            }
        }
        self.receiver.recv().map(Some)
    }

    /// Commits the group, and says what to answer to each of it.
    fn decide(&mut self, group: &[Request]) -> CheckResults {
        if group.is_empty() {
            return Vec::new();
        }
        let reason = match self.try_write(group) {
            Ok((verdicts, reached)) => {
                if let Some((mark, point)) = self.mark.as_mut().zip(reached) {
                    mark.advance(point);
                }
                self.count(&verdicts);
                return verdicts;
            }
            Err(Refused::Failed(failed)) => self.fail(failed),
            Err(Refused::Down(reason)) => reason,
        };
        let unavailable = || CommitError::Unavailable {
            reason: reason.clone(),
        };
        group.iter().map(|_| Err(unavailable())).collect()
    }

    /// Writes a group. The reference to the backend ends with this call: a failed backend is closed
    /// with its last reference.
    fn try_write(&self, group: &[Request]) -> Result<Written, Refused> {
        if let Some(failure) = &self.failure {
            return Err(Refused::Down(failure.reason.clone()));
        }
        match self.shared.kv.load_full() {
            Some(kv) => {
                let next = self.mark.as_ref().map(Mark::next);
                write(kv.as_ref().as_ref(), &self.shared, group, next).map_err(Refused::Failed)
            }
            None => Err(Refused::Down(self.shared.reason())),
        }
    }

    fn count(&self, verdicts: &[Result<(), CommitError>]) {
        let made = verdicts.iter().filter(|verdict| verdict.is_ok()).count() as u64;
        if made > 0 {
            let counters = &self.shared.counters;
            counters.commits.fetch_add(made, Relaxed);
            counters.batches.fetch_add(1, Relaxed);
            counters.largest_batch.fetch_max(made, Relaxed);
            // Never more than fits: a batch has at most STORE_BATCH.
            metrics::histogram!("switchyard_store_batch_commits").record(made as f64);
        }
    }

    /// Notes that the backend has failed, and answers the reason to give.
    fn fail(&mut self, failed: WriteFailed) -> String {
        let reason = failed.error.to_string();
        self.shared.note(&failed.error);
        self.failure = Some(Failure {
            reason: reason.clone(),
            undo: failed.undo,
            is_displaced: matches!(failed.error, KvError::NotInPlace(_)),
        });
        self.retry.note_failure();
        self.shared.mark_down(Some(reason.clone()));
        if let Some(mark) = &mut self.mark {
            // The mark may have been replaced with the files of the store.
            mark.keep();
        }
        if !failed.readable {
            self.close_backend(false);
        }
        tracing::error!(store.reason = %reason, "the store cannot write, retrying until it can");
        reason
    }

    /// Opens the failed backend again, reverts unacknowledged commits, and only then lets readers
    /// use it.
    fn recover(&mut self, failure: Failure) -> Option<Failure> {
        match contained(|| self.open_again(&failure)) {
            Ok(opened) => {
                if let Some(kv) = opened {
                    self.shared.kv.store(Some(Arc::new(kv)));
                }
                self.shared.mark_down(None);
                self.retry.note_recovery();
                tracing::info!("the store writes again");
                None
            }
            Err(error) => {
                self.retry.note_failure();
                let reason = error.to_string();
                if reason != failure.reason {
                    self.shared.note(&error);
                }
                self.shared.mark_down(Some(reason.clone()));
                Some(Failure { reason, ..failure })
            }
        }
    }

    /// `None`: the open backend goes on.
    fn open_again(&self, failure: &Failure) -> Result<Option<Box<dyn Kv>>, KvError> {
        match self.verify_place() {
            Ok(()) if failure.is_displaced => return Ok(None),
            Ok(()) | Err(KvError::IndexNotInPlace) => {}
            Err(displaced) => return Err(displaced),
        }
        (self.reopen.probe)().map_err(describe)?;
        self.close_backend(false);
        let kv = (self.reopen.open)().map_err(describe)?;
        // Before any write: one into a log that ends too early would overwrite other commits.
        if let Some(mark) = &self.mark
            && let Err(behind) = mark.check(kv.as_ref())
        {
            close(kv, false);
            return Err(describe(behind));
        }
        let undo: Vec<_> = failure.undo.iter().map(Row::change).collect();
        if !undo.is_empty()
            && let Err(again) = change(|| kv.undo(&undo))
        {
            close(kv, false);
            return Err(again.error);
        }
        Ok(Some(kv))
    }

    /// Takes the backend from the readers, waits for those that are in it, and closes it, in order
    /// unless it has failed.
    fn close_backend(&self, in_order: bool) {
        let Some(mut kv) = self.shared.kv.swap(None) else {
            return;
        };
        while let Err(shared) = Arc::try_unwrap(kv).map(|kv| close(kv, in_order)) {
            kv = shared;
            thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for Writer {
    /// Answers all queued commits, however the writer ends.
    fn drop(&mut self) {
        if self.shared.down.load().is_none() {
            self.shared.mark_down(Some(STOPPED.to_owned()));
        }
        self.shared.queue.close();
        self.shared.tail.close();
    }
}

fn write(
    kv: &dyn Kv,
    shared: &Shared,
    group: &[Request],
    next: Option<Point>,
) -> Result<Written, WriteFailed> {
    let (verdicts, rows) =
        contained(|| evaluate(kv, shared, group)).map_err(|error| WriteFailed {
            error,
            undo: Vec::new(), // nothing was written
            readable: true,
        })?;
    let mut changes = rows.changes;
    for (&at, sum) in &rows.sums {
        changes[at].value = sum.iter().any(|&byte| byte != 0).then_some(sum);
    }
    if changes.is_empty() {
        return Ok((verdicts, None));
    }
    let sequence = next.as_ref().map(Point::row);
    changes.extend(sequence.as_ref().map(Point::change));
    change(|| kv.write(&changes))?;
    Ok((verdicts, next))
}

/// Backends contain the panics they know of, and then say what to undo. After any other the backend
/// may show anything.
fn change(write: impl FnOnce() -> Result<(), WriteFailed>) -> Result<(), WriteFailed> {
    contained(|| Ok(write())).unwrap_or_else(|error| {
        Err(WriteFailed {
            error,
            undo: Vec::new(),
            readable: false,
        })
    })
}

/// Closes a backend. Backends write when they are closed, and sled panics when it cannot; unwinding
/// still closes its file.
fn close(kv: Box<dyn Kv>, in_order: bool) {
    let closed = contained(|| match in_order {
        true => kv.finish(),
        false => {
            drop(kv);
            Ok(())
        }
    });
    if let Err(error) = closed {
        tracing::warn!(store.reason = %error, "the store was not closed in order");
    }
}

/// Checks each commit against the rows as those before it leave them, and gathers the last change
/// of each row.
fn evaluate<'a>(
    kv: &dyn Kv,
    shared: &Shared,
    requests: &'a [Request],
) -> Result<(CheckResults, Rows<'a>), KvError> {
    let mut rows = Rows::with_capacity(requests.iter().map(|request| request.batch.len()).sum());
    let mut verdicts = Vec::with_capacity(requests.len());
    for Request { batch, .. } in requests {
        verdicts.push(match rows.take(kv, batch) {
            Ok(true) => Ok(()),
            Ok(false) => Err(CommitError::Conflict),
            // Only the commits that need a damaged row are refused.
            Err(damaged @ KvError::Damaged { .. }) => {
                shared.note(&damaged);
                Err(CommitError::Unavailable {
                    reason: damaged.to_string(),
                })
            }
            Err(error) => return Err(error),
        });
    }
    Ok((verdicts, rows))
}

/// An error with its cause, in one sentence.
fn describe(error: OpenError) -> KvError {
    let text = match std::error::Error::source(&error) {
        Some(source) => format!("{error} ({source})"),
        None => error.to_string(),
    };
    match error {
        OpenError::Behind { .. }
        | OpenError::ForeignMark { .. }
        | OpenError::DamagedLog { .. }
        | OpenError::DamagedDatabase { .. } => KvError::NotInPlace(text),
        _ => KvError::Failed(text),
    }
}

pub(super) const STOPPED: &str = "its writer has stopped, restart the program";
/// Longest time by which the mark on the disk may be older than the acknowledged commits.
const TICK: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::sync::mpsc;

    use super::*;
    use crate::kv::memory::Memory;
    use crate::mark::KnownLoss;

    /// A writer of a store whose mark is in `folder`.
    fn writer(folder: &Path) -> (Writer, mpsc::Sender<Message>) {
        let place = folder.join("store");
        let mark = Mark::open(&place, &Memory::default(), KnownLoss::default()).unwrap();
        let shared = Shared::new(Box::new(Memory::default()), Arc::default(), Some(&mark));
        let reopen = Reopen {
            probe: Box::new(|| Ok(())),
            open: Box::new(|| Ok(Box::new(Memory::default()))),
        };
        let (sender, receiver) = mpsc::channel();
        let writer = Writer::new(Arc::new(shared), receiver, reopen, Some(mark));
        (writer, sender)
    }

    /// Waits for messages until it is told to close, 1.5 seconds later.
    fn wait(writer: &mut Writer, sender: mpsc::Sender<Message>) {
        let closing = thread::spawn(move || {
            thread::sleep(Duration::from_millis(1_500));
            sender.send(Message::Close(None))
        });
        let message = writer.wait_for_message();
        assert!(matches!(message, Ok(Some(Message::Close(None)))));
        closing.join().unwrap().unwrap();
    }

    #[test]
    fn a_writer_without_work_makes_its_mark_durable_within_a_second() {
        let folder = tempfile::tempdir().unwrap();
        let (mut writer, sender) = writer(folder.path());
        let mark = writer.mark.as_mut().unwrap();
        mark.advance(mark.next());
        assert!(!mark.is_flushed());
        wait(&mut writer, sender);
        assert!(writer.mark.as_ref().unwrap().is_flushed());
    }

    #[test]
    fn a_writer_without_work_records_damage_that_could_not_be_recorded() {
        let folder = tempfile::tempdir().unwrap();
        let (mut writer, sender) = writer(folder.path());
        let record = folder.path().join("store.damage");
        fs::create_dir(&record).unwrap();
        writer.shared.damage.note("a row is damaged");
        fs::remove_dir(&record).unwrap();
        wait(&mut writer, sender);
        let recorded = fs::read_to_string(&record).unwrap();
        assert!(recorded.contains("a row is damaged"), "{recorded}");
    }

    #[tokio::test(start_paused = true)]
    async fn the_mark_is_flushed_once_a_second_while_groups_are_committed() {
        let folder = tempfile::tempdir().unwrap();
        let (mut writer, _sender) = writer(folder.path());
        let (mut flushes, mut since) = (0, Instant::now());
        for _ in 0..1_000 {
            let mark = writer.mark.as_mut().unwrap();
            mark.advance(mark.next());
            writer.serve();
            if writer.mark.as_ref().unwrap().is_flushed() {
                flushes += 1;
                assert_eq!(since.elapsed(), TICK);
                since = Instant::now();
            }
            tokio::time::advance(Duration::from_millis(10)).await;
        }
        assert_eq!(
            flushes, 9,
            "in ten seconds, of which the first flush ends the first"
        );
    }
}
