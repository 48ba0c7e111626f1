//! Profile, password and second factor of the sender, as on the pages of their own account.
//!
//! For people in a session. Password and second factor need a session whose factors were given
//! within the last 10 minutes; a change of them ends the other sessions.

use switchyard_core::language::Language;
use switchyard_users::{RecoveryCodes, UsersError};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::contract::own::{
    Code, Codes, NewPassword, ProfileChange, SecondFactorSetup, Token, TokensLeft,
};
use super::place::Sender;
use crate::error::{ApiError, ErrorCode, Problem};
use crate::openapi::Success;
use crate::operator::contract::Nothing;
use crate::operator::error::{Answer, Refused, invalid};
use crate::operator::input::{Body, done, ok};
use crate::state::ApiState;

pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(change))
        .routes(routes!(change_password))
        .routes(routes!(begin_set_up, remove))
        .routes(routes!(confirm_set_up))
        .routes(routes!(renew_codes))
}

/// Change the sender's name and language
///
/// The language is that of their pages and mails. For people in a session.
#[utoipa::path(
    patch,
    path = "/me",
    operation_id = "changeProfile",
    tag = "Own",
    request_body = ProfileChange,
    responses((status = 200, description = "They are changed.", body = Success<Nothing>)),
)]
async fn change(sender: Sender, Body(change): Body<ProfileChange>) -> Answer {
    let user = &sender.who.user;
    let language = match change.language.as_deref() {
        None => user.language,
        Some(code) => Language::ALL
            .into_iter()
            .find(|language| language.code() == code)
            .ok_or_else(|| invalid("language", "language is `en` or `fr`"))?,
    };
    let name = change.name.as_deref().unwrap_or(&user.name);
    let users = sender.users();
    users.change_profile(&sender.who, name, language).await?;
    done("Profile changed successfully")
}

/// Change the sender's password
///
/// Ends their other sessions. API tokens stay valid: the response lists them. For people in a
/// session.
#[utoipa::path(
    post,
    path = "/me/password",
    operation_id = "changePassword",
    tag = "Own",
    request_body = NewPassword,
    responses((status = 200, description = "It is changed.", body = Success<TokensLeft>)),
)]
async fn change_password(sender: Sender, Body(new): Body<NewPassword>) -> Answer {
    let users = sender.users();
    let tokens = users.change_password(&sender.who, new.password).await?;
    let tokens = tokens.iter().map(Token::from).collect();
    ok("Password changed successfully", &TokensLeft { tokens })
}

/// Begin the set-up of a second factor
///
/// The secret of an authenticator app, in place of an earlier one once `confirmSecondFactor` has a
/// code of it, within 10 minutes. A repetition shows the same secret. For people in a session.
#[utoipa::path(
    post,
    path = "/me/second-factor",
    operation_id = "beginSecondFactor",
    tag = "Own",
    responses((status = 200, description = "The secret.", body = Success<SecondFactorSetup>)),
)]
async fn begin_set_up(sender: Sender) -> Answer {
    let begun = sender.users().begin_setup(&sender.who)?;
    let view = SecondFactorSetup {
        secret: begun.secret.expose().clone(),
        uri: begun.uri.expose().clone(),
    };
    ok("Set-up begun successfully", &view)
}

/// Confirm the set-up of a second factor
///
/// Ends the sender's other sessions. Only this response shows the recovery codes. For people in a
/// session.
#[utoipa::path(
    post,
    path = "/me/second-factor/confirm",
    operation_id = "confirmSecondFactor",
    tag = "Own",
    request_body = Code,
    responses((status = 200, description = "Recovery codes.", body = Success<Codes>)),
)]
async fn confirm_set_up(sender: Sender, Body(given): Body<Code>) -> Answer {
    let code = given.code.expose().trim();
    let codes = sender.users().confirm_setup(&sender.who, code).await;
    let codes = codes.map_err(|error| match error {
        UsersError::WrongFactor => {
            Refused::from(invalid("code", "The code is not one of the authenticator."))
        }
        UsersError::SignInExpired => {
            let message = "No set-up was begun in the last 10 minutes: begin it again.";
            ApiError::from(Problem::new(ErrorCode::TransitionRefused, message)).into()
        }
        error => error.into(),
    });
    ok("Second factor set up successfully", &shown_once(&codes?))
}

/// Remove the sender's second factor
///
/// Refused where a role or the installation requires one: replace it instead. For people in a
/// session.
#[utoipa::path(
    delete,
    path = "/me/second-factor",
    operation_id = "removeSecondFactor",
    tag = "Own",
    responses((status = 200, description = "It is removed.", body = Success<Nothing>)),
)]
async fn remove(sender: Sender) -> Answer {
    sender.users().remove_second_factor(&sender.who).await?;
    done("Second factor removed successfully")
}

/// Replace the sender's recovery codes
///
/// The earlier ones end. Only this response shows the new ones. For people in a session.
#[utoipa::path(
    post,
    path = "/me/recovery-codes",
    operation_id = "renewRecoveryCodes",
    tag = "Own",
    responses((status = 200, description = "Recovery codes.", body = Success<Codes>)),
)]
async fn renew_codes(sender: Sender) -> Answer {
    let codes = sender.users().renew_recovery_codes(&sender.who).await?;
    ok("Recovery codes replaced successfully", &shown_once(&codes))
}

fn shown_once(codes: &RecoveryCodes) -> Codes {
    let codes = codes.0.iter().map(|code| code.expose().clone());
    Codes {
        codes: codes.collect(),
    }
}
