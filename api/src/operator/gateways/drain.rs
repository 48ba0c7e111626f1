//! No new attempts begin at a gateway; the answer counts what is left.

use axum::extract::State;

use super::super::error::Answer;
use super::super::input::{Body, ok};
use super::{Asking, Name, Said, by, view};
use crate::state::ApiState;

pub async fn drain(
    State(state): State<ApiState>,
    asking: Asking,
    Name(name): Name,
    Body(said): Body<Said>,
) -> Answer {
    let by = by(&asking, said.why.as_deref());
    let overview = state.engine.gateways.drain(&name, &by).await?;
    ok("Gateway is being drained", &view::shown(&overview))
}
