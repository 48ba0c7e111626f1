//! Progress of a batch, by its lines.

use std::collections::BTreeMap;
use std::sync::Arc;

use switchyard_core::transaction::{Kind, State, Transaction};
use switchyard_records::{SearchQuery, SearchText};
use switchyard_users::{BatchLine, PayoutBatch, RefusedLine};

use super::{BATCH, LINE};
use crate::error::ApiError;
use crate::state::ApiState;

/// State of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineState {
    /// No payout yet.
    Waiting,
    /// The payout is stored, and not sent to its provider yet.
    Created,
    /// The provider has it.
    Sent,
    Succeeded,
    Failed,
    /// Whether the provider has moved money is not known.
    Unknown,
    /// There is no payout, and none will be made.
    Refused,
}

/// A line with its payout.
pub struct LineProgress {
    pub line: BatchLine,
    pub state: LineState,
    pub payout: Option<Arc<Transaction>>,
    pub refused: Option<RefusedLine>,
}

/// Lines of a batch in the order of the file.
pub struct Progress(pub Vec<LineProgress>);

impl LineState {
    pub const ALL: [Self; 7] = [
        Self::Waiting,
        Self::Created,
        Self::Sent,
        Self::Succeeded,
        Self::Failed,
        Self::Unknown,
        Self::Refused,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Created => "created",
            Self::Sent => "sent",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
            Self::Refused => "refused",
        }
    }

    const fn of(state: &State) -> Self {
        match state {
            State::AwaitingDispatch | State::AwaitingCustomer => Self::Created,
            State::AwaitingGateway | State::AwaitingProvider => Self::Sent,
            State::Succeeded => Self::Succeeded,
            State::Failed(_) | State::Cancelled => Self::Failed,
            State::InDoubt | State::OnHold => Self::Unknown,
        }
    }
}

impl LineProgress {
    /// First and last name of the recipient: of the payout, otherwise of the line. Empty: the line
    /// has no payout, and the retention of its personal data is over.
    pub fn names(&self) -> [String; 2] {
        if let Some(tx) = &self.payout {
            return [
                tx.customer.first_name.clone(),
                tx.customer.last_name.clone(),
            ];
        }
        let customer = &self.line.request["customer"];
        let name = |field: &str| customer[field].as_str().unwrap_or_default().to_owned();
        [name("first_name"), name("last_name")]
    }
}

impl Progress {
    /// Number of lines in a state.
    pub fn count(&self, state: LineState) -> usize {
        self.0.iter().filter(|line| line.state == state).count()
    }
}

/// The lines of a batch with their payouts.
pub async fn progress(
    state: &ApiState,
    head: &PayoutBatch,
    lines: Vec<BatchLine>,
) -> Result<Progress, ApiError> {
    let mut made = payouts_by_line(state, head).await?;
    let line = |line: BatchLine| {
        let payout = made.remove(&line.number);
        let refused = head.refused.get(&line.number).cloned();
        let state = match (&payout, &refused) {
            (Some(tx), _) => LineState::of(&tx.state),
            (None, Some(_)) => LineState::Refused,
            (None, None) => LineState::Waiting,
        };
        LineProgress {
            line,
            state,
            payout,
            refused,
        }
    };
    Ok(Progress(lines.into_iter().map(line).collect()))
}

/// Payouts of a batch by their lines, found by their metadata, which is stored with them.
pub async fn payouts_by_line(
    state: &ApiState,
    head: &PayoutBatch,
) -> Result<BTreeMap<u32, Arc<Transaction>>, ApiError> {
    let id = head.id.to_string();
    let Ok(text) = SearchText::parse(&format!("{BATCH}:{id}")) else {
        return Err(ApiError::internal());
    };
    let (mut found, mut before) = (BTreeMap::new(), None);
    loop {
        let query = SearchQuery {
            app: head.app,
            environment: head.environment,
            kind: Some(Kind::Payout),
            text: text.clone(),
            before,
            limit: PAGE,
        };
        let page = state.engine().search(&query).await?;
        for tx in page.items {
            let line = tx.metadata.get(LINE).and_then(|line| line.parse().ok());
            let is_own = tx.metadata.get(BATCH).is_some_and(|batch| *batch == id);
            if let (true, Some(line)) = (is_own, line) {
                found.insert(line, tx);
            }
        }
        before = page.more;
        if before.is_none() {
            return Ok(found);
        }
    }
}

const PAGE: usize = 100;
