//! Operator tokens. The response to the request that creates a token is the only one that shows it.

use axum::Extension;
use axum::extract::State;
use switchyard_core::ids::OperatorTokenId;
use switchyard_engine::access::Operator;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::contract::Nothing;
use super::contract::tokens::{NewToken, Revocation, Token};
use super::error::Answer;
use super::input::{Body, Id, created, done, ok};
use crate::openapi::Success;
use crate::state::ApiState;

pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(list, create))
        .routes(routes!(revoke))
        .routes(routes!(remove))
}

/// List the operator tokens of the store
///
/// The list does not contain the tokens of the settings file.
#[utoipa::path(
    get,
    path = "/tokens",
    operation_id = "listTokens",
    tag = "Tokens",
    responses((status = 200, description = "Tokens.", body = Success<Vec<Token>>)),
)]
async fn list(State(state): State<ApiState>) -> Answer {
    let access = state.engine().access();
    let tokens = access.operator_tokens();
    let views: Vec<_> = tokens
        .iter()
        .map(|token| Token::new(access, token))
        .collect();
    ok("Operator tokens fetched successfully", &views)
}

/// Create an operator token
///
/// This response is the only one that shows the token.
#[utoipa::path(
    post,
    path = "/tokens",
    operation_id = "createToken",
    tag = "Tokens",
    request_body = NewToken,
    responses((status = 201, description = "The token.", body = Success<Token>)),
)]
async fn create(
    State(state): State<ApiState>,
    Extension(by): Extension<Operator>,
    Body(new): Body<NewToken>,
) -> Answer {
    let access = state.engine().access();
    let made = access.create_operator_token(&new.name, Some(&by)).await?;
    let view = Token {
        token: Some(made.secret.expose().clone()),
        ..Token::new(access, &made.token)
    };
    created("Operator token created successfully", &view)
}

/// Revoke an operator token
#[utoipa::path(
    delete,
    path = "/tokens/{token}",
    operation_id = "deleteToken",
    tag = "Tokens",
    responses((status = 200, description = "The token is revoked.", body = Success<Nothing>)),
)]
async fn remove(State(state): State<ApiState>, Id(id): Id<OperatorTokenId>) -> Answer {
    state.engine().access().delete_operator_token(id).await?;
    done("Operator token deleted successfully")
}

/// Revoke all tokens that a token created
///
/// Deletes the tokens that the token of a name created, directly or through others.
#[utoipa::path(
    post,
    path = "/tokens/revoke",
    operation_id = "revokeTokens",
    tag = "Tokens",
    request_body = Revocation,
    responses((status = 200, description = "The deleted tokens.", body = Success<Vec<Token>>)),
)]
async fn revoke(
    State(state): State<ApiState>,
    Extension(by): Extension<Operator>,
    Body(revocation): Body<Revocation>,
) -> Answer {
    let access = state.engine().access();
    let revoked = access.revoke_tokens_made_by(&revocation.made_by).await?;
    let names: Vec<_> = revoked.iter().map(|token| token.name.as_str()).collect();
    tracing::info!(operator.name = by.name, tokens.revoked = ?names, "operator tokens revoked");
    let views: Vec<_> = revoked
        .iter()
        .map(|token| Token::new(access, token))
        .collect();
    ok("Operator tokens revoked successfully", &views)
}
