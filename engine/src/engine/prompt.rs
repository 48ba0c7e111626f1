//! Whether a payer's step may begin: the app is enabled, and no limit of prompts or codes is
//! reached.

use super::{Engine, EngineError};
use crate::quota::{PROMPT_SPAN, Settled};
use switchyard_core::ids::AppId;
use switchyard_core::transaction::Transaction;

/// Measured facts of a payer's step.
pub(super) struct Step<'a> {
    /// Phone number that a prompt, or the code, is sent to.
    pub number: Option<&'a str>,
    /// Client address.
    pub address: Option<&'a str>,
    /// A code is submitted; otherwise an attempt is confirmed.
    pub is_code: bool,
}

impl Engine {
    /// Whether an app may begin something that moves money. An unknown app may not.
    pub fn may_move_money(&self, app: AppId) -> bool {
        self.access().app(app).is_some_and(|app| app.is_enabled)
    }

    /// Counts a payer's step against the limits, durably. `None`: nothing is limited here.
    pub(super) async fn count_prompt(
        &self,
        tx: &Transaction,
        step: Step<'_>,
    ) -> Result<Option<Settled>, EngineError> {
        if !self.may_move_money(tx.app) {
            return Err(EngineError::AppDisabled);
        }
        let settings = &self.settings().limits;
        if !settings.apply_to(tx.environment) {
            return Ok(None);
        }
        let Step {
            number,
            address,
            is_code,
        } = step;
        let limits = settings.of_prompt(tx.environment, tx.id, number, address, is_code);
        let reserved = self.quotas().reserve(PROMPT_SPAN, &limits).await;
        let exceeded = EngineError::TooManyPrompts;
        let reserved = reserved.map_err(|error| EngineError::of_quota(error, exceeded))?;
        Ok(Some(reserved.commit().await?))
    }

    /// Takes a counted step back when nothing began. Where the outcome is not known it stays
    /// counted.
    pub(super) async fn uncount_refused<T>(
        &self,
        counted: Option<Settled>,
        result: &Result<T, EngineError>,
    ) {
        let nothing_began = matches!(result, Err(EngineError::Refused(_) | EngineError::NotFound));
        if let Some(counted) = counted.filter(|_| nothing_began) {
            counted.give_back().await;
        }
    }
}
