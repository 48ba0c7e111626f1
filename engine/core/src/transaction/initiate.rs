//! Creation of a transaction.

use std::collections::BTreeMap;

use super::event::Event;
use super::evolve::evolve;
use super::model::{ClientContext, Customer, Details, Transaction};
use super::state::State;
use crate::environment::Environment;
use crate::ids::{AppId, TransactionId};
use crate::money::Amount;
use crate::time::Timestamp;

/// A checked request, ready to become a transaction.
#[derive(Clone, Debug)]
pub struct NewTransaction {
    pub id: TransactionId,
    pub app: AppId,
    pub environment: Environment,
    pub amount: Amount,
    pub description: String,
    pub customer: Customer,
    pub metadata: BTreeMap<String, String>,
    pub details: Details,
    pub context: ClientContext,
}

/// The transaction at its first version, and the event that made it.
pub fn initiate(new: NewTransaction, now: Timestamp) -> (Transaction, Event) {
    let state = State::before_an_attempt(new.details.kind());
    let unborn = Transaction {
        id: new.id,
        version: 0,
        app: new.app,
        environment: new.environment,
        amount: new.amount,
        description: new.description,
        customer: new.customer,
        metadata: new.metadata,
        details: new.details,
        context: new.context,
        state,
        attempts: Vec::new(),
        cases: Vec::new(),
        created_at: now,
        updated_at: now,
        pending_at: None,
        success_at: None,
        failed_at: None,
        cancelled_at: None,
        processed_at: None,
    };
    (evolve(unborn, &Event::Initiated, now), Event::Initiated)
}
