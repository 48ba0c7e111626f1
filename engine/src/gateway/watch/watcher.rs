//! Watchdog for steps that do not return.
//!
//! A step takes a slot when it starts and releases it when it returns: two uncontended locks, and
//! no allocation on the runtime's own threads. The watchdog counts the checks at which the same
//! step is in a slot. It does not read the clock, so a paused process or an overloaded machine does
//! not make a step overdue.

use std::fs;
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::thread;

use parking_lot::Mutex;

use super::{HELD, Ward};
use crate::gateway::version::Version;
use crate::limits::{GATEWAY_STEP_WAITED, GATEWAY_WATCH};

/// Watchdog and its slots. Its thread starts with the first call and ends when the last owner is
/// dropped.
#[derive(Default)]
pub(in crate::gateway) struct Watcher {
    /// Slots for steps on the runtime's own threads.
    lent: [Seat; SEATS],
    /// Slots for steps on blocking threads.
    apart: Mutex<Vec<Arc<Seat>>>,
    thread: OnceLock<bool>,
}

/// Slot that holds a step while it runs.
#[derive(Default)]
pub(super) struct Seat {
    place: Mutex<Place>,
    /// Claims the slot without a lock: the search for a free slot skips this one.
    is_taken: AtomicBool,
}

#[derive(Default)]
enum Place {
    #[default]
    Free,
    Taken(Step),
    GivenUp,
}

/// Step that is running.
pub(super) struct Step {
    version: Arc<Version>,
    ward: Ward,
    lane: usize,
    looks: u128,
    thread: libc::pid_t,
}

impl Step {
    pub(super) fn new(version: &Arc<Version>, ward: &Ward) -> Self {
        Self {
            lane: version.lanes.now(),
            version: Arc::clone(version),
            ward: ward.clone(),
            looks: 0,
            thread: THREAD.with(|thread| *thread),
        }
    }

    /// Abandons the step: quarantines its version and notifies the caller.
    fn give_up(self) {
        put_behind(self.thread);
        self.version.put_into_quarantine(HELD);
        self.version.lanes.shut(self.lane);
        self.ward.0.lost.notify_one();
    }
}

impl Seat {
    /// Releases the slot. Returns `done`, or `None` if the step was abandoned. Its result is then
    /// leaked, because dropping it would run more code of the gateway.
    pub(super) fn leave<T>(&self, done: T) -> Option<T> {
        let place = mem::take(&mut *self.place.lock());
        self.is_taken.store(false, Ordering::Release);
        if let Place::Taken(_) = place {
            return Some(done);
        }
        mem::forget(done);
        None
    }

    fn take(&self, step: impl FnOnce() -> Step) -> bool {
        if self.is_taken.swap(true, Ordering::Acquire) {
            return false;
        }
        *self.place.lock() = Place::Taken(step());
        true
    }

    /// Counts one check of the watchdog. Returns the step if it is overdue. `meanwhile` is called
    /// with a step that was there at the previous check already.
    fn look(&self, meanwhile: impl FnOnce(&Step)) -> Option<Step> {
        let mut place = self.place.lock();
        let Place::Taken(step) = &mut *place else {
            return None;
        };
        step.looks += 1;
        if step.looks <= LOOKS {
            if step.looks > 1 {
                meanwhile(step);
            }
            return None;
        }
        match mem::replace(&mut *place, Place::GivenUp) {
            Place::Taken(step) => Some(step),
            Place::Free | Place::GivenUp => None,
        }
    }
}

impl Watcher {
    /// Whether the watchdog's thread runs. The first call starts it.
    pub(super) fn is_up(self: &Arc<Self>) -> bool {
        *self.thread.get_or_init(|| {
            let watcher = Arc::downgrade(self);
            let started = thread::Builder::new()
                .name("gateway-watch".to_owned())
                .spawn(move || watch(&watcher));
            if let Err(error) = &started {
                tracing::error!(%error, "failed to start gateway watchdog");
            }
            started.is_ok()
        })
    }

    /// Claims a free slot among the first `lent` for the step.
    pub(super) fn seat(&self, lent: usize, step: impl Fn() -> Step) -> Option<&Seat> {
        self.lent.iter().take(lent).find(|seat| seat.take(&step))
    }

    /// Slot for a step on a blocking thread.
    pub(super) fn apart(&self, step: Step) -> Arc<Seat> {
        let seat = Arc::new(Seat::default());
        seat.take(|| step);
        self.apart.lock().push(Arc::clone(&seat));
        seat
    }

    /// Removes the slot of a step on a blocking thread.
    pub(super) fn forget(&self, seat: &Arc<Seat>) {
        self.apart.lock().retain(|other| !Arc::ptr_eq(other, seat));
    }

    /// Whether no step is running.
    #[cfg(test)]
    pub(super) fn is_idle(&self) -> bool {
        let is_free = |seat: &Seat| !seat.is_taken.load(Ordering::Acquire);
        self.lent.iter().all(is_free) && self.apart.lock().is_empty()
    }

    fn look(&self) {
        let apart = self.apart.lock().clone();
        let apart = apart.iter().filter_map(|seat| seat.look(|_| ()));
        let lent = self.lent.iter().filter_map(|seat| seat.look(relieve));
        let given_up: Vec<Step> = lent.chain(apart).collect();
        given_up.into_iter().for_each(Step::give_up);
    }
}

/// Wakes another thread of the runtime. The thread of the step may have been the one that polled
/// timers and sockets; the other thread takes that over.
fn relieve(step: &Step) {
    step.ward.0.runtime.spawn(std::future::ready(()));
}

/// Lowers the priority of a looping thread to the lowest, so that it uses only idle processor time.
/// The priority is not restored if the step returns: that requires a privilege.
fn put_behind(thread: libc::pid_t) {
    let stat = fs::read_to_string(format!("/proc/self/task/{thread}/stat")).unwrap_or_default();
    let runs = stat
        .rsplit(')')
        .next()
        .is_some_and(|rest| rest.starts_with(" R "));
    if let (true, Ok(who)) = (runs, libc::id_t::try_from(thread)) {
        // SAFETY: it takes no pointers. A failure affects only the load of the machine.
        unsafe { libc::setpriority(libc::PRIO_PROCESS, who, LOWEST) };
    }
}

fn watch(watcher: &Weak<Watcher>) {
    loop {
        thread::sleep(GATEWAY_WATCH);
        match watcher.upgrade() {
            Some(watcher) => watcher.look(),
            None => return,
        }
    }
}

/// Maximum number of runtime threads that may run steps.
const SEATS: usize = 32;
/// Number of checks at which a step may be running before it is overdue.
const LOOKS: u128 = GATEWAY_STEP_WAITED.as_millis() / GATEWAY_WATCH.as_millis();
/// Lowest priority of a thread.
const LOWEST: libc::c_int = 19;

thread_local! {
    /// Thread id in the operating system.
    // SAFETY: it takes nothing and always succeeds.
    static THREAD: libc::pid_t = unsafe { libc::gettid() };
}
