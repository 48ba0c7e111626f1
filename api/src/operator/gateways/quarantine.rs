//! A version takes nothing new until it is restored: the current one, or the one that is named.

use axum::extract::State;

use super::super::error::Answer;
use super::super::input::{Body, ok};
use super::{Asking, Name, SaidOfVersion, by, view};
use crate::state::ApiState;

pub async fn quarantine(
    State(state): State<ApiState>,
    asking: Asking,
    Name(name): Name,
    Body(said): Body<SaidOfVersion>,
) -> Answer {
    let by = by(&asking, said.why.as_deref());
    let overview = state
        .engine
        .gateways
        .quarantine(&name, said.version.as_deref(), &by)
        .await?;
    ok("Gateway put into quarantine", &view::shown(&overview))
}
