//! `cargo xtask sweep`: kills the real program under load as often as told, and prints what the books say.

use std::process::ExitCode;
use std::time::Duration;

use switchyard_tests::sweep::{Broken, Figures, Sweep, run};

/// How soon after a start the program has to be at work on what was open when it died.
const RESUMES_WITHIN: Duration = Duration::from_secs(10);

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let mut number = || arguments.next().and_then(|given| given.parse().ok());
    let (Some(kills), Some(rate)) = (number(), number()) else {
        eprintln!("usage: sweep <kills> <orders a second>");
        return ExitCode::FAILURE;
    };
    let sweep = Sweep {
        kills,
        rate,
        resumes_within: RESUMES_WITHIN,
    };
    match sweep_with_its_gateway(sweep).await {
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

/// The gateway was built beside this program.
async fn sweep_with_its_gateway(sweep: Sweep) -> anyhow::Result<Figures> {
    let programmable = std::env::current_exe()?.with_file_name("libgateway_programmable.so");
    run(sweep, &programmable).await
}
