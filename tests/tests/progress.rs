//! Progress of a command on a terminal and in a pipe.

use std::fs::{self, File, Permissions};
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use serde_json::Value;
use switchyard_store::{Backend, Batch, Store, StoreSettings, Table};
use switchyard_tests::server::stage;

/// Writes a store of some 4 MiB into the data folder `data`.
async fn fill(data: &Path) -> anyhow::Result<()> {
    fill_with(data, 4).await
}

/// Writes a store with so many rows of 1 MiB.
async fn fill_with(data: &Path, rows: u8) -> anyhow::Result<()> {
    let store = Store::open(&StoreSettings {
        backend: Backend::Sqlite,
        path: data.join("store"),
        cache_bytes: 1 << 20,
    })?;
    for key in 0..rows {
        let mut batch = Batch::new();
        batch.put(Table::Event, [key], vec![1; 1 << 20]);
        store.commit(batch).await?;
    }
    ensure!(store.close().await, "the store closes");
    Ok(())
}

/// A backup at 1 MiB a second, which takes some four seconds.
fn backup(data: &Path, to: &str) -> anyhow::Result<Command> {
    let mut command = Command::new(stage()?.join("switchyard"));
    command.args(["store", "backup", "--json", "--speed", "1", "--data"]);
    command.arg(data).arg(data.join(to));
    command
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    Ok(command)
}

/// Runs a command with standard error on a terminal of 100 columns. Returns the bytes that the
/// terminal received, and standard output.
fn on_a_terminal(mut command: Command) -> anyhow::Result<(String, String)> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let controller = openpt(flags)?;
    grantpt(&controller)?;
    unlockpt(&controller)?;
    let size = Winsize {
        ws_row: 24,
        ws_col: 100,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(&controller, size)?;
    let name = ptsname(&controller, Vec::new())?;
    let user = File::options()
        .write(true)
        .read(true)
        .open(name.to_str()?)?;
    let mut child = command.stderr(user).spawn()?;
    // The command holds the other end of the terminal.
    drop(command);
    let mut seen = Vec::new();
    let mut part = [0; 4096];
    let mut controller = File::from(controller);
    // The end of the last process at the terminal is an error of the system.
    while let Ok(read) = controller.read(&mut part) {
        if read == 0 {
            break;
        }
        seen.extend_from_slice(&part[..read]);
    }
    let mut output = String::new();
    let stdout = child.stdout.as_mut().context("standard output")?;
    stdout.read_to_string(&mut output)?;
    ensure!(child.wait()?.success(), "it failed");
    Ok((String::from_utf8_lossy(&seen).into_owned(), output))
}

fn is_json(output: &str) -> bool {
    serde_json::from_str::<Value>(output).is_ok_and(|answer| answer["data"]["rows"].is_u64())
}

/// Whether a text sets a colour or another attribute of the terminal: `ESC [ … m`.
fn has_attributes(text: &str) -> bool {
    text.split("\u{1b}[").skip(1).any(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != ';');
        end.is_some_and(|end| rest[end..].starts_with('m'))
    })
}

#[tokio::test]
async fn a_terminal_shows_a_bar_with_rate_and_remaining_time_which_goes_at_the_end()
-> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    fill(folder.path()).await?;
    for (number, no_colour) in [(1, false), (2, true)] {
        let mut command = backup(folder.path(), &format!("backup{number}"))?;
        command.env("TERM", "xterm-256color");
        if no_colour {
            command.env("NO_COLOR", "1");
        }
        let (seen, output) = on_a_terminal(command)?;
        let drawn = |line: &str| {
            ["copy ", "█", "░", "MiB of 4.", " MiB/s, ", "s left"]
                .iter()
                .all(|part| line.contains(part))
        };
        ensure!(seen.split('\r').any(drawn), "{seen:?}");
        ensure!(!no_colour || !has_attributes(&seen), "{seen:?}");
        let last = seen.rsplit("\u{1b}[2K").next().unwrap_or_default();
        ensure!(!last.contains('█'), "the bar is removed: {seen:?}");
        ensure!(is_json(&output), "{output}");
    }
    Ok(())
}

#[tokio::test]
async fn a_restore_shows_a_bar_while_it_copies_and_checks() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    fill_with(folder.path(), 48).await?;
    let made = folder.path().join("made");
    let mut command = Command::new(stage()?.join("switchyard"));
    command.args(["store", "backup", "--json", "--speed", "0", "--data"]);
    let answer = command.arg(folder.path()).arg(&made).env_clear().output()?;
    ensure!(answer.status.success(), "{answer:?}");
    let new = folder.path().join("new");
    fs::create_dir(&new)?;
    fs::set_permissions(&new, Permissions::from_mode(0o700))?;
    let mut command = Command::new(stage()?.join("switchyard"));
    command.args(["store", "restore", "--json"]).arg(&made);
    command
        .arg("--data")
        .arg(&new)
        .env_clear()
        .env("TERM", "xterm-256color")
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    let (seen, output) = on_a_terminal(command)?;
    for parts in [&["copy ", "░", "MiB of "][..], &["structure "]] {
        let drawn = |line: &str| parts.iter().all(|part| line.contains(part));
        ensure!(seen.split('\r').any(drawn), "no {parts:?}: {seen:?}");
    }
    let last = seen.rsplit("\u{1b}[2K").next().unwrap_or_default();
    ensure!(!last.contains('░'), "the bar is removed: {seen:?}");
    let answer: Value = serde_json::from_str(&output)?;
    ensure!(answer["data"]["last_commit"].is_string(), "{output}");
    Ok(())
}

#[tokio::test]
async fn a_pipe_gets_plain_lines() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    fill(folder.path()).await?;
    let piped = backup(folder.path(), "piped")?;
    let mut dumb = backup(folder.path(), "dumb")?;
    dumb.env("TERM", "dumb");
    let (on_dumb, output) = on_a_terminal(dumb)?;
    ensure!(is_json(&output), "{output}");
    let answer = { piped }.stderr(Stdio::piped()).output()?;
    ensure!(answer.status.success(), "{answer:?}");
    ensure!(is_json(&String::from_utf8(answer.stdout)?), "data alone");
    for text in [String::from_utf8(answer.stderr)?, on_dumb] {
        ensure!(!text.contains(['\u{1b}', '█']), "{text:?}");
        let lines: Vec<&str> = text.lines().collect();
        let first = lines.first().copied().unwrap_or_default();
        ensure!(first.starts_with("copy: "), "{text}");
        ensure!(
            first.contains("MiB/s, ") && first.ends_with("s left"),
            "{text}"
        );
        let sum = lines
            .iter()
            .any(|line| line.starts_with("copy: 4.") && line.contains(" in "));
        ensure!(sum, "{text}");
    }
    Ok(())
}

#[tokio::test]
async fn a_short_command_prints_no_progress_into_a_pipe() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    fill(folder.path()).await?;
    let mut command = Command::new(stage()?.join("switchyard"));
    command.args(["store", "check", "--json", "--data"]);
    let answer = command.arg(folder.path()).env_clear().output()?;
    ensure!(answer.status.success(), "{answer:?}");
    let errors = String::from_utf8(answer.stderr)?;
    ensure!(errors.is_empty(), "{errors}");
    Ok(())
}
