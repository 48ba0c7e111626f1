//! `switchyard config check` and a start report the same problems.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use anyhow::Context as _;
use serde_json::Value;
use switchyard_tests::server::stage;
use switchyard_tests::surroundings::is_root;
use tempfile::TempDir;

use super::installation::Installation;

/// A settings file with one problem in each of several places, and one in the environment.
const FAULTY: &str = "\
[server]
lissten = '127.0.0.1:8080'
public_url = 'http://pay.example.com'

[store]
cache = '1MiB'
backup_every = 5

[secrets]
master_key_file = '/nowhere/master.key'
";
const VARIABLE: (&str, &str) = ("SWITCHYARD_WEBHOOK__RETRIES", "99");

/// Runs a command of the program with the settings file.
fn run(arguments: &[&str], file: &Path) -> anyhow::Result<Output> {
    let mut command = Command::new(stage()?.join("switchyard"));
    command.args(arguments).arg("--config").arg(file);
    command.env(VARIABLE.0, VARIABLE.1).stdin(Stdio::null());
    Ok(command.output()?)
}

#[test]
fn a_check_and_a_start_report_the_same_problems_all_at_once() -> anyhow::Result<()> {
    let folder = TempDir::new()?;
    let file = folder.path().join("switchyard.toml");
    fs::write(&file, FAULTY)?;
    let checked = run(&["config", "check", "--json"], &file)?;
    assert_eq!(checked.status.code(), Some(2));
    let report: Value = serde_json::from_slice(&checked.stdout)?;
    let findings = report["findings"].as_array().context("findings")?;
    let problems: Vec<&Value> = findings
        .iter()
        .filter(|found| found["level"] == "problem")
        .collect();
    let places: Vec<String> = problems
        .iter()
        .map(|found| match found["variable"].as_str() {
            Some(variable) => variable.to_owned(),
            None => format!("{}:{}", found["line"], found["column"]),
        })
        .collect();
    assert_eq!(
        places,
        ["2:1", "3:14", "6:9", "7:16", "10:19", VARIABLE.0],
        "{report:#}"
    );
    assert_eq!(report["problems"], 6);
    assert_eq!(report["warnings"], 1, "no proxy is trusted");

    let started = run(&["serve"], &file)?;
    assert_eq!(started.status.code(), Some(2));
    let said = String::from_utf8(started.stderr)?;
    assert_eq!(said.lines().count(), problems.len(), "{said}");
    for found in &problems {
        let message = found["message"].as_str().context("a message")?;
        assert!(said.contains(message), "{message}: {said}");
    }
    let shown = run(&["config", "check"], &file)?;
    let shown = String::from_utf8(shown.stdout)?;
    assert!(
        shown.contains(&format!("{}:3:14\n", file.display())),
        "{shown}"
    );
    assert!(shown.ends_with(": 6 problems, 1 warning\n"), "{shown}");
    assert!(
        !shown.contains('\u{1b}'),
        "colour is for terminals: {shown}"
    );
    Ok(())
}

#[test]
fn a_settings_file_that_a_user_may_not_read_is_unknown_and_a_refusal_only_if_strict()
-> anyhow::Result<()> {
    if !is_root() {
        // Another user takes root to become.
        return Ok(());
    }
    let installation = Installation::follow()?;
    for (arguments, code) in [(&[][..], 0), (&["--strict"][..], 2)] {
        let checked = Command::new("setpriv")
            .args(["--reuid", "54321", "--regid", "54321", "--clear-groups"])
            .arg(installation.program())
            .args(["config", "check", "--json", "--config"])
            .arg(installation.config())
            .args(arguments)
            .output()?;
        let report: Value = serde_json::from_slice(&checked.stdout)?;
        let findings = report["findings"].as_array().context("findings")?;
        assert_eq!(findings.len(), 1, "{report:#}");
        assert_eq!(findings[0]["level"], "unknown");
        let message = findings[0]["message"].as_str().context("a message")?;
        let path = installation.config().display().to_string();
        assert!(message.contains(&path) && message.contains("Permission denied"));
        assert_eq!(report["is_complete"], false);
        assert_eq!(checked.status.code(), Some(code), "{report:#}");
    }
    Ok(())
}

#[test]
fn what_a_user_may_not_read_is_unknown_and_no_problem() -> anyhow::Result<()> {
    if !is_root() {
        // Another user takes root to become.
        return Ok(());
    }
    let installation = Installation::follow()?;
    let copy = installation.folder.path().join("readable.toml");
    fs::copy(installation.config(), &copy)?;
    fs::set_permissions(&copy, std::os::unix::fs::PermissionsExt::from_mode(0o644))?;
    let checked = Command::new("setpriv")
        .args(["--reuid", "54321", "--regid", "54321", "--clear-groups"])
        .arg(installation.program())
        .args(["config", "check", "--json", "--config"])
        .arg(&copy)
        .output()?;
    let report: Value = serde_json::from_slice(&checked.stdout)?;
    let findings = report["findings"].as_array().context("findings")?;
    assert_eq!(findings.len(), 1, "{report:#}");
    assert_eq!(findings[0]["level"], "unknown");
    assert_eq!(findings[0]["setting"], "secrets.master_key_file");
    assert_eq!(checked.status.code(), Some(0));
    Ok(())
}
