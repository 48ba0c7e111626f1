//! Removal of a gateway. Its open attempts are still queried.

use axum::extract::State;

use super::super::error::Answer;
use super::super::input::{Body, ok};
use super::{Asking, Name, Said, by, view};
use crate::state::ApiState;

pub async fn remove(
    State(state): State<ApiState>,
    asking: Asking,
    Name(name): Name,
    Body(said): Body<Said>,
) -> Answer {
    let by = by(&asking, said.why.as_deref());
    let overview = state.engine.gateways.remove(&name, &by).await?;
    ok("Gateway removed successfully", &view::shown(&overview))
}
