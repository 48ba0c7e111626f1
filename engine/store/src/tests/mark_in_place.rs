//! The mark of an open store that is deleted, replaced or overwritten.

use std::fs;
use std::path::Path;
use std::time::Duration;

use super::damage::{Home, fill, zero};
use super::logged;
use crate::kv::memory::Memory;
use crate::mark::{Found, KnownLoss, Mark, MarkPlace};
use crate::point::Point;
use crate::*;

type Harm = fn(&Home, &[u8]);

/// Each with the content of an earlier mark.
const HARMS: [(&str, Harm); 5] = [
    ("deleted", |home, _| fs::remove_file(home.mark()).unwrap()),
    ("replaced by an older one", |home, older| {
        let other = home.0.path().join("other");
        fs::write(&other, older).unwrap();
        fs::rename(&other, home.mark()).unwrap();
    }),
    ("overwritten with an older one", |home, older| {
        fs::write(home.mark(), older).unwrap();
    }),
    ("damaged", |home, _| zero(&home.mark(), 0, 1024)),
    ("replaced by its copy", |home, _| {
        let other = home.0.path().join("other");
        fs::copy(home.mark(), &other).unwrap();
        fs::rename(&other, home.mark()).unwrap();
    }),
];

/// Time after which the open store has verified its mark.
const VERIFIED: Duration = Duration::from_millis(1_500);

/// A store with 60 rows, and the content that its mark had after 20.
async fn filled() -> (Home, Store, Vec<u8>) {
    let home = Home::new();
    let store = home.open();
    fill(&store, 0, 20).await;
    let older = fs::read(home.mark()).unwrap();
    fill(&store, 20, 60).await;
    (home, store, older)
}

/// The refusal of a store whose log is gone. It is known by its mark only.
fn refusal_without_log(home: &Home) -> String {
    let copy = home.killed();
    fs::remove_file(copy.log()).unwrap();
    copy.refusal().to_string()
}

#[tokio::test]
async fn a_mark_that_is_changed_while_the_store_is_open_is_written_again() {
    for (name, harm) in HARMS {
        for later in [0, 5] {
            let (home, store, older) = filled().await;
            harm(&home, &older);
            tokio::time::sleep(VERIFIED).await;
            // Later groups go to the new file.
            fill(&store, 60, 60 + later).await;
            let refused = refusal_without_log(&home);
            let reached = format!("group {} of", 60 + later);
            assert!(refused.contains(&reached), "{name}: {refused}");
            assert_eq!(store.damage(), None, "{name}");
            assert!(store.close().await, "{name}");
        }
    }
}

/// Also when the store is closed within the second.
#[tokio::test]
async fn a_mark_that_is_changed_is_written_again_when_the_store_is_closed() {
    for (name, harm) in HARMS {
        let (home, store, older) = filled().await;
        harm(&home, &older);
        assert!(store.close().await, "{name}");
        drop(store);
        fs::remove_dir_all(home.settings().path).unwrap();
        let refused = home.refusal().to_string();
        assert!(refused.contains("group 60 of"), "{name}: {refused}");
    }
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy_folder(&entry.path(), &to),
            false => {
                let _ = fs::remove_file(&to); // an open file stays with the store
                fs::copy(entry.path(), &to).unwrap();
            }
        }
    }
}

/// The whole folder with its mark is copied back while the store is open. The store is closed, or
/// its process is killed a second later.
#[tokio::test]
async fn an_older_folder_that_is_copied_over_an_open_store_is_refused_at_the_next_start() {
    for backend in [Backend::Sqlite, Backend::Sled] {
        for is_closed in [true, false] {
            let home = Home::new();
            let settings = StoreSettings {
                backend,
                ..home.settings()
            };
            let older = tempfile::tempdir().unwrap();
            let store = Store::open(&settings).unwrap();
            fill(&store, 0, 20).await;
            assert!(store.close().await);
            drop(store);
            copy_folder(home.0.path(), older.path());
            let store = Store::open(&settings).unwrap();
            fill(&store, 20, 60).await;
            copy_folder(older.path(), home.0.path());
            tokio::time::sleep(VERIFIED).await;
            assert!(!store.stats().available, "{backend:?}");
            let after = Home::new();
            if !is_closed {
                copy_folder(home.0.path(), after.0.path());
            }
            store.close().await;
            drop(store);
            if is_closed {
                copy_folder(home.0.path(), after.0.path());
            }
            let path = after.settings().path;
            let refused = Store::open(&StoreSettings { path, ..settings });
            let refused = refused.err().map(|refused| refused.to_string());
            let refused = refused.unwrap_or_default();
            assert!(
                refused.contains("ends with commit group 20") && refused.contains("group 60 of"),
                "{backend:?}: {refused}"
            );
        }
    }
}

#[tokio::test]
async fn the_mark_of_another_store_is_not_overwritten() {
    let (home, store, _) = filled().await;
    let other = Home::new();
    let restored = other.open();
    fill(&restored, 0, 1).await;
    assert!(restored.close().await);
    let of_other = fs::read(other.mark()).unwrap();
    fs::write(home.mark(), &of_other).unwrap();
    tokio::time::sleep(VERIFIED).await;
    store.close().await;
    assert_eq!(fs::read(home.mark()).unwrap(), of_other);
}

/// A folder in the place of the mark.
#[tokio::test]
async fn a_mark_that_cannot_be_written_is_written_when_its_place_is_free() {
    let (home, store, _) = filled().await;
    fs::remove_file(home.mark()).unwrap();
    fs::create_dir(home.mark()).unwrap();
    tokio::time::sleep(VERIFIED).await;
    assert!(store.stats().available);
    fs::remove_dir(home.mark()).unwrap();
    tokio::time::sleep(VERIFIED).await;
    let mark = MarkPlace::of(&home.settings().path);
    assert!(mark.read().is_ok());
    let refused = refusal_without_log(&home);
    assert!(refused.contains("group 60 of"), "{refused}");
}

/// The mark is verified once a second.
#[tokio::test]
async fn the_mark_of_another_store_is_warned_of_once() {
    let (home, other) = (Home::new(), Home::new());
    let warned = "WARN switchyard_store::mark: the mark was replaced by that of another store";
    let open = |home: &Home| {
        let path = home.settings().path;
        Mark::open(&path, &Memory::default(), KnownLoss::default()).unwrap()
    };
    let (mut mark, _) = (open(&home), open(&other));
    let own = fs::read(home.mark()).unwrap();
    for round in 0..2 {
        fs::copy(other.mark(), home.mark()).unwrap();
        let said = logged(|| (0..3).for_each(|_| mark.keep()));
        assert_eq!(said.matches(warned).count(), 1, "{round}: {said}");
        assert_eq!(said.lines().count(), 1, "{round}: {said}");
        fs::write(home.mark(), &own).unwrap();
        assert_eq!(logged(|| mark.keep()), "", "{round}: it is the right one");
    }
}

/// On a full disk no second file can be made. A folder of its name stands for that.
#[tokio::test]
async fn a_mark_that_is_behind_at_a_start_is_moved_on_in_its_place() {
    for (behind, is_restored) in [(1, false), (2, false), (1, true), (40, true)] {
        let (home, _store, _) = filled().await;
        let killed = home.killed();
        let place = MarkPlace::of(&killed.settings().path);
        let Found::Point(end) = place.read().unwrap() else {
            panic!("it is readable");
        };
        let older = Point::new(end.store, end.sequence - behind, end.at);
        let before = is_restored.then(|| Point::new(ulid::Ulid::nil(), 7, end.at));
        place.make_after(older, before).unwrap();
        let draft = killed.mark().with_added_extension("new");
        fs::create_dir(&draft).unwrap();
        let store = killed.open();
        let content = fs::read(killed.mark()).unwrap();
        assert_eq!(content.len(), 1024);
        for line in content.chunks(512) {
            assert_eq!(Point::of_line(line), Some(end), "{behind} behind");
        }
        assert_eq!(place.end().unwrap(), Some(end), "{behind} behind");
        fill(&store, 60, 61).await;
        assert!(store.close().await);
        let reached = place.end().unwrap().map(|end| end.sequence);
        assert_eq!(reached, Some(end.sequence + 1), "{behind} behind");
    }
}
