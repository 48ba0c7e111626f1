//! Cases: what needs manual review.

use serde::{Deserialize, Serialize};
use switchyard_core::environment::Environment;
use switchyard_core::ids::{AppId, CaseId};
use switchyard_core::time::Timestamp;
use switchyard_core::transaction::{self, CaseReason};
use switchyard_records::CaseFound;
use utoipa::{IntoParams, ToSchema};

use super::attempts::OperatorName;
use super::transactions::{Transaction, TransactionSummary};
use super::{Amount, schemas};
use crate::iso_timestamp::IsoTimestamp;

/// Case, as its transaction keeps it.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct Case {
    #[schema(value_type = String)]
    pub id: CaseId,
    pub opened_at: IsoTimestamp,
    #[schema(value_type = schemas::CaseReason)]
    pub reason: CaseReason,
    /// Provider reference of the attempt.
    #[schema(format = "uuid")]
    pub reference: String,
    pub detail: String,
    /// Amount that the provider reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amount: Option<Amount>,
    /// Id of the provider under which it reported the money, or the id that is in question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed: Option<Closed>,
}

/// End of a case.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct Closed {
    pub at: IsoTimestamp,
    pub by: OperatorName,
    pub note: Option<String>,
}

/// Case in a list.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct CaseView {
    #[serde(flatten)]
    pub case: CaseFacts,
    pub transaction: TransactionSummary,
}

/// Case with its whole transaction.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct CaseDetail {
    #[serde(flatten)]
    pub case: CaseFacts,
    pub transaction: Transaction,
}

/// Case with its state.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct CaseFacts {
    #[serde(flatten)]
    pub case: Case,
    pub state: CaseState,
    /// Age of an open case; of a closed one, the time for which it was open.
    pub age_seconds: u64,
    /// Gateway of the attempt that the case is about.
    pub gateway: Option<String>,
}

/// State of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CaseState {
    Open,
    Closed,
}

/// Filter of cases.
#[derive(Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct CaseFilter {
    /// `open`, the default, or `closed`.
    #[param(value_type = Option<CaseState>)]
    pub state: Option<String>,
    /// Only cases of this app.
    #[param(value_type = Option<String>)]
    pub app: Option<AppId>,
    #[param(value_type = Option<schemas::Environment>)]
    pub environment: Option<Environment>,
    #[param(value_type = Option<schemas::CaseReason>)]
    pub reason: Option<CaseReason>,
    /// Cases that were opened until this day or time.
    pub opened_before: Option<String>,
    /// Cases older than this id: `more` of the last page.
    #[param(value_type = Option<String>)]
    pub before: Option<CaseId>,
    /// Page size, at most 100. Default: 20.
    pub limit: Option<usize>,
}

/// Cases, newest first.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct Cases {
    pub cases: Vec<CaseView>,
    /// Start of the next page.
    #[schema(value_type = Option<String>)]
    pub more: Option<CaseId>,
    /// Whether cases may be missing because the store is damaged.
    pub incomplete: bool,
    /// Damage of the store that was found first, also by an earlier run, as a sentence.
    pub store_damage: Option<String>,
}

/// Closing of a case.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CloseCase {
    /// Reason, for the timeline.
    pub note: String,
}

impl CaseFacts {
    pub fn new(found: &CaseFound, now: Timestamp) -> Self {
        let case = &found.case;
        let until = case.closed.as_ref().map_or(now, |closed| closed.at);
        let attempt = found.transaction.attempt_of(case);
        Self {
            case: case.into(),
            state: match case.closed {
                None => CaseState::Open,
                Some(_) => CaseState::Closed,
            },
            age_seconds: until.since(case.opened_at).as_secs(),
            gateway: attempt.map(|attempt| attempt.candidate.gateway.clone()),
        }
    }
}

impl CaseView {
    pub fn new(found: &CaseFound, now: Timestamp) -> Self {
        Self {
            case: CaseFacts::new(found, now),
            transaction: TransactionSummary::from(&*found.transaction),
        }
    }
}

impl From<&transaction::Case> for Case {
    fn from(case: &transaction::Case) -> Self {
        Self {
            id: case.id,
            opened_at: case.opened_at.into(),
            reason: case.reason,
            reference: case.reference.to_string(),
            detail: case.detail.clone(),
            amount: case.amount.map(Amount::from),
            provider_id: case.provider_id.clone(),
            closed: case.closed.as_ref().map(Closed::from),
        }
    }
}

impl From<transaction::Case> for Case {
    fn from(case: transaction::Case) -> Self {
        Self::from(&case)
    }
}

impl From<transaction::Closed> for Closed {
    fn from(closed: transaction::Closed) -> Self {
        Self::from(&closed)
    }
}

impl From<&transaction::Closed> for Closed {
    fn from(closed: &transaction::Closed) -> Self {
        Self {
            at: closed.at.into(),
            by: (&closed.by).into(),
            note: closed.note.clone(),
        }
    }
}
