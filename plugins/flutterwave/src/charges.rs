//! Payments: the charge as Flutterwave shows it, and what the payer is to do.

use std::collections::BTreeMap;

use serde::Deserialize;
use switchyard_gateway::{Money, Outcome, PayerAction, Prompt};

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
}

impl Charge {
    pub fn is_failed(&self) -> bool {
        self.status == "failed"
    }

    /// What it came to. Only `successful` and `failed` are final; a word that Flutterwave adds later is unknown.
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

    /// `amount` is what was paid for the merchant; `charged_amount` may have the payer's fee on top.
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

/// What stands beside `data` in the answer to a charge.
#[derive(Debug, Deserialize)]
pub struct Meta {
    #[serde(default)]
    pub authorization: Option<Authorization>,
}

/// How the payer goes on. Which fields there are depends on the mode.
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

    /// The payer sends `transfer_amount`, which can have a fee on top of what the merchant asks for.
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

/// The network asks for the PIN by itself.
pub fn prompt() -> PayerAction {
    PayerAction::ConfirmOnPhone {
        prompt: Prompt::Auto,
        steps: BTreeMap::new(),
        ussd: None,
    }
}

/// Milliseconds since 1970 as a date and time in UTC; anything else as it is.
fn readable(expires: String) -> String {
    match expires.parse::<i64>() {
        Ok(millis) if millis >= 0 => utc(millis / 1_000),
        _ => expires,
    }
}

/// Howard Hinnant's `civil_from_days`.
fn utc(seconds: i64) -> String {
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!(
        "{year:04}-{month:02}-{day:02} {:02}:{:02} UTC",
        second / 3_600,
        second % 3_600 / 60
    )
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
