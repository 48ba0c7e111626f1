//! API keys of an app in an environment. The response to the request that creates a key is the only
//! one that shows it.

use axum::extract::State;
use serde_json::{Value, json};
use switchyard_core::ids::KeyId;
use switchyard_engine::access::ListedKey;
use switchyard_users::Action;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::contract::settings::NewKey;
use super::place::InScope;
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
    let access = state.engine().access();
    let made = access.create_key(scope.app.id, scope.environment, new.kind, new.name);
    let made = made.await?;
    scope.place.audit(permit.entry(made.key.id)).await?;
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
    let old = one_of_scope(&state, &scope)?.key.id;
    let grace = roll.grace.map_or(keys::DEFAULT_GRACE, |grace| grace.0);
    let made = state.engine().access().roll_key(old, grace).await?;
    let after = json!({ "rolled_to": made.key.id, "grace_s": grace.as_secs() });
    let entry = permit.entry(old).changing(Value::Null, after);
    scope.place.audit(entry).await?;
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
    let id = listed.key.id;
    state.engine().access().delete_key(id).await?;
    let before = json!({ "key": Key::from(&listed).shown_as });
    let entry = permit.entry(id).changing(before, Value::Null);
    scope.place.audit(entry).await?;
    done("Key deleted successfully")
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
