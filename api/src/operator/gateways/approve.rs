//! The second operator's word about an upgrade that waits for it.

use axum::extract::State;
use serde::Deserialize;

use super::super::error::Answer;
use super::super::input::{Body, ok};
use super::{Asking, Name, by, view};
use crate::state::ApiState;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Named {
    /// The whole hash of the file.
    sha256: String,
    why: Option<String>,
}

pub async fn approve(
    State(state): State<ApiState>,
    asking: Asking,
    Name(name): Name,
    Body(named): Body<Named>,
) -> Answer {
    let by = by(&asking, named.why.as_deref());
    let gateways = &state.engine.gateways;
    let overview = gateways.approve(&name, &named.sha256, &by).await?;
    ok("Gateway approved successfully", &view::shown(&overview))
}

pub async fn reject(
    State(state): State<ApiState>,
    asking: Asking,
    Name(name): Name,
    Body(named): Body<Named>,
) -> Answer {
    let by = by(&asking, named.why.as_deref());
    let gateways = &state.engine.gateways;
    let overview = gateways.reject(&name, &named.sha256, &by).await?;
    ok("Gateway rejected successfully", &view::shown(&overview))
}
