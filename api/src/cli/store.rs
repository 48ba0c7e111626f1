//! `switchyard store`: commands that work on the files of the store, with or without a server.

use std::fs;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use switchyard_store::{
    self as store, BackupSource, CheckReport, RecordState, RestoreTarget, Views,
};

use super::output::{Column, Output, aligned, print, visible};
use super::shell::Shell;
use super::store_progress::StoreProgress;
use crate::config::{self, Overrides, Settings};
use crate::serve::{Source, folders, store_settings};

/// Commands of `switchyard store`.
#[derive(Subcommand)]
pub enum Store {
    /// Check every row, the structure, the log and the mark of the store
    Check(Check),
    /// Back up the store, the gateways and the settings file into a new folder
    Backup(Backup),
    /// Restore a backup where there is no store
    Restore(Restore),
    /// Query the store or a backup by read-only SQL
    Shell(Shell),
}

/// Location of the installation.
#[derive(Args)]
pub struct Installation {
    /// Settings file of the server
    #[arg(long, env = "SWITCHYARD_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
    /// Data folder, instead of data.dir
    #[arg(long, value_name = "FOLDER")]
    data: Option<PathBuf>,
}

/// Arguments of `switchyard store check`.
#[derive(Args)]
pub struct Check {
    #[command(flatten)]
    installation: Installation,
}

/// Arguments of `switchyard store backup`.
#[derive(Args)]
pub struct Backup {
    /// New folder for the backup
    folder: PathBuf,
    #[command(flatten)]
    installation: Installation,
    /// Maximum MiB per second; 0 for no limit
    #[arg(long, value_name = "MIB", default_value_t = 64)]
    speed: u64,
}

/// Arguments of `switchyard store restore`.
#[derive(Args)]
pub struct Restore {
    /// Folder of the backup, of the continuous copy or of one of its generations
    backup: PathBuf,
    #[command(flatten)]
    installation: Installation,
    /// Restore a continuous copy while a running server writes it
    #[arg(long)]
    from_running: bool,
    /// Leave the gateways out, when their files in the backup are damaged or missing
    #[arg(long)]
    without_gateways: bool,
}

impl Store {
    /// Runs the command. Blocks: nothing else runs in the process.
    pub fn run(self, json: bool) -> anyhow::Result<()> {
        match self {
            Self::Check(check) => check.run(json),
            Self::Backup(backup) => backup.run(json),
            Self::Restore(restore) => restore.run(json),
            Self::Shell(shell) => shell.run(json),
        }
    }
}

impl Installation {
    /// The sources of the settings.
    pub fn source(&self) -> Source {
        Source {
            file: self.config.clone(),
            overrides: Overrides {
                data: self.data.clone(),
                ..Overrides::default()
            },
        }
    }

    pub fn settings(&self) -> anyhow::Result<Settings> {
        let source = self.source();
        Ok(config::load(source.file.as_deref(), &source.overrides)?)
    }
}

impl Check {
    fn run(&self, json: bool) -> anyhow::Result<()> {
        let settings = self.installation.settings()?;
        let mut progress = StoreProgress::default();
        store::lower_priority();
        let report = store::check(&store_settings(&settings), &mut |now| progress.show(now));
        drop(progress);
        let report = report?;
        match json {
            true => print(&format!("{:#}\n", as_json(&report)))?,
            false => print(&as_text(&report))?,
        }
        anyhow::ensure!(
            report.is_sound(),
            "the store {} did not pass the check: each fault above says what to do; where it says \
             nothing, restore a backup with `switchyard store restore`",
            settings.store_path().display()
        );
        Ok(())
    }
}

impl Backup {
    fn run(&self, json: bool) -> anyhow::Result<()> {
        let settings = self.installation.settings()?;
        let text = match &self.installation.config {
            Some(file) => Some(config::without_master_key(&fs::read_to_string(file)?)?),
            None => None,
        };
        let source = BackupSource {
            store: &store_settings(&settings),
            gateways: &settings.gateway_copies(),
            settings: text.as_deref(),
            views: Views::Added,
        };
        let speed = self.speed.saturating_mul(MIB);
        let mut progress = StoreProgress::default();
        store::lower_priority();
        let made = store::backup(source, &self.folder, speed, &mut |now| progress.show(now));
        drop(progress);
        let made = made?;
        let answer = json!({
            "backup": self.folder.display().to_string(),
            "incarnation": made.incarnation.to_string(),
            "last_commit": format!("group {} of {}", made.sequence, made.sequence_at),
            "rows": made.rows.values().sum::<u64>(),
            "gateways": made.gateways.len(),
            "gateways_left_out": made.gateways_left_out,
            "settings_file": text.is_some(),
            "master_key": false,
        });
        let output = Output { json };
        output.local(&answer)?;
        output.note(
            "Verified. The master key is not in it: keep a copy of the key apart, a restored store \
             does not open without it.",
        );
        if !made.gateways_left_out.is_empty() {
            output.note("It lacks the gateways that are named above: put their files back.");
        }
        Ok(())
    }
}

impl Restore {
    fn run(&self, json: bool) -> anyhow::Result<()> {
        let settings = self.installation.settings()?;
        let unsafe_folders = folders::check(&settings);
        let faults: Vec<&str> = unsafe_folders
            .iter()
            .map(|fault| fault.text.as_str())
            .collect();
        anyhow::ensure!(faults.is_empty(), faults.join("; "));
        let beside = settings.data.dir.join("switchyard.restored.toml");
        let gateways = settings.gateway_copies();
        let target = RestoreTarget {
            store: &store_settings(&settings),
            gateways: (!self.without_gateways).then_some(&gateways),
            settings: &beside,
        };
        let _unused = match self.from_running {
            true => None,
            false => Some(store::lock_copy(&self.backup)?),
        };
        let mut progress = StoreProgress::default();
        let done = store::restore(&self.backup, target, &mut |now| progress.show(now));
        drop(progress);
        let done = done?;
        let is_whole = done.lost.is_some_and(|lost| lost.at == done.backup_at);
        let lost = match done.lost {
            Some(lost) if lost.at == done.backup_at => "nothing is lost".to_owned(),
            Some(lost) => format!("group {} of {}", lost.sequence, lost.at),
            None => "not known: no mark of this store, or only an older one, was here".to_owned(),
        };
        let answer = json!({
            "store": settings.store_path().display().to_string(),
            "incarnation": done.incarnation.to_string(),
            "last_commit": format!("group {} of {}", done.sequence, done.backup_at),
            "lost_until": lost,
            "settings_of_backup": beside.exists().then(|| beside.display().to_string()),
        });
        let output = Output { json };
        output.local(&answer)?;
        output.note(match is_whole {
            true => "Restored: the backup has all that was stored.",
            false => {
                "Restored. Everything stored after the backup is gone: providers may have moved \
                 money that this store does not know of, and operator tokens and API keys that were \
                 revoked after it are valid again."
            }
        });
        Ok(())
    }
}

fn as_json(report: &CheckReport) -> Value {
    let rows = report.rows.iter();
    let damaged = report.damaged.iter();
    json!({
        "sound": report.is_sound(),
        "running": report.is_running,
        "rows": rows
            .map(|(table, rows)| (table.name().to_owned(), json!(rows)))
            .collect::<serde_json::Map<_, _>>(),
        "last_commit": report.end.map(|end| json!({
            "sequence": end.sequence,
            "at": end.at.to_string(),
        })),
        "damaged_rows": report.damaged_rows,
        "damaged": damaged
            .map(|row| json!({ "table": row.table, "key": shown(&row.key) }))
            .collect::<Vec<_>>(),
        "faults": report.faults,
        "recorded_damage": report.recorded.as_ref().map(|recorded| &recorded.what),
    })
}

fn as_text(report: &CheckReport) -> String {
    let all: u64 = report.rows.iter().map(|(_, rows)| rows).sum();
    let rows = report
        .rows
        .iter()
        .map(|(table, rows)| (table.name(), *rows));
    let rows: Vec<_> = rows.chain([("all", all)]).collect();
    let columns: &[Column<(&str, u64)>] = &[
        ("table", |row| row.0.to_owned()),
        ("rows", |row| row.1.to_string()),
    ];
    let mut text = aligned(&rows, columns);
    text.push('\n');
    match report.end {
        Some(end) => text.push_str(&format!(
            "last commit: group {} of {}\n",
            end.sequence, end.at
        )),
        None => text.push_str("last commit: none\n"),
    }
    for fault in &report.faults {
        text.push_str(&format!("fault: {}\n", visible(fault)));
    }
    for row in &report.damaged {
        text.push_str(&format!("damaged row: {} {}\n", row.table, shown(&row.key)));
    }
    let listed = report.damaged.len() as u64;
    if report.damaged_rows > listed {
        let more = report.damaged_rows - listed;
        text.push_str(&format!("and {more} more damaged rows\n"));
    }
    if let Some(damage) = &report.recorded {
        text.push_str(&format!(
            "damage that a server found: {}\n",
            visible(&damage.what)
        ));
    }
    if report.is_sound() {
        let record = report.recorded.as_ref().map(|damage| &damage.record);
        text.push_str(&sentence_about(record));
        text.push('\n');
    }
    text
}

/// End of the report about a sound store.
fn sentence_about(record: Option<&RecordState>) -> String {
    match record {
        None => "The store is sound.".to_owned(),
        Some(RecordState::Kept) => {
            "The store is sound, this check does not find that damage. Stop the \
                               server and check again: then the server does not report it any more."
                .to_owned()
        }
        Some(RecordState::Removed) => {
            "The store is sound, and the server does not report that damage \
                                  any more."
                .to_owned()
        }
        Some(RecordState::NotRemoved(why)) => format!(
            "The store is sound. The record of that damage could not be removed, and the server \
             reports it until it is gone: {}",
            visible(why)
        ),
    }
}

/// Escapes a key, so that it cannot control the terminal.
fn shown(key: &[u8]) -> String {
    key.escape_ascii().to_string()
}

const MIB: u64 = 1024 * 1024;

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::Path;

    use base64::Engine as _;
    use switchyard_core::time::Timestamp;
    use switchyard_engine::access::MasterKey;
    use switchyard_store::{CommitGroup, DamagedRow, Table};
    use switchyard_system::ids::Ids;

    use super::*;

    fn report() -> CheckReport {
        CheckReport {
            is_running: false,
            rows: vec![(Table::Event, 12), (Table::Index, 3)],
            damaged: Vec::new(),
            damaged_rows: 0,
            faults: Vec::new(),
            end: Some(CommitGroup {
                sequence: 7,
                at: Timestamp::from_seconds(1_700_000_000),
            }),
            recorded: None,
        }
    }

    #[test]
    fn a_report_shows_rows_and_end_and_each_fault() {
        let sound = report();
        assert_eq!(
            as_text(&sound),
            "TABLE  ROWS\nevent  12\nindex  3\nall    15\n\n\
             last commit: group 7 of 2023-11-14T22:13:20.000000Z\nThe store is sound.\n"
        );
        let damaged = CheckReport {
            damaged: vec![DamagedRow {
                table: "event".to_owned(),
                key: b"a\x1b[2J".to_vec(),
            }],
            damaged_rows: 3,
            faults: vec!["row 4 not in PRIMARY KEY order".to_owned()],
            end: None,
            ..report()
        };
        let text = as_text(&damaged);
        for said in [
            "last commit: none\n",
            "fault: row 4 not in PRIMARY KEY order\n",
            "damaged row: event a\\x1b[2J\n",
            "and 2 more damaged rows\n",
        ] {
            assert!(text.contains(said), "{said}: {text}");
        }
        assert!(!text.contains("sound"), "{text}");
        let json = as_json(&damaged);
        assert_eq!(json["sound"], false);
        assert_eq!(json["rows"]["event"], 12);
        assert_eq!(json["damaged"][0]["key"], "a\\x1b[2J");
    }

    /// Arguments of a command, for an installation in a folder.
    fn installation(root: &Path) -> Installation {
        Installation {
            config: Some(root.join("switchyard.toml")),
            data: None,
        }
    }

    fn all_bytes(folder: &Path, bytes: &mut Vec<u8>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => all_bytes(&path, bytes),
                false => bytes.extend(fs::read(&path).unwrap()),
            }
        }
    }

    #[tokio::test]
    async fn a_backup_has_nothing_of_the_master_key_and_is_restored_beside_the_settings() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let data = root.join("data");
        fs::create_dir_all(data.join("gateways")).unwrap();
        fs::set_permissions(&data, Permissions::from_mode(0o755)).unwrap();
        let key_file = data.join("gateways/master.key");
        MasterKey::create_file(&key_file, &Ids::system()).unwrap();
        let key = fs::read_to_string(&key_file).unwrap();
        let key = key.trim();
        let file = format!(
            "# Key: {key}\n[data]\ndir = '{}'\n[secrets]\nmaster_key = '{key}'\n",
            data.display()
        );
        fs::write(root.join("switchyard.toml"), file).unwrap();
        fs::set_permissions(root.join("switchyard.toml"), Permissions::from_mode(0o600)).unwrap();
        let settings = installation(root).settings().unwrap();
        let store = store::Store::open(&store_settings(&settings)).unwrap();
        let mut batch = store::Batch::new();
        batch.put(Table::Event, "a", "1");
        store.commit(batch).await.unwrap();
        assert!(store.close().await);

        let backup = Backup {
            folder: root.join("backup"),
            installation: installation(root),
            speed: 0,
        };
        backup.run(true).unwrap();
        let mut bytes = Vec::new();
        all_bytes(&root.join("backup"), &mut bytes);
        let raw = base64::engine::general_purpose::STANDARD.decode(key);
        let raw = raw.unwrap_or_else(|_| key.as_bytes().to_vec());
        for secret in [key.as_bytes(), &raw] {
            assert!(!bytes.windows(secret.len()).any(|part| part == secret));
        }

        let check = Check {
            installation: installation(root),
        };
        check.run(false).unwrap();
        fs::remove_dir_all(data.join("store")).unwrap();
        let restore = Restore {
            backup: root.join("backup"),
            installation: installation(root),
            from_running: false,
            without_gateways: false,
        };
        let open_to_all = restore.run(true).unwrap_err().to_string();
        assert!(open_to_all.contains("chmod 700"), "{open_to_all}");
        fs::set_permissions(&data, Permissions::from_mode(0o700)).unwrap();
        restore.run(true).unwrap();
        check.run(true).unwrap();
        assert!(restore.run(true).is_err(), "there is a store");
        let beside = fs::read_to_string(data.join("switchyard.restored.toml")).unwrap();
        assert!(beside.contains("dir = "), "{beside}");
        let before = fs::read_to_string(root.join("switchyard.toml")).unwrap();
        assert!(before.contains(key), "the settings file stays as it was");

        let database = data.join("store/sqlite/switchyard.sqlite3");
        let mut damaged = fs::read(&database).unwrap();
        let at = damaged.len() / 4096 / 2 * 4096;
        damaged[at..].fill(0);
        fs::write(&database, damaged).unwrap();
        let failed = check.run(false).unwrap_err().to_string();
        assert!(failed.contains("did not pass the check"), "{failed}");
    }

    #[tokio::test]
    async fn a_backup_without_its_gateways_is_refused_before_anything_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let data = root.join("data");
        fs::create_dir_all(data.join("gateways")).unwrap();
        fs::set_permissions(&data, Permissions::from_mode(0o700)).unwrap();
        MasterKey::create_file(&data.join("master.key"), &Ids::system()).unwrap();
        let file = format!("[data]\ndir = '{}'\n", data.display());
        fs::write(root.join("switchyard.toml"), file).unwrap();
        let hash = "7ea4d08acc8c3cdc7df003a4c8ab94fb647bc00f83c57d4e9f1dd35bdfdba9ad";
        let gateway = data.join(format!("gateways/{hash}.so"));
        fs::write(&gateway, "a gateway").unwrap();
        let settings = installation(root).settings().unwrap();
        let store = store::Store::open(&store_settings(&settings)).unwrap();
        let mut batch = store::Batch::new();
        batch.put(Table::Event, "a", "1");
        store.commit(batch).await.unwrap();
        assert!(store.close().await);
        let backup = Backup {
            folder: root.join("backup"),
            installation: installation(root),
            speed: 0,
        };
        backup.run(true).unwrap();
        for lost in ["store", "gateways"] {
            fs::remove_dir_all(data.join(lost)).unwrap();
        }
        let kept = root.join("kept");
        fs::rename(root.join("backup/gateways"), &kept).unwrap();
        let restore = Restore {
            backup: root.join("backup"),
            installation: installation(root),
            from_running: false,
            without_gateways: false,
        };
        let refused = restore.run(true).unwrap_err().to_string();
        assert!(
            refused.contains(&format!("gateways/{hash}.so")),
            "{refused}"
        );
        for path in ["store", "gateways", "switchyard.restored.toml"] {
            assert!(!data.join(path).exists(), "{path}");
        }
        fs::rename(&kept, root.join("backup/gateways")).unwrap();
        restore.run(true).unwrap();
        assert!(gateway.exists());
    }

    #[tokio::test]
    async fn a_backup_takes_as_long_as_its_speed_in_mebibytes_says() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let data = root.join("data");
        fs::create_dir_all(&data).unwrap();
        let file = format!("[data]\ndir = '{}'\n", data.display());
        fs::write(root.join("switchyard.toml"), file).unwrap();
        let settings = installation(root).settings().unwrap();
        let store = store::Store::open(&store_settings(&settings)).unwrap();
        let mut batch = store::Batch::new();
        batch.put(Table::Event, "a", vec![1; 2 << 20]);
        store.commit(batch).await.unwrap();
        assert!(store.close().await);
        for (speed, seconds) in [(1, 1.5), (0, 0.0)] {
            let backup = Backup {
                folder: root.join(format!("backup{speed}")),
                installation: installation(root),
                speed,
            };
            let begun = tokio::time::Instant::now();
            backup.run(true).unwrap();
            let took = begun.elapsed().as_secs_f64();
            assert!(
                (seconds..seconds + 30.0).contains(&took),
                "{speed}: {took} s"
            );
        }
    }
}
