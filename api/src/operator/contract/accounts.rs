//! Accounts: the organisations of merchants.

use serde::{Deserialize, Serialize};
use switchyard_core::ids::AccountId;
use switchyard_engine::access;
use utoipa::ToSchema;

use crate::iso_timestamp::IsoTimestamp;

/// Organisation of a merchant. Accounts cannot be deleted, since transactions refer to them.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct Account {
    #[schema(value_type = String)]
    pub id: AccountId,
    pub name: String,
    pub created_at: IsoTimestamp,
}

/// Name of an account.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AccountName {
    pub name: String,
}

impl From<&access::Account> for Account {
    fn from(account: &access::Account) -> Self {
        Self {
            id: account.id,
            name: account.name.clone(),
            created_at: account.created_at.into(),
        }
    }
}
