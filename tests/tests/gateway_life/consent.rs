//! `switchyard gateway …` against a server that is not in development mode: no code of a file runs
//! before an operator has approved it.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, ensure};
use serde_json::Value;
use switchyard_tests::{Server, Setup, demo_as};
use tempfile::TempDir;

use crate::line::{output_of, run};
use crate::memory::workers;

/// Output of a refused command.
async fn refused(server: &Server, words: &[&str]) -> anyhow::Result<String> {
    let output = run(server, words).await?;
    ensure!(!output.status.success(), "{words:?} was done");
    Ok(String::from_utf8(output.stderr)?)
}

/// Value at `pointer` in a file's description of itself.
async fn seen(server: &Server, file: &str, pointer: &str) -> anyhow::Result<Value> {
    let seen = output_of(server, &["inspect", file, "--json"]).await?;
    let seen: Value = serde_json::from_str(&seen)?;
    let found = seen["data"].pointer(pointer).cloned();
    found.with_context(|| format!("{pointer}: {seen}"))
}

/// The versions whose code the server can run: it loads nothing but its own copies, each by its
/// hash.
fn copies(server: &Server) -> anyhow::Result<Vec<String>> {
    let mut copies = Vec::new();
    for file in fs::read_dir(server.data().join("gateways"))? {
        let file = file?.path();
        if file.extension().is_some_and(|extension| extension == "so") {
            let name = file.file_stem().and_then(|name| name.to_str());
            copies.push(name.unwrap_or_default().to_owned());
        }
    }
    Ok(copies)
}

/// No version is there, none is loaded, and no process for one has begun.
async fn nothing_runs(server: &Server) -> anyhow::Result<()> {
    let list = output_of(server, &["list"]).await?;
    ensure!(list.contains("No gateway is installed yet"), "{list}");
    let copies = copies(server)?;
    ensure!(copies.is_empty(), "{copies:?}");
    ensure!(workers(server)?.is_empty(), "a process was begun");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_waits_under_its_hash_and_runs_only_once_that_very_hash_was_consented_to()
-> anyhow::Result<()> {
    let folder = TempDir::new()?;
    let watched = folder.path().join("watched");
    fs::create_dir(&watched)?;
    let mut server = Server::start(Setup {
        gateways: Some(watched.clone()),
        ..Setup::default()
    })
    .await?;
    server.stop().await?;
    server.leave_development()?;
    let file = watched.join("demo.so");
    fs::copy(demo_as(folder.path(), "switchyard_demo", 1)?, &file)?;
    server.up().await?;

    let sha256 = seen(&server, text(&file), "/sha256").await?;
    let sha256 = sha256.as_str().context("a hash")?;
    let list = output_of(&server, &["list"]).await?;
    for line in [
        "demo.so  switchyard_demo 1.0.1 awaits consent",
        &format!("switchyard gateway add {sha256}"),
    ] {
        assert!(list.contains(line), "{line}: {list}");
    }
    nothing_runs(&server).await?;
    wrong_hashes(&server, &file, sha256).await?;

    let added = output_of(&server, &["add", sha256, "--why", "looked at"]).await?;
    assert!(added.contains("serving at 1.0.1"), "{added}");
    assert!(
        added.contains("by development: looked at"),
        "the token's name: {added}"
    );
    assert_eq!(copies(&server)?, [sha256]);
    assert_eq!(workers(&server)?.len(), 1, "in a process of its own");
    let list = output_of(&server, &["list"]).await?;
    assert!(
        list.contains("1.0.1    serving") && !list.contains("awaits consent"),
        "{list}"
    );
    Ok(())
}

/// Each is refused with what to do, and nothing has begun to run.
async fn wrong_hashes(server: &Server, file: &Path, sha256: &str) -> anyhow::Result<()> {
    let other = "5".repeat(64);
    let sentence = format!(
        "No file with the hash {other} waits in the folder: `switchyard gateway list` shows those that do"
    );
    let unknown = refused(server, &["add", &other]).await?;
    assert!(unknown.contains(&sentence), "{unknown}");
    let sentence = format!(
        "the file has the hash {sha256}, and consent was given for {other}: look at this file before you say yes to it"
    );
    let another = refused(server, &["add", text(file), "--consent", &other]).await?;
    assert!(another.contains(&sentence), "{another}");
    // A program cannot be asked.
    let sentence = format!("`switchyard gateway inspect`, then add --consent {sha256}");
    let unasked = refused(server, &["add", text(file), "--json"]).await?;
    assert!(unasked.contains(&sentence), "{unasked}");
    nothing_runs(server).await
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap_or_default()
}
