//! Terms of a transaction: the values by which a search finds it, and the index rows of each.

use std::collections::{BTreeMap, BTreeSet};

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::amount::decimal;
use super::fold::{folded, words};
use crate::keys::{self, SearchPlace};
use switchyard_core::directory::phone;
use switchyard_core::environment::Environment;
use switchyard_core::ids::AppId;
use switchyard_core::limits::{
    SEARCH_DESCRIPTION_WORDS, SEARCH_METADATA, SEARCH_NAME_WORDS, SEARCH_TERM_CHARACTERS,
    SEARCH_TERMS,
};
use switchyard_core::money::{Amount, Currency};
use switchyard_core::transaction::{Attempt, Details, Kind, Restriction, Transaction};

/// A value by which a transaction is found. Each is one row of the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Term {
    /// Folded. With the key of the metadata whose value it is.
    Text { text: String, key: Option<String> },
    /// Digits of a phone number.
    Phone(String),
    /// Digits of an amount in major units, see [`decimal`].
    Amount { decimal: String, currency: Currency },
}

/// Transactions that are searched together, and the hash of what identifies them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Owner(u64);

/// Part of a term that all its variants share: its rows begin with the hash of it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stem<'a> {
    Text(&'a str),
    /// The last [`phone::SHORTEST_NATIONAL`] digits: every spelling of a number ends with them.
    Phone(&'a str),
    Amount(&'a str),
}

impl Owner {
    pub fn new(app: AppId, environment: Environment, kind: Kind) -> Self {
        Self(xxh3_64(&keys::search_owner(app, environment, kind)))
    }

    /// Hash of a term without its variant. It bounds the length of a key, and keeps no secret: the
    /// store has the same values in the clear in the transaction itself.
    pub fn hash(self, stem: Stem<'_>) -> u64 {
        let (tag, text) = match stem {
            Stem::Text(text) => (b't', text),
            Stem::Phone(digits) => (b'p', tail(digits)),
            Stem::Amount(decimal) => (b'a', decimal),
        };
        xxh3_64_with_seed(text.as_bytes(), self.0 ^ u64::from(tag))
    }
}

impl Term {
    fn place(&self, owner: Owner) -> SearchPlace {
        let (stem, variant) = match self {
            Self::Text { text, key } => (Stem::Text(text), text_variant(key.as_deref())),
            Self::Phone(digits) => (Stem::Phone(digits), PLAIN),
            Self::Amount { decimal, currency } => {
                (Stem::Amount(decimal), amount_variant(*currency))
            }
        };
        keys::search_place(owner.hash(stem), variant)
    }
}

/// Variant of a term that is no value of metadata, and of a phone number.
pub(super) const PLAIN: u8 = 0;

/// Variant of a text by the key of the metadata whose value it is. Two keys may share one: a
/// search compares each found transaction with what was asked.
pub(super) fn text_variant(key: Option<&str>) -> u8 {
    key.map_or(PLAIN, variant)
}

pub(super) fn amount_variant(currency: Currency) -> u8 {
    variant(currency.code())
}

fn variant(text: &str) -> u8 {
    // From 1 on. The hash is smaller than 255.
    (xxh3_64(text.as_bytes()) % 255) as u8 + 1
}

fn tail(digits: &str) -> &str {
    let start = digits.len().saturating_sub(phone::SHORTEST_NATIONAL);
    digits.get(start..).unwrap_or(digits)
}

/// The places of a transaction's rows in the index.
pub(super) fn places(tx: &Transaction) -> BTreeSet<SearchPlace> {
    let owner = Owner::new(tx.app, tx.environment, tx.kind());
    terms(tx).iter().map(|term| term.place(owner)).collect()
}

/// Whether a step changed nothing that [`terms`] reads. Most steps do not.
pub(super) fn has_same_terms(before: &Transaction, after: &Transaction) -> bool {
    fn ids(attempt: &Attempt) -> impl Iterator<Item = Option<&str>> {
        attempt.charges.iter().map(|charge| charge.id.as_deref())
    }
    let is_same = |(old, new): (&Attempt, &Attempt)| {
        (&old.phone, &old.provider_id) == (&new.phone, &new.provider_id) && ids(old).eq(ids(new))
    };
    fn reported(tx: &Transaction) -> impl Iterator<Item = Option<&str>> {
        tx.cases.iter().map(|case| case.provider_id.as_deref())
    }
    before.attempts.len() == after.attempts.len()
        && std::iter::zip(&before.attempts, &after.attempts).all(is_same)
        && reported(before).eq(reported(after))
        && before.customer == after.customer
        && before.metadata == after.metadata
        && before.details == after.details
        && (before.amount, &before.description) == (after.amount, &after.description)
}

/// The terms of a transaction, at most [`SEARCH_TERMS`].
pub(super) fn terms(tx: &Transaction) -> Vec<Term> {
    let mut terms = Collected(Vec::with_capacity(USUAL));
    terms.amount(tx.amount);
    terms.text(&tx.customer.email);
    terms.phone(tx.customer.phone.as_deref());
    let name = format!("{} {}", tx.customer.first_name, tx.customer.last_name);
    for word in words(&folded(&name)).take(SEARCH_NAME_WORDS) {
        terms.folded(word.to_owned(), None);
    }
    match &tx.details {
        Details::Payment(payment) => {
            if let Some(Restriction::Phone { number, .. }) = &payment.restriction {
                terms.phone(Some(number));
            }
        }
        Details::Payout(payout) => payout.recipient.values().for_each(|value| {
            terms.phone(Some(value));
        }),
    }
    terms.metadata(&tx.metadata);
    terms.description(&tx.description);
    for attempt in &tx.attempts {
        terms.attempt(attempt);
    }
    let reported = tx
        .cases
        .iter()
        .filter_map(|case| case.provider_id.as_deref());
    for id in reported {
        let mut attempts = tx.attempts.iter();
        if !attempts.any(|attempt| attempt.provider_id.as_deref() == Some(id)) {
            terms.text(id);
        }
    }
    terms.0.truncate(SEARCH_TERMS);
    terms.0
}

/// Terms that are collected.
struct Collected(Vec<Term>);

impl Collected {
    fn push(&mut self, term: Term) {
        if !self.0.contains(&term) {
            self.0.push(term);
        }
    }

    fn amount(&mut self, amount: Amount) {
        self.push(Term::Amount {
            decimal: decimal(amount),
            currency: amount.currency(),
        });
    }

    fn text(&mut self, text: &str) {
        self.folded(folded(text), None);
    }

    fn folded(&mut self, text: String, key: Option<String>) {
        if !text.is_empty() && text.chars().count() <= SEARCH_TERM_CHARACTERS {
            self.push(Term::Text { text, key });
        }
    }

    /// A phone number. Other texts, such as an IBAN, are texts.
    fn phone(&mut self, text: Option<&str>) {
        let text = text.unwrap_or_default();
        match phone::digits(text) {
            Some(digits) => self.push(Term::Phone(digits)),
            None => self.text(text),
        }
    }

    fn metadata(&mut self, metadata: &BTreeMap<String, String>) {
        for (key, value) in metadata.iter().take(SEARCH_METADATA) {
            self.folded(folded(value), Some(folded(key)));
        }
    }

    /// Words with a digit: numbers of orders and invoices.
    fn description(&mut self, description: &str) {
        let description = folded(description);
        let is_edge = |letter: char| !letter.is_alphanumeric();
        let words = description
            .split(' ')
            .map(|word| word.trim_matches(is_edge));
        let numbers = words.filter(|word| word.contains(|letter: char| letter.is_ascii_digit()));
        for number in numbers.take(SEARCH_DESCRIPTION_WORDS) {
            self.folded(number.to_owned(), None);
        }
    }

    /// The phone that the payer gave, the amount in another currency, and ids of further charges.
    /// The names index has our reference and the provider's id of the attempt.
    fn attempt(&mut self, attempt: &Attempt) {
        self.phone(attempt.phone.as_deref());
        if attempt.conversion.is_some() {
            self.amount(attempt.amount);
        }
        let ids = attempt.charges.iter().map(|charge| &charge.id);
        for id in ids.filter(|id| **id != attempt.provider_id).flatten() {
            self.text(id);
        }
    }
}

/// Terms of an ordinary payment.
const USUAL: usize = 12;
