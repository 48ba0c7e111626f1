//! Cost of a gateway: one call of it, a whole payment through it, and its upgrades while payments
//! flow.

mod calls;
mod payments;
mod upgrades;

use anyhow::Result;

use super::Scale;
use crate::figure::Sheet;

pub async fn measure(scale: Scale, sheet: &mut Sheet) -> Result<()> {
    calls::measure(scale, sheet).await?;
    payments::measure(scale, sheet).await?;
    upgrades::measure(scale, sheet).await
}
