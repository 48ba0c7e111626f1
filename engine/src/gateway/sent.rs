//! When requests that can move money left, by a clock that nobody sets. The journal has the wall's time, which an administrator or NTP may
//! move by an hour: that an hour has passed since a request proves something only when it has.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::clock::Clock;
use crate::ids::AttemptId;

/// What this process has sent, by attempt.
pub(super) struct Sent {
    clock: Clock,
    began: Duration,
    at: Mutex<HashMap<AttemptId, Duration>>,
}

impl Sent {
    pub(super) fn new(clock: Clock) -> Self {
        Self {
            began: clock.steady(),
            clock,
            at: Mutex::default(),
        }
    }

    /// Notes, before it leaves, that a request of this attempt is about to leave.
    pub(super) fn note(&self, attempt: AttemptId) {
        let now = self.clock.steady();
        let mut at = self.at.lock().unwrap_or_else(PoisonError::into_inner);
        if at.len() >= SWEEP_AT && at.len().is_power_of_two() {
            at.retain(|_, sent| now.saturating_sub(*sent) < KEPT);
        }
        at.insert(attempt, now);
    }

    /// At least so long ago the last request of this attempt left. For what an earlier process sent, that is since this one began.
    pub(super) fn since(&self, attempt: AttemptId) -> Duration {
        let at = self.at.lock().unwrap_or_else(PoisonError::into_inner);
        let sent = at.get(&attempt).copied().unwrap_or(self.began);
        self.clock.steady().saturating_sub(sent)
    }
}

/// Attempts in the map beyond which old ones are swept out.
const SWEEP_AT: usize = 1_024;
/// Longer than any provider takes until it surely does not know a reference.
const KEPT: Duration = Duration::from_secs(7 * 24 * 60 * 60);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Timestamp;

    #[test]
    fn what_an_earlier_process_sent_left_before_this_one_began() {
        let clock = Clock::manual(Timestamp::from_seconds(1_000));
        let sent = Sent::new(clock.clone());
        let [ours, theirs] = [1, 2].map(|one| AttemptId::new(ulid::Ulid::from_parts(1, one)));
        clock.advance(Duration::from_secs(60));
        sent.note(ours);
        clock.advance(Duration::from_secs(5));
        assert_eq!(sent.since(ours), Duration::from_secs(5));
        assert_eq!(sent.since(theirs), Duration::from_secs(65));
    }
}
