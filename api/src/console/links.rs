//! Pages that single-use links open: an invitation, a new password, a sign-in in development mode.

use askama::Template;
use axum::Form;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use switchyard_core::secret::Secret;
use switchyard_users::{Acceptance, Link, Purpose, User, UserState, UsersError};

use super::frame::Frame;
use super::messages_of::password_problem;
use super::page::Page;
use super::sign_in::proceed;

#[derive(Template)]
#[template(path = "console/password.html")]
struct PasswordPage {
    frame: Frame,
    title: String,
    text: String,
    error: Option<String>,
    email: String,
    name: Option<String>,
}

#[derive(Deserialize)]
pub struct PasswordForm {
    password: Secret<String>,
    #[serde(default)]
    name: Option<String>,
}

/// `GET /console/link/{token}`
///
/// A sign-in link of development mode signs in at once. The other links have a form, so that a mail
/// scanner that opens them uses nothing up.
pub async fn get(page: Page, Path(token): Path<String>) -> Response {
    let (link, user) = match page.state.users().link(&token) {
        Ok(found) => found,
        Err(_) => return page.message(StatusCode::GONE, "console-link"),
    };
    match link.purpose {
        Purpose::SignIn => {
            let signed_in = page.state.users().sign_in_with_link(&token, &page.origin);
            match signed_in.await {
                Ok(result) => proceed(&page, result, page.link("")),
                Err(UsersError::LinkExpired) => page.message(StatusCode::GONE, "console-link"),
                Err(error) => page.failed(error.into()),
            }
        }
        Purpose::Invitation { .. } if user.state == UserState::Active => {
            accept(&page, &token).await
        }
        Purpose::Invitation { .. } | Purpose::Reset => {
            form(&page, StatusCode::OK, &link, &user, None)
        }
    }
}

/// `POST /console/link/{token}`
pub async fn post(
    page: Page,
    Path(token): Path<String>,
    Form(sent): Form<PasswordForm>,
) -> Response {
    let (link, user) = match page.state.users().link(&token) {
        Ok(found) => found,
        Err(_) => return page.message(StatusCode::GONE, "console-link"),
    };
    let users = page.state.users();
    let saved = match link.purpose {
        Purpose::Invitation { .. } => {
            let acceptance = Acceptance {
                password: Some(sent.password),
                name: sent.name,
                language: Some(page.text().language()),
            };
            let accepted = users.accept_invitation(&token, acceptance, &page.origin);
            accepted.await.map(drop)
        }
        Purpose::Reset => {
            let reset = users.reset_password(&token, sent.password, &page.origin);
            reset.await.map(drop)
        }
        Purpose::SignIn => Ok(()),
    };
    let refused = |error: String| {
        let status = StatusCode::UNPROCESSABLE_ENTITY;
        form(&page, status, &link, &user, Some(error))
    };
    match saved {
        Ok(()) => page.go(&page.link("sign-in")),
        Err(UsersError::Password(problem)) => refused(password_problem(&problem, page.text())),
        Err(UsersError::Invalid { .. }) => refused(page.text().say("console-name-invalid")),
        Err(UsersError::LinkExpired) => page.message(StatusCode::GONE, "console-link"),
        Err(error) => page.failed(error.into()),
    }
}

/// Gives a user who has a password the role of an invitation.
async fn accept(page: &Page, token: &str) -> Response {
    let acceptance = Acceptance::default();
    let accepted = page
        .state
        .users()
        .accept_invitation(token, acceptance, &page.origin);
    match accepted.await {
        Ok(_) => page.go(&page.link("")),
        Err(_) => page.message(StatusCode::GONE, "console-link"),
    }
}

fn form(
    page: &Page,
    status: StatusCode,
    link: &Link,
    user: &User,
    error: Option<String>,
) -> Response {
    let text = page.text();
    let (title, name) = match link.purpose {
        Purpose::Reset | Purpose::SignIn => ("console-reset", None),
        Purpose::Invitation { .. } => ("console-invited", Some(user.name.clone())),
    };
    let shown = PasswordPage {
        frame: page.frame(&format!("{title}-title"), ""),
        title: text.say(&format!("{title}-title")),
        text: text.say(&format!("{title}-text")),
        error,
        email: user.email.clone(),
        name,
    };
    page.show(status, &shown)
}
