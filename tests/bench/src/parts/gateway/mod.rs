//! What a gateway costs, in process and in a worker: one call of it, a whole payment through it, and its upgrades while payments flow.

mod calls;
mod payments;
mod upgrades;

use anyhow::Result;
use switchyard_engine::gateway::Isolation;

use super::Scale;
use crate::figure::Sheet;

const PLACES: [(Isolation, &str); 2] = [
    (Isolation::InProcess, "in process"),
    (Isolation::Process, "in a worker"),
];

pub async fn measure(scale: Scale, sheet: &mut Sheet) -> Result<()> {
    calls::measure(scale, sheet).await?;
    payments::measure(scale, sheet).await?;
    for (isolation, place) in PLACES {
        upgrades::measure(isolation, place, scale, sheet).await?;
    }
    Ok(())
}
