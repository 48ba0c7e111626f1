//! Damage of any file of a store: an acknowledged row is answered as it was written, or refused. And
//! what a power cut or a killed process leaves is no reason to refuse.

use std::fs;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use super::batch;
use crate::*;
use switchyard_system::ids::Ids;

/// Contents of the files of a store, by their paths below its home.
type Files = Vec<(PathBuf, Vec<u8>)>;

/// A store with its acknowledged rows, and an older copy of its files.
struct Sample {
    backend: Backend,
    files: Files,
    older: Files,
    /// The files after one more commit.
    next: Files,
    rows: Vec<(Table, KeyValues)>,
    next_rows: Vec<(Table, KeyValues)>,
}

/// Damage of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Harm {
    FlippedBit,
    ZeroedSector,
    ZeroedPage,
    Cut,
    Deleted,
    Swapped,
    Older,
}

const HARMS: [Harm; 7] = [
    Harm::FlippedBit,
    Harm::ZeroedSector,
    Harm::ZeroedPage,
    Harm::Cut,
    Harm::Deleted,
    Harm::Swapped,
    Harm::Older,
];

/// State of the files in which no acknowledged commit is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Harmless {
    /// The next commit was not acknowledged before a power cut, and is in its log in part.
    TornTail,
    /// The mark on the disk is older than the store.
    OlderMark,
    /// The power was cut while the mark was written.
    HalfMark,
    NoMark,
    DamagedMarker,
    NoMarker,
    /// Files that a killed process was writing.
    Drafts,
    /// Files of others.
    Others,
}

const HARMLESS: [Harmless; 8] = [
    Harmless::TornTail,
    Harmless::OlderMark,
    Harmless::HalfMark,
    Harmless::NoMark,
    Harmless::DamagedMarker,
    Harmless::NoMarker,
    Harmless::Drafts,
    Harmless::Others,
];

/// End of the process that wrote the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Stopped,
    Killed,
}

fn settings(backend: Backend, home: &Path) -> StoreSettings {
    StoreSettings {
        backend,
        path: home.join("store"),
        cache_bytes: 8 * 1024 * 1024,
    }
}

async fn fill(store: &Store, from: u32, to: u32) {
    for n in from..to {
        let rows = batch(|batch| {
            let key = format!("{:04}", n * 7 % 400);
            batch.put(Table::Event, &key, vec![n as u8; 300]);
            batch.put(Table::Transaction, &key, n.to_be_bytes());
            batch.put(Table::Index, format!("an/index/{key}"), "");
            batch.add(Table::Count, format!("c{}", n % 30), [1]);
        });
        store.commit(rows).await.unwrap();
    }
}

/// Without the store's own rows: one that is opened without its mark gets another identity.
async fn all_rows(store: &Store) -> Vec<(Table, KeyValues)> {
    let mut all = Vec::new();
    for table in Table::ALL.into_iter().filter(|table| *table != Table::Meta) {
        let rows = store.scan(table, b"", &[u8::MAX], Direction::Forward, usize::MAX);
        all.push((table, rows.await.unwrap()));
    }
    all
}

impl Sample {
    async fn new(backend: Backend, end: End) -> Self {
        let home = tempfile::tempdir().unwrap();
        let store = Store::open(&settings(backend, home.path())).unwrap();
        fill(&store, 0, 300).await;
        let older = read_files(home.path());
        fill(&store, 300, 500).await;
        let rows = all_rows(&store).await;
        if end == End::Stopped {
            assert!(store.close().await);
        }
        let files = read_files(home.path());
        let copy = tempfile::tempdir().unwrap();
        write_files(copy.path(), &files);
        let store = Store::open(&settings(backend, copy.path())).unwrap();
        fill(&store, 500, 501).await;
        Self {
            backend,
            files,
            older,
            next: read_files(copy.path()),
            rows,
            next_rows: all_rows(&store).await,
        }
    }

    /// Opens the files after something harmless and reads every row. Returns the fault.
    async fn after_harmless(
        &self,
        harmless: Harmless,
        chance: &mut impl FnMut(usize) -> usize,
    ) -> Option<String> {
        let home = tempfile::tempdir().unwrap();
        let mut files = self.files.clone();
        let what = self.leave(harmless, &mut files, chance);
        write_files(home.path(), &files);
        let store = match Store::open(&settings(self.backend, home.path())) {
            Ok(store) => store,
            Err(refused) => return Some(format!("{what}: {refused}")),
        };
        if let Some(damage) = store.damage() {
            return Some(format!("{what}: {damage}"));
        }
        let (mut is_refused, mut fault) = self.read(&store, &what).await;
        if fault.is_some() && harmless == Harmless::TornTail {
            // The commit may be there as a whole.
            (is_refused, fault) = read_as(&self.next_rows, &store, &what).await;
        }
        fault.or(is_refused.then(|| format!("{what}: a row is refused")))
    }

    /// Returns what was done.
    fn leave(
        &self,
        harmless: Harmless,
        files: &mut Files,
        chance: &mut impl FnMut(usize) -> usize,
    ) -> String {
        let at = |files: &Files, path: &str| {
            let at = files.iter().position(|(found, _)| found == Path::new(path));
            at.unwrap_or_else(|| panic!("there is no {path}"))
        };
        let mut add = |path: &str| files.push((PathBuf::from(path), vec![7; 1 + chance(9_000)]));
        let mut what = format!("{harmless:?}");
        match harmless {
            Harmless::TornTail => what = format!("{what} {}", self.tear_tail(files, chance)),
            Harmless::OlderMark => {
                let older = self.older[at(&self.older, MARK)].1.clone();
                let mark = at(files, MARK);
                files[mark].1 = older;
            }
            Harmless::HalfMark => {
                let mark = at(files, MARK);
                // The line of the group before the last one.
                let other = SECTOR * (1 - LAST as usize % 2);
                let place = other + chance(SECTOR);
                files[mark].1[place..other + SECTOR].fill(0);
            }
            Harmless::NoMark => drop(files.remove(at(files, MARK))),
            Harmless::DamagedMarker => {
                let marker = at(files, MARKER);
                let place = chance(files[marker].1.len());
                files[marker].1[place] ^= 1 << chance(8);
            }
            Harmless::NoMarker => drop(files.remove(at(files, MARKER))),
            Harmless::Drafts => {
                add("store.mark.new");
                add("store.damage.new");
                add("store/STORE.new");
                add("store/room");
                add(&format!("store/{}.new/half", self.backend.name()));
            }
            Harmless::Others => {
                add("notes");
                add("store/notes");
                add("store.old/sqlite/switchyard.sqlite3");
            }
        }
        what
    }

    /// Adds a part of the next commit to the files, except to the mark, which follows it.
    fn tear_tail(&self, files: &mut Files, chance: &mut impl FnMut(usize) -> usize) -> String {
        let mut torn = Vec::new();
        for (path, bytes) in files.iter_mut().filter(|(path, _)| path != Path::new(MARK)) {
            let next = self.next.iter().find(|(other, _)| other == path);
            let Some((_, next)) = next.filter(|(_, next)| next != bytes) else {
                continue;
            };
            let differs = |at: &usize| bytes.get(*at) != next.get(*at);
            let mut places = (0..next.len()).filter(differs);
            let first = places.next().unwrap_or(next.len());
            let end = places.next_back().map_or(next.len(), |last| last + 1);
            // The files of sled differ far behind the commit, too.
            let most = end.saturating_sub(first).max(1);
            let longest = [most, most.min(600)][chance(2)];
            let cut = first + chance(longest);
            let rest = bytes.get(cut..).unwrap_or_default().to_vec();
            *bytes = [&next[..cut.min(next.len())], &rest].concat();
            torn.push(format!("{} at {cut} of {first} to {end}", path.display()));
        }
        assert!(!torn.is_empty(), "the commit changed no file");
        torn.join(", ")
    }

    /// Opens the files after `harm` to one of them and reads every row. Returns whether a row was
    /// refused, and the error.
    async fn after(
        &self,
        harm: Harm,
        chance: &mut impl FnMut(usize) -> usize,
    ) -> (bool, Option<String>) {
        let home = tempfile::tempdir().unwrap();
        let mut files = self.files.clone();
        let what = self.apply(harm, &mut files, chance);
        write_files(home.path(), &files);
        let Ok(store) = Store::open(&settings(self.backend, home.path())) else {
            return (true, None);
        };
        self.read(&store, &what).await
    }

    /// Reads every row. Returns whether anything was refused, and the first wrong answer.
    async fn read(&self, store: &Store, what: &str) -> (bool, Option<String>) {
        read_as(&self.rows, store, what).await
    }

    /// Harms the log of a running store, reads every row, closes the store and opens it again.
    async fn harmed_while_it_runs(
        &self,
        harm: Harm,
        chance: &mut impl FnMut(usize) -> usize,
    ) -> (bool, Option<String>) {
        let home = tempfile::tempdir().unwrap();
        write_files(home.path(), &self.files);
        let store = Store::open(&settings(self.backend, home.path())).unwrap();
        let log = home.path().join("store/sqlite/switchyard.sqlite3-wal");
        let mut bytes = fs::read(&log).unwrap();
        // Of older frames later ones have the page.
        let newest = bytes.len().min(NEWEST * FRAME_BYTES);
        let place = bytes.len() - 1 - chance(newest - 512);
        match harm {
            Harm::FlippedBit => bytes[place] ^= 1 << chance(8),
            Harm::ZeroedSector => bytes[place / 512 * 512 - 512..][..512].fill(0),
            _ => {
                let frames = bytes.len() / FRAME_BYTES;
                let [from, to] = [chance(frames), frames - 1 - chance(NEWEST)];
                let [from, to] = [from, to].map(|frame| 32 + frame * FRAME_BYTES);
                bytes.copy_within(from..from + FRAME_BYTES, to);
            }
        }
        // In place: the store has the file open.
        let file = fs::OpenOptions::new().write(true).open(&log).unwrap();
        file.write_all_at(&bytes, 0).unwrap();
        let what = format!("{harm:?} of the log at {place} of {}", bytes.len());
        let (is_refused, wrong) = self.read(&store, &what).await;
        if wrong.is_some() {
            return (is_refused, wrong);
        }
        let is_closed = store.close().await;
        let what = format!("{what}, closed: {is_closed}");
        match Store::open(&settings(self.backend, home.path())) {
            Ok(store) => self.read(&store, &what).await,
            Err(_) => (true, None),
        }
    }

    /// Returns what was done.
    fn apply(
        &self,
        harm: Harm,
        files: &mut Files,
        chance: &mut impl FnMut(usize) -> usize,
    ) -> String {
        let filled: Vec<usize> = (0..files.len())
            .filter(|&at| !files[at].1.is_empty())
            .collect();
        let at = filled[chance(filled.len())];
        let (path, bytes) = &mut files[at];
        let place = chance(bytes.len());
        let what = format!("{harm:?} {} at {place} of {}", path.display(), bytes.len());
        let mut zero = |unit: usize| {
            let from = place / unit * unit;
            let to = bytes.len().min(from + unit);
            bytes[from..to].fill(0);
        };
        match harm {
            Harm::FlippedBit => bytes[place] ^= 1 << chance(8),
            Harm::ZeroedSector => zero(512),
            Harm::ZeroedPage => zero(4096),
            Harm::Cut => bytes.truncate(place),
            Harm::Deleted => drop(files.remove(at)),
            Harm::Swapped => {
                let other = filled[chance(filled.len())];
                let taken = std::mem::take(&mut files[at].1);
                let taken = std::mem::replace(&mut files[other].1, taken);
                files[at].1 = taken;
            }
            Harm::Older => {
                let older = self.older.iter().find(|(other, _)| *other == files[at].0);
                match older {
                    Some((_, older)) => files[at].1.clone_from(older),
                    None => drop(files.remove(at)),
                }
            }
        }
        what
    }
}

/// As [`Sample::read`], of a store that should have these rows.
async fn read_as(all: &[(Table, KeyValues)], store: &Store, what: &str) -> (bool, Option<String>) {
    let mut is_refused = false;
    for (table, rows) in all {
        let scan = store.scan(*table, b"", &[u8::MAX], Direction::Forward, usize::MAX);
        match scan.await {
            Ok(found) if found != *rows => {
                return (false, Some(format!("{what}: a scan of {table:?} differs")));
            }
            Ok(_) => {}
            Err(_) => is_refused = true,
        }
        for (key, value) in rows {
            match store.get(*table, key).await {
                Ok(found) if found.as_ref() != Some(value) => {
                    let fault = format!("{what}: a row of {table:?} is {found:?}");
                    return (false, Some(fault));
                }
                Ok(_) => {}
                Err(_) => is_refused = true,
            }
        }
    }
    (is_refused, None)
}

fn read_files(home: &Path) -> Files {
    let mut files = Vec::new();
    let mut folders = vec![home.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                // The index of the log in shared memory: rebuilt at each opening.
                false if path.to_str().unwrap().ends_with("-shm") => {}
                false => {
                    let bytes = fs::read(&path).unwrap();
                    files.push((path.strip_prefix(home).unwrap().to_owned(), bytes));
                }
            }
        }
    }
    files.sort();
    files
}

fn write_files(home: &Path, files: &Files) {
    for (path, bytes) in files {
        let path = home.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

fn chances() -> impl FnMut(usize) -> usize {
    let ids = Ids::seeded(20);
    move |below| {
        let mut bytes = [0; 8];
        ids.fill(&mut bytes);
        (u64::from_le_bytes(bytes) % below as u64) as usize
    }
}

async fn trials(backend: Backend) {
    let mut chance = chances();
    let mut wrong = Vec::new();
    let mut refused = 0;
    for end in [End::Stopped, End::Killed] {
        let sample = Sample::new(backend, end).await;
        for trial in 0..TRIALS / 2 {
            let harm = HARMS[trial % HARMS.len()];
            let (is_refused, fault) = sample.after(harm, &mut chance).await;
            refused += usize::from(is_refused);
            wrong.extend(fault.map(|fault| format!("{end:?}, {fault}")));
        }
    }
    assert!(wrong.is_empty(), "{} of {TRIALS}: {wrong:#?}", wrong.len());
    assert!(refused > TRIALS / 4, "{refused} of {TRIALS} refused");
}

/// The other half: a store from which nothing acknowledged is missing is opened and answers.
async fn harmless(backend: Backend) {
    let mut chance = chances();
    let mut wrong = Vec::new();
    for end in [End::Stopped, End::Killed] {
        let sample = Sample::new(backend, end).await;
        for trial in 0..SOUND / 2 {
            let harmless = HARMLESS[trial % HARMLESS.len()];
            let fault = sample.after_harmless(harmless, &mut chance).await;
            wrong.extend(fault.map(|fault| format!("{end:?}, {fault}")));
        }
    }
    assert!(wrong.is_empty(), "{} of {SOUND}: {wrong:#?}", wrong.len());
}

#[tokio::test]
async fn sqlite_is_not_refused_when_nothing_acknowledged_is_missing() {
    harmless(Backend::Sqlite).await;
}

#[tokio::test]
async fn sled_is_not_refused_when_nothing_acknowledged_is_missing() {
    harmless(Backend::Sled).await;
}

#[tokio::test]
async fn sqlite_answers_as_before_or_refuses_after_any_damage() {
    trials(Backend::Sqlite).await;
}

#[tokio::test]
async fn sled_answers_as_before_or_refuses_after_any_damage() {
    trials(Backend::Sled).await;
}

#[tokio::test]
async fn a_log_that_is_damaged_under_a_running_store_changes_no_row() {
    let mut chance = chances();
    let sample = Sample::new(Backend::Sqlite, End::Killed).await;
    let (mut wrong, mut refused) = (Vec::new(), 0);
    for trial in 0..RUNNING {
        let harm = [Harm::FlippedBit, Harm::ZeroedSector, Harm::Swapped][trial % 3];
        let (is_refused, fault) = sample.harmed_while_it_runs(harm, &mut chance).await;
        refused += usize::from(is_refused);
        wrong.extend(fault);
    }
    assert!(wrong.is_empty(), "{} of {RUNNING}: {wrong:#?}", wrong.len());
    assert!(refused > RUNNING / 4, "{refused} of {RUNNING} refused");
}

/// Length of a frame of the log: its header and a page.
const FRAME_BYTES: usize = 24 + 4096;
/// Frames at the end of a log that are damaged under a running store.
const NEWEST: usize = 20;
/// Logs that are damaged under a running store.
const RUNNING: usize = 60;
/// Damaged copies of each backend.
const TRIALS: usize = 420;
/// Sound copies of each backend.
const SOUND: usize = 160;
const MARK: &str = "store.mark";
const MARKER: &str = "store/STORE";
/// The unit in which the mark is written.
const SECTOR: usize = 512;
/// The last commit group of a sample.
const LAST: u64 = 500;
