//! API keys of an app.

use serde::{Deserialize, Serialize};
use switchyard_core::environment::Environment;
use switchyard_core::ids::{AppId, KeyId};
use switchyard_engine::access::{KeyKind, ListedKey};
use utoipa::ToSchema;

use super::schemas;
use crate::config::DurationSetting;
use crate::iso_timestamp::IsoTimestamp;

/// API key.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct Key {
    #[schema(value_type = String)]
    pub id: KeyId,
    #[schema(value_type = String)]
    pub app: AppId,
    pub name: Option<String>,
    #[schema(value_type = schemas::Environment)]
    pub environment: Environment,
    #[schema(value_type = schemas::KeyKind)]
    pub kind: KeyKind,
    /// Prefix and last four characters.
    pub shown_as: String,
    pub created_at: IsoTimestamp,
    pub last_used_at: Option<IsoTimestamp>,
    pub expires_at: Option<IsoTimestamp>,
    /// The key itself, only in the response to the request that created it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// New API key.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewKey {
    #[schema(value_type = schemas::Environment)]
    pub environment: Environment,
    #[schema(value_type = schemas::KeyKind)]
    pub kind: KeyKind,
    pub name: Option<String>,
}

/// Replacement of a key by a new one of the same kind.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct KeyRoll {
    /// Time until the old key expires, at most 30 days: `1h`; `0s` ends it at once. Default: 24 h.
    #[schema(value_type = Option<String>, example = "1h")]
    pub grace: Option<DurationSetting>,
}

impl From<&ListedKey> for Key {
    fn from(listed: &ListedKey) -> Self {
        let key = &listed.key;
        Self {
            id: key.id,
            app: key.app,
            name: key.name.clone(),
            environment: key.environment,
            kind: key.kind,
            shown_as: format!("{}…{}", key.prefix, key.last_four),
            created_at: key.created_at.into(),
            last_used_at: listed.last_used_at.map(IsoTimestamp),
            expires_at: key.expires_at.map(IsoTimestamp),
            key: None,
        }
    }
}
