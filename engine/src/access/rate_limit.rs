//! At most so many requests in any 60 seconds, for each key, exactly.
//!
//! For each key the moments of the requests that it was allowed in the last 60 s are kept, oldest first: a request is allowed when
//! fewer than the limit are left after the old ones are dropped. So there is no window edge at which twice the limit slips
//! through. Refused requests do not count. The cost is one short lock on one of 64 shards; after a key's first requests nothing is
//! allocated. A key costs 8 bytes for each request of its last minute.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::clock::Timestamp;
use crate::ids::KeyId;

/// The length of the window.
pub const WINDOW: Duration = Duration::from_secs(60);

/// What the limiter says about one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    pub allowed: bool,
    /// Requests in any 60 s. 0: there is no limit, and the other numbers mean nothing.
    pub limit: u32,
    /// How many more would be allowed at this very moment.
    pub remaining: u32,
    /// Seconds until the oldest counted request leaves the window, rounded up.
    pub reset_seconds: u32,
    /// Set when refused: seconds after which a request will be allowed, rounded up, at least 1.
    pub retry_after: Option<u32>,
}

pub(super) struct RateLimiter {
    limit: u32,
    shards: Box<[Mutex<HashMap<KeyId, Window>>]>,
}

/// The moments (microseconds) of the allowed requests of one key in the last 60 s, oldest first.
#[derive(Default)]
struct Window(VecDeque<i64>);

impl RateLimiter {
    /// `limit` 0 switches it off.
    pub fn new(limit: u32) -> Self {
        Self {
            limit,
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
        }
    }

    pub fn allow(&self, key: KeyId, now: Timestamp) -> Rate {
        if self.limit == 0 {
            return Rate {
                allowed: true,
                limit: 0,
                remaining: 0,
                reset_seconds: 0,
                retry_after: None,
            };
        }
        let mut shard = self.shard(key);
        match shard.get_mut(&key) {
            Some(window) => window.allow(self.limit, now),
            None => shard.entry(key).or_default().allow(self.limit, now),
        }
    }

    /// Forgets a key that was deleted.
    pub fn forget(&self, key: KeyId) {
        self.shard(key).remove(&key);
    }

    fn shard(&self, key: KeyId) -> std::sync::MutexGuard<'_, HashMap<KeyId, Window>> {
        // The low bits of a ULID are random.
        let place = (key.ulid().0 as usize) % SHARDS;
        self.shards[place]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Window {
    fn allow(&mut self, limit: u32, now: Timestamp) -> Rate {
        let now = self.not_before_the_last(now.as_micros());
        while self.0.front().is_some_and(|at| now - at >= WINDOW_MICROS) {
            self.0.pop_front();
        }
        let used = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        let allowed = used < limit;
        if allowed {
            self.0.push_back(now);
        }
        let reset_seconds = self
            .0
            .front()
            .map_or(0, |at| seconds_up(at + WINDOW_MICROS - now));
        Rate {
            allowed,
            limit,
            remaining: limit
                .saturating_sub(used)
                .saturating_sub(u32::from(allowed)),
            reset_seconds,
            retry_after: (!allowed).then_some(reset_seconds.max(1)),
        }
    }

    /// A wall clock may be set back. By less than a window, time stands still for this key; by more, the old moments are in a
    /// future that may never come, and are dropped.
    fn not_before_the_last(&mut self, now: i64) -> i64 {
        match self.0.back() {
            Some(last) if now + WINDOW_MICROS < *last => {
                self.0.clear();
                now
            }
            Some(last) => now.max(*last),
            None => now,
        }
    }
}

fn seconds_up(micros: i64) -> u32 {
    u32::try_from((micros + 999_999) / 1_000_000).unwrap_or(0)
}

const WINDOW_MICROS: i64 = 60_000_000;
/// More shards than cores that will ever run this.
const SHARDS: usize = 64;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ids::Ids;

    fn key() -> KeyId {
        KeyId::new(Ids::seeded(1).ulid(Timestamp::from_seconds(1)))
    }

    #[test]
    fn the_121st_request_in_a_minute_is_refused_and_the_first_after_it_is_allowed() {
        let limiter = RateLimiter::new(120);
        let start = Timestamp::from_seconds(1_000_000);
        for n in 0..120 {
            let rate = limiter.allow(key(), start.plus(Duration::from_millis(n * 100)));
            assert!(rate.allowed, "{n}");
            assert_eq!(rate.remaining, 119 - u32::try_from(n).unwrap());
        }
        let refused = limiter.allow(key(), start.plus(Duration::from_secs(12)));
        assert_eq!(
            refused,
            Rate {
                allowed: false,
                limit: 120,
                remaining: 0,
                reset_seconds: 48,
                retry_after: Some(48)
            }
        );
        let last_moment = start.plus(WINDOW - Duration::from_micros(1));
        assert_eq!(limiter.allow(key(), last_moment).retry_after, Some(1));
        assert!(limiter.allow(key(), start.plus(WINDOW)).allowed);
        assert!(!limiter.allow(key(), start.plus(WINDOW)).allowed);
    }

    #[test]
    fn keys_do_not_share_a_limit() {
        let ids = Ids::seeded(2);
        let limiter = RateLimiter::new(1);
        let now = Timestamp::from_seconds(5);
        let (one, other) = (KeyId::new(ids.ulid(now)), KeyId::new(ids.ulid(now)));
        assert!(limiter.allow(one, now).allowed);
        assert!(!limiter.allow(one, now).allowed);
        assert!(limiter.allow(other, now).allowed);
    }

    #[test]
    fn a_limit_of_zero_refuses_nothing() {
        let limiter = RateLimiter::new(0);
        assert!((0..1000).all(|_| limiter.allow(key(), Timestamp::from_seconds(1)).allowed));
    }

    #[test]
    fn a_clock_that_is_set_back_neither_opens_the_window_nor_locks_the_key_for_good() {
        let limiter = RateLimiter::new(2);
        let now = Timestamp::from_seconds(10_000);
        assert!(limiter.allow(key(), now).allowed);
        assert!(limiter.allow(key(), now).allowed);
        assert!(
            !limiter
                .allow(key(), now.minus(Duration::from_secs(30)))
                .allowed
        );
        assert!(
            limiter
                .allow(key(), now.minus(Duration::from_secs(3_600)))
                .allowed
        );
    }

    proptest! {
        /// Whatever the rhythm: no window of 60 s holds more than the limit, and a request is refused only when one does hold it.
        #[test]
        fn never_more_than_the_limit_in_any_window_and_never_a_refusal_below_it(
            limit in 1_u32..12,
            gaps in proptest::collection::vec(prop_oneof![0_u64..2_000_000, 0_u64..30_000_000, Just(60_000_000)], 1..300),
        ) {
            let limiter = RateLimiter::new(limit);
            let mut now = Timestamp::from_seconds(50_000);
            let mut allowed: Vec<i64> = Vec::new();
            for gap in gaps {
                now = now.plus(Duration::from_micros(gap));
                let at = now.as_micros();
                let rate = limiter.allow(key(), now);
                let before = allowed.iter().filter(|then| at - **then < WINDOW_MICROS).count();
                prop_assert_eq!(rate.allowed, before < limit as usize);
                prop_assert_eq!(rate.remaining as usize, (limit as usize).saturating_sub(before + 1));
                if rate.allowed {
                    allowed.push(at);
                } else {
                    // The promise of `retry_after` holds: at that time it is allowed.
                    let wait = i64::from(rate.retry_after.unwrap()) * 1_000_000;
                    let then = allowed.iter().filter(|t| at + wait - **t < WINDOW_MICROS).count();
                    prop_assert!(then < limit as usize);
                }
            }
        }
    }
}
