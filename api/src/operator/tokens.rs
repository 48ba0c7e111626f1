//! Operator tokens. One is shown once: in the answer to the request that made it.

use axum::Extension;
use axum::extract::State;
use serde::Deserialize;
use switchyard_engine::access::Operator;
use switchyard_engine::ids::OperatorTokenId;

use super::error::Answer;
use super::input::{Body, Id, created, done, ok};
use super::view::TokenView;
use crate::state::ApiState;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct New {
    name: String,
}

pub async fn list(State(state): State<ApiState>) -> Answer {
    let tokens = state.engine.access.operator_tokens();
    let views: Vec<_> = tokens
        .iter()
        .map(|token| TokenView::new(token, None))
        .collect();
    ok("Operator tokens fetched successfully", &views)
}

pub async fn create(
    State(state): State<ApiState>,
    Extension(by): Extension<Operator>,
    Body(new): Body<New>,
) -> Answer {
    let access = &state.engine.access;
    let made = access.create_operator_token(&new.name, Some(&by)).await?;
    created(
        "Operator token created successfully",
        &TokenView::new(&made.token, Some(made.secret.expose())),
    )
}

pub async fn remove(State(state): State<ApiState>, Id(id): Id<OperatorTokenId>) -> Answer {
    state.engine.access.delete_operator_token(id).await?;
    done("Operator token deleted successfully")
}
