//! Operator tokens.

use serde::{Deserialize, Serialize};
use switchyard_core::ids::OperatorTokenId;
use switchyard_engine::access::{Access, OperatorToken};
use utoipa::ToSchema;

use crate::iso_timestamp::IsoTimestamp;

/// Operator token.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct Token {
    #[schema(value_type = String)]
    pub id: OperatorTokenId,
    pub name: String,
    /// Prefix and last four characters.
    pub shown_as: String,
    /// Name of the token that created it; null: the engine did, in development mode.
    pub made_by: Option<String>,
    /// Whether that token still exists; null without one.
    pub maker_exists: Option<bool>,
    pub created_at: IsoTimestamp,
    /// The token itself, only in the response to the request that created it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

/// New operator token.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewToken {
    /// Name for the audit log. It must be unique.
    pub name: String,
}

/// Revocation of the tokens that one token created, directly or through others.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Revocation {
    /// Name of that token, which may be deleted.
    pub made_by: String,
}

impl Token {
    pub fn new(access: &Access, token: &OperatorToken) -> Self {
        let maker = token.made_by.as_ref();
        Self {
            id: token.id,
            name: token.name.clone(),
            shown_as: format!("{}…{}", token.prefix, token.last_four),
            made_by: maker.map(|maker| maker.name.clone()),
            maker_exists: maker.map(|_| !access.has_lost_its_maker(token)),
            created_at: token.created_at.into(),
            token: None,
        }
    }
}
