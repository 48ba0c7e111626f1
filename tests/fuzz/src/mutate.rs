//! Mutations by a seed, for the tests that run without libFuzzer: bytes, words and pieces of other
//! samples.

use switchyard_system::ids::Ids;

/// A source of mutations; one seed, one series.
pub struct Mutator(Ids);

impl Mutator {
    pub fn new(seed: u64) -> Self {
        Self(Ids::seeded(seed))
    }

    /// A number below `end`, which is not 0.
    pub fn below(&self, end: usize) -> usize {
        let mut bytes = [0; 8];
        self.0.fill(&mut bytes);
        let drawn = u64::from_le_bytes(bytes) % (end as u64);
        usize::try_from(drawn).unwrap_or_default()
    }

    /// One of the samples, changed in one to four places.
    pub fn mutate(&self, samples: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = samples[self.below(samples.len())].clone();
        for _ in 0..=self.below(4) {
            self.change(&mut bytes, samples);
        }
        bytes.truncate(LONGEST);
        bytes
    }

    fn change(&self, bytes: &mut Vec<u8>, samples: &[Vec<u8>]) {
        let at = self.below(bytes.len() + 1);
        let end = (at + 1 + self.below(16)).min(bytes.len());
        match self.below(8) {
            0 if at < bytes.len() => bytes[at] ^= 1 << self.below(8),
            1 if at < bytes.len() => bytes[at] = self.byte(),
            2 => bytes.insert(at, self.byte()),
            3 => drop(bytes.drain(at..end.max(at))),
            4 => drop(bytes.splice(at..at, WORDS[self.below(WORDS.len())].iter().copied())),
            5 => {
                let part = bytes[at..end.max(at)].to_vec();
                let times = 1 + self.below(64);
                drop(bytes.splice(at..at, part.repeat(times)));
            }
            6 => {
                let other = &samples[self.below(samples.len())];
                let from = self.below(other.len() + 1);
                bytes.truncate(at);
                bytes.extend_from_slice(&other[from..]);
            }
            _ => self.number(bytes, at),
        }
    }

    /// Puts an extreme number where digits stand.
    fn number(&self, bytes: &mut Vec<u8>, at: usize) {
        let is_digit = |byte: &u8| byte.is_ascii_digit();
        let Some(start) = bytes[at..]
            .iter()
            .position(is_digit)
            .map(|start| start + at)
        else {
            return;
        };
        let length = bytes[start..]
            .iter()
            .take_while(|byte| is_digit(byte))
            .count();
        let number = NUMBERS[self.below(NUMBERS.len())];
        drop(bytes.splice(start..start + length, number.bytes()));
    }

    fn byte(&self) -> u8 {
        let [byte] = u8::try_from(self.below(256))
            .unwrap_or_default()
            .to_le_bytes();
        byte
    }
}

/// No parser of ours takes more than a few of these at once.
const LONGEST: usize = 128 * 1024;

const WORDS: &[&[u8]] = &[
    b"\0",
    b"\n",
    b"\r\n\r\n",
    b"\"",
    b"\\",
    b"\\u0000",
    b"\\ud800",
    b"{",
    b"}",
    b"[",
    b"[[[[[[[[[[[[[[[[",
    b"]",
    b"null",
    b"true",
    b"-",
    b"+",
    b".",
    b"e",
    b"1e999999999",
    b"%00",
    b"%ff",
    b"&",
    b"=",
    b"..",
    b"../",
    b"@",
    b"://",
    b"\xff",
    b"\xc3\x28",
    b"\xef\xbb\xbf",
    b"\xe2\x80\xae",
    b"\xf0\x9f\x92\xa9",
    b"{\"a\":",
    b",\"amount\":",
    b"NaN",
    b"Infinity",
    b"\x7fELF",
];

const NUMBERS: &[&str] = &[
    "0",
    "00",
    "1",
    "-1",
    "255",
    "256",
    "65536",
    "2147483648",
    "4294967296",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551616",
    "340282366920938463463374607431768211456",
    "1e18",
    "0.1",
    "1E-7",
    "99999999999999999999999999999999999999999",
];
