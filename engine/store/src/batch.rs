//! Batch of one commit: changes of rows, and checks that must hold.

use std::io;
use std::ops::Range;

use super::table::Table;
use switchyard_core::limits::{STORE_KEY_BYTES, STORE_VALUE_BYTES};

/// Rows to put and delete, and checks that must hold just before. All of it happens, or nothing.
///
/// Checks look at the rows as they are when the store's only writer reaches this commit, so no
/// other commit can slip in between a check and the change it guards. They do not see the changes
/// of their own batch. Two changes of the same row in one batch leave the later one; increments are
/// applied after it.
#[derive(Default)]
pub struct Batch {
    /// Keys and values one after the other: a commit costs two allocations that grow, not two for
    /// every row.
    bytes: Vec<u8>,
    steps: Vec<Step>,
}

/// Value of a row while it is written. Writes append.
pub struct Value<'a>(&'a mut Vec<u8>);

#[derive(Clone, Copy)]
struct Step {
    table: Table,
    kind: Kind,
    /// Start of the key in `bytes`; the value follows it.
    start: usize,
    key: usize,
    value: usize,
}

#[derive(Clone, Copy)]
enum Kind {
    Put,
    Delete,
    Add,
    Absent,
    Version(u64),
    Value,
}

/// A change as a backend sees it. No value: the row is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Change<'a> {
    pub table: Table,
    pub key: &'a [u8],
    pub value: Option<&'a [u8]>,
}

/// Condition of a row for a commit.
#[derive(Clone, Copy, Debug)]
pub(super) enum Check<'a> {
    Absent,
    Version(u64),
    Value(&'a [u8]),
}

impl Batch {
    /// An empty batch with room for what a step of a transaction writes.
    pub fn new() -> Self {
        Self {
            bytes: Vec::with_capacity(USUAL_BYTES),
            steps: Vec::with_capacity(USUAL_STEPS),
        }
    }

    /// Writes a row, whether or not there was one.
    ///
    /// # Panics
    /// If the key is empty or longer than [`STORE_KEY_BYTES`], or the value longer than
    /// [`STORE_VALUE_BYTES`]: the caller bounds keys and values. This holds for every
    /// method here.
    pub fn put(&mut self, table: Table, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) {
        self.step(table, Kind::Put, key.as_ref(), &[value.as_ref()]);
    }

    /// Writes a row that carries a version: eight bytes, big endian, before the value.
    pub fn put_versioned(
        &mut self,
        table: Table,
        key: impl AsRef<[u8]>,
        version: u64,
        value: impl AsRef<[u8]>,
    ) {
        let version = version.to_be_bytes();
        self.step(table, Kind::Put, key.as_ref(), &[&version, value.as_ref()]);
    }

    /// Writes a row whose value `write` writes, straight into the batch. `version`: eight bytes
    /// before it, as for [`Batch::put_versioned`]. When it fails, the batch is as it was.
    pub fn put_written<E>(
        &mut self,
        table: Table,
        key: impl AsRef<[u8]>,
        version: Option<u64>,
        write: impl FnOnce(&mut Value<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let (start, key) = (self.bytes.len(), key.as_ref());
        self.bytes.extend_from_slice(key);
        if let Some(version) = version {
            self.bytes.extend_from_slice(&version.to_be_bytes());
        }
        let written = write(&mut Value(&mut self.bytes));
        if written.is_err() {
            self.bytes.truncate(start);
            return written;
        }
        self.noted(table, Kind::Put, start, key.len());
        Ok(())
    }

    /// Removes a row, if there is one.
    pub fn delete(&mut self, table: Table, key: impl AsRef<[u8]>) {
        self.step(table, Kind::Delete, key.as_ref(), &[]);
    }

    /// Adds to the numbers in a row of counts, see [`counts`](super::counts()). A row that is not
    /// there counts nothing, and one whose numbers all become zero goes. Commits that add to one
    /// row never conflict.
    pub fn add<const N: usize>(&mut self, table: Table, key: impl AsRef<[u8]>, numbers: [i64; N]) {
        self.add_all(table, key, &numbers);
    }

    /// The same for as many numbers as there are; those after them stay as they are.
    pub fn add_all(&mut self, table: Table, key: impl AsRef<[u8]>, numbers: &[i64]) {
        let (start, key) = (self.bytes.len(), key.as_ref());
        self.bytes.extend_from_slice(key);
        for number in numbers {
            self.bytes.extend_from_slice(&number.to_be_bytes());
        }
        self.noted(table, Kind::Add, start, key.len());
    }

    /// The commit conflicts if there is such a row.
    pub fn require_absent(&mut self, table: Table, key: impl AsRef<[u8]>) {
        self.step(table, Kind::Absent, key.as_ref(), &[]);
    }

    /// The commit conflicts unless there is such a row and it carries this version.
    pub fn require_version(&mut self, table: Table, key: impl AsRef<[u8]>, version: u64) {
        self.step(table, Kind::Version(version), key.as_ref(), &[]);
    }

    /// The commit conflicts unless there is such a row with exactly this value.
    pub fn require_value(&mut self, table: Table, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) {
        self.step(table, Kind::Value, key.as_ref(), &[value.as_ref()]);
    }

    /// Adds all changes and checks of another batch after those of this one.
    pub fn append(&mut self, other: &Self) {
        let shift = self.bytes.len();
        self.bytes.extend_from_slice(&other.bytes);
        self.steps.extend(other.steps.iter().map(|step| Step {
            start: step.start + shift,
            ..*step
        }));
    }

    /// Whether it has neither changes nor checks.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// How many changes and checks there are.
    pub(super) fn len(&self) -> usize {
        self.steps.len()
    }

    pub(super) fn changes(&self) -> impl Iterator<Item = Change<'_>> {
        self.steps.iter().filter_map(|step| {
            let value = match step.kind {
                Kind::Put => Some(&self.bytes[step.value()]),
                Kind::Delete => None,
                Kind::Add | Kind::Absent | Kind::Version(_) | Kind::Value => return None,
            };
            Some(Change {
                table: step.table,
                key: &self.bytes[step.key()],
                value,
            })
        })
    }

    /// Rows of counts with their increments, for [`add`].
    pub(super) fn additions(&self) -> impl Iterator<Item = (Table, &[u8], &[u8])> {
        let additions = self
            .steps
            .iter()
            .filter(|step| matches!(step.kind, Kind::Add));
        additions.map(|step| {
            (
                step.table,
                &self.bytes[step.key()],
                &self.bytes[step.value()],
            )
        })
    }

    pub(super) fn checks(&self) -> impl Iterator<Item = (Table, &[u8], Check<'_>)> {
        self.steps.iter().filter_map(|step| {
            let check = match step.kind {
                Kind::Absent => Check::Absent,
                Kind::Version(version) => Check::Version(version),
                Kind::Value => Check::Value(&self.bytes[step.value()]),
                Kind::Put | Kind::Delete | Kind::Add => return None,
            };
            Some((step.table, &self.bytes[step.key()], check))
        })
    }

    fn step(&mut self, table: Table, kind: Kind, key: &[u8], value: &[&[u8]]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(key);
        for part in value {
            self.bytes.extend_from_slice(part);
        }
        self.noted(table, kind, start, key.len());
    }

    /// Takes note of a step whose key and value are the bytes from `start` on.
    fn noted(&mut self, table: Table, kind: Kind, start: usize, key: usize) {
        let value = self.bytes.len() - start - key;
        assert!(
            (1..=STORE_KEY_BYTES).contains(&key),
            "a key of table {} has {key} bytes, 1 to {STORE_KEY_BYTES} are allowed",
            table.name()
        );
        assert!(
            value <= STORE_VALUE_BYTES,
            "a value of table {} has {value} bytes, {STORE_VALUE_BYTES} are allowed",
            table.name()
        );
        self.steps.push(Step {
            table,
            kind,
            start,
            key,
            value,
        });
    }
}

impl io::Write for Value<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Step {
    fn key(&self) -> Range<usize> {
        self.start..self.start + self.key
    }

    fn value(&self) -> Range<usize> {
        let start = self.start + self.key;
        start..start + self.value
    }
}

impl Check<'_> {
    /// Whether a row, or its absence, is what this check asks for.
    pub(super) fn holds(self, row: Option<&[u8]>) -> bool {
        match (self, row) {
            (Self::Absent, row) => row.is_none(),
            (Self::Version(version), Some(row)) => {
                row.first_chunk() == Some(&version.to_be_bytes())
            }
            (Self::Value(value), Some(row)) => row == value,
            (Self::Version(_) | Self::Value(_), None) => false,
        }
    }
}

/// Adds to the numbers in a row of counts. Whether none had to be kept from falling below zero:
/// then more was taken than had been added.
pub(super) fn add(row: &mut Vec<u8>, numbers: &[u8]) -> bool {
    row.resize(row.len().max(numbers.len()), 0);
    let mut is_sound = true;
    let (counts, _) = row.as_chunks_mut();
    let (numbers, _) = numbers.as_chunks();
    for (count, number) in counts.iter_mut().zip(numbers) {
        let sum = u64::from_be_bytes(*count).checked_add_signed(i64::from_be_bytes(*number));
        is_sound &= sum.is_some();
        *count = sum.unwrap_or(0).to_be_bytes();
    }
    is_sound
}

/// The numbers in a row of counts; zeros when there is no such row.
pub fn counts<const N: usize>(row: Option<&[u8]>) -> [u64; N] {
    let mut counts = [0; N];
    let (numbers, _) = row.unwrap_or_default().as_chunks();
    for (count, number) in counts.iter_mut().zip(numbers) {
        *count = u64::from_be_bytes(*number);
    }
    counts
}

/// A snapshot, an event, a customer, and the keys of some index rows, search rows among them, and
/// timers.
const USUAL_BYTES: usize = 4_096;
const USUAL_STEPS: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_gives_back_its_changes_and_checks_in_their_order() {
        let mut batch = Batch::new();
        assert!(batch.is_empty());
        batch.require_version(Table::Transaction, "a", 7);
        batch.put_versioned(Table::Transaction, "a", 8, "paid");
        batch.put(Table::Index, "i", "");
        batch.delete(Table::Timer, "t");
        assert!(!batch.is_empty());

        let changes: Vec<_> = batch.changes().collect();
        let put = |table, key, value| Change { table, key, value };
        assert_eq!(
            changes,
            [
                put(
                    Table::Transaction,
                    b"a",
                    Some(b"\0\0\0\0\0\0\0\x08paid".as_slice())
                ),
                put(Table::Index, b"i", Some(b"")),
                put(Table::Timer, b"t", None),
            ]
        );
        let checks: Vec<_> = batch.checks().collect();
        assert!(matches!(
            checks[..],
            [(Table::Transaction, b"a", Check::Version(7))]
        ));
    }

    #[test]
    fn an_appended_batch_comes_after_the_first_with_its_checks() {
        let mut batch = Batch::new();
        batch.put(Table::Transaction, "a", "first");
        let mut other = Batch::new();
        other.require_value(Table::User, "u", "open");
        other.delete(Table::User, "u");
        other.put(Table::Transaction, "a", "second");
        batch.append(&other);
        let changes: Vec<_> = batch.changes().map(|it| (it.key, it.value)).collect();
        let expected: [(&[u8], Option<&[u8]>); 3] = [
            (b"a", Some(b"first")),
            (b"u", None),
            (b"a", Some(b"second")),
        ];
        assert_eq!(changes, expected);
        let checks: Vec<_> = batch.checks().collect();
        assert!(matches!(
            checks[..],
            [(Table::User, b"u", Check::Value(b"open"))]
        ));
    }

    #[test]
    fn a_value_that_cannot_be_written_leaves_the_batch_as_it_was() {
        use io::Write as _;
        let mut batch = Batch::new();
        let failed = batch.put_written(Table::Index, "broken", None, |value| {
            value.write_all(b"half")?;
            Err(io::Error::other("the rest"))
        });
        assert!(failed.is_err() && batch.is_empty());
        let write = |value: &mut Value<'_>| value.write_all(b"paid");
        batch
            .put_written(Table::Transaction, "a", Some(8), write)
            .unwrap();
        batch.put_written(Table::Event, "e", None, write).unwrap();
        let mut plain = Batch::new();
        plain.put_versioned(Table::Transaction, "a", 8, "paid");
        plain.put(Table::Event, "e", "paid");
        let [written, put] = [&batch, &plain].map(|batch| batch.changes().collect::<Vec<_>>());
        assert_eq!(written, put);
    }

    #[test]
    fn a_row_too_short_for_a_version_has_none() {
        assert!(!Check::Version(0).holds(Some(b"short")));
        assert!(!Check::Version(0).holds(None));
        assert!(Check::Version(0).holds(Some(&[0; 8])));
    }

    #[test]
    fn counts_are_added_up_and_never_below_zero() {
        let one = |batch: &Batch| batch.additions().next().unwrap().2.to_vec();
        let plus = |numbers: [i64; 2]| {
            let mut batch = Batch::new();
            batch.add(Table::Count, "c", numbers);
            assert_eq!(batch.changes().count() + batch.checks().count(), 0);
            one(&batch)
        };
        let mut row = Vec::new();
        assert!(add(&mut row, &plus([3, 1])));
        assert!(add(&mut row, &plus([-1, 2])));
        assert_eq!(counts(Some(&row)), [2, 3]);
        assert_eq!(counts(Some(&row)), [2, 3, 0], "a number that came later");
        assert!(!add(&mut row, &plus([-3, 1])));
        assert_eq!(counts(Some(&row)), [0, 4]);
        assert_eq!(counts(None), [0; 2]);
    }

    #[test]
    #[should_panic(expected = "a key of table timer has 0 bytes")]
    fn an_empty_key_is_a_mistake_of_the_caller() {
        Batch::new().put(Table::Timer, "", "x");
    }
}
