//! In-memory cache of gateways between calls, for access tokens: per connection, with an expiry. It
//! may drop any entry at any time.
//!
//! A connection is identified by a digest of its gateway, environment and configuration. So new
//! credentials never use a token of the old ones, and no connection uses a token of another.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::Mutex;

use switchyard_core::limits::{GATEWAY_CACHE_ENTRIES, GATEWAY_CACHE_VALUE_BYTES};
use switchyard_core::secret::Secret;
use switchyard_core::time::Timestamp;

#[derive(Default)]
pub(super) struct Cache(Mutex<HashMap<Key, Entry>>);

#[derive(PartialEq, Eq, Hash)]
struct Key {
    connection: String,
    name: String,
}

struct Entry {
    value: Secret<String>,
    expires: Timestamp,
}

impl Cache {
    pub(super) fn get(&self, connection: &str, name: &str, now: Timestamp) -> Option<String> {
        let entries = self.0.lock();
        let entry = entries.get(&Key::new(connection, name))?;
        (now < entry.expires).then(|| entry.value.expose().clone())
    }

    /// Stores a value, unless it is too long. A full cache drops its expired entries or, if there
    /// are none, all entries.
    pub(super) fn put(
        &self,
        connection: &str,
        name: &str,
        value: &str,
        keep: Duration,
        now: Timestamp,
    ) {
        if value.len() + name.len() > GATEWAY_CACHE_VALUE_BYTES {
            return;
        }
        let mut entries = self.0.lock();
        if entries.len() >= GATEWAY_CACHE_ENTRIES {
            entries.retain(|_, entry| now < entry.expires);
        }
        if entries.len() >= GATEWAY_CACHE_ENTRIES {
            entries.clear();
        }
        let entry = Entry {
            value: Secret::new(value.to_owned()),
            expires: now.plus(keep),
        };
        entries.insert(Key::new(connection, name), entry);
    }
}

impl Key {
    fn new(connection: &str, name: &str) -> Self {
        Self {
            connection: connection.to_owned(),
            name: name.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_there_for_its_connection_until_it_expires() {
        let cache = Cache::default();
        let now = Timestamp::from_seconds(1_000);
        cache.put("a", "token", "t", Duration::from_secs(60), now);
        let later = now.plus(Duration::from_secs(59));
        assert_eq!(cache.get("a", "token", later).as_deref(), Some("t"));
        assert_eq!(cache.get("b", "token", later), None);
        assert_eq!(
            cache.get("a", "token", now.plus(Duration::from_secs(60))),
            None
        );
        cache.put(
            "a",
            "long",
            &"x".repeat(GATEWAY_CACHE_VALUE_BYTES),
            Duration::from_secs(60),
            now,
        );
        assert_eq!(cache.get("a", "long", now), None);
    }

    #[test]
    fn a_full_cache_forgets_instead_of_growing() {
        let cache = Cache::default();
        let now = Timestamp::from_seconds(1_000);
        for number in 0..=GATEWAY_CACHE_ENTRIES {
            cache.put("a", &number.to_string(), "t", Duration::from_secs(60), now);
        }
        let count = cache.0.lock().len();
        assert!(count <= GATEWAY_CACHE_ENTRIES, "{count}");
    }
}
