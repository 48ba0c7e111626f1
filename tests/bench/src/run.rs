//! Runs the parts, each in a process of its own, and reports their results. A part that fails or
//! hangs does not keep the others from being measured.

#![expect(clippy::print_stdout, reason = "progress of a long test")]

use std::fs::File;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::ValueEnum as _;
use switchyard_progress::{Progress, Unit};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::time::Instant;

use crate::charts;
use crate::figure::{Figure, Sheet};
use crate::parts::{Part, Scale};
use crate::report::{self, Measured};
use crate::subject;

/// Far longer than any part takes. Figures that were measured by then count.
const PATIENCE: Duration = Duration::from_secs(10 * 60);
/// Time in which a part that timed out may end its subprocesses.
const GRACE: Duration = Duration::from_secs(30);

/// Measures the parts, prints the table, and writes the page if there is a file for it.
///
/// # Errors
/// When a part failed. Not when a bar is missed: a figure is a figure.
pub async fn all(parts: &[Part], scale: Scale, file: Option<&Path>) -> Result<()> {
    let parts = if parts.is_empty() {
        Part::value_variants()
    } else {
        parts
    };
    let mut measured = Vec::new();
    let progress = Progress::begin("measure", Some(parts.len() as u64), Unit::Things("parts"));
    for part in parts {
        progress.line(&format!("{}: {}", part.name(), part.does()));
        progress.name(&format!("measure {}", part.name()));
        measured.push(apart(*part, scale, &progress).await);
        progress.add(1);
    }
    drop(progress);
    println!("\n{}", report::table(&measured));
    if let Some(file) = file {
        let charts = charts::of(&measured)?;
        charts::write(&charts, file)?;
        std::fs::write(file, charts::shown(&report::page(&measured), &charts))
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    let failed = measured.iter().filter(|part| part.failed.is_some());
    let failed: Vec<_> = failed.map(|part| part.part.name()).collect();
    if !failed.is_empty() {
        bail!("could not be measured: {}", failed.join(", "));
    }
    Ok(())
}

/// One part in a process of its own.
async fn apart(part: Part, scale: Scale, progress: &Progress) -> Measured {
    let begun = Instant::now();
    let mut figures = Vec::new();
    let end = in_process(part, scale, &mut figures, progress).await;
    let failed = end.err().map(|error| format!("{error:#}"));
    if let Some(why) = &failed {
        progress.line(&format!("  FAILED: {why}"));
    }
    Measured {
        part,
        figures,
        took: begun.elapsed(),
        failed,
    }
}

async fn in_process(
    part: Part,
    scale: Scale,
    figures: &mut Vec<Figure>,
    progress: &Progress,
) -> Result<()> {
    let folder = subject::folder()?;
    let sheet = folder.path().join("figures");
    let mut child = Command::new(std::env::current_exe()?)
        .args(["measure", &part.name()])
        .arg(&sheet)
        .args(scale.tiny.then_some("--tiny"))
        .env(subject::FOLDER, folder.path())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let ended = tokio::time::timeout(PATIENCE + GRACE, watched(&mut child, progress)).await;
    for line in std::fs::read_to_string(&sheet).unwrap_or_default().lines() {
        figures.push(serde_json::from_str(line)?);
    }
    match ended {
        Ok(status) if status.as_ref().is_ok_and(ExitStatus::success) => Ok(()),
        Ok(_) => {
            let why = std::fs::read_to_string(folder.path().join("why"));
            bail!(why.unwrap_or_else(|_| "it ended without a word".to_owned()))
        }
        Err(_) => {
            child.kill().await?;
            bail!("it hung, and was killed")
        }
    }
}

/// Waits for the end of a process, and prints the lines of its standard error above the bar.
async fn watched(child: &mut Child, progress: &Progress) -> Result<ExitStatus> {
    let lines = child.stderr.take().context("standard error of the part")?;
    let mut lines = BufReader::new(lines).lines();
    let status = loop {
        tokio::select! {
            line = lines.next_line() => match line {
                Ok(Some(line)) => progress.line(&line),
                Ok(None) | Err(_) => break child.wait().await?,
            },
            status = child.wait() => break status?,
        }
    };
    // Subprocesses of the part may hold the pipe for longer.
    let rest = async {
        while let Ok(Some(line)) = lines.next_line().await {
            progress.line(&line);
        }
    };
    let _ = tokio::time::timeout(LAST_LINES, rest).await;
    Ok(status)
}

/// Time for the last lines of a part that has ended.
const LAST_LINES: Duration = Duration::from_secs(1);

/// In the part's own process.
pub async fn one(part: Part, figures: &Path, scale: Scale) -> Result<()> {
    let mut sheet = Sheet::new(File::create(figures)?);
    let measured = tokio::time::timeout(PATIENCE, part.measure(scale, &mut sheet)).await;
    let end = measured.unwrap_or_else(|_| bail!("it took longer than {PATIENCE:?}"));
    if let Err(error) = &end {
        std::fs::write(figures.with_file_name("why"), format!("{error:#}"))?;
    }
    end
}
