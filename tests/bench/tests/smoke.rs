//! Every part of the measurements runs to its end, at sizes that take seconds. Its figures mean
//! nothing here, so none is looked at.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use anyhow::{Context, ensure};

const BENCH: &str = env!("CARGO_BIN_EXE_switchyard-bench");

/// Programs that are measured besides this package are beside it once the workspace is built, which
/// `cargo xtask test` has done.
fn build() -> anyhow::Result<()> {
    if std::env::var_os("SWITCHYARD_STAGED").is_some() {
        return Ok(());
    }
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--quiet", "--workspace", "--target-dir"]);
    let profile = Path::new(BENCH).parent().context("a folder")?;
    cargo.arg(profile.parent().context("a folder")?);
    ensure!(!profile.ends_with("release"), "for a debug build");
    let built = cargo.stdin(Stdio::null()).status()?;
    ensure!(built.success(), "the workspace does not build");
    Ok(())
}

fn bench(arguments: &[&str]) -> anyhow::Result<Output> {
    Ok(Command::new(BENCH)
        .args(arguments)
        .stdin(Stdio::null())
        .output()?)
}

#[test]
fn every_part_can_be_measured_and_the_page_has_a_table_of_each() -> anyhow::Result<()> {
    build()?;
    let folder = tempfile::tempdir()?;
    let page = folder.path().join("page.md");
    let output = bench(&["--tiny", "--write", &page.to_string_lossy()])?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{said}");
    let page = std::fs::read_to_string(page)?;
    let headings: Vec<_> = page
        .lines()
        .filter_map(|line| line.strip_prefix("### "))
        .collect();
    ensure!(headings.len() >= 12, "{headings:?}");
    for section in page.split("\n### ").skip(1) {
        ensure!(section.contains("| measured |"), "no figures: {section}");
        ensure!(!section.contains("NaN"), "no number: {section}");
    }
    // The page is published: it names the machine's kind, and nothing of whose it is.
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname")?;
    for private in [name.trim(), env!("CARGO_MANIFEST_DIR")] {
        ensure!(
            private.len() < 4 || !page.contains(private),
            "{private} is on the page"
        );
    }
    Ok(())
}

#[test]
fn a_part_that_fails_is_named_and_the_others_are_measured() -> anyhow::Result<()> {
    // Without the server beside it, whose workers run gateways, it cannot measure payments.
    let folder = tempfile::tempdir()?;
    let alone = folder.path().join("bench");
    std::fs::copy(BENCH, &alone)?;
    let output = Command::new(alone)
        .args(["retrieve", "commit", "--tiny"])
        .output()?;
    let (table, said) = (
        String::from_utf8(output.stdout)?,
        String::from_utf8(output.stderr)?,
    );
    ensure!(
        !output.status.success() && said.contains("could not be measured: retrieve"),
        "{said}"
    );
    ensure!(
        table.contains("retrieve: FAILED: switchyard is not built"),
        "{table}"
    );
    ensure!(table.contains("commits, one after the other"), "{table}");
    Ok(())
}

#[test]
fn the_command_lists_the_parts_as_they_are() -> anyhow::Result<()> {
    let listed = include_str!("../../../xtask/src/bench.rs");
    let help = String::from_utf8(bench(&["--help"])?.stdout)?;
    let parts = help
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- "));
    let mut count = 0;
    for (name, does) in parts.filter_map(|line| line.split_once(':')) {
        let (name, does) = (name.trim(), does.trim());
        ensure!(
            listed.contains(&format!("\n  {name:<10}  {does}\n")),
            "{name}: {does}"
        );
        count += 1;
    }
    ensure!(count >= 12, "{help}");
    Ok(())
}
