//! The continuous copy after the loss of the machine, failures of the destination and damage.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::batch;
use super::damage::{Home, fill, stored};
use crate::*;
use switchyard_system::ids::Ids;

pub(super) const EVERY: Duration = Duration::from_millis(300);
const GENEROUS: Duration = Duration::from_secs(60);

pub(super) fn copier(home: &Home, store: &Store, to: &Path) -> JoinHandle<()> {
    copier_with(home, store, to, base_of(home))
}

/// Makes the bases of a copy.
pub(super) fn base_of(home: &Home) -> MakeBase {
    let source = home.settings();
    Arc::new(move |to| {
        let source = BackupSource {
            store: &source,
            gateways: Path::new("/nonexistent"),
            settings: None,
            views: Views::AsStored,
        };
        let made = backup(source, to, 0, &mut |_| {});
        made.map(drop).map_err(|error| error.to_string())
    })
}

pub(super) fn copier_with(
    home: &Home,
    store: &Store,
    to: &Path,
    make_base: MakeBase,
) -> JoinHandle<()> {
    let copier = Copier::new(store, &home.settings(), to.to_owned(), EVERY, make_base);
    std::thread::spawn(move || copier.unwrap().run())
}

pub(super) fn restore_into(home: &Home, copy: &Path) -> Result<Restored, MaintenanceError> {
    let target = RestoreTarget {
        store: &home.settings(),
        gateways: Some(&home.0.path().join("gateways")),
        settings: &home.0.path().join("restored.toml"),
    };
    restore(copy, target, &mut |_| {})
}

/// Rows of the store that a restore makes of a copy. Its check has read every row and page.
pub(super) async fn rows_in(copy: &Path) -> Result<usize, MaintenanceError> {
    let home = Home::new();
    let record = match restore_into(&home, copy) {
        Ok(record) => record,
        Err(refused) => {
            assert!(!home.settings().path.exists(), "{refused}");
            return Err(refused);
        }
    };
    let store = home.open();
    assert_eq!(store.restored().await.unwrap(), Some(record));
    let rows = stored(&store).await;
    assert!(store.close().await);
    Ok(rows)
}

/// Waits until every commit can be restored.
pub(super) async fn copied(store: &Store) {
    let begun = Instant::now();
    while store.stats().copy_lag > Duration::ZERO {
        assert!(begun.elapsed() < GENEROUS, "{:?}", store.stats());
        sleep(Duration::from_millis(20)).await;
    }
}

/// Makes commits that fill more than one log of 16 MiB. Returns the number of them all.
pub(super) async fn fill_logs(store: &Store, from: u32, logs: u32) -> u32 {
    let to = from + logs * 180;
    fill_large(store, from, to).await;
    to
}

async fn fill_large(store: &Store, from: u32, to: u32) {
    for n in from..to {
        let row = batch(|batch| {
            batch.put(Table::Event, n.to_be_bytes(), [n as u8; 700]);
            batch.add(Table::Count, "c", [1]);
            // Pages that stay the same are not written again.
            batch.put(Table::Callback, [n as u8], n.to_le_bytes().repeat(20_000));
        });
        store.commit(row).await.unwrap();
    }
}

/// A copy of a folder in which files come and go. A file that is renamed or removed before it
/// is read starts the copy again: with the name skipped, the new name would be missing too.
pub(super) fn snapshot(from: &Path, to: &Path) -> io::Result<()> {
    while let Err(error) = snapshot_once(from, to) {
        if error.kind() != io::ErrorKind::NotFound || !from.exists() {
            return Err(error);
        }
        fs::remove_dir_all(to)?;
    }
    Ok(())
}

fn snapshot_once(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let (from, to) = (entry?.path(), to);
        let to = to.join(from.file_name().unwrap());
        match from.is_dir() {
            true => snapshot_once(&from, &to)?,
            false => drop(fs::copy(&from, &to)?),
        }
    }
    Ok(())
}

/// Files of all logs in a copy with one generation, the oldest first.
pub(super) fn logs(copy: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for generation in fs::read_dir(copy).unwrap() {
        let generation = generation.unwrap().path();
        if generation.is_dir() {
            let entries = fs::read_dir(generation).unwrap();
            found.extend(entries.map(|entry| entry.unwrap().path()));
        }
    }
    found.retain(|path| {
        path.file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .starts_with("log-")
    });
    found.sort();
    found
}

pub(super) fn generations(to: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(to).unwrap();
    let mut folders: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    folders.retain(|path| path.is_dir());
    folders.sort();
    folders
}

pub(super) fn chance(seed: &Ids, below: u64) -> u64 {
    let mut bytes = [0; 8];
    seed.fill(&mut bytes);
    u64::from_le_bytes(bytes) % below
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_in_which_the_store_got_a_new_identity_is_copied_and_restored() {
    let (home, elsewhere) = (Home::new(), tempfile::tempdir().unwrap());
    let store = home.open();
    fill(&store, 0, 20).await;
    let killed = home.killed();
    fs::remove_file(killed.mark()).unwrap();
    let store = killed.open();
    assert!(store.restored().await.unwrap().is_some(), "it has one");
    let to = elsewhere.path().join("copy");
    let copying = copier(&killed, &store, &to);
    fill(&store, 20, 25).await;
    copied(&store).await;
    assert!(store.close().await);
    copying.join().unwrap();
    assert_eq!(rows_in(&to).await.unwrap(), 25);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_machine_that_is_lost_at_any_time_loses_the_last_seconds_and_nothing_else() {
    let (home, elsewhere) = (Home::new(), tempfile::tempdir().unwrap());
    let to = elsewhere.path().join("copy");
    let store = home.open();
    fill(&store, 0, 20).await;
    let copying = copier(&home, &store, &to);
    fill(&store, 20, 21).await;
    copied(&store).await;
    let seed = Ids::seeded(6);
    let (mut made, mut seen) = (21, Vec::new());
    for trial in 0..TRIALS {
        let load = Load::start(&store, made);
        sleep(Duration::from_millis(chance(&seed, 400))).await;
        let acknowledged = load.made.load(Ordering::Acquire);
        sleep(RECOVERY_POINT).await;
        let copy = elsewhere.path().join(format!("lost{trial}"));
        snapshot(&to, &copy).unwrap();
        made = load.end().await;
        let rows = rows_in(&copy).await.unwrap();
        assert!(rows >= acknowledged as usize, "{rows} of {acknowledged}");
        // The last round is cut off anywhere.
        let last = logs(&copy).pop().unwrap();
        let length = fs::metadata(&last).unwrap().len();
        let cut = length - chance(&seed, length.clamp(1, 400_000));
        let file = File::options().write(true).open(&last).unwrap();
        file.set_len(cut).unwrap();
        let less = rows_in(&copy).await.unwrap();
        assert!(less <= rows, "{less} of {rows}, cut at {cut} of {length}");
        seen.push(rows);
        fs::remove_dir_all(copy).unwrap();
    }
    let all = made as usize;
    assert!(seen.is_sorted() && seen[0] < all, "{seen:?} {all}");
    assert!(store.close().await);
    copying.join().unwrap();
    assert_eq!(
        rows_in(&to).await.unwrap(),
        all,
        "a clean stop loses nothing"
    );
}

const TRIALS: usize = 5;
/// For rounds of 300 ms on a slow disk that others use too.
pub(super) const RECOVERY_POINT: Duration = Duration::from_secs(2);

/// A task that makes commits, small and large ones, one after the other.
struct Load {
    ends: Arc<AtomicBool>,
    made: Arc<AtomicU32>,
    task: tokio::task::JoinHandle<()>,
}

impl Load {
    fn start(store: &Store, from: u32) -> Self {
        let (ends, made) = (Arc::<AtomicBool>::default(), Arc::new(AtomicU32::new(from)));
        let task = tokio::spawn({
            let (store, ends, made) = (store.clone(), ends.clone(), made.clone());
            async move {
                for next in from.. {
                    if ends.load(Ordering::Acquire) {
                        return;
                    }
                    match next % 10 {
                        0 => fill_large(&store, next, next + 1).await,
                        _ => fill(&store, next, next + 1).await,
                    }
                    made.store(next + 1, Ordering::Release);
                }
            }
        });
        Self { ends, made, task }
    }

    async fn end(self) -> u32 {
        self.ends.store(true, Ordering::Release);
        self.task.await.unwrap();
        self.made.load(Ordering::Acquire)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn logs_are_shipped_without_a_gap_and_a_missing_or_broken_one_is_refused() {
    let (home, elsewhere) = (Home::new(), tempfile::tempdir().unwrap());
    let to = elsewhere.path().join("copy");
    let store = home.open();
    fill(&store, 0, 20).await;
    let copying = copier(&home, &store, &to);
    fill(&store, 20, 21).await;
    copied(&store).await;
    let all = fill_logs(&store, 21, 5).await;
    assert!(store.close().await);
    copying.join().unwrap();
    let shipped = logs(&to);
    assert!(shipped.len() >= 3, "{shipped:?}");
    assert_eq!(rows_in(&to).await.unwrap(), all as usize);
    tells_its_progress(&to);

    let middle = &shipped[shipped.len() / 2];
    let whole = fs::read(middle).unwrap();
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    let without = "does not continue group";
    for (content, said) in [
        (None, without),
        (Some(&whole[..whole.len() / 2]), without),
        (Some(&whole[..whole.len() - 1]), without),
        (Some(&[]), without),
        (Some(&flipped), "the log is damaged from byte"),
    ] {
        match content {
            Some(content) => fs::write(middle, content).unwrap(),
            None => fs::remove_file(middle).unwrap(),
        }
        let refused = rows_in(&to).await.unwrap_err().to_string();
        assert!(refused.contains(said), "{said}: {refused}");
    }
    fs::write(middle, &whole).unwrap();
    assert_eq!(rows_in(&to).await.unwrap(), all as usize);
}

/// A restore of this copy tells how many bytes and logs it has done, and of how many.
fn tells_its_progress(copy: &Path) {
    let home = Home::new();
    let target = RestoreTarget {
        store: &home.settings(),
        gateways: Some(&home.0.path().join("gateways")),
        settings: &home.0.path().join("restored.toml"),
    };
    let mut stages = std::collections::BTreeMap::new();
    restore(copy, target, &mut |now| {
        let steps: &mut Vec<Progress> = stages.entry(now.stage).or_default();
        assert!(
            steps
                .last()
                .is_none_or(|last| last.done <= now.done || now.done == 0)
        );
        steps.push(now);
    })
    .unwrap();
    for (stage, unit, least) in [("copy", Unit::Bytes, 4096), ("replay", Unit::Logs, 3)] {
        let last = stages[stage].last().unwrap();
        assert_eq!((Some(last.done), last.unit), (last.total, unit), "{stage}");
        assert!(last.done >= least, "{last:?}");
    }
    let rows = stages["history"].last().unwrap();
    assert_eq!(rows.unit, Unit::Rows);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_destination_that_fails_stops_no_commit_and_gets_a_new_base_when_it_is_back() {
    let (home, elsewhere) = (Home::new(), tempfile::tempdir().unwrap());
    let to = elsewhere.path().join("copy");
    fs::write(&to, "no folder").unwrap();
    let store = home.open();
    fill(&store, 0, 20).await;
    let copying = copier(&home, &store, &to);
    fill(&store, 20, 40).await;
    sleep(2 * EVERY).await;
    assert!(store.stats().copy_lag >= EVERY, "{:?}", store.stats());
    fs::remove_file(&to).unwrap();
    copied(&store).await;
    assert_eq!(rows_in(&to).await.unwrap(), 40);

    // Lost while logs are shipped: no later log can be created.
    let lost = elsewhere.path().join("lost");
    fs::rename(&to, &lost).unwrap();
    fs::write(&to, "no folder").unwrap();
    let all = fill_logs(&store, 40, 3).await;
    sleep(2 * EVERY).await;
    assert!(store.stats().copy_lag >= EVERY, "{:?}", store.stats());
    fs::remove_file(&to).unwrap();
    fs::rename(&lost, &to).unwrap();
    fill(&store, all, all + 1).await;
    copied(&store).await;
    assert_eq!(rows_in(&to).await.unwrap(), all as usize + 1);
    let generations = fs::read_dir(&to).unwrap().count() - 1;
    assert_eq!(generations, 1, "the older one and the lock are not counted");

    // The next start makes another generation.
    assert!(store.close().await);
    copying.join().unwrap();
    let before = logs(&to);
    let store = home.open();
    let copying = copier(&home, &store, &to);
    fill(&store, all + 1, all + 3).await;
    copied(&store).await;
    assert!(before.iter().all(|log| !log.exists()), "{before:?}");
    assert_eq!(rows_in(&to).await.unwrap(), all as usize + 3);
    assert!(store.close().await);
    copying.join().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_destination_that_is_moved_away_while_its_files_are_open_is_noticed() {
    let (home, elsewhere) = (Home::new(), tempfile::tempdir().unwrap());
    let to = elsewhere.path().join("copy");
    let store = home.open();
    let copying = copier(&home, &store, &to);
    fill(&store, 0, 20).await;
    copied(&store).await;
    // No commit follows, and no log is created: only the paths tell.
    let lost = elsewhere.path().join("lost");
    fs::rename(&to, &lost).unwrap();
    fs::write(&to, "no folder").unwrap();
    sleep(3 * EVERY).await;
    assert!(store.stats().copy_lag >= EVERY, "{:?}", store.stats());
    fs::remove_file(&to).unwrap();
    copied(&store).await;
    assert_eq!(rows_in(&to).await.unwrap(), 20);

    // The folder of the generation is another one with the same name and log.
    let generation = generations(&to).remove(0);
    fs::write(generation.join("id"), "01ARZ3NDEKTSV4RRFFQ69G5FAV").unwrap();
    let all = fill_logs(&store, 20, 3).await;
    fill(&store, all, all + 1).await;
    copied(&store).await;
    assert!(generation.join("kept").exists());
    assert!(!generation.join("log-0000000002").exists());
    assert_eq!(rows_in(&to).await.unwrap(), all as usize + 1);
    assert!(store.close().await);
    copying.join().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_whose_files_are_deleted_or_cut_is_made_again() {
    let (home, elsewhere) = (Home::new(), tempfile::tempdir().unwrap());
    let to = elsewhere.path().join("copy");
    let store = home.open();
    let copying = copier(&home, &store, &to);
    let damages: [fn(&Path) -> io::Result<()>; 3] = [
        |generation| fs::remove_file(newest(generation, "base-").join("backup.json")),
        |generation| fs::remove_dir_all(newest(generation, "base-")),
        |generation| {
            let log = File::options()
                .write(true)
                .open(newest(generation, "log-"))?;
            log.set_len(9)
        },
    ];
    for (rows, damage) in (0..).zip(damages) {
        fill(&store, rows, rows + 1).await;
        copied(&store).await;
        let generation = generations(&to).pop().unwrap();
        // No commit follows: only the files tell.
        damage(&generation).unwrap();
        sleep(3 * EVERY).await;
        copied(&store).await;
        assert_ne!(generations(&to).pop().unwrap(), generation, "{rows}");
        assert_eq!(rows_in(&to).await.unwrap(), rows as usize + 1);
    }
    assert!(store.close().await);
    copying.join().unwrap();
}

/// The entry of a folder with this prefix and the highest number.
fn newest(folder: &Path, prefix: &str) -> PathBuf {
    let entries = fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let name = names.filter(|name| name.starts_with(prefix)).max();
    folder.join(name.unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_copy_of_a_running_server_is_locked_until_it_ends() {
    let (home, elsewhere) = (Home::new(), tempfile::tempdir().unwrap());
    let to = elsewhere.path().join("copy");
    let store = home.open();
    let copying = copier(&home, &store, &to);
    fill(&store, 0, 5).await;
    copied(&store).await;
    let generation = generations(&to).remove(0);
    for folder in [&to, &generation] {
        match lock_copy(folder) {
            Ok(_) => panic!("{} is not in use", folder.display()),
            Err(refused) => {
                assert!(matches!(refused, MaintenanceError::CopyInUse { .. }));
                assert!(refused.to_string().contains("--from-running"), "{refused}");
            }
        }
    }
    assert!(store.close().await);
    copying.join().unwrap();
    for folder in [&to, &generation, &elsewhere.path().to_owned()] {
        assert!(lock_copy(folder).is_ok());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_flipped_bit_of_a_write_ahead_log_is_refused_or_cuts_its_last_commits() {
    let (home, elsewhere) = (Home::new(), tempfile::tempdir().unwrap());
    let to = elsewhere.path().join("copy");
    let store = home.open();
    fill(&store, 0, 10).await;
    let copying = copier(&home, &store, &to);
    fill(&store, 10, 11).await;
    copied(&store).await;
    fill(&store, 11, 40).await;
    assert!(store.close().await);
    copying.join().unwrap();
    assert_eq!(rows_in(&to).await.unwrap(), 40);
    let log = logs(&to).pop().unwrap();
    let whole = fs::read(&log).unwrap();
    let seed = Ids::seeded(7);
    let (mut refused, mut cut) = (0, 0);
    for trial in 0..60 {
        let mut damaged = whole.clone();
        // Every second one is near the end, where a commit may have been cut off.
        let bits = whole.len() as u64 * 8;
        let bit = match trial % 2 {
            0 => chance(&seed, bits),
            _ => bits - 1 - chance(&seed, bits / 20),
        } as usize;
        damaged[bit / 8] ^= 1 << (bit % 8);
        fs::write(&log, damaged).unwrap();
        match rows_in(&to).await {
            Ok(rows) => {
                // One commit that follows a damaged frame that ends another proves nothing.
                assert!((38..40).contains(&rows), "{rows}, bit {bit} of {bits}");
                cut += 1;
            }
            Err(error) => {
                let said = error.to_string();
                assert!(said.contains("the log is damaged"), "bit {bit}: {said}");
                refused += 1;
            }
        }
    }
    assert!(refused > 20 && cut > 0, "{refused} refused, {cut} cut");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_that_another_program_restarts_is_a_gap_and_begins_a_new_generation() {
    let (home, elsewhere) = (Home::new(), tempfile::tempdir().unwrap());
    let to = elsewhere.path().join("copy");
    let store = home.open();
    fill(&store, 0, 20).await;
    let copying = copier(&home, &store, &to);
    fill(&store, 20, 21).await;
    copied(&store).await;
    for n in 21..25 {
        fill(&store, n, n + 1).await;
        kv::sqlite::log::move_in(home.database().parent().unwrap()).unwrap();
    }
    fill(&store, 25, 30).await;
    copied(&store).await;
    let second = logs(&to).pop().unwrap();
    assert!(
        !second.starts_with(to.join("generation-0000000001")),
        "{second:?}"
    );
    assert_eq!(rows_in(&to).await.unwrap(), 30);
    assert!(store.close().await);
    copying.join().unwrap();
}

#[tokio::test]
async fn a_destination_that_hangs_holds_up_no_commit_and_fills_no_memory() {
    let home = Home::new();
    let store = home.open();
    let tail = store.0.write_ahead_log().unwrap().tail;
    tail.follow();
    let before = switchyard_system::resources::resident_bytes().unwrap();
    fill_logs(&store, 0, 6).await;
    let lost = tail.next().err().unwrap().to_string();
    assert_eq!(lost, "the log grew faster than it was copied");
    let after = switchyard_system::resources::resident_bytes().unwrap();
    let most = 150 * 1024 * 1024;
    assert!(after < before + most, "from {before} to {after} bytes");
    assert!(store.close().await);
}
