//! Wake-ups of a queue actor after commits, merged while one of them is in its mailbox.

use std::collections::BTreeMap;

use parking_lot::{Mutex, MutexGuard};

use switchyard_core::time::Timestamp;

/// Queues with new rows that the actor has not seen, each with the earliest due time. The size is
/// limited by the number of queues.
pub(super) struct Nudges<K>(Mutex<BTreeMap<K, Timestamp>>);

impl<K> Default for Nudges<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Ord> Nudges<K> {
    /// Records new rows. `true`: the actor must be woken; otherwise a wake-up is in its mailbox.
    pub fn add(&self, rows: impl IntoIterator<Item = (K, Timestamp)>) -> bool {
        let mut waiting = self.waiting();
        let was_empty = waiting.is_empty();
        for (queue, due) in rows {
            let earliest = waiting.entry(queue).or_insert(due);
            *earliest = due.min(*earliest);
        }
        was_empty && !waiting.is_empty()
    }

    /// Removes and returns all.
    pub fn drain(&self) -> BTreeMap<K, Timestamp> {
        std::mem::take(&mut *self.waiting())
    }

    fn waiting(&self) -> MutexGuard<'_, BTreeMap<K, Timestamp>> {
        self.0.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wake_ups_are_merged_until_they_are_drained_and_the_earliest_due_time_counts() {
        let nudges = Nudges::default();
        let at = Timestamp::from_seconds;
        assert!(!nudges.add([]), "there is no row");
        assert!(nudges.add([("a", at(5)), ("b", at(1))]));
        assert!(!nudges.add([("a", at(3))]), "one is in the mailbox");
        assert!(!nudges.add([("a", at(4))]));
        assert_eq!(nudges.drain(), BTreeMap::from([("a", at(3)), ("b", at(1))]));
        assert!(nudges.add([("a", at(9))]));
    }
}
