//! Storage of transactions and customers: keys, snapshots, events, timers, the list index with its
//! counts, the search index, statistics.
//!
//! Everything that one step of a transaction writes goes into one [`switchyard_store::Batch`]: a
//! reader sees the whole step or nothing of it. Keys are binary and begin with what they are looked
//! up by, so that each look-up is one row or one contiguous range, whatever the history's length.

mod cases;
mod counts;
mod customer_rows;
mod customers;
mod erase;
pub mod format;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod keys;
mod list;
mod names;
mod purge;
mod search;
mod statistics;
mod timers;
mod transactions;

pub use cases::{CaseFound, CaseQuery, CasesFound, case, cases, open_cases};
pub use customer_rows::{
    CustomerQuery, StoredCustomer, customer, customer_with_email, customers, delete_customer,
    forget_email,
};
pub use customers::{NewCustomer, Registered, register};
pub use erase::{erase, needs_personal_data};
pub use list::{ListQuery, Listing, begun_since, list, older};
pub use names::new_names;
pub use names::{Name, all_with_id, attempt_named, attempts_with_id, is_named, provider_ids};
pub use purge::purge_sandbox;
pub use search::{
    SearchPage, SearchQuery, SearchText, SearchTextError, note_past_connection, search,
};
pub use statistics::{
    DURATION_BOUNDS, Figures, Interval, Money, StatisticsQuery, StatisticsRow, statistics,
};
pub use timers::{Due, Timers, read_timer, timers_from};
pub use transactions::{Step, load, load_again, open_attempts, open_attempts_at, timeline, write};

use switchyard_store::StoreError;

/// A row could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    #[error("the store could not be read")]
    Read(#[from] StoreError),
    #[error(
        "the row of {what} {id} is not readable: it was written by a newer version or is damaged"
    )]
    Damaged { what: &'static str, id: String },
}

impl RecordError {
    /// Whether the row is damaged, so that reading it again does not help.
    pub fn is_damaged(&self) -> bool {
        !matches!(self, Self::Read(StoreError::Unavailable { .. }))
    }

    fn damaged(what: &'static str, id: impl ToString) -> Self {
        Self::Damaged {
            what,
            id: id.to_string(),
        }
    }
}

#[cfg(test)]
mod tests;
