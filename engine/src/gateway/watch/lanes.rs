//! How many steps of one version run beside the runtime's threads at a time.
//!
//! A step that loops keeps its thread, and a processor, until the process ends. So a version has few threads at a time; when one of them
//! is given up, whatever waits for the others is told so, and from then on the version has the next, narrower lane: enough to be
//! asked about what it began. After the last one nothing of it runs any more.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::limits::GATEWAY_LANES;

/// The lanes of one version.
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
    /// Waits for a thread. `Err`: a step was given up meanwhile, or there are no more lanes.
    pub(super) async fn enter(&self) -> Result<OwnedSemaphorePermit, ()> {
        let lane = self.all.get(self.now()).ok_or(())?;
        Arc::clone(lane).acquire_owned().await.map_err(drop)
    }

    /// The lane of a step that begins now.
    pub(super) fn now(&self) -> usize {
        self.now.load(Ordering::SeqCst)
    }

    /// A step that began in this lane was given up.
    pub(super) fn shut(&self, lane: usize) {
        self.now.fetch_max(lane + 1, Ordering::SeqCst);
        if let Some(lane) = self.all.get(lane) {
            lane.close();
        }
    }

    /// Was a step given up?
    pub(super) fn are_narrow(&self) -> bool {
        self.now() > 0
    }

    /// Were too many?
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
                // Another of the same lane changes nothing more.
                lanes.shut(number);
            });
            assert!(next.is_err());
        }
        assert!(lanes.are_shut());
        assert!(lanes.enter().await.is_err());
    }
}
