//! CPU time that a worker uses while none of its steps is open.
//!
//! A library may compute only in a step, and a step occupies one thread. So the CPU time of the
//! process can exceed the time for which its steps were open only if the library computes after
//! its answer, for instance because it wrote the answer itself.

use std::time::Duration;

use tokio::time::Instant;

use switchyard_core::limits::{GATEWAY_STRAY_CPU, GATEWAY_STRAY_CPU_SHARE};

/// Compares the CPU time of one worker with the time of its open steps.
pub(super) struct CpuBudget {
    open: u32,
    /// Until when `covered` is complete.
    counted: Instant,
    /// Time of open steps since the last check. Steps that run side by side add up.
    covered: Duration,
    /// CPU time at the last check.
    used: Duration,
    checked: Instant,
    stray: Duration,
}

impl CpuBudget {
    /// Creates the budget of a worker that starts now with one open step: it loads its library.
    pub(super) fn new() -> Self {
        let now = Instant::now();
        Self {
            open: 1,
            counted: now,
            covered: Duration::ZERO,
            used: Duration::ZERO,
            checked: now,
            stray: Duration::ZERO,
        }
    }

    pub(super) fn opened(&mut self) {
        self.count(Instant::now());
        self.open += 1;
    }

    pub(super) fn closed(&mut self) {
        self.count(Instant::now());
        self.open = self.open.saturating_sub(1);
    }

    /// Whether the worker, which has used `used` so far, used too much of it outside of steps.
    pub(super) fn is_exceeded(&mut self, used: Duration) -> bool {
        let now = Instant::now();
        self.count(now);
        let allowed = now.saturating_duration_since(self.checked) / GATEWAY_STRAY_CPU_SHARE;
        let covered = std::mem::take(&mut self.covered) + allowed;
        let more = used.saturating_sub(self.used);
        self.stray = (self.stray + more).saturating_sub(covered);
        (self.used, self.checked) = (used, now);
        self.stray > GATEWAY_STRAY_CPU
    }

    fn count(&mut self, now: Instant) {
        self.covered += now.saturating_duration_since(self.counted) * self.open;
        self.counted = now;
    }
}

/// The CPU time of a process since it began; `None` when it has ended.
pub(super) fn time_of(process: u32) -> Option<Duration> {
    let process = libc::pid_t::try_from(process).ok()?;
    let mut clock = libc::CLOCK_MONOTONIC;
    // SAFETY: the pointer is to a live variable of ours, which the call fills and does not keep.
    if unsafe { libc::clock_getcpuclockid(process, &raw mut clock) } != 0 {
        return None;
    }
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: as above.
    if unsafe { libc::clock_gettime(clock, &raw mut time) } != 0 {
        return None;
    }
    let seconds = u64::try_from(time.tv_sec).ok()?;
    Some(Duration::new(seconds, u32::try_from(time.tv_nsec).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK: Duration = Duration::from_millis(100);

    #[tokio::test(start_paused = true)]
    async fn cpu_time_of_open_steps_is_free_and_any_other_is_limited() {
        let mut budget = CpuBudget::new();
        let mut used = Duration::ZERO;
        for _ in 0..100 {
            tokio::time::advance(TICK).await;
            used += TICK;
            assert!(!budget.is_exceeded(used), "it loads, which is a step");
        }
        budget.closed();
        let mut ticks = 0;
        while !budget.is_exceeded(used) {
            tokio::time::advance(TICK).await;
            used += TICK;
            ticks += 1;
        }
        assert!((11..=13).contains(&ticks), "{ticks}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_step_of_another_call_covers_one_thread_only() {
        let mut budget = CpuBudget::new();
        budget.opened();
        let mut used = Duration::ZERO;
        for _ in 0..100 {
            tokio::time::advance(TICK).await;
            used += 2 * TICK;
            assert!(!budget.is_exceeded(used), "two steps, two threads");
        }
        budget.closed();
        for _ in 0..20 {
            tokio::time::advance(TICK).await;
            used += 2 * TICK;
            if budget.is_exceeded(used) {
                return;
            }
        }
        panic!("the second thread computes outside of steps");
    }

    #[tokio::test(start_paused = true)]
    async fn what_a_worker_needs_between_its_steps_never_adds_up() {
        let mut budget = CpuBudget::new();
        budget.closed();
        let mut used = Duration::ZERO;
        for _ in 0..10_000 {
            tokio::time::advance(TICK).await;
            used += TICK / 20;
            assert!(!budget.is_exceeded(used));
        }
    }
}
