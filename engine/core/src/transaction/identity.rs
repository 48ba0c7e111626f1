//! Which attempt a callback is about. Pure: the callback worker and the exhaustive check both call
//! it.

use super::attempt::{Attempt, AttemptState};
use super::charges::Charge;
use super::model::{Case, Transaction};
use super::outcome::Captured;
use crate::ids::{AttemptId, TransactionId};

/// An attempt of a transaction.
pub type AttemptKey = (TransactionId, AttemptId);

/// Conclusion from a callback's reference and provider id together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identity {
    /// No attempt of the connection has the reference or the id.
    Unknown,
    /// The callback is about this attempt.
    Proven(AttemptKey),
    /// The reference and the id name different attempts, so that neither is proven: query the one
    /// that our reference names.
    Disagree(AttemptKey),
    /// The provider uses the id for several attempts and names no reference: query each of them.
    Ambiguous(Vec<AttemptKey>),
}

/// `by_reference`: the attempt that has the reference. `by_id`: all attempts of the connection that
/// have the provider id.
pub fn identify(by_reference: Option<AttemptKey>, by_id: &[AttemptKey]) -> Identity {
    match (by_reference, by_id) {
        (None, []) => Identity::Unknown,
        (None, [one]) => Identity::Proven(*one),
        (None, several) => Identity::Ambiguous(several.to_vec()),
        (Some(one), []) => Identity::Proven(one),
        (Some(one), ids) if ids.contains(&one) => Identity::Proven(one),
        (Some(one), _) => Identity::Disagree(one),
    }
}

impl Attempt {
    /// Whether it is open, or money was reported for it.
    pub fn may_have_moved_money(&self) -> bool {
        let is_done = self.state == AttemptState::Succeeded;
        self.state.is_open() || is_done || !self.charges.is_empty()
    }

    /// Whether its provider reported the attempt, or a charge of it, under this id, or named it in
    /// any other report.
    pub fn has_id(&self, id: &str) -> bool {
        self.has_own_id(id) || self.further_ids.iter().any(|further| further == id)
    }

    /// Money that its provider reported under this id and did not take back. `None`: there is none.
    pub fn money_under(&self, id: &str) -> Option<Captured> {
        let is_it = |charge: &&Charge| charge.id.as_deref() == Some(id) && !charge.is_taken_back;
        let charge = self.charges.iter().find(is_it)?;
        Some(charge.amount.map_or(Captured::Unreadable, Captured::Named))
    }

    /// Whether a case about money, with or without an id, may be about the charge under `id`. Of
    /// several charges with ids, a case without one is about none in particular.
    pub(super) fn may_be_same_charge(&self, case: Option<&str>, id: Option<&str>) -> bool {
        match (case, id) {
            (Some(known), Some(id)) => known == id,
            (None, Some(_)) => {
                self.charges.len() < 2 || self.charges.iter().any(|charge| charge.id.is_none())
            }
            (_, None) => true,
        }
    }

    /// Whether the id is that of the attempt or of a charge of it. An id of other reports proves no
    /// attempt where another one has it, too.
    pub fn has_own_id(&self, id: &str) -> bool {
        let mut charges = self.charges.iter();
        self.provider_id.as_deref() == Some(id)
            || charges.any(|charge| charge.id.as_deref() == Some(id))
    }
}

impl Transaction {
    /// Provider ids of `attempt`, each once: its own, those of its charges, those of further
    /// reports, and those of the cases about it.
    pub fn ids_of<'t>(&'t self, attempt: &'t Attempt) -> Vec<&'t str> {
        let is_about = |case: &&Case| {
            let about = self.attempt_of(case);
            case.reference == attempt.reference && about.is_some_and(|one| one.id == attempt.id)
        };
        let cases = self.cases.iter().filter(is_about);
        let of_cases = cases.filter_map(|case| case.provider_id.as_deref());
        let charges = attempt.charges.iter();
        let of_charges = charges.filter_map(|charge| charge.id.as_deref());
        let own = attempt.provider_id.as_deref().into_iter();
        let further = attempt.further_ids.iter().map(String::as_str);
        let mut ids = Vec::new();
        for id in own.chain(of_charges).chain(further).chain(of_cases) {
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        ids
    }
}

/// Whether a provider id that names `attempt`, and comes without our reference, can mean no other
/// attempt of the transaction: one at the same connection whose own id is not known may have the
/// same.
pub fn is_unmistakable(tx: &Transaction, attempt: &Attempt) -> bool {
    tx.attempts.iter().all(|other| {
        other.id == attempt.id
            || other.candidate.connection != attempt.candidate.connection
            || other.provider_id.is_some()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::PayoutId;

    #[test]
    fn an_id_is_mistakable_while_another_attempt_at_the_connection_has_none() {
        use crate::testing::fixtures::*;
        let mut world = World::payment_with(3);
        world.apply(confirm(1)).unwrap();
        world.answer(unknown()).unwrap();
        world.answer(declined(false)).unwrap();
        world.apply(confirm(1)).unwrap();
        world.answer(pending()).unwrap();
        let second = world.tx.attempts[1].clone();
        assert!(!is_unmistakable(&world.tx, &second));
        world.tx.attempts[0].provider_id = Some("P0".to_owned());
        assert!(is_unmistakable(&world.tx, &second));
        world.tx.attempts[0].provider_id = None;
        world.tx.attempts[0].candidate = candidate(1);
        assert!(is_unmistakable(&world.tx, &second), "another provider's");
        world.tx.attempts[1].provider_id = None;
        assert!(is_unmistakable(&world.tx, &second), "its own id");
    }

    fn key(number: u128) -> AttemptKey {
        let id = PayoutId::new(ulid::Ulid::from_parts(1, number));
        let attempt = AttemptId::new(ulid::Ulid::from_parts(2, number));
        (TransactionId::Payout(id), attempt)
    }

    #[test]
    fn a_reference_proves_its_attempt_and_an_id_only_one_that_has_it_alone() {
        let (a, b) = (key(1), key(2));
        for (reference, ids, proves) in [
            (None, vec![], Identity::Unknown),
            (None, vec![a], Identity::Proven(a)),
            (None, vec![a, b], Identity::Ambiguous(vec![a, b])),
            (Some(a), vec![], Identity::Proven(a)),
            (Some(a), vec![a], Identity::Proven(a)),
            (Some(a), vec![a, b], Identity::Proven(a)),
            (Some(a), vec![b], Identity::Disagree(a)),
            (Some(a), vec![b, key(3)], Identity::Disagree(a)),
        ] {
            assert_eq!(identify(reference, &ids), proves, "{reference:?} {ids:?}");
        }
    }
}
