//! Adds a version, the first of its gateway or an upgrade: inspect, consent, copy, load, store,
//! swap.

use std::path::Path;
use std::sync::Arc;

use switchyard_gateway::manifest::Hosts;

use super::approval::{Awaiting, Source, to_approve};
use super::change::checked;
use super::record::{Record, StoredVersion};
use super::{ChangeAuthor, LifeError, Pin, rows};
use crate::inspect::Inspection;
use crate::version::Version;
use crate::{Gateways, inspect, library};
use switchyard_core::time::Timestamp;

/// Consent to install a file.
#[derive(Clone, Debug)]
pub enum Consent {
    /// No operator was asked: the hash has to be pinned, or development mode on.
    Standing,
    /// An operator saw the manifest of the file with this hash, and consented.
    Given {
        sha256: String,
        /// The only hosts that it may call. `None`: those of its manifest.
        hosts: Option<Hosts>,
    },
    /// The caller supplies the file itself: tests, and programs that embed the engine.
    Trusted,
}

impl Gateways {
    /// Installs a file and makes it the current version of its gateway. Calls and attempts stay on
    /// the version that they began on.
    ///
    /// # Errors
    /// Returns an error when the file is refused, consent is missing, or it cannot be stored. The
    /// engine continues as before.
    pub async fn install(
        &self,
        path: &Path,
        consent: Consent,
        by: &ChangeAuthor<'_>,
    ) -> Result<Arc<Version>, LifeError> {
        let by = checked(by)?;
        let life = &self.0.life;
        let _changing = life.changing.lock().await;
        let (inner, path) = (Arc::clone(&self.0), path.to_owned());
        let (gateways, who) = (self.clone(), by.who.to_owned());
        // These checks precede loading: no code of a file runs without consent and, where one is
        // needed, without an approval.
        let task = tokio::task::spawn_blocking(move || {
            let pace = inner.pace();
            let inspected = inspect::inspect_new(&path, pace)?;
            let (how, hosts) = gateways.granted(&inspected.inspection, &consent)?;
            let source = gateways.source(&path, &inspected.inspection.sha256);
            let now = inner.clock.now();
            let kept = kept(&inspected.inspection, (how, hosts, source), (&who, now));
            let name = inspected.inspection.manifest.name.clone();
            let record = inner
                .life
                .record(&name)
                .unwrap_or_else(|| Record::new(&name));
            let checked = match to_approve(&record, &kept) {
                Some(widens) => {
                    library::keep(&inner.settings.dir, &path, &inspected, pace)?;
                    // The hash identifies the file, not the hosts granted from its manifest. So the
                    // approver of the hash is shown all of them.
                    let hosts = inspected.inspection.manifest.hosts.clone();
                    let whole = StoredVersion {
                        hosts,
                        ..kept.clone()
                    };
                    Err(to_approve(&record, &whole).unwrap_or(widens))
                }
                None => Ok(inner.open(&path, &inspected, pace)?),
            };
            Ok::<_, LifeError>((record, kept, checked))
        });
        let (record, kept, checked) = task.await.map_err(|_| LifeError::Stopping)??;
        match checked {
            Ok(version) => {
                self.activate(record, &version, kept, &by).await?;
                Ok(version)
            }
            Err(widens) => {
                let awaiting = Awaiting {
                    origins: self.origins(&kept, &by),
                    version: kept,
                    widens,
                };
                Err(self.put_aside(record, awaiting, &by).await?)
            }
        }
    }

    /// Origins of the tokens behind a version: the token that adds it, and the token that pinned
    /// its hash.
    fn origins(&self, kept: &StoredVersion, by: &ChangeAuthor<'_>) -> Vec<String> {
        let pinned = self.0.life.book().pins.get(&kept.sha256).cloned();
        let pinned = pinned.and_then(|pin| pin.origin);
        by.origin
            .map(str::to_owned)
            .into_iter()
            .chain(pinned)
            .collect()
    }

    /// Makes a loaded version the current one: first in the stored record, then for new calls. The
    /// caller holds `changing`.
    pub(super) async fn activate(
        &self,
        mut record: Record,
        version: &Arc<Version>,
        kept: StoredVersion,
        by: &ChangeAuthor<'_>,
    ) -> Result<(), LifeError> {
        self.started(version).await?;
        let (life, now) = (&self.0.life, self.0.clock.now());
        let hosts = kept.hosts.clone();
        let past = record.activate(kept, by, now);
        let change = record.changes.back().cloned();
        life.keep_with(record, past).await?;
        version.grant(hosts);
        version.set_quarantine(None);
        version.set_draining(false);
        self.0
            .registry
            .swap(version.name(), Some(Arc::clone(version)));
        if let Some(change) = change {
            change.log(version.name());
        }
        Ok(())
    }

    /// Kind of standing consent to a hash, if there is one.
    pub(super) fn standing_consent(&self, sha256: &str) -> Option<&'static str> {
        let is_pinned =
            self.is_pinned_by_settings(sha256) || self.0.life.book().pins.contains_key(sha256);
        match (is_pinned, self.0.settings.development) {
            (true, _) => Some("pinned"),
            (false, true) => Some("development"),
            (false, false) => None,
        }
    }

    pub(super) fn is_pinned_by_settings(&self, sha256: &str) -> bool {
        let mut pinned = self.0.settings.pinned.iter();
        pinned.any(|pin| pin.eq_ignore_ascii_case(sha256))
    }

    /// Checks the consent. Returns its kind and the granted hosts.
    fn granted(
        &self,
        inspection: &Inspection,
        consent: &Consent,
    ) -> Result<(&'static str, Hosts), LifeError> {
        let manifest = &inspection.manifest;
        let all = || manifest.hosts.clone();
        match consent {
            Consent::Trusted => Ok(("trusted", all())),
            Consent::Given { sha256, hosts } => {
                let asked = hash(sha256)?;
                if asked != inspection.sha256 {
                    let found = inspection.sha256.clone();
                    return Err(LifeError::OtherFile { asked, found });
                }
                let hosts = match hosts {
                    Some(hosts) => narrowed(&manifest.hosts, hosts)?,
                    None => all(),
                };
                Ok(("asked", hosts))
            }
            Consent::Standing => match self.standing_consent(&inspection.sha256) {
                Some(how) => Ok((how, all())),
                None => Err(LifeError::NoConsent {
                    name: manifest.name.clone(),
                    version: manifest.version.clone(),
                    sha256: inspection.sha256.clone(),
                }),
            },
        }
    }

    /// Pins a hash: its file is installed without further consent.
    pub async fn pin(&self, sha256: &str, by: &ChangeAuthor<'_>) -> Result<Pin, LifeError> {
        let life = &self.0.life;
        let _changing = life.changing.lock().await;
        let pin = Pin {
            sha256: hash(sha256)?,
            by: by.who.to_owned(),
            at: self.0.clock.now(),
            origin: by.origin.map(str::to_owned),
        };
        if let Some(store) = life.store.get() {
            rows::write_pin(store, &pin).await?;
        }
        tracing::info!(gateway.sha256 = %pin.sha256, change.by = by.who, "gateway hash pinned");
        life.book().pins.insert(pin.sha256.clone(), pin.clone());
        Ok(pin)
    }

    /// Removes the pin of a hash. Versions that it installed stay.
    pub async fn unpin(&self, sha256: &str, by: &ChangeAuthor<'_>) -> Result<(), LifeError> {
        let life = &self.0.life;
        let _changing = life.changing.lock().await;
        let sha256 = hash(sha256)?;
        if let Some(store) = life.store.get() {
            rows::delete_pin(store, &sha256).await?;
        }
        tracing::info!(gateway.sha256 = %sha256, change.by = by.who, "gateway hash unpinned");
        life.book().pins.remove(&sha256);
        Ok(())
    }

    /// Hashes that operators pinned, without those of the settings.
    pub fn pins(&self) -> Vec<Pin> {
        self.0.life.book().pins.values().cloned().collect()
    }
}

/// Entry of a version in its record.
pub(super) fn kept(
    inspection: &Inspection,
    (how, hosts, source): (&str, Hosts, Source),
    (who, now): (&str, Timestamp),
) -> StoredVersion {
    StoredVersion {
        sha256: inspection.sha256.clone(),
        version: inspection.manifest.version.clone(),
        title: inspection.manifest.title.clone(),
        bytes: inspection.bytes as u64,
        hosts,
        consented_by: who.to_owned(),
        consented_at: now,
        consent: how.to_owned(),
        source,
        approved_by: None,
        quarantine: None,
        deaths: Vec::new(),
    }
}

fn hash(text: &str) -> Result<String, LifeError> {
    let text = text.trim().to_lowercase();
    let is_hash = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    match is_hash {
        true => Ok(text),
        false => Err(LifeError::NotAHash(text.chars().take(80).collect())),
    }
}

/// Returns the granted hosts if the manifest lists them.
fn narrowed(listed: &Hosts, granted: &Hosts) -> Result<Hosts, LifeError> {
    for (listed, granted) in [
        (&listed.sandbox, &granted.sandbox),
        (&listed.live, &granted.live),
    ] {
        if let Some(host) = granted.iter().find(|host| !covers(listed, host)) {
            let host = host.chars().take(80).collect();
            return Err(LifeError::HostNotListed { host });
        }
    }
    Ok(granted.clone())
}

/// Whether a host is listed, by name or by a pattern such as `*.acme.example`.
pub(super) fn covers(listed: &[String], host: &str) -> bool {
    listed.iter().any(|entry| {
        let under = |end: &str| host.len() > end.len() && host.ends_with(end);
        entry == host || entry.strip_prefix('*').is_some_and(under)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_hosts_that_the_manifest_lists_can_be_granted() {
        let hosts = |live: &[&str]| Hosts {
            sandbox: Vec::new(),
            live: live.iter().map(|host| (*host).to_owned()).collect(),
        };
        let listed = hosts(&["api.acme.example", "*.eu.acme.example"]);
        for fine in ["api.acme.example", "pay.eu.acme.example"] {
            assert_eq!(narrowed(&listed, &hosts(&[fine])).unwrap(), hosts(&[fine]));
        }
        for other in [
            "acme.example",
            "eu.acme.example",
            "api.acme.example.evil.example",
        ] {
            assert!(narrowed(&listed, &hosts(&[other])).is_err(), "{other}");
        }
    }
}
