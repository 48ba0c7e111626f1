//! Rate limit per key: an exact maximum of requests in each window of 60 seconds.
//!
//! For each key the moments of the requests that it was allowed in the last 60 s are kept, oldest
//! first: a request is allowed when fewer than the limit are left after the old ones are dropped.
//! So there is no window edge at which twice the limit slips through. Refused requests do not
//! count. The cost is one short lock on one of 64 shards; after a key's first requests nothing is
//! allocated. A key costs 8 bytes for each request of its last minute.
//!
//! A public key is used by many strangers at once. For it the limit holds for each client address,
//! for each site of many addresses, and a higher one for all of them together, so that one visitor
//! cannot use up what the others need.
//!
//! Requests without a key, of payers and of programs that know no key, have a limit for each client
//! address and for each site. There is no limit on all of them together, since one visitor could
//! then use up the requests of all others. The requests of the last two minutes bound the memory.
//! Many payers can have one address, behind the gateway of a mobile network. So when an address is
//! over its limit, the pages of each payment still have a few requests of their own.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::time::Duration;

use parking_lot::Mutex;

use super::KeyKind;
use switchyard_core::client_network;
use switchyard_core::ids::{KeyId, PaymentId};
use switchyard_core::limits::{CHECKOUT_REQUESTS, CHECKOUT_SHARE, SITE_SHARE};
use switchyard_core::time::Timestamp;

/// The length of the window.
pub const WINDOW: Duration = Duration::from_secs(60);

/// Decision about one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    pub allowed: bool,
    pub scope: Scope,
    /// Requests in any 60 s. 0: there is no limit, and the other numbers mean nothing.
    pub limit: u32,
    /// Number of further requests that are allowed now.
    pub remaining: u32,
    /// Seconds until the oldest counted request leaves the window, rounded up.
    pub reset_seconds: u32,
    /// Set when refused: seconds after which a request will be allowed, rounded up, at least 1.
    pub retry_after: Option<u32>,
}

/// Which requests a limit counts together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All of a secret key.
    Key,
    /// Requests with a public key from one client address.
    Address,
    /// Requests with a public key from one /48 network of IPv6.
    Site,
    /// All of a public key.
    PublicKeyTotal,
    /// Requests without a key from one client address.
    NoKeyAddress,
    /// Requests without a key from one /48 network of IPv6.
    NoKeySite,
    /// Requests for the checkout pages of one payment, from addresses that are over their limit.
    Payment,
}

impl Scope {
    /// The word for it in metrics.
    const fn word(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::Address => "address",
            Self::Site => "site",
            Self::PublicKeyTotal => "public_key_total",
            Self::NoKeyAddress => "no_key_address",
            Self::NoKeySite => "no_key_site",
            Self::Payment => "payment",
        }
    }
}

/// Requests in any 60 s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RateLimits {
    /// Of a secret key, and of a public key from one client address. 0: there are no limits at all.
    pub per_key: u32,
    /// Of a public key, from all addresses together.
    pub public_key_total: u32,
    /// Without a key from one client address. 0: any number.
    pub without_key: u32,
}

pub(super) struct RateLimiter {
    limits: RateLimits,
    shards: Box<[Mutex<Shard>]>,
}

#[derive(Default)]
struct Shard {
    keys: HashMap<KeyId, Window>,
    /// Of public keys, and of requests without a key. At most two for each request that was allowed
    /// in the last two minutes.
    clients: HashMap<(Option<KeyId>, Client), Window>,
    /// When addresses without a recent request were last forgotten, in microseconds.
    swept_at: i64,
}

/// The clients whose requests with a public key, or without a key, are counted together.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Client {
    Unknown,
    Subscriber(IpAddr),
    Site(IpAddr),
    /// Payers behind an address that is over its limit.
    PayersAt(IpAddr),
    /// Clients that have the link to the pages of this payment.
    PayerOf(PaymentId),
}

/// The moments (microseconds) of the allowed requests of one key in the last 60 s, oldest first.
#[derive(Default)]
struct Window(VecDeque<i64>);

impl RateLimiter {
    pub fn new(limits: RateLimits) -> Self {
        Self {
            limits,
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
        }
    }

    /// Counts a request with `key` from `address`. All requests without a known address share one
    /// limit.
    pub fn allow(
        &self,
        key: KeyId,
        kind: KeyKind,
        address: Option<IpAddr>,
        now: Timestamp,
    ) -> Rate {
        if self.limits.per_key == 0 {
            return UNLIMITED;
        }
        let mut shard = self.shard(key);
        let rate = match kind {
            KeyKind::Secret => shard.key(key).allow(Scope::Key, self.limits.per_key, now),
            KeyKind::Public => shard.public(self.limits, key, address, now),
        };
        drop(shard);
        count_refusal(rate)
    }

    /// Counts a request without a key from `address`.
    pub fn allow_without_key(&self, address: IpAddr, now: Timestamp) -> Rate {
        if self.limits.per_key == 0 || self.limits.without_key == 0 {
            return UNLIMITED;
        }
        let mut shard = self.shard_of(address);
        let limit = self.limits.without_key;
        let scopes = (Scope::NoKeyAddress, Scope::NoKeySite);
        let rate = shard.of_client(None, scopes, limit, Some(address), now);
        drop(shard);
        count_refusal(rate)
    }

    /// Counts a request for checkout pages from an address that is over its limit, before the
    /// payment is looked for.
    pub fn allow_payers(&self, address: IpAddr, now: Timestamp) -> Rate {
        let limit = self.limits.without_key.saturating_mul(CHECKOUT_SHARE);
        let mut shard = self.shard_of(address);
        let client = Client::PayersAt(client_network::subscriber(address));
        let rate = shard
            .client(None, client)
            .allow(Scope::NoKeyAddress, limit, now);
        drop(shard);
        count_refusal(rate)
    }

    /// Counts a request for the checkout pages of a payment, which has to exist: the caller looked.
    pub fn allow_payer(&self, payment: PaymentId, now: Timestamp) -> Rate {
        let mut shard = self.shard_at(payment.ulid().0 as usize);
        shard.sweep(now);
        let window = shard.client(None, Client::PayerOf(payment));
        let rate = window.allow(Scope::Payment, CHECKOUT_REQUESTS, now);
        drop(shard);
        count_refusal(rate)
    }

    /// Forgets a key that was deleted.
    pub fn forget(&self, key: KeyId) {
        let mut shard = self.shard(key);
        shard.keys.remove(&key);
        shard.clients.retain(|(of, _), _| *of != Some(key));
    }

    fn shard(&self, key: KeyId) -> parking_lot::MutexGuard<'_, Shard> {
        // The low bits of a ULID are random.
        self.shard_at(key.ulid().0 as usize)
    }

    /// A site and its subscribers are in one shard.
    fn shard_of(&self, address: IpAddr) -> parking_lot::MutexGuard<'_, Shard> {
        let network = client_network::site(address).unwrap_or(address.to_canonical());
        self.shard_at(match network {
            IpAddr::V4(network) => network.to_bits() as usize,
            IpAddr::V6(network) => (network.to_bits() >> 80) as usize,
        })
    }

    fn shard_at(&self, place: usize) -> parking_lot::MutexGuard<'_, Shard> {
        self.shards[place % SHARDS].lock()
    }
}

fn count_refusal(rate: Rate) -> Rate {
    if !rate.allowed {
        metrics::counter!("switchyard_rate_limited_total", "scope" => rate.scope.word())
            .increment(1);
    }
    rate
}

impl Shard {
    fn key(&mut self, key: KeyId) -> &mut Window {
        self.keys.entry(key).or_default()
    }

    fn client(&mut self, key: Option<KeyId>, client: Client) -> &mut Window {
        self.clients.entry((key, client)).or_default()
    }

    /// The total is asked first: nothing is remembered of an address whose request it refuses,
    /// however many there are.
    fn public(
        &mut self,
        limits: RateLimits,
        key: KeyId,
        address: Option<IpAddr>,
        now: Timestamp,
    ) -> Rate {
        let total = self
            .key(key)
            .peek(Scope::PublicKeyTotal, limits.public_key_total, now);
        if !total.allowed {
            return total;
        }
        let scopes = (Scope::Address, Scope::Site);
        let rate = self.of_client(Some(key), scopes, limits.per_key, address, now);
        if rate.allowed {
            self.key(key).count(now);
        }
        rate
    }

    /// Counts a request of one client: `limit` for a subscriber, and [`SITE_SHARE`] times as much
    /// for all of an IPv6 site.
    fn of_client(
        &mut self,
        key: Option<KeyId>,
        (of_subscriber, of_site): (Scope, Scope),
        limit: u32,
        address: Option<IpAddr>,
        now: Timestamp,
    ) -> Rate {
        self.sweep(now);
        let site = address.and_then(client_network::site).map(Client::Site);
        if let Some(site) = site {
            let most = limit.saturating_mul(SITE_SHARE);
            let rate = self.client(key, site).peek(of_site, most, now);
            if !rate.allowed {
                return rate;
            }
        }
        let subscriber = address.map_or(Client::Unknown, |address| {
            Client::Subscriber(client_network::subscriber(address))
        });
        let rate = self
            .client(key, subscriber)
            .allow(of_subscriber, limit, now);
        if rate.allowed
            && let Some(site) = site
        {
            self.client(key, site).count(now);
        }
        rate
    }

    fn sweep(&mut self, now: Timestamp) {
        let now = now.as_micros();
        if (now - self.swept_at).abs() < WINDOW_MICROS {
            return;
        }
        self.swept_at = now;
        self.clients.retain(|_, window| {
            let last = window.0.back();
            last.is_some_and(|last| (now - last).abs() < WINDOW_MICROS)
        });
    }
}

impl Window {
    fn allow(&mut self, scope: Scope, limit: u32, now: Timestamp) -> Rate {
        let mut rate = self.peek(scope, limit, now);
        if rate.allowed {
            rate.remaining -= 1;
            rate.reset_seconds = self.count(now);
        }
        rate
    }

    /// Counts a request; says when the window has room for one more than now.
    fn count(&mut self, now: Timestamp) -> u32 {
        let now = self.not_before_the_last(now.as_micros());
        self.0.push_back(now);
        self.reset_seconds(now)
    }

    /// Result of [`Window::allow`], without counting a request.
    fn peek(&mut self, scope: Scope, limit: u32, now: Timestamp) -> Rate {
        let now = self.not_before_the_last(now.as_micros());
        while self.0.front().is_some_and(|at| now - at >= WINDOW_MICROS) {
            self.0.pop_front();
        }
        let used = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        let allowed = used < limit;
        let reset_seconds = self.reset_seconds(now);
        Rate {
            allowed,
            scope,
            limit,
            remaining: limit.saturating_sub(used),
            reset_seconds,
            retry_after: (!allowed).then_some(reset_seconds.max(1)),
        }
    }

    fn reset_seconds(&self, now: i64) -> u32 {
        let oldest = self.0.front();
        oldest.map_or(0, |at| seconds_up(at + WINDOW_MICROS - now))
    }

    /// A wall clock may be set back. By less than a window, time stands still for this key; by
    /// more, the old moments are in a future that may never come, and are dropped.
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

/// The rate of a request that no limit counts.
const UNLIMITED: Rate = Rate {
    allowed: true,
    scope: Scope::Key,
    limit: 0,
    remaining: 0,
    reset_seconds: 0,
    retry_after: None,
};
const WINDOW_MICROS: i64 = 60_000_000;
/// More shards than cores that will ever run this.
const SHARDS: usize = 64;

#[cfg(test)]
mod tests;
