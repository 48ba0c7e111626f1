//! Versions that are linked into this program, for the simulation and for fuzzing, which have no
//! files. They replace the files in the engine's folder; otherwise they are like any other version.

use std::collections::BTreeMap;
use std::sync::Arc;

use switchyard_gateway::abi::Plugin;

use super::approval::Source;
use super::record::{Record, StoredVersion};
use super::{ChangeAuthor, LifeError};
use crate::host::GatewayHost;
use crate::library::Library;
use crate::manifest::{Manifest, ManifestError};
use crate::version::Version;
use crate::{Gateways, throttled_io};

/// Linked versions, by the hash of their manifests. Clones share them, also over simulated
/// restarts.
#[derive(Clone, Default)]
pub struct StaticGateways(Arc<BTreeMap<String, (Manifest, Library)>>);

impl StaticGateways {
    /// Creates a set of these versions.
    pub fn of<'m>(
        versions: impl IntoIterator<Item = (&'m [u8], &'static Plugin)>,
    ) -> Result<Self, ManifestError> {
        let mut shelf = BTreeMap::new();
        for (manifest, plugin) in versions {
            let library = Library::linked(plugin);
            shelf.insert(
                throttled_io::sha256(manifest),
                (Manifest::parse(manifest)?, library),
            );
        }
        Ok(Self(Arc::new(shelf)))
    }

    fn find(&self, name: &str, sha256: &str) -> Option<&(Manifest, Library)> {
        self.0
            .get(sha256)
            .filter(|(manifest, _)| manifest.name == name)
    }
}

impl Gateways {
    /// Sets the linked versions to load from. Call it once, before any other method.
    pub fn put_up(&self, shelf: &StaticGateways) {
        let _ = self.0.shelf.set(shelf.clone()); // a second set is ignored
    }

    /// Makes a linked version the current one of its gateway, as [`Gateways::install`] does with a
    /// file.
    pub async fn install_shelved(
        &self,
        name: &str,
        sha256: &str,
        by: &ChangeAuthor<'_>,
    ) -> Result<Arc<Version>, LifeError> {
        let _changing = self.0.life.changing.lock().await;
        let loaded = self.0.registry.version(name, sha256);
        let version = loaded.or_else(|| self.taken_from_shelf(name, sha256));
        let version = version.ok_or_else(|| LifeError::NotFound(name.to_owned()))?;
        let kept = StoredVersion {
            sha256: version.sha256.clone(),
            version: version.manifest.version.clone(),
            title: version.manifest.title.clone(),
            bytes: 0,
            hosts: version.manifest.hosts.clone(),
            consented_by: by.who.to_owned(),
            consented_at: self.0.clock.now(),
            consent: "trusted".to_owned(),
            source: Source::Folder,
            approved_by: None,
            quarantine: None,
            deaths: Vec::new(),
        };
        let record = self.0.life.record(name);
        let record = record.unwrap_or_else(|| Record::new(name));
        self.activate(record, &version, kept, by).await?;
        Ok(version)
    }

    /// Loads a linked version, if there is one.
    pub(crate) fn taken_from_shelf(&self, name: &str, sha256: &str) -> Option<Arc<Version>> {
        let (manifest, library) = self.0.shelf.get()?.find(name, sha256)?;
        let manifest = self.0.substituted(manifest);
        let host = GatewayHost::Linked(*library);
        let version = Version::new(manifest, sha256.to_owned(), host, self.0.clock.clone());
        let version = self.0.registry.add(Arc::new(version));
        self.remind(&version);
        Some(version)
    }
}
