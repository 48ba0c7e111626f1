//! A fault of the machine or of the neighbours while orders come in.

use tokio::time::Instant;

use super::kills::Lives;
use super::{Figures, Load, Site, judge};

/// Orders that are promised before the fault, and once more after it.
const BEFORE_AND_AFTER: usize = 40;

/// Lets orders come in, has the fault happen, lets orders come in again, and judges what is left.
///
/// # Errors
/// [`Broken`](super::Broken), when a promise was broken; and whatever `fault` finds. Any other error: it could not be found out.
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
