//! An online copy of a database: one state of it, page by page, while a server writes.

use std::fs::File;
use std::path::Path;
use std::thread;
use std::time::Duration;

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};

use super::super::KvError;
use super::reader::{Access, Reader};
use super::{FILE, pages, reporting};
use crate::backup::Views;
use crate::progress::{Progress, Report, Unit};
use crate::throttle::Throttle;

/// Copies the database in the folder `from` into the folder `to`.
///
/// SQLite restarts a copy when another process has written between two steps. A read transaction
/// on the source prevents that: it holds the snapshot that is copied. The log grows until its end.
///
/// # Errors
/// When a page is damaged or a file cannot be written. [`KvError::IndexNotInPlace`] when the server
/// may not have seen that read.
pub(crate) fn copy(
    [from, to]: [&Path; 2],
    access: Access,
    views: Views,
    throttle: &mut Throttle,
    report: Report<'_>,
) -> Result<(), KvError> {
    let source = Reader::open(from, access)?;
    let copied = copy_pages(&source, to, views, throttle, report);
    if !source.is_autocommit() {
        source.execute_batch("ROLLBACK")?;
    }
    source.verify_with_server()?;
    copied
}

fn copy_pages(
    source: &Reader,
    to: &Path,
    views: Views,
    throttle: &mut Throttle,
    report: Report<'_>,
) -> Result<(), KvError> {
    source.execute_batch("BEGIN; SELECT count(*) FROM sqlite_schema")?;
    let file = to.join(FILE);
    let mut target = pages::open(&file, OpenFlags::default())?;
    // The draft is flushed as a whole before it is renamed.
    target.pragma_update(None, "journal_mode", "off")?;
    target.pragma_update(None, "synchronous", "off")?;
    let page_bytes: u32 = source.query_row("PRAGMA page_size", [], |row| row.get(0))?;
    let backup = Backup::new(source, &mut target)?;
    let mut unflushed = 0;
    loop {
        match backup.step(STEP_PAGES)? {
            StepResult::Done => break,
            StepResult::More => {}
            // Another process has a lock for a moment.
            _ => thread::sleep(BUSY),
        }
        let pages = backup.progress();
        let [done, total] = [pages.pagecount - pages.remaining, pages.pagecount]
            .map(|pages| u64::try_from(pages).unwrap_or(0) * u64::from(page_bytes));
        report(Progress {
            stage: "copy",
            done,
            total: Some(total),
            unit: Unit::Bytes,
        });
        let step = u64::from(STEP_PAGES.unsigned_abs()) * u64::from(page_bytes);
        unflushed += step;
        if unflushed >= FLUSH_BYTES {
            // Many dirty pages at once would hold up the flushes of the server.
            File::open(&file)?.sync_data()?;
            unflushed = 0;
        }
        throttle.spend(step);
        source.verify()?;
    }
    drop(backup);
    match views {
        Views::Added => add_views(&target),
        Views::AsStored => Ok(()),
    }
}

fn add_views(copy: &Connection) -> Result<(), KvError> {
    for (name, view) in reporting::names().zip(reporting::views("CREATE VIEW")) {
        copy.execute_batch(&format!("DROP VIEW IF EXISTS \"{name}\"; {view}"))?;
    }
    Ok(())
}

/// Pages that are copied at a time: 512 KiB.
const STEP_PAGES: i32 = 128;
/// Bytes of the copy after which they are flushed.
const FLUSH_BYTES: u64 = 8 * 1024 * 1024;
const BUSY: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;
    use crate::{
        Backend, BackupSource, Batch, MaintenanceError, Manifest, Store, StoreSettings, Table,
        backup,
    };

    /// A stopped store with rows of so many bytes.
    async fn store_with(bytes: usize) -> (tempfile::TempDir, StoreSettings) {
        let folder = tempfile::tempdir().unwrap();
        let settings = StoreSettings {
            backend: Backend::Sqlite,
            path: folder.path().join("store"),
            cache_bytes: 8 * 1024 * 1024,
        };
        let store = Store::open(&settings).unwrap();
        let mut batch = Batch::new();
        for n in 0..10_u8 {
            batch.put(Table::Event, [n], vec![n; bytes / 10]);
        }
        store.commit(batch).await.unwrap();
        assert!(store.close().await);
        (folder, settings)
    }

    fn back_up(settings: &StoreSettings, speed: u64) -> Result<Manifest, MaintenanceError> {
        let source = BackupSource {
            store: settings,
            gateways: Path::new("/nonexistent"),
            settings: None,
            views: Views::Added,
        };
        let to = settings.path.with_file_name(format!("backup{speed}"));
        backup(source, &to, speed, &mut |_| {})
    }

    #[tokio::test]
    async fn a_wrong_row_in_a_page_with_a_right_checksum_fails_the_verification_of_a_backup() {
        let (_folder, settings) = store_with(10_000).await;
        let file = settings.path.join("sqlite").join(FILE);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let database = pages::open(&file, flags).unwrap();
        let change = "UPDATE history SET value = CAST(x'09' || substr(value, 2) AS BLOB) \
                      WHERE key = x'07'";
        assert_eq!(database.execute(change, []), Ok(1));
        super::super::log::empty(&database).unwrap();
        drop(database);
        let refused = back_up(&settings, 0).unwrap_err().to_string();
        assert_eq!(
            refused,
            "the copy is damaged: 1 damaged rows, the first of them in table event"
        );
        assert!(!settings.path.with_file_name("backup0").exists());
    }

    #[tokio::test]
    async fn a_backup_reads_no_faster_than_its_limit() {
        let (_folder, settings) = store_with(3 * 1024 * 1024).await;
        for (speed, seconds) in [(2 * 1024 * 1024, 1.2), (6 * 1024 * 1024, 0.4)] {
            let begun = Instant::now();
            back_up(&settings, speed).unwrap();
            let took = begun.elapsed().as_secs_f64();
            assert!(took >= seconds, "{speed} bytes a second: {took} s");
        }
    }
}
