//! The report that an operator reads before the release of a hold: the transactions that were open
//! when it began, and the answers of their providers so far.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Engine, EngineError};
use crate::clock::Timestamp;
use crate::environment::Environment;
use crate::hold::{Held, Open};
use crate::ids::AppId;
use crate::money::Currency;
use crate::store::Restored;
use crate::transaction::{Kind, State, Transaction};

/// The report on a hold.
#[derive(Clone, Debug)]
pub struct HoldReport {
    pub held: Arc<Held>,
    /// Times between which requests were acknowledged that the store does not know, their
    /// idempotency keys included. `None`: the store was not restored as far as is known.
    pub lost: Option<(Timestamp, Timestamp)>,
    /// Everything that was open when the hold began.
    pub open: Vec<Open>,
    /// Payouts made while their apps are held. The release sends them: a payout that repeats a
    /// request of the lost span pays a second time.
    pub new_payouts: Vec<Open>,
    /// Progress of the open transactions, of at most as many as the hold noted one by one.
    pub answers: Vec<Answered>,
}

/// Transactions that were in one state when the hold began and are at one point now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    pub app: AppId,
    pub environment: Environment,
    pub kind: Kind,
    pub was: String,
    pub now: Progress,
    pub currency: Currency,
    pub count: u64,
    /// Sum in the currency's smallest unit.
    pub minor: i64,
}

/// Progress of a transaction that was open when a hold began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Progress {
    Succeeded,
    Failed,
    Cancelled,
    /// A provider has it and has not finished.
    AtProvider,
    /// A provider was asked and has not said whether it has it.
    Unanswered,
    /// Some connection is not asked yet.
    NotAsked,
    /// No provider has it. A payout is sent after the release.
    NotSent,
    /// Money was reported that does not settle it.
    OnHold,
}

impl Progress {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::AtProvider => "at_provider",
            Self::Unanswered => "unanswered",
            Self::NotAsked => "not_asked",
            Self::NotSent => "not_sent",
            Self::OnHold => "on_hold",
        }
    }
}

impl Engine {
    /// The report on the last hold; `None` when the store was never held.
    pub async fn hold_report(&self) -> Result<Option<HoldReport>, EngineError> {
        let Some(held) = self.hold.state() else {
            return Ok(None);
        };
        let snapshot = self.hold.snapshot().await?;
        let mut answers = BTreeMap::new();
        for (id, was) in &snapshot.listed {
            match self.transaction(*id).await {
                Ok(Some(tx)) => self.answered(&mut answers, &tx, was),
                Ok(None) => {}
                Err(EngineError::Damaged(error)) => {
                    tracing::error!(%error, "a damaged row is left out of the report of a hold");
                }
                Err(error) => return Err(error),
            }
        }
        let end = |restored: &Restored| restored.lost.map_or(restored.restored_at, |lost| lost.at);
        let begun = held.restores().map(|restored| restored.backup_at).min();
        let lost = begun.zip(held.restores().map(end).max());
        Ok(Some(HoldReport {
            held,
            lost,
            open: snapshot.sums,
            new_payouts: self.hold.payouts_made_since().await?,
            answers: answers.into_values().collect(),
        }))
    }

    fn answered(&self, answers: &mut AnsweredSums, tx: &Transaction, was: &str) {
        let (currency, kind) = (tx.amount.currency(), Kind::of(tx.id));
        let now = self.progress(tx);
        let environment = tx.environment.to_string();
        let key = (
            tx.app,
            environment,
            kind.as_str(),
            was.to_owned(),
            now,
            currency.code(),
        );
        let sum = answers.entry(key).or_insert_with(|| Answered {
            app: tx.app,
            environment: tx.environment,
            kind,
            was: was.to_owned(),
            now,
            currency,
            count: 0,
            minor: 0,
        });
        sum.count += 1;
        sum.minor = sum.minor.saturating_add(tx.amount.minor());
    }

    fn progress(&self, tx: &Transaction) -> Progress {
        match &tx.state {
            _ if tx.is_held() => Progress::OnHold,
            State::Succeeded => Progress::Succeeded,
            State::Failed(_) => Progress::Failed,
            State::Cancelled => Progress::Cancelled,
            State::OnHold => Progress::OnHold,
            State::AwaitingProvider => Progress::AtProvider,
            State::InDoubt | State::AwaitingGateway => Progress::Unanswered,
            State::AwaitingCustomer | State::AwaitingDispatch => {
                match self.permit(tx).unasked.is_empty() {
                    true => Progress::NotSent,
                    false => Progress::NotAsked,
                }
            }
        }
    }
}

type AnsweredSums =
    BTreeMap<(AppId, String, &'static str, String, Progress, &'static str), Answered>;
