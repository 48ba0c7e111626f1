//! Throttled work on a gateway's file, in pieces.
//!
//! A library has megabytes, and an upgrade reads, hashes, writes and flushes them while payments
//! flow. Without pauses that occupies a processor for several milliseconds. With a scheduler whose
//! time slices are 4 ms long, every payment on that processor then waits for one at each of its
//! steps. A flush of megabytes occupies the disk, and delays the flushes of payments. So the work
//! pauses after each piece, and leaves processor and disk to payments.

use std::fs::File;
use std::io::{self, Read, Write as _};
use std::thread;
use std::time::Duration;

use base16ct::lower::encode_string;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;

use switchyard_core::limits::{GATEWAY_FILE_PAUSE, GATEWAY_FILE_PIECE_BYTES};

/// Throttle of the work on a file.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Throttle {
    /// No pauses: a caller waits for it, or there are no payments to delay.
    AtOnce,
    /// A pause after each piece, because payments have priority.
    Resting,
}

impl Throttle {
    /// Pauses between two pieces of other work.
    pub(super) fn moment(self) {
        self.rest(GATEWAY_FILE_PAUSE);
    }

    fn rest(self, time: Duration) {
        if self == Self::Resting {
            thread::sleep(time);
        }
    }

    /// Number of bytes that are written between two flushes.
    const fn flush_each(self) -> usize {
        match self {
            Self::AtOnce => usize::MAX,
            Self::Resting => GATEWAY_FILE_PIECE_BYTES,
        }
    }
}

/// Reads to the end and returns the SHA-256 in lower-case hexadecimal. `each` receives every piece.
pub(super) fn read(from: impl Read, pace: Throttle, each: impl FnMut(&[u8])) -> io::Result<String> {
    read_and(from, each, |time| pace.rest(time))
}

/// Writes all bytes durably.
pub(super) fn write(to: &mut File, bytes: &[u8], pace: Throttle) -> io::Result<()> {
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
            Ok(0) => return Ok(encode_string(&hasher.finalize())),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        hasher.update(&piece[..read]);
        each(&piece[..read]);
        rest(GATEWAY_FILE_PAUSE);
    }
}

fn write_and(
    to: &mut File,
    bytes: &[u8],
    pace: Throttle,
    mut rest: impl FnMut(Duration),
) -> io::Result<()> {
    for piece in bytes.chunks(pace.flush_each()) {
        to.write_all(piece)?;
        let since = Instant::now();
        to.sync_data()?;
        // At least half of the disk's time stays free, however slow the disk is.
        rest(since.elapsed().max(GATEWAY_FILE_PAUSE));
    }
    to.sync_all()
}

/// Returns the SHA-256 of bytes in memory, in lower-case hexadecimal.
pub(super) fn sha256(bytes: &[u8]) -> String {
    encode_string(&Sha256::digest(bytes))
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
        for (pace, flushes) in [(Throttle::Resting, 6), (Throttle::AtOnce, 1)] {
            let mut rests = Vec::new();
            let mut file = File::create(&path).unwrap();
            write_and(&mut file, &bytes, pace, |time| rests.push(time)).unwrap();
            assert_eq!(rests.len(), flushes);
            assert!(rests.iter().all(|time| *time >= GATEWAY_FILE_PAUSE));
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
