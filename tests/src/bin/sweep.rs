//! `cargo xtask sweep`: kills the real program under load, or restores backups of it, and prints
//! the figures by the provider's books.

#![expect(clippy::print_stdout, reason = "output of a command")]

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use switchyard_tests::sweep::restores::{self, Restores};
use switchyard_tests::sweep::{Broken, Sweep, run};

/// Time after a start by which the program must have resumed the transactions that were open at the
/// crash.
const RESUMES_WITHIN: Duration = Duration::from_secs(10);

/// How much longer than without a backup 99 of 100 answers may take during one.
const SLOWDOWN_LIMIT: f64 = 3.0;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let what = arguments.next();
    let mut number = || arguments.next().and_then(|given| given.parse().ok());
    let (Some(what), Some(times), Some(rate)) = (what, number(), number()) else {
        eprintln!("usage: sweep kills|restores <how often> <orders a second> [<chart of kills>]");
        return ExitCode::FAILURE;
    };
    let chart = arguments.next().map(PathBuf::from);
    match sweep(&what, times, rate, chart.as_deref()).await {
        Ok(figures) => {
            println!("{figures}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            match error.downcast_ref::<Broken>() {
                Some(broken) => eprintln!("Promises are broken: {broken}"),
                None => {
                    eprintln!("Nothing is proven, the sweep did not come to its end: {error:#}")
                }
            }
            ExitCode::FAILURE
        }
    }
}

/// `chart`: file for the recovery times of a sweep of kills.
async fn sweep(
    what: &str,
    times: u32,
    rate: u32,
    chart: Option<&Path>,
) -> anyhow::Result<Box<dyn Display>> {
    // The gateway was built beside this program.
    let programmable = std::env::current_exe()?.with_file_name("libgateway_programmable.so");
    let kills = Sweep {
        kills: times,
        rate,
        resumes_within: RESUMES_WITHIN,
    };
    let restores = Restores {
        restores: times,
        rate,
        slowdown_limit: Some(SLOWDOWN_LIMIT),
    };
    Ok(match what {
        "kills" => {
            let figures = run(kills, &programmable).await?;
            if let Some(file) = chart {
                std::fs::create_dir_all(file.parent().context("the chart has a folder")?)?;
                std::fs::write(file, figures.chart()?)?;
                eprintln!("chart of recovery times: {}", file.display());
            }
            Box::new(figures)
        }
        "restores" => Box::new(restores::run(restores, &programmable).await?),
        other => anyhow::bail!("no sweep of {other}"),
    })
}
