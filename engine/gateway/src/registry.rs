//! Registry of loaded gateways: the current version of each name, and all versions by their hash.

use std::collections::BTreeMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use parking_lot::Mutex;

use super::version::Version;

/// Read by every call without a lock; changed under a lock.
#[derive(Default)]
pub(super) struct Registry {
    gateways: ArcSwap<BTreeMap<String, Arc<Slot>>>,
    changing: Mutex<()>,
}

struct Slot {
    /// `None` when the gateway was removed, or only versions for earlier attempts were loaded.
    current: ArcSwap<Option<Arc<Version>>>,
    versions: ArcSwap<Vec<Arc<Version>>>,
}

impl Registry {
    /// Returns the current version of each gateway, in order of name.
    pub(super) fn list(&self) -> Vec<Arc<Version>> {
        let gateways = self.gateways.load();
        gateways
            .values()
            .filter_map(|slot| slot.current())
            .collect()
    }

    pub(super) fn current(&self, name: &str) -> Option<Arc<Version>> {
        self.gateways.load().get(name)?.current()
    }

    pub(super) fn version(&self, name: &str, sha256: &str) -> Option<Arc<Version>> {
        let gateways = self.gateways.load();
        let versions = gateways.get(name)?.versions.load();
        versions
            .iter()
            .find(|version| version.sha256 == sha256)
            .cloned()
    }

    /// Adds a version and returns the registered one: the same file twice is one version.
    pub(super) fn add(&self, version: Arc<Version>) -> Arc<Version> {
        let _changing = self.changing.lock();
        let slot = self.slot(version.name());
        let known = self.version(version.name(), &version.sha256);
        known.unwrap_or_else(|| {
            version.host.set_current(false);
            let mut versions = Vec::clone(&slot.versions.load());
            versions.push(Arc::clone(&version));
            slot.versions.store(Arc::new(versions));
            version
        })
    }

    /// Makes `version` current for new attempts; with `None` no new attempts begin. Running calls
    /// hold the version that they began on.
    pub(super) fn swap(&self, name: &str, version: Option<Arc<Version>>) {
        let _changing = self.changing.lock();
        let before = self.slot(name).current.swap(Arc::new(version.clone()));
        if let Some(before) = &*before {
            before.host.set_current(false);
        }
        if let Some(version) = &version {
            version.host.set_current(true);
        }
    }

    fn slot(&self, name: &str) -> Arc<Slot> {
        let gateways = self.gateways.load_full();
        if let Some(slot) = gateways.get(name) {
            return Arc::clone(slot);
        }
        let slot = Arc::new(Slot {
            current: ArcSwap::from_pointee(None),
            versions: ArcSwap::from_pointee(Vec::new()),
        });
        let mut more = BTreeMap::clone(&gateways);
        more.insert(name.to_owned(), Arc::clone(&slot));
        self.gateways.store(Arc::new(more));
        slot
    }
}

impl Slot {
    fn current(&self) -> Option<Arc<Version>> {
        Option::clone(&self.current.load())
    }
}
