//! Brings a gateway back from quarantine, a drain or a removal.

use axum::extract::State;

use super::super::error::Answer;
use super::super::input::{Body, ok};
use super::{Asking, Name, SaidOfVersion, by, view};
use crate::state::ApiState;

pub async fn restore(
    State(state): State<ApiState>,
    asking: Asking,
    Name(name): Name,
    Body(said): Body<SaidOfVersion>,
) -> Answer {
    let by = by(&asking, said.why.as_deref());
    let overview = state
        .engine
        .gateways
        .restore(&name, said.version.as_deref(), &by)
        .await?;
    ok("Gateway restored successfully", &view::shown(&overview))
}
