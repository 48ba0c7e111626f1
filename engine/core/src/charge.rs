//! Amount that a transaction moved, or is about to move, in the currency of its method, and its
//! conversion from the requested amount. Pages and mails take amounts from here only, so that none
//! of them shows an amount that was not paid.

use crate::language::Language;
use crate::money::{Amount, Currency};
use crate::transaction::{Attempt, Conversion, State, Transaction};

/// The money of a transaction, as its payer or recipient knows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Charge<'a> {
    /// In the currency in which the money moves.
    pub amount: Amount,
    /// Amount that was due, in the same currency as a rule. Providers may report another `amount`.
    pub due: Amount,
    /// The provider's fee in `amount`, which the payer added to the amount that was due.
    pub fee: Option<Amount>,
    /// In the transaction's own currency.
    pub asked: Amount,
    /// Conversion from `asked` to `amount`, if their currencies differ.
    pub conversion: Option<&'a Conversion>,
}

impl<'a> Charge<'a> {
    /// After a success: the captured amount, with the fee that the payer added. While an attempt is
    /// open, or when money was reported for one without a success: the amount of that attempt.
    /// Otherwise the transaction's own amount, since the next attempt may be in another currency.
    pub fn of(tx: &'a Transaction) -> Self {
        let telling = tx.deciding_attempt();
        let is_told = tx.state == State::Succeeded
            || tx.has_open_attempt()
            || tx.is_held()
            || (tx.state.is_final() && tx.received().is_some());
        match telling.filter(|_| is_told) {
            Some(attempt) => Self::of_attempt(tx.amount, attempt),
            None => Self {
                amount: tx.amount,
                due: tx.amount,
                fee: None,
                asked: tx.amount,
                conversion: None,
            },
        }
    }

    fn of_attempt(asked: Amount, attempt: &'a Attempt) -> Self {
        // Money that came for an open attempt is not what it asks for.
        let debited = attempt.debited().filter(|_| !attempt.state.is_open());
        let amount = debited.unwrap_or(attempt.amount);
        let has_fee = debited.is_some() && debited == attempt.with_payer_fee();
        Self {
            amount,
            due: attempt.amount,
            fee: attempt.payer_fee.filter(|_| has_fee),
            asked,
            conversion: attempt.conversion.as_ref(),
        }
    }

    /// The amount without the payer's fee.
    pub fn net(&self) -> Amount {
        let net = self.fee.and_then(|fee| self.amount.checked_sub(fee));
        net.unwrap_or(self.amount)
    }

    /// The exchange rate, for one unit of the transaction's currency: `1 EUR = 655.957 XOF`.
    pub fn rate(&self, language: Language) -> Option<String> {
        let conversion = self.conversion?;
        Some(rate(conversion, self.asked.currency(), language))
    }

    /// The merchant's mark-up, in percent of the market's rate; it is part of the rate. `None`
    /// where there is none.
    pub fn markup(&self, language: Language) -> Option<String> {
        let correction = self.conversion?.correction?;
        (!correction.is_none()).then(|| correction.written(language))
    }
}

/// A rate with six significant digits, as `language` writes it: `1 EUR = 655.957 XOF`, and with `≈`
/// where it has more.
pub fn rate(conversion: &Conversion, from: Currency, language: Language) -> String {
    let to = conversion.way.last().map_or("", |to| to.code());
    format!(
        "1\u{a0}{from} {} {}\u{a0}{to}",
        conversion.rate.sign(),
        conversion.rate.written(language)
    )
}
