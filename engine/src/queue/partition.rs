//! In-memory part of one queue: a window of due rows, and the rows in flight.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::backlog::Backlog;
use super::handler::{Item, QueueError, QueueHandler, StartTime};
use super::lanes::{Lane, ResponseSpeed};
use super::sooner;
use switchyard_core::time::Timestamp;
use switchyard_store::{Direction, Store, StoreError};

/// Dispatch state of one queue.
pub(super) struct Partition<H: QueueHandler> {
    /// Due rows that are not in flight, in order.
    window: VecDeque<Item<H>>,
    pub backlog: Backlog<H::Key, InFlight<H>>,
    /// Rows whose execution failed, with the end of their rest. They are in flight until then.
    resting: VecDeque<(Timestamp, H::Key)>,
    /// Whether the queue is in a lane and waits for its turn.
    pub is_ready: bool,
    /// Whether the last scan failed.
    pub is_failing: bool,
    pub speed: ResponseSpeed,
    /// Time of the next wake-up without another event.
    pub wake: Option<Timestamp>,
    /// Rate limit of the queue: nothing is started before this time.
    pub not_before: Option<Timestamp>,
}

/// Row in flight.
pub(super) struct InFlight<H: QueueHandler> {
    pub item: Arc<Item<H>>,
    /// `None`: its execution has failed, and the row rests.
    pub lane: Option<Lane>,
}

/// Next step of a queue.
pub(super) enum Next<H: QueueHandler> {
    Execute(Item<H>),
    /// Idle until this time.
    At(Timestamp),
    /// Idle: the queue is empty, or the next row waits for one in flight.
    Nothing,
}

/// Time of a step, and the due time up to which rows are executed.
#[derive(Clone, Copy)]
pub(super) struct ScanTime {
    pub now: Timestamp,
    pub until: Timestamp,
}

impl<H: QueueHandler> Default for Partition<H> {
    fn default() -> Self {
        Self {
            window: VecDeque::new(),
            backlog: Backlog::default(),
            resting: VecDeque::new(),
            is_ready: false,
            is_failing: false,
            speed: ResponseSpeed::default(),
            wake: None,
            not_before: None,
        }
    }
}

impl<H: QueueHandler> Partition<H> {
    /// Forgets the window and restarts the scan at the oldest row.
    pub fn restart(&mut self) {
        self.window.clear();
        self.backlog.restart();
    }

    /// Whether all rows that are due until `until` are in flight or handled.
    pub fn is_drained(&self, until: Timestamp) -> bool {
        self.window.is_empty() && !self.backlog.is_due(until)
    }

    /// Keeps the slot of a row whose execution failed until `until`.
    pub fn rest(&mut self, key: H::Key, until: Timestamp) {
        if let Some(in_flight) = self.backlog.value_mut(&key) {
            in_flight.lane = None;
            self.resting.push_back((until, key));
        }
    }

    /// Ends the rests that are over.
    pub fn end_rests(&mut self, now: Timestamp) {
        while let Some((_, key)) = self.resting.pop_front_if(|(until, _)| *until <= now) {
            if let Some(due) = self.backlog.end(&key) {
                self.backlog.added(due);
            }
        }
    }

    /// End of the first rest.
    pub fn rests_until(&self) -> Option<Timestamp> {
        self.resting.front().map(|(until, _)| *until)
    }

    /// Sets the earliest start of the next execution from the rate limit. Up to [`LATE_SCAN`] of
    /// delay is made up for, so that a late scan does not lower the rate.
    pub fn apply_rate_limit(&mut self, now: Timestamp, spacing: Duration) {
        let earliest = now.minus(LATE_SCAN);
        let from = self.not_before.map_or(now, |at| at.max(earliest));
        self.not_before = (!spacing.is_zero()).then(|| from.plus(spacing));
    }

    /// Takes the next row that may be executed from the window. Refills the window from the store
    /// when it has none.
    pub async fn next(
        &mut self,
        handler: &H,
        store: &Store,
        queue: H::Queue,
        moment: ScanTime,
    ) -> Result<Next<H>, QueueError> {
        let mut is_refilled = false;
        let later = loop {
            let mut later = None;
            let taken = self.take_from_window(handler, queue, moment.now, &mut later);
            if let Some(item) = taken.await? {
                return Ok(Next::Execute(item));
            }
            let is_blocked = is_refilled && !self.window.is_empty();
            if is_blocked || !self.backlog.is_due(moment.until) {
                break later;
            }
            self.fill(store, queue, moment).await?;
            is_refilled = true;
        };
        let next_due = sooner(self.backlog.next_due(moment.until), self.rests_until());
        Ok(sooner(later, next_due).map_or(Next::Nothing, Next::At))
    }

    async fn take_from_window(
        &mut self,
        handler: &H,
        queue: H::Queue,
        now: Timestamp,
        later: &mut Option<Timestamp>,
    ) -> Result<Option<Item<H>>, QueueError> {
        for place in 0..self.window.len() {
            let row = &self.window[place].row;
            let is_earlier = |in_flight: &InFlight<H>| H::waits_for(row, &in_flight.item.row);
            if self.backlog.values().any(is_earlier) {
                continue; // the next turn comes when that row ends
            }
            match handler.start_time(queue, row, now).await? {
                StartTime::Now => return Ok(self.window.remove(place)),
                StartTime::At(at) => *later = sooner(*later, Some(at)),
                StartTime::After(first) => {
                    self.window.retain(|item| item.key != first.key);
                    return Ok(Some(first));
                }
            }
        }
        Ok(None)
    }

    /// Replaces the window by the first due rows of the store that are not in flight.
    async fn fill(
        &mut self,
        store: &Store,
        queue: H::Queue,
        moment: ScanTime,
    ) -> Result<(), StoreError> {
        if let Some(first) = self.window.front() {
            self.backlog.added(first.due);
        }
        let mut scan = self.backlog.scan(H::WINDOW, moment.now, moment.until);
        let mut range = H::range(queue, scan.from);
        if H::POLLING.is_some() {
            // The next poll finds the rows that become due, so none of them is read before.
            let behind = moment.until.plus(Duration::from_micros(1));
            range = range.before(H::range(queue, behind));
        }
        let mut found = VecDeque::new();
        let is_full = loop {
            let (from, to) = (range.from(), range.to());
            let rows = store
                .scan(H::TABLE, from, to, Direction::Forward, scan.limit)
                .await
                .inspect_err(|_| self.backlog.failed(scan))?;
            let is_full = rows.len() == scan.limit;
            if let Some((last, _)) = rows.last() {
                range = range.behind_row(last);
            }
            for (key, value) in rows {
                let Some((_, id, due)) = H::read_key(&key) else {
                    let key = format_args!("{key:02x?}");
                    tracing::error!(actor = H::NAME, %key, "skipped a row with an unreadable key");
                    continue;
                };
                if self.backlog.finds(&mut scan, &id, due) {
                    found.push_back((key, value, id, due));
                }
            }
            if scan.is_over() || !is_full {
                break is_full;
            }
        };
        self.backlog.ended(scan, is_full);
        self.window.clear();
        for (key, value, id, due) in found {
            match H::read_row(&key, &value) {
                Ok(row) => self.window.push_back(Item::<H> { key: id, due, row }),
                Err(error) => {
                    tracing::error!(actor = H::NAME, ?queue, %error, "skipped an unreadable row");
                    self.backlog.leave_out(id);
                }
            }
        }
        Ok(())
    }
}

/// Delay of a scan that does not lower a queue's rate.
const LATE_SCAN: Duration = Duration::from_millis(20);
