//! Counts what is on its way, so that a stop can wait for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

#[derive(Default)]
pub(crate) struct InFlightTasks(Arc<AtomicUsize>);

/// Something that is on its way until this is dropped, by a panic too.
pub(crate) struct InFlightGuard(Arc<AtomicUsize>);

impl InFlightTasks {
    pub(crate) fn begin(&self) -> InFlightGuard {
        self.0.fetch_add(1, Ordering::SeqCst);
        InFlightGuard(self.0.clone())
    }

    /// Waits until all is back, for so long at most.
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
