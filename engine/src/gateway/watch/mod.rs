//! Steps of gateways in process: where each runs, and what becomes of a call whose step does not come back.
//!
//! A step that only computes runs on the runtime's own thread: a hop to another thread and back costs more than the step. But a step that
//! loops can be neither stopped nor moved, so the runtime must never depend on its coming back:
//! - No more than half of the runtime's threads are lent to steps at a time. A step beyond them, and each step of a version that was slow,
//!   runs on a thread that may block, and of those a version has few: see [`lanes`].
//! - A thread of ours looks at all steps under way ten times a second: see [`watcher`]. One that has held its thread for
//!   [`GATEWAY_STEP_WAITED`] is given up: its version goes into quarantine, and whoever waits for its call is told.
//! - So a call is a task of its own, and whoever waits for it does not share its thread's fate: see [`guard`].
//!
//! A step that comes back after it was given up is ignored: its call has ended, and nothing more is done for it.
//!
//! On a runtime of one thread nobody else could go on: steps run there as they come, and are only timed.

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

/// Watches over one call.
#[derive(Clone)]
pub(super) struct Ward(Arc<Watched>);

struct Watched {
    watcher: Arc<Watcher>,
    /// A step of the call was given up.
    lost: Notify,
    runtime: Handle,
    /// Threads of the runtime that may be lent to steps at a time.
    lent: usize,
}

/// Has `call` made so that a step of it that does not come back holds up nobody but its thread. `None`: there was such a step, and the
/// call's end is to be told from its journal.
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

/// Takes a step. It is not taken when its version has held up too many threads, and has no answer when it is given up meanwhile.
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
        // Whoever waits for the call has been told, and ends this task.
        None => std::future::pending().await,
    }
}

/// Has a version end a call that it holds something for: a step without an answer, which nobody waits for if it has to be taken apart.
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
        // Of a version that is given up nothing is run any more: what it holds for the call stays with it.
        let _ = step(&version, Some(&own), work).await;
    });
}

/// Takes a step on a thread that may block. `None`: it was given up.
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

/// Why a version takes no more steps, which it is in quarantine for.
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
    // A machine that had no time for the step is not the gateway's fault: what it computed counts, or a very long wait.
    if busy > GATEWAY_STEP || took > GATEWAY_STEP_WAITED {
        version.put_into_quarantine("a step of it took longer than a second");
    }
    if took > GATEWAY_SLOW_STEP && !version.is_slow() {
        version.mark_slow(took);
    }
    done
}

/// How long this thread has computed since it began; zero where the system does not tell.
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
    /// `None`: a call of this version needs none, or there would be no thread left to help it.
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

    /// A place on this very thread, if one may be lent to this version now.
    fn seat(&self, version: &Arc<Version>) -> Option<&Seat> {
        if version.is_slow() || version.lanes.are_narrow() {
            return None;
        }
        let step = || Step::new(version, self);
        self.0.watcher.seat(self.0.lent, step)
    }
}

/// A call's task, which ends with whoever waits for it.
struct Task<T>(JoinHandle<T>);

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Why a version is in quarantine of which a step was given up.
pub(super) const HELD: &str =
    "a step of it has held a thread for more than two seconds and not come back";
const HELD_TOO_MANY: &str = "steps of it hold several threads and do not come back: nothing of it runs until the server is started again";
