//! Confirmation of password and second factor, which keys, secrets and roles need.

use askama::Template;
use axum::extract::Query;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use switchyard_core::secret::Secret;
use switchyard_users::{Factors, FirstFactor, UsersError};

use super::DEVELOPMENT_PASSWORD;
use super::form::Sent;
use super::frame::Frame;
use super::messages_of::too_many;
use super::openid::{self, Button};
use super::page::{Page, SignedIn};
use super::sign_in::{own_address, signed_in};

#[derive(Template)]
#[template(path = "console/confirm.html")]
struct ConfirmPage {
    frame: Frame,
    error: Option<String>,
    email: String,
    next: String,
    /// Whether the password is taken. Users whose second factor is that of the provider sign in
    /// there again.
    takes_password: bool,
    /// Token of a new authentication at the provider, which a code follows.
    pending: Option<Secret<String>>,
    has_totp: bool,
    /// New authentication at the OpenID Connect provider.
    provider: Option<Button>,
    /// Password of the seeded users, in development mode.
    hint: Option<String>,
}

/// Page to show after the confirmation.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Arrival {
    next: String,
    notice: String,
}

/// `GET /console/confirm`
pub async fn get(SignedIn(page): SignedIn, Query(arrival): Query<Arrival>) -> Response {
    let next = own_address(&page, arrival.next);
    let error = openid::notice(&page, &arrival.notice);
    show(&page, StatusCode::OK, (next, error, None))
}

/// `POST /console/confirm`
pub async fn post(Sent(SignedIn(page), fields): Sent<SignedIn>) -> Response {
    let Some(who) = page.identity() else {
        return page.to_sign_in();
    };
    let next = own_address(&page, fields.text("next").to_owned());
    let code = fields.text("code");
    let pending = fields.text("pending");
    let pending = (!pending.is_empty()).then(|| Secret::new(pending.to_owned()));
    let factors = Factors {
        first: match &pending {
            Some(token) => FirstFactor::Provider(token.clone()),
            None => FirstFactor::Password(Secret::new(fields.raw("password").to_owned())),
        },
        code: (!code.is_empty()).then(|| code.to_owned()),
    };
    let confirmed = page.state.users().reauthenticate(who, factors).await;
    match confirmed {
        Ok(session) => signed_in(&page, &session, page.go(&next)),
        Err(UsersError::WrongFactor) => {
            let error = page.text().say(match pending {
                Some(_) => "console-code-refused",
                None => "console-confirm-refused",
            });
            show(
                &page,
                StatusCode::UNAUTHORIZED,
                (next, Some(error), pending),
            )
        }
        Err(UsersError::TooMany(wait)) => {
            let error = too_many(wait, page.text());
            show(
                &page,
                StatusCode::TOO_MANY_REQUESTS,
                (next, Some(error), pending),
            )
        }
        Err(error) => page.failed(error.into()),
    }
}

/// Asks for the code of a user who has signed in at the provider again.
pub fn ask_code(page: &Page, pending: Secret<String>, next: String) -> Response {
    show(page, StatusCode::OK, (next, None, Some(pending)))
}

fn show(
    page: &Page,
    status: StatusCode,
    (next, error, pending): (String, Option<String>, Option<Secret<String>>),
) -> Response {
    let Some(who) = page.identity() else {
        return page.to_sign_in();
    };
    let is_development = page.state.api().settings().development;
    let is_bound = who.user.has_identity() && pending.is_none();
    let takes_password = !page.state.users().needs_provider(&who.user) && pending.is_none();
    let message = "console-openid-confirm";
    let provider = openid::button(page, message, "confirm/openid", &next);
    let mut frame = page.frame("console-confirm-title", "");
    frame.action = page.link("confirm");
    let shown = ConfirmPage {
        frame,
        takes_password,
        pending,
        provider: provider.filter(|_| is_bound),
        error,
        email: who.user.email.clone(),
        next,
        has_totp: who.user.has_totp(),
        hint: (is_development && takes_password).then(|| {
            let password = [("password", DEVELOPMENT_PASSWORD)];
            page.text().with("console-confirm-development", &password)
        }),
    };
    page.show(status, &shown)
}
