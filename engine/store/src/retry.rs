//! When a failed backend is opened again.

use std::time::Duration;

use tokio::time::Instant;

/// Pauses between the attempts to open a failed backend again.
pub(super) struct Retry {
    pause: Duration,
    /// Time of the last failure.
    last: Instant,
}

impl Retry {
    pub(super) fn new() -> Self {
        Self {
            pause: RETRY / 2,
            last: Instant::now(),
        }
    }

    /// The pause grows with each failure without a recovery in between.
    pub(super) fn note_failure(&mut self) {
        self.pause = (2 * self.pause).min(LONGEST_RETRY);
        self.last = Instant::now();
    }

    /// The backend was opened again. A later failure may be of one damaged page, for which
    /// other commits do not wait.
    pub(super) fn note_recovery(&mut self) {
        *self = Self::new();
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
    async fn the_pause_before_a_reopening_grows_until_the_backend_is_open_again() {
        let mut retry = Retry::new();
        let mut pauses = Vec::new();
        for _ in 0..8 {
            retry.note_failure();
            pauses.push(retry.pause.as_millis());
            assert!(!retry.is_due());
            tokio::time::advance(retry.pause).await;
            assert!(retry.is_due());
        }
        assert_eq!(pauses, [100, 200, 400, 800, 1600, 3200, 5000, 5000]);
        retry.note_recovery();
        retry.note_failure();
        assert_eq!(retry.pause, RETRY);
    }
}
