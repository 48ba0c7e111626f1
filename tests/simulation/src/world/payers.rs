//! Actions of payers besides paying: they read the price, and type the codes that providers send
//! them.

use super::agenda::{Deed, Happening};
use super::{SECOND, World};
use crate::promises::Agreed;

impl World {
    /// Records that a payer reads the price, and returns the reading time in microseconds.
    pub fn reads(&mut self, order: usize, minor: i64, currency: &str) -> i64 {
        let Some(transaction) = self.orders[order].id.clone() else {
            return 0;
        };
        self.note(format_args!(
            "the payer of {transaction} reads that it costs {minor} {currency}"
        ));
        let currency = currency.to_owned();
        self.evidence.agreed.push(Agreed {
            transaction,
            minor,
            currency,
        });
        match self.plan.converted {
            0 => 0,
            _ => self.hand_waits(0, 15_000),
        }
    }

    /// Sends a code to the payer of `reference`, unless the reference is unknown.
    pub(super) fn sends_code(&mut self, reference: &str, until: i64) {
        let code = format!("otp{:08}", self.hand.below(100_000_000));
        let Some(entry) = self.books.entries.get_mut(reference) else {
            return;
        };
        entry.code = code;
        let transaction = entry.transaction.clone();
        let of = reference.to_owned();
        let gives_up = Happening::Settles {
            reference: of,
            paid: false,
        };
        self.later(until, gives_up);
        let is_theirs = |order: &super::Order| order.id.as_ref() == Some(&transaction);
        if let Some(order) = self.orders.iter().position(is_theirs) {
            let at = self.hand_waits(1_000, 60_000);
            self.later(at, Happening::Deed(Deed::TypeCode { order, tries: 0 }));
        }
    }

    /// Returns the text that the payer types as the code of `reference`. It must never be stored on
    /// a disk.
    pub fn types(&mut self, reference: &str) -> String {
        let is_wrong = self.hand.happens(300);
        let sent = self.books.entries.get(reference).map(|entry| &entry.code);
        let code = match sent.filter(|code| !is_wrong && !code.is_empty()) {
            Some(code) => code.clone(),
            None => format!("otp{:08}", self.hand.below(100_000_000)),
        };
        self.evidence.codes.push(code.clone());
        code
    }

    /// Handles a code that arrives at the provider.
    pub(super) fn hears_code(&mut self, reference: &str, code: &str) {
        let now = self.now();
        let Some(entry) = self.books.entries.get_mut(reference) else {
            return;
        };
        let fits = entry.status == "code" && entry.code == code;
        if !fits {
            return;
        }
        let takes_long = self.hand.happens(300);
        let Some(entry) = self.books.entries.get_mut(reference) else {
            return;
        };
        if takes_long {
            entry.status = "pending";
            let after = self.hand_waits(1_000, 60_000);
            let reference = reference.to_owned();
            let paid = self.hand.happens(800);
            self.later(after, Happening::Settles { reference, paid });
        } else {
            entry.status = "paid";
            let charge = entry.charge(now, false);
            self.evidence.charges.push(charge);
            self.tells(reference);
        }
        self.note(format_args!("the provider takes the code of {reference}"));
    }

    /// Returns the payer's delay before typing again.
    pub fn hesitates(&mut self) -> i64 {
        i64::try_from(self.patience.between(20, 60)).unwrap_or(20) * SECOND
    }
}
