//! An online copy of a database: one state of it, page by page, while a server writes.

use std::fs::File;
use std::path::Path;
use std::thread;
use std::time::Duration;

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};

use super::super::KvError;
use super::check::{Access, connect};
use super::{FILE, pages, reporting};
use crate::store::backup::Views;
use crate::store::progress::{Progress, Report};
use crate::store::throttle::Throttle;

/// Copies the database in the folder `from` into the folder `to`.
///
/// SQLite restarts a copy when another process has written between two steps. A read transaction
/// on the source prevents that: it holds the snapshot that is copied. The log grows until its end.
pub(in crate::store) fn copy(
    from: &Path,
    to: &Path,
    views: Views,
    throttle: &mut Throttle,
    report: Report<'_>,
) -> Result<(), KvError> {
    let source = connect(from, Access::Running)?;
    source.execute_batch("BEGIN; SELECT count(*) FROM sqlite_schema")?;
    let file = to.join(FILE);
    let mut target = pages::open(&file, OpenFlags::default())?;
    // The draft is flushed as a whole before it is renamed.
    target.pragma_update(None, "journal_mode", "off")?;
    target.pragma_update(None, "synchronous", "off")?;
    let page_bytes: u32 = source.query_row("PRAGMA page_size", [], |row| row.get(0))?;
    let backup = Backup::new(&source, &mut target)?;
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
        });
        let step = u64::from(STEP_PAGES.unsigned_abs()) * u64::from(page_bytes);
        unflushed += step;
        if unflushed >= FLUSH_BYTES {
            // Many dirty pages at once would hold up the flushes of the server.
            File::open(&file)?.sync_data()?;
            unflushed = 0;
        }
        throttle.spend(step);
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
