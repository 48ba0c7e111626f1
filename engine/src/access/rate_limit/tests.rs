use proptest::prelude::*;

use super::*;
use switchyard_system::ids::Ids;

/// A limiter of secret keys.
struct Keys(RateLimiter);

impl Keys {
    fn allow(&self, key: KeyId, now: Timestamp) -> Rate {
        self.0.allow(key, KeyKind::Secret, None, now)
    }
}

fn limiter(per_key: u32) -> Keys {
    Keys(RateLimiter::new(RateLimits {
        per_key,
        public_key_total: per_key,
        without_key: 0,
    }))
}

#[test]
fn each_payment_has_requests_of_its_own() {
    let limiter = RateLimiter::new(RateLimits {
        per_key: 120,
        public_key_total: 6_000,
        without_key: 1,
    });
    let ids = Ids::system();
    let now = Timestamp::from_micros(1_700_000_000_000_000);
    let address = "192.0.2.1".parse().unwrap();
    assert!(limiter.allow_without_key(address, now).allowed);
    assert!(!limiter.allow_without_key(address, now).allowed);
    let [one, other] = [(); 2].map(|()| PaymentId::new(ids.ulid(now)));
    for n in 0..CHECKOUT_REQUESTS {
        assert!(limiter.allow_payer(one, now).allowed, "{n}");
    }
    let refused = limiter.allow_payer(one, now);
    assert_eq!(
        (refused.allowed, refused.scope, refused.retry_after),
        (false, Scope::Payment, Some(60))
    );
    assert!(limiter.allow_payer(other, now).allowed);
    assert!(limiter.allow_payer(one, now.plus(WINDOW)).allowed);
    // Their address has another limit for all of them.
    assert!((0..CHECKOUT_SHARE).all(|_| limiter.allow_payers(address, now).allowed));
    assert!(!limiter.allow_payers(address, now).allowed);
    let other = "192.0.2.2".parse().unwrap();
    assert!(limiter.allow_payers(other, now).allowed);
}

#[test]
fn a_public_key_has_its_limit_for_each_address_and_a_total_that_counts_only_what_was_allowed() {
    let limiter = RateLimiter::new(RateLimits {
        per_key: 2,
        public_key_total: 5,
        without_key: 0,
    });
    let now = Timestamp::from_seconds(1_000);
    let ask = |address: &str, at| {
        let address = Some(address.parse().unwrap());
        limiter.allow(key(), KeyKind::Public, address, at)
    };
    let one = "2001:db8:1:2::1";
    assert_eq!(ask(one, now).remaining, 1);
    // The same subscriber under another of their addresses.
    assert_eq!(ask("2001:db8:1:2:ffff::9", now).remaining, 0);
    for _ in 0..9 {
        assert_eq!(
            (ask(one, now).allowed, ask(one, now).scope),
            (false, Scope::Address)
        );
    }
    assert!(ask("203.0.113.1", now).allowed);
    assert!(
        ask("::ffff:203.0.113.1", now).allowed,
        "IPv4 in IPv6 is IPv4"
    );
    assert!(!ask("203.0.113.1", now).allowed);
    assert!(ask("2001:db8:1:3::1", now).allowed);
    let refused = ask("203.0.113.2", now);
    assert_eq!(
        (refused.allowed, refused.scope),
        (false, Scope::PublicKeyTotal)
    );
    assert_eq!((refused.limit, refused.retry_after), (5, Some(60)));
    assert!(ask("203.0.113.2", now.plus(WINDOW)).allowed);
}

#[test]
fn the_many_subscribers_of_one_site_share_a_limit() {
    let limiter = RateLimiter::new(RateLimits {
        per_key: 1,
        public_key_total: 1_000,
        without_key: 0,
    });
    let now = Timestamp::from_seconds(1_000);
    let ask = |subscriber: u32| {
        let address = format!("2001:db8:7:{subscriber:x}::1").parse().unwrap();
        limiter.allow(key(), KeyKind::Public, Some(address), now)
    };
    assert!((0..SITE_SHARE).all(|subscriber| ask(subscriber).allowed));
    let refused = ask(SITE_SHARE);
    assert_eq!((refused.allowed, refused.scope), (false, Scope::Site));
    let elsewhere = Some("2001:db8:8::1".parse().unwrap());
    let elsewhere = limiter.allow(key(), KeyKind::Public, elsewhere, now);
    assert!(elsewhere.allowed);
}

#[test]
fn addresses_that_ask_no_more_are_forgotten_and_refused_ones_never_remembered() {
    let limiter = RateLimiter::new(RateLimits {
        per_key: 1,
        public_key_total: 50,
        without_key: 0,
    });
    let ask = |n: u32, at| {
        let address = IpAddr::from(n.to_be_bytes());
        limiter.allow(key(), KeyKind::Public, Some(address), at)
    };
    let now = Timestamp::from_seconds(1_000);
    let allowed = (0..1_000).filter(|n| ask(*n, now).allowed).count();
    assert_eq!(allowed, 50);
    assert_eq!(limiter.shard(key()).clients.len(), 50);
    assert!(ask(5_000, now.plus(WINDOW)).allowed);
    assert_eq!(limiter.shard(key()).clients.len(), 1);
    limiter.forget(key());
    assert_eq!(limiter.shard(key()).clients.len(), 0);
}

#[test]
fn requests_without_a_key_have_a_limit_for_each_address_and_site_and_none_in_all() {
    let limiter = |per_key, without_key| {
        RateLimiter::new(RateLimits {
            per_key,
            public_key_total: 1_000,
            without_key,
        })
    };
    let now = Timestamp::from_seconds(1_000);
    let limited = limiter(1, 2);
    let ask = |address: &str, at| limited.allow_without_key(address.parse().unwrap(), at);
    assert_eq!(ask("203.0.113.1", now).remaining, 1);
    assert_eq!(ask("::ffff:203.0.113.1", now).remaining, 0);
    let refused = ask("203.0.113.1", now);
    assert_eq!(
        (refused.allowed, refused.scope, refused.retry_after),
        (false, Scope::NoKeyAddress, Some(60))
    );
    assert!(ask("203.0.113.1", now.plus(WINDOW)).allowed);
    for other in 0..1_000_u32 {
        let address = IpAddr::from(other.to_be_bytes());
        assert!(limited.allow_without_key(address, now).allowed);
    }
    // The limit of a site, of which a client can take any number of addresses.
    for subscriber in 0..2 * SITE_SHARE {
        assert!(ask(&format!("2001:db8:7:{subscriber:x}::1"), now).allowed);
    }
    let refused = ask("2001:db8:7:ffff::1", now);
    assert_eq!((refused.allowed, refused.scope), (false, Scope::NoKeySite));
    assert!(ask("2001:db8:8::1", now).allowed);
    // Keys are counted by themselves, also from an address that is refused.
    let address = Some("203.0.113.1".parse().unwrap());
    let keyed = limited.allow(key(), KeyKind::Public, address, now);
    assert!(keyed.allowed);
    for unlimited in [limiter(1, 0), limiter(0, 2)] {
        let address = "203.0.113.1".parse().unwrap();
        assert!((0..9).all(|_| unlimited.allow_without_key(address, now).allowed));
    }
}

fn key() -> KeyId {
    KeyId::new(Ids::seeded(1).ulid(Timestamp::from_seconds(1)))
}

#[test]
fn the_121st_request_in_a_minute_is_refused_and_the_first_after_it_is_allowed() {
    let limiter = limiter(120);
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
            scope: Scope::Key,
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
    let limiter = limiter(1);
    let now = Timestamp::from_seconds(5);
    let (one, other) = (KeyId::new(ids.ulid(now)), KeyId::new(ids.ulid(now)));
    assert!(limiter.allow(one, now).allowed);
    assert!(!limiter.allow(one, now).allowed);
    assert!(limiter.allow(other, now).allowed);
}

#[test]
fn a_limit_of_zero_refuses_nothing() {
    let limiter = limiter(0);
    assert!((0..1000).all(|_| limiter.allow(key(), Timestamp::from_seconds(1)).allowed));
}

#[test]
fn a_clock_that_is_set_back_neither_opens_the_window_nor_locks_the_key_for_good() {
    let limiter = limiter(2);
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
    /// In any rhythm of requests, no window of 60 s holds more than the limit, and a request is
    /// refused only when one does hold it.
    #[test]
    fn never_more_than_the_limit_in_any_window_and_never_a_refusal_below_it(
        limit in 1_u32..12,
        gaps in proptest::collection::vec(prop_oneof![0_u64..2_000_000, 0_u64..30_000_000, Just(60_000_000)], 1..300),
    ) {
        let limiter = limiter(limit);
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
