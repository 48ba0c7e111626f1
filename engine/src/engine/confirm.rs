//! What the payer does on the checkout page.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::{Engine, EngineError};
use crate::ids::TransactionId;
use crate::records::NewCustomer;
use crate::transaction::{
    CancelledBy, ClientContext, Command, Confirm, Customer, State, Transaction,
};

/// How long the payer's confirmation waits for a gateway that answers at once, so that the next page is already the result.
const WAIT_FOR_GATEWAY: Duration = Duration::from_millis(1_500);

/// What the payer chose and filled in, already checked.
#[derive(Clone, Debug)]
pub struct Choice {
    pub method: String,
    /// ISO 3166-1 alpha-2.
    pub country: Option<String>,
    /// The phone number tied to the method, in E.164 when it parses.
    pub phone: Option<String>,
    pub fields: BTreeMap<String, String>,
    /// What the merchant had not given. Present values replace nothing that the merchant gave.
    pub missing: NewCustomer,
    pub context: ClientContext,
}

impl Engine {
    /// Starts the payer's attempt. Answers when the gateway has come back, or after a moment with the payment pending.
    pub async fn confirm(
        &self,
        id: TransactionId,
        choice: Choice,
    ) -> Result<Arc<Transaction>, EngineError> {
        let tx = self.transaction(id).await?.ok_or(EngineError::NotFound)?;
        let mut live = self.watch(id);
        live.borrow_and_update();
        let route = self.route_payment(&tx, &choice.method);
        let confirm = Confirm {
            method: choice.method,
            country: choice.country,
            phone: choice.phone,
            fields: choice.fields,
            customer: filled_in(&tx.customer, choice.missing),
            context: choice.context,
            route,
        };
        let confirmed = self
            .registry
            .tell(self, id, Command::Confirm(Box::new(confirm)))
            .await?;
        let came_back = async {
            loop {
                if live.changed().await.is_err() {
                    return;
                }
                let version = live.borrow_and_update().version;
                if version <= confirmed.version {
                    continue;
                }
                match self.transaction(id).await {
                    Ok(Some(tx)) if tx.state == State::AwaitingGateway => {}
                    _ => return,
                }
            }
        };
        let _ = tokio::time::timeout(WAIT_FOR_GATEWAY, came_back).await;
        self.transaction(id).await?.ok_or(EngineError::NotFound)
    }

    /// The payer does not want to pay.
    pub async fn cancel(&self, id: TransactionId) -> Result<Arc<Transaction>, EngineError> {
        self.registry
            .tell(self, id, Command::Cancel(CancelledBy::Customer))
            .await
    }

    /// The merchant has delivered.
    pub async fn mark_processed(&self, id: TransactionId) -> Result<Arc<Transaction>, EngineError> {
        self.registry.tell(self, id, Command::MarkProcessed).await
    }
}

/// The customer with what they filled in. What the merchant gave stays.
fn filled_in(customer: &Customer, missing: NewCustomer) -> Customer {
    let customer = customer.clone();
    Customer {
        phone: customer.phone.or(missing.phone),
        address: customer.address.or(missing.address),
        city: customer.city.or(missing.city),
        state: customer.state.or(missing.state),
        country_code: customer.country_code.or(missing.country_code),
        zip_code: customer.zip_code.or(missing.zip_code),
        ..customer
    }
}
