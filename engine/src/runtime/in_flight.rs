//! Counter of tasks in flight, so that a shutdown can wait for them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

#[derive(Default)]
pub(crate) struct InFlightTasks(Arc<AtomicUsize>);

/// Guard of a task in flight: it ends when this is dropped, by a panic as well.
pub(crate) struct InFlightGuard(Arc<AtomicUsize>);

impl InFlightTasks {
    pub(crate) fn begin(&self) -> InFlightGuard {
        self.0.fetch_add(1, Ordering::SeqCst);
        InFlightGuard(self.0.clone())
    }

    /// Waits until no task is in flight, at most for `grace`.
    pub(crate) async fn wait_until_idle(&self, grace: Duration) {
        let deadline = tokio::time::Instant::now() + grace;
        while self.0.load(Ordering::SeqCst) > 0 && tokio::time::Instant::now() < deadline {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

impl Drop for InFlightGuard {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
