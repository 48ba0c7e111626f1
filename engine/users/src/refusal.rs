//! Reasons for which a request is refused.

use crate::role::{Action, Role};

/// Reason why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The session or the token does not exist, has ended, or its user is disabled.
    #[error("sign in to continue")]
    NotSignedIn,
    /// The object is in an account in which the user has no role: answer as if it did not exist.
    #[error("not found")]
    NotFound,
    #[error("this needs one of the roles: {}", names(.roles))]
    Forbidden { action: Action, roles: Vec<Role> },
    /// The user may do it, and the token may not.
    #[error("this token does not include the action {action}")]
    NotInToken { action: Action },
    #[error("this needs a person who is signed in, not a token")]
    NeedsPerson,
    #[error("confirm your password to continue")]
    NeedsRecentAuthentication,
}

fn names(roles: &[Role]) -> String {
    let names: Vec<_> = roles.iter().map(|role| role.name()).collect();
    names.join(", ")
}
