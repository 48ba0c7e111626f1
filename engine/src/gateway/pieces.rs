//! Work on a gateway's file, piece by piece.
//!
//! A library has megabytes, and an upgrade reads, hashes, writes and flushes them while payments flow. Done in one go that holds a
//! processor for several milliseconds, and a scheduler whose turns are 4 ms long has every payment behind it wait for one of them at
//! each of its steps; and a flush of megabytes holds the disk, with the flushes of payments behind it. So the work rests after each
//! piece, and leaves processor and disk to whoever waits.

use std::fs::File;
use std::io::{self, Read, Write as _};
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;

use crate::limits::{GATEWAY_FILE_PIECE_BYTES, GATEWAY_FILE_REST};

/// How a file is worked on.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Pace {
    /// Without a rest: somebody waits for it, or there is nobody to make room for.
    AtOnce,
    /// With a rest after each piece, because payments go first.
    Resting,
}

impl Pace {
    /// A rest between two pieces of other work.
    pub(super) fn moment(self) {
        self.rest(GATEWAY_FILE_REST);
    }

    fn rest(self, time: Duration) {
        if self == Self::Resting {
            thread::sleep(time);
        }
    }

    /// Bytes that are written between two flushes.
    const fn flush_each(self) -> usize {
        match self {
            Self::AtOnce => usize::MAX,
            Self::Resting => GATEWAY_FILE_PIECE_BYTES,
        }
    }
}

/// Reads to the end and answers the SHA-256 in lower-case hexadecimal. `each` gets every piece.
pub(super) fn read(from: impl Read, pace: Pace, each: impl FnMut(&[u8])) -> io::Result<String> {
    read_and(from, each, |time| pace.rest(time))
}

/// Writes all of it, durably.
pub(super) fn write(to: &mut File, bytes: &[u8], pace: Pace) -> io::Result<()> {
    write_and(to, bytes, pace, |time| pace.rest(time))
}

fn read_and(
    mut from: impl Read,
    mut each: impl FnMut(&[u8]),
    mut rest: impl FnMut(Duration),
) -> io::Result<String> {
    let mut hasher = Sha256::new();
    let mut piece = vec![0; GATEWAY_FILE_PIECE_BYTES];
    loop {
        let read = match from.read(&mut piece) {
            Ok(0) => return Ok(hex(&hasher.finalize())),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        hasher.update(&piece[..read]);
        each(&piece[..read]);
        rest(GATEWAY_FILE_REST);
    }
}

fn write_and(
    to: &mut File,
    bytes: &[u8],
    pace: Pace,
    mut rest: impl FnMut(Duration),
) -> io::Result<()> {
    for piece in bytes.chunks(pace.flush_each()) {
        to.write_all(piece)?;
        let since = Instant::now();
        to.sync_data()?;
        // Half of the disk's time is for others, however slow it is.
        rest(since.elapsed().max(GATEWAY_FILE_REST));
    }
    to.sync_all()
}

/// Of what is in memory, in lower-case hexadecimal.
pub(super) fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut hex = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let _ = write!(hex, "{byte:02x}"); // writing to a string does not fail
    }
    hex
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_file_is_read_and_written_in_pieces_with_a_rest_after_each() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.so");
        let bytes: Vec<u8> = (0..=u8::MAX)
            .cycle()
            .take(5 * GATEWAY_FILE_PIECE_BYTES + 1)
            .collect();
        for (pace, flushes) in [(Pace::Resting, 6), (Pace::AtOnce, 1)] {
            let mut rests = Vec::new();
            let mut file = File::create(&path).unwrap();
            write_and(&mut file, &bytes, pace, |time| rests.push(time)).unwrap();
            assert_eq!(rests.len(), flushes);
            assert!(rests.iter().all(|time| *time >= GATEWAY_FILE_REST));
        }
        let (mut found, mut rests) = (Vec::new(), 0);
        let each = |piece: &[u8]| {
            assert!(piece.len() <= GATEWAY_FILE_PIECE_BYTES);
            found.extend_from_slice(piece);
        };
        let hash = read_and(File::open(&path).unwrap(), each, |_| rests += 1).unwrap();
        assert_eq!(rests, 6);
        assert!(found == bytes, "what was written is what is read");
        assert_eq!(hash, sha256(&bytes));
    }
}
