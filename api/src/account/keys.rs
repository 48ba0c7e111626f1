//! API keys of an app in an environment. The response to the request that creates a key is the only
//! one that shows it.

use axum::extract::State;
use switchyard_core::ids::KeyId;
use switchyard_engine::access::{KeyRequest, ListedKey};
use switchyard_users::Action;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::contract::settings::NewKey;
use super::place::InScope;
use crate::error::ApiError;
use crate::key_changes::{self, NotChanged};
use crate::openapi::Success;
use crate::operator::contract::Nothing;
use crate::operator::contract::keys::{Key, KeyRoll};
use crate::operator::error::{Answer, Refused, not_found};
use crate::operator::input::{Body, done, ok};
use crate::operator::keys;
use crate::state::ApiState;

pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(list, create))
        .routes(routes!(delete))
        .routes(routes!(roll))
}

/// List API keys
///
/// Without their secret parts. Action: `view_keys`.
#[utoipa::path(
    get,
    path = "/apps/{app}/{environment}/keys",
    operation_id = "listKeys",
    tag = "Keys",
    responses((status = 200, description = "Keys.", body = Success<Vec<Key>>)),
)]
async fn list(State(state): State<ApiState>, scope: InScope) -> Answer {
    scope.place.permit(Action::ViewKeys)?;
    let keys = own(&state, &scope)?;
    let views: Vec<_> = keys.iter().map(Key::from).collect();
    ok("Keys fetched successfully", &views)
}

/// Create an API key
///
/// This response is the only one that shows the key. Action: `manage_keys`.
#[utoipa::path(
    post,
    path = "/apps/{app}/{environment}/keys",
    operation_id = "createKey",
    tag = "Keys",
    request_body = NewKey,
    responses((status = 201, description = "The key.", body = Success<Key>)),
)]
async fn create(State(state): State<ApiState>, scope: InScope, Body(new): Body<NewKey>) -> Answer {
    let permit = scope.place.permit(Action::ManageKeys)?;
    let request = KeyRequest {
        app: scope.app.id,
        environment: scope.environment,
        kind: new.kind,
        name: new.name,
    };
    let (access, users) = (state.engine().access(), scope.place.users());
    let made = key_changes::create(access, users, &permit, request).await?;
    keys::made("Key created successfully", made)
}

/// Roll an API key
///
/// Creates a key of the same kind. The old key expires after the time in `grace`. Action:
/// `manage_keys`.
#[utoipa::path(
    post,
    path = "/apps/{app}/{environment}/keys/{key}/roll",
    operation_id = "rollKey",
    tag = "Keys",
    request_body = KeyRoll,
    responses((status = 201, description = "The new key.", body = Success<Key>)),
)]
async fn roll(State(state): State<ApiState>, scope: InScope, Body(roll): Body<KeyRoll>) -> Answer {
    let permit = scope.place.permit(Action::ManageKeys)?;
    let old = one_of_scope(&state, &scope)?;
    let grace = roll.grace.map_or(keys::DEFAULT_GRACE, |grace| grace.0);
    let (access, users) = (state.engine().access(), scope.place.users());
    let made = key_changes::roll(access, users, &permit, &old, grace).await?;
    keys::made("Key rolled successfully", made)
}

/// Revoke an API key
///
/// Action: `manage_keys`.
#[utoipa::path(
    delete,
    path = "/apps/{app}/{environment}/keys/{key}",
    operation_id = "deleteKey",
    tag = "Keys",
    responses((status = 200, description = "The key is revoked.", body = Success<Nothing>)),
)]
async fn delete(State(state): State<ApiState>, scope: InScope) -> Answer {
    let permit = scope.place.permit(Action::ManageKeys)?;
    let listed = one_of_scope(&state, &scope)?;
    let (access, users) = (state.engine().access(), scope.place.users());
    let shown_as = Key::from(&listed).shown_as;
    key_changes::delete(access, users, &permit, &listed, &shown_as).await?;
    done("Key deleted successfully")
}

impl From<NotChanged> for Refused {
    fn from(why: NotChanged) -> Self {
        match why {
            NotChanged::Users(error) => error.into(),
            NotChanged::Key(error) => error.into(),
            NotChanged::Stopping => ApiError::unavailable().into(),
        }
    }
}

/// Keys of the app in the environment.
fn own(state: &ApiState, scope: &InScope) -> Result<Vec<ListedKey>, Refused> {
    let mut keys = state.engine().access().keys(scope.app.id)?;
    keys.retain(|listed| listed.key.environment == scope.environment);
    Ok(keys)
}

fn one_of_scope(state: &ApiState, scope: &InScope) -> Result<ListedKey, Refused> {
    let id: KeyId = scope.place.sender.id("key")?;
    let mut keys = own(state, scope)?.into_iter();
    let found = keys.find(|listed| listed.key.id == id);
    found.ok_or_else(|| not_found("key").into())
}
