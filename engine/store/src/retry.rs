//! When a failed backend is opened again.

use std::time::Duration;

use tokio::time::Instant;

/// Pauses between the attempts to open a failed backend again.
pub(super) struct Retry {
    pause: Duration,
    /// Time of the last failure or recovery.
    last: Instant,
}

impl Retry {
    pub(super) fn new() -> Self {
        Self {
            pause: RETRY,
            last: Instant::now(),
        }
    }

    /// The pause is the shortest again when the backend has worked for a while.
    pub(super) fn note_failure(&mut self) {
        self.pause = match self.last.elapsed() > 2 * LONGEST_RETRY {
            true => RETRY,
            false => (2 * self.pause).min(LONGEST_RETRY),
        };
        self.last = Instant::now();
    }

    pub(super) fn note_recovery(&mut self) {
        self.last = Instant::now();
    }

    pub(super) fn is_due(&self) -> bool {
        self.last.elapsed() >= self.pause
    }
}

/// First pause before a failed backend is opened again, and the longest wait of a commit for its
/// error.
pub(super) const RETRY: Duration = Duration::from_millis(100);
/// Longest pause before a failed backend is opened again.
const LONGEST_RETRY: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_pause_before_a_reopening_grows_until_the_backend_has_worked_for_a_while() {
        let mut retry = Retry::new();
        let mut pauses = Vec::new();
        for _ in 0..8 {
            retry.note_failure();
            pauses.push(retry.pause.as_millis());
            assert!(!retry.is_due());
            tokio::time::advance(retry.pause).await;
            assert!(retry.is_due());
            // Damage that each commit meets lets the backend open.
            retry.note_recovery();
        }
        assert_eq!(pauses, [200, 400, 800, 1600, 3200, 5000, 5000, 5000]);
        tokio::time::advance(3 * LONGEST_RETRY).await;
        retry.note_failure();
        assert_eq!(retry.pause, RETRY);
    }
}
