//! The version before comes back, or the one that is named by the beginning of its hash.

use axum::extract::State;

use super::super::error::Answer;
use super::super::input::{Body, ok};
use super::{Asking, Name, SaidOfVersion, by, view};
use crate::state::ApiState;

pub async fn roll_back(
    State(state): State<ApiState>,
    asking: Asking,
    Name(name): Name,
    Body(said): Body<SaidOfVersion>,
) -> Answer {
    let by = by(&asking, said.why.as_deref());
    let overview = state
        .engine
        .gateways
        .roll_back(&name, said.version.as_deref(), &by)
        .await?;
    ok("Gateway rolled back successfully", &view::shown(&overview))
}
