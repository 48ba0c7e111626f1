//! Quarantine of a version, by an operator or by the engine: the version takes no new work, and can
//! still be queried about earlier attempts.

use super::change::checked;
use super::{ChangeAuthor, LifeError, Overview};
use crate::Gateways;
use crate::version::{Quarantine, Version};

impl Gateways {
    /// Quarantines the current version (or `version`, a prefix of its hash).
    pub async fn quarantine(
        &self,
        name: &str,
        version: Option<&str>,
        by: &ChangeAuthor<'_>,
    ) -> Result<Overview, LifeError> {
        let by = checked(by)?;
        {
            let life = &self.0.life;
            let _changing = life.changing.lock().await;
            let record = life.found(name)?;
            let kept = match version {
                Some(beginning) => record.named(beginning)?,
                None => record
                    .current_version()
                    .ok_or_else(|| LifeError::WasRemoved(name.to_owned()))?,
            };
            let quarantine = Quarantine {
                reason: by.why.unwrap_or("no reason was given").to_owned(),
                at: self.0.clock.now(),
                by: by.who.to_owned(),
            };
            let sha256 = kept.sha256.clone();
            self.write_quarantine(name, &sha256, &quarantine).await?;
            if let Some(version) = self.0.registry.version(name, &sha256) {
                version.set_quarantine(Some(quarantine));
            }
        }
        self.overview(name).await
    }

    /// Stores a quarantine that the engine set, or the crashes of the version's workers. They are
    /// in effect already, so an unavailable store delays no protection.
    pub(crate) async fn note_health(&self, version: &Version) {
        let (deaths, quarantine) = (version.unstored_deaths(), version.news());
        let _changing = match (&deaths, &quarantine) {
            (None, None) => return,
            _ => self.0.life.changing.lock().await,
        };
        let (name, sha256) = (version.name(), &version.sha256);
        let written = match (quarantine, deaths) {
            (Some(quarantine), _) => self.write_quarantine(name, sha256, &quarantine).await,
            (None, deaths) => {
                let deaths = deaths.unwrap_or_default();
                self.0.life.write_deaths(name, sha256, deaths).await
            }
        };
        if let Err(error) = written {
            tracing::error!(
                gateway.name = name,
                %error,
                "failed to store the health of a gateway"
            );
        }
    }

    /// Stores a quarantine. The caller holds `changing`.
    pub(super) async fn write_quarantine(
        &self,
        name: &str,
        sha256: &str,
        quarantine: &Quarantine,
    ) -> Result<(), LifeError> {
        let mut record = self.0.life.found(name)?;
        let is_retired = record.version(sha256).is_none();
        if is_retired
            && self
                .0
                .life
                .quarantine_past(name, sha256, quarantine)
                .await?
                .is_some()
        {
            return Ok(());
        }
        record.quarantine(sha256, quarantine, self.0.clock.now())?;
        let change = record.changes.back().cloned();
        self.0.life.keep(record).await?;
        if let Some(change) = change {
            change.log(name);
        }
        Ok(())
    }
}
