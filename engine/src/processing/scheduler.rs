//! The scheduler: wakes transactions when their time has come, sends idle actors to rest, and deletes what sandbox keeps no longer.
//!
//! Timers are in the store, so a million waiting transactions cost no memory. A scan reads the timers
//! that fell due since the last one, several times a second; the last minute every few seconds, for
//! timers that were stored after their time; and the whole table at the start and every 30 seconds,
//! for transactions whose wake-up failed. A longer scan passes more tombstones.
//!
//! The first scan also reads ahead: a submission of an earlier process has no owner, and is recovered
//! before its watch time.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use futures_util::FutureExt as _;
use parking_lot::Mutex;
use tokio::sync::Semaphore;

use crate::callback;
use crate::engine::{Engine, EngineError};
use crate::idempotency;
use crate::mail;
use crate::runtime::Snapshot;
use switchyard_core::limits::{SCHEDULER_MAILBOX, SCHEDULER_WAKES};
use switchyard_core::time::Timestamp;
use switchyard_core::transaction::{Command, GATEWAY_WATCH};
use switchyard_records::{self as records, Due, TimerCursor};

/// How often due timers are looked for.
const TICK: Duration = Duration::from_millis(200);
/// How far a look reaches back behind the last one: longer than most commits take between their decision and their flush.
const OVERLAP: Duration = Duration::from_secs(2);
/// How often a look reaches back further, and how far: longer than any commit can take.
const LOOK_BACK_EVERY: Duration = Duration::from_secs(5);
const LOOK_BACK: Duration = Duration::from_secs(60);
/// How often the whole past is read.
const FULL_LOOK: Duration = Duration::from_secs(30);
/// Timers read at once.
const CHUNK: usize = 1_000;
/// A timer that is still there after its wake-up is tried again after this long.
const RETRY: Duration = Duration::from_secs(5);
/// Seconds by which two clocks may be apart that were read one after the other.
const CLOCK_DRIFT: i64 = 2;
/// How often sandbox is swept.
const SWEEP: Duration = Duration::from_secs(60 * 60);

pub(crate) struct Scheduler {
    engine: Engine,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// Timers that were handed out, and when they may be handed out again.
    asked: HashMap<Due, Timestamp>,
    last_look: Option<Timestamp>,
    last_look_back: Option<Timestamp>,
    last_full_look: Option<Timestamp>,
    last_sweep: Option<Timestamp>,
    sweeping: bool,
    last_rest: Option<Timestamp>,
    /// Seconds by which the machine's clock was set since the start.
    clock_set_by: i64,
    wakes: u64,
    purged: u64,
}

impl State {
    /// From where the look at `now` reads. Notes that it was made.
    fn reach(&mut self, now: Timestamp) -> Timestamp {
        let is_due = |last: Option<Timestamp>, every| {
            last.is_none_or(|last: Timestamp| now.since(last) >= every)
        };
        let last_look = self.last_look.replace(now).unwrap_or(now);
        if is_due(self.last_full_look, FULL_LOOK) {
            (self.last_full_look, self.last_look_back) = (Some(now), Some(now));
            return Timestamp::from_micros(0);
        }
        if is_due(self.last_look_back, LOOK_BACK_EVERY) {
            self.last_look_back = Some(now);
            return last_look.min(now.minus(LOOK_BACK));
        }
        last_look.minus(OVERLAP)
    }

    /// Until when the look at `now` reads; to be called before [`Self::reach`]. What is woken before its time does what it can do by then,
    /// and nothing else.
    fn until(&self, now: Timestamp) -> Timestamp {
        match self.last_look {
            None => now.plus(GATEWAY_WATCH),
            Some(_) => now,
        }
    }
}

/// State of the scheduler.
#[derive(Clone, Copy, Debug)]
pub struct SchedulerSnapshot {
    /// Wake-ups since the start.
    pub wakes: u64,
    /// Sandbox rows deleted since the start.
    pub purged: u64,
    /// Timers that were due and are still there.
    pub waiting: usize,
}

/// Starts the scheduler on an arbiter of the engine's.
pub(crate) fn start(engine: &Engine) -> Addr<Scheduler> {
    let scheduler = Scheduler {
        engine: engine.clone(),
        state: Arc::default(),
    };
    Scheduler::start_in_arbiter(engine.threads().arbiter(), |_| scheduler)
}

impl Actor for Scheduler {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Context<Self>) {
        context.set_mailbox_capacity(SCHEDULER_MAILBOX);
        let (engine, state) = (self.engine.clone(), self.state.clone());
        context.spawn(async move { run(engine, state).await }.into_actor(self));
    }
}

impl Handler<Snapshot<SchedulerSnapshot>> for Scheduler {
    type Result = MessageResult<Snapshot<SchedulerSnapshot>>;

    fn handle(&mut self, _: Snapshot<SchedulerSnapshot>, _: &mut Context<Self>) -> Self::Result {
        let state = self.state.lock();
        MessageResult(SchedulerSnapshot {
            wakes: state.wakes,
            purged: state.purged,
            waiting: state.asked.len(),
        })
    }
}

async fn run(engine: Engine, state: Arc<Mutex<State>>) {
    let permits = Arc::new(Semaphore::new(SCHEDULER_WAKES));
    while !engine.is_stopping() {
        let next = engine.clock().now().plus(TICK);
        contained(async {
            if let Err(error) = look(&engine, &state, &permits).await {
                tracing::error!(%error, "failed to scan timers, retrying");
            }
            rest_idle_when_due(&engine, &state);
        })
        .await;
        if sweep_is_due(&engine, &state) {
            // Aside, because a sweep may take long and no timer may wait for it.
            let (engine, state) = (engine.clone(), state.clone());
            actix::spawn(async move {
                contained(sweep(&engine, &state)).await;
                state.lock().sweeping = false;
            });
        }
        engine.clock().sleep_until(next).await;
    }
}

/// Hands out every timer that is due.
async fn look(
    engine: &Engine,
    state: &Arc<Mutex<State>>,
    permits: &Arc<Semaphore>,
) -> Result<(), EngineError> {
    #[cfg(test)]
    engine.faults().inject_panic("timers");
    let now = engine.clock().now();
    let (from, until) = {
        let mut state = state.lock();
        state.asked.retain(|_, again| now < *again);
        let until = state.until(now);
        let from = state.reach(now);
        if state.last_full_look == Some(now) {
            detect_clock_change(engine, &mut state);
        }
        (from, until)
    };
    let mut place = Some(TimerCursor::at(from));
    while let Some(from) = place {
        let page = records::due(engine.store(), &from, until, CHUNK).await?;
        for timer in page.timers {
            let again = if timer.at > now {
                timer.at
            } else {
                now.plus(RETRY)
            };
            if state.lock().asked.insert(timer, again).is_some() {
                continue;
            }
            // This semaphore is never closed.
            let Ok(permit) = permits.clone().acquire_owned().await else {
                return Ok(());
            };
            let (engine, state) = (engine.clone(), state.clone());
            actix::spawn(async move {
                contained(wake(&engine, &state, timer)).await;
                drop(permit);
            });
        }
        place = page.next;
    }
    Ok(())
}

/// Logs a change of the machine's clock.
fn detect_clock_change(engine: &Engine, state: &mut State) {
    let set_by = engine.clock().set_since_start();
    if (set_by - state.clock_set_by).abs() > CLOCK_DRIFT {
        tracing::warn!(
            seconds = set_by,
            "The machine's clock was set since this program started. Timers and stored times go on as if it had not been; signatures go by \
             the clock as it is. A restart brings the two together."
        );
        state.clock_set_by = set_by;
    }
}

/// Runs a part of the scheduler's work; a panic in it is counted and logged, and the scheduler goes on.
async fn contained(work: impl Future<Output = ()>) {
    if AssertUnwindSafe(work).catch_unwind().await.is_err() {
        metrics::counter!("switchyard_actor_panics_total", "actor" => "scheduler").increment(1);
        tracing::error!("scheduler task panicked");
    }
}

async fn wake(engine: &Engine, state: &Arc<Mutex<State>>, timer: Due) {
    if engine.waits_for_release(timer.transaction) {
        return;
    }
    state.lock().wakes += 1;
    #[cfg(test)]
    engine.faults().inject_panic("wake");
    match engine
        .registry()
        .tell(engine, timer.transaction, Command::Wake)
        .await
    {
        Ok(_) | Err(EngineError::Refused(_) | EngineError::Stopping) => {}
        Err(error) => {
            tracing::error!(transaction.id = %timer.transaction, %error, "failed to wake a transaction, retrying")
        }
    }
}

/// Whether it is time to sweep, and no sweep is under way. Notes that one begins.
fn sweep_is_due(engine: &Engine, state: &Mutex<State>) -> bool {
    let now = engine.clock().now();
    let mut state = state.lock();
    let swept = state.last_sweep.is_some_and(|last| now.since(last) < SWEEP);
    if swept || state.sweeping {
        return false;
    }
    state.last_sweep = Some(now);
    state.sweeping = true;
    true
}

async fn sweep(engine: &Engine, state: &Arc<Mutex<State>>) {
    #[cfg(test)]
    engine.faults().inject_panic("sweep");
    let now = engine.clock().now();
    let before = now.minus(engine.settings().sandbox_retention);
    for app in engine.access().apps(None) {
        match records::purge_sandbox(engine.store(), app.id, before).await {
            Ok(gone) => state.lock().purged += gone,
            Err(error) => {
                tracing::error!(app.id = %app.id, %error, "failed to purge sandbox data, retrying in an hour")
            }
        }
    }
    match engine.webhooks().purge(before).await {
        Ok(gone) => state.lock().purged += gone,
        Err(error) => {
            tracing::error!(%error, "failed to purge webhook logs, retrying in an hour")
        }
    }
    match mail::purge(engine.store(), before).await {
        Ok(gone) => state.lock().purged += gone,
        Err(error) => {
            tracing::error!(%error, "failed to purge mail logs, retrying in an hour")
        }
    }
    match callback::sweep(engine).await {
        Ok(gone) => state.lock().purged += gone,
        Err(error) => {
            tracing::error!(%error, "failed to purge callbacks, retrying in an hour")
        }
    }
    if let Err(error) = engine.quotas().sweep().await {
        tracing::error!(%error, "failed to delete expired counts of limits");
    }
    if let Err(error) = idempotency::sweep(engine.store(), now).await {
        tracing::error!(%error, "failed to purge idempotency keys, retrying in an hour");
    }
}

fn rest_idle_when_due(engine: &Engine, state: &Arc<Mutex<State>>) {
    let (now, idle) = (engine.clock().now(), engine.settings().idle_after);
    {
        let mut state = state.lock();
        if state
            .last_rest
            .is_some_and(|last| now.since(last) < idle / 2)
        {
            return;
        }
        state.last_rest = Some(now);
    }
    #[cfg(test)]
    engine.faults().inject_panic("rest");
    engine.registry().passivate_idle(now.minus(idle));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How far the looks reach back that are made so many milliseconds after the start; `None`: to the beginning.
    fn reaches(looks: &[u64]) -> Vec<Option<u128>> {
        let start = Timestamp::from_seconds(1_700_000_000);
        let mut state = State::default();
        let mut reach = |millis| {
            let now = start.plus(Duration::from_millis(millis));
            let from = state.reach(now);
            (from.as_micros() > 0).then(|| now.since(from).as_millis())
        };
        looks.iter().map(|millis| reach(*millis)).collect()
    }

    #[test]
    fn a_look_reaches_back_behind_the_last_one_at_times_further_and_at_times_to_the_beginning() {
        let reached = reaches(&[0, 200, 4_900, 5_000, 5_200, 30_000, 30_200, 35_000]);
        let quick = |millis: u128| Some(2_000 + millis);
        let far = Some(60_000);
        let expected = [
            None,
            quick(200),
            quick(4_700),
            far,
            quick(200),
            None,
            quick(200),
            far,
        ];
        assert_eq!(reached, expected);
    }

    #[test]
    fn a_look_that_was_late_leaves_no_gap_behind_it() {
        assert_eq!(reaches(&[0, 200, 4_900])[2], Some(2_000 + 4_700));
        assert_eq!(
            reaches(&[0, 100_000, 130_000, 130_100, 134_000])[4],
            Some(2_000 + 3_900)
        );
    }
}
