//! The sender: who they are, their apps and sessions.

use axum::extract::State;
use switchyard_core::ids::SessionId;
use switchyard_users::{Action, Refusal, Via};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::contract::own::{Ended, Me, OwnApp, OwnSession, Token};
use super::place::Sender;
use crate::openapi::Success;
use crate::operator::contract::Nothing;
use crate::operator::contract::users::User;
use crate::operator::error::Answer;
use crate::operator::input::{done, ok};
use crate::state::ApiState;

pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(me))
        .routes(routes!(apps))
        .routes(routes!(sessions, end_others))
        .routes(routes!(end_session))
}

/// Retrieve the sender
///
/// With their roles, and the token of the request. A token sees the role in its account. For every
/// sender.
#[utoipa::path(
    get,
    path = "/me",
    operation_id = "retrieveMe",
    tag = "Own",
    responses((status = 200, description = "The sender.", body = Success<Me>)),
)]
async fn me(sender: Sender) -> Answer {
    let user = &sender.who.user;
    let token = match &sender.who.via {
        Via::Token(token) => Some(Token::from(&**token)),
        Via::Session(_) => None,
    };
    let only = sender.who.token().and_then(|token| token.account);
    let mut roles = User::from(&**user).roles;
    roles.retain(|one| only.is_none() || one.account == only);
    let view = Me {
        user: user.id,
        email: user.email.clone(),
        name: user.name.clone(),
        language: user.language.code().to_owned(),
        roles,
        has_second_factor: user.has_totp(),
        token,
    };
    ok("User fetched successfully", &view)
}

/// List the sender's apps
///
/// Apps of the accounts in which the sender has a role, with the actions that they may perform
/// there. For every sender.
#[utoipa::path(
    get,
    path = "/apps",
    operation_id = "listOwnApps",
    tag = "Own",
    responses((status = 200, description = "Apps.", body = Success<Vec<OwnApp>>)),
)]
async fn apps(State(state): State<ApiState>, sender: Sender) -> Answer {
    let access = state.engine().access();
    let all = access.apps(None);
    let own = all.iter().filter(|app| sender.enters(app.account));
    let views = own.filter_map(|app| {
        let account = Some(app.account);
        let actions = Action::ALL.iter().copied();
        let allowed = actions.filter(|it| sender.users().may(&sender.who, *it, account));
        Some(OwnApp {
            id: app.id,
            name: app.name.clone(),
            account: app.account,
            account_name: access.account(app.account)?.name.clone(),
            role: sender.who.user.role_in(account)?,
            actions: allowed.collect(),
        })
    });
    let views: Vec<_> = views.collect();
    ok("Apps fetched successfully", &views)
}

/// List the sender's sessions
///
/// Of browsers and of this API, the last used first. For people in a session.
#[utoipa::path(
    get,
    path = "/sessions",
    operation_id = "listSessions",
    tag = "Own",
    responses((status = 200, description = "Sessions.", body = Success<Vec<OwnSession>>)),
)]
async fn sessions(sender: Sender) -> Answer {
    if sender.who.session().is_none() {
        return Err(Refusal::NeedsPerson.into());
    }
    let mut sessions = sender.users().sessions(sender.who.user.id);
    sessions.sort_by_key(|session| std::cmp::Reverse(session.last_seen_at));
    let own = sender.who.session();
    let views: Vec<_> = sessions
        .iter()
        .map(|session| OwnSession::new(session, own == Some(session.id)))
        .collect();
    ok("Sessions fetched successfully", &views)
}

/// End one of the sender's sessions
///
/// For people in a session. A session may end itself; a token ends none.
#[utoipa::path(
    delete,
    path = "/sessions/{session}",
    operation_id = "endSession",
    tag = "Own",
    responses((status = 200, description = "The session has ended.", body = Success<Nothing>)),
)]
async fn end_session(sender: Sender) -> Answer {
    let id: SessionId = sender.id("session")?;
    sender.users().end_session(&sender.who, id).await?;
    done("Session ended successfully")
}

/// End the sender's other sessions
///
/// All but the one that sends the request. For people in a session; a token ends none.
#[utoipa::path(
    delete,
    path = "/sessions",
    operation_id = "endOtherSessions",
    tag = "Own",
    responses((status = 200, description = "Number of ended sessions.", body = Success<Ended>)),
)]
async fn end_others(sender: Sender) -> Answer {
    let ended = sender.users().end_other_sessions(&sender.who).await?;
    ok("Sessions ended successfully", &Ended { ended })
}
