//! Users of the console: the list, and the first owner of an account or the first operator. Further
//! people are invited by these, in the console.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use switchyard_core::language::Language;
use switchyard_engine::access::Operator;
use switchyard_users::{
    self as users, Channel, NewInvitation, NewLink, Origin, Role, Users, UsersError,
};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::contract::users::{FirstUser, PasswordReset, User, UserLink};
use super::error::{Answer, Refused, internal, invalid, not_found, second_person_needed};
use super::input::{Body, created, ok};
use crate::error::{ApiError, ErrorCode, Problem};
use crate::openapi::Success;
use crate::state::{ApiState, ConsoleAccess};
use crate::user_mail;

pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(list, invite))
        .routes(routes!(reset))
}

/// List the users of the console
#[utoipa::path(
    get,
    path = "/users",
    operation_id = "listUsers",
    tag = "Users",
    responses((status = 200, description = "Users.", body = Success<Vec<User>>)),
)]
async fn list(State(state): State<ApiState>) -> Answer {
    let users = console_of(&state)?.users.all_users();
    let views: Vec<_> = users.iter().map(|user| User::from(&**user)).collect();
    ok("Users fetched successfully", &views)
}

/// Invite the first operator, or the first owner of an account
///
/// This response is the only one that shows the link. It works once, within 7 days. It is refused
/// when there is such a user, who invites further people in the console.
#[utoipa::path(
    post,
    path = "/users",
    operation_id = "inviteUser",
    tag = "Users",
    request_body = FirstUser,
    responses((status = 201, description = "The invitation.", body = Success<UserLink>)),
)]
async fn invite(
    State(state): State<ApiState>,
    Extension(operator): Extension<Operator>,
    Body(new): Body<FirstUser>,
) -> Answer {
    let console = console_of(&state)?;
    if let Some(account) = new.account {
        let found = state.engine().access().account(account);
        found.ok_or_else(|| not_found("account"))?;
    }
    let language = match new.language.as_deref() {
        None => Language::En,
        Some(code) => {
            Language::of(code).ok_or_else(|| invalid("language", "language is en or fr"))?
        }
    };
    let invitation = NewInvitation {
        email: new.email,
        name: new.name,
        language,
        role: new.account.map_or(Role::Operator, |_| Role::Owner),
    };
    let made = console
        .users
        .invite_first(new.account, invitation, &origin(&operator))
        .await?;
    created(
        "User invited successfully",
        &link_of(&state, console, &made).await,
    )
}

/// Make a link with which a user sets a new password
///
/// This response is the only one that shows the link. It works once, within an hour. The second
/// factor stays. Users ask for such a link themselves at the sign-in, when mails are set up. With
/// the setting `operator.second_person` it is refused for all but the only operator.
#[utoipa::path(
    post,
    path = "/users/reset",
    operation_id = "resetUserPassword",
    tag = "Users",
    request_body = PasswordReset,
    responses((status = 201, description = "The link.", body = Success<UserLink>)),
)]
async fn reset(
    State(state): State<ApiState>,
    Extension(operator): Extension<Operator>,
    Body(wanted): Body<PasswordReset>,
) -> Answer {
    let console = console_of(&state)?;
    if state.settings().second_person && !is_only_operator(&console.users, &wanted.email) {
        let message = "Two people decide in this installation, and a token cannot set the password \
                       of one of them: nothing was changed.";
        let hint = "The user asks for a link at the sign-in. Without mails, an operator invites \
                    the user under another address in the console.";
        return Err(second_person_needed(message, hint).into());
    }
    let made = console
        .users
        .request_reset(&wanted.email, &origin(&operator))
        .await?;
    let made = made.ok_or_else(|| invalid("email", "no active user has this address"))?;
    created(
        "Link created successfully",
        &link_of(&state, console, &made).await,
    )
}

/// Whether the address is that of the only active operator.
fn is_only_operator(users: &Users, email: &str) -> bool {
    let all = users.all_users();
    let is_operator =
        |user: &&Arc<users::User>| user.is_active() && user.role_in(None) == Some(Role::Operator);
    let user = users.user_by_email(email);
    user.as_ref().is_some_and(|user| is_operator(&user))
        && all.iter().filter(is_operator).count() == 1
}

fn origin(operator: &Operator) -> Origin {
    Origin {
        channel: Channel::Api,
        user_agent: format!("operator token {}", operator.name),
        ..Origin::default()
    }
}

/// Mails a link to its user, and shows it.
async fn link_of(state: &ApiState, console: &ConsoleAccess, made: &NewLink) -> UserLink {
    let is_mailed = user_mail::send(state.engine(), console, made).await;
    UserLink::new(made, console.link_url(made.token.expose()), is_mailed)
}

/// The console, unless it is off.
fn console_of(state: &ApiState) -> Result<&ConsoleAccess, ApiError> {
    state.console().ok_or_else(|| {
        let off = "The console is off, so there are no users.";
        Problem::new(ErrorCode::ResourceNotFound, off)
            .hint("Set console.public_url in the settings file, and restart the server.")
            .into()
    })
}

impl From<UsersError> for Refused {
    fn from(error: UsersError) -> Self {
        let problem = |code| Problem::new(code, error.to_string());
        Self(match &error {
            UsersError::NotFound { .. } => problem(ErrorCode::ResourceNotFound).into(),
            UsersError::Invalid { field, .. } => problem(ErrorCode::FieldInvalid).at(*field).into(),
            UsersError::Password(_) => problem(ErrorCode::FieldInvalid).at("password").into(),
            UsersError::WrongFactor | UsersError::SignInExpired => {
                problem(ErrorCode::SignInRefused).into()
            }
            UsersError::NotPossible(_) => problem(ErrorCode::TransitionRefused).into(),
            UsersError::TooMany(wait) => {
                let seconds = u32::try_from(wait.as_secs()).unwrap_or(u32::MAX).max(1);
                ApiError::new(problem(ErrorCode::RateLimitExceeded)).retry_after(seconds)
            }
            UsersError::Refused(refusal) => return refusal.clone().into(),
            UsersError::Conflict => problem(ErrorCode::ResourceChanged).into(),
            UsersError::Write(why) => {
                tracing::warn!(error = %why, "failed to store a change of users");
                ApiError::unavailable()
            }
            _ => internal(&error),
        })
    }
}
