//! API keys of an app. A key is shown once: in the answer to the request that made it.

use std::time::Duration;

use axum::extract::State;
use serde::Deserialize;
use switchyard_engine::access::{KeyKind, ListedKey, NewKey};
use switchyard_engine::environment::Environment;
use switchyard_engine::ids::{AppId, KeyId};

use super::error::Answer;
use super::input::{Body, Id, created, done, ok};
use super::view::KeyView;
use crate::config::DurationSetting;
use crate::state::ApiState;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct New {
    environment: Environment,
    kind: KeyKind,
    name: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Roll {
    /// How long the old key stays valid: `1h`; `0s`: not at all. Without it: 24 h.
    grace: Option<DurationSetting>,
}

pub async fn list(State(state): State<ApiState>, Id(app): Id<AppId>) -> Answer {
    let keys = state.engine.access.keys(app)?;
    let views: Vec<_> = keys.iter().map(KeyView::listed).collect();
    ok("Keys fetched successfully", &views)
}

pub async fn create(
    State(state): State<ApiState>,
    Id(app): Id<AppId>,
    Body(new): Body<New>,
) -> Answer {
    let made = state
        .engine
        .access
        .create_key(app, new.environment, new.kind, new.name)
        .await?;
    answer("Key created successfully", made)
}

pub async fn roll(
    State(state): State<ApiState>,
    Id(id): Id<KeyId>,
    Body(roll): Body<Roll>,
) -> Answer {
    let grace = roll.grace.map_or(DEFAULT_GRACE, |grace| grace.0);
    let made = state.engine.access.roll_key(id, grace).await?;
    answer("Key rolled successfully", made)
}

pub async fn remove(State(state): State<ApiState>, Id(id): Id<KeyId>) -> Answer {
    state.engine.access.delete_key(id).await?;
    done("Key deleted successfully")
}

/// Time to deploy the new key: a roll without further thought interrupts no merchant.
const DEFAULT_GRACE: Duration = Duration::from_secs(24 * 60 * 60);

fn answer(message: &str, made: NewKey) -> Answer {
    let listed = ListedKey {
        key: made.key,
        last_used_at: None,
    };
    created(
        message,
        &KeyView::listed(&listed).with_key(made.secret.expose()),
    )
}
