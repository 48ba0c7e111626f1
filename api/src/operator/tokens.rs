//! Operator tokens. One is shown once: in the answer to the request that made it.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use serde::Deserialize;
use switchyard_engine::access::{Access, Operator, OperatorToken};
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

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Revocation {
    made_by: String,
}

pub async fn list(State(state): State<ApiState>) -> Answer {
    let access = &state.engine.access;
    let tokens = access.operator_tokens();
    ok(
        "Operator tokens fetched successfully",
        &views(access, &tokens),
    )
}

fn views<'a>(access: &Access, tokens: &'a [Arc<OperatorToken>]) -> Vec<TokenView<'a>> {
    let view = |token: &'a Arc<OperatorToken>| TokenView::new(access, token, None);
    tokens.iter().map(view).collect()
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
        &TokenView::new(access, &made.token, Some(made.secret.expose())),
    )
}

pub async fn remove(State(state): State<ApiState>, Id(id): Id<OperatorTokenId>) -> Answer {
    state.engine.access.delete_operator_token(id).await?;
    done("Operator token deleted successfully")
}

/// Deletes all tokens that the token of a name created, and those that these created.
pub async fn revoke(
    State(state): State<ApiState>,
    Extension(by): Extension<Operator>,
    Body(revocation): Body<Revocation>,
) -> Answer {
    let access = &state.engine.access;
    let revoked = access.revoke_tokens_made_by(&revocation.made_by).await?;
    let names: Vec<_> = revoked.iter().map(|token| token.name.as_str()).collect();
    tracing::info!(operator.name = by.name, tokens.revoked = ?names, "operator tokens revoked");
    ok(
        "Operator tokens revoked successfully",
        &views(access, &revoked),
    )
}
