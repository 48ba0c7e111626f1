//! Which submissions are away right now, in this process.
//!
//! An attempt whose submission is away must not be taken for one that a crash interrupted, even when its actor died and was born again.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use crate::ids::AttemptId;

#[derive(Clone, Default)]
pub(crate) struct Running(Arc<Mutex<HashSet<AttemptId>>>);

/// Held while a submission is away.
pub(crate) struct Away {
    running: Running,
    attempt: AttemptId,
}

impl Running {
    /// `None`: this attempt's submission is away already.
    pub(crate) fn enter(&self, attempt: AttemptId) -> Option<Away> {
        let entered = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(attempt);
        entered.then(|| Away {
            running: self.clone(),
            attempt,
        })
    }

    pub(crate) fn contains(&self, attempt: AttemptId) -> bool {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .contains(&attempt)
    }

    pub(crate) fn count(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

impl Drop for Away {
    fn drop(&mut self) {
        self.running
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&self.attempt);
    }
}
