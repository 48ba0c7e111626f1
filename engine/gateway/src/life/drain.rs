//! Drain of a gateway: no new attempts begin, and the open ones finish. They are counted at each
//! read.

use super::change::checked;
use super::{ChangeAuthor, LifeError, Overview};
use crate::Gateways;

impl Gateways {
    /// Starts a drain. A new payment goes to the next candidate; `restore` ends the drain.
    pub async fn drain(&self, name: &str, by: &ChangeAuthor<'_>) -> Result<Overview, LifeError> {
        let by = checked(by)?;
        {
            let life = &self.0.life;
            let _changing = life.changing.lock().await;
            let mut record = life.found(name)?;
            let before = record.changes.len();
            record.drain(&by, self.0.clock.now())?;
            let is_news = record.changes.len() != before;
            let change = record.changes.back().cloned().filter(|_| is_news);
            life.keep(record).await?;
            if let Some(current) = self.current(name) {
                current.set_draining(true);
            }
            if let Some(change) = change {
                change.log(name);
            }
        }
        self.overview(name).await
    }
}
