//! Audit log of an account.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchyard_core::ids::{UserId, UserTokenId};
use switchyard_users::{Actor, AuditResult, Channel, Entry, Users};
use utoipa::{IntoParams, ToSchema};

use crate::iso_timestamp::IsoTimestamp;
use crate::proposals::name_of;

/// Entries to list.
#[derive(Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct AuditFilter {
    /// Only entries with this action.
    pub action: Option<String>,
    /// Only entries of this user.
    #[param(value_type = Option<String>)]
    pub user: Option<UserId>,
    /// Since this day (`2026-11-20`) or time, in UTC.
    pub from: Option<String>,
    /// Until this day or time, in UTC.
    pub to: Option<String>,
    /// `more` of the last page.
    pub before: Option<u64>,
    /// Page size, at most 200. Default: 50.
    pub limit: Option<usize>,
}

/// Page of the audit log.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct AuditEntries {
    /// Newest first.
    pub entries: Vec<AuditEntry>,
    /// Numbers of entries that cannot be read, in all accounts.
    pub unreadable: Vec<u64>,
    /// Start of the next page. A page may have fewer entries than its size, also none, before the
    /// last one.
    pub more: Option<u64>,
}

/// Entry of the audit log.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct AuditEntry {
    pub number: u64,
    pub at: IsoTimestamp,
    /// Name of the user, of the operator token, `system` or `anonymous`.
    pub actor: String,
    #[schema(value_type = Option<String>)]
    pub user: Option<UserId>,
    /// API token of the user that sent the request.
    #[schema(value_type = Option<String>)]
    pub token: Option<UserTokenId>,
    /// `console`, `api` or `command_line`.
    #[schema(value_type = String)]
    pub channel: Channel,
    pub address: Option<String>,
    pub action: String,
    /// Id or name of the object.
    pub object: String,
    /// Changed values before; null without any.
    pub before: Value,
    /// Changed values after; null without any.
    pub after: Value,
    /// `succeeded`, `refused` or `failed`.
    #[schema(value_type = String)]
    pub result: AuditResult,
}

impl AuditEntry {
    pub fn new(users: &Users, entry: Entry) -> Self {
        let (actor, token) = match &entry.actor {
            Actor::User { id } => (name_of(users, *id), None),
            Actor::UserToken { id, user } => (name_of(users, *user), Some(*id)),
            Actor::OperatorToken { name } => (name.clone(), None),
            Actor::System => ("system".to_owned(), None),
            Actor::Anonymous => ("anonymous".to_owned(), None),
        };
        Self {
            number: entry.number,
            at: entry.at.into(),
            actor,
            user: entry.actor.user(),
            token,
            channel: entry.channel,
            address: entry.address.map(|address| address.to_string()),
            action: entry.action,
            object: entry.object,
            before: entry.before,
            after: entry.after,
            result: entry.result,
        }
    }
}
