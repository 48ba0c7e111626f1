//! Meanings of a typed text: an id, a reference, a phone number, an amount, words.

use std::iter::once;

use uuid::Uuid;

use super::amount::{self, TypedAmount};
use super::fold::{folded, words};
use super::term::Term;
use switchyard_core::directory::phone;
use switchyard_core::ids::{CustomerId, PaymentId, PayoutId, TransactionId};
use switchyard_core::limits::{SEARCH_TEXT_CHARACTERS, SEARCH_TEXT_WORDS};
use switchyard_core::transaction::Transaction;

/// A text to search for. A transaction is found when it matches one of the alternatives:
///
/// - The whole text is one of its values: our id, the reference or provider's id of an attempt, the
///   customer's id, e-mail or phone, the amount, a value of the metadata, or `key:value`.
/// - Each word of the text is one of its values, if the text is neither a phone number nor an
///   amount. So `Awa Diop` does not find all others with one of the two names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchText {
    pub(super) alternatives: Vec<Every>,
}

/// A text cannot be searched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SearchTextError {
    #[error("text is empty: give an id, a reference, an e-mail, a phone number, an amount, a name")]
    Empty,
    #[error("text is longer than {SEARCH_TEXT_CHARACTERS} characters")]
    TooLong,
}

/// All of these must match.
pub(super) type Every = Vec<Either>;
/// One of these must match.
pub(super) type Either = Vec<Meaning>;

/// A meaning of a text or of one of its words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    Ids(Vec<TransactionId>),
    Reference(Uuid),
    ProviderId(String),
    Customer(CustomerId),
    /// Folded. `key`: only as a value of this key of the metadata.
    Text {
        text: String,
        key: Option<String>,
    },
    /// Digits as typed.
    Phone(String),
    Amount(TypedAmount),
}

impl SearchText {
    /// # Errors
    /// When the text is empty or too long.
    pub fn parse(text: &str) -> Result<Self, SearchTextError> {
        if text.chars().count() > SEARCH_TEXT_CHARACTERS {
            return Err(SearchTextError::TooLong);
        }
        let text = text.trim();
        let whole = folded(text);
        if whole.is_empty() {
            return Err(SearchTextError::Empty);
        }
        let values = values(&whole);
        let is_number = |one: &Meaning| matches!(one, Meaning::Phone(_) | Meaning::Amount(_));
        let has_words = !values.iter().any(is_number);
        let mut alternatives = vec![vec![names(text).chain(values).collect::<Vec<_>>()]];
        if has_words {
            alternatives.extend(by_words(&whole));
        }
        Ok(Self { alternatives })
    }

    /// All transactions of a customer, and no other that mentions the id.
    pub fn of_customer(id: CustomerId) -> Self {
        Self {
            alternatives: vec![vec![vec![Meaning::Customer(id)]]],
        }
    }

    /// Whether a transaction with these terms is found.
    pub(super) fn matches(&self, tx: &Transaction, terms: &[Term]) -> bool {
        let one = |either: &Either| either.iter().any(|meaning| meaning.matches(tx, terms));
        self.alternatives.iter().any(|every| every.iter().all(one))
    }
}

/// The meanings that only a whole text has.
fn names(text: &str) -> impl Iterator<Item = Meaning> {
    let lower = text.to_ascii_lowercase();
    let ulid = || ulid::Ulid::from_string(&text.to_ascii_uppercase()).ok();
    let ids: Vec<_> = match (lower.parse(), ulid()) {
        (Ok(id), _) => vec![id],
        (Err(_), Some(ulid)) => vec![
            TransactionId::Payment(PaymentId::new(ulid)),
            TransactionId::Payout(PayoutId::new(ulid)),
        ],
        (Err(_), None) => Vec::new(),
    };
    let ids = Some(Meaning::Ids(ids)).filter(|ids| *ids != Meaning::Ids(Vec::new()));
    let reference = Uuid::try_parse(text).ok().map(Meaning::Reference);
    let customer = lower.parse().ok().map(Meaning::Customer);
    let provider_id = Meaning::ProviderId(text.to_owned());
    ids.into_iter()
        .chain(reference)
        .chain(customer)
        .chain(once(provider_id))
}

/// Alternatives for a folded text of several words: those between spaces, each with all meanings,
/// and those between other letters than letters and digits, as the index has those of a name.
fn by_words(whole: &str) -> impl Iterator<Item = Every> {
    let tokens = whole
        .split(' ')
        .map(|token| token.trim_end_matches([',', ';']));
    let tokens: Vec<_> = tokens.filter(|token| !token.is_empty()).collect();
    let words: Vec<_> = words(whole).collect();
    let are_words = words != tokens && words != [whole] && !whole.contains('@');
    let are_tokens = tokens.len() > 1;
    let is_bounded = |count: usize| (1..=SEARCH_TEXT_WORDS).contains(&count);
    let word = |word: &&str| vec![Meaning::text(word, None)];
    let tokens = (are_tokens && is_bounded(tokens.len()))
        .then(|| tokens.iter().map(|token| values(token)).collect());
    let words = (are_words && is_bounded(words.len())).then(|| words.iter().map(word).collect());
    [tokens, words].into_iter().flatten()
}

/// The meanings of a folded text as a value.
fn values(text: &str) -> Vec<Meaning> {
    let mut meanings = vec![Meaning::text(text, None)];
    if let Some((key, value)) = text.split_once(':') {
        let (key, value) = (key.trim(), value.trim());
        if !key.is_empty() && !value.is_empty() {
            meanings.push(Meaning::text(value, Some(key)));
        }
    }
    meanings.extend(phone::digits(text).map(Meaning::Phone));
    meanings.extend(amount::typed(text).into_iter().map(Meaning::Amount));
    meanings
}

impl Meaning {
    fn text(text: &str, key: Option<&str>) -> Self {
        Self::Text {
            text: text.to_owned(),
            key: key.map(str::to_owned),
        }
    }

    fn matches(&self, tx: &Transaction, terms: &[Term]) -> bool {
        match self {
            Self::Ids(ids) => ids.contains(&tx.id),
            Self::Reference(reference) => tx
                .attempts
                .iter()
                .any(|attempt| attempt.reference == *reference),
            Self::ProviderId(id) => {
                let mut ids = tx.attempts.iter().map(|attempt| &attempt.provider_id);
                ids.any(|known| known.as_ref() == Some(id))
            }
            Self::Customer(id) => tx.customer.id == *id,
            Self::Text { .. } | Self::Phone(_) | Self::Amount(_) => {
                terms.iter().any(|term| self.is_met_by(term))
            }
        }
    }

    fn is_met_by(&self, term: &Term) -> bool {
        match (self, term) {
            (
                Self::Text {
                    text: wanted,
                    key: only,
                },
                Term::Text { text, key },
            ) => wanted == text && (only.is_none() || only == key),
            (Self::Phone(typed), Term::Phone(known)) => phone::is_same(known, typed),
            (Self::Amount(typed), Term::Amount { decimal, currency }) => {
                let currencies = &typed.currencies;
                typed.decimal == *decimal
                    && (currencies.is_empty() || currencies.contains(currency))
            }
            _ => false,
        }
    }
}
