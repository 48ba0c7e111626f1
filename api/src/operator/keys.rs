//! API keys of an app. The response to the request that creates a key is the only one that shows
//! it.

use std::time::Duration;

use axum::extract::State;
use switchyard_core::ids::{AppId, KeyId};
use switchyard_engine::access::{self, ListedKey};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::contract::Nothing;
use super::contract::keys::{Key, KeyRoll, NewKey};
use super::error::Answer;
use super::input::{Body, Id, created, done, ok};
use crate::openapi::Success;
use crate::state::ApiState;

pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(list, create))
        .routes(routes!(remove))
        .routes(routes!(roll))
}

/// List the API keys of an app
#[utoipa::path(
    get,
    path = "/apps/{app}/keys",
    operation_id = "listKeys",
    tag = "Keys",
    responses((status = 200, description = "Keys.", body = Success<Vec<Key>>)),
)]
async fn list(State(state): State<ApiState>, Id(app): Id<AppId>) -> Answer {
    let keys = state.engine().access().keys(app)?;
    let views: Vec<_> = keys.iter().map(Key::from).collect();
    ok("Keys fetched successfully", &views)
}

/// Create an API key
///
/// This response is the only one that shows the key.
#[utoipa::path(
    post,
    path = "/apps/{app}/keys",
    operation_id = "createKey",
    tag = "Keys",
    request_body = NewKey,
    responses((status = 201, description = "The key.", body = Success<Key>)),
)]
async fn create(
    State(state): State<ApiState>,
    Id(app): Id<AppId>,
    Body(new): Body<NewKey>,
) -> Answer {
    let made = state
        .engine()
        .access()
        .create_key(app, new.environment, new.kind, new.name)
        .await?;
    self::made("Key created successfully", made)
}

/// Roll an API key
///
/// Creates a key of the same kind. The old key expires after the time in `grace`.
#[utoipa::path(
    post,
    path = "/keys/{key}/roll",
    operation_id = "rollKey",
    tag = "Keys",
    request_body = KeyRoll,
    responses((status = 201, description = "The new key.", body = Success<Key>)),
)]
async fn roll(
    State(state): State<ApiState>,
    Id(id): Id<KeyId>,
    Body(roll): Body<KeyRoll>,
) -> Answer {
    let grace = roll.grace.map_or(DEFAULT_GRACE, |grace| grace.0);
    let made = state.engine().access().roll_key(id, grace).await?;
    self::made("Key rolled successfully", made)
}

/// Revoke an API key
#[utoipa::path(
    delete,
    path = "/keys/{key}",
    operation_id = "deleteKey",
    tag = "Keys",
    responses((status = 200, description = "The key is revoked.", body = Success<Nothing>)),
)]
async fn remove(State(state): State<ApiState>, Id(id): Id<KeyId>) -> Answer {
    state.engine().access().delete_key(id).await?;
    done("Key deleted successfully")
}

/// Time to deploy the new key: a roll with the defaults interrupts no merchant.
pub const DEFAULT_GRACE: Duration = Duration::from_secs(24 * 60 * 60);

/// The response that shows a new key.
pub fn made(message: &str, made: access::NewKey) -> Answer {
    let listed = ListedKey {
        key: made.key,
        last_used_at: None,
    };
    let view = Key {
        key: Some(made.secret.expose().clone()),
        ..Key::from(&listed)
    };
    created(message, &view)
}
