//! How many queries of one connection run at once. A provider that hangs would otherwise have a socket open for every transaction
//! that is pending at it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use crate::limits::{GATEWAY_CALL, GATEWAY_QUERIES};
use crate::planted::{Fault, is_planted};

/// Who may ask now, by connection. A connection at which nobody asks or waits has no entry for long.
#[derive(Default)]
pub(super) struct Turns(Mutex<HashMap<String, Weak<Semaphore>>>);

/// The right to ask, until it is dropped.
pub(super) struct Turn {
    _permit: OwnedSemaphorePermit,
    /// Nothing when there was no queue.
    pub waited: Duration,
}

impl Turns {
    /// Waits in the order of arrival, and no longer than a call may take: whoever has not got a turn by then asks another time, so
    /// that the queue does not grow without end.
    pub(super) async fn take(&self, connection: String) -> Option<Turn> {
        let semaphore = self.of(connection);
        if let Ok(permit) = Arc::clone(&semaphore).try_acquire_owned() {
            return Some(Turn {
                _permit: permit,
                waited: Duration::ZERO,
            });
        }
        let since = Instant::now();
        let permit = tokio::time::timeout(GATEWAY_CALL, semaphore.acquire_owned()).await;
        Some(Turn {
            _permit: permit.ok()?.ok()?,
            waited: since.elapsed(),
        })
    }

    fn of(&self, connection: String) -> Arc<Semaphore> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(semaphore) = all.get(&connection).and_then(Weak::upgrade) {
            return semaphore;
        }
        all.retain(|_, semaphore| semaphore.strong_count() > 0);
        let places = match is_planted(Fault::TurnsShared) {
            true => 1,
            false => GATEWAY_QUERIES,
        };
        let semaphore = Arc::new(Semaphore::new(places));
        all.insert(connection, Arc::downgrade(&semaphore));
        semaphore
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn only_so_many_ask_at_one_connection_and_the_others_wait_for_a_while() {
        let turns = Turns::default();
        let mut taken = Vec::new();
        for _ in 0..GATEWAY_QUERIES {
            taken.push(turns.take("one".into()).await.unwrap());
        }
        assert!(turns.take("one".into()).await.is_none());
        assert!(turns.take("other".into()).await.is_some());
        let (next, ()) = tokio::join!(turns.take("one".into()), async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            taken.pop();
        });
        assert!(next.is_some_and(|turn| turn.waited >= Duration::from_secs(1)));
        drop(taken);
        drop(turns.take("third".into()).await);
        let all = turns.0.lock().unwrap();
        assert_eq!(all.len(), 1, "what nobody uses is not kept");
    }
}
