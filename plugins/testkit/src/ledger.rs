//! The books of a simulated provider.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Money that moved: whose account, under which reference of ours, how much, as the request wrote
/// it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerEntry {
    pub reference: String,
    pub account: String,
    pub amount: String,
    pub currency: String,
}

/// Every movement there was; clones share it.
#[derive(Clone, Default)]
pub struct Ledger(Arc<Mutex<Vec<LedgerEntry>>>);

impl Ledger {
    pub fn write(&self, movement: LedgerEntry) {
        self.movements().push(movement);
    }

    pub fn all(&self) -> Vec<LedgerEntry> {
        self.movements().clone()
    }

    /// How often money moved under this reference: never, once, or once too often.
    pub fn times(&self, reference: &str) -> usize {
        let all = self.movements();
        all.iter()
            .filter(|movement| movement.reference == reference)
            .count()
    }

    /// How often money moved from or to this account, whatever the reference.
    pub fn times_of_account(&self, account: &str) -> usize {
        let all = self.movements();
        all.iter()
            .filter(|movement| movement.account == account)
            .count()
    }

    fn movements(&self) -> MutexGuard<'_, Vec<LedgerEntry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
