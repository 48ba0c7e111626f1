//! Actions of the payer on the checkout page.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::prompt::Step;
use super::{Engine, EngineError, Purpose};
use switchyard_core::ids::TransactionId;
use switchyard_core::money::Amount;
use switchyard_core::transaction::{
    CancelledBy, ClientContext, Command, Confirm, Customer, Refusal, State, Transaction,
};
use switchyard_records::NewCustomer;

/// How long the payer's confirmation waits for a gateway that answers at once, so that the next
/// page is already the result.
const WAIT_FOR_GATEWAY: Duration = Duration::from_millis(1_500);

/// Choices and entries of the payer, already checked.
#[derive(Clone, Debug)]
pub struct ConfirmRequest {
    pub method: String,
    /// ISO 3166-1 alpha-2.
    pub country: Option<String>,
    /// The phone number tied to the method, in E.164 when it parses.
    pub phone: Option<String>,
    pub fields: BTreeMap<String, String>,
    /// Customer data that the merchant had not given. Present values replace no value of the
    /// merchant.
    pub missing: NewCustomer,
    pub context: ClientContext,
    /// Price that the payer saw; if it has changed, no attempt begins. `None`: any price.
    pub agreed: Option<Amount>,
}

impl Engine {
    /// Starts the payer's attempt. Answers when the gateway has come back, or after a moment with
    /// the payment pending.
    pub async fn confirm(
        &self,
        id: TransactionId,
        choice: ConfirmRequest,
    ) -> Result<Arc<Transaction>, EngineError> {
        let tx = self.transaction(id).await?.ok_or(EngineError::NotFound)?;
        self.confirm_as_seen(tx, choice).await
    }

    /// The same for a payment that the caller has just read. Should it be another one by now, it is
    /// read again.
    pub async fn confirm_as_seen(
        &self,
        tx: Arc<Transaction>,
        choice: ConfirmRequest,
    ) -> Result<Arc<Transaction>, EngineError> {
        if !self.may_move_money(tx.app) {
            return Err(EngineError::AppDisabled);
        }
        if tx.state == State::AwaitingCustomer && !self.may_start(&tx) {
            return Err(Refusal::Paused.into());
        }
        let price = self
            .price(&tx, &choice.method)
            .ok_or(Refusal::NoCandidate)?;
        if choice.agreed.is_some_and(|agreed| agreed != price.amount) {
            return Err(EngineError::PriceChanged);
        }
        self.check_fields(&tx, &choice.method, &choice.fields)?;
        let step = Step {
            number: choice.phone.as_deref(),
            address: choice.context.ip.as_deref(),
            is_code: false,
        };
        let counted = self.count_prompt(&tx, step).await?;
        let country = choice.country.as_deref();
        let route = self.route_payment(&tx, &choice.method, price.amount, country, Purpose::Go);
        let confirm = Confirm {
            method: choice.method,
            country: choice.country,
            phone: choice.phone,
            fields: choice.fields,
            customer: filled_in(&tx.customer, choice.missing),
            context: choice.context,
            price,
            route,
        };
        let command = Command::Confirm(Box::new(confirm));
        let result = self
            .send_and_wait(tx.id, Some(tx), command, |tx| {
                tx.state == State::AwaitingGateway
            })
            .await;
        self.uncount_refused(counted, &result).await;
        result
    }

    /// The payer does not want to pay. An attempt that is open is called off, where its gateway can
    /// do that; until the provider says so, the payment is as pending as before.
    pub async fn cancel(&self, id: TransactionId) -> Result<Arc<Transaction>, EngineError> {
        self.cancel_with(id, Command::Cancel(CancelledBy::Customer))
            .await
    }

    pub(super) async fn cancel_with(
        &self,
        id: TransactionId,
        command: Command,
    ) -> Result<Arc<Transaction>, EngineError> {
        self.send_and_wait(id, None, command, Transaction::has_open_attempt)
            .await
    }

    /// Abandons the open attempt, so that the payer can choose a method again. Possible once twice
    /// its usual time has passed, where the attempt can be cancelled or ends without the payer; see
    /// [`Transaction::can_call_off`].
    pub async fn give_up(&self, id: TransactionId) -> Result<Arc<Transaction>, EngineError> {
        self.cancel_with(id, Command::GiveUp).await
    }

    /// Carries `command` out, and waits a moment for the gateway, as long as the payment `waits`.
    /// `seen`: the payment, if the caller has just read it.
    pub(super) async fn send_and_wait(
        &self,
        id: TransactionId,
        seen: Option<Arc<Transaction>>,
        command: Command,
        waits: impl Fn(&Transaction) -> bool,
    ) -> Result<Arc<Transaction>, EngineError> {
        let mut live = self.watch(id);
        live.borrow_and_update();
        let current = self
            .registry()
            .send_about(self, id, seen, command.into())
            .await?;
        if !waits(&current) {
            return Ok(current);
        }
        let came_back = async {
            while live.changed().await.is_ok() {
                let latest = live.borrow_and_update().transaction.clone();
                if let Some(tx) = latest.filter(|tx| tx.version > current.version && !waits(tx)) {
                    return Some(tx);
                }
            }
            None
        };
        match tokio::time::timeout(WAIT_FOR_GATEWAY, came_back).await {
            Ok(Some(tx)) => Ok(tx),
            // Another process may have had the answer.
            _ => self.transaction(id).await?.ok_or(EngineError::NotFound),
        }
    }

    /// The merchant has delivered.
    pub async fn mark_processed(&self, id: TransactionId) -> Result<Arc<Transaction>, EngineError> {
        self.registry().send(self, id, Command::MarkProcessed).await
    }
}

/// The customer with the payer's entries. Values of the merchant stay.
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
