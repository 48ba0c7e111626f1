//! A limit on the speed of a copy, so that the server beside it keeps its disk and processor.

use std::thread;
use std::time::Duration;

use tokio::time::Instant;

/// Spreads bytes over time.
pub(super) struct Throttle {
    /// 0: no limit.
    bytes_per_second: u64,
    /// The time at which the bytes so far are due.
    due: Instant,
}

impl Throttle {
    pub(super) fn new(bytes_per_second: u64) -> Self {
        Self {
            bytes_per_second,
            due: Instant::now(),
        }
    }

    /// Waits as long as the limit asks for after `bytes`.
    pub(super) fn spend(&mut self, bytes: u64) {
        if self.bytes_per_second == 0 {
            return;
        }
        let now = Instant::now();
        // Time that a slow disk took is not made up for.
        self.due = (self.due + self.time_for(bytes)).max(now);
        thread::sleep(self.due.saturating_duration_since(now).min(LONGEST));
    }

    fn time_for(&self, bytes: u64) -> Duration {
        let nanoseconds = u128::from(bytes) * 1_000_000_000 / u128::from(self.bytes_per_second);
        Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX)).min(LONGEST)
    }
}

/// Lets the threads of a server on the same machine go before the calling thread.
pub fn lower_priority() {
    // A failure changes only the priority.
    let _ = rustix::process::nice(NICE);
}

const NICE: i32 = 10;
/// The longest wait at a time.
const LONGEST: Duration = Duration::from_secs(10);
