//! Queue of timers: wakes transactions when their time has come.
//!
//! Timers are in the store, so a million waiting transactions cost no memory. A wake-up does not
//! remove its timer, the next commit of its transaction does. A timer is added without a wake-up of
//! the queue, and may be stored after its time; so the queue is polled.
//!
//! The first scan also reads ahead: a submission of an earlier process has no owner, and is recovered
//! before its watch time. What is woken before its time does what it can do by then, and nothing
//! else.

use std::time::Duration;

use crate::engine::{Engine, EngineError};
use crate::queue::{
    Executed, Item, LaneLimits, Polling, Queue, QueueContext, QueueError, QueueHandler,
    QueueLimits, RowState,
};
use switchyard_core::limits::{SCHEDULER_MAILBOX, SCHEDULER_WAKES};
use switchyard_core::time::Timestamp;
use switchyard_core::transaction::{Command, GATEWAY_WATCH};
use switchyard_records::{self as records, Due};
use switchyard_store::{KeyRange, Table};

pub(crate) struct TimerQueue(Engine);

/// Starts the queue of timers, beginning with those that fell due while no process ran.
pub(crate) fn start_timers(engine: &Engine) {
    let context = QueueContext {
        store: engine.store().clone(),
        clock: engine.clock().clone(),
        runtime: engine.runtime().clone(),
    };
    let handler = TimerQueue(engine.clone());
    let arbiter = engine.threads().arbiter();
    engine.timers().start(arbiter, context, handler);
}

impl QueueHandler for TimerQueue {
    type Queue = ();
    type Key = Due;
    type Row = ();

    const NAME: &'static str = "scheduler";
    const MAILBOX: usize = SCHEDULER_MAILBOX;
    const TABLE: Table = Table::Timer;
    const LANES: LaneLimits = LaneLimits {
        quick: SCHEDULER_WAKES,
        slow: None,
    };
    const WINDOW: usize = 1_000;
    const REST: Duration = Duration::from_secs(5);
    const POLLING: Option<Polling<()>> = Some(Polling {
        queue: (),
        every: Duration::from_millis(200),
        // Longer than most commits take between their decision and their flush.
        overlap: Duration::from_secs(2),
        // Longer than any commit can take.
        back_every: Duration::from_secs(5),
        back: Duration::from_secs(60),
        // For transactions whose wake-up failed. A longer scan passes more tombstones.
        all_every: Duration::from_secs(30),
        ahead: GATEWAY_WATCH,
    });

    fn queue(&self) -> &Queue<Self> {
        self.0.timers()
    }

    fn all() -> KeyRange {
        records::timers_from(Timestamp::default())
    }

    fn range((): (), from: Timestamp) -> KeyRange {
        records::timers_from(from)
    }

    fn read_key(key: &[u8]) -> Option<((), Due, Timestamp)> {
        let timer = records::read_timer(key)?;
        Some(((), timer, timer.at))
    }

    fn read_row(_: &[u8], _: &[u8]) -> Result<(), QueueError> {
        Ok(())
    }

    fn limits(&self, (): ()) -> QueueLimits {
        #[cfg(test)]
        self.0.faults().inject_panic("timers");
        QueueLimits::default()
    }

    async fn execute(&self, (): (), item: &Item<Self>) -> Executed {
        let (engine, transaction) = (&self.0, item.key.transaction);
        if engine.waits_for_release(transaction) {
            return RowState::StillThere.into();
        }
        #[cfg(test)]
        engine.faults().inject_panic("wake");
        let woken = engine.registry().send(engine, transaction, Command::Wake);
        match woken.await {
            Ok(_) | Err(EngineError::Refused(_) | EngineError::Stopping) => {}
            Err(error) => tracing::error!(
                transaction.id = %transaction,
                %error,
                "failed to wake a transaction, retrying"
            ),
        }
        RowState::StillThere.into()
    }
}
