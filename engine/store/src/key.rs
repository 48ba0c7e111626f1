//! Keys of rows, and ranges of keys.
//!
//! Promises:
//! - A part of a key has one encoding, of a fixed length: numbers and times sort as they do, ids by
//!   the time at which they were created.
//! - A text ends its key or is followed by a separator.
//!
//! The modules of all crates make their keys here, except `switchyard-records`, whose keys are
//! arrays of fixed length. A test of the repository checks that.

use std::fmt::{self, Display, Write as _};
use std::ops::Deref;

use switchyard_core::environment::Environment;
use switchyard_core::ids::{
    AppId, CallbackId, ConnectionId, DeliveryId, EventId, MailId, WebhookId,
};
use switchyard_core::limits::STORE_KEY_BYTES;
use switchyard_core::time::Timestamp;
use ulid::Ulid;

/// Key of a row, or beginning of the keys of several rows.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key(Vec<u8>);

/// Part of a key, with an encoding of fixed length. Values of rows may contain the same parts.
pub trait KeyPart: Sized {
    const BYTES: usize;

    fn append(&self, bytes: &mut Vec<u8>);

    /// Part of exactly [`Self::BYTES`] bytes. `None`: they have no meaning.
    fn read(bytes: &[u8]) -> Option<Self>;
}

impl Key {
    /// Empty beginning, which all keys have.
    pub fn new() -> Self {
        Self(Vec::with_capacity(USUAL_BYTES))
    }

    /// Key that begins with the kind of its row, for a table with rows of several kinds.
    pub fn of(kind: u8) -> Self {
        Self::new().with(kind)
    }

    /// Key `<kind>`, to which [`Self::child`] adds `/<name>`.
    pub fn path(kind: impl Display) -> Self {
        Self::new().text(kind)
    }

    #[must_use]
    pub fn with(mut self, part: impl KeyPart) -> Self {
        part.append(&mut self.0);
        self
    }

    /// Adds a text. It ends the key, or [`Self::child`] follows.
    #[must_use]
    pub fn text(mut self, text: impl Display) -> Self {
        let _ = write!(self, "{text}"); // never fails
        self
    }

    /// Adds `/<name>`.
    #[must_use]
    pub fn child(self, name: impl Display) -> Self {
        self.with(SEPARATOR).text(name)
    }

    /// Adds the key of another row.
    #[must_use]
    pub fn row(mut self, key: &[u8]) -> Self {
        self.0.extend_from_slice(key);
        self
    }

    /// Range of all keys that begin with this one.
    pub fn range(&self) -> KeyRange {
        KeyRange {
            from: self.0.clone(),
            to: prefix_end(&self.0),
        }
    }

    /// Range of all keys `<this key>/…`.
    pub fn children(&self) -> KeyRange {
        self.clone().with(SEPARATOR).range()
    }

    /// Text behind `<this key>/` in the key of a row. `None`: it is not the key of a child.
    pub fn child_in<'k>(&self, key: &'k [u8]) -> Option<&'k str> {
        let name = key.strip_prefix(&*self.0)?.strip_prefix(&[SEPARATOR])?;
        std::str::from_utf8(name).ok()
    }
}

impl Deref for Key {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl AsRef<[u8]> for Key {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl From<Key> for Vec<u8> {
    fn from(key: Key) -> Self {
        key.0
    }
}

impl fmt::Write for Key {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

impl Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        String::from_utf8_lossy(&self.0).fmt(f)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", String::from_utf8_lossy(&self.0))
    }
}

/// Keys from `from` on that sort before `to`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRange {
    from: Vec<u8>,
    to: Vec<u8>,
}

impl KeyRange {
    pub fn between(from: Key, to: Key) -> Self {
        Self {
            from: from.0,
            to: to.0,
        }
    }

    pub fn from(&self) -> &[u8] {
        &self.from
    }

    pub fn to(&self) -> &[u8] {
        &self.to
    }

    pub fn contains(&self, key: &[u8]) -> bool {
        *self.from <= *key && *key < *self.to
    }

    /// The part of the range from `key` on.
    #[must_use]
    pub fn starting_at(self, key: Key) -> Self {
        let from = key.0;
        Self { from, ..self }
    }

    /// The part of the range behind the row with `key`.
    #[must_use]
    pub fn behind_row(self, key: &[u8]) -> Self {
        let mut from = key.to_vec();
        from.push(0);
        Self { from, ..self }
    }

    /// The part of the range behind another range.
    #[must_use]
    pub fn behind(self, other: Self) -> Self {
        let from = other.to;
        Self { from, ..self }
    }

    /// The part of the range before `key`.
    #[must_use]
    pub fn ending_at(self, key: Key) -> Self {
        let to = key.0;
        Self { to, ..self }
    }

    /// The part of the range before another range.
    #[must_use]
    pub fn before(self, other: Self) -> Self {
        let to = other.from;
        Self { to, ..self }
    }

    /// The part of the range until the end of another range.
    #[must_use]
    pub fn until(self, other: Self) -> Self {
        let to = other.to;
        Self { to, ..self }
    }
}

/// Reader of the parts of a key, or of a value that consists of such parts.
#[derive(Clone, Copy, Debug)]
pub struct KeyReader<'k>(&'k [u8]);

impl<'k> KeyReader<'k> {
    pub const fn new(bytes: &'k [u8]) -> Self {
        Self(bytes)
    }

    /// Reader behind the kind. `None`: the key is of another kind.
    pub fn of(kind: u8, key: &'k [u8]) -> Option<Self> {
        let mut reader = Self(key);
        (reader.take::<u8>()? == kind).then_some(reader)
    }

    /// The next part.
    pub fn take<T: KeyPart>(&mut self) -> Option<T> {
        let (part, rest) = self.0.split_at_checked(T::BYTES)?;
        self.0 = rest;
        T::read(part)
    }

    /// The last part of those that are left.
    pub fn take_last<T: KeyPart>(&mut self) -> Option<T> {
        let (rest, part) = self
            .0
            .split_at_checked(self.0.len().checked_sub(T::BYTES)?)?;
        self.0 = rest;
        T::read(part)
    }

    /// All bytes that are left.
    pub const fn rest(self) -> &'k [u8] {
        self.0
    }
}

impl<const N: usize> KeyPart for [u8; N] {
    const BYTES: usize = N;

    fn append(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(self);
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok()
    }
}

impl KeyPart for u8 {
    const BYTES: usize = 1;

    fn append(&self, bytes: &mut Vec<u8>) {
        bytes.push(*self);
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        <[Self; 1]>::read(bytes).map(|[byte]| byte)
    }
}

macro_rules! number {
    ($($number:ty),*) => { $(
        impl KeyPart for $number {
            const BYTES: usize = size_of::<Self>();

            fn append(&self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_be_bytes());
            }

            fn read(bytes: &[u8]) -> Option<Self> {
                bytes.try_into().ok().map(Self::from_be_bytes)
            }
        }
    )* };
}

number!(u16, u32, u64);

/// Microseconds. A time before 1970, which does not occur, would sort as 1970.
impl KeyPart for Timestamp {
    const BYTES: usize = u64::BYTES;

    fn append(&self, bytes: &mut Vec<u8>) {
        u64::try_from(self.as_micros()).unwrap_or(0).append(bytes);
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let micros = i64::try_from(u64::read(bytes)?).ok()?;
        Some(Self::from_micros(micros))
    }
}

impl KeyPart for Environment {
    const BYTES: usize = 1;

    fn append(&self, bytes: &mut Vec<u8>) {
        bytes.push(match self {
            Self::Sandbox => b's',
            Self::Live => b'l',
        });
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        match bytes {
            b"s" => Some(Self::Sandbox),
            b"l" => Some(Self::Live),
            _ => None,
        }
    }
}

impl KeyPart for Ulid {
    const BYTES: usize = 16;

    fn append(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.to_bytes());
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self::from_bytes)
    }
}

macro_rules! id {
    ($($id:ty),*) => { $(
        impl KeyPart for $id {
            const BYTES: usize = Ulid::BYTES;

            fn append(&self, bytes: &mut Vec<u8>) {
                self.ulid().append(bytes);
            }

            fn read(bytes: &[u8]) -> Option<Self> {
                Ulid::read(bytes).map(Self::new)
            }
        }
    )* };
}

id!(
    AppId,
    CallbackId,
    ConnectionId,
    DeliveryId,
    EventId,
    MailId,
    WebhookId
);

/// The end of the range of all keys that begin with `prefix`.
pub(crate) fn prefix_end(prefix: &[u8]) -> Vec<u8> {
    match prefix.iter().rposition(|&byte| byte != u8::MAX) {
        Some(last) => {
            let mut end = prefix[..=last].to_vec();
            end[last] += 1;
            end
        }
        None => vec![u8::MAX; STORE_KEY_BYTES + 1], // longer than any key, and nothing sorts behind it
    }
}

const SEPARATOR: u8 = b'/';
/// Bytes of most keys.
const USUAL_BYTES: usize = 48;

#[cfg(test)]
mod tests {
    use super::*;

    fn connection(number: u128) -> ConnectionId {
        ConnectionId::new(Ulid::from(number))
    }

    #[test]
    fn the_bytes_of_a_key_are_those_of_its_parts() {
        let at = Timestamp::from_micros(0x0102);
        let key = Key::of(b'q').with(connection(7)).with(at).with(9_u32);
        let mut bytes = b"q".to_vec();
        bytes.extend_from_slice(&[0; 15]);
        bytes.extend_from_slice(&[7, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 9]);
        assert_eq!(*key, *bytes);
        let path = Key::path("rate").child("XOF").child("EUR");
        assert_eq!(*path, *b"rate/XOF/EUR");
        let nested = Key::of(b'p').row(&path).with([0_u8]);
        assert_eq!(*nested, *b"prate/XOF/EUR\0");
        let early = Key::new().with(Timestamp::from_micros(-1));
        assert_eq!(*early, [0; 8]);
    }

    #[test]
    fn a_key_reads_back_as_its_parts_from_both_ends() {
        let at = Timestamp::from_micros(1_234);
        let key = Key::of(b'q')
            .with(connection(7))
            .with(Environment::Live)
            .with(at)
            .with(connection(9));
        let mut reader = KeyReader::of(b'q', &key).unwrap();
        assert_eq!(reader.take(), Some(connection(7)));
        assert_eq!(reader.take_last(), Some(connection(9)));
        assert_eq!(reader.take(), Some(Environment::Live));
        assert_eq!(reader.take(), Some(at));
        assert_eq!(reader.rest(), b"");
        assert_eq!(
            (reader.take::<u8>(), reader.take_last::<u8>()),
            (None, None)
        );
        assert!(KeyReader::of(b'r', &key).is_none());
        assert!(KeyReader::of(b'q', b"").is_none());
    }

    #[test]
    fn bytes_without_a_meaning_are_no_part() {
        assert_eq!(Timestamp::read(&[255; 8]), None, "later than any time");
        assert_eq!(Environment::read(b"x"), None);
        assert_eq!(u64::read(&[0; 7]), None);
        assert_eq!(Ulid::read(&[0; 17]), None);
    }

    #[test]
    fn a_range_has_the_keys_that_begin_with_its_prefix() {
        let range = Key::path("rate").children();
        for (key, is_inside) in [
            ("rate/", true),
            ("rate/XOF", true),
            ("rate0", false),
            ("rate", false),
            ("rate-held/XOF", false),
        ] {
            assert_eq!(range.contains(key.as_bytes()), is_inside, "{key}");
        }
        let all = Key::new().range();
        assert!(all.contains(b"") && all.contains(&[u8::MAX; STORE_KEY_BYTES]));
        assert!(Key::of(u8::MAX).range().contains(&[u8::MAX; 3]));
    }

    #[test]
    fn a_range_is_cut_at_keys_and_at_other_ranges() {
        let range = Key::of(b'b').range();
        let cut = |range: &KeyRange| (range.from().to_vec(), range.to().to_vec());
        let of = |from: &[u8], to: &[u8]| (from.to_vec(), to.to_vec());
        let other = Key::of(b'b').with(5_u8).range();
        let behind_row = range.clone().behind_row(b"b1");
        assert_eq!(cut(&behind_row), of(b"b1\0", b"c"));
        assert!(!behind_row.contains(b"b1") && behind_row.contains(b"b1\0"));
        assert_eq!(
            cut(&range.clone().behind(other.clone())),
            of(b"b\x06", b"c")
        );
        assert_eq!(
            cut(&range.clone().before(other.clone())),
            of(b"b", b"b\x05")
        );
        assert_eq!(cut(&range.clone().until(other)), of(b"b", b"b\x06"));
        let key = || Key::of(b'b').with(5_u8);
        assert_eq!(cut(&range.clone().starting_at(key())), of(b"b\x05", b"c"));
        assert_eq!(cut(&range.ending_at(key())), of(b"b", b"b\x05"));
    }

    #[test]
    fn the_name_of_a_child_is_what_follows_its_parent() {
        let parent = Key::path("gateway_past");
        assert_eq!(parent.child_in(b"gateway_past/demo/ab"), Some("demo/ab"));
        assert_eq!(parent.child_in(b"gateway_pasts/demo"), None);
        assert_eq!(parent.child_in(b"gateway_past"), None);
        assert_eq!(parent.child_in(b"gateway_past/\xff"), None);
    }
}
