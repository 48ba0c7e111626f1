//! Backups of stopped and running stores, and what a restore makes of them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use sha2::{Digest as _, Sha256};

use super::batch;
use super::damage::{Home, fill, stored, zero};
use crate::draft::Draft;
use crate::*;

/// An installation: a store, gateways and a settings file.
struct Installation {
    home: Home,
    settings: StoreSettings,
}

impl Installation {
    fn new(backend: Backend) -> Self {
        let home = Home::new();
        let settings = StoreSettings {
            backend,
            ..home.settings()
        };
        Self { home, settings }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.home.0.path().join(name)
    }

    fn open(&self) -> Store {
        Store::open(&self.settings).unwrap_or_else(|error| panic!("{error}"))
    }

    fn back_up(&self, to: &Path) -> Result<Manifest, MaintenanceError> {
        let source = BackupSource {
            store: &self.settings,
            gateways: &self.at("gateways"),
            settings: Some("[server]\n"),
            views: Views::Added,
        };
        let mut copied = 0;
        // Slow enough for a writer to commit between two steps.
        backup(source, to, 8 * 1024 * 1024, &mut |now| {
            if now.stage == "copy" {
                assert!(copied <= now.done, "the copy was restarted");
                copied = now.done;
            }
        })
    }

    fn restore(&self, from: &Path) -> Result<Restored, MaintenanceError> {
        self.restore_with(from, Some(&self.at("gateways")))
    }

    fn restore_with(
        &self,
        from: &Path,
        gateways: Option<&Path>,
    ) -> Result<Restored, MaintenanceError> {
        let target = RestoreTarget {
            store: &self.settings,
            gateways,
            settings: &self.at("settings.restored.toml"),
        };
        restore(from, target, &mut |_| {})
    }

    /// Puts a gateway into the folder of the engine's copies. Returns its SHA-256.
    fn add_gateway(&self, bytes: &[u8]) -> String {
        let hash = base16ct::lower::encode_string(&Sha256::digest(bytes));
        fs::create_dir_all(self.at("gateways")).unwrap();
        fs::write(self.at(&format!("gateways/{hash}.so")), bytes).unwrap();
        hash
    }
}

/// Names of all files below a folder.
fn files(folder: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        match entry.file_type().unwrap().is_dir() {
            true => names.extend(
                files(&entry.path())
                    .into_iter()
                    .map(|inner| format!("{name}/{inner}")),
            ),
            false => names.push(name),
        }
    }
    names.sort();
    names
}

#[tokio::test]
async fn a_backup_holds_store_gateways_and_settings_and_is_restored_elsewhere() {
    for backend in [Backend::Sqlite, Backend::Sled] {
        let [old, new] = [Installation::new(backend), Installation::new(backend)];
        let store = old.open();
        fill(&store, 0, 30).await;
        assert!(store.close().await);
        let hash = old.add_gateway(b"a gateway");
        fs::write(old.at("gateways/running"), "a mark of a crash").unwrap();
        fs::write(old.at("gateways/master.key"), "a key").unwrap();
        let folder = old.at("backups/one");
        let manifest = old.back_up(&folder).unwrap();
        assert_eq!((manifest.sequence, manifest.rows["event"]), (30, 30));
        assert_eq!(manifest.gateways, [hash.as_str()]);
        assert_eq!(Manifest::read(&folder).unwrap(), manifest);
        if backend == Backend::Sqlite {
            let gateway = format!("gateways/{hash}.so");
            let wanted = [
                "backup.json",
                gateway.as_str(),
                "store/STORE",
                "store/sqlite/switchyard.sqlite3",
                "switchyard.toml",
            ];
            assert_eq!(files(&folder), wanted);
        }
        let again = old.back_up(&folder);
        assert!(matches!(again, Err(MaintenanceError::Exists { .. })));

        let record = new.restore(&folder).unwrap();
        assert_eq!(
            (record.sequence, record.lost),
            (30, None),
            "there was no mark"
        );
        assert_eq!(record.incarnation, manifest.incarnation);
        assert_eq!(record.backup_at, manifest.sequence_at);
        let settings = fs::read(new.at("settings.restored.toml")).unwrap();
        assert_eq!(settings, b"[server]\n");
        let gateway = fs::read(new.at(&format!("gateways/{hash}.so"))).unwrap();
        assert_eq!(gateway, b"a gateway");
        let checked = check(&new.settings, &mut |_| {}).unwrap();
        assert!(checked.is_sound(), "{checked:?}");
        let store = new.open();
        assert_eq!(stored(&store).await, 30);
        assert_eq!(store.restored().await.unwrap(), Some(record));
        fill(&store, 30, 35).await;
        assert!(store.close().await);
        assert_eq!(stored(&new.open()).await, 35);
        assert_eq!(old.open().restored().await.unwrap(), None);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_beside_a_writer_holds_all_that_was_acknowledged_before_it_and_no_half() {
    let installation = Installation::new(Backend::Sqlite);
    let store = installation.open();
    let large = batch(|batch| {
        for n in 0..30_u8 {
            batch.put(Table::Callback, [n], vec![n; 100_000]);
        }
    });
    store.commit(large).await.unwrap();
    fill(&store, 0, 400).await;
    let ends = Arc::new(AtomicBool::new(false));
    let writing = tokio::spawn({
        let (store, ends) = (store.clone(), ends.clone());
        async move {
            let mut next = 400;
            while !ends.load(Ordering::Acquire) {
                fill(&store, next, next + 1).await;
                next += 1;
            }
            next
        }
    });
    for n in 0..3 {
        let before = store.stats().commits;
        let manifest = installation.back_up(&installation.at(&format!("backup{n}")));
        let manifest = manifest.unwrap();
        assert!(manifest.sequence >= before, "{manifest:?}");
        // Each later commit is one group with one row: the copy shows one moment.
        assert_eq!(manifest.rows["event"], manifest.sequence - 1);
    }
    ends.store(true, Ordering::Release);
    let written = writing.await.unwrap();
    assert!(written > 430, "no commit during a backup: {written}");
    assert_eq!(stored(&store).await, written as usize);
    drop(store);
    let new = Installation::new(Backend::Sqlite);
    let record = new.restore(&installation.at("backup2")).unwrap();
    assert_eq!(stored(&new.open()).await as u64, record.sequence - 1);
}

#[tokio::test]
async fn a_damaged_store_is_not_backed_up_and_leaves_nothing_behind() {
    let installation = Installation::new(Backend::Sqlite);
    let store = installation.open();
    fill(&store, 0, 200).await;
    assert!(store.close().await);
    let whole = fs::read(installation.home.database()).unwrap();
    let folder = installation.at("backup");
    zero(&installation.home.database(), whole.len() as u64 / 2, 512);
    let refused = installation.back_up(&folder).unwrap_err();
    let said = refused.to_string();
    assert!(said.contains("the database is damaged"), "{said}");
    let mut names = fs::read_dir(installation.home.0.path()).unwrap();
    assert!(!names.any(|name| {
        let name = name.unwrap().file_name().into_string().unwrap();
        name.starts_with("backup")
    }));
}

#[tokio::test]
async fn a_gateway_that_cannot_be_read_is_named_and_stops_no_backup() {
    let installation = Installation::new(Backend::Sqlite);
    let store = installation.open();
    fill(&store, 0, 20).await;
    let [good, damaged, unreadable] =
        [b"good", b"harm", b"none"].map(|bytes| installation.add_gateway(bytes));
    let path = |hash: &str| installation.at(&format!("gateways/{hash}.so"));
    fs::write(path(&damaged), "another").unwrap();
    fs::remove_file(path(&unreadable)).unwrap();
    fs::create_dir(path(&unreadable)).unwrap();
    let folder = installation.at("backup");
    let manifest = installation.back_up(&folder).unwrap();
    assert_eq!(manifest.gateways, [good]);
    let left_out = manifest.gateways_left_out.join("\n");
    for said in [
        format!("{damaged}.so is damaged: its SHA-256 is not its name"),
        format!("{unreadable}.so: Is a directory"),
    ] {
        assert!(left_out.contains(&said), "{said}: {left_out}");
    }
    assert_eq!(Manifest::read(&folder).unwrap(), manifest);
    let new = Installation::new(Backend::Sqlite);
    new.restore(&folder).unwrap();
    assert_eq!(stored(&new.open()).await, 20);
}

/// With it the restored store would not be the one that was verified.
#[tokio::test]
async fn a_log_that_lies_in_a_backup_is_not_restored() {
    let installation = Installation::new(Backend::Sqlite);
    let store = installation.open();
    fill(&store, 0, 20).await;
    let folder = installation.at("backup");
    installation.back_up(&folder).unwrap();
    fill(&store, 20, 30).await;
    let name = "sqlite/switchyard.sqlite3-wal";
    let stray = folder.join("store").join(name);
    fs::copy(installation.at("store").join(name), &stray).unwrap();
    let new = Installation::new(Backend::Sqlite);
    let refused = new.restore(&folder).unwrap_err().to_string();
    assert!(refused.contains("switchyard.sqlite3-wal"), "{refused}");
    fs::remove_file(&stray).unwrap();
    new.restore(&folder).unwrap();
    assert_eq!(stored(&new.open()).await, 20);
}

#[tokio::test]
async fn a_damaged_or_missing_gateway_of_a_backup_is_left_out_on_request() {
    let installation = Installation::new(Backend::Sqlite);
    let store = installation.open();
    fill(&store, 0, 20).await;
    let gateway = installation.add_gateway(b"good");
    let folder = installation.at("backup");
    installation.back_up(&folder).unwrap();
    let file = folder.join(format!("gateways/{gateway}.so"));
    for is_missing in [false, true] {
        match is_missing {
            false => fs::write(&file, "another").unwrap(),
            true => fs::remove_file(&file).unwrap(),
        }
        let new = Installation::new(Backend::Sqlite);
        let refused = new.restore(&folder).unwrap_err().to_string();
        assert!(refused.contains(&gateway), "{refused}");
        assert!(refused.contains("`--without-gateways`"), "{refused}");
        new.restore_with(&folder, None).unwrap();
        assert_eq!(stored(&new.open()).await, 20);
        assert!(!new.at(&format!("gateways/{gateway}.so")).exists());
    }
}

#[tokio::test]
async fn a_draft_is_replaced_when_it_was_left_behind_and_no_other_folder_is() {
    let installation = Installation::new(Backend::Sqlite);
    let store = installation.open();
    fill(&store, 0, 20).await;
    let [folder, draft] = ["backup", "backup.draft"].map(|name| installation.at(name));
    fs::create_dir(&draft).unwrap();
    fs::write(draft.join("mine"), "mine").unwrap();
    let refused = installation.back_up(&folder).unwrap_err();
    assert!(matches!(refused, MaintenanceError::NotADraft { .. }));
    assert_eq!(files(&draft), ["mine"]);
    fs::remove_dir_all(&draft).unwrap();

    let other = Draft::make(&folder, store.identity()).unwrap();
    let refused = installation.back_up(&folder).unwrap_err();
    assert!(matches!(refused, MaintenanceError::DraftInUse { .. }));
    let removed = remove_abandoned_draft(&draft, store.identity().unwrap());
    assert!(!removed.unwrap() && draft.exists());
    let mark = fs::read(draft.join("DRAFT")).unwrap();
    drop(other);
    assert!(!draft.exists());

    let left = || {
        fs::create_dir(&draft).unwrap();
        fs::write(draft.join("DRAFT"), &mark).unwrap();
        fs::write(draft.join("half"), "half").unwrap();
    };
    left();
    let other = installation.home.killed();
    fs::remove_file(other.mark()).unwrap();
    let other = other.open().identity().unwrap();
    assert!(!remove_abandoned_draft(&draft, other).unwrap());
    assert!(remove_abandoned_draft(&draft, store.identity().unwrap()).unwrap());
    assert!(!draft.exists());
    left();
    installation.back_up(&folder).unwrap();
    assert!(!draft.exists() && !folder.join("DRAFT").exists() && !folder.join("half").exists());
}

#[tokio::test]
async fn a_backup_inside_the_store_is_refused_also_through_a_link() {
    let installation = Installation::new(Backend::Sqlite);
    let store = installation.open();
    fill(&store, 0, 5).await;
    let (path, link) = (&installation.settings.path, installation.at("link"));
    std::os::unix::fs::symlink(path, &link).unwrap();
    for to in [
        path.join("backup"),
        link.join("backup"),
        link.join("new/backup"),
        installation.at("new/../store/backup"),
    ] {
        let refused = installation.back_up(&to).unwrap_err();
        assert!(
            matches!(refused, MaintenanceError::Inside { .. }),
            "{refused}"
        );
    }
    assert!(!is_inside(&installation.at("store2"), path));
}

#[tokio::test]
async fn a_store_behind_its_mark_is_not_backed_up() {
    let installation = Installation::new(Backend::Sqlite);
    let store = installation.open();
    fill(&store, 0, 20).await;
    let home = installation.home.killed();
    let killed = Installation {
        settings: home.settings(),
        home,
    };
    let manifest = killed.back_up(&killed.at("backup")).unwrap();
    assert_eq!(manifest.sequence, 20, "a store that was killed");
    fs::write(killed.home.log(), "").unwrap();
    let refused = killed.back_up(&killed.at("other")).unwrap_err().to_string();
    assert!(refused.contains("group 20 of"), "{refused}");
    assert!(!killed.at("other").exists());
}

const NO_SUM: &str = "backup.json is damaged (its content does not have its SHA-256)";

#[tokio::test]
async fn a_restore_overwrites_nothing_and_takes_no_damaged_backup() {
    let installation = Installation::new(Backend::Sqlite);
    let store = installation.open();
    fill(&store, 0, 100).await;
    let folder = installation.at("backup");
    installation.back_up(&folder).unwrap();
    let locked = installation.restore(&folder).unwrap_err().to_string();
    assert!(locked.contains("in use by another process"), "{locked}");
    assert!(store.close().await);
    let before = fs::read(installation.home.database()).unwrap();
    let exists = installation.restore(&folder).unwrap_err();
    assert!(matches!(exists, MaintenanceError::StoreExists { .. }));
    assert!(before == fs::read(installation.home.database()).unwrap());

    let database = folder.join("store/sqlite/switchyard.sqlite3");
    let whole = fs::read(&database).unwrap();
    let manifest = fs::read_to_string(folder.join("backup.json")).unwrap();
    let new = Installation::new(Backend::Sqlite);
    let other_format = manifest.replace("\"format\": 2", "\"format\": 9");
    let other_rows = manifest.replace("\"event\": 100", "\"event\": 99");
    let other_sum = manifest.replace("\"sha256\": \"", "\"sha256\": \"0");
    let no_sum = manifest.replace("\"sha256\"", "\"sha255\"");
    for changed in [&other_format, &other_rows, &other_sum, &no_sum] {
        assert!(*changed != manifest);
    }
    let of_another = {
        let another = Installation::new(Backend::Sqlite);
        let store = another.open();
        fill(&store, 0, 99).await;
        another.back_up(&another.at("backup")).unwrap();
        fs::read_to_string(another.at("backup").join("backup.json")).unwrap()
    };
    for (text, is_damaged, said) in [
        (Some(manifest.as_str()), true, "the backup is damaged"),
        (Some(other_format.as_str()), false, "its format is 9"),
        (Some(of_another.as_str()), false, "its store is not the one"),
        (Some(other_rows.as_str()), false, NO_SUM),
        (Some(other_sum.as_str()), false, NO_SUM),
        (Some(no_sum.as_str()), false, "missing field `sha256`"),
        (Some("{"), false, "backup.json is damaged"),
        (None, false, "backup.json cannot be read"),
    ] {
        let path = folder.join("backup.json");
        match text {
            Some(text) => fs::write(path, text).unwrap(),
            None => fs::remove_file(path).unwrap(),
        }
        fs::write(&database, &whole).unwrap();
        if is_damaged {
            zero(&database, whole.len() as u64 / 2, 512);
        }
        let refused = new.restore(&folder).unwrap_err().to_string();
        assert!(refused.contains(said), "{said}: {refused}");
        assert_eq!(files(new.home.0.path()), ["store.lock"], "{said}");
    }
}

#[tokio::test]
async fn a_restore_tells_how_far_the_loss_reaches_and_keeps_older_files_out() {
    let installation = Installation::new(Backend::Sqlite);
    let path = installation.settings.path.clone();
    let store = installation.open();
    fill(&store, 0, 10).await;
    let [first, second] = ["first", "second"].map(|name| installation.at(name));
    installation.back_up(&first).unwrap();
    fill(&store, 10, 20).await;
    installation.back_up(&second).unwrap();
    fill(&store, 20, 30).await;
    assert!(store.close().await);
    let lost_database = fs::read(installation.home.database()).unwrap();
    fs::remove_dir_all(&path).unwrap();

    // Each restore that is killed between its mark and its store leaves this.
    for backup in [&second, &first] {
        let killed = installation.restore(backup).unwrap();
        assert_eq!(killed.lost.unwrap().sequence, 30);
        fs::remove_dir_all(&path).unwrap();
    }
    let record = installation.restore(&second).unwrap();
    let lost = record.lost.unwrap();
    assert_eq!((record.sequence, lost.sequence), (20, 30));
    assert!(record.backup_at < lost.at && lost.at < record.restored_at);
    assert_eq!(stored(&installation.open()).await, 20);
    // The store before it is found again, and is ahead of the mark.
    let restored_database = fs::read(installation.home.database()).unwrap();
    fs::write(installation.home.database(), lost_database).unwrap();
    let refused = installation.home.refusal();
    assert!(
        matches!(refused, OpenError::ForeignMark { .. }),
        "{refused}"
    );
    fs::write(installation.home.database(), restored_database).unwrap();
    let store = installation.open();
    assert_eq!(stored(&store).await, 20);
    fill(&store, 20, 21).await;
    assert!(store.close().await);
    drop(store);

    // The mark is now of the restored store, which has a commit of its own. So the end of the loss
    // is not known: the span ends with the restore.
    fs::remove_dir_all(&path).unwrap();
    let again = installation.restore(&first).unwrap();
    assert_eq!(again.sequence, 10);
    assert!(
        again.lost.is_none() && again.restored_at > lost.at,
        "{again:?}"
    );
    assert_ne!(again.store, record.store);
    let store = installation.open();
    assert_eq!(stored(&store).await, 10);
    assert_eq!(store.restored().await.unwrap(), Some(again));
}

#[tokio::test]
async fn a_store_behind_a_symbolic_link_has_one_lock_and_one_mark() {
    let installation = Installation::new(Backend::Sqlite);
    let link = installation.at("link");
    std::os::unix::fs::symlink(&installation.settings.path, &link).unwrap();
    let linked = StoreSettings {
        path: link,
        ..installation.settings.clone()
    };
    let store = installation.open();
    fill(&store, 0, 10).await;
    let other = Store::open(&linked).err().unwrap();
    assert!(matches!(other, OpenError::Locked { .. }), "{other}");
    installation.back_up(&installation.at("copy")).unwrap();
    assert!(store.close().await);
    let store = Store::open(&linked).unwrap();
    fill(&store, 10, 15).await;
    assert!(store.close().await);
    fs::remove_file(installation.home.database()).unwrap();
    assert!(
        Store::open(&linked).is_err(),
        "the mark is that of the store"
    );

    // A restore through the link replaces what it leads to.
    fs::remove_dir_all(&installation.settings.path).unwrap();
    fs::create_dir(&installation.settings.path).unwrap();
    let linked = Installation {
        home: Home::new(),
        settings: linked,
    };
    linked.restore(&installation.at("copy")).unwrap();
    assert_eq!(stored(&installation.open()).await, 10);
}
