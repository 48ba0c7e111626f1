//! The agenda: future happenings by time. Those outside the process occur whether or not it runs;
//! those that need it are repeated until it runs.

use tokio::sync::oneshot;

use super::books::LONG_PAUSE;
use super::network::ProviderRequest;
use super::{SECOND, World};
use crate::promises::Charge;

/// A payment or payout that a merchant orders.
#[derive(Clone, Debug)]
pub struct Order {
    pub is_payout: bool,
    pub is_live: bool,
    pub minor: i64,
    /// Payment method of the payer.
    pub method: &'static str,
    /// Idempotency key. Without a key the merchant does not repeat the request.
    pub key: Option<String>,
    /// Id of the transaction, once the merchant knows it.
    pub id: Option<String>,
    /// Whether the payer's confirmation was answered, with success or not.
    pub is_confirmed: bool,
}

/// Sender for the result of a request to a provider.
pub type Reply = oneshot::Sender<super::network::RecentResults>;

/// A future happening.
#[derive(Debug)]
pub enum Happening {
    /// A request reaches its provider.
    Arrives {
        request: ProviderRequest,
        reply: Option<Reply>,
    },
    /// A provider finishes with a reference.
    Settles {
        reference: String,
        paid: bool,
    },
    /// A provider takes money that it had declined to take.
    TakesAnyway {
        reference: String,
    },
    /// A provider takes this many quarters of the amount of a reference that it did not report
    /// before.
    TakesPart {
        reference: String,
        quarters: i64,
    },
    TakesBack {
        reference: String,
    },
    /// A provider that took money answers that it declined.
    Denies {
        reference: String,
    },
    /// A provider that reported money without an amount reports the amount.
    NamesAmount {
        reference: String,
    },
    /// A provider takes the money once more, under another id.
    TakesAgain {
        reference: String,
    },
    /// An action that needs the process.
    Deed(Deed),
}

/// An action of a person or a provider on the engine.
#[derive(Clone, Debug)]
pub enum Deed {
    Ask {
        order: usize,
    },
    Confirm {
        order: usize,
        tab: u8,
    },
    Cancel {
        order: usize,
    },
    Verify {
        order: usize,
    },
    /// A provider sends the callback with this index in the evidence.
    CallBack {
        index: usize,
        tries: u32,
    },
    /// Changes the wall clock.
    SetClock {
        micros: i64,
    },
    /// A payer types the code that the provider sent.
    TypeCode {
        order: usize,
        tries: u32,
    },
    /// An operator makes the next change of a gateway.
    Operate {
        turn: usize,
    },
    /// The same, earlier than scheduled.
    OperateNow,
    /// An operator ends a quarantine, if there is one.
    Restore {
        gateway: &'static str,
    },
    /// An operator sets the price of a dollar, in hundredths of a franc.
    SetRate {
        cents: u64,
    },
    /// An operator triggers a query to the provider.
    Check {
        order: usize,
    },
    /// An operator resolves the open attempt by the provider's ledger.
    Settle {
        order: usize,
    },
    CancelByHand {
        order: usize,
    },
    CloseCases {
        order: usize,
    },
    /// A merchant has repaired an endpoint that was gone: enables it and replays the missed
    /// deliveries.
    CatchUp {
        webhook: usize,
    },
}

impl World {
    /// Schedules a happening, `after` microseconds from now.
    pub fn later(&mut self, after: i64, what: Happening) {
        self.next += 1;
        let at = self.now() + after.max(0);
        self.agenda.insert((at, self.next), what);
        self.changed.notify_one();
    }

    /// Returns the time of the next happening.
    pub fn next_at(&self) -> Option<i64> {
        self.agenda.first_key_value().map(|((at, _), _)| *at)
    }

    /// Performs the next happening if it is due by `until`. Returns the deed if it needs the
    /// process.
    pub fn happen(&mut self, until: i64) -> Option<Option<Deed>> {
        if self.next_at()? > until {
            return None;
        }
        let (_, happening) = self.agenda.pop_first()?;
        match happening {
            Happening::Deed(deed) => return Some(Some(deed)),
            Happening::Arrives { request, reply } => self.arrives(request, reply),
            Happening::Settles { reference, paid } => self.settles(&reference, paid),
            Happening::TakesAnyway { reference } => self.takes_anyway(&reference),
            Happening::TakesPart {
                reference,
                quarters,
            } => self.takes_part(&reference, quarters),
            Happening::NamesAmount { reference } => self.names_amount(&reference),
            Happening::TakesBack { reference } => self.takes_back(&reference),
            Happening::Denies { reference } => self.denies(&reference),
            Happening::TakesAgain { reference } => self.takes_again(&reference),
        }
        Some(None)
    }

    /// Performs the happenings until `until` while the process is down. Deeds are rescheduled for
    /// after that time.
    pub fn without_process(&mut self, until: i64) {
        let mut waiting = Vec::new();
        while let Some(deed) = self.happen(until) {
            match deed {
                Some(Deed::SetClock { micros }) => self.skew += micros,
                Some(deed) => waiting.push(deed),
                None => {}
            }
        }
        let rest = until - self.now();
        for deed in waiting {
            let patience = i64::try_from(self.patience.between(1, 5_000)).unwrap_or(1) * 1_000;
            self.later(rest + patience, Happening::Deed(deed));
        }
    }

    /// Schedules the orders of the plan's merchants and the actions of its payers.
    pub fn invite(&mut self) {
        let (payments, payouts) = (self.plan.payments, self.plan.payouts);
        for number in 0..payments + payouts {
            let is_payout = number >= payments;
            let has_key = self.people.happens(500) || self.plan.is_plain;
            let key = has_key.then(|| format!("key-{number}"));
            let in_francs = self.hand.happens(self.plan.converted);
            let order = Order {
                is_payout,
                is_live: self.people.happens(600),
                minor: i64::try_from(self.people.between(100, 99_999)).unwrap_or(100),
                method: match in_francs {
                    true => "mtn_bj",
                    false => "simulated_usd",
                },
                key,
                id: None,
                is_confirmed: false,
            };
            self.orders.push(order);
            let at = i64::try_from(self.people.between(0, 60_000)).unwrap_or(0) * 1_000;
            let pause = i64::try_from(self.plan.pause).unwrap_or(0) * SECOND;
            let is_late = number % 2 == 1 && pause > 0;
            let at = if is_late { at + pause } else { at };
            if is_late {
                self.books.tell(LONG_PAUSE);
            }
            self.later(at, Happening::Deed(Deed::Ask { order: number }));
            let twice = self.orders[number].key.is_some() && self.people.happens(400);
            if twice {
                let again = i64::try_from(self.people.between(0, 3_000)).unwrap_or(0) * 1_000;
                self.later(at + again, Happening::Deed(Deed::Ask { order: number }));
            }
        }
        for _ in 0..self.plan.trouble.jumps {
            let at = i64::try_from(self.people.between(1, 1_200)).unwrap_or(1) * SECOND;
            let by = i64::try_from(self.people.between(1, 3_600)).unwrap_or(1) * SECOND;
            let micros = if self.people.happens(500) { by } else { -by };
            self.later(at, Happening::Deed(Deed::SetClock { micros }));
        }
        self.hire();
    }

    /// Records that a merchant's request was accepted as this transaction.
    pub fn accepted(&mut self, order: usize, id: &str) {
        if self.is_dead {
            return;
        }
        self.note(format_args!("order {order} is accepted as {id}"));
        let at = self.now();
        let asked = self.orders[order].clone();
        self.evidence.accepted.push(crate::promises::Accepted {
            at,
            transaction: id.to_owned(),
            key: asked.key.clone(),
            is_live: asked.is_live,
            minor: asked.minor,
        });
        if asked.id.is_some() {
            return;
        }
        self.orders[order].id = Some(id.to_owned());
        self.lend_a_hand(order);
        self.verifies(order);
        if !asked.is_payout {
            self.pays(order);
        }
    }

    /// Schedules the payer's visits to the page, if any.
    fn pays(&mut self, order: usize) {
        if self.people.happens(50) && !self.plan.is_plain {
            return; // the payer never comes; the payment expires
        }
        let hasty = self.plan.trouble.haste;
        let at = i64::try_from(self.people.between(500, 90_000)).unwrap_or(500) * 1_000;
        self.later(at, Happening::Deed(Deed::Confirm { order, tab: 0 }));
        if self.plan.changes > 0 && self.hand.happens(600) {
            // Schedule the change at the moment of the confirmation.
            self.later(at, Happening::Deed(Deed::OperateNow));
        }
        if self.people.happens(hasty) {
            let again = i64::try_from(self.people.between(0, 1_500)).unwrap_or(0) * 1_000;
            let tab = u8::from(self.people.happens(500));
            self.later(at + again, Happening::Deed(Deed::Confirm { order, tab }));
        }
        if self.people.happens(hasty / 2) {
            let cancels = i64::try_from(self.people.between(0, 120_000)).unwrap_or(0) * 1_000;
            self.later(at / 2 + cancels, Happening::Deed(Deed::Cancel { order }));
        }
        if self.plan.is_plain {
            return;
        }
        // A payer whose payment was declined, or who saw an error, returns a little later.
        for _ in 0..self.people.below(3) {
            let again = i64::try_from(self.people.between(10_000, 900_000)).unwrap_or(0) * 1_000;
            self.later(at + again, Happening::Deed(Deed::Confirm { order, tab: 2 }));
        }
    }

    fn verifies(&mut self, order: usize) {
        for _ in 0..self.people.below(4) {
            let at = i64::try_from(self.people.between(1_000, 600_000)).unwrap_or(0) * 1_000;
            self.later(at, Happening::Deed(Deed::Verify { order }));
        }
    }

    fn settles(&mut self, reference: &str, paid: bool) {
        let now = self.now();
        let Some(entry) = self.books.entries.get_mut(reference) else {
            return;
        };
        if !matches!(entry.status, "pending" | "code") {
            return;
        }
        entry.status = if paid { "paid" } else { "declined" };
        let charge = paid.then(|| entry.charge(now, false));
        let status = entry.status;
        self.evidence.charges.extend(charge);
        self.note(format_args!(
            "the provider comes to an end with {reference}: {status}"
        ));
        self.tells(reference);
    }

    fn takes_anyway(&mut self, reference: &str) {
        let now = self.now();
        let Some(entry) = self.books.entries.get_mut(reference) else {
            return;
        };
        if entry.status == "paid" {
            return;
        }
        entry.status = "paid";
        entry.hidden = false;
        let charge = entry.charge(now, true);
        self.evidence.charges.push(charge);
        self.note(format_args!(
            "the provider takes what it declined: {reference}"
        ));
        self.tells(reference);
    }

    fn takes_part(&mut self, reference: &str, quarters: i64) {
        let now = self.now();
        let Some(entry) = self.books.entries.get_mut(reference) else {
            return;
        };
        let is_first = entry.status != "paid";
        entry.status = "paid";
        entry.hidden = false;
        entry.taken = entry.asked * quarters / 4;
        let charge = entry.charge(now, true);
        if is_first {
            self.evidence.charges.push(charge);
        } else {
            let of = |known: &&mut Charge| known.reference == reference;
            for known in self.evidence.charges.iter_mut().filter(of) {
                known.minor = charge.minor;
            }
        }
        self.note(format_args!(
            "the provider has taken {quarters} quarters of {reference}"
        ));
        self.tells(reference);
    }

    fn names_amount(&mut self, reference: &str) {
        let Some(entry) = self.books.entries.get_mut(reference) else {
            return;
        };
        entry.names_amount = true;
        self.note(format_args!("the provider names the amount of {reference}"));
        self.tells(reference);
    }

    fn denies(&mut self, reference: &str) {
        let Some(entry) = self.books.entries.get_mut(reference) else {
            return;
        };
        entry.status = "declined";
        self.note(format_args!(
            "the provider denies what it took: {reference}"
        ));
        self.tells(reference);
    }

    fn takes_again(&mut self, reference: &str) {
        let now = self.now();
        let Some(entry) = self.books.entries.get_mut(reference) else {
            return;
        };
        entry.id.push_str("-again");
        let charge = entry.charge(now, true);
        self.evidence.charges.push(charge);
        self.note(format_args!("the provider takes {reference} once more"));
        self.tells(reference);
    }

    fn takes_back(&mut self, reference: &str) {
        let Some(entry) = self.books.entries.get_mut(reference) else {
            return;
        };
        entry.status = "declined";
        let of = |charge: &&mut Charge| charge.reference == reference;
        for charge in self.evidence.charges.iter_mut().filter(of) {
            charge.taken_back = true;
        }
        self.note(format_args!("the provider takes {reference} back"));
        self.tells(reference);
    }

    /// Whether every happening outside the process has occurred.
    pub fn is_quiet(&self) -> bool {
        self.agenda.is_empty() && self.acting == 0 && self.now() >= self.healed_at
    }
}
