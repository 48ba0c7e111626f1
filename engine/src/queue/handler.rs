//! Interface between the queue actor and the code that executes the rows of one kind of queue.

use std::fmt::Debug;
use std::time::Duration;

use super::actor::Queue;
use super::backlog::Found;
use switchyard_core::time::Timestamp;
use switchyard_store::{KeyRange, Table};

/// Error of a handler. The actor logs it and tries again after [`QueueHandler::REST`].
pub(crate) type QueueError = Box<dyn std::error::Error + Send + Sync>;

/// Row of a handler's queue.
pub(crate) type Item<H> = Found<<H as QueueHandler>::Key, <H as QueueHandler>::Row>;

/// Properties of one kind of queue, and the execution of its rows. The actor does the rest.
pub(crate) trait QueueHandler: Send + Sync + Sized + 'static {
    /// Identity of a queue. Each has its own order, low-water mark and concurrency limit.
    type Queue: Ord + Copy + Debug + Send + 'static;
    /// Identity of a row within its queue.
    type Key: Ord + Clone + Debug + Send + Sync + 'static;
    /// Content of a row.
    type Row: Send + Sync + 'static;

    /// Name of the actor in metrics and logs.
    const NAME: &'static str;
    /// Capacity of the mailbox, in messages.
    const MAILBOX: usize;
    const TABLE: Table;
    const LANES: LaneLimits;
    /// Maximum number of due rows in memory for each queue, besides those in flight.
    const WINDOW: usize = 16;
    /// Pause before a row is executed again that was not removed, and before a failed scan is
    /// repeated.
    const REST: Duration;
    /// Label of the metrics of depth and age. `None`: they are not measured.
    const MEASURED: Option<&'static str> = None;
    /// Schedule of the scans of a queue whose rows are added without a wake-up.
    const POLLING: Option<Polling<Self::Queue>> = None;

    /// Handle of the actor.
    fn queue(&self) -> &Queue<Self>;

    /// Key range of all queues.
    fn all() -> KeyRange;
    /// Key range of a queue's rows that are due at `from` or later.
    fn range(queue: Self::Queue, from: Timestamp) -> KeyRange;
    /// Queue, identity and due time in a key. `None`: it cannot be read.
    fn read_key(key: &[u8]) -> Option<(Self::Queue, Self::Key, Timestamp)>;
    fn read_row(key: &[u8], value: &[u8]) -> Result<Self::Row, QueueError>;
    /// Time at which a row was first added, for the metric of the age.
    fn enqueued_at(_: &Self::Row) -> Option<Timestamp> {
        None
    }

    fn limits(&self, _: Self::Queue) -> QueueLimits {
        QueueLimits::default()
    }

    /// Whether `row` waits for the end of `other`, which is in flight in the same queue.
    fn waits_for(_: &Self::Row, _: &Self::Row) -> bool {
        false
    }

    /// Whether a due row may be executed now.
    fn start_time(
        &self,
        _: Self::Queue,
        _: &Self::Row,
        _: Timestamp,
    ) -> impl Future<Output = Result<StartTime<Self>, QueueError>> {
        async { Ok(StartTime::Now) }
    }

    /// Executes a row, and makes the result durable.
    fn execute(
        &self,
        queue: Self::Queue,
        item: &Item<Self>,
    ) -> impl Future<Output = Executed> + Send;

    /// Waits, after the slot of an executed row is free, until the row is to be executed again
    /// before its due time. `false`: it is not.
    fn resumes(&self, _: Self::Queue, _: &Item<Self>) -> impl Future<Output = bool> + Send {
        async { false }
    }

    /// Records that the execution of a row panicked.
    fn panicked(&self, _: Self::Queue, _: &Item<Self>) -> impl Future<Output = RowState> + Send {
        async { RowState::Unchanged }
    }
}

/// State of a row after its execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowState {
    /// The row is deleted.
    Removed,
    /// The row may be in the queue again, due at this time or later.
    DueAt(Timestamp),
    /// The row is unchanged, because its execution failed. It keeps its slot for
    /// [`QueueHandler::REST`]; then it is read and executed again.
    Unchanged,
    /// The row may still be there. A scan after [`QueueHandler::REST`], and not before its due
    /// time, executes it again.
    StillThere,
    /// Any row of the queue may be changed: the scan starts again at the oldest.
    QueueChanged,
}

/// Result of an execution.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Executed {
    pub row: RowState,
    /// Response time of the other side, which determines the lane. `None`: there was no request.
    pub took: Option<Duration>,
}

impl From<RowState> for Executed {
    fn from(row: RowState) -> Self {
        Self { row, took: None }
    }
}

/// Decision about a due row.
pub(crate) enum StartTime<H: QueueHandler> {
    Now,
    /// Not before this time.
    At(Timestamp),
    /// Another row of the queue goes first.
    After(Item<H>),
}

/// Limits of one queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueueLimits {
    pub concurrency: usize,
    /// Minimum time between two starts.
    pub spacing: Duration,
}

impl Default for QueueLimits {
    fn default() -> Self {
        Self {
            concurrency: usize::MAX,
            spacing: Duration::ZERO,
        }
    }
}

/// Concurrency limits of all queues of a handler.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaneLimits {
    pub quick: usize,
    /// Lane of the queues whose last response was slow, so that they take no slot from the others.
    pub slow: Option<SlowLane>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct SlowLane {
    /// Response time from which a queue is slow.
    pub after: Duration,
    pub limit: usize,
    /// Limit including the executions that moved to it because they did not end in time.
    pub max: usize,
}

/// Schedule of the scans of a queue whose rows are added without a wake-up, and may be stored after
/// their due time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Polling<Q> {
    pub queue: Q,
    /// Interval of the scans.
    pub every: Duration,
    /// Time before the last scan from which each scan reads.
    pub overlap: Duration,
    /// Interval of the scans that read from `back` before now.
    pub back_every: Duration,
    pub back: Duration,
    /// Interval of the scans that read all due rows.
    pub all_every: Duration,
    /// Time after now up to which the first scan reads.
    pub ahead: Duration,
}
