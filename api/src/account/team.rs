//! Team of an account. Only a person in a session changes it: a token that changes users could give
//! itself any action.

use std::sync::Arc;

use axum::extract::State;
use switchyard_core::ids::{LinkId, UserId};
use switchyard_core::language::Language;
use switchyard_users::{Action, NewInvitation, NewLink, Role, Scope, User};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::contract::own::Ended;
use super::contract::team::{Invitation, Member, NewMember, RoleChange, Team};
use super::place::InAccount;
use crate::openapi::Success;
use crate::operator::contract::Nothing;
use crate::operator::contract::users::UserLink;
use crate::operator::error::{Answer, Refused, invalid, not_found};
use crate::operator::input::{Body, created, done, ok};
use crate::state::ApiState;
use crate::user_mail;

pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(list, invite))
        .routes(routes!(change_role, remove))
        .routes(routes!(end_sessions))
        .routes(routes!(remove_factor))
        .routes(routes!(withdraw))
        .routes(routes!(resend))
}

/// List the team of an account
///
/// Action: `view_team`.
#[utoipa::path(
    get,
    path = "/accounts/{account}/team",
    operation_id = "listTeam",
    tag = "Team",
    responses((status = 200, description = "The team.", body = Success<Team>)),
)]
async fn list(place: InAccount) -> Answer {
    place.permit(Action::ViewTeam)?;
    let (users, account) = (place.users(), Some(place.account));
    let mut invitations = users.invitations(account);
    let may_manage = place.may(Action::ManageTeam);
    invitations.retain(|_| may_manage);
    let members = users.members(account);
    let view = Team {
        members: members
            .iter()
            .map(|(user, role)| Member::new(user, *role))
            .collect(),
        invitations: invitations
            .iter()
            .map(|(link, user)| Invitation::new(link, user))
            .collect(),
    };
    ok("Team fetched successfully", &view)
}

/// Invite a member
///
/// This response is the only one that shows the link. It works once, within 7 days, and is mailed
/// to the user, too, when mails are set up. Action: `manage_team`.
#[utoipa::path(
    post,
    path = "/accounts/{account}/team",
    operation_id = "inviteMember",
    tag = "Team",
    request_body = NewMember,
    responses((status = 201, description = "The invitation.", body = Success<UserLink>)),
)]
async fn invite(
    State(state): State<ApiState>,
    place: InAccount,
    Body(new): Body<NewMember>,
) -> Answer {
    let permit = place.permit(Action::ManageTeam)?;
    let language = match new.language.as_deref() {
        None => Language::En,
        Some(code) => {
            Language::of(code).ok_or_else(|| invalid("language", "language is en or fr"))?
        }
    };
    let invitation = NewInvitation {
        role: role_of(&new.role)?,
        email: new.email,
        name: new.name,
        language,
    };
    let made = place.users().invite(&permit, invitation).await?;
    let view = link_of(&state, &place, &made).await;
    created("Member invited successfully", &view)
}

/// Change the role of a member
///
/// Their sessions end. Tokens of theirs lose the actions that the role does not include. Only owners
/// make owners, and the last owner stays. Action: `manage_team`.
#[utoipa::path(
    patch,
    path = "/accounts/{account}/team/{user}",
    operation_id = "changeRole",
    tag = "Team",
    request_body = RoleChange,
    responses((status = 200, description = "The member.", body = Success<Member>)),
)]
async fn change_role(place: InAccount, Body(change): Body<RoleChange>) -> Answer {
    let permit = place.permit(Action::ManageTeam)?;
    let (user, _) = member(&place)?;
    let role = role_of(&change.role)?;
    place.users().change_role(&permit, user.id, role).await?;
    ok("Role changed successfully", &Member::new(&user, role))
}

/// Remove a member
///
/// Their sessions and their tokens of this account end. They keep roles in other accounts. Action:
/// `manage_team`.
#[utoipa::path(
    delete,
    path = "/accounts/{account}/team/{user}",
    operation_id = "removeMember",
    tag = "Team",
    responses((status = 200, description = "The member is removed.", body = Success<Nothing>)),
)]
async fn remove(place: InAccount) -> Answer {
    let permit = place.permit(Action::ManageTeam)?;
    let (user, _) = member(&place)?;
    place.users().remove_member(&permit, user.id).await?;
    done("Member removed successfully")
}

/// End all sessions of a member
///
/// Action: `manage_team`.
#[utoipa::path(
    delete,
    path = "/accounts/{account}/team/{user}/sessions",
    operation_id = "endSessionsOfMember",
    tag = "Team",
    responses((status = 200, description = "Number of ended sessions.", body = Success<Ended>)),
)]
async fn end_sessions(place: InAccount) -> Answer {
    let permit = place.permit(Action::ManageTeam)?;
    let (user, _) = member(&place)?;
    let ended = place.users().end_sessions_of(&permit, user.id).await?;
    ok("Sessions ended successfully", &Ended { ended })
}

/// Remove the second factor of a member who has lost it
///
/// Their sessions end. When their role needs a second factor, they set one up at the next sign-in.
/// Action: `manage_team`.
#[utoipa::path(
    delete,
    path = "/accounts/{account}/team/{user}/second-factor",
    operation_id = "removeSecondFactorOfMember",
    tag = "Team",
    responses((status = 200, description = "It is removed.", body = Success<Nothing>)),
)]
async fn remove_factor(place: InAccount) -> Answer {
    let permit = place.permit(Action::ManageTeam)?;
    let (user, _) = member(&place)?;
    let users = place.users();
    users.remove_second_factor_of(&permit, user.id).await?;
    done("Second factor removed successfully")
}

/// Make a new link for an invitation
///
/// The old one ends. Action: `manage_team`.
#[utoipa::path(
    post,
    path = "/accounts/{account}/invitations/{invitation}/resend",
    operation_id = "resendInvitation",
    tag = "Team",
    responses((status = 201, description = "The invitation.", body = Success<UserLink>)),
)]
async fn resend(State(state): State<ApiState>, place: InAccount) -> Answer {
    let permit = place.permit(Action::ManageTeam)?;
    let id: LinkId = place.sender.id("invitation")?;
    let made = place.users().resend_invitation(&permit, id).await?;
    let view = link_of(&state, &place, &made).await;
    created("Invitation renewed successfully", &view)
}

/// Withdraw an invitation
///
/// Action: `manage_team`.
#[utoipa::path(
    delete,
    path = "/accounts/{account}/invitations/{invitation}",
    operation_id = "withdrawInvitation",
    tag = "Team",
    responses((status = 200, description = "It is withdrawn.", body = Success<Nothing>)),
)]
async fn withdraw(place: InAccount) -> Answer {
    let permit = place.permit(Action::ManageTeam)?;
    let id: LinkId = place.sender.id("invitation")?;
    place.users().withdraw_invitation(&permit, id).await?;
    done("Invitation withdrawn successfully")
}

/// The member of the path, if they belong to the account.
fn member(place: &InAccount) -> Result<(Arc<User>, Role), Refused> {
    let id: UserId = place.sender.id("user")?;
    let mut members = place.users().members(Some(place.account)).into_iter();
    let found = members.find(|(user, _)| user.id == id);
    found.ok_or_else(|| not_found("member").into())
}

fn role_of(name: &str) -> Result<Role, Refused> {
    let mut roles = Role::ALL.into_iter();
    let found = roles.find(|role| role.name() == name && role.scope() == Scope::Account);
    let message = "role is owner, admin, developer, finance, support or viewer";
    found.ok_or_else(|| invalid("role", message).into())
}

/// Mails the link of an invitation, and shows it.
async fn link_of(state: &ApiState, place: &InAccount, made: &NewLink) -> UserLink {
    let console = &place.sender.console;
    let is_mailed = user_mail::send(state.engine(), console, made).await;
    UserLink::new(made, console.link_url(made.token.expose()), is_mailed)
}
