//! Whether one more payment costs more when many are stored.

use std::time::Duration;

use anyhow::Result;

use crate::initialize::{drive, serve};
use crate::subject;

const FEW: u64 = 10_000;
const TIME: Duration = Duration::from_secs(10);

pub async fn measure(many: u64) -> Result<()> {
    let dir = tempfile::tempdir_in(".")?;
    let bench = subject::start(dir.path()).await?;
    let address = serve(subject::router(&bench)).await?;
    // Warm up, on the payments that count as the few.
    drive(address, &bench, Duration::from_secs(1)).await?;
    subject::fill(&bench, FEW, 0).await?;
    let young = drive(address, &bench, TIME).await?;
    let stored = bench.engine.store.stats().commits;
    subject::fill(&bench, many.saturating_sub(stored), FEW).await?;
    let old = drive(address, &bench, TIME).await?;
    println!("initialize, as the store grows");
    println!(
        "  with {FEW:>9} payments stored   {:>8.0} /s   p99 {:>6.2} ms",
        young.per_second(),
        young.percentile_ms(0.99)
    );
    println!(
        "  with {many:>9} payments stored   {:>8.0} /s   p99 {:>6.2} ms",
        old.per_second(),
        old.percentile_ms(0.99)
    );
    println!(
        "  ratio                             {:>9.0} %  (bar: at least 80 %)",
        100.0 * old.per_second() / young.per_second()
    );
    Ok(())
}
