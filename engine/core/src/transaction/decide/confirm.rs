//! The payer chose a method and confirmed: start an attempt.

use super::{Try, start};
use crate::transaction::command::{Confirm, Context, Refusal};
use crate::transaction::event::Event;
use crate::transaction::model::{PaymentDetails, Restriction, Transaction};
use crate::transaction::state::State;

pub(super) fn decide(
    tx: &Transaction,
    confirm: Confirm,
    context: &Context,
) -> Result<Vec<Event>, Refusal> {
    let payment = tx.payment().ok_or(Refusal::NotAPayment)?;
    match tx.state {
        State::AwaitingCustomer => {}
        State::Succeeded | State::Failed(_) | State::Cancelled => {
            return Err(Refusal::AlreadyEnded(tx.status()));
        }
        State::OnHold => return Err(Refusal::Held),
        State::AwaitingDispatch
        | State::AwaitingGateway
        | State::AwaitingProvider
        | State::InDoubt => return Err(Refusal::AttemptUnderWay),
    }
    if context.now >= payment.expires_at {
        return Err(Refusal::Expired);
    }
    if !context.permit.is_free() {
        return Err(Refusal::Paused);
    }
    check_restrictions(payment, &confirm)?;
    let what = Try {
        follows: None,
        method: confirm.method,
        country: confirm.country,
        phone: confirm.phone,
        fields: confirm.fields,
        price: confirm.price,
        resumed: 0,
    };
    let started = start(
        what,
        confirm.route.candidates,
        confirm.route.decision,
        context,
    )
    .ok_or(Refusal::NoCandidate)?;
    Ok(vec![
        Event::Confirmed {
            customer: Box::new(confirm.customer),
            context: confirm.context,
        },
        started,
    ])
}

fn check_restrictions(payment: &PaymentDetails, confirm: &Confirm) -> Result<(), Refusal> {
    if !payment.methods.is_empty() && !payment.methods.contains(&confirm.method) {
        return Err(Refusal::MethodNotOffered(confirm.method.clone()));
    }
    match &payment.restriction {
        Some(Restriction::Country { country_code })
            if confirm.country.as_ref() != Some(country_code) =>
        {
            Err(Refusal::CountryRestricted(country_code.clone()))
        }
        // A method without a phone number cannot be tied to one: it is refused as well.
        Some(Restriction::Phone { number, .. }) if confirm.phone.as_ref() != Some(number) => {
            Err(Refusal::PhoneRestricted)
        }
        _ => Ok(()),
    }
}
