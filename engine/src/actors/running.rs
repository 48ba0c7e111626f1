//! Which submissions are away right now, in this process.
//!
//! An attempt whose submission is away must not be taken for one that a crash interrupted, even when its actor died and was born again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::ids::AttemptId;

/// Of each that is away: who waits for its end, once somebody does.
type Submissions = HashMap<AttemptId, Option<Arc<Notify>>>;

#[derive(Clone, Default)]
pub(crate) struct Running(Arc<Mutex<Submissions>>);

/// Held while a submission is away.
pub(crate) struct Away {
    running: Running,
    attempt: AttemptId,
}

impl Running {
    /// `None`: this attempt's submission is away already.
    pub(crate) fn enter(&self, attempt: AttemptId) -> Option<Away> {
        let mut away = self.away();
        if away.contains_key(&attempt) {
            return None;
        }
        away.insert(attempt, None);
        Some(Away {
            running: self.clone(),
            attempt,
        })
    }

    pub(crate) fn contains(&self, attempt: AttemptId) -> bool {
        self.away().contains_key(&attempt)
    }

    pub(crate) fn count(&self) -> usize {
        self.away().len()
    }

    /// Waits until an attempt's submission is no longer away. What it came to is stored by then.
    pub(crate) async fn back(&self, attempt: AttemptId) {
        let back = match self.away().get_mut(&attempt) {
            Some(waiting) => waiting.get_or_insert_default().clone().notified_owned(),
            None => return,
        };
        back.await;
    }

    fn away(&self) -> MutexGuard<'_, Submissions> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Away {
    fn drop(&mut self) {
        if let Some(Some(waiting)) = self.running.away().remove(&self.attempt) {
            waiting.notify_waiters();
        }
    }
}
