//! Own account of the reader: name, language, password, second factor and sessions.

pub mod password;
pub mod second_factor;
pub mod tokens;

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use switchyard_core::ids::SessionId;
use switchyard_core::language::Language;
use switchyard_users::{Session, UsersError};

use super::cookies;
use super::form::{FieldError, Sent};
use super::frame::Frame;
use super::page::{Page, SignedIn};
use super::sign_in::with_cookie;

#[derive(Template)]
#[template(path = "console/account.html")]
struct AccountPage {
    frame: Frame,
    name: String,
    email: String,
    languages: Vec<LanguageChoice>,
    has_totp: bool,
    /// Recovery codes that are not used yet.
    recovery: String,
    /// Number of API tokens.
    tokens: String,
    sessions: Vec<SessionRow>,
    error: Option<FieldError>,
}

/// Language of mails and pages.
struct LanguageChoice {
    code: &'static str,
    name: &'static str,
    is_chosen: bool,
}

struct SessionRow {
    id: String,
    agent: String,
    address: String,
    seen: String,
    is_own: bool,
}

/// `GET /console/account`
pub async fn get(SignedIn(page): SignedIn) -> Response {
    show(&page, StatusCode::OK, None)
}

/// `POST /console/account`
///
/// Saves the reader's name, and the language of their pages and mails.
pub async fn save(Sent(SignedIn(page), fields): Sent<SignedIn>) -> Response {
    let Some(who) = page.identity() else {
        return page.to_sign_in();
    };
    let language = Language::of(fields.text("language")).unwrap_or(who.user.language);
    let name = fields.text("name");
    match page.state.users().change_profile(who, name, language).await {
        Ok(()) => {
            let saved = page.go(&page.link("account?done=profile-saved"));
            let cookie = cookies::keep_language(language, page.state.is_https());
            with_cookie(saved, &cookie)
        }
        Err(UsersError::Invalid { .. }) => {
            let error = FieldError::new("name", page.text().say("console-name-invalid"));
            show(&page, StatusCode::UNPROCESSABLE_ENTITY, Some((name, error)))
        }
        Err(error) => page.failed(error.into()),
    }
}

/// Shows the account; after an error with the name that was typed.
fn show(page: &Page, status: StatusCode, typed: Option<(&str, FieldError)>) -> Response {
    let Some(who) = page.identity() else {
        return page.to_sign_in();
    };
    let users = page.state.users();
    let mut sessions = users.sessions(who.user.id);
    sessions.sort_by_key(|session| std::cmp::Reverse(session.last_seen_at));
    let (name, error) = match typed {
        Some((name, error)) => (name.to_owned(), Some(error)),
        None => (who.user.name.clone(), None),
    };
    let count_of = |number: usize| u64::try_from(number).unwrap_or_default();
    let left = count_of(who.user.recovery_codes_left());
    let shown = AccountPage {
        frame: page.frame("console-account-page", "account-page"),
        name,
        email: who.user.email.clone(),
        languages: Language::ALL
            .map(|language| LanguageChoice {
                code: language.code(),
                name: language.name(),
                is_chosen: language == who.user.language,
            })
            .into(),
        has_totp: who.user.has_totp(),
        tokens: page
            .text()
            .number(count_of(users.tokens(who.user.id).len())),
        recovery: page.text().count("console-recovery-left", "codes", left),
        sessions: sessions
            .iter()
            .map(|session| row(page, session, who.session() == Some(session.id)))
            .collect(),
        error,
    };
    page.show(status, &shown)
}

/// `POST /console/account/sessions`
///
/// Ends the session that the field `session` names, or all others without one.
pub async fn end_sessions(Sent(SignedIn(page), fields): Sent<SignedIn>) -> Response {
    let Some(who) = page.identity() else {
        return page.to_sign_in();
    };
    let users = page.state.users();
    let ended = match fields.text("session").parse::<SessionId>() {
        Ok(id) => users.end_session(who, id).await,
        Err(_) => users.end_other_sessions(who).await.map(drop),
    };
    match ended {
        Ok(()) => page.go(&page.link("account")),
        Err(error) => page.failed(error.into()),
    }
}

fn row(page: &Page, session: &Session, is_own: bool) -> SessionRow {
    let address = session.address.map(|address| address.to_string());
    SessionRow {
        id: session.id.to_string(),
        agent: session.user_agent.clone(),
        address: address.unwrap_or_default(),
        seen: page.text().language().date(session.last_seen_at),
        is_own,
    }
}
