//! Cache of values that are fetched in the background, each under its key: at most one fetch of a
//! key at a time.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch as channel;

use switchyard_core::time::Timestamp;
use switchyard_system::clock::Clock;

/// Cache; clones share it.
pub struct FetchCache<T>(Arc<Inner<T>>);

struct Inner<T> {
    clock: Clock,
    times: FetchTimes,
    entries: Mutex<HashMap<String, Entry<T>>>,
}

/// Times of a cache, and its size.
#[derive(Clone, Copy)]
pub struct FetchTimes {
    /// Age up to which a value is not fetched again.
    pub fresh: Duration,
    /// Minimum time between two fetches.
    pub retry: Duration,
    /// Number of keys.
    pub keys: usize,
}

struct Entry<T> {
    state: Fetched<T>,
    tried_at: Option<Timestamp>,
    /// Ends with the last fetch.
    fetch: Option<channel::Receiver<()>>,
}

/// State of a key.
pub struct Fetched<T> {
    /// The last value, and the time of its fetch.
    pub value: Option<(Arc<T>, Timestamp)>,
    /// Reason for which a later fetch failed.
    pub failure: Option<String>,
    /// Whether a fetch runs now.
    pub is_running: bool,
}

impl<T: Send + Sync + 'static> FetchCache<T> {
    pub fn new(clock: Clock, times: FetchTimes) -> Self {
        Self(Arc::new(Inner {
            clock,
            times,
            entries: Mutex::default(),
        }))
    }

    /// State of a key; empty if it was never fetched.
    pub fn get(&self, key: &str) -> Fetched<T> {
        let entries = self.entries();
        entries.get(key).map_or_else(Fetched::default, Entry::shown)
    }

    /// Starts a fetch if one is due. Returns a receiver that ends with the fetch in progress.
    pub fn fetch_if_due<F>(
        &self,
        key: &str,
        fetch: impl FnOnce() -> F,
    ) -> Option<channel::Receiver<()>>
    where
        F: Future<Output = Result<T, String>> + Send + 'static,
    {
        let now = self.0.clock.now();
        let mut entries = self.entries();
        if !entries.contains_key(key) && entries.len() >= self.0.times.keys {
            entries.retain(|_, entry| entry.is_running());
        }
        let entry = entries.entry(key.to_owned()).or_default();
        if entry.is_due(now, self.0.times) {
            let (ended, end) = channel::channel(());
            entry.fetch = Some(end);
            entry.tried_at = Some(now);
            let (own, key, fetch) = (self.clone(), key.to_owned(), fetch());
            tokio::spawn(async move {
                let fetched = fetch.await;
                own.store(&key, fetched);
                drop(ended);
            });
        }
        entry.fetch.clone().filter(|_| entry.is_running())
    }

    fn store(&self, key: &str, fetched: Result<T, String>) {
        let now = self.0.clock.now();
        let mut entries = self.entries();
        let state = &mut entries.entry(key.to_owned()).or_default().state;
        match fetched {
            Ok(value) => {
                state.value = Some((Arc::new(value), now));
                state.failure = None;
            }
            Err(why) => state.failure = Some(why),
        }
    }

    fn entries(&self) -> MutexGuard<'_, HashMap<String, Entry<T>>> {
        self.0.entries.lock()
    }
}

impl<T> Entry<T> {
    /// A fetch that ended without a result has dropped its sender, too.
    fn is_running(&self) -> bool {
        let fetch = self.fetch.as_ref();
        fetch.is_some_and(|fetch| fetch.has_changed().is_ok())
    }

    fn is_due(&self, now: Timestamp, times: FetchTimes) -> bool {
        let value = self.state.value.as_ref();
        let is_fresh = value.is_some_and(|(_, at)| now.since(*at) <= times.fresh);
        let tried_at = self.tried_at;
        let is_too_soon = tried_at.is_some_and(|at| now.since(at) <= times.retry);
        !self.is_running() && !is_fresh && !is_too_soon
    }

    fn shown(&self) -> Fetched<T> {
        Fetched {
            value: self.state.value.clone(),
            failure: self.state.failure.clone(),
            is_running: self.is_running(),
        }
    }
}

impl<T> Clone for FetchCache<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Default for Entry<T> {
    fn default() -> Self {
        Self {
            state: Fetched::default(),
            tried_at: None,
            fetch: None,
        }
    }
}

impl<T> Default for Fetched<T> {
    fn default() -> Self {
        Self {
            value: None,
            failure: None,
            is_running: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use switchyard_core::testing::START;

    const TIMES: FetchTimes = FetchTimes {
        fresh: Duration::from_secs(60),
        retry: Duration::from_secs(10),
        keys: 2,
    };

    struct TestCache {
        cache: FetchCache<usize>,
        clock: Clock,
        fetches: Arc<AtomicUsize>,
    }

    impl TestCache {
        fn new() -> Self {
            let clock = Clock::manual(START);
            Self {
                cache: FetchCache::new(clock.clone(), TIMES),
                clock,
                fetches: Arc::default(),
            }
        }

        /// Runs a fetch if one is due, and returns how many there were.
        async fn fetch(&self, key: &str, result: Result<(), &'static str>) -> usize {
            let fetches = Arc::clone(&self.fetches);
            let fetch = self.cache.fetch_if_due(key, || async move {
                let number = fetches.fetch_add(1, Ordering::SeqCst) + 1;
                result.map(|()| number).map_err(str::to_owned)
            });
            if let Some(mut fetch) = fetch {
                assert!(fetch.changed().await.is_err(), "the fetch has ended");
            }
            self.fetches.load(Ordering::SeqCst)
        }

        fn value(&self, key: &str) -> Option<usize> {
            self.cache.get(key).value.map(|(value, _)| *value)
        }
    }

    #[tokio::test]
    async fn a_value_is_fetched_again_when_it_is_old_and_outlives_a_failure() {
        let test = TestCache::new();
        assert_eq!(test.fetch("a", Ok(())).await, 1);
        test.clock.advance(TIMES.fresh);
        assert_eq!(test.fetch("a", Ok(())).await, 1, "it is fresh");
        test.clock.advance(Duration::from_secs(1));
        assert_eq!(test.fetch("a", Err("it is down")).await, 2);
        assert_eq!(test.value("a"), Some(1));
        assert_eq!(test.cache.get("a").failure.as_deref(), Some("it is down"));
        assert_eq!(test.fetch("a", Ok(())).await, 2, "too soon after it");
        test.clock.advance(TIMES.retry + Duration::from_secs(1));
        assert_eq!(test.fetch("a", Ok(())).await, 3);
        assert_eq!(
            (test.value("a"), test.cache.get("a").failure),
            (Some(3), None)
        );
    }

    #[tokio::test]
    async fn one_fetch_of_a_key_runs_at_a_time_and_a_panic_ends_it() {
        let test = TestCache::new();
        let hung = || std::future::pending::<Result<usize, String>>();
        assert!(test.cache.fetch_if_due("a", hung).is_some());
        test.clock.advance(TIMES.fresh + TIMES.retry);
        let never = || -> std::future::Pending<_> { panic!("it starts a second one") };
        assert!(test.cache.fetch_if_due("a", never).is_some());
        assert!(test.cache.get("a").is_running);
        let panics = || async { std::panic::resume_unwind(Box::new("on purpose")) };
        let mut fetch = test.cache.fetch_if_due("b", panics).unwrap();
        assert!(fetch.changed().await.is_err());
        assert!(!test.cache.get("b").is_running);
        test.clock.advance(TIMES.retry + Duration::from_secs(1));
        assert_eq!(test.fetch("b", Ok(())).await, 1);
    }

    #[tokio::test]
    async fn a_full_cache_drops_what_is_not_being_fetched() {
        let test = TestCache::new();
        test.fetch("a", Ok(())).await;
        test.fetch("b", Ok(())).await;
        test.fetch("c", Ok(())).await;
        let values = ["a", "b", "c"].map(|key| test.value(key));
        assert_eq!(values, [None, None, Some(3)]);
    }
}
