//! Fingerprints that were found, numbered in that order: 16 bytes each, and 8 to 16 for their
//! places in a table that is at most half full.

/// A set of fingerprints, which are their own hashes.
#[derive(Default)]
pub struct Seen {
    fingerprints: Vec<u128>,
    /// For each place, 1 + the number of a fingerprint; 0: it is free. As many as a power of two.
    table: Vec<u32>,
}

impl Seen {
    pub fn count(&self) -> usize {
        self.fingerprints.len()
    }

    pub fn find(&self, fingerprint: u128) -> Option<u32> {
        if self.table.is_empty() {
            return None;
        }
        self.table[self.place(fingerprint)].checked_sub(1)
    }

    /// Returns the number of the fingerprint, and whether it is new.
    pub fn add(&mut self, fingerprint: u128) -> (u32, bool) {
        if self.table.len() < 2 * (self.fingerprints.len() + 1) {
            self.grow();
        }
        let place = self.place(fingerprint);
        if let Some(known) = self.table[place].checked_sub(1) {
            return (known, false);
        }
        self.fingerprints.push(fingerprint);
        let next = u32::try_from(self.fingerprints.len()).expect("fewer than 2^32 states");
        self.table[place] = next;
        (next - 1, true)
    }

    pub fn add_to(&self, other: &mut Self) {
        for fingerprint in &self.fingerprints {
            other.add(*fingerprint);
        }
    }

    /// The place of the fingerprint, or the free one that it would take.
    fn place(&self, fingerprint: u128) -> usize {
        let last = self.table.len() - 1;
        let mut place = fingerprint as usize & last;
        while let Some(number) = self.table[place].checked_sub(1) {
            if self.fingerprints[number as usize] == fingerprint {
                break;
            }
            place = (place + 1) & last;
        }
        place
    }

    fn grow(&mut self) {
        self.table = vec![0; (2 * self.table.len()).max(1 << 10)];
        for (number, index) in (1..).zip(0..self.fingerprints.len()) {
            let place = self.place(self.fingerprints[index]);
            self.table[place] = number;
        }
    }
}
