//! Request for a link with which a user sets a new password. The response is the same for every
//! address, so it does not tell whether an address has an account.

use askama::Template;
use axum::Form;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use switchyard_users::UsersError;

use super::frame::Frame;
use super::messages_of::too_many;
use super::page::Page;

#[derive(Template)]
#[template(path = "console/forgotten.html")]
struct ForgottenPage {
    frame: Frame,
    error: Option<String>,
    email: String,
    /// Whether there are mails. Without them an operator makes such links.
    has_mail: bool,
}

#[derive(Deserialize)]
pub struct ForgottenForm {
    email: String,
}

/// `GET /console/sign-in/forgotten`
pub async fn get(page: Page) -> Response {
    show(&page, StatusCode::OK, None, "")
}

/// `POST /console/sign-in/forgotten`
pub async fn post(page: Page, Form(form): Form<ForgottenForm>) -> Response {
    if !page.state.engine().mails().is_on() {
        return show(&page, StatusCode::OK, None, "");
    }
    let users = page.state.users();
    match users.request_reset(&form.email, &page.origin).await {
        Ok(made) => {
            let state = page.state.clone();
            // In the background: the time of the response tells nothing either.
            tokio::spawn(async move {
                if let Some(made) = made {
                    state.mail(&made).await;
                }
            });
            page.message(StatusCode::OK, "console-forgotten-sent")
        }
        Err(UsersError::TooMany(wait)) => {
            let error = too_many(wait, page.text());
            show(
                &page,
                StatusCode::TOO_MANY_REQUESTS,
                Some(error),
                &form.email,
            )
        }
        Err(error) => page.failed(error.into()),
    }
}

fn show(page: &Page, status: StatusCode, error: Option<String>, email: &str) -> Response {
    let mut frame = page.frame("console-forgotten-title", "");
    frame.action = page.link("sign-in/forgotten");
    let shown = ForgottenPage {
        frame,
        error,
        email: email.to_owned(),
        has_mail: page.state.engine().mails().is_on(),
    };
    page.show(status, &shown)
}
