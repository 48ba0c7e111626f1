//! Limit of concurrent steps of one version on blocking threads.
//!
//! A looping step keeps its thread, and a processor, until the process ends. So a version has few
//! threads. When one of its steps is abandoned, the steps that wait for a thread fail, and the
//! version moves to the next, narrower lane: enough for queries about earlier attempts. After the
//! last lane the version runs no more code.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::limits::GATEWAY_LANES;

/// Lanes of one version, used one after the other.
pub(in crate::gateway) struct Lanes {
    all: [Arc<Semaphore>; GATEWAY_LANES.len()],
    now: AtomicUsize,
}

impl Default for Lanes {
    fn default() -> Self {
        Self {
            all: GATEWAY_LANES.map(|width| Arc::new(Semaphore::new(width))),
            now: AtomicUsize::new(0),
        }
    }
}

impl Lanes {
    /// Waits for a thread. `Err`: a step was abandoned during the wait, or there are no more lanes.
    pub(super) async fn enter(&self) -> Result<OwnedSemaphorePermit, ()> {
        let lane = self.all.get(self.now()).ok_or(())?;
        Arc::clone(lane).acquire_owned().await.map_err(drop)
    }

    /// Lane of a step that starts now.
    pub(super) fn now(&self) -> usize {
        self.now.load(Ordering::SeqCst)
    }

    /// Closes this lane after a step that started in it was abandoned.
    pub(super) fn shut(&self, lane: usize) {
        self.now.fetch_max(lane + 1, Ordering::SeqCst);
        if let Some(lane) = self.all.get(lane) {
            lane.close();
        }
    }

    /// Whether a step was abandoned.
    pub(super) fn are_narrow(&self) -> bool {
        self.now() > 0
    }

    /// Whether the last lane is closed.
    pub(super) fn are_shut(&self) -> bool {
        self.now() >= self.all.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn whoever_waits_for_a_thread_is_told_when_one_is_given_up_and_after_the_last_lane_nobody_enters()
     {
        let lanes = Lanes::default();
        for (number, width) in GATEWAY_LANES.into_iter().enumerate() {
            assert!(!lanes.are_shut());
            assert_eq!((lanes.now(), lanes.are_narrow()), (number, number > 0));
            let mut held = Vec::new();
            for _ in 0..width {
                held.push(lanes.enter().await.unwrap());
            }
            let (next, ()) = tokio::join!(lanes.enter(), async {
                lanes.shut(number);
                // A second abandoned step of the same lane changes nothing more.
                lanes.shut(number);
            });
            assert!(next.is_err());
        }
        assert!(lanes.are_shut());
        assert!(lanes.enter().await.is_err());
    }
}
