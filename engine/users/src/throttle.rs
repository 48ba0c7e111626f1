//! Slows down repeated sign-ins, for each e-mail address and each client address.
//!
//! Three failures are free. From the fourth on each failure delays the next try, from 1 second,
//! doubled each time, to 15 minutes. A try during a delay is refused and does not extend it: no
//! user is locked out permanently. Unknown e-mail addresses are treated like known ones. The
//! failures are in memory only.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

use parking_lot::Mutex;
use switchyard_core::limits::{
    SIGN_IN_ADDRESSES, SIGN_IN_FAILURES_KEPT, SIGN_IN_FIRST_DELAY, SIGN_IN_FREE_FAILURES,
    SIGN_IN_LONGEST_DELAY,
};
use switchyard_core::time::Timestamp;

use crate::user::email_key;
use switchyard_system::secrets::Fingerprint;

/// Failures by address.
#[derive(Default)]
pub(crate) struct Throttle(Mutex<BTreeMap<Key, Failures>>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Key {
    /// Hash: an attacker chooses the length of the text.
    Email(Fingerprint),
    Client(IpAddr),
}

#[derive(Clone, Copy)]
struct Failures {
    count: u32,
    last: Timestamp,
    blocked_until: Timestamp,
}

/// A counted try, for [`Throttle::refund`].
#[derive(Clone, Copy)]
pub(crate) struct Try {
    email: Key,
    client: Option<Key>,
}

impl Key {
    pub fn of_email(email: &str) -> Self {
        Self::Email(Fingerprint::of(email_key(email)))
    }

    pub fn of_client(address: IpAddr) -> Self {
        Self::Client(network(address))
    }
}

impl Throttle {
    /// Counts a try as failed before its result is known, so that concurrent ones count, too. The
    /// error is the time until the next try.
    pub fn begin(
        &self,
        email: &str,
        client: Option<IpAddr>,
        now: Timestamp,
    ) -> Result<Try, Duration> {
        let counted = Try {
            email: Key::of_email(email),
            client: client.map(Key::of_client),
        };
        let mut all = self.0.lock();
        let wait = counted.keys().filter_map(|key| {
            let blocked_until = all.get(&key)?.blocked_until;
            (blocked_until > now).then(|| blocked_until.since(now))
        });
        if let Some(wait) = wait.max() {
            return Err(wait);
        }
        for key in counted.keys() {
            make_room(&mut all, key, now);
            let failures = all.entry(key).or_insert(Failures {
                count: 0,
                last: now,
                blocked_until: now,
            });
            if now.since(failures.last) >= SIGN_IN_FAILURES_KEPT {
                failures.count = 0;
            }
            failures.count = failures.count.saturating_add(1);
            failures.last = now;
            failures.blocked_until = now.plus(delay(failures.count));
        }
        Ok(counted)
    }

    /// Takes a try back: it did not fail. Earlier failures stay.
    pub fn refund(&self, counted: Try) {
        let mut all = self.0.lock();
        for key in counted.keys() {
            let Some(failures) = all.get_mut(&key) else {
                continue;
            };
            failures.count = failures.count.saturating_sub(1);
            failures.blocked_until = failures.last;
            if failures.count == 0 {
                all.remove(&key);
            }
        }
    }

    /// Forgets the failures of an e-mail address after a complete sign-in or a reset. Those of the
    /// client's address stay: it may try others.
    pub fn forget(&self, email: &str) {
        let key = Key::of_email(email);
        self.0.lock().remove(&key);
    }

    /// Forgets failures that no longer count.
    pub fn purge(&self, now: Timestamp) {
        let mut all = self.0.lock();
        all.retain(|_, failures| now.since(failures.last) < SIGN_IN_FAILURES_KEPT);
    }
}

impl Try {
    fn keys(self) -> impl Iterator<Item = Key> {
        [Some(self.email), self.client].into_iter().flatten()
    }
}

/// Delay after so many failures.
fn delay(failures: u32) -> Duration {
    let Some(doublings) = failures.checked_sub(SIGN_IN_FREE_FAILURES + 1) else {
        return Duration::ZERO;
    };
    let factor = 1_u32.checked_shl(doublings).unwrap_or(u32::MAX);
    SIGN_IN_FIRST_DELAY
        .saturating_mul(factor)
        .min(SIGN_IN_LONGEST_DELAY)
}

/// Forgets old failures when there are too many addresses, and if that is not enough the address
/// with the fewest.
fn make_room(all: &mut BTreeMap<Key, Failures>, key: Key, now: Timestamp) {
    if all.len() < SIGN_IN_ADDRESSES || all.contains_key(&key) {
        return;
    }
    all.retain(|_, failures| now.since(failures.last) < SIGN_IN_FAILURES_KEPT);
    if all.len() >= SIGN_IN_ADDRESSES {
        let least = all.iter().min_by_key(|(_, it)| (it.count, it.last));
        if let Some(key) = least.map(|(key, _)| *key) {
            all.remove(&key);
        }
    }
}

/// Address that counts as one client: an IPv6 client has a whole /64.
#[must_use]
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let prefix = u128::from(address) & (u128::MAX << 64);
            IpAddr::V6(Ipv6Addr::from(prefix))
        }
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp::from_seconds(1_800_000_000);

    fn client(last: u8) -> Option<IpAddr> {
        Some(IpAddr::from([192, 0, 2, last]))
    }

    #[test]
    fn the_delay_doubles_from_the_fourth_failure_to_15_minutes() {
        let seconds = |failures| delay(failures).as_secs();
        let delays: Vec<_> = (1..=8).map(seconds).collect();
        assert_eq!(delays, [0, 0, 0, 1, 2, 4, 8, 16]);
        assert_eq!((seconds(13), seconds(14)), (512, 900));
        assert_eq!((seconds(99), seconds(u32::MAX)), (900, 900));
    }

    #[test]
    fn a_try_during_a_delay_is_refused_and_does_not_extend_it() {
        let throttle = Throttle::default();
        for _ in 0..4 {
            throttle.begin("ada@example.com", None, START).unwrap();
        }
        let refused = throttle.begin("Ada@Example.com", None, START);
        assert_eq!(refused.err(), Some(Duration::from_secs(1)));
        let later = START.plus(Duration::from_secs(1));
        assert!(throttle.begin("ada@example.com", None, later).is_ok());
        assert!(throttle.begin("eve@example.com", None, START).is_ok());
    }

    #[test]
    fn failures_of_one_client_count_for_all_addresses_it_tries() {
        let throttle = Throttle::default();
        for n in 0..4 {
            let email = format!("user{n}@example.com");
            throttle.begin(&email, client(1), START).unwrap();
        }
        assert!(
            throttle
                .begin("next@example.com", client(1), START)
                .is_err()
        );
        assert!(throttle.begin("next@example.com", client(2), START).is_ok());
    }

    #[test]
    fn a_client_with_ipv6_is_its_network() {
        let address = |text: &str| network(text.parse().unwrap());
        assert_eq!(address("2001:db8:1:2::5"), address("2001:db8:1:2:ffff::1"));
        assert_ne!(address("2001:db8:1:2::5"), address("2001:db8:1:3::5"));
        assert_eq!(address("::ffff:192.0.2.1"), address("192.0.2.1"));
    }

    #[test]
    fn a_correct_password_takes_its_own_try_back_and_no_earlier_failure() {
        let throttle = Throttle::default();
        for _ in 0..3 {
            throttle.begin("ada@example.com", client(1), START).unwrap();
        }
        for _ in 0..5 {
            let counted = throttle.begin("ada@example.com", client(1), START);
            throttle.refund(counted.unwrap());
        }
        throttle.begin("ada@example.com", client(1), START).unwrap();
        assert!(throttle.begin("ada@example.com", client(2), START).is_err());
        throttle.forget("ada@example.com");
        assert!(throttle.begin("ada@example.com", client(2), START).is_ok());
        assert!(throttle.begin("ada@example.com", client(1), START).is_err());
    }

    #[test]
    fn failures_are_forgotten_after_a_day() {
        let throttle = Throttle::default();
        for _ in 0..4 {
            throttle.begin("ada@example.com", None, START).unwrap();
        }
        let next_day = START.plus(SIGN_IN_FAILURES_KEPT);
        for _ in 0..3 {
            throttle.begin("ada@example.com", None, next_day).unwrap();
        }
    }

    #[test]
    fn memory_is_bounded_and_keeps_the_addresses_with_the_most_failures() {
        let throttle = Throttle::default();
        for _ in 0..4 {
            throttle.begin("ada@example.com", None, START).unwrap();
        }
        for n in 0..SIGN_IN_ADDRESSES + 10 {
            let email = format!("user{n}@example.com");
            throttle.begin(&email, None, START).unwrap();
        }
        assert_eq!(throttle.0.lock().len(), SIGN_IN_ADDRESSES);
        assert!(throttle.begin("ada@example.com", None, START).is_err());
    }
}
