//! Creation of a payment or a payout: one durable commit before the response with its id.
//!
//! A new transaction has no competing messages, so its creation needs no actor; its first message
//! starts one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::{Engine, EngineError};
use crate::access::Caller;
use crate::idempotency::KeyedResponse;
use crate::processing::{NotCommitted, Step, commit};
use crate::quota::{PAYOUT_SPAN, Reservation};
use switchyard_core::directory::phone::normalise;
use switchyard_core::ids::{PaymentId, PayoutId, TransactionId};
use switchyard_core::money::Amount;
use switchyard_core::transaction::{
    ClientContext, Command, Details, Kind, NewTransaction, PaymentDetails, PayoutDetails,
    Restriction, Transaction, initiate,
};
use switchyard_records::{self as records, NewCustomer};
use switchyard_store::{Batch, CommitError};
use switchyard_system::trace::TraceContext;

/// Attempts to commit a new transaction. An attempt conflicts if another request stores the same
/// customer at the same moment.
const TRIES: usize = 5;

/// A checked request for a payment.
#[derive(Clone, Debug)]
pub struct NewPayment {
    pub amount: Amount,
    pub description: String,
    pub return_url: String,
    pub customer: NewCustomer,
    pub metadata: BTreeMap<String, String>,
    /// Codes of the methods that are offered; empty: all eligible methods.
    pub methods: Vec<String>,
    pub restriction: Option<Restriction>,
    /// How long it may wait for its payer; `None`: as long as the installation's settings say.
    pub expires_in: Option<Duration>,
    pub context: ClientContext,
}

/// A checked request for a payout.
#[derive(Clone, Debug)]
pub struct NewPayout {
    pub amount: Amount,
    pub description: String,
    pub method: String,
    pub recipient: BTreeMap<String, String>,
    pub customer: NewCustomer,
    pub metadata: BTreeMap<String, String>,
    pub context: ClientContext,
}

/// Common part of a new payment and a new payout.
struct Initialization {
    id: TransactionId,
    amount: Amount,
    description: String,
    customer: NewCustomer,
    metadata: BTreeMap<String, String>,
    details: Details,
    context: ClientContext,
}

impl Initialization {
    /// Input from which `tx`, which was not stored, was made.
    fn again(tx: Transaction) -> Self {
        Self {
            id: tx.id,
            amount: tx.amount,
            description: tx.description,
            customer: tx.customer.into(),
            metadata: tx.metadata,
            details: tx.details,
            context: tx.context,
        }
    }
}

impl Engine {
    /// Stores a payment and returns it; it is durable then. The request's fields were checked by
    /// the caller. `keyed` belongs to a request with an idempotency key: the commit that stores the
    /// payment stores its response, too.
    pub async fn initialize_payment(
        &self,
        caller: &Caller,
        new: NewPayment,
        keyed: Option<&KeyedResponse<'_>>,
    ) -> Result<Arc<Transaction>, EngineError> {
        let now = self.clock().now();
        let details = Details::Payment(PaymentDetails {
            return_url: new.return_url,
            methods: new.methods,
            restriction: new.restriction,
            attempts_allowed: caller.app.settings.checkout_attempts.clamp(1, 5),
            expires_at: now.plus(new.expires_in.unwrap_or(self.settings().expires_after)),
        });
        let new = Initialization {
            id: TransactionId::Payment(PaymentId::new(self.ids().ulid(now))),
            amount: new.amount,
            description: new.description,
            customer: new.customer,
            metadata: new.metadata,
            details,
            context: new.context,
        };
        // A large state machine that is moved from call to call would be copied each time.
        Box::pin(self.create(caller, new, keyed, None)).await
    }

    /// Stores a payout and returns it; it is durable then, and is sent in the background. `keyed`
    /// belongs to a request with an idempotency key: the commit that stores the payout stores its
    /// response, too.
    pub async fn initialize_payout(
        &self,
        caller: &Caller,
        new: NewPayout,
        keyed: Option<&KeyedResponse<'_>>,
    ) -> Result<Arc<Transaction>, EngineError> {
        let reserved = self.reserve_payout(caller, &new).await?;
        let new = Initialization {
            id: TransactionId::Payout(PayoutId::new(self.ids().ulid(self.clock().now()))),
            amount: new.amount,
            description: new.description,
            customer: new.customer,
            metadata: new.metadata,
            details: Details::Payout(PayoutDetails {
                method: new.method,
                recipient: new.recipient,
            }),
            context: new.context,
        };
        let tx = Box::pin(self.create(caller, new, keyed, reserved)).await?;
        let (engine, id) = (self.clone(), tx.id);
        self.runtime().spawn(TraceContext::current().scope(async move {
            // Should this fail, the payout's timer wakes it again.
            if let Err(error) = engine.registry().send(&engine, id, Command::Wake).await {
                tracing::warn!(transaction.id = %id, %error, "failed to dispatch a payout at once, its timer retries");
            }
        }));
        Ok(tx)
    }

    /// Says which of these payouts would exceed a limit of the app if all of them were ordered now,
    /// in their order. Nothing stays counted.
    pub async fn exceeding_payouts(
        &self,
        caller: &Caller,
        payouts: &[NewPayout],
    ) -> Vec<Option<EngineError>> {
        let mut reserved = Vec::with_capacity(payouts.len());
        let mut exceeding = Vec::with_capacity(payouts.len());
        for payout in payouts {
            match self.reserve_payout(caller, payout).await {
                Ok(reservation) => {
                    reserved.push(reservation);
                    exceeding.push(None);
                }
                Err(error) => exceeding.push(Some(error)),
            }
        }
        exceeding
    }

    /// Counts a payout against the limits of its app. The uses become durable in the commit that
    /// stores it.
    async fn reserve_payout(
        &self,
        caller: &Caller,
        new: &NewPayout,
    ) -> Result<Option<Reservation>, EngineError> {
        let settings = &self.settings().limits;
        if !settings.apply_to(caller.environment) {
            return Ok(None);
        }
        // However it is written, a number is one recipient.
        let home = self.only_country(Kind::Payout, &new.method);
        let plain = |text: &String| {
            let letters = || text.chars().filter(|letter| letter.is_alphanumeric());
            normalise(text, home)
                .unwrap_or_else(|| letters().flat_map(char::to_lowercase).collect())
        };
        let recipient: Vec<String> = new.recipient.values().map(plain).collect();
        let limits = settings.of_payout(
            &caller.app.settings.payout_limits,
            (caller.app.id, caller.environment),
            new.amount,
            &recipient.join("/"),
        );
        let reserved = self.quotas().reserve(PAYOUT_SPAN, &limits).await;
        let exceeded = EngineError::PayoutLimit;
        let reserved = reserved.map_err(|error| EngineError::of_quota(error, exceeded))?;
        Ok(Some(reserved))
    }

    async fn create(
        &self,
        caller: &Caller,
        mut new: Initialization,
        keyed: Option<&KeyedResponse<'_>>,
        mut reserved: Option<Reservation>,
    ) -> Result<Arc<Transaction>, EngineError> {
        if self.is_stopping() {
            return Err(EngineError::Stopping);
        }
        let owner = (caller.app.id, caller.environment);
        for _ in 0..TRIES {
            let now = self.clock().now();
            let mut batch = Batch::new();
            let registered = records::register(
                self.store(),
                &mut batch,
                owner,
                new.customer,
                now,
                self.ids(),
            )
            .await?;
            let transaction = NewTransaction {
                id: new.id,
                app: caller.app.id,
                environment: caller.environment,
                amount: new.amount,
                description: new.description,
                customer: registered.customer,
                metadata: new.metadata,
                details: new.details,
                context: new.context,
            };
            keep(&mut batch, new.id, keyed, reserved.as_mut());
            let (tx, event) = initiate(transaction, now);
            let step = Step::first(tx, event, now);
            match commit(self, batch, std::slice::from_ref(&step)).await {
                Ok(()) => return Ok(step.after),
                Err(NotCommitted::Commit(CommitError::Conflict)) => {
                    // The id is new and ours: if it is stored, this very commit was made after all.
                    if let Some(stored) = records::load(self.store(), step.after.id).await? {
                        return Ok(Arc::new(stored));
                    }
                    if let Some(reserved) = &mut reserved {
                        reserved.release();
                    }
                    if let Some(keyed) = keyed
                        && keyed.was_overtaken(self.store()).await?
                    {
                        return Err(EngineError::Overtaken);
                    }
                    new = Initialization::again(Arc::unwrap_or_clone(step.after));
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(CommitError::Conflict.into())
    }
}

/// Adds to the commit of a new transaction what goes with it: the response to its idempotency key,
/// and its uses of limits.
fn keep(
    batch: &mut Batch,
    id: TransactionId,
    keyed: Option<&KeyedResponse<'_>>,
    reserved: Option<&mut Reservation>,
) {
    if let Some(keyed) = keyed {
        keyed.keep(batch, id);
    }
    if let Some(reserved) = reserved {
        reserved.hold_in(batch);
    }
}
