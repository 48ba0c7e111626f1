//! Which submissions are away right now, in this process.
//!
//! An attempt whose submission is away must not be taken for one that a crash interrupted, even when its actor died and was born again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::ids::AttemptId;

/// Of each that is away: who waits for its end, once somebody does.
type Waiting = HashMap<AttemptId, Option<Arc<Notify>>>;

#[derive(Clone, Default)]
pub(crate) struct Submissions(Arc<Mutex<Waiting>>);

/// Held while a submission is away.
pub(crate) struct SubmissionGuard {
    submissions: Submissions,
    attempt: AttemptId,
}

impl Submissions {
    /// `None`: this attempt's submission is away already.
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

    /// Waits until an attempt's submission is no longer away. What it came to is stored by then.
    pub(crate) async fn ended(&self, attempt: AttemptId) {
        let ended = match self.in_flight().get_mut(&attempt) {
            Some(waiting) => waiting.get_or_insert_default().clone().notified_owned(),
            None => return,
        };
        ended.await;
    }

    fn in_flight(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for SubmissionGuard {
    fn drop(&mut self) {
        if let Some(Some(waiting)) = self.submissions.in_flight().remove(&self.attempt) {
            waiting.notify_waiters();
        }
    }
}
