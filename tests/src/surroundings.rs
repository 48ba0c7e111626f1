//! Prerequisites of a test, and the same test in a process of its own where this one lacks them.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};

/// A right that the kernel gives or not, by its number in the kernel's lists.
#[derive(Clone, Copy, Debug)]
pub enum Right {
    /// To look into every process (`CAP_SYS_PTRACE`).
    LookIntoAll = 19,
    /// To mount, among much else (`CAP_SYS_ADMIN`).
    Mount = 21,
}

impl Right {
    /// Whether this process has it. Root has both, unless a container took them.
    ///
    /// # Errors
    /// When `/proc` does not tell.
    pub fn is_ours(self) -> anyhow::Result<bool> {
        let status = fs::read_to_string("/proc/self/status")?;
        let rights = status
            .lines()
            .find_map(|line| line.strip_prefix("CapEff:"))
            .context("the rights of a process are not listed")?;
        Ok(u64::from_str_radix(rights.trim(), 16)? & (1 << self as u32) != 0)
    }
}

/// Whether this process runs as root.
pub fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

/// Runs one test of the calling file again, started by another program that changes what is around
/// it. `test`: its whole name.
///
/// # Errors
/// Output of the process, unless exactly this one test was run and passed.
pub fn once_more(program: &str, arguments: &[&str], test: &str) -> anyhow::Result<()> {
    let ended = Command::new(program)
        .args(arguments)
        .arg(std::env::current_exe()?)
        .args(["--exact", test, "--nocapture"])
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("install `{program}`, which is part of util-linux"))?;
    let output = String::from_utf8_lossy(&ended.stdout);
    let errors = String::from_utf8_lossy(&ended.stderr);
    ensure!(
        ended.status.success() && output.contains("1 passed"),
        "{test}, started by {program}: {}\n{output}\n{errors}",
        ended.status
    );
    Ok(())
}
