//! The provider's side of deposits, payouts and refunds.

use serde_json::{Map, Value, json};
use switchyard_testkit::{LedgerEntry, ProviderCallback};

use super::State;
use super::providers::{Provider, fate_of};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Deposit,
    Payout,
    Refund,
}

impl Kind {
    pub fn id(self) -> &'static str {
        match self {
            Self::Deposit => "depositId",
            Self::Payout => "payoutId",
            Self::Refund => "refundId",
        }
    }
}

#[derive(Clone, Debug)]
pub struct Transfer {
    pub kind: Kind,
    /// As it was asked for.
    pub request: Value,
    pub status: &'static str,
    pub failure: Option<&'static str>,
    pub country: &'static str,
    pub authorisation: &'static str,
    /// `COMPLETED`, `STUCK` or a failure code.
    pub fate: &'static str,
    /// Questions until it is final, and until it can be found.
    pub settle_after: u32,
    pub hide_for: u32,
    /// Whether the payer's page is there.
    pub has_page: bool,
}

impl Transfer {
    pub fn id(&self) -> &str {
        self.request[self.kind.id()].as_str().unwrap()
    }

    fn account(&self) -> String {
        let wallet = match self.kind {
            Kind::Payout => &self.request["recipient"],
            _ => &self.request["payer"],
        };
        let phone = &wallet["accountDetails"]["phoneNumber"];
        phone.as_str().unwrap_or_default().to_owned()
    }

    /// As status answers and callbacks show it.
    pub fn shown(&self) -> Value {
        let mut shown = self.request.clone();
        for not_shown in ["preAuthorisationCode", "successfulUrl", "failedUrl"] {
            shown.as_object_mut().unwrap().remove(not_shown);
        }
        // An array of objects with one key came in, one object goes out.
        let entries = self.request["metadata"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let merged: Map<String, Value> = entries
            .into_iter()
            .filter_map(|entry| entry.as_object().cloned())
            .flatten()
            .filter(|(name, _)| name != "isPII")
            .collect();
        if self.kind != Kind::Refund || !merged.is_empty() {
            shown["metadata"] = Value::Object(merged);
        }
        shown["status"] = json!(self.status);
        shown["country"] = json!(self.country);
        shown["created"] = json!("2026-11-20T10:00:00Z");
        if let Some(code) = self.failure {
            let message = format!("The simulator's {code}.");
            shown["failureReason"] = json!({ "failureCode": code, "failureMessage": message });
        }
        if self.status == "COMPLETED" {
            shown["providerTransactionId"] = json!(format!("MP{}", &self.id()[..8]));
        }
        if self.authorisation == "REDIRECT_AUTH" && self.has_page && self.status == "PROCESSING" {
            shown["authorizationUrl"] = json!(format!("https://pay.wave.example/c/{}", self.id()));
            shown["nextStep"] = json!("REDIRECT_TO_AUTH_URL");
        }
        shown
    }
}

impl State {
    pub(super) fn accept(&mut self, kind: Kind, request: Value, provider: Provider) {
        let is_deposit = kind == Kind::Deposit;
        let mut transfer = Transfer {
            kind,
            status: "ACCEPTED",
            failure: None,
            country: provider.country,
            authorisation: provider.authorisation,
            fate: "COMPLETED",
            settle_after: self.settle_after,
            hide_for: self.hide_for,
            has_page: false,
            request,
        };
        if kind != Kind::Refund {
            transfer.fate = fate_of(provider.name, is_deposit, &transfer.account());
        }
        let id = transfer.id().to_owned();
        self.transfers.insert((kind, id.clone()), transfer);
        let waits_for_payer = is_deposit && provider.authorisation == "REDIRECT_AUTH";
        if self.settle_after == 0 && !waits_for_payer {
            self.settle(kind, &id, false);
        }
    }

    /// One question about it: time passes by questions.
    pub(super) fn asked(&mut self, kind: Kind, id: &str) -> Option<Value> {
        let transfer = self.transfers.get_mut(&(kind, id.to_owned()))?;
        if transfer.hide_for > 0 {
            transfer.hide_for -= 1;
            return None;
        }
        let is_open = matches!(transfer.status, "ACCEPTED" | "PROCESSING");
        if is_open && transfer.authorisation == "REDIRECT_AUTH" && kind == Kind::Deposit {
            // First it is there, then its page is.
            transfer.has_page = transfer.status == "PROCESSING";
            transfer.status = "PROCESSING";
        } else if is_open {
            transfer.status = "PROCESSING";
            if transfer.settle_after <= 1 {
                self.settle(kind, id, false);
            } else {
                transfer.settle_after -= 1;
            }
        }
        Some(self.transfers.get(&(kind, id.to_owned()))?.shown())
    }

    /// Makes it final, in the books and by a callback.
    pub(super) fn settle(&mut self, kind: Kind, id: &str, by_payer: bool) {
        let Some(transfer) = self.transfers.get_mut(&(kind, id.to_owned())) else {
            return;
        };
        let is_open = matches!(transfer.status, "ACCEPTED" | "PROCESSING");
        if !is_open || (transfer.fate == "STUCK" && !by_payer) {
            return;
        }
        match transfer.fate {
            "COMPLETED" | "STUCK" => {
                transfer.status = "COMPLETED";
                let text = |name: &str| transfer.request[name].as_str().unwrap().to_owned();
                self.books.write(LedgerEntry {
                    reference: id.to_owned(),
                    account: transfer.account(),
                    amount: text("amount"),
                    currency: text("currency"),
                });
            }
            code => {
                transfer.status = "FAILED";
                transfer.failure = Some(code);
            }
        }
        let mut news = transfer.shown();
        // Callbacks show a little less than status answers.
        news.as_object_mut().unwrap().remove("clientReferenceId");
        let letter = self.letter(news.to_string());
        self.letters.push((id.to_owned(), letter));
    }

    fn letter(&self, body: String) -> ProviderCallback {
        match self.signers.first() {
            Some(signer) if !self.callback_url.is_empty() => signer.sign(
                &self.callback_url,
                "2026-11-20T10:00:00.000Z",
                self.now,
                body,
            ),
            _ => ProviderCallback {
                method: "POST".into(),
                headers: vec![("Content-Type".into(), "application/json".into())],
                body,
            },
        }
    }
}
