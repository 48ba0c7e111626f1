//! The reader's own account: their sessions, which they can end.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use switchyard_core::ids::SessionId;
use switchyard_users::Session;

use super::form::Sent;
use super::frame::Frame;
use super::page::{Page, SignedIn};

#[derive(Template)]
#[template(path = "console/account.html")]
struct AccountPage {
    frame: Frame,
    name: String,
    email: String,
    has_totp: bool,
    sessions: Vec<SessionRow>,
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
    let Some(who) = page.identity() else {
        return page.to_sign_in();
    };
    let mut sessions = page.state.users().sessions(who.user.id);
    sessions.sort_by_key(|session| std::cmp::Reverse(session.last_seen_at));
    let shown = AccountPage {
        frame: page.frame("console-account-page", "account-page"),
        name: who.user.name.clone(),
        email: who.user.email.clone(),
        has_totp: who.user.has_totp(),
        sessions: sessions
            .iter()
            .map(|session| row(&page, session, who.session() == Some(session.id)))
            .collect(),
    };
    page.show(StatusCode::OK, &shown)
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
