//! Findings on this machine: settings, disk, backups, kernel.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use switchyard_core::time::Timestamp;
use switchyard_gateway_host::refused_walls;
use switchyard_system::clock::Clock;
use switchyard_system::resources::free_disk_bytes;
use tokio::process::Command;

use super::server::{Server, span};
use super::{AS_SERVER, Finding};
use crate::cli::report::Level;
use crate::config::{Examined, Settings, StoreBackend, Weight};
use crate::serve::backups;

/// The result of `switchyard config check`.
pub fn settings(examined: &Examined, file: Option<&str>) -> Finding {
    let check = "settings";
    let count = |weight| {
        let found = examined.problems.iter();
        found.filter(|problem| problem.weight == weight).count()
    };
    let of_file = file.map_or(String::new(), |file| format!(" --config {file}"));
    let advice = format!("`switchyard config check{of_file}` shows each.");
    let first = |weight| {
        let mut found = examined.problems.iter();
        let found = found.find(|problem| problem.weight == weight);
        found.map(ToString::to_string).unwrap_or_default()
    };
    let (problems, unseen, warnings) = (
        count(Weight::Problem),
        count(Weight::Unseen),
        count(Weight::Warning),
    );
    match (problems, unseen, warnings) {
        (0, 0, 0) => Finding::ok(check, format!("{} settings, no problem.", examined.count)),
        (1, ..) => Finding::problem(check, format!("{}.", first(Weight::Problem)), advice),
        (1.., ..) => Finding::problem(
            check,
            format!("The settings have {problems} problems."),
            advice,
        ),
        (0, 1.., _) => Finding::unknown(
            check,
            format!("Not seen: {}.", first(Weight::Unseen)),
            AS_SERVER,
        ),
        _ => Finding::warning(check, format!("{}.", first(Weight::Warning)), advice),
    }
}

/// Free space of the disks of the store and of the data folder.
pub fn disk(settings: &Settings, server: &Server) -> Vec<Finding> {
    if settings.store.backend == StoreBackend::Memory {
        return Vec::new();
    }
    let (reserve, public) = (settings.store.reserve, settings.store.public_key_reserve);
    let store = settings.store_path();
    let check = "disk";
    let free = match free_disk_bytes(&store) {
        Ok(free) => Ok(free as f64),
        // The folder may be closed to this user, or not exist yet.
        Err(error) => match server.free_bytes("store") {
            Some(free) => Ok(free),
            None => of_ancestor(&store).ok_or(error),
        },
    };
    let free = match free {
        Ok(free) => free,
        Err(error) => {
            return vec![Finding::unknown(
                check,
                format!("Not seen: the disk of {}: {error}.", store.display()),
                "Run doctor as the user that runs the server, or with an operator token.",
            )];
        }
    };
    let size = |bytes: f64| format!("{:.1} GiB", bytes / GIB);
    let message = format!(
        "{} are free for the store; new payments stop below {reserve}, with public keys below \
         {public}.",
        size(free)
    );
    let advice = "Free space on the disk of the store, or enlarge it.";
    vec![match free {
        free if free < reserve.0 as f64 || free < public.0 as f64 => {
            Finding::problem(check, message, advice)
        }
        free if free < 2.0 * public.0 as f64 => Finding::warning(check, message, advice),
        _ => Finding::ok(check, message),
    }]
}

/// Free bytes of the disk of the first folder above `path` that can be seen.
fn of_ancestor(path: &Path) -> Option<f64> {
    let path = std::path::absolute(path).ok()?;
    let above = path.ancestors().skip(1).find(|path| path.exists())?;
    Some(free_disk_bytes(above).ok()? as f64)
}

/// The age of the last scheduled backup and of the continuous copy.
pub fn backups(settings: &Settings, server: &Server) -> Vec<Finding> {
    let (backup_to, copy_to) = (&settings.store.backup_to, &settings.store.copy_to);
    if backup_to.is_none() && copy_to.is_none() {
        return vec![Finding::warning(
            "backup",
            "No scheduled backup and no continuous copy is set up.",
            "Set store.backup_to, store.copy_to or both to folders on another disk, or make \
             backups by `switchyard store backup` yourself.",
        )];
    }
    let mut findings = Vec::new();
    if let Some(to) = backup_to {
        findings.push(backup(settings, to, server));
    }
    if copy_to.is_some() {
        findings.push(copy(server));
    }
    findings
}

fn backup(settings: &Settings, to: &Path, server: &Server) -> Finding {
    let check = "backup";
    let now = Clock::wall().now();
    let on_disk = backups::newest(to, now);
    let of_server = server.value("switchyard_store_last_backup_timestamp_seconds");
    let of_server = of_server.map(|at| (at > 0.0).then(|| Timestamp::from_seconds(at as i64)));
    // The folder may have backups of other stores, and the server's may have been deleted.
    let newest = match (on_disk, of_server) {
        (Ok(on_disk), Ok(of_server)) => on_disk.min(of_server),
        (Ok(found), Err(_)) | (Err(_), Ok(found)) => found,
        (Err(error), Err(_)) => {
            return Finding::unknown(
                check,
                format!("Not seen: {}: {error}.", to.display()),
                "Run doctor as the user that runs the server, or with an operator token.",
            );
        }
    };
    let advice = "The log says why: `failed to back up the store`. Check the folder's disk and \
                  rights, and that the server runs.";
    match newest {
        None => Finding::problem(check, format!("{} has no backup.", to.display()), advice),
        Some(at) => {
            let age = now.since(at).as_secs_f64();
            let message = format!("The last backup is {} old, of {at}.", span(age));
            match age > 2.0 * settings.store.backup_every.0.as_secs_f64() {
                true => Finding::problem(check, message, advice),
                false => Finding::ok(check, message),
            }
        }
    }
}

fn copy(server: &Server) -> Finding {
    let check = "copy";
    match server.value("switchyard_store_copy_lag_seconds") {
        Ok(lag) => {
            let message = format!("The continuous copy is {} behind.", span(lag));
            match lag > COPY_LATE {
                true => Finding::problem(
                    check,
                    message,
                    "The log says why: `failed to copy the store continuously`. Check the disk of store.copy_to.",
                ),
                false => Finding::ok(check, message),
            }
        }
        Err(why) => Server::unseen(check, &why),
    }
}

/// The restrictions around gateways in processes of their own, as this user gets them.
pub async fn kernel(settings: &Settings) -> Finding {
    let check = "kernel";
    let missing = match missing_walls().await {
        Ok(missing) => missing,
        Err(why) => {
            return Finding::unknown(
                check,
                format!("Not seen: the sandbox of gateways could not be tried: {why}."),
                AS_SERVER,
            );
        }
    };
    confined(&missing, &settings.gateways.accept_missing_walls)
}

/// The restrictions that are missing, beside those that the settings accept.
fn confined(missing: &[String], accepted: &[String]) -> Finding {
    let check = "kernel";
    let level = match refused_walls(missing, accepted).is_empty() {
        true => Level::Warning,
        false => Level::Problem,
    };
    match missing.is_empty() {
        true => Finding::ok(
            check,
            "Landlock, seccomp and namespaces confine gateways, as this user gets them.",
        ),
        false => Finding::new(
            level,
            check,
            format!("Gateways are not confined by {}.", missing.join("; ")),
            "Use a kernel and a container profile that permit it. Otherwise no gateway is loaded, \
             unless gateways.accept_missing_walls names it. Where only the network namespace is \
             missing, gateways are loaded: the filter of system calls permits no socket.",
        ),
    }
}

/// Applies the sandbox of gateways to a process that does nothing else.
async fn missing_walls() -> Result<Vec<String>, String> {
    let program: PathBuf = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut probe = Command::new(program);
    probe
        .args(["gateway-worker", "--missing-walls"])
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    let ended = tokio::time::timeout(PROBE_TIMEOUT, probe.output()).await;
    let output = ended
        .map_err(|_| "it did not end".to_owned())?
        .map_err(|error| error.to_string())?;
    let missing = serde_json::from_slice(&output.stdout);
    missing.map_err(|_| String::from_utf8_lossy(&output.stderr).trim().to_owned())
}

const GIB: f64 = 1_073_741_824.0;
/// As the alert SwitchyardCopyBehind.
const COPY_LATE: f64 = 60.0;
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_that_is_behind_by_more_than_a_minute_is_a_problem() {
        let found = |lag: u32| {
            copy(&Server::with_metrics(&format!(
                "switchyard_store_copy_lag_seconds {lag}\n"
            )))
        };
        assert_eq!(found(60).level, Level::Ok);
        assert_eq!(found(61).level, Level::Problem);
        assert_eq!(
            found(61).message,
            "The continuous copy is 61 seconds behind."
        );
        assert_eq!(copy(&Server::with_metrics("")).level, Level::Unknown);
    }

    #[test]
    fn a_missing_restriction_is_a_problem_unless_it_is_accepted() {
        let landlock = ["landlock: no access to files (not in this kernel)".to_owned()];
        assert_eq!(confined(&[], &[]).level, Level::Ok);
        let refused = confined(&landlock, &[]);
        assert_eq!(refused.level, Level::Problem);
        assert!(refused.message.contains("landlock"), "{refused:?}");
        let accepted = confined(&landlock, &["landlock".to_owned()]);
        assert_eq!(accepted.level, Level::Warning);
    }
}
