//! The reader's own account: their sessions, which they can end.

use askama::Template;
use axum::Form;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use switchyard_core::ids::SessionId;
use switchyard_users::{Session, csrf_token, is_csrf_token};

use super::frame::Frame;
use super::page::{Page, SignedIn};

#[derive(Template)]
#[template(path = "console/account.html")]
struct AccountPage {
    frame: Frame,
    name: String,
    email: String,
    has_totp: bool,
    csrf: String,
    sessions: Vec<SessionRow>,
}

struct SessionRow {
    id: String,
    agent: String,
    address: String,
    seen: String,
    is_own: bool,
}

#[derive(Deserialize)]
pub struct EndForm {
    #[serde(default)]
    csrf: String,
    /// Session to end. Empty: all others.
    #[serde(default)]
    session: String,
}

/// `GET /console/account`
pub async fn get(SignedIn(page): SignedIn) -> Response {
    let Some(who) = page.identity() else {
        return page.to_sign_in();
    };
    let token = page.session_token().unwrap_or_default();
    let mut sessions = page.state.users().sessions(who.user.id);
    sessions.sort_by_key(|session| std::cmp::Reverse(session.last_seen_at));
    let shown = AccountPage {
        frame: page.frame("console-account-page", "account-page"),
        name: who.user.name.clone(),
        email: who.user.email.clone(),
        has_totp: who.user.has_totp(),
        csrf: csrf_token(token).expose().clone(),
        sessions: sessions
            .iter()
            .map(|session| row(&page, session, who.session() == Some(session.id)))
            .collect(),
    };
    page.show(StatusCode::OK, &shown)
}

/// `POST /console/account/sessions`
pub async fn end_sessions(SignedIn(page): SignedIn, Form(form): Form<EndForm>) -> Response {
    let token = page.session_token().unwrap_or_default();
    let (Some(who), true) = (page.identity(), is_csrf_token(token, &form.csrf)) else {
        return page.go(&page.link("account"));
    };
    let users = page.state.users();
    let ended = match form.session.parse::<SessionId>() {
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
