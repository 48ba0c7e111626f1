//! Bound on the entries of the audit log about refusals: failed sign-ins, wrong codes, forbidden
//! actions. A flood of them must not fill the store.
//!
//! Each source has a number of entries in an hour. The last of them is written when the hour has
//! ended, in place of all refusals that were left out, with their count. A restart loses the count
//! of the current hour.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use switchyard_core::ids::UserId;
use switchyard_core::limits::{
    AUDIT_ANONYMOUS_REFUSALS, AUDIT_REFUSALS, AUDIT_REFUSALS_COUNTED_FOR,
};
use switchyard_core::time::Timestamp;

use crate::audit::NewEntry;
use crate::throttle::Key;

/// Refusals of the current hour, by source.
#[derive(Default)]
pub(crate) struct RefusalLog(Mutex<Hour>);

#[derive(Default)]
struct Hour {
    began: Timestamp,
    sources: BTreeMap<Source, Count>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Source {
    /// User in a session or with a token.
    User(UserId),
    /// E-mail or client address of a sign-in.
    Address(Key),
    /// All clients that are not signed in.
    Anonymous,
}

#[derive(Default)]
struct Count {
    recorded: usize,
    left_out: u64,
    last: Option<NewEntry>,
}

impl Source {
    const fn limit(self) -> usize {
        match self {
            Self::User(_) | Self::Address(_) => AUDIT_REFUSALS,
            Self::Anonymous => AUDIT_ANONYMOUS_REFUSALS,
        }
    }
}

impl RefusalLog {
    /// Counts a refusal for its sources. Returns the entries to write now: those of an ended hour,
    /// and `entry` while each source has an entry left.
    pub fn note(&self, sources: &[Source], entry: NewEntry, now: Timestamp) -> Vec<NewEntry> {
        let mut hour = self.0.lock();
        let mut due = hour.ended(now);
        let full = sources.iter().find(|source| {
            let count = hour.sources.get(source);
            // The last entry is that of the end of the hour.
            count.is_some_and(|count| count.recorded + 1 >= source.limit())
        });
        match full {
            Some(source) => {
                let count = hour.sources.entry(*source).or_default();
                count.left_out += 1;
                count.last = Some(entry);
            }
            None => {
                for source in sources {
                    hour.sources.entry(*source).or_default().recorded += 1;
                }
                due.push(entry);
            }
        }
        due
    }

    /// Entries of an hour that has ended.
    pub fn ended(&self, now: Timestamp) -> Vec<NewEntry> {
        self.0.lock().ended(now)
    }
}

impl Hour {
    fn ended(&mut self, now: Timestamp) -> Vec<NewEntry> {
        if now.since(self.began) < AUDIT_REFUSALS_COUNTED_FOR {
            return Vec::new();
        }
        let began = std::mem::replace(&mut self.began, now);
        let counts = std::mem::take(&mut self.sources).into_values();
        let last = counts.filter_map(|count| {
            let mut entry = count.last?;
            entry.after = serde_json::json!({
                "refusals": count.left_out,
                "since": began.to_string(),
            });
            Some(entry)
        });
        last.collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::audit::{Actor, Origin};

    const START: Timestamp = Timestamp::from_seconds(1_800_000_000);

    fn entry(n: usize) -> NewEntry {
        NewEntry::new(Actor::Anonymous, &Origin::default(), "sign_in", n)
    }

    fn user(n: u128) -> Source {
        Source::User(UserId::new(n.into()))
    }

    #[test]
    fn the_last_entry_of_an_hour_has_the_count_of_the_refusals_that_were_left_out() {
        let log = RefusalLog::default();
        let mut recorded = 0;
        for n in 0..1_000 {
            recorded += log.note(&[user(1)], entry(n), START).len();
        }
        assert_eq!(recorded, AUDIT_REFUSALS - 1);
        assert_eq!(log.note(&[user(2)], entry(0), START).len(), 1);
        let later = START.plus(AUDIT_REFUSALS_COUNTED_FOR);
        assert!(log.ended(START.plus(Duration::from_secs(3_599))).is_empty());
        let ended = log.ended(later);
        assert_eq!(ended.len(), 1);
        assert_eq!(ended[0].object, "999");
        assert_eq!(ended[0].after["refusals"], 1_000 - (AUDIT_REFUSALS - 1));
        assert_eq!(ended[0].after["since"], START.to_string());
        assert!(log.ended(later).is_empty());
        assert_eq!(log.note(&[user(1)], entry(0), later).len(), 1);
    }

    #[test]
    fn all_clients_together_write_a_bounded_number_of_entries() {
        let log = RefusalLog::default();
        let mut entries = 0;
        for n in 0..10_000 {
            let sources = [user(n as u128), Source::Anonymous];
            entries += log.note(&sources, entry(n), START).len();
        }
        entries += log.ended(START.plus(AUDIT_REFUSALS_COUNTED_FOR)).len();
        assert_eq!(entries, AUDIT_ANONYMOUS_REFUSALS);
        // A signed-in user has entries of their own.
        assert_eq!(log.note(&[user(1)], entry(0), START).len(), 1);
    }

    #[test]
    fn an_hour_without_omissions_needs_no_other_entry() {
        let log = RefusalLog::default();
        log.note(&[user(1)], entry(1), START);
        let later = START.plus(AUDIT_REFUSALS_COUNTED_FOR);
        assert_eq!(log.note(&[user(1)], entry(2), later).len(), 1);
    }
}
