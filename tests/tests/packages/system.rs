//! A copy of this system, for a test that installs packages: see `copy_of_system.sh`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context as _, ensure};
use switchyard_tests::surroundings::{Right, once_more};
use switchyard_tests::tidy::root;

const SCRIPT: &str = include_str!("copy_of_system.sh");
/// Set in the process that runs on the copy.
const ON_COPY: &str = "SWITCHYARD_ON_COPY";

/// Whether this process runs on the copy. If not, the test ran there and passed, and is over.
///
/// # Errors
/// When the test failed there, or this process may not mount.
pub fn is_copy(test: &str) -> anyhow::Result<bool> {
    if std::env::var_os(ON_COPY).is_some() {
        return Ok(true);
    }
    ensure!(
        Right::Mount.is_ours()?,
        "{test} installs packages on a copy of the system, which takes root to mount"
    );
    let copy = tempfile::tempdir()?;
    let program = std::env::current_exe()?;
    let built = program.parent().context("the folder of the program")?;
    let shared = [root(), built.to_owned(), packages()?, target()];
    let shared: Vec<_> = shared
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    let copy = format!("COPY={}", copy.path().display());
    let shared = format!("SHARED={}", shared.join(":"));
    let on_copy = format!("{ON_COPY}=1");
    let arguments = [
        "--mount",
        "--propagation",
        "private",
        "--",
        "env",
        &copy,
        &shared,
        &on_copy,
        "sh",
        "-c",
        SCRIPT,
        "copy",
    ];
    once_more("unshare", &arguments, test).map(|()| false)
}

/// Folder with the package and the archive that `cargo xtask dist` made.
pub fn packages() -> anyhow::Result<PathBuf> {
    let folder = std::env::var_os("SWITCHYARD_PACKAGES");
    let folder = folder.context("run this test by `cargo xtask test packages`")?;
    Ok(fs::canonicalize(folder)?)
}

/// Target folder of cargo, in which the program is staged.
fn target() -> PathBuf {
    let set = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    root().join(set.unwrap_or_else(|| PathBuf::from("target")))
}

/// The one file of the packages with this ending.
pub fn file(ending: &str) -> anyhow::Result<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(packages()?)? {
        found.push(entry?.path());
    }
    found.retain(|path| path.to_string_lossy().ends_with(ending));
    ensure!(found.len() == 1, "one file *{ending}, not {found:?}");
    found.pop().context("there is one")
}

/// The package with another version number.
///
/// # Errors
/// When dpkg-deb fails.
pub fn with_version(package: &Path, version: &str, folder: &Path) -> anyhow::Result<PathBuf> {
    let parts = folder.join(format!("parts-{version}"));
    let path = |path: &Path| path.display().to_string();
    run(
        "dpkg-deb",
        &["--raw-extract", &path(package), &path(&parts)],
    )?;
    let control = parts.join("DEBIAN/control");
    let text = fs::read_to_string(&control)?;
    let lines = text
        .lines()
        .map(|line| match line.starts_with("Version: ") {
            true => format!("Version: {version}\n"),
            false => format!("{line}\n"),
        });
    fs::write(&control, lines.collect::<String>())?;
    let made = folder.join(format!("switchyard_{version}.deb"));
    run(
        "dpkg-deb",
        &[
            "--root-owner-group",
            "-Zgzip",
            "-z1",
            "--build",
            &path(&parts),
            &path(&made),
        ],
    )?;
    fs::remove_dir_all(parts)?;
    Ok(made)
}

/// Output of a program that has to succeed, both streams in one text.
///
/// # Errors
/// When it fails, with what it printed.
pub fn run(program: &str, arguments: &[&str]) -> anyhow::Result<String> {
    let ended = command(program, arguments)?;
    ensure!(
        ended.status.success(),
        "{program} {arguments:?}: {}",
        text(&ended)
    );
    Ok(text(&ended))
}

/// Output of a program that has to fail.
///
/// # Errors
/// When it succeeds.
pub fn refused(program: &str, arguments: &[&str]) -> anyhow::Result<String> {
    let ended = command(program, arguments)?;
    ensure!(
        !ended.status.success(),
        "{program} {arguments:?}: {}",
        text(&ended)
    );
    Ok(text(&ended))
}

fn command(program: &str, arguments: &[&str]) -> anyhow::Result<Output> {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env("DEBIAN_FRONTEND", "noninteractive");
    command
        .output()
        .with_context(|| format!("cannot start {program}"))
}

fn text(ended: &Output) -> String {
    let errors = String::from_utf8_lossy(&ended.stderr);
    String::from_utf8_lossy(&ended.stdout).into_owned() + &errors
}
