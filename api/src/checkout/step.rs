//! State of a payment for the pages. It handles double submits, the back button, second tabs and
//! old links: each request for another page is redirected to the one that fits.

use base16ct::lower::encode_string;
use sha2::{Digest, Sha256};
use switchyard_core::transaction::{State, Transaction};

use super::page_context::PageContext;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The payer chooses a method.
    Choosing,
    /// An attempt is open.
    Waiting,
    /// Final, or expired.
    Ended,
}

impl Step {
    /// The page that shows it.
    pub const fn path(self) -> &'static str {
        match self {
            Self::Choosing => "",
            Self::Waiting => "wait",
            Self::Ended => "result",
        }
    }
}

pub fn current_step(context: &PageContext) -> Step {
    match &context.tx.state {
        State::AwaitingCustomer if is_expired(context) => Step::Ended,
        State::AwaitingCustomer | State::AwaitingDispatch => Step::Choosing,
        State::AwaitingGateway | State::AwaitingProvider | State::InDoubt | State::OnHold => {
            Step::Waiting
        }
        State::Succeeded | State::Failed(_) | State::Cancelled => Step::Ended,
    }
}

/// Time is up, whether or not the engine has already let the payment go.
pub fn is_expired(context: &PageContext) -> bool {
    let Some(payment) = context.tx.payment() else {
        return false;
    };
    match (&context.tx.state, context.tx.cancelled_at) {
        (State::AwaitingCustomer, _) => context.now >= payment.expires_at,
        (State::Cancelled, Some(at)) => at >= payment.expires_at,
        _ => false,
    }
}

/// A short text that changes whenever the waiting page would show something else. It tells nothing
/// about the payment.
pub fn mark(tx: &Transaction) -> String {
    let mut hash = Sha256::new();
    hash.update(tx.state.name());
    hash.update(tx.attempts.len().to_be_bytes());
    hash.update([u8::from(tx.is_held())]);
    hash.update(format!("{:?} {:?}", tx.received(), tx.attention()));
    if let Some(attempt) = tx.current_attempt() {
        hash.update(attempt.codes.to_be_bytes());
        hash.update([u8::from(attempt.code_away_since.is_some())]);
        let called_off = attempt.call_off.map(|asked| asked.then);
        // Like the payer's action: it always becomes JSON.
        hash.update(serde_json::to_vec(&called_off).unwrap_or_default());
    }
    if let Some(action) = tx
        .current_attempt()
        .and_then(|attempt| attempt.payer_action.as_ref())
    {
        // A payer action is made of texts and numbers: it always becomes JSON.
        hash.update(serde_json::to_vec(action).unwrap_or_default());
    }
    encode_string(&hash.finalize()[..6])
}
