//! Removal of a gateway: no new attempts begin on it. Its libraries stay mapped, so open attempts
//! end on their version.

use super::change::checked;
use super::{ChangeAuthor, LifeError, Overview};
use crate::Gateways;

impl Gateways {
    /// Removes a gateway. Open attempts are still queried; `restore`, or adding its file, brings it
    /// back.
    pub async fn remove(&self, name: &str, by: &ChangeAuthor<'_>) -> Result<Overview, LifeError> {
        let by = checked(by)?;
        {
            let life = &self.0.life;
            let _changing = life.changing.lock().await;
            let mut record = life.found(name)?;
            record.remove(&by, self.0.clock.now())?;
            let change = record.changes.back().cloned();
            life.keep(record).await?;
            self.0.registry.swap(name, None);
            if let Some(change) = change {
                change.log(name);
            }
        }
        self.overview(name).await
    }
}
