//! The runway: the part of the journal ahead of its last commit has its room on the disk already.
//!
//! fjall makes a journal as 64 MiB of hole. A commit that is written into a hole needs room, so its flush has to wait until the file system
//! has entered that into its own books, together with whatever else is entered then: the megabytes of a table, say. Where zeros stand
//! already there is nothing to enter, and a flush writes the commit's bytes alone: 20 µs were measured on ext4 where 45 were.
//!
//! Zeros change nothing for a reader: a hole reads as zeros.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;

use super::journal::newest_journal;

pub(super) struct Runway {
    folder: PathBuf,
    /// Which journal fjall writes.
    number: u64,
    journal: File,
    /// Where fjall will make its next one.
    next: PathBuf,
    /// How long fjall made it. Behind that it appends, so nothing of ours may stand there.
    length: u64,
    /// Where the zeros end; none are laid yet while it is 0.
    end: u64,
    /// How many bytes were written at most since they were laid.
    used: usize,
    zeros: Vec<u8>,
}

impl Runway {
    /// For the database in `folder`, which is open.
    pub(super) fn of(folder: &Path) -> io::Result<Self> {
        let (number, path) = newest_journal(folder)?.ok_or(io::ErrorKind::NotFound)?;
        let (journal, length) = open(&path)?;
        Ok(Self {
            next: folder.join(name(number + 1)),
            folder: folder.to_owned(),
            number,
            journal,
            length,
            end: 0,
            used: 0,
            zeros: vec![0; PIECE],
        })
    }

    /// Lays the next piece when the last was used up. To be called before a commit of at most `bytes`, while none is being written.
    pub(super) fn lay(&mut self, bytes: usize) {
        // The file system is not asked while the last piece is sure to last.
        let may_end = self.end == 0 || self.used + bytes > PIECE;
        if may_end && let Err(error) = self.follow().and_then(|()| self.fill()) {
            tracing::debug!(%error, "the store's journal has no runway before the next one");
            self.end = self.length;
        }
        self.used += bytes;
    }

    /// Goes over to the next journal when fjall has.
    fn follow(&mut self) -> io::Result<()> {
        if !self.next.exists() {
            return Ok(());
        }
        let (journal, length) = open(&self.next)?;
        // fjall is just making it.
        if length > 0 {
            (self.journal, self.length) = (journal, length);
            (self.number, self.end) = (self.number + 1, 0);
            self.next = self.folder.join(name(self.number + 1));
        }
        Ok(())
    }

    fn fill(&mut self) -> io::Result<()> {
        if self.end >= self.length {
            return Ok(());
        }
        // Only what the file system says is a hole is ever written to.
        let hole = seek(&self.journal, SeekFrom::Hole(self.end))?;
        let is_used_up = hole > self.end || self.end == 0;
        if !is_used_up || hole >= self.length {
            return Ok(());
        }
        let hole_end = match seek(&self.journal, SeekFrom::Data(hole)) {
            Ok(data) => data.min(self.length),
            Err(Errno::NXIO) => self.length,
            Err(error) => return Err(error.into()),
        };
        let piece = self.zeros.len().min((hole_end - hole) as usize);
        self.journal.write_all_at(&self.zeros[..piece], hole)?;
        self.end = hole + piece as u64;
        self.used = 0;
        Ok(())
    }
}

fn name(number: u64) -> String {
    format!("{number}.jnl")
}

fn open(journal: &Path) -> io::Result<(File, u64)> {
    let file = File::options().write(true).open(journal)?;
    let length = file.metadata()?.len();
    Ok((file, length))
}

/// So much is laid at a time: 0.1 ms in memory, and a millisecond more at one flush.
const PIECE: usize = 1024 * 1024;

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write as _;

    use super::*;

    const LENGTH: u64 = 4 * PIECE as u64;

    struct Room {
        folder: tempfile::TempDir,
        journal: File,
    }

    impl Room {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let journal = made(folder.path(), 0);
            Self { folder, journal }
        }

        /// Where the first hole of a journal begins.
        fn hole(&self, number: u64) -> u64 {
            let journal = File::open(self.folder.path().join(name(number))).unwrap();
            seek(&journal, SeekFrom::Hole(0)).unwrap()
        }

        fn bytes(&self, number: u64) -> Vec<u8> {
            fs::read(self.folder.path().join(name(number))).unwrap()
        }
    }

    /// A journal as fjall makes it.
    fn made(folder: &Path, number: u64) -> File {
        let journal = File::create_new(folder.join(name(number))).unwrap();
        journal.set_len(LENGTH).unwrap();
        journal
    }

    #[test]
    fn a_piece_is_laid_ahead_and_the_next_when_it_is_used_up() {
        let mut room = Room::new();
        let mut runway = Runway::of(room.folder.path()).unwrap();
        runway.lay(PIECE);
        assert_eq!(room.hole(0), PIECE as u64);
        room.journal.write_all(&[7; PIECE]).unwrap();
        runway.lay(5);
        assert_eq!(room.hole(0), PIECE as u64, "it was used to its very end");
        room.journal.write_all(&[8; 5]).unwrap();
        runway.lay(1);
        assert!(room.hole(0) > 2 * PIECE as u64);
    }

    #[test]
    fn what_is_written_is_never_touched_and_the_file_never_grows() {
        let mut room = Room::new();
        let mut runway = Runway::of(room.folder.path()).unwrap();
        let mut written = Vec::new();
        // A batch may be longer than a piece, and the last ends behind the length that fjall made.
        for (round, bytes) in [1, 5_000, PIECE + 3, 100, 2 * PIECE, PIECE]
            .into_iter()
            .enumerate()
        {
            runway.lay(bytes);
            let batch = vec![round as u8 + 1; bytes];
            room.journal.write_all(&batch).unwrap();
            written.extend(batch);
        }
        runway.lay(PIECE);
        assert!(room.bytes(0) == written);
    }

    #[test]
    fn it_goes_over_to_the_journal_that_fjall_begins() {
        let mut room = Room::new();
        let mut runway = Runway::of(room.folder.path()).unwrap();
        room.journal.write_all(&[7; 100]).unwrap();
        runway.lay(100);
        let before = room.bytes(0);
        room.journal = made(room.folder.path(), 1);
        room.journal.write_all(&[9; 100]).unwrap();
        runway.lay(100);
        assert_eq!(
            room.hole(1),
            4096,
            "the piece in the journal before could have lasted"
        );
        runway.lay(PIECE);
        assert!(room.hole(1) > PIECE as u64);
        assert_eq!(room.bytes(1)[..101], [&[9; 100][..], &[0]].concat());
        assert!(room.bytes(0) == before);
    }

    #[test]
    fn a_journal_that_is_only_appended_to_is_left_alone() {
        // As an opening after a crash leaves it: cut to what was read.
        let mut room = Room::new();
        room.journal.write_all(&[7; 5_000]).unwrap();
        room.journal.set_len(5_000).unwrap();
        let mut runway = Runway::of(room.folder.path()).unwrap();
        for _ in 0..3 {
            runway.lay(PIECE);
            room.journal.write_all(&[7; 5_000]).unwrap();
        }
        assert!(room.bytes(0) == vec![7; 20_000]);
    }
}
