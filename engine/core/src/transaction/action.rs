//! `actions`: side effects of an event, to be carried out once the event is durable. Timers are no
//! actions: they follow from [`Transaction::wake_at`].

use super::event::{Event, EventName};
use super::kind::Kind;
use super::model::{Case, CaseReason, Transaction};
use crate::ids::AttemptId;

/// One thing that the world has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Submit the attempt to its provider.
    Submit {
        attempt: AttemptId,
    },
    /// Query the provider for the attempt's result.
    Query {
        attempt: AttemptId,
    },
    /// Pass on the code that the payer typed.
    SubmitCode {
        attempt: AttemptId,
    },
    /// Ask the provider to cancel the attempt.
    CancelRequest {
        attempt: AttemptId,
    },
    /// Tell the merchant's webhooks.
    Announce(EventName),
    Mail(MailTo),
}

/// Recipient and reason of a mail about a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MailTo {
    Merchant,
    Customer,
    /// A case was opened: a person has to decide.
    MerchantAboutCase(CaseReason),
}

/// Side effects of `event` on the transaction as it is after the event.
pub fn actions(tx: &Transaction, event: &Event) -> Vec<Action> {
    let kind = tx.kind();
    match event {
        Event::Initiated => vec![Action::Announce(EventName::initiated(kind))],
        // It may have been submitted already: only its query, an event of its own, leaves.
        Event::AttemptStarted { attempt } if attempt.presumed => Vec::new(),
        Event::AttemptStarted { attempt } => vec![Action::Submit {
            attempt: attempt.id,
        }],
        Event::SubmissionResumed { attempt } => vec![Action::Submit { attempt: *attempt }],
        Event::QueryStarted { attempt, .. } => vec![Action::Query { attempt: *attempt }],
        Event::CodeSubmitted { attempt } => vec![Action::SubmitCode { attempt: *attempt }],
        Event::CallOffStarted {
            attempt,
            at_provider: true,
            ..
        } => vec![Action::CancelRequest { attempt: *attempt }],
        Event::Succeeded => {
            let name = EventName::success(kind);
            let mut actions = vec![Action::Announce(name), Action::Mail(MailTo::Merchant)];
            match kind {
                // In sandbox the merchant gets it, as a preview
                // (docs/contract/mails-and-redirect.md).
                Kind::Payment => actions.push(Action::Mail(MailTo::Customer)),
                Kind::Payout => {}
            }
            actions
        }
        Event::Failed { .. } => {
            let name = EventName::failed(kind);
            vec![Action::Announce(name), Action::Mail(MailTo::Merchant)]
        }
        Event::Cancelled { .. } => vec![
            Action::Announce(EventName::PaymentCancelled),
            Action::Mail(MailTo::Merchant),
        ],
        Event::CaseOpened { case } => vec![Action::Mail(MailTo::MerchantAboutCase(case.reason))],
        Event::CaseAmended { case, .. } => {
            let amended = tx.cases.iter().find(|known| known.id == *case);
            // The mail about a shared id names no amount.
            let amended = amended.filter(|case| case.reason != CaseReason::AmbiguousProviderId);
            let mail = |case: &Case| Action::Mail(MailTo::MerchantAboutCase(case.reason));
            amended.map(mail).into_iter().collect()
        }
        Event::Confirmed { .. }
        | Event::AttemptPending { .. }
        | Event::AttemptInDoubt { .. }
        | Event::AttemptNotSent { .. }
        | Event::AttemptDeclined { .. }
        | Event::AttemptSucceeded { .. }
        | Event::AttemptIdentified { .. }
        | Event::QueryPlanned { .. }
        | Event::CodeAnswered { .. }
        | Event::OperatorActed { .. }
        | Event::SteppedOver { .. }
        | Event::CallOffStarted { .. }
        | Event::AttemptAllowed
        | Event::Held
        | Event::Processed
        | Event::MoneyReported { .. }
        | Event::CaseClosed { .. } => Vec::new(),
    }
}
