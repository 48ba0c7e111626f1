//! Accounts: the organisations of merchants.

use axum::extract::State;
use switchyard_core::ids::AccountId;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::contract::accounts::{Account, AccountName};
use super::error::{Answer, not_found};
use super::input::{Body, Id, created, ok};
use crate::openapi::Success;
use crate::state::ApiState;

pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(list, create))
        .routes(routes!(show, update))
}

/// List accounts
#[utoipa::path(
    get,
    path = "/accounts",
    operation_id = "listAccounts",
    tag = "Accounts",
    responses((status = 200, description = "All accounts.", body = Success<Vec<Account>>)),
)]
async fn list(State(state): State<ApiState>) -> Answer {
    let accounts = state.engine().access().accounts();
    let views: Vec<_> = accounts
        .iter()
        .map(|account| Account::from(&**account))
        .collect();
    ok("Accounts fetched successfully", &views)
}

/// Create an account
#[utoipa::path(
    post,
    path = "/accounts",
    operation_id = "createAccount",
    tag = "Accounts",
    request_body = AccountName,
    responses((status = 201, description = "The account.", body = Success<Account>)),
)]
async fn create(State(state): State<ApiState>, Body(new): Body<AccountName>) -> Answer {
    let account = state.engine().access().create_account(&new.name).await?;
    created("Account created successfully", &Account::from(&*account))
}

/// Retrieve an account
#[utoipa::path(
    get,
    path = "/accounts/{account}",
    operation_id = "retrieveAccount",
    tag = "Accounts",
    responses((status = 200, description = "The account.", body = Success<Account>)),
)]
async fn show(State(state): State<ApiState>, Id(id): Id<AccountId>) -> Answer {
    let account = state
        .engine()
        .access()
        .account(id)
        .ok_or_else(|| not_found("account"))?;
    ok("Account fetched successfully", &Account::from(&*account))
}

/// Rename an account
#[utoipa::path(
    patch,
    path = "/accounts/{account}",
    operation_id = "updateAccount",
    tag = "Accounts",
    request_body = AccountName,
    responses((status = 200, description = "The account.", body = Success<Account>)),
)]
async fn update(
    State(state): State<ApiState>,
    Id(id): Id<AccountId>,
    Body(change): Body<AccountName>,
) -> Answer {
    let account = state
        .engine()
        .access()
        .rename_account(id, &change.name)
        .await?;
    ok("Account changed successfully", &Account::from(&*account))
}
