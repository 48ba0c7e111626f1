//! Time, injected: the wall clock in production, a clock that a test turns by hand everywhere else.
//!
//! A process reads the wall clock once. Afterwards time follows the clock since the machine's boot
//! (suspended time included), which cannot be set: when NTP or a person sets the wall clock, no
//! timer is lost or late, no retry is early and nothing expires. [`Clock::shown`] follows the wall
//! clock, for times that others compare with their own clocks, such as that of a signature.
//!
//! No stored time is in the future: when the wall clock is behind the last commit of a store, time
//! continues from that commit, a tenth slower until the two agree ([`Clock::continue_from`]).
//!
//! This module and [`crate::ids`] are the only homes of `SystemTime::now` and of randomness;
//! `clippy.toml` bans them elsewhere. That is what lets a whole engine run on virtual time.

use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use switchyard_core::time::Timestamp;
use tokio::sync::Notify;

/// Tells the time, and sleeps by it. Cloning gives another handle on the same clock.
#[derive(Clone)]
pub struct Clock(Source);

#[derive(Clone)]
enum Source {
    Wall,
    Manual(Arc<Manual>),
    #[cfg(feature = "simulation")]
    Simulated(Arc<Simulated>),
}

struct Manual {
    now: AtomicI64,
    turned: Notify,
}

/// The wall of a machine whose time a paused runtime turns.
#[cfg(feature = "simulation")]
struct Simulated {
    epoch: tokio::time::Instant,
    /// Wall-clock time at the epoch.
    at_epoch: i64,
    /// By how much the wall was set since, in microseconds.
    set_by: AtomicI64,
    /// Longest delay of a wake-up by this clock, in microseconds.
    grain: AtomicI64,
}

impl Clock {
    /// The machine's own clock.
    pub fn wall() -> Self {
        Self(Source::Wall)
    }

    /// A clock that stands still at `start` until [`Clock::advance`] turns it.
    pub fn manual(start: Timestamp) -> Self {
        Self(Source::Manual(Arc::new(Manual {
            now: AtomicI64::new(start.as_micros()),
            turned: Notify::new(),
        })))
    }

    /// The time that everything stored and waited for goes by.
    pub fn now(&self) -> Timestamp {
        match &self.0 {
            Source::Wall => steady(),
            Source::Manual(manual) => Timestamp::from_micros(manual.now.load(Ordering::SeqCst)),
            #[cfg(feature = "simulation")]
            Source::Simulated(simulated) => {
                let since = i64::try_from(simulated.epoch.elapsed().as_micros());
                Timestamp::from_micros(simulated.at_epoch + since.unwrap_or(i64::MAX))
            }
        }
    }

    /// Time of the settable wall clock: for values that others compare with their own clocks, and
    /// not for timers.
    pub fn shown(&self) -> Timestamp {
        match &self.0 {
            Source::Wall => machine(),
            Source::Manual(_) => self.now(),
            #[cfg(feature = "simulation")]
            Source::Simulated(simulated) => Timestamp::from_micros(
                self.now().as_micros() + simulated.set_by.load(Ordering::SeqCst),
            ),
        }
    }

    /// Seconds by which the machine's clock was set since this program started.
    pub fn set_since_start(&self) -> i64 {
        let unset = match &self.0 {
            Source::Wall => Timestamp::from_micros(unled(since_boot())),
            Source::Manual(_) => self.now(),
            #[cfg(feature = "simulation")]
            Source::Simulated(_) => self.now(),
        };
        self.shown().as_seconds() - unset.as_seconds()
    }

    /// Makes the wall clock's time continue from `at`, the last commit of a store, if it is behind.
    /// Returns by how much it was. A hold compares the times of transactions with its beginning: on
    /// a machine whose clock is behind, open transactions would count as made after it.
    pub fn continue_from(&self, at: Timestamp) -> Duration {
        match &self.0 {
            Source::Wall => lead(at),
            Source::Manual(_) => Duration::ZERO,
            #[cfg(feature = "simulation")]
            Source::Simulated(_) => Duration::ZERO,
        }
    }

    /// Advances a manual clock and wakes its sleepers. No effect on the wall clock.
    pub fn advance(&self, by: Duration) {
        if let Source::Manual(manual) = &self.0 {
            manual
                .now
                .fetch_add(i64::try_from(by.as_micros()).unwrap_or(0), Ordering::SeqCst);
            manual.turned.notify_waiters();
        }
    }

    /// Returns when this clock shows `at` or later.
    pub async fn sleep_until(&self, at: Timestamp) {
        match &self.0 {
            Source::Wall => loop {
                let left = at.since(self.now());
                if left.is_zero() {
                    return;
                }
                tokio::time::sleep(left).await;
            },
            Source::Manual(manual) => loop {
                let turned = manual.turned.notified();
                tokio::pin!(turned);
                turned.as_mut().enable();
                if self.now() >= at {
                    return;
                }
                turned.await;
            },
            // As with the wall clock, setting the clock does not affect sleepers.
            #[cfg(feature = "simulation")]
            Source::Simulated(simulated) => {
                let grain = u64::try_from(simulated.grain.load(Ordering::SeqCst)).unwrap_or(0);
                let left = at.since(self.now()).max(Duration::from_micros(grain));
                if !left.is_zero() {
                    tokio::time::sleep(left).await;
                }
            }
        }
    }

    /// Returns when this clock has moved by `by`.
    pub async fn sleep(&self, by: Duration) {
        self.sleep_until(self.now().plus(by)).await;
    }
}

/// Time of the wall clock when it was first read, and the time that has passed since, with the rest
/// of its lead.
fn steady() -> Timestamp {
    let since = since_boot();
    Timestamp::from_micros(unled(since) + lead_at(since))
}

fn unled(since: i64) -> i64 {
    static BEGAN: OnceLock<i64> = OnceLock::new();
    BEGAN.get_or_init(|| machine().as_micros() - since) + since
}

/// When the lead is used up, in microseconds since the machine was started.
static LED_UNTIL: AtomicI64 = AtomicI64::new(0);

fn lead_at(since: i64) -> i64 {
    (LED_UNTIL.load(Ordering::SeqCst) - since).max(0) / SLOWER_BY
}

/// Leads the steady clock so that it shows `at` now. Returns the lead that this took.
fn lead(at: Timestamp) -> Duration {
    let since = since_boot();
    let behind = at.as_micros().saturating_sub(unled(since));
    if behind <= 0 {
        return Duration::ZERO;
    }
    // Rounded up, so that the clock shows no earlier time.
    let until = since.saturating_add((behind + 1).saturating_mul(SLOWER_BY));
    LED_UNTIL.fetch_max(until, Ordering::SeqCst);
    Duration::from_micros(behind.unsigned_abs())
}

#[expect(clippy::disallowed_methods, reason = "the one home of the wall clock")]
fn machine() -> Timestamp {
    let since = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default();
    Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

/// Microseconds since the machine was started, its sleep included. Never goes back.
fn since_boot() -> i64 {
    let mut since = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the call writes a timespec to where the pointer leads, which is `since`, and keeps
    // the pointer no longer.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_BOOTTIME, &raw mut since) };
    assert_eq!(failed, 0, "every Linux since 2.6.39 has this clock");
    since.tv_sec * 1_000_000 + since.tv_nsec / 1_000
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Source::Wall => f.write_str("Clock::wall"),
            Source::Manual(_) => write!(f, "Clock::manual({})", self.now()),
            #[cfg(feature = "simulation")]
            Source::Simulated(_) => write!(f, "Clock::simulated({})", self.now()),
        }
    }
}

/// For the simulation: a wall clock that goes by tokio's paused time and can be set, as an
/// administrator or NTP sets one.
#[cfg(feature = "simulation")]
impl Clock {
    /// A clock that shows `start` now. Make it on the paused runtime by which it is to go.
    pub fn simulated(start: Timestamp) -> Self {
        Self(Source::Simulated(Arc::new(Simulated {
            epoch: tokio::time::Instant::now(),
            at_epoch: start.as_micros(),
            set_by: AtomicI64::new(0),
            grain: AtomicI64::new(0),
        })))
    }

    /// Sets a simulated clock forward, or back. Who sleeps by it is not woken.
    pub fn set_by(&self, micros: i64) {
        if let Source::Simulated(simulated) = &self.0 {
            simulated.set_by.fetch_add(micros, Ordering::SeqCst);
        }
    }

    /// Sets the shortest sleep by a simulated clock: a slow machine, and days that pass quickly.
    pub fn set_grain(&self, grain: Duration) {
        if let Source::Simulated(simulated) = &self.0 {
            let micros = i64::try_from(grain.as_micros()).unwrap_or(i64::MAX);
            simulated.grain.store(micros, Ordering::SeqCst);
        }
    }
}

/// A clock that leads loses one in so many microseconds.
const SLOWER_BY: i64 = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn time_goes_on_from_a_later_commit_and_approaches_the_machines_clock() {
        let clock = Clock::wall();
        let commit = clock.now().plus(Duration::from_secs(30));
        assert!(clock.continue_from(commit) > Duration::from_secs(29));
        let began = clock.now();
        assert!(began > commit);
        assert!(
            clock.shown() < commit,
            "signatures go by the machine's clock"
        );
        let set_by = |clock: &Clock| clock.now().since(clock.shown());
        let lead = set_by(&clock);
        let later = clock.now().plus(Duration::from_millis(200));
        clock.sleep_until(later).await;
        assert!(clock.now() >= later);
        assert!(set_by(&clock) < lead);
        assert_eq!(
            clock.continue_from(began.minus(Duration::from_secs(24 * 60 * 60))),
            Duration::ZERO
        );
    }

    #[tokio::test]
    async fn a_sleeper_on_a_manual_clock_wakes_when_it_is_turned() {
        let clock = Clock::manual(Timestamp::from_seconds(100));
        let sleeper = tokio::spawn({
            let clock = clock.clone();
            async move { clock.sleep(Duration::from_secs(60)).await }
        });
        tokio::task::yield_now().await;
        clock.advance(Duration::from_secs(59));
        tokio::task::yield_now().await;
        assert!(!sleeper.is_finished());
        clock.advance(Duration::from_secs(1));
        sleeper.await.unwrap();
    }
}
