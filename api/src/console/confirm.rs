//! Confirmation of password and second factor, which keys, secrets and roles need.

use askama::Template;
use axum::extract::Query;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use switchyard_core::secret::Secret;
use switchyard_users::{Factors, UsersError};

use super::DEVELOPMENT_PASSWORD;
use super::form::Sent;
use super::frame::Frame;
use super::messages_of::too_many;
use super::page::{Page, SignedIn};
use super::sign_in::{own_address, signed_in};

#[derive(Template)]
#[template(path = "console/confirm.html")]
struct ConfirmPage {
    frame: Frame,
    error: Option<String>,
    email: String,
    next: String,
    has_totp: bool,
    /// Password of the seeded users, in development mode.
    hint: Option<String>,
}

/// Page to show after the confirmation.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Arrival {
    next: String,
}

/// `GET /console/confirm`
pub async fn get(SignedIn(page): SignedIn, Query(arrival): Query<Arrival>) -> Response {
    let next = own_address(&page, arrival.next);
    show(&page, StatusCode::OK, next, None)
}

/// `POST /console/confirm`
pub async fn post(Sent(SignedIn(page), fields): Sent<SignedIn>) -> Response {
    let Some(who) = page.identity() else {
        return page.to_sign_in();
    };
    let next = own_address(&page, fields.text("next").to_owned());
    let code = fields.text("code");
    let factors = Factors {
        password: Secret::new(fields.raw("password").to_owned()),
        code: (!code.is_empty()).then(|| code.to_owned()),
    };
    let confirmed = page.state.users().reauthenticate(who, factors).await;
    match confirmed {
        Ok(session) => signed_in(&page, &session, page.go(&next)),
        Err(UsersError::WrongFactor) => {
            let error = page.text().say("console-confirm-refused");
            show(&page, StatusCode::UNAUTHORIZED, next, Some(error))
        }
        Err(UsersError::TooMany(wait)) => {
            let error = too_many(wait, page.text());
            show(&page, StatusCode::TOO_MANY_REQUESTS, next, Some(error))
        }
        Err(error) => page.failed(error.into()),
    }
}

fn show(page: &Page, status: StatusCode, next: String, error: Option<String>) -> Response {
    let Some(who) = page.identity() else {
        return page.to_sign_in();
    };
    let is_development = page.state.api().settings().development;
    let shown = ConfirmPage {
        frame: page.frame("console-confirm-title", ""),
        error,
        email: who.user.email.clone(),
        next,
        has_totp: who.user.has_totp(),
        hint: is_development.then(|| {
            let password = [("password", DEVELOPMENT_PASSWORD)];
            page.text().with("console-confirm-development", &password)
        }),
    };
    page.show(status, &shown)
}
