//! Errors of this crate.

use std::time::Duration;

use switchyard_store::{CommitError, StoreError};

use crate::password::PasswordProblem;
use crate::refusal::Refusal;

/// A change or a look-up that failed. Nothing was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UsersError {
    #[error("there is no {what} {id}")]
    NotFound { what: &'static str, id: String },
    #[error("{field} {problem}")]
    Invalid {
        field: &'static str,
        problem: String,
    },
    #[error("the password {0}")]
    Password(#[from] PasswordProblem),
    #[error("this link has expired or was already used: request a new one")]
    LinkExpired,
    #[error("the sign-in has expired: begin again")]
    SignInExpired,
    #[error("the password or the code is wrong")]
    WrongFactor,
    #[error("too many failed tries: try again in {} seconds", .0.as_secs().max(1))]
    TooMany(Duration),
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error("{0}")]
    NotPossible(&'static str),
    #[error("the stored rows were changed concurrently: read them again and repeat the change")]
    Conflict,
    #[error("the store did not take the change; nothing was changed")]
    Write(#[source] CommitError),
    #[error("the store could not be read")]
    Read(#[from] StoreError),
    #[error(
        "row {key} of the {table} table is unreadable: another version wrote it, or it is damaged"
    )]
    Row {
        table: &'static str,
        key: String,
        #[source]
        why: serde_json::Error,
    },
    #[error("row {key} of the user table belongs to {owner}, which does not exist")]
    Orphan { key: String, owner: String },
    #[error("failed to encrypt or decrypt the secret of a second factor")]
    Seal,
    #[error("failed to compute a password hash")]
    PasswordHash,
}

impl UsersError {
    pub(crate) fn invalid(field: &'static str, problem: impl Into<String>) -> Self {
        Self::Invalid {
            field,
            problem: problem.into(),
        }
    }

    pub(crate) fn not_found(what: &'static str, id: impl ToString) -> Self {
        Self::NotFound {
            what,
            id: id.to_string(),
        }
    }
}
