//! The server is killed in the middle of its work, again and again, without a loss.

use std::time::Duration;

use switchyard_tests::programmable_gateway;
use switchyard_tests::sweep::{Sweep, run};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kills_under_load_lose_nothing_and_double_nothing() -> anyhow::Result<()> {
    let sweep = Sweep {
        kills: 14,
        rate: 80,
        // Twice the promise, on a machine that may be busy with something else. `cargo xtask sweep`
        // holds the promise itself.
        resumes_within: Duration::from_secs(20),
    };
    let figures = run(sweep, &programmable_gateway()).await?;
    println!("{figures}");
    anyhow::ensure!(
        figures.payments > 100 && figures.payouts > 100,
        "there was too little load"
    );
    anyhow::ensure!(!figures.resumed.is_empty(), "nothing was open at any kill");
    anyhow::ensure!(
        figures.callbacks.acknowledged > 20 && figures.callbacks.ended > 0,
        "there were too few callbacks"
    );
    Ok(())
}
