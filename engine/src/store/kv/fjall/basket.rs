//! The wastebasket: journals and tables that fjall has removed go back to the disk piece by piece.
//!
//! A file system frees a file of 64 MiB in one go, and may keep every `fdatasync` waiting for it: 75 ms were measured on ext4 that also
//! tells its disk what is free. A table is removed under a lock that every commit takes: 48 ms were seen for five of them. So each file
//! gets a second name here while fjall still needs it. When fjall removes its own name nothing is freed yet; then the file is cut shorter,
//! a piece at a time, with room for commits in between.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{MAIN_SEPARATOR, MAIN_SEPARATOR_STR, Path, PathBuf};
use std::sync::mpsc::{
    Receiver, RecvTimeoutError, SyncSender, TryRecvError, TrySendError, sync_channel,
};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Works in the background until it is dropped. What is left then is thrown away after the next opening.
pub(super) struct Basket {
    /// `None` only while it is dropped.
    nudge: Option<SyncSender<()>>,
    worker: Option<JoinHandle<()>>,
}

impl Basket {
    /// For the database in `engine`. The basket lies beside it: fjall looks at every name in its own folder.
    pub(super) fn of(engine: &Path) -> io::Result<Self> {
        let files = Files::of(engine)?;
        let (nudge, nudged) = sync_channel(1);
        let worker = thread::Builder::new()
            .name("store basket".to_owned())
            .spawn(move || files.work(&nudged))?;
        Ok(Self {
            nudge: Some(nudge),
            worker: Some(worker),
        })
    }

    /// There may be a new journal. Never blocks.
    pub(super) fn look(&self) {
        if let Some(nudge) = &self.nudge {
            match nudge.try_send(()) {
                // It looks soon anyway, or it panicked: then fjall removes its journals in one go, as it would without us.
                Ok(()) | Err(TrySendError::Full(()) | TrySendError::Disconnected(())) => {}
            }
        }
    }
}

impl Drop for Basket {
    fn drop(&mut self) {
        self.nudge = None;
        if let Some(worker) = self.worker.take() {
            let _ = worker.join(); // a panic was reported where it happened
        }
    }
}

struct Files {
    engine: PathBuf,
    basket: PathBuf,
    /// The second names that were given.
    held: BTreeSet<PathBuf>,
}

impl Files {
    fn of(engine: &Path) -> io::Result<Self> {
        let basket = engine.with_extension("removed");
        fs::create_dir_all(&basket)?;
        let mut files = Self {
            engine: engine.to_owned(),
            basket,
            held: BTreeSet::new(),
        };
        for entry in fs::read_dir(&files.basket)? {
            files.held.insert(entry?.path());
        }
        Ok(files)
    }

    fn work(mut self, nudged: &Receiver<()>) {
        loop {
            // A disk that is full takes no second name; fjall's removal then frees the file at once, which is what is needed.
            for done in [self.hold(), self.empty(nudged)] {
                if let Err(error) = done {
                    tracing::debug!(%error, "files that are no longer needed are removed in one go, or stay a while");
                }
            }
            let next = match self.held.is_empty() {
                true => nudged.recv().map_err(RecvTimeoutError::from),
                false => nudged.recv_timeout(LOOK),
            };
            if let Err(RecvTimeoutError::Disconnected) = next {
                return;
            }
        }
    }

    /// Gives each journal and each table its second name.
    fn hold(&mut self) -> io::Result<()> {
        for own in self.removable()? {
            let second = self.second(&own);
            if self.held.contains(&second) {
                continue;
            }
            match fs::hard_link(&own, &second) {
                Ok(()) => drop(self.held.insert(second)),
                // Removed meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// What fjall may remove some day.
    fn removable(&self) -> io::Result<Vec<PathBuf>> {
        let mut found = entries(&self.engine)?;
        found.retain(|path| is_journal(path));
        for keyspace in entries(&self.engine.join(KEYSPACES))? {
            found.extend(entries(&keyspace.join(TABLES))?);
        }
        Ok(found)
    }

    /// `0.jnl`, or `keyspaces+3+tables+17`: fjall's own path, without folders.
    fn second(&self, own: &Path) -> PathBuf {
        let own = own.strip_prefix(&self.engine).unwrap_or(own);
        self.basket
            .join(own.to_string_lossy().replace(MAIN_SEPARATOR, PARTED))
    }

    /// Where fjall's own name for a file is, or was.
    fn own(&self, second: &Path) -> PathBuf {
        let name = second.file_name().unwrap_or_default().to_string_lossy();
        self.engine.join(name.replace(PARTED, MAIN_SEPARATOR_STR))
    }

    /// Whether this is the file's last name. Not every file system counts names, so fjall's own is looked for as well.
    fn is_removed(&self, path: &Path) -> bool {
        let Ok(file) = fs::metadata(path) else {
            return false;
        };
        let is_other = |own: &fs::Metadata| (own.dev(), own.ino()) != (file.dev(), file.ino());
        let is_gone = match fs::metadata(self.own(path)) {
            Ok(own) => is_other(&own),
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        };
        is_gone && file.nlink() == 1
    }

    /// Throws away what fjall has removed.
    fn empty(&mut self, nudged: &Receiver<()>) -> io::Result<()> {
        self.held.retain(|path| path.exists());
        let removed = self.held.iter().filter(|path| self.is_removed(path));
        let removed: Vec<_> = removed.cloned().collect();
        // A power cut must not bring fjall's name back to a file that we have cut short.
        let owns: Vec<_> = removed.iter().map(|path| self.own(path)).collect();
        for folder in owns
            .iter()
            .filter_map(|own| own.parent())
            .collect::<BTreeSet<_>>()
        {
            match File::open(folder) {
                Ok(folder) => folder.sync_all()?,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        let pause = if removed.len() > MANY {
            Duration::ZERO
        } else {
            PAUSE
        };
        for path in removed {
            if !shorten(&path, pause, nudged)? {
                return Ok(()); // the store is being closed
            }
            fs::remove_file(&path)?;
            self.held.remove(&path);
        }
        Ok(())
    }
}

/// What lies in a folder; nothing where it does not exist.
fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    use io::ErrorKind::{NotADirectory, NotFound};
    match fs::read_dir(folder) {
        Ok(entries) => entries.map(|entry| Ok(entry?.path())).collect(),
        Err(error) if matches!(error.kind(), NotFound | NotADirectory) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

fn is_journal(path: &Path) -> bool {
    path.extension().is_some_and(|kind| kind == "jnl")
}

/// Cuts the file shorter until nothing is left. False when the store is closed meanwhile.
fn shorten(path: &Path, pause: Duration, nudged: &Receiver<()>) -> io::Result<bool> {
    let file = File::options().write(true).open(path)?;
    let mut bytes = file.metadata()?.len();
    while bytes > 0 {
        bytes = bytes.saturating_sub(PIECE);
        file.set_len(bytes)?;
        thread::sleep(pause);
        if let Err(TryRecvError::Disconnected) = nudged.try_recv() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The folders of fjall's tables, `keyspaces/3/tables`, where their files have numbers for names.
const KEYSPACES: &str = "keyspaces";
const TABLES: &str = "tables";
/// What parts folders in a second name. Names of fjall's are words and numbers.
const PARTED: &str = "+";
/// So much is freed in one or two milliseconds where 64 MiB take 75.
const PIECE: u64 = 1024 * 1024;
/// Between two pieces: some 100 MiB are freed in a second, and commits have most of the disk's time.
const PAUSE: Duration = Duration::from_millis(8);
/// When more files wait than these, a gigabyte at the most, room counts for more than commits.
const MANY: usize = 16;
/// How often it is seen whether fjall has removed something, when nobody says that there may be a new journal.
const LOOK: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    struct Room {
        _folder: tempfile::TempDir,
        engine: PathBuf,
        basket: PathBuf,
        nudge: SyncSender<()>,
        nudged: Receiver<()>,
    }

    impl Room {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let engine = folder.path().join("fjall");
            fs::create_dir(&engine).unwrap();
            let (nudge, nudged) = sync_channel(1);
            Self {
                basket: folder.path().join("fjall.removed"),
                _folder: folder,
                engine,
                nudge,
                nudged,
            }
        }

        /// As fjall has it.
        fn table(&self, keyspace: u32, name: &str) -> PathBuf {
            let folder = self.engine.join(format!("keyspaces/{keyspace}/tables"));
            fs::create_dir_all(&folder).unwrap();
            let table = folder.join(name);
            fs::write(&table, vec![7; PIECE as usize + 5]).unwrap();
            table
        }

        fn journal(&self, name: &str) -> PathBuf {
            let journal = self.engine.join(name);
            fs::write(&journal, vec![7; 3 * PIECE as usize + 5]).unwrap();
            journal
        }

        fn kept(&self) -> usize {
            fs::read_dir(&self.basket).unwrap().count()
        }
    }

    #[test]
    fn a_journal_in_use_is_whole_and_one_that_was_removed_is_gone() {
        let room = Room::new();
        let (old, active) = (room.journal("0.jnl"), room.journal("1.jnl"));
        fs::write(room.engine.join("version"), "3").unwrap();
        let mut files = Files::of(&room.engine).unwrap();
        files.hold().unwrap();
        files.empty(&room.nudged).unwrap();
        assert_eq!(room.kept(), 2);
        let before = fs::read(&active).unwrap();
        fs::remove_file(&old).unwrap();
        files.hold().unwrap();
        files.empty(&room.nudged).unwrap();
        assert_eq!(room.kept(), 1);
        assert_eq!(fs::read(&active).unwrap(), before);
        drop(room.nudge);
    }

    #[test]
    fn a_table_that_was_removed_is_gone_and_its_namesake_of_another_keyspace_is_whole() {
        let room = Room::new();
        let (removed, kept) = (room.table(1, "17"), room.table(2, "17"));
        fs::write(room.engine.join("keyspaces/1/current"), "3").unwrap();
        let mut files = Files::of(&room.engine).unwrap();
        files.hold().unwrap();
        files.empty(&room.nudged).unwrap();
        assert_eq!(room.kept(), 2);
        let whole = fs::read(&kept).unwrap();
        fs::remove_file(&removed).unwrap();
        files.hold().unwrap();
        files.empty(&room.nudged).unwrap();
        assert_eq!(room.kept(), 1);
        assert_eq!(fs::read(&kept).unwrap(), whole);
        drop(room.nudge);
    }

    #[test]
    fn what_a_closing_left_is_thrown_away_after_the_next_opening() {
        let Room {
            _folder,
            engine,
            basket,
            nudge,
            nudged,
        } = {
            let room = Room::new();
            room.journal("0.jnl");
            room
        };
        let mut files = Files::of(&engine).unwrap();
        files.hold().unwrap();
        fs::remove_file(engine.join("0.jnl")).unwrap();
        drop(nudge);
        files.empty(&nudged).unwrap();
        let left = fs::metadata(basket.join("0.jnl")).unwrap().len();
        assert_eq!(left, 2 * PIECE + 5, "one piece, then it was told to stop");

        let (nudge, nudged) = sync_channel(1);
        let mut files = Files::of(&engine).unwrap();
        files.hold().unwrap();
        files.empty(&nudged).unwrap();
        assert_eq!(fs::read_dir(&basket).unwrap().count(), 0);
        drop(nudge);
    }

    #[test]
    fn a_journal_that_begins_anew_under_the_name_of_a_removed_one_is_left_alone() {
        let room = Room::new();
        let journal = room.journal("0.jnl");
        let mut files = Files::of(&room.engine).unwrap();
        files.hold().unwrap();
        fs::remove_file(&journal).unwrap();
        room.journal("0.jnl");
        let whole = fs::read(&journal).unwrap();
        files.hold().unwrap();
        files.empty(&room.nudged).unwrap();
        assert_eq!(room.kept(), 0, "the new one is held from the next look on");
        files.hold().unwrap();
        files.empty(&room.nudged).unwrap();
        assert_eq!(room.kept(), 1);
        assert_eq!(fs::read(&journal).unwrap(), whole);
        drop(room.nudge);
    }
}
