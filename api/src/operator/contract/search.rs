//! Search of payments and payouts.

use serde::{Deserialize, Serialize};
use switchyard_core::environment::Environment;
use switchyard_core::ids::TransactionId;
use utoipa::{IntoParams, ToSchema};

use super::schemas;
use super::transactions::TransactionSummary;

/// Text to search for, and which page of the matches.
#[derive(Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SearchFilter {
    /// An id, the reference or provider's id of an attempt, an e-mail, a phone number in any
    /// spelling, an amount (`25.00`, `25,00`, `USD 25`), a value of the metadata, `key:value`, or
    /// words of a name. All words must match. At most 254 characters.
    #[param(min_length = 1, max_length = 254)]
    pub text: String,
    /// Default: live for an app with live transactions, otherwise sandbox. `environment` of the
    /// response names it.
    #[param(value_type = Option<schemas::Environment>)]
    pub environment: Option<Environment>,
    /// Default: both.
    #[param(value_type = Option<schemas::Kind>)]
    pub kind: Option<String>,
    /// `more` of the last page.
    #[param(value_type = Option<String>)]
    pub before: Option<TransactionId>,
    /// Page size, at most 100. Default: 20.
    pub limit: Option<usize>,
}

/// Page of matches.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct FoundTransactions {
    /// Payments and payouts, newest first.
    pub transactions: Vec<TransactionSummary>,
    /// Start of the next page. A page may have fewer matches than its size, also none, before the
    /// last one.
    #[schema(value_type = Option<String>)]
    pub more: Option<TransactionId>,
    #[schema(value_type = schemas::Environment)]
    pub environment: Environment,
}
