//! The hold after a restore.

use serde::{Deserialize, Serialize};
use switchyard_core::environment::Environment;
use switchyard_core::ids::{AppId, ConnectionId, TransactionId};
use switchyard_core::money::Currency;
use switchyard_core::transaction::Kind;
use switchyard_gateway_host::ListedState;
use utoipa::ToSchema;

use super::schemas;
use crate::iso_timestamp::IsoTimestamp;

/// Report on the hold. The lists of a store that was never held are empty.
#[derive(Default, Serialize, Deserialize, ToSchema)]
pub struct HoldView {
    pub held: bool,
    /// Start of the hold; null: the store was never held.
    pub since: Option<IsoTimestamp>,
    pub restored: Option<Restored>,
    pub lost: Option<LostSpan>,
    pub apps: Vec<HeldApp>,
    /// Transactions that were open when the hold began.
    pub open: Vec<OpenTransactions>,
    /// Payouts that were made while held: a release sends them.
    pub new_payouts: Vec<OpenTransactions>,
    /// Progress of the transactions that were open when the hold began.
    pub answers: Vec<Progress>,
    /// Number of open transactions whose progress is not followed.
    pub not_followed: u64,
    pub payouts_to_send: PayoutsToSend,
    /// Transactions of the lost span that the providers list, by connection.
    pub provider_lists: Vec<ProviderList>,
}

/// Backup from which the store was restored.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct Restored {
    pub backup_at: IsoTimestamp,
    pub restored_at: IsoTimestamp,
    pub sequence: u64,
    pub incarnation: String,
}

/// Span from the backup to the loss.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct LostSpan {
    pub from: IsoTimestamp,
    pub to: IsoTimestamp,
    /// Note on the idempotency keys of the span.
    pub idempotency_keys: String,
}

/// App with its hold.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct HeldApp {
    #[schema(value_type = String)]
    pub id: AppId,
    pub name: String,
    pub held: bool,
    pub release: Option<ReleaseOfApp>,
}

/// Release of an app.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct ReleaseOfApp {
    pub at: IsoTimestamp,
    /// Name of the operator.
    pub by: String,
    pub note: Option<String>,
}

/// Number and sum of open transactions.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct OpenTransactions {
    #[schema(value_type = String)]
    pub app: AppId,
    #[schema(value_type = schemas::Environment)]
    pub environment: Environment,
    #[schema(value_type = schemas::Kind)]
    pub kind: Kind,
    pub state: String,
    pub count: u64,
    pub amount: String,
}

/// Number and sum of the transactions that went from one state to another.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct Progress {
    #[schema(value_type = String)]
    pub app: AppId,
    #[schema(value_type = schemas::Environment)]
    pub environment: Environment,
    #[schema(value_type = schemas::Kind)]
    pub kind: Kind,
    /// State when the hold began.
    pub was: String,
    /// Progress until now.
    pub now: String,
    pub count: u64,
    pub amount: String,
}

/// Payouts that a release sends.
#[derive(Default, Serialize, Deserialize, ToSchema)]
pub struct PayoutsToSend {
    pub count: u64,
    /// The first 100.
    pub payouts: Vec<PayoutToSend>,
    /// Number of the others.
    pub left_out: u64,
    /// Commands that list all.
    pub commands: Vec<String>,
}

/// Payout that a release sends.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct PayoutToSend {
    #[schema(value_type = String)]
    pub id: TransactionId,
    /// `made_while_held`, `not_sent` or `not_asked`.
    pub reason: String,
    #[schema(value_type = String)]
    pub app: AppId,
    #[schema(value_type = schemas::Environment)]
    pub environment: Environment,
    pub amount: String,
    #[schema(value_type = schemas::Currency)]
    pub currency: Currency,
    pub created_at: IsoTimestamp,
}

/// The list of one connection. Of the transactions that the store does not know it has the sums
/// and the first 100.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct ProviderList {
    #[schema(value_type = String)]
    pub connection: ConnectionId,
    pub account_name: String,
    #[schema(value_type = String)]
    pub app: AppId,
    #[schema(value_type = schemas::Environment)]
    pub environment: Environment,
    pub gateway: String,
    pub status: ListStatus,
    /// Reason of an incomplete or failed list.
    pub reason: Option<String>,
    pub fetched_at: Option<IsoTimestamp>,
    /// Number of transactions that the provider listed.
    pub listed: u64,
    /// Number of them that the store does not know.
    pub unknown: u64,
    pub sums: Vec<UnknownSum>,
    pub transactions: Vec<UnknownTransaction>,
    /// Number of unknown transactions that are not in `transactions`.
    pub left_out: u64,
}

/// State of a list. `incomplete`: some transactions are missing. `failed`: the numbers are those of
/// an earlier fetch. `cannot_list`: the gateway has no list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ListStatus {
    Complete,
    Incomplete,
    InProgress,
    Failed,
    CannotList,
}

/// Unknown transactions of one kind, state and currency.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct UnknownSum {
    #[schema(value_type = schemas::Kind)]
    pub kind: Kind,
    #[schema(value_type = schemas::ListedState)]
    pub state: ListedState,
    /// Null: the provider names no plausible amount.
    #[schema(value_type = Option<schemas::Currency>)]
    pub currency: Option<Currency>,
    pub count: u64,
    /// Null without a currency, or when the sum is larger than any amount.
    pub amount: Option<String>,
}

/// Transaction that a provider listed and the store does not know.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct UnknownTransaction {
    #[schema(value_type = schemas::Kind)]
    pub kind: Kind,
    pub reference: Option<String>,
    pub provider_id: Option<String>,
    pub amount: Option<String>,
    #[schema(value_type = Option<schemas::Currency>)]
    pub currency: Option<Currency>,
    pub created_at: IsoTimestamp,
    #[schema(value_type = schemas::ListedState)]
    pub state: ListedState,
}

/// Release of one app, or of all apps.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReleaseRequest {
    /// Default: all apps.
    #[schema(value_type = Option<String>)]
    pub app: Option<AppId>,
    /// Reason, for the record.
    pub note: Option<String>,
    /// Consent to send the payouts that were made while held.
    #[serde(default)]
    pub send_new_payouts: bool,
}

/// Hold after a release.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct ReleaseView {
    pub held: bool,
    pub since: Option<IsoTimestamp>,
    pub apps: Vec<HeldApp>,
    /// `false`: nothing was held.
    pub changed: bool,
}
