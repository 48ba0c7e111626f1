//! Statements about money on the pages: the head of the page, its rows and its sentences.

use std::iter::once;

use switchyard_core::charge::Charge;
use switchyard_core::money::Amount;
use switchyard_core::transaction::{Attempt, Case, PayerAction, Received, State, TakenBack};

use super::brand;
use super::crypto;
use super::page_context::{Order, PageContext, Row, initials};
use super::result::is_taken_back;
use super::wait::{asks_for_payment, shown_action};

impl PageContext {
    /// Whether money was reported that settles nothing yet, or a person has to look at the open
    /// attempt. Nothing more is to be paid then, whatever the attempt asks for.
    pub fn is_in_question(&self) -> bool {
        let open = self.tx.current_attempt();
        let open = open.filter(|attempt| attempt.state.is_open());
        let is_about_it = |case: &Case| {
            let reference = open.map(|attempt| attempt.reference);
            case.reason.reports_money() || reference == Some(case.reference)
        };
        let mut cases = self.tx.cases.iter().filter(|case| case.closed.is_none());
        self.tx.is_held() || cases.any(is_about_it) || open.is_some_and(asks_for_too_much)
    }

    /// The sentence on money that moved: none, a part or all of the amount, or not known yet.
    pub fn about_money(&self) -> String {
        let written = self.visitor.language;
        if self.tx.surely_moved_no_money() {
            return self.say("money-nothing");
        }
        let merchant = self.app.name.as_str();
        let Some(received) = self.tx.received() else {
            let merchant = [("merchant", merchant)];
            return match (self.tx.has_unreadable_money(), self.tx.taken_back()) {
                (true, _) => self.say_with("money-unreadable", &merchant),
                (false, TakenBack::All) => self.say_with("money-unreadable-back", &merchant),
                (false, TakenBack::Part | TakenBack::Nothing) => self.money_unknown(),
            };
        };
        let (amount, asked) = (
            received.text(&self.say("money-and-unreadable"), |amount| {
                amount.written(written)
            }),
            received.asked.written(written),
        );
        let sentence = match self.tx.taken_back() {
            TakenBack::All => "money-taken-back",
            TakenBack::Part => "money-partly-taken-back",
            TakenBack::Nothing if self.tx.is_received_sum_disputed() => "money-reported",
            TakenBack::Nothing if received.is_part() => "money-part",
            TakenBack::Nothing => "money-all",
        };
        self.say_with(
            sentence,
            &[
                ("received", &amount),
                ("asked", &asked),
                ("other", self.other_reports().as_deref().unwrap_or("none")),
                ("merchant", merchant),
            ],
        )
    }

    /// Amounts of reports that contradict the received sum. `None`: there are none.
    fn other_reports(&self) -> Option<String> {
        let amounts = self.tx.contradicting_amounts().into_iter();
        let written = |amount: Amount| amount.written(self.visitor.language);
        let amounts: Vec<_> = amounts.map(written).collect();
        (!amounts.is_empty()).then(|| amounts.join(", "))
    }

    /// The sentence about money of which nothing is known yet.
    pub fn money_unknown(&self) -> String {
        self.say_with("money-unknown", &[("merchant", &self.app.name)])
    }

    /// The part that came of an attempt that still waits for the rest. `None`: no part came.
    pub fn part_so_far(&self) -> Option<String> {
        let is_there = self.tx.taken_back() == TakenBack::Nothing;
        let received = self
            .tx
            .received()
            .filter(|part| is_there && part.is_part())?;
        let written = self.visitor.language;
        let sums = [received.single()?, received.asked];
        let [amount, asked] = sums.map(|sum| sum.written(written));
        let values = [("received", amount.as_str()), ("asked", asked.as_str())];
        Some(self.say_with("money-part-so-far", &values))
    }

    /// The coins that were seen on the chain and are not confirmed yet. `None`: there are none.
    pub fn seen_so_far(&self) -> Option<String> {
        let seen = crypto::seen(self)?;
        let sentence = match seen.is_partly_received {
            true => "money-seen-more",
            false => "money-seen",
        };
        let worth = seen.worth.written(self.visitor.language);
        Some(self.say_with(sentence, &[("seen", &worth)]))
    }

    /// Whether coins for the open attempt were seen, of which not all are confirmed. It is not
    /// cancelled then: the money may have come.
    pub fn has_seen_coins(&self) -> bool {
        crypto::seen(self).is_some()
    }

    /// Whether a part came or was seen, so that only the rest is asked for.
    pub fn asks_for_rest(&self) -> bool {
        self.part_so_far().is_some() || self.has_seen_coins()
    }

    /// The rows on money: the amount in the currency in which it moves, and its conversion from the
    /// payment's currency.
    pub fn money_rows(&self) -> Vec<Row> {
        let charge = self.charge();
        let written = self.visitor.language;
        let is_paid = self.tx.state == State::Succeeded;
        let received = self.tx.received();
        let is_named = received.as_ref().is_some_and(|received| {
            let named = [charge.amount, charge.net()];
            received.single().is_some_and(|one| named.contains(&one))
        });
        let received_label = match self.tx.is_received_sum_disputed() {
            false => "row-received",
            true => "row-reported",
        };
        let label = match self.tx.state {
            State::Succeeded if !is_taken_back(&self.tx) => "row-paid",
            // The sum that came is named once.
            State::Failed(_) | State::Cancelled if is_named => received_label,
            _ => "row-amount",
        };
        let amount = self.row(label, charge.amount.written(written)).strong();
        // The rate belongs to the amount that was due.
        let conversion = self.conversion_rows(&charge).into_iter();
        let fee = charge
            .fee
            .map(|fee| self.row("row-fee", fee.written(written)));
        let mut rows: Vec<Row> = match charge.net() == charge.due {
            true => once(amount).chain(fee).chain(conversion).collect(),
            false => {
                let due = self.row("row-due", charge.due.written(written));
                once(due).chain(conversion).chain([amount]).collect()
            }
        };
        let is_shown = is_named && (is_paid || label == received_label);
        if let Some(received) = received.filter(|_| !is_shown) {
            rows.push(self.received_row(&received, label, received_label));
        }
        let others = self.other_reports();
        rows.extend(others.map(|amounts| self.row("row-other-report", amounts)));
        rows
    }

    /// The row of the received sum, below the amount under `label`.
    fn received_row(
        &self,
        received: &Received,
        label: &'static str,
        received_label: &'static str,
    ) -> Row {
        let (written, unreadable) = (self.visitor.language, self.say("money-and-unreadable"));
        let amount = received.text(&unreadable, |amount| amount.written(written));
        // Beside the amount of the success, the sum is that of all payments.
        let label = match label == "row-paid" || self.tx.has_several_charges() {
            true if received_label == "row-reported" => "row-reported-all",
            true => "row-received-all",
            false => received_label,
        };
        self.row(label, amount).strong()
    }

    /// The amount that was asked for, the rate and the mark-up; empty without a conversion.
    pub fn conversion_rows(&self, charge: &Charge<'_>) -> Vec<Row> {
        let written = self.visitor.language;
        let Some(rate) = charge.rate(written) else {
            return Vec::new();
        };
        let mut rows = vec![
            self.row("row-asked", charge.asked.written(written)),
            self.row("row-rate", rate),
        ];
        rows.extend(
            charge
                .markup(written)
                .map(|markup| self.row("row-markup", markup)),
        );
        rows
    }

    /// The amount of the transfer that the page shows, which may contain a fee. `None`: it shows
    /// none, or one of the rest after a part.
    fn transfer(&self) -> Option<Amount> {
        match shown_action(self)? {
            PayerAction::Transfer { amount, .. } => Some(*amount).filter(|_| self.asks_for_all()),
            _ => None,
        }
    }

    /// Whether nothing came and nothing was seen.
    fn asks_for_all(&self) -> bool {
        self.tx.received().is_none() && !self.has_seen_coins()
    }

    /// The head of the page: who is paid, how much, for what.
    pub fn order(&self, charge: &Charge<'_>) -> Order {
        let written = self.visitor.language;
        let amount = self.transfer().unwrap_or(charge.amount).written(written);
        let label = match self.tx.state {
            State::Succeeded if is_taken_back(&self.tx) => "row-amount",
            State::Succeeded => "amount-paid",
            _ if asks_for_payment(self) && self.asks_for_all() => "amount-due",
            _ => "row-amount",
        };
        let conversion = charge.rate(written).map(|rate| {
            let asked = charge.asked.written(written);
            self.say_with("amount-converted", &[("amount", &asked), ("rate", &rate)])
        });
        let due = charge.due.written(written);
        let below = match (charge.net() == charge.due, conversion) {
            (true, conversion) => conversion,
            (false, None) => Some(self.say_with("amount-of-due", &[("due", &due)])),
            (false, Some(conversion)) => {
                let values = [("due", due.as_str()), ("conversion", conversion.as_str())];
                Some(self.say_with("amount-of-due-converted", &values))
            }
        };
        Order {
            merchant: self.app.name.clone(),
            initials: initials(&self.app.name),
            logo: brand::logo_path(&self.app).map(|path| format!("{}{path}", self.visitor.prefix)),
            label: self.say(label),
            size: size(&amount),
            amount,
            below,
            description: self.tx.description.clone(),
        }
    }
}

/// Whether money came for the open attempt and its instructions ask for more than the rest. Only a
/// transfer and an order to send coins name the amount that they ask for.
fn asks_for_too_much(attempt: &Attempt) -> bool {
    let asked = match &attempt.payer_action {
        Some(PayerAction::Transfer { amount, fee, .. }) => {
            fee.map_or(Some(*amount), |fee| amount.checked_sub(fee))
        }
        Some(PayerAction::SendCrypto { worth, .. }) => Some(*worth),
        _ => None,
    };
    let is_within = |asked: Amount| attempt.rest().is_some_and(|rest| asked <= rest);
    attempt.part_received().is_some() && !asked.is_some_and(is_within)
}

/// An amount that is broken between two lines is read wrong.
pub(super) fn size(amount: &str) -> &'static str {
    match amount.chars().count() {
        0..=12 => "",
        13..=16 => "long",
        17..=21 => "longer",
        _ => "longest",
    }
}
