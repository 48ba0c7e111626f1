//! A fault of the machine or of the neighbours while orders come in.

use tokio::time::Instant;

use super::kills::Lives;
use super::{Figures, Load, Site, judge};

/// Number of orders that must be promised before the fault, and again after it.
const BEFORE_AND_AFTER: usize = 40;

/// Runs load, injects the fault, runs load again, and judges the result.
///
/// # Errors
/// [`Broken`](super::Broken) when a promise was broken, and any error of `fault`. Any
/// other error means that the check could not be completed.
pub async fn through(
    mut site: Site,
    rate: u32,
    fault: impl AsyncFnOnce(&mut Site, &Load) -> anyhow::Result<()>,
) -> anyhow::Result<Figures> {
    let began = Instant::now();
    let load = Load::new(site.server.merchant(), site.server.stranger());
    let loading = tokio::spawn(load.clone().run(rate));
    load.goes_on(BEFORE_AND_AFTER).await?;
    fault(&mut site, &load).await?;
    load.goes_on(BEFORE_AND_AFTER).await?;
    load.stop();
    loading.await??;
    let took = began.elapsed();
    judge::judge(&site, &load, Lives::default(), took).await
}
