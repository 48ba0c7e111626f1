//! Errors of the module `access`.

use super::vault::VaultError;
use switchyard_core::routing::RuleError;
use switchyard_gateway_host::Count;
use switchyard_store::{CommitError, StoreError};

/// A change or a look-up that could not be done. Nothing was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AccessError {
    #[error("there is no {what} {id}")]
    NotFound { what: &'static str, id: String },
    #[error("{field} {problem}")]
    Invalid {
        field: &'static str,
        problem: String,
    },
    #[error(transparent)]
    Rules(#[from] RuleError),
    #[error("an app has at most {0} webhooks: delete one that is no longer used first")]
    TooManyWebhooks(usize),
    #[error("an app has at most {0} keys: delete one that is no longer used first")]
    TooManyKeys(usize),
    #[error("an app has at most {0} connections: delete one that is no longer used first")]
    TooManyConnections(usize),
    #[error(
        "attempts are still open at this connection ({0}), and nobody else can ask about them: disable it, wait until they have ended or \
         settle them by hand, and delete it then"
    )]
    OpenAttempts(Count),
    #[error(
        "the store was restored, and the provider of this connection was not yet asked about all \
         earlier transactions: disable it, wait until they have ended or settle them by hand, \
         and delete it then"
    )]
    NeededAfterRestore,
    #[error(
        "this was changed by someone else at the same moment: read it again and repeat the change"
    )]
    Conflict,
    #[error("the store did not take the change; nothing was changed")]
    Write(#[source] CommitError),
    #[error("the store could not be read")]
    Read(#[source] StoreError),
    #[error(
        "row {key} of the access table is not readable: it was written by another version or is damaged"
    )]
    Row {
        key: String,
        #[source]
        why: serde_json::Error,
    },
    #[error("row {key} of the access table belongs to {owner}, which does not exist")]
    Orphan { key: String, owner: String },
    #[error("a stored secret could not be opened")]
    Vault(#[from] VaultError),
}

impl AccessError {
    pub(super) fn invalid(field: &'static str, problem: impl Into<String>) -> Self {
        Self::Invalid {
            field,
            problem: problem.into(),
        }
    }

    pub(super) fn not_found(what: &'static str, id: impl ToString) -> Self {
        Self::NotFound {
            what,
            id: id.to_string(),
        }
    }
}

/// Reason for which a bearer token is refused. Each is a 401; the difference is for logs and
/// people.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unauthorized {
    #[error("this is not a key of this service: the form or the checksum is wrong")]
    Malformed,
    #[error("this key does not exist or was deleted")]
    Unknown,
    #[error("this key was rolled and its grace period is over")]
    Expired,
    #[error("the app of this key is disabled")]
    AppDisabled,
}

impl Unauthorized {
    /// For metrics and logs.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::Unknown => "unknown",
            Self::Expired => "expired",
            Self::AppDisabled => "app_disabled",
        }
    }
}
