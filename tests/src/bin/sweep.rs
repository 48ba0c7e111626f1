//! `cargo xtask sweep`: kills the real program under load, or restores backups of it, and prints
//! the figures by the provider's books.

#![expect(clippy::print_stdout, reason = "output of a command")]

use std::fmt::Display;
use std::process::ExitCode;
use std::time::Duration;

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
        eprintln!("usage: sweep kills|restores <how often> <orders a second>");
        return ExitCode::FAILURE;
    };
    match sweep(&what, times, rate).await {
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

async fn sweep(what: &str, times: u32, rate: u32) -> anyhow::Result<Box<dyn Display>> {
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
        "kills" => Box::new(run(kills, &programmable).await?),
        "restores" => Box::new(restores::run(restores, &programmable).await?),
        other => anyhow::bail!("no sweep of {other}"),
    })
}
