//! Statements about money on the pages: the head of the page, its rows and its sentences.

use std::iter::once;

use switchyard_engine::charge::Charge;
use switchyard_engine::money::Amount;
use switchyard_engine::transaction::{Case, PayerAction, Received, State};

use super::brand;
use super::result::is_taken_back;
use super::scene::{Order, Row, Scene, initials};
use super::wait::asks_for_payment;

impl Scene {
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
        self.tx.is_held() || cases.any(is_about_it)
    }

    /// The sentence on money that moved: none, a part or all of the amount, or not known yet.
    pub fn about_money(&self) -> String {
        let written = self.visitor.language.written();
        if self.tx.surely_moved_no_money() {
            return self.say("money-nothing");
        }
        let merchant = self.app.name.as_str();
        let Some(received) = self.tx.received() else {
            return self.say_with("money-unknown", &[("merchant", merchant)]);
        };
        let (amount, asked) = (
            received.text(|amount| amount.written(written)),
            received.asked.written(written),
        );
        let is_part = received.is_part();
        self.say_with(
            if is_part { "money-part" } else { "money-all" },
            &[
                ("received", &amount),
                ("asked", &asked),
                ("merchant", merchant),
            ],
        )
    }

    /// The part that came of an attempt that still waits for the rest. `None`: no part came.
    pub fn part_so_far(&self) -> Option<String> {
        let received = self.tx.received().filter(Received::is_part)?;
        let written = self.visitor.language.written();
        let [amount, asked] = [received.first(), received.asked].map(|sum| sum.written(written));
        let values = [("received", amount.as_str()), ("asked", asked.as_str())];
        Some(self.say_with("money-part-so-far", &values))
    }

    /// The rows on money: the amount in the currency in which it moves, and its conversion from the
    /// payment's currency.
    pub fn money_rows(&self) -> Vec<Row> {
        let charge = self.charge();
        let written = self.visitor.language.written();
        let label = match self.tx.state {
            State::Succeeded if !is_taken_back(&self.tx) => "row-paid",
            _ => "row-amount",
        };
        let amount = self.row(label, charge.amount.written(written)).strong();
        // The rate belongs to the amount that was due.
        let conversion = self.conversion_rows(&charge).into_iter();
        let mut rows: Vec<Row> = match charge.amount == charge.due {
            true => once(amount).chain(conversion).collect(),
            false => {
                let due = self.row("row-due", charge.due.written(written));
                once(due).chain(conversion).chain([amount]).collect()
            }
        };
        let is_paid = self.tx.state == State::Succeeded;
        let is_named = |amounts: &[Amount]| is_paid && amounts == [charge.amount];
        if let Some(received) = self
            .tx
            .received()
            .filter(|received| !is_named(&received.amounts))
        {
            let amount = received.text(|amount| amount.written(written));
            rows.push(self.row("row-received", amount).strong());
        }
        rows
    }

    /// The amount that was asked for, the rate and the mark-up; empty without a conversion.
    pub fn conversion_rows(&self, charge: &Charge<'_>) -> Vec<Row> {
        let written = self.visitor.language.written();
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

    /// The amount of the transfer that is asked for: it may contain a fee.
    fn transfer(&self, charge: &Charge<'_>) -> Option<Amount> {
        let attempt = self.tx.current_attempt()?;
        match attempt.payer_action {
            Some(PayerAction::Transfer { amount, .. }) if asks_for_payment(self) => {
                Some(amount).filter(|amount| amount.currency() == charge.amount.currency())
            }
            _ => None,
        }
    }

    /// The head of the page: who is paid, how much, for what.
    pub fn order(&self, charge: &Charge<'_>) -> Order {
        let written = self.visitor.language.written();
        let amount = self
            .transfer(charge)
            .unwrap_or(charge.amount)
            .written(written);
        let label = match self.tx.state {
            State::Succeeded if is_taken_back(&self.tx) => "row-amount",
            State::Succeeded => "amount-paid",
            _ if asks_for_payment(self) && self.tx.received().is_none() => "amount-due",
            _ => "row-amount",
        };
        let conversion = charge.rate(written).map(|rate| {
            let asked = charge.asked.written(written);
            self.say_with("amount-converted", &[("amount", &asked), ("rate", &rate)])
        });
        let due = charge.due.written(written);
        let below = match (charge.amount == charge.due, conversion) {
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

/// An amount that is broken between two lines is read wrong.
fn size(amount: &str) -> &'static str {
    match amount.chars().count() {
        0..=12 => "",
        13..=16 => "long",
        17..=21 => "longer",
        _ => "longest",
    }
}
