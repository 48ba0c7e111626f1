//! Deposits, payouts and refunds: pawaPay's three transfers, which are alike but for their names.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use switchyard_gateway::{Amount, Direction, Outcome, PayerAction};

use crate::failures;

/// Kind of transfer. It is kept with the attempt, because a refund has a query address of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Deposit,
    Payout,
    Refund,
}

impl Kind {
    pub const ALL: [Self; 3] = [Self::Deposit, Self::Payout, Self::Refund];

    /// Under which its addresses lie: `/v2/deposits`.
    pub const fn path(self) -> &'static str {
        match self {
            Self::Deposit => "deposits",
            Self::Payout => "payouts",
            Self::Refund => "refunds",
        }
    }

    /// The field of its id.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Deposit => "depositId",
            Self::Payout => "payoutId",
            Self::Refund => "refundId",
        }
    }
}

impl From<Direction> for Kind {
    fn from(direction: Direction) -> Self {
        match direction {
            Direction::Collect => Self::Deposit,
            Direction::Payout => Self::Payout,
        }
    }
}

/// The wallet of a payer or a recipient.
pub fn wallet(provider: &str, phone: &str) -> Value {
    json!({ "type": "MMO", "accountDetails": { "phoneNumber": phone, "provider": provider } })
}

/// Ours, in an array of objects with one key each; it comes back as one object.
pub fn metadata(transaction: &str) -> Value {
    json!([{ "transactionId": transaction }])
}

/// Response to the request for a transfer.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Initiated {
    #[serde(default)]
    pub status: String,
    #[serde(default)]
    pub next_step: String,
    #[serde(default)]
    pub authorization_url: Option<String>,
    #[serde(default)]
    pub failure_reason: Option<FailureReason>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FailureReason {
    pub failure_code: String,
    pub failure_message: String,
}

impl FailureReason {
    pub fn outcome(&self) -> Outcome {
        failures::outcome(&self.failure_code, &self.failure_message)
    }
}

/// The answer to the question after one: two levels of status.
#[derive(Debug, Deserialize)]
pub struct StatusResponse {
    pub status: String,
    #[serde(default)]
    pub data: Option<Transfer>,
}

/// One of the three as the status answer and the callback show it. Its metadata, an object here, is
/// not needed: the id is ours.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Transfer {
    #[serde(default)]
    deposit_id: Option<String>,
    #[serde(default)]
    payout_id: Option<String>,
    #[serde(default)]
    refund_id: Option<String>,
    pub status: String,
    #[serde(default)]
    amount: Option<String>,
    #[serde(default)]
    currency: Option<String>,
    #[serde(default)]
    provider_transaction_id: Option<String>,
    #[serde(default)]
    pub authorization_url: Option<String>,
    #[serde(default)]
    failure_reason: Option<FailureReason>,
}

impl Transfer {
    /// Which of the three it is, and its id. A refund names the deposit that it refunds, too, so it
    /// is looked for first.
    pub fn identity(&self) -> Option<(Kind, &str)> {
        [
            (Kind::Refund, &self.refund_id),
            (Kind::Payout, &self.payout_id),
            (Kind::Deposit, &self.deposit_id),
        ]
        .into_iter()
        .find_map(|(kind, id)| Some((kind, id.as_deref()?)))
    }

    /// Outcome of the transfer. Only COMPLETED, FAILED and REJECTED are final; a word that pawaPay
    /// adds later is unknown.
    pub fn outcome(&self) -> Outcome {
        let outcome = match self.status.as_str() {
            "COMPLETED" => self.completed(),
            "FAILED" | "REJECTED" => match &self.failure_reason {
                Some(reason) => reason.outcome(),
                None => FailureReason::default().outcome(),
            },
            "ACCEPTED" | "PROCESSING" => match &self.authorization_url {
                Some(url) => Outcome::awaiting(PayerAction::Redirect { url: url.clone() }),
                None => Outcome::pending(),
            },
            // Can be hours: the operator is down, or pawaPay is finding out.
            "ENQUEUED" | "IN_RECONCILIATION" => Outcome::Pending {
                provider_id: None,
                payer_action: None,
                poll_after: Some(SLOW_POLL_S),
                received: None,
            },
            other => Outcome::unknown(format!(
                "pawaPay has the status `{other}`, which this gateway does not know"
            )),
        };
        match &self.provider_transaction_id {
            Some(id) => outcome.with_provider_id(id),
            None => outcome,
        }
    }

    fn completed(&self) -> Outcome {
        match (&self.amount, &self.currency) {
            (Some(amount), Some(currency)) => Outcome::Succeeded {
                provider_id: None,
                amount: Some(Amount::decimal(amount, currency)),
                fees: None,
                provider_status: Some(self.status.clone()),
            },
            _ => Outcome::unknown("pawaPay reports success and names no amount"),
        }
    }
}

const SLOW_POLL_S: u32 = 300;
