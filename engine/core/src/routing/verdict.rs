//! Effect of a call's result on the health of the provider and of its connection.
//!
//! The breaker hears only what is the provider's fault. A payer without money, a wrong number or a
//! limit are answers of a provider that works. Two reasons need a word:
//!
//! - `misconfigured` is the merchant's fault, and counts: as long as it lasts each call of that
//!   connection ends so, and the breaker is the connection's own, so no other merchant's suffers
//!   from it.
//! - `merchant_funds` is no sickness: the provider works, and the account there is empty. The
//!   connection comes after the others for a while, and stays closed.
//!
//! *Not sent* counts whatever the cause: a connection whose requests do not leave serves no one. A
//! failed query has no meaning for the next submission; its final result counts as the attempt's
//! end.

use crate::transaction::{DeclineReason, Outcome};

/// Which call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// A call that submits a payment or a payout.
    Submission,
    /// A query or a callback, about what was submitted before.
    News,
}

/// Conclusion from one outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Whether the provider did its part; `None`: it says nothing of that.
    pub works: Option<bool>,
    /// Whether the attempt ended with the money moved; `None`: it has not ended, or ended for a
    /// reason that is no measure.
    pub succeeded: Option<bool>,
    pub short_of_funds: bool,
}

impl Verdict {
    pub const fn of(outcome: &Outcome, call: Call) -> Self {
        let is_submission = matches!(call, Call::Submission);
        let (works, succeeded, short_of_funds) = match outcome {
            Outcome::Succeeded { .. } => (answered(is_submission), Some(true), false),
            Outcome::Declined(decline) => match decline.reason {
                DeclineReason::ProviderUnavailable | DeclineReason::Misconfigured => {
                    (Some(false), Some(false), false)
                }
                DeclineReason::MerchantFunds => (answered(is_submission), None, true),
                _ => (answered(is_submission), Some(false), false),
            },
            Outcome::NotSent { .. } if is_submission => (Some(false), Some(false), false),
            Outcome::NotSent { .. } => (None, Some(false), false),
            Outcome::Pending { .. } => (answered(is_submission), None, false),
            Outcome::Unknown { .. } if is_submission => (Some(false), None, false),
            Outcome::Unknown { .. } => (None, None, false),
        };
        Self {
            works,
            succeeded,
            short_of_funds,
        }
    }
}

/// A submission that was answered is a good call. News of it is not a second one.
const fn answered(is_submission: bool) -> Option<bool> {
    if is_submission { Some(true) } else { None }
}
