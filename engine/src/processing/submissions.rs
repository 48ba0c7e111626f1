//! Submissions of this process that are in flight.
//!
//! An attempt with a submission in flight is not one that a crash interrupted, also when its actor
//! was restarted.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

use switchyard_core::ids::AttemptId;

/// Attempts with a submission in flight. The value notifies those that wait for its end, if any.
type Waiting = HashMap<AttemptId, Option<Arc<Notify>>>;

#[derive(Clone, Default)]
pub(crate) struct Submissions(Arc<Mutex<Waiting>>);

/// Guard of a submission in flight.
pub(crate) struct SubmissionGuard {
    submissions: Submissions,
    attempt: AttemptId,
}

impl Submissions {
    /// `None`: a submission of this attempt is in flight already.
    pub(crate) fn enter(&self, attempt: AttemptId) -> Option<SubmissionGuard> {
        let mut in_flight = self.in_flight();
        if in_flight.contains_key(&attempt) {
            return None;
        }
        in_flight.insert(attempt, None);
        Some(SubmissionGuard {
            submissions: self.clone(),
            attempt,
        })
    }

    pub(crate) fn contains(&self, attempt: AttemptId) -> bool {
        self.in_flight().contains_key(&attempt)
    }

    pub(crate) fn count(&self) -> usize {
        self.in_flight().len()
    }

    /// Waits for the end of an attempt's submission. Its outcome is durable by then.
    pub(crate) async fn ended(&self, attempt: AttemptId) {
        let ended = match self.in_flight().get_mut(&attempt) {
            Some(waiting) => waiting.get_or_insert_default().clone().notified_owned(),
            None => return,
        };
        ended.await;
    }

    fn in_flight(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock()
    }
}

impl Drop for SubmissionGuard {
    fn drop(&mut self) {
        if let Some(Some(waiting)) = self.submissions.in_flight().remove(&self.attempt) {
            waiting.notify_waiters();
        }
    }
}
