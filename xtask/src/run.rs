//! Running other programs, and saying which one failed.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, IsTerminal as _, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};
use switchyard_progress::Progress;

/// The repository's root.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask stands in the workspace")
}

/// Cargo's target folder.
pub fn target() -> PathBuf {
    let set = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    root().join(set.unwrap_or_else(|| PathBuf::from("target")))
}

/// The cargo that runs us, without what it told us about our own package: build scripts (ring's,
/// for one) look at these names, and would build again, with all that depends on them, each time
/// that they differ.
pub fn cargo() -> Command {
    as_cargo(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// A program that runs cargo, in the same environment as [`cargo`].
pub fn as_cargo(name: impl AsRef<OsStr>) -> Command {
    let mut cargo = program(name);
    for (name, _) in std::env::vars_os() {
        let ours = name.to_string_lossy();
        if ours.starts_with("CARGO_PKG_") || ours.starts_with("CARGO_MANIFEST_") {
            cargo.env_remove(name);
        }
    }
    cargo
}

/// A program, started in the root, with nothing to read: no step may wait for a person.
pub fn program(name: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(name);
    command.current_dir(root()).stdin(Stdio::null());
    command
}

/// Runs it to its end; an error unless it ends well.
pub fn must(command: &mut Command) -> anyhow::Result<()> {
    let shown = shown(command);
    let status = command
        .status()
        .with_context(|| format!("cannot start `{shown}`"))?;
    if !status.success() {
        bail!("`{shown}` ended with {status}");
    }
    Ok(())
}

/// Runs it to its end, with its output as lines above the bar of `progress`; an error unless it
/// ends well.
pub fn must_below(progress: &Progress, command: &mut Command) -> anyhow::Result<()> {
    let shown = shown(command);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start `{shown}`"))?;
    let (output, errors) = (child.stdout.take(), child.stderr.take());
    std::thread::scope(|scope| {
        scope.spawn(|| print_lines(output, |line| progress.without_bar(|| println!("{line}"))));
        print_lines(errors, |line| progress.line(line));
    });
    let status = child.wait()?;
    if !status.success() {
        bail!("`{shown}` ended with {status}");
    }
    Ok(())
}

fn print_lines(output: Option<impl Read>, print: impl Fn(&str)) {
    let lines = output
        .into_iter()
        .flat_map(|output| BufReader::new(output).split(b'\n'));
    for line in lines.map_while(Result::ok) {
        print(String::from_utf8_lossy(&line).trim_end());
    }
}

/// Option `--quiet` for cargo, except on a terminal, where cargo shows a bar of its own.
pub fn quiet() -> Option<&'static str> {
    (!std::io::stderr().is_terminal()).then_some("--quiet")
}

/// Whether a program of that name can be started.
pub fn has(name: impl AsRef<OsStr>, arguments: &[&str]) -> bool {
    succeeds(program(name).args(arguments))
}

/// Whether it can be started and ends well, without a word.
pub fn succeeds(command: &mut Command) -> bool {
    let quiet = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    quiet.is_ok_and(|status| status.success())
}

fn shown(command: &Command) -> String {
    let name = Path::new(command.get_program())
        .file_name()
        .unwrap_or_default();
    let words = std::iter::once(name).chain(command.get_args());
    words
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}
