//! API tokens of the sender. The response to the request that creates a token is the only one that
//! shows it. Only a person in a session creates and deletes tokens.

use std::collections::BTreeSet;
use std::time::Duration;

use axum::extract::State;
use switchyard_core::ids::UserTokenId;
use switchyard_users::{Action, Role, TokenRequest, requires_recent_authentication};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::contract::own::{ActionOfRole, NewToken, Token};
use super::place::{InAccount, Sender};
use crate::openapi::Success;
use crate::operator::contract::Nothing;
use crate::operator::error::{Answer, Refused, invalid};
use crate::operator::input::{Body, created, done, ok};
use crate::state::ApiState;

pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(list, create))
        .routes(routes!(delete))
        .routes(routes!(actions))
}

/// List the sender's API tokens
///
/// Oldest first. A token sees itself. For every sender.
#[utoipa::path(
    get,
    path = "/tokens",
    operation_id = "listTokens",
    tag = "Own",
    responses((status = 200, description = "Tokens.", body = Success<Vec<Token>>)),
)]
async fn list(sender: Sender) -> Answer {
    let mut tokens = sender.users().tokens(sender.who.user.id);
    if let Some(own) = sender.who.token() {
        tokens.retain(|token| token.id == own.id);
    }
    let views: Vec<_> = tokens.iter().map(Token::from).collect();
    ok("Tokens fetched successfully", &views)
}

/// List the actions of the sender's role
///
/// The actions that a token of this account may have are those that do not need a person. A token
/// sees its own. For every sender.
#[utoipa::path(
    get,
    path = "/accounts/{account}/actions",
    operation_id = "listActions",
    tag = "Own",
    responses((status = 200, description = "Actions.", body = Success<Vec<ActionOfRole>>)),
)]
async fn actions(place: InAccount) -> Answer {
    let role = place.sender.who.user.role_in(Some(place.account));
    let mut views: Vec<_> = role.map(of_role).unwrap_or_default();
    if let Some(own) = place.sender.who.token() {
        views.retain(|one| own.actions.contains(&one.action));
    }
    ok("Actions fetched successfully", &views)
}

fn of_role(role: Role) -> Vec<ActionOfRole> {
    let all = Action::ALL.iter().copied();
    all.filter(|action| switchyard_users::allows(role, *action))
        .map(|action| ActionOfRole {
            action,
            needs_person: action.needs_person(),
            needs_recent_authentication: requires_recent_authentication(action),
        })
        .collect()
}

/// Create an API token
///
/// This response is the only one that shows the token. A token never does more than the role of its
/// user: when the role loses an action, so does the token, and a token without actions ends. For
/// people in a session who gave their factors within the last 10 minutes.
#[utoipa::path(
    post,
    path = "/tokens",
    operation_id = "createToken",
    tag = "Own",
    request_body = NewToken,
    responses((status = 201, description = "The token.", body = Success<Token>)),
)]
async fn create(
    State(state): State<ApiState>,
    sender: Sender,
    Body(new): Body<NewToken>,
) -> Answer {
    if !(1..=MOST_DAYS).contains(&new.days) {
        return Err(invalid("days", "days is 1 to 366").into());
    }
    let actions = named_actions(&new.actions)?;
    let lifetime = Duration::from_secs(u64::from(new.days) * DAY_SECONDS);
    let request = TokenRequest {
        name: new.name,
        account: new.account,
        actions,
        expires_at: state.engine().clock().now().plus(lifetime),
    };
    let made = sender.users().create_token(&sender.who, request).await?;
    let view = Token {
        token: Some(made.secret.expose().clone()),
        ..Token::from(&*made.token)
    };
    created("Token created successfully", &view)
}

fn named_actions(names: &BTreeSet<String>) -> Result<BTreeSet<Action>, Refused> {
    let read = |name: &String| {
        Action::of(name).ok_or_else(|| {
            invalid(
                "actions",
                "there is no such action: `listActions` has those of your role",
            )
        })
    };
    Ok(names.iter().map(read).collect::<Result<_, _>>()?)
}

/// Delete one of the sender's API tokens
///
/// It is refused from then on. For people in a session.
#[utoipa::path(
    delete,
    path = "/tokens/{token}",
    operation_id = "deleteToken",
    tag = "Own",
    responses((status = 200, description = "The token is deleted.", body = Success<Nothing>)),
)]
async fn delete(sender: Sender) -> Answer {
    let id: UserTokenId = sender.id("token")?;
    sender.users().delete_token(&sender.who, id).await?;
    done("Token deleted successfully")
}

const MOST_DAYS: u32 = 366;
const DAY_SECONDS: u64 = 24 * 60 * 60;
