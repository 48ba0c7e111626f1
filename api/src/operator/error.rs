//! Error responses of the operator API for refusals of the engine.

use switchyard_core::transaction::Refusal;
use switchyard_engine::access::AccessError;
use switchyard_engine::engine::EngineError;
use switchyard_users as users;

use crate::error::{ApiError, ErrorCode, Problem};
use crate::reason::{self, Because};

/// An answer that is a refusal.
pub type Answer = Result<axum::response::Response, Refused>;

/// Wraps a refusal, so that `?` makes one of what the engine says.
#[derive(Debug)]
pub struct Refused(pub ApiError);

impl axum::response::IntoResponse for Refused {
    fn into_response(self) -> axum::response::Response {
        self.0.into_response()
    }
}

impl From<ApiError> for Refused {
    fn from(error: ApiError) -> Self {
        Self(error)
    }
}

impl From<AccessError> for Refused {
    fn from(error: AccessError) -> Self {
        let because = reason::of_access(&error);
        let problem = |code| Problem::new(code, error.to_string()).because(because.clone());
        Self(match &error {
            AccessError::NotFound { .. } => problem(ErrorCode::ResourceNotFound).into(),
            AccessError::Invalid { field, .. } => {
                problem(ErrorCode::FieldInvalid).at(*field).into()
            }
            AccessError::Rules(why) => Problem::new(ErrorCode::FieldInvalid, why.to_string())
                .at(why.path.clone())
                .into(),
            AccessError::TooManyKeys(_)
            | AccessError::TooManyConnections(_)
            | AccessError::TooManyWebhooks(_) => problem(ErrorCode::LimitReached).into(),
            AccessError::OpenAttempts(_) | AccessError::NeededAfterRestore => {
                problem(ErrorCode::ConnectionInUse).into()
            }
            AccessError::Conflict => problem(ErrorCode::ResourceChanged).into(),
            AccessError::Write(why) => {
                tracing::warn!(error = %why, "failed to store a change of access data");
                ApiError::unavailable()
            }
            _ => internal(&error),
        })
    }
}

impl From<EngineError> for Refused {
    fn from(error: EngineError) -> Self {
        Self(match &error {
            EngineError::NotFound => not_found("transaction"),
            EngineError::Refused(why) => refused(why).into(),
            EngineError::Unavailable(_) | EngineError::Stopping => ApiError::unavailable(),
            EngineError::Changed => {
                Problem::new(ErrorCode::ResourceChanged, error.to_string()).into()
            }
            EngineError::SumTooLarge(_) => {
                Problem::new(ErrorCode::LimitReached, error.to_string()).into()
            }
            _ => internal(&error),
        })
    }
}

impl From<users::Refusal> for Refused {
    fn from(refusal: users::Refusal) -> Self {
        let problem = |code| Problem::new(code, sentence(&refusal));
        Self(match &refusal {
            users::Refusal::NotSignedIn => problem(ErrorCode::AccountTokenInvalid)
                .hint("Send `Authorization: Bearer <token>`, of a user or of a session.")
                .into(),
            users::Refusal::NotFound => not_found("thing with this id"),
            users::Refusal::Forbidden { .. } => problem(ErrorCode::RoleNotAllowed)
                .hint("Ask an owner or an admin of the account.")
                .into(),
            users::Refusal::NotInToken { .. } => problem(ErrorCode::ActionNotInToken)
                .hint("Create a token that includes the action.")
                .into(),
            users::Refusal::NeedsPerson => problem(ErrorCode::PersonNeeded)
                .hint("Sign in, and send the token of the session.")
                .into(),
            users::Refusal::NeedsRecentAuthentication => problem(ErrorCode::ConfirmationNeeded)
                .hint("Sign in again, and send the token of the new session.")
                .into(),
        })
    }
}

/// The text of a refusal as a sentence.
fn sentence(refusal: &users::Refusal) -> String {
    let text = refusal.to_string();
    let mut letters = text.chars();
    let first = letters.next().map(char::to_uppercase);
    let first = first.into_iter().flatten();
    first.chain(letters).chain(['.']).collect()
}

/// A refusal in the words of an operator. Others read the same refusal on a payer's page.
fn refused(why: &Refusal) -> Problem {
    let because = || Because::from(why);
    let plain = || Problem::new(ErrorCode::TransitionRefused, why.to_string()).because(because());
    let problem = |message: &'static str| {
        Problem::new(ErrorCode::TransitionRefused, message).because(because())
    };
    match why {
        Refusal::Held => problem(
            "Money was reported, or may be moving, for an attempt of it: nothing was changed.",
        )
        .hint("Settle the transaction by the provider’s books; an open case says what to compare."),
        Refusal::Paused => problem(
            "Providers are still asked about this transaction after a restore: nothing was changed.",
        )
        .hint("`switchyard release --report` shows what is open."),
        Refusal::AmountNeeded => plain().hint("Send `amount`; on the command line, `--amount`."),
        Refusal::ProviderIdNeeded => {
            plain().hint("Send `provider_id`; on the command line, `--provider-id`.")
        }
        _ => plain(),
    }
}

/// There is nothing of that id.
pub fn not_found(what: &'static str) -> ApiError {
    Problem::new(
        ErrorCode::ResourceNotFound,
        format!("There is no such {what}."),
    )
    .hint("Ids are exact: copy them from a list.")
    .into()
}

/// One field is not what it has to be.
pub fn invalid(field: &'static str, message: impl Into<String>) -> ApiError {
    Problem::new(ErrorCode::FieldInvalid, message.into())
        .at(field)
        .into()
}

/// Refusal of a token where two people make a change. A token is no person, and its owner may have
/// a user of the console, too: it counts as neither of the two.
pub fn second_person_needed(message: &'static str, hint: &'static str) -> ApiError {
    Problem::new(ErrorCode::SecondPersonNeeded, message)
        .hint(hint)
        .into()
}

pub fn internal(error: &(dyn std::error::Error + 'static)) -> ApiError {
    let mut causes = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        causes = format!("{causes}: {cause}");
        next = cause.source();
    }
    tracing::error!(error = causes, "operator request failed");
    ApiError::internal()
}
