//! A payout's turn has come: start its first attempt. Without any candidate it waits a while, and
//! then fails: nothing was sent.

use super::{Try, restored, start};
use crate::transaction::attempt::Price;
use crate::transaction::command::{Context, Refusal, Route};
use crate::transaction::event::Event;
use crate::transaction::model::Transaction;
use crate::transaction::outcome::DeclineReason;
use crate::transaction::state::{Failure, State};

pub(super) fn decide(
    tx: &Transaction,
    route: Route,
    context: &Context,
) -> Result<Vec<Event>, Refusal> {
    let payout = tx.payout().ok_or(Refusal::NotAPayout)?;
    match tx.state {
        State::AwaitingDispatch => {}
        State::Succeeded | State::Failed(_) | State::Cancelled => {
            return Err(Refusal::AlreadyEnded(tx.status()));
        }
        State::OnHold => return Err(Refusal::Held),
        State::AwaitingCustomer
        | State::AwaitingGateway
        | State::AwaitingProvider
        | State::InDoubt => return Err(Refusal::AttemptUnderWay),
    }
    if let Some(asking) = restored::ask(tx, context) {
        return Ok(asking);
    }
    if let Some(failed) = restored::end_of_payout(tx) {
        return Ok(vec![failed]);
    }
    if context.permit.is_held {
        return Ok(Vec::new());
    }
    let phone = payout
        .recipient
        .get("msisdn")
        .or_else(|| payout.recipient.get("account_number"))
        .cloned();
    let what = Try {
        follows: None,
        method: payout.method.clone(),
        country: None,
        phone,
        fields: payout.recipient.clone(),
        price: Price::plain(tx.amount),
        resumed: 0,
    };
    match start(what, route.candidates, route.decision, context) {
        Some(started) => Ok(vec![started]),
        // Its time has come and it stays due: it is tried again until a gateway is there.
        None if !restored::has_waited_long(tx, context) => Ok(Vec::new()),
        None => {
            let message = format!(
                "No gateway can serve the payout method {} now. Nothing was sent.",
                payout.method
            );
            Ok(vec![Event::Failed {
                failure: Failure {
                    reason: DeclineReason::ProviderUnavailable,
                    message,
                },
            }])
        }
    }
}
