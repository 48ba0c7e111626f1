//! Steps of gateways in process: the thread of each step, and the end of a call whose step does not
//! return.
//!
//! A step that only computes runs on the runtime's own thread: a hop to another thread and back
//! costs more than the step. But a step that loops can be neither stopped nor moved, so the runtime
//! must not depend on its return:
//! - No more than half of the runtime's threads may run steps at a time. Further steps, and each
//!   step of a version that was slow, run on a blocking thread. The number of those is limited per
//!   version: see [`lanes`].
//! - A watchdog thread checks all running steps ten times a second: see [`watcher`]. A step that
//!   has occupied its thread for [`GATEWAY_STEP_WAITED`] is abandoned: its version is quarantined,
//!   and the caller is notified.
//! - So each call is a task of its own, and its caller does not depend on the task's thread: see
//!   [`guard`].
//!
//! A step that returns after it was abandoned is ignored: its call has ended, and nothing more is
//! done for it.
//!
//! A runtime with one thread has no other thread to continue on: there, steps run in place and are
//! only timed.

mod lanes;
#[cfg(test)]
mod tests;
mod watcher;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::Instant;

pub(super) use self::lanes::Lanes;
pub(super) use self::watcher::Watcher;
use self::watcher::{Seat, Step};
use super::home::Gone;
use super::version::Version;
use crate::limits::{GATEWAY_SLOW_STEP, GATEWAY_STEP, GATEWAY_STEP_WAITED};

/// Guard of one call: connects its steps to the watchdog.
#[derive(Clone)]
pub(super) struct Ward(Arc<Watched>);

struct Watched {
    watcher: Arc<Watcher>,
    /// Notified when a step of the call is abandoned.
    lost: Notify,
    runtime: Handle,
    /// Number of the runtime's threads that may run steps at a time.
    lent: usize,
}

/// Runs `call` in a task of its own, so that a step that does not return blocks only its thread.
/// `None`: a step was abandoned or the runtime is stopping, and the result has to be recovered from
/// the call's journal.
pub(super) async fn guard<T, F>(
    watcher: &Arc<Watcher>,
    version: &Version,
    call: impl FnOnce(Option<Ward>) -> F,
) -> Option<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let Some(ward) = Ward::of(watcher, version) else {
        return Some(call(None).await);
    };
    let mut task = Task(tokio::spawn(call(Some(ward.clone()))));
    tokio::select! {
        biased;
        ended = &mut task.0 => match ended {
            Ok(end) => Some(end),
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => None, // the runtime is stopping
            },
        },
        () = ward.0.lost.notified() => None,
    }
}

/// Runs a step. Returns an error without running it when the version has abandoned too many steps.
/// Never returns if the step is abandoned.
pub(super) async fn step<T: Send + 'static>(
    version: &Arc<Version>,
    ward: Option<&Ward>,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Gone> {
    let Some(ward) = ward else {
        return Ok(timed(version, work));
    };
    let done = match ward.seat(version) {
        Some(seat) => {
            let done = timed(version, work);
            seat.leave(done)
        }
        None => apart(version, ward, work).await?,
    };
    match done {
        Some(done) => Ok(done),
        // The caller has been notified, and aborts this task.
        None => std::future::pending().await,
    }
}

/// Has a version release the state that it holds for a call. The step has no result. Nothing waits
/// for it if it needs a thread of its own.
pub(super) fn end(
    version: &Arc<Version>,
    ward: Option<&Ward>,
    work: impl FnOnce() + Send + 'static,
) {
    let Some(ward) = ward else {
        return work();
    };
    if let Some(seat) = ward.seat(version) {
        work();
        seat.leave(());
        return;
    }
    let (version, own) = (Arc::clone(version), ward.clone());
    ward.0.runtime.spawn(async move {
        // Once its threads are exhausted, a version runs no more code: the state that it holds for
        // the call is leaked.
        let _ = step(&version, Some(&own), work).await;
    });
}

/// Runs a step on a blocking thread. `None`: it was abandoned.
async fn apart<T: Send + 'static>(
    version: &Arc<Version>,
    ward: &Ward,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<Option<T>, Gone> {
    let lane = version.lanes.enter().await.map_err(|()| gone(version))?;
    let (version, ward) = (Arc::clone(version), ward.clone());
    let work = move || {
        let seat = ward.0.watcher.apart(Step::new(&version, &ward));
        let done = timed(&version, work);
        let done = seat.leave(done);
        ward.0.watcher.forget(&seat);
        drop(lane);
        done
    };
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|_| Gone("the engine is stopping".to_owned()))
}

/// Error of a version that runs no more steps. Quarantines the version if needed.
fn gone(version: &Version) -> Gone {
    if version.lanes.are_shut() {
        version.put_into_quarantine(HELD_TOO_MANY);
        return Gone(HELD_TOO_MANY.to_owned());
    }
    Gone(format!("it is in quarantine: {HELD}"))
}

fn timed<T>(version: &Version, work: impl FnOnce() -> T) -> T {
    let (since, before) = (Instant::now(), thread_time());
    let done = work();
    let (took, busy) = (since.elapsed(), thread_time().saturating_sub(before));
    // Processor time counts, because an overloaded machine is not the gateway's fault. Wall-clock
    // time counts only when it is very long.
    if busy > GATEWAY_STEP || took > GATEWAY_STEP_WAITED {
        version.put_into_quarantine("a step of it took longer than a second");
    }
    if took > GATEWAY_SLOW_STEP && !version.is_slow() {
        version.mark_slow(took);
    }
    done
}

/// Processor time of this thread since its start; zero where the system does not report it.
fn thread_time() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is to a live `timespec` of ours, which the call fills and does not keep.
    if unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) } != 0 {
        return Duration::ZERO;
    }
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}

impl Ward {
    /// `None`: the version runs in a worker, the runtime is not multi-threaded, or the watchdog did
    /// not start.
    fn of(watcher: &Arc<Watcher>, version: &Version) -> Option<Self> {
        (!version.is_apart()).then(|| Self::new(watcher)).flatten()
    }

    fn new(watcher: &Arc<Watcher>) -> Option<Self> {
        let runtime = Handle::try_current().ok()?;
        if runtime.runtime_flavor() != RuntimeFlavor::MultiThread || !watcher.is_up() {
            return None;
        }
        let lent = runtime.metrics().num_workers() / 2;
        Some(Self(Arc::new(Watched {
            watcher: Arc::clone(watcher),
            lost: Notify::new(),
            runtime,
            lent,
        })))
    }

    /// Slot for a step on the current thread, if one is free and this version may use it.
    fn seat(&self, version: &Arc<Version>) -> Option<&Seat> {
        if version.is_slow() || version.lanes.are_narrow() {
            return None;
        }
        let step = || Step::new(version, self);
        self.0.watcher.seat(self.0.lent, step)
    }
}

/// Task of a call. Dropping it aborts the task.
struct Task<T>(JoinHandle<T>);

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Quarantine reason of a version with an abandoned step.
pub(super) const HELD: &str =
    "a step of it has held a thread for more than two seconds and not come back";
const HELD_TOO_MANY: &str = "steps of it hold several threads and do not come back: nothing of it runs until the server is started again";
