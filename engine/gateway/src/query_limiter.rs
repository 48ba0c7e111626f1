//! Limit of concurrent queries per connection. Without it a hanging provider would keep a socket
//! open for every transaction that is pending at it.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use switchyard_core::limits::{GATEWAY_CALL, GATEWAY_QUERIES};

/// Semaphores by connection. The entry of an unused connection is removed at the next insertion.
#[derive(Default)]
pub(super) struct QueryLimiter(Mutex<HashMap<String, Weak<Semaphore>>>);

/// Permit for a query, released on drop.
pub(super) struct QueryPermit {
    _permit: OwnedSemaphorePermit,
    /// Time spent in the queue; zero without a queue.
    pub waited: Duration,
}

impl QueryLimiter {
    /// Waits for a permit, in the order of arrival, for [`GATEWAY_CALL`] at most. `None` after
    /// that: the query is made another time, so that the queue stays bounded.
    pub(super) async fn take(&self, connection: String) -> Option<QueryPermit> {
        let semaphore = self.of(connection);
        if let Ok(permit) = Arc::clone(&semaphore).try_acquire_owned() {
            return Some(QueryPermit {
                _permit: permit,
                waited: Duration::ZERO,
            });
        }
        let since = Instant::now();
        let permit = tokio::time::timeout(GATEWAY_CALL, semaphore.acquire_owned()).await;
        Some(QueryPermit {
            _permit: permit.ok()?.ok()?,
            waited: since.elapsed(),
        })
    }

    fn of(&self, connection: String) -> Arc<Semaphore> {
        let mut all = self.0.lock();
        if let Some(semaphore) = all.get(&connection).and_then(Weak::upgrade) {
            return semaphore;
        }
        all.retain(|_, semaphore| semaphore.strong_count() > 0);
        let semaphore = Arc::new(Semaphore::new(GATEWAY_QUERIES));
        all.insert(connection, Arc::downgrade(&semaphore));
        semaphore
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn only_so_many_ask_at_one_connection_and_the_others_wait_for_a_while() {
        let turns = QueryLimiter::default();
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
        let all = turns.0.lock();
        assert_eq!(all.len(), 1, "what nobody uses is not kept");
    }
}
