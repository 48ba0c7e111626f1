//! Payment links.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use switchyard_core::environment::Environment;
use switchyard_core::ids::{PaymentId, PaymentLinkId};
use switchyard_core::money::Currency;
use switchyard_core::time::Timestamp;
use switchyard_engine::engine::Engine;
use switchyard_users::{LinkAmount, PaymentLink, Unusable, Users};
use utoipa::{IntoParams, ToSchema};

use crate::iso_timestamp::IsoTimestamp;
use crate::operator::contract::transactions::TransactionSummary;
use crate::operator::contract::{Amount, schemas};
pub use crate::payment_links::LinkRequest;
use crate::payment_links::{self, UsesNow};
use crate::proposals::name_of;

/// Page of a list of links.
#[derive(Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct LinkPage {
    /// `more` of the last page.
    #[param(value_type = Option<String>)]
    pub before: Option<PaymentLinkId>,
    /// Page size, at most 100. Default: 20.
    pub limit: Option<usize>,
}

/// Page of the payments of a link.
#[derive(Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct LinkPaymentPage {
    /// `more` of the last page.
    #[param(value_type = Option<String>)]
    pub before: Option<PaymentId>,
    /// Page size, at most 100. Default: 20.
    pub limit: Option<usize>,
}

/// Payment links, newest first.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct PaymentLinks {
    pub links: Vec<PaymentLinkView>,
    /// Start of the next page.
    #[schema(value_type = Option<String>)]
    pub more: Option<PaymentLinkId>,
}

/// Payments of a link, newest first.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct LinkPayments {
    pub transactions: Vec<TransactionSummary>,
    /// Start of the next page.
    #[schema(value_type = Option<String>)]
    pub more: Option<PaymentId>,
    #[schema(value_type = schemas::Environment)]
    pub environment: Environment,
}

/// Payment link with the results of its payments. Its amount is `amount`, between `min_amount` and
/// `max_amount`, or any amount in `currency`.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct PaymentLinkView {
    #[schema(value_type = String)]
    pub id: PaymentLinkId,
    pub title: String,
    /// `active`, `disabled`, `expired`, `used_up`, or `held`: each use that is left is held by a
    /// payment that may still succeed.
    pub state: String,
    /// Address for payers.
    pub url: String,
    pub amount: Option<Amount>,
    pub min_amount: Option<Amount>,
    pub max_amount: Option<Amount>,
    #[schema(value_type = schemas::Currency)]
    pub currency: Currency,
    /// Description of the payments.
    pub description: String,
    pub asks_phone: bool,
    /// Codes of the offered methods; empty: all that take the amount.
    pub methods: Vec<String>,
    pub max_uses: Option<u32>,
    pub expires_at: Option<IsoTimestamp>,
    pub return_url: Option<String>,
    pub metadata: BTreeMap<String, String>,
    /// Number of its successful payments.
    pub paid: u64,
    /// Number of its payments that have not ended.
    pub open: u64,
    /// Sums of its successful payments by currency.
    pub received: Vec<Amount>,
    pub created_by: String,
    pub created_at: IsoTimestamp,
    pub disabled_by: Option<String>,
    pub disabled_at: Option<IsoTimestamp>,
}

impl PaymentLinkView {
    pub fn new(engine: &Engine, users: &Users, link: &PaymentLink, now: &UsesNow) -> Self {
        let (terms, uses) = (&link.terms, &now.uses);
        let (amount, least, most) = match terms.amount {
            LinkAmount::Fixed { amount } => (Some(amount), None, None),
            LinkAmount::Between { least, most } => (None, Some(least), Some(most)),
            LinkAmount::Open { .. } => (None, None, None),
        };
        Self {
            id: link.id,
            title: terms.title.clone(),
            state: state_of(link, now, engine.clock().now()).to_owned(),
            url: payment_links::url(engine, link),
            amount: amount.map(Amount::from),
            min_amount: least.map(Amount::from),
            max_amount: most.map(Amount::from),
            currency: terms.amount.currency(),
            description: terms.description().to_owned(),
            asks_phone: terms.asks_phone,
            methods: terms.methods.clone(),
            max_uses: terms.max_uses,
            expires_at: terms.expires_at.map(IsoTimestamp::from),
            return_url: terms.return_url.clone(),
            metadata: terms.metadata.clone(),
            paid: uses.paid,
            open: now.open,
            received: uses.received.iter().copied().map(Amount::from).collect(),
            created_by: name_of(users, link.created_by),
            created_at: link.created_at.into(),
            disabled_by: link.disabled.map(|by| name_of(users, by.by)),
            disabled_at: link.disabled.map(|by| by.at.into()),
        }
    }
}

/// State of a link in one word.
fn state_of(link: &PaymentLink, uses: &UsesNow, now: Timestamp) -> &'static str {
    match link.unusable(&uses.uses, now) {
        None => "active",
        Some(Unusable::Disabled) => "disabled",
        Some(Unusable::Expired) => "expired",
        Some(Unusable::UsedUp) => "used_up",
        Some(Unusable::Held) => "held",
    }
}
