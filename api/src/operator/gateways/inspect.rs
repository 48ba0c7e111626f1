//! Manifest of a file, and the changes that its installation would make. No code of it runs, and it is
//! not stored.

use axum::body::Body;
use axum::extract::State;

use super::super::error::Answer;
use super::super::input::ok;
use super::{upload, view};
use crate::state::ApiState;

pub async fn inspect(State(state): State<ApiState>, body: Body) -> Answer {
    let gateways = &state.engine.gateways;
    let mut file = upload::received(gateways, body).await?;
    let proposal = gateways.propose(file.whole().await?).await;
    let proposal = proposal.map_err(upload::without_path)?;
    ok("Gateway inspected successfully", &view::proposal(&proposal))
}
