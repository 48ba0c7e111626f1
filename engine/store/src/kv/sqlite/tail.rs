//! The part of the log that the continuous copy has not read.
//!
//! The writer reports each durable commit. Before a commit that may restart the log, it reads the
//! rest of the log into memory: the copier misses no frame, and the writer never waits for the
//! destination of the copy. A copier that falls too far behind loses its place and starts over.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::time::Duration;

use parking_lot::{Condvar, Mutex, MutexGuard};
use tokio::time::Instant;

use super::super::KvError;
use super::frames::{FRAME_BYTES, HEADER_BYTES, SALTS};

/// The tail of the log of one store. It outlives a database that is closed and opened again.
#[derive(Default)]
pub(crate) struct Tail {
    inner: Mutex<Inner>,
    changed: Condvar,
}

/// A piece of a log: whole frames, after the header of the log if it is the first piece.
pub(crate) struct Part {
    /// Number of the log since [`Tail::follow`], from 1: each restart begins another one.
    pub log: u64,
    pub bytes: Vec<u8>,
}

#[derive(Default)]
struct Inner {
    follows: Follows,
    path: PathBuf,
    file: Option<File>,
    /// Frames of the log that are durable.
    frames: u64,
    /// Whether some of them are not read.
    has_more: bool,
    /// Number, salts and bytes read of the log that is being read.
    log: u64,
    salts: Option<[u8; 8]>,
    offset: u64,
    /// The log is read to its end, and the next commit may restart it.
    may_restart: bool,
    /// Parts that the writer has read.
    kept: VecDeque<Part>,
    kept_bytes: usize,
    /// Time of the first commit since the last round of the copier, and of the first in this round.
    waits_since: Option<Instant>,
    round_since: Option<Instant>,
    is_watched: bool,
    is_wanted: bool,
    is_closed: bool,
}

/// Whether a copier reads the log.
#[derive(Default, PartialEq, Eq)]
enum Follows {
    #[default]
    No,
    Yes,
    /// Frames were overwritten before they were read.
    Lost(String),
}

/// Calls of the writer of the log.
impl Tail {
    pub(super) fn opened(&self, path: PathBuf) {
        let mut inner = self.inner();
        // A failed commit may have been cut off or taken back.
        inner.lose("the database was opened again");
        (inner.path, inner.file, inner.frames) = (path, None, 0);
        inner.has_more = false;
    }

    /// Notes a durable commit. `frames`: length of the log with it; `None`: not known.
    pub(super) fn committed(&self, frames: Option<u32>) {
        let mut inner = self.inner();
        match frames {
            Some(frames) => inner.frames = frames.into(),
            None => inner.lose("the length of the log is not known"),
        }
        inner.has_more = true;
        if inner.is_watched {
            inner.waits_since.get_or_insert_with(Instant::now);
        }
    }

    /// Reads the rest of the log. To be called before a commit that may restart it.
    pub(super) fn keep(&self) {
        let mut inner = self.inner();
        while inner.follows == Follows::Yes && inner.has_more {
            if inner.kept_bytes >= KEPT_BYTES {
                inner.lose("the log grew faster than it was copied");
                break;
            }
            match inner.read() {
                Ok(part) => {
                    inner.kept_bytes += part.bytes.len();
                    inner.kept.push_back(part);
                }
                Err(error) => inner.lose(&error.to_string()),
            }
        }
        inner.may_restart = true;
    }

    /// Wakes a copier that follows.
    pub(super) fn wake(&self) {
        let mut inner = self.inner();
        inner.is_wanted = inner.follows == Follows::Yes;
        self.changed.notify_all();
    }

    /// Tells the copier that nothing more is committed.
    pub(crate) fn close(&self) {
        self.inner().is_closed = true;
        self.changed.notify_all();
    }
}

/// Calls of the copier.
impl Tail {
    /// Starts to measure [`Self::lag`].
    pub(crate) fn watch(&self) {
        self.inner().is_watched = true;
    }

    /// Begins with the whole current log.
    pub(crate) fn follow(&self) {
        let mut inner = self.inner();
        inner.stop();
        inner.follows = Follows::Yes;
        (inner.log, inner.salts, inner.offset) = (0, None, 0);
        inner.has_more = inner.frames > 0;
    }

    pub(crate) fn unfollow(&self) {
        self.inner().stop();
    }

    /// The next part, `None` at the end of the log.
    pub(crate) fn next(&self) -> Result<Option<Part>, KvError> {
        let mut inner = self.inner();
        if let Follows::Lost(reason) = &inner.follows {
            return Err(KvError::Failed(reason.clone()));
        }
        if let Some(part) = inner.kept.pop_front() {
            inner.kept_bytes -= part.bytes.len();
            return Ok(Some(part));
        }
        match inner.has_more {
            true => Ok(Some(inner.read()?)),
            false => Ok(None),
        }
    }

    pub(crate) fn begin_round(&self) {
        let mut inner = self.inner();
        let waits_since = inner.waits_since.take();
        inner.round_since = inner.round_since.or(waits_since);
    }

    /// Notes that the commits from before the round can be restored.
    pub(crate) fn end_round(&self) {
        self.inner().round_since = None;
    }

    /// Notes that the copy with the earlier commits is gone.
    pub(crate) fn lose_copy(&self) {
        let mut inner = self.inner();
        if inner.is_watched {
            inner.waits_since.get_or_insert_with(Instant::now);
        }
    }

    /// Age of the oldest commit that cannot be restored from the copy.
    pub(crate) fn lag(&self) -> Duration {
        let inner = self.inner();
        let oldest = inner.round_since.or(inner.waits_since);
        oldest.map_or(Duration::ZERO, |oldest| oldest.elapsed())
    }

    /// Waits at most so long for [`Self::wake`]. False: nothing more is committed.
    pub(crate) fn wait(&self, patience: Duration) -> bool {
        let waits = |inner: &mut Inner| !inner.is_wanted && !inner.is_closed;
        let mut inner = self.inner();
        self.changed.wait_while_for(&mut inner, waits, patience);
        inner.is_wanted = false;
        !inner.is_closed
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock()
    }
}

impl Inner {
    /// The next part of the log, which has more.
    fn read(&mut self) -> io::Result<Part> {
        let file = match self.file.take() {
            Some(file) => self.file.insert(file),
            None => self.file.insert(File::open(&self.path)?),
        };
        let mut header = [0; HEADER_BYTES];
        file.read_exact_at(&mut header, 0)?;
        let mut salts = [0; 8];
        salts.copy_from_slice(&header[SALTS]);
        if self.salts != Some(salts) {
            if self.salts.is_some() && !self.may_restart {
                return Err(io::Error::other("another program restarted the log"));
            }
            (self.log, self.offset) = (self.log + 1, 0);
        }
        // The first log may be restarted before it is read: the copy begins after it.
        self.may_restart &= self.salts.is_none();
        self.salts = Some(salts);
        let end = HEADER_BYTES as u64 + self.frames * FRAME_BYTES as u64;
        let header_bytes = if self.offset == 0 { HEADER_BYTES } else { 0 };
        let most = (header_bytes + PART_FRAMES * FRAME_BYTES) as u64;
        let length = end.saturating_sub(self.offset).min(most);
        let mut bytes = vec![0; usize::try_from(length).unwrap_or_default()];
        file.read_exact_at(&mut bytes, self.offset)?;
        self.offset += length;
        self.has_more = self.offset < end;
        Ok(Part {
            log: self.log,
            bytes,
        })
    }

    fn lose(&mut self, reason: &str) {
        if self.follows == Follows::Yes {
            self.stop();
            self.follows = Follows::Lost(reason.to_owned());
        }
    }

    fn stop(&mut self) {
        self.follows = Follows::No;
        self.kept = VecDeque::new();
        self.kept_bytes = 0;
    }
}

/// Frames that are read at a time: 1 MiB. The writer may have to wait for so much.
const PART_FRAMES: usize = 254;
/// Memory for what the writer reads. At a destination as fast as the log it holds less than 1 MiB.
const KEPT_BYTES: usize = 64 * 1024 * 1024;
