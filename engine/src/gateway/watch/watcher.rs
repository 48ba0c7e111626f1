//! Who looks for steps that do not come back.
//!
//! A step that begins takes a seat and leaves it when it comes back: two locks that nobody else wants, and no allocation on the runtime's
//! own threads. The watcher counts at how many of its looks it found the same step in a seat. It does not read the time: a process
//! that is stopped for a while, or a machine that is too busy to look, makes no gateway guilty.

use std::fs;
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::thread;

use super::{HELD, Ward};
use crate::gateway::version::Version;
use crate::limits::{GATEWAY_STEP_WAITED, GATEWAY_WATCH};

/// The watcher and the seats. Its thread begins with the first call and ends with the last owner.
#[derive(Default)]
pub(in crate::gateway) struct Watcher {
    /// Of the runtime's own threads.
    lent: [Seat; SEATS],
    /// Of threads that may block.
    apart: Mutex<Vec<Arc<Seat>>>,
    thread: OnceLock<bool>,
}

/// Where a step sits while it is under way.
#[derive(Default)]
pub(super) struct Seat {
    place: Mutex<Place>,
    /// Whoever looks for a free seat passes this one by.
    is_taken: AtomicBool,
}

#[derive(Default)]
enum Place {
    #[default]
    Free,
    Taken(Step),
    GivenUp,
}

/// A step under way.
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

    /// The version takes nothing new, and whoever waits for the call is told.
    fn give_up(self) {
        put_behind(self.thread);
        self.version.put_into_quarantine(HELD);
        self.version.lanes.shut(self.lane);
        self.ward.0.lost.notify_one();
    }
}

impl Seat {
    /// `done`, unless the step was given up meanwhile: what came of it then is left as it is, for to drop it would run more of the gateway.
    pub(super) fn leave<T>(&self, done: T) -> Option<T> {
        let place = mem::take(&mut *lock(&self.place));
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
        *lock(&self.place) = Place::Taken(step());
        true
    }

    /// The watcher's look: the step, if it is to be given up. `meanwhile`: it is still there since the last look.
    fn look(&self, meanwhile: impl FnOnce(&Step)) -> Option<Step> {
        let mut place = lock(&self.place);
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
    /// Does its thread run? It is started when it does not.
    pub(super) fn is_up(self: &Arc<Self>) -> bool {
        *self.thread.get_or_init(|| {
            let watcher = Arc::downgrade(self);
            let started = thread::Builder::new()
                .name("gateway-watch".to_owned())
                .spawn(move || watch(&watcher));
            if let Err(error) = &started {
                tracing::error!(%error, "nobody watches over gateways in process: one that loops holds up its calls");
            }
            started.is_ok()
        })
    }

    /// A free seat among the first `lent`, taken for the step.
    pub(super) fn seat(&self, lent: usize, step: impl Fn() -> Step) -> Option<&Seat> {
        self.lent.iter().take(lent).find(|seat| seat.take(&step))
    }

    /// A seat for a step on a thread that may block.
    pub(super) fn apart(&self, step: Step) -> Arc<Seat> {
        let seat = Arc::new(Seat::default());
        seat.take(|| step);
        lock(&self.apart).push(Arc::clone(&seat));
        seat
    }

    /// Such a step has come back.
    pub(super) fn forget(&self, seat: &Arc<Seat>) {
        lock(&self.apart).retain(|other| !Arc::ptr_eq(other, seat));
    }

    /// Is no step under way?
    #[cfg(test)]
    pub(super) fn is_idle(&self) -> bool {
        let is_free = |seat: &Seat| !seat.is_taken.load(Ordering::Acquire);
        self.lent.iter().all(is_free) && lock(&self.apart).is_empty()
    }

    fn look(&self) {
        let apart = lock(&self.apart).clone();
        let apart = apart.iter().filter_map(|seat| seat.look(|_| ()));
        let lent = self.lent.iter().filter_map(|seat| seat.look(relieve));
        let given_up: Vec<Step> = lent.chain(apart).collect();
        given_up.into_iter().for_each(Step::give_up);
    }
}

/// The thread under a step may have been the one that looked after the runtime's timers and sockets: something to do wakes another,
/// which then does.
fn relieve(step: &Step) {
    step.ward.0.runtime.spawn(std::future::ready(()));
}

/// Has a thread that computes on for ever compute only when nothing else wants to. Should it come back all the same, it stays so: to
/// raise it again is not for everyone to do.
fn put_behind(thread: libc::pid_t) {
    let stat = fs::read_to_string(format!("/proc/self/task/{thread}/stat")).unwrap_or_default();
    let runs = stat
        .rsplit(')')
        .next()
        .is_some_and(|rest| rest.starts_with(" R "));
    if let (true, Ok(who)) = (runs, libc::id_t::try_from(thread)) {
        // SAFETY: it takes no pointers. Whether it is done changes nothing but how busy the machine is.
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// More threads than this are never lent.
const SEATS: usize = 32;
/// Looks at which a step may be found under way.
const LOOKS: u128 = GATEWAY_STEP_WAITED.as_millis() / GATEWAY_WATCH.as_millis();
/// The lowest priority that a thread may have.
const LOWEST: libc::c_int = 19;

thread_local! {
    /// The number by which the system knows this thread.
    // SAFETY: it takes nothing and always succeeds.
    static THREAD: libc::pid_t = unsafe { libc::gettid() };
}
