//! Batches of payouts.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use switchyard_core::ids::{ApprovalId, TransactionId};
use switchyard_core::money::Currency;
use switchyard_users::{BatchId, BatchState, PayoutBatch, Users};
use utoipa::{IntoParams, ToSchema};

use crate::iso_timestamp::IsoTimestamp;
use crate::operator::contract::schemas;
use crate::payout_batches::{LineProgress, LineState};
use crate::privacy::masked;
use crate::proposals::name_of;

/// Name of an uploaded file.
#[derive(Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct BatchFile {
    /// Name for the list. Default: `payouts.csv`.
    #[param(min_length = 1, max_length = 100)]
    pub name: Option<String>,
}

/// Batch without its lines.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct BatchHead {
    #[schema(value_type = String)]
    pub id: BatchId,
    pub name: String,
    /// `draft`: nothing is ordered. `confirmed`: its payouts are being made. `done`: each line has a
    /// payout or a reason why it has none.
    pub state: String,
    /// Number of its lines.
    pub count: u32,
    pub uploaded_by: String,
    pub uploaded_at: IsoTimestamp,
    pub confirmed_by: Option<String>,
    pub confirmed_at: Option<IsoTimestamp>,
}

/// Batch with its progress.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct PayoutBatchDetail {
    #[serde(flatten)]
    pub head: BatchHead,
    /// Open proposal, if a second person has to approve the batch.
    #[schema(value_type = Option<String>)]
    pub approval: Option<ApprovalId>,
    /// Number of lines by their states: `waiting`, `created`, `sent`, `succeeded`, `failed`,
    /// `unknown` and `refused`.
    pub counts: BTreeMap<String, usize>,
    /// In the order of the file.
    pub lines: Vec<BatchLineView>,
}

/// Line of a batch. Without the action `view_personal_data` names are masked.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct BatchLineView {
    /// Number in the file; the heading is line 1.
    pub line: u32,
    /// `waiting`, `created`, `sent`, `succeeded`, `failed`, `unknown` or `refused`.
    pub state: String,
    /// Amount in major units, as the file has it.
    pub amount: String,
    #[schema(value_type = Option<schemas::Currency>)]
    pub currency: Option<Currency>,
    pub method: String,
    /// First and last name. Empty where no payout was made and the retention of the name is over.
    pub recipient: String,
    pub reference: Option<String>,
    /// The payout, once it is made.
    #[schema(value_type = Option<String>)]
    pub payout: Option<TransactionId>,
    /// Code of the error with which no payout was made.
    pub refused_code: Option<String>,
    pub refused_message: Option<String>,
}

/// Result of a confirmation.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct BatchConfirmation {
    #[schema(value_type = String)]
    pub batch: BatchId,
    /// The proposal, if a second person has to approve the batch first.
    #[schema(value_type = Option<String>)]
    pub approval: Option<ApprovalId>,
}

impl BatchHead {
    pub fn new(users: &Users, head: &PayoutBatch) -> Self {
        let (state, confirmed) = match head.state {
            BatchState::Draft => ("draft", None),
            BatchState::Confirmed { by, at } => ("confirmed", Some((by, at))),
            BatchState::Done { by, at, .. } => ("done", Some((by, at))),
        };
        Self {
            id: head.id,
            name: head.name.clone(),
            state: state.to_owned(),
            count: head.count,
            uploaded_by: name_of(users, head.uploaded_by),
            uploaded_at: head.uploaded_at.into(),
            confirmed_by: confirmed.map(|(by, _)| name_of(users, by)),
            confirmed_at: confirmed.map(|(_, at)| at.into()),
        }
    }
}

impl BatchLineView {
    /// `may_see`: whether the sender may see personal data.
    pub fn new(line: &LineProgress, may_see: bool) -> Self {
        let request = &line.line.request;
        let cell = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let names = line.names().map(|name| match may_see {
            true => name,
            false => masked(&name),
        });
        Self {
            line: line.line.number,
            state: line.state.name().to_owned(),
            amount: cell(&request["amount"]),
            currency: Currency::from_code(&cell(&request["currency"])),
            method: cell(&request["method"]),
            recipient: names.join(" "),
            reference: request["metadata"]["reference"].as_str().map(str::to_owned),
            payout: line.payout.as_ref().map(|tx| tx.id),
            refused_code: line.refused.as_ref().map(|why| why.code.clone()),
            refused_message: line.refused.as_ref().map(|why| why.message.clone()),
        }
    }

    /// Numbers of lines by their states.
    pub fn counts(progress: &crate::payout_batches::Progress) -> BTreeMap<String, usize> {
        let count = |state: LineState| (state.name().to_owned(), progress.count(state));
        LineState::ALL.into_iter().map(count).collect()
    }
}
