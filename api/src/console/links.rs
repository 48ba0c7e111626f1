//! Pages that single-use links open: an invitation, a new password, a sign-in in development mode.

use askama::Template;
use axum::Form;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;
use switchyard_core::ids::AccountId;
use switchyard_core::secret::Secret;
use switchyard_users::{Acceptance, Link, Purpose, Role, User, UserState, UsersError};

use super::form::Fields;
use super::frame::Frame;
use super::messages_of::{password_problem, role_name};
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

#[derive(Template)]
#[template(path = "console/offer.html")]
struct OfferPage {
    frame: Frame,
    text: String,
    role: String,
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
        Purpose::Invitation { account, role } if user.state == UserState::Active => {
            offer(&page, &user, (account, role))
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
    Form(sent): Form<Vec<(String, String)>>,
) -> Response {
    let (link, user) = match page.state.users().link(&token) {
        Ok(found) => found,
        Err(_) => return page.message(StatusCode::GONE, "console-link"),
    };
    let users = page.state.users();
    let value = |name: &str| {
        let mut fields = sent.iter();
        let found = fields.find(|(field, _)| field == name);
        found.map(|(_, value)| value.clone())
    };
    let password = Secret::new(value("password").unwrap_or_default());
    let saved = match link.purpose {
        Purpose::Invitation { .. } if user.state == UserState::Active => {
            return accept(&page, &token, sent).await;
        }
        Purpose::Invitation { .. } => {
            let acceptance = Acceptance {
                password: Some(password),
                name: value("name"),
                language: Some(page.text().language()),
            };
            let accepted = users.accept_invitation(&token, acceptance, &page.origin);
            accepted.await.map(drop)
        }
        Purpose::Reset => {
            let reset = users.reset_password(&token, password, &page.origin);
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

/// Page on which a user who exists accepts one more role, in their own session.
fn offer(page: &Page, user: &User, (account, role): (Option<AccountId>, Role)) -> Response {
    let Some(who) = page.identity() else {
        return page.to_sign_in_with("invited");
    };
    if who.user.id != user.id {
        return page.message(StatusCode::FORBIDDEN, "console-invited-other");
    }
    let text = page.text();
    let access = page.state.engine().access();
    let name = account.and_then(|id| Some(access.account(id)?.name.clone()));
    let shown = OfferPage {
        frame: page.frame("console-offer-title", ""),
        text: match &name {
            Some(name) => text.with("console-offer-account", &[("account", name)]),
            None => text.say("console-offer-installation"),
        },
        role: role_name(role, text),
    };
    page.show(StatusCode::OK, &shown)
}

/// Gives the signed-in user the role of their invitation.
async fn accept(page: &Page, token: &str, sent: Vec<(String, String)>) -> Response {
    let mut fields = match Fields::checked(page, sent) {
        Ok(fields) => fields,
        Err(refused) => return *refused,
    };
    let Some(who) = page.identity() else {
        return page.to_sign_in_with("invited");
    };
    match page.state.users().accept_invitation_as(who, token).await {
        Ok(_) => {
            fields.took_effect();
            page.go(&page.link(""))
        }
        Err(UsersError::LinkExpired) => page.message(StatusCode::GONE, "console-link"),
        Err(error) => page.failed(error.into()),
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
