//! Filters of payments, payouts and their statistics in one environment.

use serde::{Deserialize, Serialize};
use switchyard_core::ids::TransactionId;
use utoipa::IntoParams;

use crate::operator::contract::schemas;

/// Transactions and page of a list.
#[derive(Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct TransactionFilter {
    /// Default: `payment`.
    #[param(value_type = Option<schemas::Kind>)]
    pub kind: Option<String>,
    #[param(value_type = Option<schemas::Status>)]
    pub status: Option<String>,
    /// Created since this day (`2026-11-20`) or time, in UTC.
    pub from_date: Option<String>,
    /// Created until this day or time, in UTC.
    pub to_date: Option<String>,
    /// Page size, at most 100. Default: 20.
    pub limit: Option<usize>,
    /// Number of the page, from 1.
    pub page: Option<usize>,
}

/// Transactions and columns of an export.
#[derive(Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ExportFilter {
    /// Default: `payment`.
    #[param(value_type = Option<schemas::Kind>)]
    pub kind: Option<String>,
    #[param(value_type = Option<schemas::Status>)]
    pub status: Option<String>,
    /// Created since this day (`2026-11-20`) or time, in UTC.
    pub from_date: Option<String>,
    /// Created until this day or time, in UTC.
    pub to_date: Option<String>,
    /// Only the matches of a search, see `searchTransactions`. Not combined with status and dates.
    #[param(min_length = 1, max_length = 254)]
    pub text: Option<String>,
    /// Names of columns, in their order, with commas between. Default: all that the sender may see.
    pub columns: Option<String>,
}

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
    /// Default: both.
    #[param(value_type = Option<schemas::Kind>)]
    pub kind: Option<String>,
    /// `more` of the last page.
    #[param(value_type = Option<String>)]
    pub before: Option<TransactionId>,
    /// Page size, at most 100. Default: 20.
    pub limit: Option<usize>,
}

/// Span and interval of the statistics.
#[derive(Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct StatisticsFilter {
    /// Default: `payment`.
    #[param(value_type = Option<schemas::Kind>)]
    pub kind: Option<String>,
    /// Created since this day (`2026-11-20`) or time, in UTC. The interval that contains it counts
    /// whole. Default: 29 days before `to`.
    pub from: Option<String>,
    /// Created until this day or time, in UTC. The interval that contains it counts whole.
    /// Default: now.
    pub to: Option<String>,
    /// Length of `intervals`. A span has at most 31 days of hours or 400 days. Default: `day`.
    #[param(value_type = Option<schemas::StatisticsInterval>)]
    pub interval: Option<String>,
}
