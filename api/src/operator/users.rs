//! Users of the console: the list, and the first owner of an account or the first operator. Further
//! people are invited by these, in the console.

use axum::Extension;
use axum::extract::State;
use switchyard_core::language::Language;
use switchyard_engine::access::Operator;
use switchyard_users::{Channel, NewInvitation, Origin, Role, UsersError};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::contract::users::{FirstUser, InvitationLink, User};
use super::error::{Answer, Refused, internal, invalid, not_found};
use super::input::{Body, created, ok};
use crate::error::{ApiError, ErrorCode, Problem};
use crate::openapi::Success;
use crate::state::{ApiState, ConsoleAccess};

pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(list, invite))
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
    responses((status = 201, description = "The invitation.", body = Success<InvitationLink>)),
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
    let origin = Origin {
        channel: Channel::Api,
        user_agent: format!("operator token {}", operator.name),
        ..Origin::default()
    };
    let made = console
        .users
        .invite_first(new.account, invitation, &origin)
        .await?;
    let view = InvitationLink::new(&made, console.link_url(made.token.expose()));
    created("User invited successfully", &view)
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
            UsersError::NotPossible(_) => problem(ErrorCode::TransitionRefused).into(),
            UsersError::Conflict => problem(ErrorCode::ResourceChanged).into(),
            UsersError::Write(why) => {
                tracing::warn!(error = %why, "failed to store a change of users");
                ApiError::unavailable()
            }
            _ => internal(&error),
        })
    }
}
