//! New password of the reader, who confirmed the present one recently.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use switchyard_core::secret::Secret;
use switchyard_users::UsersError;

use crate::console::form::Sent;
use crate::console::frame::Frame;
use crate::console::messages_of::password_problem;
use crate::console::page::{Page, SignedIn};

#[derive(Template)]
#[template(path = "console/new_password.html")]
struct NewPasswordPage {
    frame: Frame,
    email: String,
    error: Option<String>,
}

/// `GET /console/account/password`
pub async fn get(SignedIn(page): SignedIn) -> Response {
    let Some(who) = page.identity() else {
        return page.to_sign_in();
    };
    match page.state.users().check_recently_authenticated(who) {
        Ok(_) => show(&page, StatusCode::OK, None),
        Err(error) => page.failed(error.into()),
    }
}

/// `POST /console/account/password`
pub async fn post(Sent(SignedIn(page), mut fields): Sent<SignedIn>) -> Response {
    let Some(who) = page.identity() else {
        return page.to_sign_in();
    };
    let password = Secret::new(fields.raw("password").to_owned());
    match page.state.users().change_password(who, password).await {
        Ok(_) => {
            fields.took_effect();
            page.go(&page.link("account?done=password-saved"))
        }
        Err(UsersError::Password(problem)) => {
            let error = password_problem(&problem, page.text());
            show(&page, StatusCode::UNPROCESSABLE_ENTITY, Some(error))
        }
        Err(error) => page.failed(error.into()),
    }
}

fn show(page: &Page, status: StatusCode, error: Option<String>) -> Response {
    let email = page.identity().map_or("", |who| who.user.email.as_str());
    let shown = NewPasswordPage {
        frame: page.frame("console-reset-title", "account-page"),
        email: email.to_owned(),
        error,
    };
    page.show(status, &shown)
}
