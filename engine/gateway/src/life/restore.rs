//! Restore of a gateway after a quarantine, a drain, a removal, or a copy that could not be loaded.

use super::change::checked;
use super::{ChangeAuthor, LifeError, Overview};
use crate::Gateways;

impl Gateways {
    /// Ends the quarantine of the current version (or of `version`, a prefix of its hash), a drain
    /// and a removal.
    pub async fn restore(
        &self,
        name: &str,
        version: Option<&str>,
        by: &ChangeAuthor<'_>,
    ) -> Result<Overview, LifeError> {
        let by = checked(by)?;
        {
            let life = &self.0.life;
            let _changing = life.changing.lock().await;
            let mut record = life.found(name)?;
            let (sha256, was_kept) = record.restore(version, &by, self.0.clock.now())?;
            let restored = self.loaded(&record, &sha256).await?;
            let is_current = record.current.as_ref() == Some(&sha256);
            if is_current {
                self.started(&restored).await?;
            }
            let change = record.changes.back().filter(|_| was_kept).cloned();
            if was_kept {
                life.keep(record).await?;
            }
            restored.set_quarantine(None);
            if is_current {
                restored.set_draining(false);
                self.0.registry.swap(name, Some(restored));
            }
            if let Some(change) = change {
                change.log(name);
            }
        }
        self.overview(name).await
    }
}
