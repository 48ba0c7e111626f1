//! How many things of one kind each key may hold at the same time: connections of an address,
//! streams of a payment.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};

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
        let mut held = self.0.held.lock().unwrap_or_else(PoisonError::into_inner);
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
        let mut held = self
            .quota
            .0
            .held
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = held.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                held.remove(&self.key);
            }
        }
    }
}

/// Network that counts as one client: an IPv4 address, or the /64 network of an IPv6 address, all
/// of which one subscriber has.
pub fn client_network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => {
            let network = u128::from(address) & !u128::from(u64::MAX);
            IpAddr::V6(Ipv6Addr::from(network))
        }
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
        assert!(quota.0.held.lock().unwrap().is_empty());
    }

    #[test]
    fn one_subscriber_is_one_client() {
        let network = |text: &str| client_network(text.parse().unwrap());
        assert_eq!(network("2001:db8::1"), network("2001:db8::ffff:1:2:3"));
        assert_ne!(network("2001:db8::1"), network("2001:db8:0:1::1"));
        assert_ne!(network("192.0.2.1"), network("192.0.2.2"));
        assert_eq!(network("::ffff:192.0.2.1"), network("192.0.2.1"));
    }
}
