//! The write-ahead log: moved into the database in the background, then restarted.
//!
//! A passive checkpoint moves the pages while commits go on, so it never reaches the end of a log
//! under load. After it the writer moves the rest between two commits and restarts the log. The
//! file keeps its length, so a flush of it changes no metadata.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rusqlite::wal::CheckpointMode;
use rusqlite::{Connection, Error, ErrorCode, MAIN_DB, OpenFlags};

use super::super::{KvError, contained};
use super::frames::{FRAME_BYTES, HEADER_BYTES};
use super::tail::Tail;
use super::{FILE, pages};

/// The state of the log and the thread that moves its pages.
pub(super) struct Log {
    state: Arc<AtomicU8>,
    wake: Option<Sender<()>>,
    mover: Option<JoinHandle<()>>,
    /// The log is moved when it has so many pages.
    move_at: u32,
    /// Pages of the log after the last commit, once there is one.
    pages: Option<u32>,
    /// For the continuous copy.
    tail: Arc<Tail>,
}

impl Log {
    /// `connection` belongs to the thread that moves pages.
    pub(super) fn start(connection: Connection, tail: Arc<Tail>) -> Result<Self, KvError> {
        let state = Arc::new(AtomicU8::new(GROWS));
        let (wake, woken) = channel();
        let moved = state.clone();
        let mover = thread::Builder::new()
            .name("store log".to_owned())
            .spawn(move || move_pages(&connection, &woken, &moved))?;
        Ok(Self {
            state,
            wake: Some(wake),
            mover: Some(mover),
            move_at: LOG_PAGES,
            pages: None,
            tail,
        })
    }

    /// To be called before each commit: keeps the log at about [`LOG_PAGES`].
    pub(super) fn make_room(&mut self, writer: &Connection) -> Result<(), KvError> {
        let state = self.state.load(Ordering::Acquire);
        if state == GROWS && self.pages(writer)? < self.move_at {
            return Ok(());
        }
        // Once all pages are moved, any commit may restart the log.
        self.tail.keep();
        match state {
            GROWS => {
                self.state.store(MOVES, Ordering::Release);
                self.tail.wake();
                // Nobody receives it when the thread has panicked: then the writer moves all.
                if self.wake.as_ref().is_none_or(|wake| wake.send(()).is_err()) {
                    self.state.store(MOVED, Ordering::Release);
                }
            }
            MOVED => self.restart(writer)?,
            _ => {}
        }
        Ok(())
    }

    /// To be called after each commit, which is durable.
    pub(super) fn committed(&mut self, writer: &Connection) {
        self.pages = pages(writer).ok();
        self.tail.committed(self.pages);
    }

    fn pages(&self, writer: &Connection) -> Result<u32, KvError> {
        self.pages.map_or_else(|| pages(writer), Ok)
    }

    /// Whether the file of the log, which has `length` bytes, has all pages of the log. Another
    /// program may have emptied it.
    pub(super) fn is_whole(&self, writer: &Connection, length: u64) -> Result<bool, KvError> {
        let is_long_enough = |pages: u32| match pages {
            0 => true,
            pages => length >= HEADER_BYTES as u64 + u64::from(pages) * FRAME_BYTES as u64,
        };
        Ok(is_long_enough(self.pages(writer)?) || is_long_enough(pages(writer)?))
    }

    /// Moves the rest of the pages. The next commit writes to the beginning of the log. While
    /// an older read is in progress the log grows a little, and the restart is tried again.
    fn restart(&mut self, writer: &Connection) -> Result<(), KvError> {
        let pages = self.pages(writer)?;
        self.move_at = match checkpoint(writer, CheckpointMode::RESTART)? {
            true => LOG_PAGES,
            false => pages.saturating_add(LOG_PAGES / 8),
        };
        if self.move_at > MANY * LOG_PAGES {
            tracing::warn!(
                store.log_pages = pages,
                advice = "end programs that hold it open",
                "a reader of the database keeps its log from being restarted"
            );
        }
        self.state.store(GROWS, Ordering::Release);
        Ok(())
    }

    /// Whether the next commit may move pages of the log, or restart it.
    pub(super) fn may_move(&self, writer: &Connection) -> Result<bool, KvError> {
        Ok(match self.state.load(Ordering::Acquire) {
            GROWS => self.pages(writer)? >= self.move_at,
            state => state == MOVED,
        })
    }

    /// Ends the thread. The log is to be emptied then.
    pub(super) fn finish(mut self) {
        self.stop();
        self.tail.keep();
    }

    fn stop(&mut self) {
        drop(self.wake.take());
        if let Some(mover) = self.mover.take() {
            let _ = mover.join(); // it contains its panics
        }
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Moves all pages of the log into the database and leaves nothing in it.
pub(super) fn empty(connection: &Connection) -> Result<(), KvError> {
    connection.busy_timeout(LAST_READERS)?;
    match checkpoint(connection, CheckpointMode::TRUNCATE)? {
        true => Ok(()),
        false => Err(KvError::Failed(
            "another program reads the database, its log was not emptied".to_owned(),
        )),
    }
}

/// Moves the log of a database that no process has open, and removes it. Nothing is flushed.
pub(crate) fn move_in(folder: &Path) -> Result<(), KvError> {
    let file = folder.join(FILE);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = pages::open(&file, flags)?;
    connection.pragma_update(None, "synchronous", "off")?;
    empty(&connection)
}

fn move_pages(connection: &Connection, woken: &Receiver<()>, state: &AtomicU8) {
    while woken.recv().is_ok() {
        let moved = contained(|| checkpoint(connection, CheckpointMode::PASSIVE));
        if let Err(error) = moved {
            // The writer moves the pages itself, and fails when it cannot.
            tracing::warn!(store.reason = %error, "pages of the log could not be moved");
        }
        state.store(MOVED, Ordering::Release);
    }
}

/// How many pages the log has.
fn pages(connection: &Connection) -> Result<u32, KvError> {
    let (pages, _) = connection.wal_checkpoint_v2(Some(MAIN_DB), CheckpointMode::NOOP)?;
    Ok(u32::try_from(pages).unwrap_or(0))
}

/// Moves pages of the log into the database. False: another connection held a lock.
fn checkpoint(connection: &Connection, mode: CheckpointMode) -> Result<bool, KvError> {
    match connection.wal_checkpoint_v2(Some(MAIN_DB), mode) {
        Ok(_) => Ok(true),
        Err(Error::SqliteFailure(error, _)) if error.code == ErrorCode::DatabaseBusy => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Pages of the log after which they are moved: 16 MiB. Logs of 32 and 64 MiB wrote 50 to 63 kB a
/// flush where this one wrote 55 to 66 kB; they take room on a small disk and a longer start.
const LOG_PAGES: u32 = 4096;
/// From so many times [`LOG_PAGES`] on, the log says that it cannot be restarted.
const MANY: u32 = 8;
/// How long the last reads may take when the store is closed.
const LAST_READERS: Duration = Duration::from_secs(1);

/// The log grows with each commit.
const GROWS: u8 = 0;
/// The thread moves its pages.
const MOVES: u8 = 1;
/// The thread has moved what it could.
const MOVED: u8 = 2;
