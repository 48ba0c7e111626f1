//! How many things of one kind each key may hold at the same time: connections of an address,
//! streams of a payment.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use switchyard_core::client_network;
use switchyard_core::limits::SITE_SHARE;

/// Counts what each key holds. A handle; clones count together.
#[derive(Debug)]
pub struct Quota<K>(Arc<Inner<K>>);

#[derive(Debug)]
struct Inner<K> {
    limit: usize,
    held: Mutex<HashMap<K, usize>>,
}

/// One thing that a key holds, until this is dropped.
#[derive(Debug)]
pub struct QuotaPermit<K: Eq + Hash> {
    key: K,
    quota: Quota<K>,
}

impl<K> Clone for Quota<K> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K: Eq + Hash + Clone> Quota<K> {
    /// At most `limit` things a key; 0: any number.
    pub fn new(limit: usize) -> Self {
        let limit = if limit == 0 { usize::MAX } else { limit };
        Self(Arc::new(Inner {
            limit,
            held: Mutex::default(),
        }))
    }

    /// `None`: the key holds as many as it may.
    pub fn take(&self, key: K) -> Option<QuotaPermit<K>> {
        let mut held = self.0.held.lock();
        let count = held.entry(key.clone()).or_default();
        if *count >= self.0.limit {
            return None;
        }
        *count += 1;
        drop(held);
        let quota = self.clone();
        Some(QuotaPermit { key, quota })
    }
}

impl<K: Eq + Hash> Drop for QuotaPermit<K> {
    fn drop(&mut self) {
        let mut held = self.quota.0.held.lock();
        if let Some(count) = held.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                held.remove(&self.key);
            }
        }
    }
}

/// Counts what each client holds: a subscriber its limit, and all of an IPv6 site [`SITE_SHARE`]
/// times as much.
#[derive(Debug)]
pub struct ClientQuota {
    of_subscriber: Quota<IpAddr>,
    of_site: Quota<IpAddr>,
}

/// One thing that a client holds, until this is dropped.
#[derive(Debug)]
pub struct ClientPermit {
    _of_subscriber: QuotaPermit<IpAddr>,
    _of_site: Option<QuotaPermit<IpAddr>>,
}

impl Clone for ClientQuota {
    fn clone(&self) -> Self {
        Self {
            of_subscriber: self.of_subscriber.clone(),
            of_site: self.of_site.clone(),
        }
    }
}

impl ClientQuota {
    /// At most `limit` things a subscriber; 0: any number.
    pub fn new(limit: usize) -> Self {
        Self {
            of_subscriber: Quota::new(limit),
            of_site: Quota::new(limit.saturating_mul(SITE_SHARE as usize)),
        }
    }

    /// `None`: the client of `address` holds as many as it may.
    pub fn take(&self, address: IpAddr) -> Option<ClientPermit> {
        let of_subscriber = self
            .of_subscriber
            .take(client_network::subscriber(address))?;
        let of_site = match client_network::site(address) {
            Some(site) => Some(self.of_site.take(site)?),
            None => None,
        };
        Some(ClientPermit {
            _of_subscriber: of_subscriber,
            _of_site: of_site,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_holds_its_limit_and_gets_it_back() {
        let quota = Quota::new(2);
        let first = quota.take("a").unwrap();
        let _second = quota.take("a").unwrap();
        assert!(quota.take("a").is_none());
        let _other = quota.take("b").unwrap();
        drop(first);
        let _third = quota.take("a").unwrap();
        assert!(quota.take("a").is_none());
    }

    #[test]
    fn keys_that_hold_nothing_take_no_memory() {
        let quota = Quota::new(0);
        drop((0..1_000).map(|key| quota.take(key)).collect::<Vec<_>>());
        assert!(quota.0.held.lock().is_empty());
    }

    #[test]
    fn the_subscribers_of_one_site_share_a_limit() {
        let quota = ClientQuota::new(1);
        let take = |text: String| quota.take(text.parse().unwrap());
        let held: Vec<_> = (0..SITE_SHARE)
            .map(|subscriber| take(format!("2001:db8:7:{subscriber:x}::1")))
            .collect();
        assert!(held.iter().all(Option::is_some));
        assert!(
            take("2001:db8:7:0::2".into()).is_none(),
            "one of them again"
        );
        assert!(
            take("2001:db8:7:ffff::1".into()).is_none(),
            "one more of the site"
        );
        let _elsewhere = take("2001:db8:8::1".into()).unwrap();
        let _with_ipv4 = take("192.0.2.1".into()).unwrap();
        drop(held);
        let _again = take("2001:db8:7:ffff::1".into()).unwrap();
    }
}
