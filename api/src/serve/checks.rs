//! Scheduled checks of the whole store (`store.check_every`): damage of rows that are seldom read
//! is found while a backup without it still exists.

use std::sync::Arc;
use std::time::Duration;

use switchyard_core::limits::STORE_KEY_BYTES;
use switchyard_store::{
    self as store, Backend, CheckReport, Direction, Store, StoreError, StoreSettings, Table,
};
use switchyard_system::clock::Clock;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use crate::serve::quiet;

/// Checks the store until the server ends: on a schedule, and when damage is `suspected`.
pub async fn run(
    open: Store,
    settings: StoreSettings,
    every: Duration,
    clock: Clock,
    suspected: Arc<Notify>,
) {
    let mut wait = FIRST.min(every);
    loop {
        tokio::select! {
            () = clock.sleep(wait) => {}
            () = suspected.notified() => {}
        }
        wait = every;
        let checked = match settings.backend {
            Backend::Memory => return,
            Backend::Sqlite => check_files(&open, &settings).await,
            // Its files can be read by this process only.
            Backend::Sled => read_all(&open).await,
        };
        match checked {
            Ok(true) => {
                tracing::info!("store checked");
                metrics::gauge!("switchyard_store_last_check_timestamp_seconds")
                    .set(clock.now().as_seconds() as f64);
            }
            Ok(false) => {}
            Err(error) => {
                tracing::error!(error = format!("{error:#}"), "failed to check the store");
            }
        }
    }
}

/// Whether every row, the structure, the log and the mark are sound. Reads the files beside the
/// open store.
async fn check_files(open: &Store, settings: &StoreSettings) -> anyhow::Result<bool> {
    let settings = settings.clone();
    let check = move || store::check(&settings, &mut |_| {});
    let report = quiet::run("store check", check).await??;
    if !report.is_sound() {
        report_damage(open, &report);
    }
    Ok(report.is_sound())
}

/// Reads each row through the open store, which notes the damage of a row. Returns false when a
/// row is damaged; the rows of its table after it are not read. Reads half of the time at most.
async fn read_all(open: &Store) -> anyhow::Result<bool> {
    let mut is_sound = true;
    for table in Table::ALL {
        let mut from = Vec::new();
        loop {
            let begun = Instant::now();
            let to = [u8::MAX; STORE_KEY_BYTES + 1];
            let rows = open.scan(table, &from, &to, Direction::Forward, ROWS).await;
            let rows = match rows {
                Err(StoreError::Damaged { .. }) => {
                    is_sound = false;
                    break;
                }
                rows => rows?,
            };
            match rows.last() {
                Some((last, _)) if rows.len() == ROWS => from = [last.as_slice(), &[0]].concat(),
                _ => break,
            }
            sleep(begun.elapsed()).await;
        }
    }
    Ok(is_sound)
}

fn report_damage(open: &Store, report: &CheckReport) {
    let faults = report.faults.join("; ");
    let damage = match report.damaged_rows {
        0 => format!("a check has found damage: {faults}"),
        rows => format!("a check has found {rows} damaged rows {faults}")
            .trim()
            .to_owned(),
    };
    tracing::error!(damage, "store damaged");
    open.report_damage(&damage);
}

/// Time from the start to the first check: damage by a stop or a restart of the machine is found
/// before many requests rely on it.
const FIRST: Duration = Duration::from_secs(60);
/// Rows that are read at a time.
const ROWS: usize = 64;

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt as _;

    use switchyard_core::time::Timestamp;
    use switchyard_store::Batch;

    use super::*;

    #[tokio::test]
    async fn damage_of_rows_that_nobody_reads_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let settings = StoreSettings {
            backend: Backend::Sqlite,
            path: folder.path().join("store"),
            cache_bytes: 8 * 1024 * 1024,
        };
        let store = Store::open(&settings).unwrap();
        let mut batch = Batch::new();
        batch.put(Table::Event, "a", "paid");
        store.commit(batch).await.unwrap();
        assert!(store.close().await);
        let store = Store::open(&settings).unwrap();
        let clock = Clock::manual(Timestamp::parse("2026-11-25T12:00:00Z").unwrap());
        let day = Duration::from_secs(24 * 60 * 60);
        let suspected = Arc::new(Notify::new());
        let checks = run(
            store.clone(),
            settings.clone(),
            day,
            clock.clone(),
            suspected.clone(),
        );
        tokio::spawn(checks);
        let checked_after = async |time: Duration| {
            tokio::time::sleep(Duration::from_millis(300)).await;
            clock.advance(time);
            tokio::time::sleep(Duration::from_millis(300)).await;
        };
        checked_after(FIRST).await;
        assert_eq!(store.damage(), None);

        let database = settings.path.join("sqlite/switchyard.sqlite3");
        let bytes = std::fs::read(&database).unwrap();
        let at = bytes.windows(4).position(|bytes| bytes == b"paid").unwrap();
        let file = std::fs::File::options()
            .write(true)
            .open(&database)
            .unwrap();
        file.write_all_at(b"fail", at as u64).unwrap();
        // A backup reports it, a day before the next check.
        suspected.notify_one();
        for _ in 0..100 {
            if store.stats().damaged {
                break;
            }
            checked_after(Duration::ZERO).await;
        }
        let damage = store.damage().unwrap();
        assert!(damage.contains("a check has found damage"), "{damage}");
    }

    #[tokio::test]
    async fn a_damaged_row_in_any_table_is_found_by_reading_all() {
        let folder = tempfile::tempdir().unwrap();
        let settings = StoreSettings {
            backend: Backend::Sqlite,
            path: folder.path().join("store"),
            cache_bytes: 8 * 1024 * 1024,
        };
        let store = Store::open(&settings).unwrap();
        let mut batch = Batch::new();
        for n in 0..(ROWS as u32 + 100) {
            batch.put(Table::Event, n.to_be_bytes(), "paid");
        }
        store.commit(batch).await.unwrap();
        assert!(read_all(&store).await.unwrap());
        assert!(store.close().await);
        let database = settings.path.join("sqlite/switchyard.sqlite3");
        let mut bytes = std::fs::read(&database).unwrap();
        let at = bytes
            .windows(4)
            .rposition(|bytes| bytes == b"paid")
            .unwrap();
        bytes[at] ^= 1;
        std::fs::write(&database, bytes).unwrap();
        let store = Store::open(&settings).unwrap();
        assert!(!read_all(&store).await.unwrap());
        assert!(store.stats().damaged, "{:?}", store.damage());
    }
}
