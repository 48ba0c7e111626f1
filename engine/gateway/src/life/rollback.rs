//! Rollback to an earlier version: the same swap as an upgrade. Needs no file, because the engine
//! has its own copy.

use super::change::checked;
use super::{ChangeAuthor, LifeError, Overview};
use crate::Gateways;

impl Gateways {
    /// Makes the previous version current again, or `to`: any version of the gateway, by a prefix
    /// of its hash.
    pub async fn roll_back(
        &self,
        name: &str,
        to: Option<&str>,
        by: &ChangeAuthor<'_>,
    ) -> Result<Overview, LifeError> {
        let by = checked(by)?;
        {
            let life = &self.0.life;
            let _changing = life.changing.lock().await;
            let mut record = life.found(name)?;
            let sha256 = record.roll_back(to, &by, self.0.clock.now())?;
            let version = self.loaded(&record, &sha256).await?;
            self.started(&version).await?;
            let change = record.changes.back().cloned();
            life.keep(record).await?;
            version.set_draining(false);
            self.0.registry.swap(name, Some(version));
            if let Some(change) = change {
                change.log(name);
            }
        }
        self.overview(name).await
    }
}
