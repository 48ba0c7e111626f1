//! Accounts: merchants' organisations.

use axum::extract::State;
use serde::Deserialize;
use switchyard_engine::ids::AccountId;

use super::error::{Answer, not_found};
use super::input::{Body, Id, created, ok};
use super::view::AccountView;
use crate::state::ApiState;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Named {
    name: String,
}

pub async fn list(State(state): State<ApiState>) -> Answer {
    let accounts = state.engine.access.accounts();
    let views: Vec<_> = accounts
        .iter()
        .map(|account| AccountView::from(&**account))
        .collect();
    ok("Accounts fetched successfully", &views)
}

pub async fn create(State(state): State<ApiState>, Body(new): Body<Named>) -> Answer {
    let account = state.engine.access.create_account(&new.name).await?;
    created(
        "Account created successfully",
        &AccountView::from(&*account),
    )
}

pub async fn show(State(state): State<ApiState>, Id(id): Id<AccountId>) -> Answer {
    let account = state
        .engine
        .access
        .account(id)
        .ok_or_else(|| not_found("account"))?;
    ok(
        "Account fetched successfully",
        &AccountView::from(&*account),
    )
}

pub async fn update(
    State(state): State<ApiState>,
    Id(id): Id<AccountId>,
    Body(change): Body<Named>,
) -> Answer {
    let account = state.engine.access.rename_account(id, &change.name).await?;
    ok(
        "Account changed successfully",
        &AccountView::from(&*account),
    )
}
