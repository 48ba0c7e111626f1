//! Sign-in: password, second factor and its first set-up; sign-out.

use askama::Template;
use axum::Form;
use axum::extract::Query;
use axum::http::StatusCode;
use axum::http::header::{HeaderValue, SET_COOKIE};
use axum::response::Response;
use serde::Deserialize;
use switchyard_core::secret::Secret;
use switchyard_users::{NewSession, RecoveryCodes, SignIn, UsersError};

use super::cookies;
use super::form::Sent;
use super::frame::Frame;
use super::messages_of::too_many;
use super::openid::{self, Button};
use super::page::{Failed, Page, SignedIn};
use crate::pages::qr;

#[derive(Template)]
#[template(path = "console/sign_in.html")]
struct PasswordPage {
    frame: Frame,
    notice: Option<String>,
    is_error: bool,
    email: String,
    next: String,
    /// Sign-in by the OpenID Connect provider.
    provider: Option<Button>,
}

#[derive(Template)]
#[template(path = "console/code.html")]
struct CodePage {
    frame: Frame,
    notice: Option<String>,
    pending: Secret<String>,
    next: String,
}

#[derive(Template)]
#[template(path = "console/totp.html")]
struct SetupPage {
    frame: Frame,
    error: Option<String>,
    qr: String,
    key: String,
    pending: Secret<String>,
    next: String,
}

#[derive(Template)]
#[template(path = "console/recovery.html")]
struct RecoveryPage {
    frame: Frame,
    codes: Vec<String>,
    next: String,
}

/// Query of the sign-in page: the page to show afterwards, and the reason for this one.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Arrival {
    next: String,
    notice: String,
}

#[derive(Deserialize)]
pub struct PasswordForm {
    email: String,
    password: Secret<String>,
    #[serde(default)]
    next: String,
}

#[derive(Deserialize)]
pub struct CodeForm {
    pending: Secret<String>,
    code: String,
    #[serde(default)]
    next: String,
}

/// `GET /console/sign-in`
pub async fn get(page: Page, Query(arrival): Query<Arrival>) -> Response {
    let of_provider = openid::notice(&page, &arrival.notice);
    let is_error = of_provider.is_some();
    let notice = match arrival.notice.as_str() {
        "signed-out" => Some("console-signed-out"),
        "foreign" => Some("console-foreign-form"),
        "invited" => Some("console-invited-sign-in"),
        _ if !arrival.next.is_empty() => Some("console-session-ended"),
        _ => None,
    };
    let next = own_address(&page, arrival.next);
    let shown = PasswordPage {
        frame: page.frame("console-sign-in", ""),
        notice: of_provider.or_else(|| notice.map(|message| page.text().say(message))),
        is_error,
        email: String::new(),
        provider: provider_button(&page, &next),
        next,
    };
    page.show(StatusCode::OK, &shown)
}

/// `POST /console/sign-in`
pub async fn post(page: Page, Form(form): Form<PasswordForm>) -> Response {
    let next = own_address(&page, form.next);
    let users = page.state.users();
    let result = users
        .sign_in(&form.email, form.password, &page.origin)
        .await;
    let (status, notice) = match result {
        Ok(SignIn::Refused) => (
            StatusCode::UNAUTHORIZED,
            page.text().say("console-sign-in-refused"),
        ),
        Ok(SignIn::TooMany { retry_after }) => (
            StatusCode::TOO_MANY_REQUESTS,
            too_many(retry_after, page.text()),
        ),
        Ok(passed) => return proceed(&page, passed, next),
        Err(error) => return page.failed(error.into()),
    };
    let shown = PasswordPage {
        frame: page.frame("console-sign-in", ""),
        notice: Some(notice),
        is_error: true,
        email: form.email,
        provider: provider_button(&page, &next),
        next,
    };
    page.show(status, &shown)
}

fn provider_button(page: &Page, next: &str) -> Option<Button> {
    openid::button(page, "console-openid-sign-in", "sign-in/openid", next)
}

/// Continues after a factor was accepted: with the next one, or signed in.
pub fn proceed(page: &Page, result: SignIn, next: String) -> Response {
    match result {
        SignIn::SignedIn(session) => signed_in(page, &session, page.go(&next)),
        SignIn::NeedsTotp(pending) => code_page(page, StatusCode::OK, None, pending, next),
        SignIn::NeedsTotpSetup(pending) => set_up(page, StatusCode::OK, None, pending, next),
        SignIn::Refused | SignIn::TooMany { .. } => page.go(&page.link("sign-in")),
    }
}

/// `POST /console/sign-in/code`
pub async fn post_code(page: Page, Form(form): Form<CodeForm>) -> Response {
    let next = own_address(&page, form.next);
    let users = page.state.users();
    let code = form.code.trim();
    let result = users.confirm_second_factor(form.pending.expose(), code, &page.origin);
    let (status, notice) = match result.await {
        Ok(SignIn::Refused) => (
            StatusCode::UNAUTHORIZED,
            page.text().say("console-code-refused"),
        ),
        Ok(SignIn::TooMany { retry_after }) => (
            StatusCode::TOO_MANY_REQUESTS,
            too_many(retry_after, page.text()),
        ),
        Ok(passed) => return proceed(&page, passed, next),
        Err(error) => return expired_or(&page, error),
    };
    code_page(&page, status, Some(notice), form.pending, next)
}

/// `POST /console/sign-in/set-up`
pub async fn post_set_up(page: Page, Form(form): Form<CodeForm>) -> Response {
    let next = own_address(&page, form.next);
    let users = page.state.users();
    let code: String = form.code.split_whitespace().collect();
    let result = users.confirm_first_setup(form.pending.expose(), &code, &page.origin);
    match result.await {
        Ok(done) => {
            let shown = recovery_page(&page, &done.codes, next);
            signed_in(&page, &done.session, shown)
        }
        Err(UsersError::WrongFactor) => {
            let error = page.text().say("console-code-refused");
            set_up(
                &page,
                StatusCode::UNAUTHORIZED,
                Some(error),
                form.pending,
                next,
            )
        }
        Err(UsersError::TooMany(wait)) => {
            let error = too_many(wait, page.text());
            let status = StatusCode::TOO_MANY_REQUESTS;
            set_up(&page, status, Some(error), form.pending, next)
        }
        Err(error) => expired_or(&page, error),
    }
}

/// `POST /console/sign-out`
pub async fn sign_out(Sent(SignedIn(page), _): Sent<SignedIn>) -> Response {
    let ended = match page.identity().and_then(|who| Some((who, who.session()?))) {
        Some((who, session)) => page.state.users().end_session(who, session).await,
        None => Ok(()),
    };
    if let Err(error) = ended {
        return page.failed(error.into());
    }
    let left = page.go(&page.link("sign-in?notice=signed-out"));
    with_cookie(left, &cookies::end_session(page.state.is_https()))
}

fn code_page(
    page: &Page,
    status: StatusCode,
    notice: Option<String>,
    pending: Secret<String>,
    next: String,
) -> Response {
    let mut frame = page.frame("console-code-title", "");
    frame.action = page.link("sign-in/code");
    let shown = CodePage {
        frame,
        notice,
        pending,
        next,
    };
    page.show(status, &shown)
}

/// The page with the secret of an authenticator. After a wrong code it is the same secret.
fn set_up(
    page: &Page,
    status: StatusCode,
    error: Option<String>,
    pending: Secret<String>,
    next: String,
) -> Response {
    let setup = match page.state.users().begin_first_setup(pending.expose()) {
        Ok(setup) => setup,
        Err(error) => return expired_or(page, error),
    };
    let label = page.text().say("console-totp-qr");
    let qr = qr::svg(setup.uri.expose(), &label);
    let mut frame = page.frame("console-totp-title", "");
    frame.action = page.link("sign-in/set-up");
    let shown = SetupPage {
        frame,
        error,
        qr: qr.unwrap_or_default(),
        key: setup.secret.expose().clone(),
        pending,
        next,
    };
    page.show(status, &shown)
}

fn recovery_page(page: &Page, codes: &RecoveryCodes, next: String) -> Response {
    let shown = RecoveryPage {
        frame: page.frame("console-recovery-title", ""),
        codes: codes.0.iter().map(|code| code.expose().clone()).collect(),
        next,
    };
    page.show(StatusCode::OK, &shown)
}

/// Leads back to the start of a sign-in that took too long.
fn expired_or(page: &Page, error: UsersError) -> Response {
    match error {
        UsersError::SignInExpired => page.go(&page.link("sign-in")),
        error => page.failed(Failed::from(error)),
    }
}

pub fn signed_in(page: &Page, session: &NewSession, response: Response) -> Response {
    let cookie = cookies::begin_session(session.token.expose(), page.state.is_https());
    with_cookie(response, &cookie)
}

pub fn with_cookie(mut response: Response, cookie: &str) -> Response {
    // A token is base62 or hexadecimal, so the cookie is a valid header.
    if let Ok(cookie) = HeaderValue::from_str(cookie) {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
    response
}

/// The address if it is one of the console, else that of the first page: no link to the sign-in
/// leads elsewhere.
pub fn own_address(page: &Page, address: String) -> String {
    let start = page.link("");
    let is_plain = address
        .bytes()
        .all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    match address.starts_with(&start) && is_plain {
        true => address,
        false => start,
    }
}
