//! Counts in memory. Pure.

use std::collections::HashMap;

use switchyard_core::limits::QUOTA_SUBJECTS;

pub(super) const SUBJECT_BYTES: usize = 16;

/// A subject of a limit, hashed.
pub(super) type Subject = [u8; SUBJECT_BYTES];

/// Counts of the subjects that were used lately.
#[derive(Default)]
pub(super) struct Ledger {
    subjects: HashMap<Subject, Counted>,
    /// Number of evictions of subjects, which bound the memory. Counts that were read before an
    /// eviction may be outdated.
    forgotten: u64,
}

#[derive(Default)]
struct Counted {
    /// Part of the span and uses in it, oldest first.
    parts: Vec<(u64, u64)>,
    /// Reservations whose commit has not ended: the store does not have their uses yet.
    in_flight: u32,
}

impl Ledger {
    pub fn has(&self, key: &Subject) -> bool {
        self.subjects.contains_key(key)
    }

    pub fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// Takes in what the store has of a subject, read when `as_of` was [`Ledger::forgotten`]. What
    /// is known already is newer.
    pub fn load(&mut self, key: Subject, parts: Vec<(u64, u64)>, as_of: u64) {
        if as_of != self.forgotten || self.has(&key) {
            return;
        }
        if self.subjects.len() >= QUOTA_SUBJECTS {
            self.subjects.retain(|_, counted| counted.in_flight > 0);
            self.forgotten += 1;
            return;
        }
        let in_flight = 0;
        self.subjects.insert(key, Counted { parts, in_flight });
    }

    /// Uses that count at `part`, by part, oldest first. Drops what no longer counts.
    pub fn counted(&mut self, key: &Subject, parts: u64, part: u64) -> Vec<(u64, u64)> {
        let Some(counted) = self.subjects.get_mut(key) else {
            return Vec::new();
        };
        // The clock was set back: parts further ahead than a span will not be reached in time.
        let counts = part.saturating_sub(parts)..=part.saturating_add(parts);
        counted.parts.retain(|(part, _)| counts.contains(part));
        counted.parts.clone()
    }

    pub fn add(&mut self, key: &Subject, part: u64, uses: u64) {
        let counted = self.subjects.entry(*key).or_default();
        counted.in_flight += 1;
        match counted.parts.iter_mut().find(|(known, _)| *known == part) {
            Some((_, known)) => *known = known.saturating_add(uses),
            None => {
                counted.parts.push((part, uses));
                counted.parts.sort_unstable();
            }
        }
    }

    /// A reservation has ended: `back` of its uses did not happen.
    pub fn end(&mut self, key: &Subject, part: u64, back: u64) {
        if let Some(counted) = self.subjects.get_mut(key) {
            counted.in_flight = counted.in_flight.saturating_sub(1);
        }
        self.take_back(key, part, back);
    }

    pub fn take_back(&mut self, key: &Subject, part: u64, uses: u64) {
        let counted = self.subjects.get_mut(key);
        let known = counted.and_then(|c| c.parts.iter_mut().find(|(known, _)| *known == part));
        if let Some((_, known)) = known {
            *known = known.saturating_sub(uses);
        }
    }
}
