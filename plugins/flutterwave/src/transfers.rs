//! Payouts and refunds as Flutterwave shows them.

use serde::Deserialize;
use switchyard_gateway::{ListedState, ListedTransaction, Outcome};

use crate::exact;
use crate::failures::{self, PAYOUTS, REFUNDS};

/// A payout. Numbers are text here.
#[derive(Debug, Deserialize)]
pub struct Transfer {
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    pub reference: String,
    #[serde(default)]
    status: String,
    #[serde(default)]
    amount: Option<String>,
    #[serde(default)]
    currency: Option<String>,
    #[serde(default)]
    fee: Option<String>,
    #[serde(default)]
    complete_message: Option<String>,
    #[serde(default)]
    created_at: Option<String>,
}

impl Transfer {
    /// The transfer in a list.
    pub fn listed(self) -> ListedTransaction {
        ListedTransaction {
            state: ListedState::from(&self.outcome()),
            amount: exact::named(self.amount.as_deref(), self.currency.as_deref()),
            reference: Some(self.reference),
            provider_id: self.id,
            created_at: self.created_at.unwrap_or_default(),
        }
    }

    /// Only `SUCCESSFUL`, `FAILED` and `REVERSED` are final; a word that Flutterwave adds later is
    /// unknown.
    pub fn outcome(&self) -> Outcome {
        let text = self.complete_message.as_deref().unwrap_or_default();
        let outcome = match self.status.as_str() {
            "SUCCESSFUL" => match (&self.amount, &self.currency) {
                (Some(amount), Some(currency)) => Outcome::Succeeded {
                    provider_id: None,
                    amount: Some(exact::amount(amount, currency)),
                    fees: self.fee.as_ref().map(|fee| exact::amount(fee, currency)),
                    provider_status: Some(self.status.clone()),
                },
                _ => Outcome::unknown("Flutterwave reports success and names no amount"),
            },
            "FAILED" | "REVERSED" => failures::outcome(PAYOUTS, &self.status, text),
            "NEW" | "PENDING" => Outcome::pending(),
            other => Outcome::unknown(format!(
                "Flutterwave has the status `{other}`, which this gateway does not know"
            )),
        };
        match &self.id {
            Some(id) => outcome.with_provider_id(id),
            None => outcome,
        }
    }
}

#[derive(Debug, Deserialize)]
pub struct Refunded {
    #[serde(default)]
    pub id: Option<String>,
    #[serde(default)]
    amount_refunded: Option<String>,
    #[serde(default)]
    status: String,
    #[serde(default)]
    comments: Option<String>,
}

impl Refunded {
    /// The status has the way behind it: `completed-mpgs`, `pending-momo`. A refund names no
    /// currency: it is the payment's.
    pub fn outcome(&self, currency: &str) -> Outcome {
        let word = self.status.split('-').next().unwrap_or_default();
        let outcome = match (word, &self.amount_refunded) {
            ("completed", Some(amount)) => Outcome::Succeeded {
                provider_id: None,
                amount: Some(exact::amount(amount, currency)),
                fees: None,
                provider_status: Some(self.status.clone()),
            },
            ("failed", _) => {
                let text = self.comments.as_deref().unwrap_or_default();
                failures::outcome(REFUNDS, &self.status, text)
            }
            ("new" | "pending", _) => Outcome::pending(),
            _ => Outcome::unknown(format!(
                "Flutterwave has a refund with the status `{}`, which this gateway does not know",
                self.status
            )),
        };
        match &self.id {
            Some(id) => outcome.with_provider_id(id),
            None => outcome,
        }
    }
}
