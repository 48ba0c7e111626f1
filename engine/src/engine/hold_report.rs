//! The report that an operator reads before the release of a hold: the transactions that were open
//! when it began, the answers of their providers so far, the payouts that the release sends, and
//! the transactions of the lost span that only the providers know.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{Engine, EngineError, ProviderList};
use crate::hold::{HoldState, Open, Sums};
use switchyard_core::environment::Environment;
use switchyard_core::ids::{AppId, TransactionId};
use switchyard_core::money::{Amount, Currency};
use switchyard_core::time::Timestamp;
use switchyard_core::transaction::{Kind, State, Transaction};
use switchyard_store::Restored;

/// The report on a hold.
#[derive(Clone, Debug)]
pub struct HoldReport {
    pub held: Arc<HoldState>,
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
    /// Open transactions whose progress is not in `answers`.
    pub not_followed: u64,
    /// Payouts that a release sends.
    pub unsent: UnsentPayouts,
    /// Lists of the providers for the lost span, of all connections while apps are held. Empty
    /// without a lost span.
    pub provider_lists: Vec<ProviderList>,
}

/// Payouts that the release of their apps sends. An operator cancels those that must not leave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnsentPayouts {
    pub count: u64,
    /// The first of them, at most [`LISTED_PAYOUTS`].
    pub listed: BTreeMap<(Unsent, TransactionId), UnsentPayout>,
    /// Apps, environments and statuses of all of them: the lists that contain them.
    pub lists: BTreeSet<(AppId, Environment, &'static str)>,
}

/// A payout that a release sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnsentPayout {
    pub app: AppId,
    pub environment: Environment,
    pub amount: Amount,
    pub created_at: Timestamp,
}

/// The reason for which a payout is sent at the release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unsent {
    /// Made since the hold began: it may repeat a request of the lost span.
    MadeWhileHeld,
    /// Open when the hold began, and no provider has it.
    NotSent,
    /// Open when the hold began. It is sent if no provider has it: some were not queried yet.
    NotAsked,
}

/// Payouts that the report lists one by one.
pub const LISTED_PAYOUTS: usize = 100;

impl Unsent {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::MadeWhileHeld => "made_while_held",
            Self::NotSent => "not_sent",
            Self::NotAsked => "not_asked",
        }
    }
}

impl UnsentPayouts {
    fn add(&mut self, tx: &Transaction, reason: Unsent) {
        self.count += 1;
        let status = tx.status().as_str();
        self.lists.insert((tx.app, tx.environment, status));
        let payout = UnsentPayout {
            app: tx.app,
            environment: tx.environment,
            amount: tx.amount,
            created_at: tx.created_at,
        };
        self.listed.insert((reason, tx.id), payout);
        if self.listed.len() > LISTED_PAYOUTS {
            self.listed.pop_last();
        }
    }
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
        let Some(held) = self.hold().state() else {
            return Ok(None);
        };
        let snapshot = self.hold().snapshot().await?;
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
        let (new_payouts, unsent) = self.unsent_payouts(held.first_since()).await?;
        let provider_lists = match lost.filter(|_| held.released.is_none()) {
            Some(lost) => self.provider_lists(lost).await?,
            None => Vec::new(),
        };
        let open: u64 = snapshot.sums.iter().map(|open| open.count).sum();
        Ok(Some(HoldReport {
            held,
            lost,
            open: snapshot.sums,
            new_payouts,
            answers: answers.into_values().collect(),
            not_followed: open.saturating_sub(snapshot.listed.len() as u64),
            unsent,
            provider_lists,
        }))
    }

    /// Payouts that a release sends: sums of those made since `since`, and all of them.
    async fn unsent_payouts(
        &self,
        since: Timestamp,
    ) -> Result<(Vec<Open>, UnsentPayouts), EngineError> {
        let (mut made_since, mut unsent) = (Sums::default(), UnsentPayouts::default());
        let visited = self.hold().each_unsent_payout(|payout| {
            let reason = match payout.created_at >= since {
                true => Unsent::MadeWhileHeld,
                false if self.permit(payout).unasked.is_empty() => Unsent::NotSent,
                false => Unsent::NotAsked,
            };
            if reason == Unsent::MadeWhileHeld {
                made_since.add(payout);
            }
            unsent.add(payout, reason);
        });
        visited.await?;
        Ok((made_since.into_vec(), unsent))
    }

    fn answered(&self, answers: &mut AnsweredSums, tx: &Transaction, was: &str) {
        let (currency, kind) = (tx.amount.currency(), tx.kind());
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

#[cfg(test)]
mod tests {
    use ulid::Ulid;

    use super::*;
    use switchyard_core::ids::PayoutId;
    use switchyard_core::testing::fixtures::World;

    #[test]
    fn payouts_that_a_release_sends_are_all_counted_and_the_most_doubtful_are_listed() {
        let mut unsent = UnsentPayouts::default();
        let mut tx = World::payout().tx;
        let all = 3 * LISTED_PAYOUTS;
        for number in (0..all).rev() {
            tx.id = TransactionId::Payout(PayoutId::new(Ulid::from_parts(1, number as u128)));
            let reason = match number % 3 {
                0 => Unsent::NotAsked,
                1 => Unsent::NotSent,
                _ => Unsent::MadeWhileHeld,
            };
            unsent.add(&tx, reason);
        }
        assert_eq!(unsent.count, all as u64);
        assert_eq!(unsent.listed.len(), LISTED_PAYOUTS);
        let mut reasons = unsent.listed.keys().map(|(reason, _)| *reason);
        assert!(
            reasons.all(|reason| reason == Unsent::MadeWhileHeld),
            "those may repeat a request"
        );
        let lists = BTreeSet::from([(tx.app, tx.environment, "initiated")]);
        assert_eq!(unsent.lists, lists);
    }
}
