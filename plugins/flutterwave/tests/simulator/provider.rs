//! The provider's side: actions of payers, and their results.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ring::hmac;
use serde_json::json;
use switchyard_testkit::{Ledger, LedgerEntry, ProviderCallback};

use super::shapes::{self, number};
use super::{BAD_NUMBER, GOOD_CARD, HASH};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Page,
    Charge,
    Transfer,
    Refund,
}

/// Charge that a payer can begin and has not begun.
#[derive(Clone, Debug)]
pub struct Offer {
    pub paper: Paper,
    pub is_page: bool,
    pub ends: Option<i64>,
    pub tries: u64,
}

/// A charge or a transfer.
#[derive(Clone, Debug)]
pub struct Paper {
    pub id: u64,
    pub reference: String,
    pub amount: String,
    pub currency: String,
    pub account: String,
    /// `card`, `mobilemoneygh`, … or the bank of a transfer.
    pub by: String,
    pub name: String,
    pub status: &'static str,
    pub words: &'static str,
    pub settle_after: u32,
    pub hide_for: u32,
    /// In seconds since 1970.
    pub created: i64,
}

pub struct Refunded {
    pub id: u64,
    pub of: u64,
    pub amount: String,
    pub status: &'static str,
}

pub struct State {
    pub now: i64,
    pub books: Ledger,
    pub settle_after: u32,
    pub hide_for: u32,
    pub empty: Vec<String>,
    pub signs: bool,
    pub offers: BTreeMap<String, Offer>,
    pub charges: Vec<Paper>,
    pub transfers: Vec<Paper>,
    pub refunds: Vec<Refunded>,
    pub letters: Vec<(String, ProviderCallback)>,
    pub taken: Vec<(Kind, String)>,
    last_id: u64,
}

impl State {
    pub fn new(now: i64, books: Ledger) -> Self {
        Self {
            now,
            books,
            settle_after: 0,
            hide_for: 0,
            empty: Vec::new(),
            signs: false,
            offers: BTreeMap::new(),
            charges: Vec::new(),
            transfers: Vec::new(),
            refunds: Vec::new(),
            letters: Vec::new(),
            taken: Vec::new(),
            last_id: 285_959_000,
        }
    }

    pub fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    pub fn card(&mut self, tx_ref: &str, card: &str) -> bool {
        let now = self.now;
        let Some(offer) = self.offers.get_mut(tx_ref).filter(|offer| offer.is_page) else {
            return false;
        };
        if offer.tries == 0 || offer.ends.is_some_and(|ends| now >= ends) {
            return false;
        }
        offer.tries -= 1;
        let mut paper = offer.paper.clone();
        card.clone_into(&mut paper.account);
        let words = if card == GOOD_CARD {
            "Approved"
        } else {
            "Insufficient Funds"
        };
        let id = self.charge(paper);
        self.end(id, words);
        true
    }

    pub fn go_on(&mut self, tx_ref: &str) -> bool {
        let Some(offer) = self.offers.get(tx_ref).filter(|offer| !offer.is_page) else {
            return false;
        };
        let paper = offer.paper.clone();
        let waiting = self
            .charges
            .iter()
            .find(|charge| charge.reference == tx_ref && charge.status == "pending")
            .map(|charge| charge.id);
        let id = waiting.unwrap_or_else(|| self.charge(paper));
        if self.settle_after == 0 {
            self.settle(id);
        }
        true
    }

    pub fn transfer_in(&mut self, tx_ref: &str, amount: &str) -> bool {
        let now = self.now;
        let Some(offer) = self.offers.get(tx_ref).filter(|offer| offer.ends.is_some()) else {
            return false;
        };
        if offer.ends.is_some_and(|ends| now >= ends) {
            return false;
        }
        let mut paper = offer.paper.clone();
        amount.clone_into(&mut paper.amount);
        let id = self.charge(paper);
        self.end(id, "Approved");
        true
    }

    /// Creates a pending charge.
    pub fn charge(&mut self, mut paper: Paper) -> u64 {
        paper.id = self.next_id();
        paper.status = "pending";
        paper.settle_after = self.settle_after;
        paper.hide_for = self.hide_for;
        paper.created = self.now;
        let id = paper.id;
        self.charges.push(paper);
        id
    }

    /// By the number: one of them is known to fail.
    pub fn settle(&mut self, id: u64) {
        let is_bad = self
            .charges
            .iter()
            .any(|charge| charge.id == id && charge.account == BAD_NUMBER);
        let words = if is_bad {
            "Transaction rejected by customer"
        } else {
            "Approved"
        };
        self.end(id, words);
    }

    /// Makes a charge final, in the books and by a callback: failures too are `charge.completed`.
    fn end(&mut self, id: u64, words: &'static str) {
        let Some(charge) = self
            .charges
            .iter_mut()
            .find(|charge| charge.id == id && charge.status == "pending")
        else {
            return;
        };
        charge.words = words;
        charge.status = if words == "Approved" {
            "successful"
        } else {
            "failed"
        };
        let charge = charge.clone();
        if charge.status == "successful" {
            self.write(&charge);
        }
        self.announce(
            "charge.completed",
            &charge.reference,
            shapes::charge(&charge),
        );
    }

    /// Takes a charge that had failed: the network's result came late.
    pub fn take_late(&mut self, tx_ref: &str) -> bool {
        let mut all = self.charges.iter_mut();
        let failed = all.find(|charge| charge.reference == tx_ref && charge.status == "failed");
        let id = failed.map(|charge| {
            charge.status = "pending";
            charge.id
        });
        id.is_some_and(|id| {
            self.end(id, "Approved");
            true
        })
    }

    /// One question about the last charge under this reference: time passes by questions.
    pub fn asked(&mut self, found: impl Fn(&Paper) -> bool) -> Option<Paper> {
        let charge = self.charges.iter_mut().rev().find(|charge| found(charge))?;
        if charge.hide_for > 0 {
            charge.hide_for -= 1;
            return None;
        }
        let id = charge.id;
        let waits_for_payer = self
            .offers
            .get(&charge.reference)
            .is_some_and(|offer| offer.paper.by == "ussd");
        let is_due = charge.status == "pending" && !waits_for_payer && charge.settle_after <= 1;
        charge.settle_after = charge.settle_after.saturating_sub(1);
        if is_due {
            self.settle(id);
        }
        self.charges.iter().find(|charge| charge.id == id).cloned()
    }

    /// NEW, PENDING, and its end.
    pub fn asked_transfer(&mut self, found: impl Fn(&Paper) -> bool) -> Option<Paper> {
        let transfer = self.transfers.iter_mut().find(|transfer| found(transfer))?;
        let id = transfer.id;
        match transfer.status {
            "NEW" | "PENDING" if transfer.settle_after > 1 => {
                transfer.settle_after -= 1;
                transfer.status = "PENDING";
            }
            "NEW" | "PENDING" => self.end_transfer(id),
            _ => {}
        }
        let all = self.transfers.iter();
        all.clone().find(|transfer| transfer.id == id).cloned()
    }

    fn end_transfer(&mut self, id: u64) {
        let empty = self.empty.clone();
        let Some(transfer) = self.transfers.iter_mut().find(|transfer| transfer.id == id) else {
            return;
        };
        (transfer.status, transfer.words) = if empty.contains(&transfer.currency) {
            (
                "FAILED",
                "DISBURSE FAILED: Insufficient funds in customer wallet",
            )
        } else if transfer.account == BAD_NUMBER {
            ("FAILED", "DISBURSE FAILED: Invalid phone number")
        } else {
            ("SUCCESSFUL", "Transaction was successful")
        };
        let transfer = transfer.clone();
        if transfer.status == "SUCCESSFUL" {
            self.write(&transfer);
        }
        self.announce(
            "transfer.completed",
            &transfer.reference,
            shapes::transfer(&transfer),
        );
    }

    fn write(&self, paper: &Paper) {
        self.books.write(LedgerEntry {
            reference: paper.reference.clone(),
            account: paper.account.clone(),
            amount: paper.amount.clone(),
            currency: paper.currency.clone(),
        });
    }

    fn announce(&mut self, event: &str, reference: &str, data: serde_json::Value) {
        let body = number(&json!({ "event": event, "data": data }));
        let mut headers = vec![
            ("Content-Type".to_owned(), "application/json".to_owned()),
            ("verif-hash".to_owned(), HASH.to_owned()),
        ];
        if self.signs {
            let key = hmac::Key::new(hmac::HMAC_SHA256, HASH.as_bytes());
            let signature = BASE64.encode(hmac::sign(&key, body.as_bytes()));
            headers.push(("flutterwave-signature".to_owned(), signature));
        }
        let letter = ProviderCallback {
            method: "POST".into(),
            headers,
            body,
        };
        self.letters.push((reference.to_owned(), letter));
    }
}
