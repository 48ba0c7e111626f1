//! API keys of an app in an environment: list, creation, roll with a grace period, deletion.

use std::time::Duration;

use askama::Template;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;
use switchyard_core::ids::KeyId;
use switchyard_core::secret::Secret;
use switchyard_engine::access::{AccessError, KeyKind, KeyRequest, ListedKey, NewKey};
use switchyard_users::Action;

use super::super::form::{FieldError, Fields, Sent};
use super::super::frame::Frame;
use super::super::page::{Failed, Page, Scope, Scoped};
use super::super::text::Text;
use super::super::{answer, shown};
use super::field_error;
use crate::key_changes::{self, NotChanged};

#[derive(Template)]
#[template(path = "console/keys.html")]
struct KeyList {
    frame: Frame,
    new: Option<String>,
    webhooks: String,
    keys: Vec<KeyRow>,
}

struct KeyRow {
    href: String,
    name: Option<String>,
    kind: String,
    shape: String,
    created: String,
    used: String,
    expires: Option<String>,
}

#[derive(Template)]
#[template(path = "console/key_new.html")]
struct NewKeyPage {
    frame: Frame,
    list: String,
    name: String,
    is_public: bool,
    error: Option<FieldError>,
}

#[derive(Template)]
#[template(path = "console/key_made.html")]
struct MadeKey {
    frame: Frame,
    list: String,
    title: String,
    note: Option<String>,
    key: Secret<String>,
    is_secret: bool,
}

#[derive(Template)]
#[template(path = "console/key.html")]
struct KeyPage {
    frame: Frame,
    list: String,
    key: KeyRow,
    graces: Vec<Choice>,
    last_four: String,
    error: Option<FieldError>,
}

/// Option of a select.
struct Choice {
    value: u64,
    name: String,
}

/// App, environment and key in the address of a key's page.
type KeyPath = Path<(String, String, String)>;

/// `GET /console/apps/{app}/{environment}/keys`
pub async fn list(Scoped(page): Scoped) -> Response {
    answer(&page, show_list(&page))
}

fn show_list(page: &Page) -> Result<Response, Failed> {
    page.permit(Action::ViewKeys)?;
    let scope = page.scope().ok_or(Failed::NotFound)?;
    let keys = page.state.engine().access().keys(scope.app.id);
    let keys = keys.map_err(|_| Failed::NotFound)?;
    let own = keys
        .iter()
        .filter(|listed| listed.key.environment == scope.environment);
    let list = KeyList {
        frame: page.frame("console-keys", "keys"),
        new: page
            .may(Action::ManageKeys)
            .then(|| page.in_scope("keys/new")),
        webhooks: page.in_scope("webhooks"),
        keys: own.map(|listed| row(page, listed)).collect(),
    };
    Ok(shown(page, &list))
}

/// `GET /console/apps/{app}/{environment}/keys/new`
pub async fn new(Scoped(page): Scoped) -> Response {
    let permitted = page.permit(Action::ManageKeys);
    let form = permitted.map(|_| new_page(&page, StatusCode::OK, ("", KeyKind::Secret), None));
    answer(&page, form)
}

/// `POST /console/apps/{app}/{environment}/keys/new`
pub async fn create(Sent(Scoped(page), mut fields): Sent<Scoped>) -> Response {
    let created = create_key(&page, &mut fields).await;
    answer(&page, created)
}

async fn create_key(page: &Page, fields: &mut Fields) -> Result<Response, Failed> {
    let permit = page.permit(Action::ManageKeys)?;
    let scope = page.scope().ok_or(Failed::NotFound)?;
    let kind = match fields.text("kind") {
        "public" => KeyKind::Public,
        _ => KeyKind::Secret,
    };
    let name = fields.text("name");
    let request = KeyRequest {
        app: scope.app.id,
        environment: scope.environment,
        kind,
        name: (!name.is_empty()).then(|| name.to_owned()),
    };
    let (access, users) = (page.state.engine().access(), page.state.users());
    match key_changes::create(access, users, &permit, request).await {
        Ok(made) => {
            fields.took_effect();
            Ok(made_page(page, made, "console-key-made", None))
        }
        Err(why) => {
            let error = field_error(of_key(why)?, page.text())?;
            let status = StatusCode::UNPROCESSABLE_ENTITY;
            Ok(new_page(page, status, (name, kind), Some(error)))
        }
    }
}

fn new_page(
    page: &Page,
    status: StatusCode,
    (name, kind): (&str, KeyKind),
    error: Option<FieldError>,
) -> Response {
    let form = NewKeyPage {
        frame: page.frame("console-key-new", "keys"),
        list: page.in_scope("keys"),
        name: name.to_owned(),
        is_public: kind == KeyKind::Public,
        error,
    };
    page.show(status, &form)
}

/// `GET /console/apps/{app}/{environment}/keys/{key}`
pub async fn get(Scoped(page): Scoped, Path((.., id)): KeyPath) -> Response {
    let permitted = page.permit(Action::ManageKeys);
    let found = permitted.and_then(|_| one_of_scope(&page, &id));
    let one = found.map(|listed| key_page(&page, StatusCode::OK, &listed, None));
    answer(&page, one)
}

/// `POST /console/apps/{app}/{environment}/keys/{key}`
pub async fn change(
    Path((.., id)): KeyPath,
    Sent(Scoped(page), mut fields): Sent<Scoped>,
) -> Response {
    let changed = match fields.text("do") {
        "roll" => roll(&page, &id, &mut fields).await,
        _ => delete(&page, &id, &mut fields).await,
    };
    answer(&page, changed)
}

async fn roll(page: &Page, id: &str, fields: &mut Fields) -> Result<Response, Failed> {
    let permit = page.permit(Action::ManageKeys)?;
    let listed = one_of_scope(page, id)?;
    let grace = fields.text("grace").parse().unwrap_or(DEFAULT_GRACE);
    let (access, users) = (page.state.engine().access(), page.state.users());
    let after = Duration::from_secs(grace);
    match key_changes::roll(access, users, &permit, &listed, after).await {
        Ok(made) => {
            fields.took_effect();
            let note = page.text().with(
                "console-key-rolled-text",
                &[
                    ("old", &shape(&listed)),
                    ("grace", &grace_name(grace, page.text())),
                ],
            );
            Ok(made_page(page, made, "console-key-rolled", Some(note)))
        }
        Err(why) => {
            let error = field_error(of_key(why)?, page.text())?;
            let status = StatusCode::UNPROCESSABLE_ENTITY;
            Ok(key_page(page, status, &listed, Some(error)))
        }
    }
}

async fn delete(page: &Page, id: &str, fields: &mut Fields) -> Result<Response, Failed> {
    let permit = page.permit(Action::ManageKeys)?;
    let listed = one_of_scope(page, id)?;
    if fields.text("last_four") != listed.key.last_four {
        let message = page.text().say("console-key-last-four-wrong");
        let error = Some(FieldError::new("last_four", message));
        let status = StatusCode::UNPROCESSABLE_ENTITY;
        return Ok(key_page(page, status, &listed, error));
    }
    let (access, users) = (page.state.engine().access(), page.state.users());
    let deleted = key_changes::delete(access, users, &permit, &listed, &shape(&listed)).await;
    if let Err(why) = deleted {
        field_error(of_key(why)?, page.text())?;
    }
    fields.took_effect();
    Ok(page.go(&page.in_scope("keys?done=key-deleted")))
}

/// The refusal of a change of a key. A failure of another kind has a page of its own.
fn of_key(why: NotChanged) -> Result<AccessError, Failed> {
    match why {
        NotChanged::Key(error) => Ok(error),
        NotChanged::Users(error) => Err(error.into()),
        NotChanged::Stopping => Err(Failed::Unavailable),
    }
}

fn key_page(
    page: &Page,
    status: StatusCode,
    listed: &ListedKey,
    error: Option<FieldError>,
) -> Response {
    let choice = |value| Choice {
        value,
        name: grace_name(value, page.text()),
    };
    let one = KeyPage {
        frame: page.frame("console-key", "keys"),
        list: page.in_scope("keys"),
        key: row(page, listed),
        graces: GRACES.map(choice).into(),
        last_four: listed.key.last_four.clone(),
        error,
    };
    page.show(status, &one)
}

fn made_page(page: &Page, made: NewKey, title: &str, note: Option<String>) -> Response {
    let shown_once = MadeKey {
        frame: page.frame(title, "keys"),
        list: page.in_scope("keys"),
        title: page.text().say(title),
        note,
        is_secret: made.key.kind == KeyKind::Secret,
        key: made.secret,
    };
    page.show(StatusCode::CREATED, &shown_once)
}

/// The key, if it belongs to the page's app and environment.
fn one_of_scope(page: &Page, id: &str) -> Result<ListedKey, Failed> {
    let scope: &Scope = page.scope().ok_or(Failed::NotFound)?;
    let id: KeyId = id.parse().map_err(|_| Failed::NotFound)?;
    let keys = page.state.engine().access().keys(scope.app.id);
    let keys = keys.map_err(|_| Failed::NotFound)?;
    let mut own = keys
        .into_iter()
        .filter(|listed| listed.key.environment == scope.environment);
    own.find(|listed| listed.key.id == id)
        .ok_or(Failed::NotFound)
}

fn row(page: &Page, listed: &ListedKey) -> KeyRow {
    let (text, key) = (page.text(), &listed.key);
    let language = text.language();
    KeyRow {
        href: page.in_scope(&format!("keys/{}", key.id)),
        name: key.name.clone(),
        kind: text.say(match key.kind {
            KeyKind::Secret => "console-key-secret",
            KeyKind::Public => "console-key-public",
        }),
        shape: shape(listed),
        created: language.date(key.created_at),
        used: match listed.last_used_at {
            Some(at) => language.date(at),
            None => text.say("console-never"),
        },
        expires: key.expires_at.map(|at| {
            let at = language.date(at);
            text.with("console-key-expires", &[("at", &at)])
        }),
    }
}

/// The visible ends of a key.
fn shape(listed: &ListedKey) -> String {
    format!("{}…{}", listed.key.prefix, listed.key.last_four)
}

fn grace_name(seconds: u64, text: Text) -> String {
    match seconds {
        0 => text.say("console-grace-none"),
        _ if seconds < DAY => text.count("console-hours", "hours", seconds / HOUR),
        _ => text.count("console-days", "days", seconds / DAY),
    }
}

const HOUR: u64 = 60 * 60;
const DAY: u64 = 24 * HOUR;
const DEFAULT_GRACE: u64 = DAY;
/// Seconds that a rolled key stays valid.
const GRACES: [u64; 4] = [DAY, 7 * DAY, HOUR, 0];
