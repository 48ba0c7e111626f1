//! Customers of an app.

use serde::{Deserialize, Serialize};
use switchyard_core::environment::Environment;
use switchyard_core::ids::{CustomerId, TransactionId};
use switchyard_engine::engine::Erasure;
use switchyard_records::StoredCustomer;
use utoipa::ToSchema;

use super::schemas;
use super::transactions::{Customer, Transaction};
use crate::iso_timestamp::IsoTimestamp;

/// Customer as all requests together described them. Each e-mail address is one
/// customer.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct KnownCustomer {
    #[serde(flatten)]
    pub customer: Customer,
    /// Time of the last request about them, to about a day.
    pub seen_at: IsoTimestamp,
}

/// Page of customers, newest first.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct CustomerPage {
    pub customers: Vec<KnownCustomer>,
    /// Start of the next page; null at the end.
    #[schema(value_type = Option<String>)]
    pub more: Option<CustomerId>,
    #[schema(value_type = schemas::Environment)]
    pub environment: Environment,
}

/// Personal data of a customer with all their payments and payouts, newest first.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct CustomerExport {
    pub customer: KnownCustomer,
    /// Transactions, without calls to providers and callbacks in their timelines.
    pub transactions: Vec<Transaction>,
}

/// Result of the erasure of personal data.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct CustomerErasure {
    /// Number of transactions whose personal data was erased by this request.
    pub erased: u64,
    /// Number of transactions that keep their personal data for now: they have not ended, have an
    /// open case, or their webhooks are still to be sent. Repeat the request when they have ended.
    pub kept: u64,
    /// The first 20 of them.
    #[schema(value_type = Vec<String>)]
    pub kept_transactions: Vec<TransactionId>,
    /// Whether the customer is deleted. Not while a transaction keeps its personal data.
    pub is_deleted: bool,
}

impl From<&StoredCustomer> for KnownCustomer {
    fn from(stored: &StoredCustomer) -> Self {
        Self {
            customer: (&stored.customer).into(),
            seen_at: stored.seen_at.into(),
        }
    }
}

impl From<Erasure> for CustomerErasure {
    fn from(erasure: Erasure) -> Self {
        Self {
            erased: erasure.erased,
            kept: erasure.kept_count,
            is_deleted: erasure.kept_count == 0,
            kept_transactions: erasure.kept,
        }
    }
}
