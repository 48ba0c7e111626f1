//! Scheduled checks of the whole store (`store.check_every`): damage of rows that are seldom read
//! is found while a backup without it still exists.

use std::time::Duration;

use switchyard_store::{self as store, Backend, CheckReport, Store, StoreSettings};
use switchyard_system::clock::Clock;

use crate::serve::quiet;

/// Checks the store until the server ends. Only SQLite lets a second reader in.
pub async fn run(open: Store, settings: StoreSettings, every: Duration, clock: Clock) {
    if settings.backend != Backend::Sqlite {
        return;
    }
    let mut wait = FIRST.min(every);
    loop {
        clock.sleep(wait).await;
        wait = every;
        let settings = settings.clone();
        let check = move || store::check(&settings, &mut |_| {});
        match quiet::run("store check", check).await {
            Ok(Ok(report)) if report.is_sound() => {
                tracing::info!("store checked");
                metrics::gauge!("switchyard_store_last_check_timestamp_seconds")
                    .set(clock.now().as_seconds() as f64);
            }
            Ok(Ok(report)) => report_damage(&open, &report),
            Ok(Err(error)) => failed(&error.into()),
            Err(error) => failed(&error),
        }
    }
}

fn failed(error: &anyhow::Error) {
    tracing::error!(error = format!("{error:#}"), "failed to check the store");
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt as _;

    use switchyard_core::time::Timestamp;
    use switchyard_store::{Batch, Table};

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
        tokio::spawn(run(store.clone(), settings.clone(), day, clock.clone()));
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
        for _ in 0..100 {
            if store.stats().damaged {
                break;
            }
            checked_after(day).await;
        }
        let damage = store.damage().unwrap();
        assert!(damage.contains("a check has found damage"), "{damage}");
    }
}
