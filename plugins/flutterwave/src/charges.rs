//! Payments: the charge as Flutterwave shows it, and what the payer is to do.

use std::collections::BTreeMap;

use serde::Deserialize;
use switchyard_gateway::{
    ListedState, ListedTransaction, Moment, Money, Outcome, PayerAction, Prompt,
};

use crate::exact;
use crate::failures;

/// A transaction in an answer. Numbers are text here.
#[derive(Debug, Deserialize)]
pub struct Charge {
    #[serde(default)]
    pub id: Option<String>,
    #[serde(default)]
    pub tx_ref: String,
    #[serde(default)]
    pub status: String,
    #[serde(default)]
    amount: Option<String>,
    #[serde(default)]
    currency: Option<String>,
    #[serde(default)]
    app_fee: Option<String>,
    #[serde(default)]
    processor_response: Option<String>,
    #[serde(default)]
    created_at: Option<String>,
}

impl Charge {
    pub fn is_failed(&self) -> bool {
        self.status == "failed"
    }

    /// Outcome of the charge. Only `successful` and `failed` are final; a word that Flutterwave
    /// adds later is unknown.
    pub fn outcome(&self) -> Outcome {
        let outcome = match self.status.as_str() {
            "successful" => self.succeeded(),
            "failed" => {
                let text = self.processor_response.as_deref();
                let text = text.unwrap_or("Flutterwave gives no reason.");
                failures::outcome(failures::PAYMENTS, "failed", text)
            }
            "pending" => Outcome::pending(),
            other => Outcome::unknown(format!(
                "Flutterwave has the status `{other}`, which this gateway does not know"
            )),
        };
        match &self.id {
            Some(id) => outcome.with_provider_id(id),
            None => outcome,
        }
    }

    /// The charge in a list.
    pub fn listed(self) -> ListedTransaction {
        ListedTransaction {
            state: ListedState::from(&self.outcome()),
            amount: exact::named(self.amount.as_deref(), self.currency.as_deref()),
            reference: Some(self.tx_ref),
            provider_id: self.id,
            created_at: self.created_at.unwrap_or_default(),
        }
    }

    /// `amount` is what was paid for the merchant; `charged_amount` may have the payer's fee on
    /// top.
    fn succeeded(&self) -> Outcome {
        match (&self.amount, &self.currency) {
            (Some(amount), Some(currency)) => Outcome::Succeeded {
                provider_id: None,
                amount: Some(exact::amount(amount, currency)),
                fees: self
                    .app_fee
                    .as_ref()
                    .map(|fee| exact::amount(fee, currency)),
                provider_status: Some(self.status.clone()),
            },
            _ => Outcome::unknown("Flutterwave reports success and names no amount"),
        }
    }
}

/// `data` of a hosted link.
#[derive(Debug, Deserialize)]
pub struct HostedLink {
    pub link: String,
}

/// Fields beside `data` in the response to a charge.
#[derive(Debug, Deserialize)]
pub struct Meta {
    #[serde(default)]
    pub authorization: Option<Authorization>,
}

/// Next step of the payer. The fields that are present depend on the mode.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Authorization {
    mode: String,
    redirect: Option<String>,
    redirect_url: Option<String>,
    note: Option<String>,
    image: Option<String>,
    transfer_reference: Option<String>,
    transfer_account: Option<String>,
    transfer_bank: Option<String>,
    transfer_note: Option<String>,
    transfer_amount: Option<String>,
    account_expiration: Option<String>,
}

impl Authorization {
    /// `None` when Flutterwave leaves the payer without a next step that this gateway knows.
    pub fn action(self, asked: &Money) -> Option<PayerAction> {
        match self.mode.as_str() {
            "banktransfer" => self.transfer(asked),
            "ussd" => self.note.map(|ussd| PayerAction::Dial { ussd }),
            "qr" => self.image.map(|image| PayerAction::ShowQr {
                text: String::new(),
                image: Some(image),
            }),
            _ => match self.redirect.or(self.redirect_url) {
                Some(url) => Some(PayerAction::Redirect { url }),
                None if self.mode == "callback" => Some(prompt()),
                None => None,
            },
        }
    }

    /// The payer sends `transfer_amount`, which can have a fee on top of what the merchant asks
    /// for.
    fn transfer(self, asked: &Money) -> Option<PayerAction> {
        let note = self.transfer_note.unwrap_or_default();
        let name = note
            .split_once(" to ")
            .map_or(note.as_str(), |(_, name)| name);
        let amount = self.transfer_amount?;
        Some(PayerAction::Transfer {
            bank: self.transfer_bank?,
            account: self.transfer_account?,
            name: name.to_owned(),
            fees: exact::above(&amount, asked).map(Box::new),
            amount: exact::amount(&amount, &asked.currency),
            reference: self.transfer_reference,
            expires: self.account_expiration.map(readable),
        })
    }
}

/// The network prompts for the PIN without our help.
pub fn prompt() -> PayerAction {
    PayerAction::ConfirmOnPhone {
        prompt: Prompt::Auto,
        steps: BTreeMap::new(),
        ussd: None,
    }
}

/// Milliseconds since 1970 as a date and time in UTC; anything else as it is.
fn readable(expires: String) -> String {
    let seconds = expires.parse::<i64>().ok().filter(|millis| *millis >= 0);
    let moment = seconds.and_then(|millis| Moment::from_unix_seconds(millis / 1_000).ok());
    match moment.map(|moment| moment.to_string()) {
        Some(text) => format!("{} {} UTC", &text[..10], &text[11..16]),
        None => expires,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expiry_is_readable() {
        for (written, readable_as) in [
            ("1795168800000", "2026-11-20 10:00 UTC"),
            ("951782399000", "2000-02-28 23:59 UTC"),
            ("951782400000", "2000-02-29 00:00 UTC"),
            ("0", "1970-01-01 00:00 UTC"),
            ("2026-11-20 10:00:00 AM", "2026-11-20 10:00:00 AM"),
        ] {
            assert_eq!(readable(written.to_owned()), readable_as);
        }
    }
}
