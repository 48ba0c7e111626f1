//! Connections of an app: list, creation from the form of a gateway, settings, new credentials,
//! deletion.
//!
//! Credentials are sent in and never shown. They are checked with the provider before they are
//! stored, by the functions of the operator API.

mod draft;
mod new;
mod one;

use std::sync::Arc;

use axum::response::Response;
use serde_json::Value;
use switchyard_core::ids::ConnectionId;
use switchyard_core::transaction::Kind;
use switchyard_engine::access::Connection;
use switchyard_users::Action;

pub use self::new::{create, new};
pub use self::one::{change, get};
use super::answer;
use super::installation::view::{Row, Section, Table, Target, View};
use super::labels::method_name;
use super::page::{Failed, Page, Scope, Scoped};
use crate::operator::contract::connections::ConfigCheck;

/// `GET /console/apps/{app}/{environment}/connections`
pub async fn list(Scoped(page): Scoped) -> Response {
    let list = list_view(&page);
    answer(&page, list.map(|view| view.show(&page)))
}

fn list_view(page: &Page) -> Result<View, Failed> {
    page.permit(Action::ViewConnections)?;
    let scope = page.scope().ok_or(Failed::NotFound)?;
    let access = page.state.engine().access();
    let connections = access.connections(scope.app.id, scope.environment);
    let rows = connections.iter().map(|one| row(page, one)).collect();
    let columns = [
        "console-connection",
        "console-gateway",
        "console-state",
        "console-methods",
        "console-created",
    ];
    let mut view = View::new(page, "console-connections", "connections");
    view.lead = Some(page.text().say("console-connections-text"));
    if page.may(Action::ManageConnections) {
        view.links
            .push(in_scope(page, "connections/new", "console-connection-new"));
    }
    view.sections = vec![Section {
        table: Some(Table::new(
            page,
            &columns,
            rows,
            "console-connections-empty",
        )),
        ..Section::default()
    }];
    Ok(view)
}

fn row(page: &Page, one: &Connection) -> Row {
    let text = page.text();
    Row::linked(
        page.in_scope(&format!("connections/{}", one.id)),
        vec![
            one.account_name.clone(),
            gateway_title(page, &one.gateway),
            text.say(state(one)),
            methods(page, one),
            text.language().date(one.created_at),
        ],
    )
}

/// Link to a page about the same app and environment. `name` is the name of a message.
fn in_scope(page: &Page, path: &str, name: &str) -> Target {
    Target {
        href: page.in_scope(path),
        name: page.text().say(name),
    }
}

const fn state(connection: &Connection) -> &'static str {
    match connection.is_enabled {
        true => "console-connection-on",
        false => "console-connection-off",
    }
}

/// Title of the gateway's current version, or its name.
fn gateway_title(page: &Page, name: &str) -> String {
    let current = page.state.engine().gateways().current(name);
    current.map_or_else(|| name.to_owned(), |version| version.manifest.title.clone())
}

/// Names of the methods that a connection may serve.
fn methods(page: &Page, connection: &Connection) -> String {
    let Some(codes) = &connection.methods else {
        return page.text().say("console-connection-all-methods");
    };
    let names = codes.iter().map(|code| named(page, code));
    names.collect::<Vec<_>>().join(", ")
}

/// Name of a method of either kind.
pub fn named(page: &Page, code: &str) -> String {
    let directory = page.state.engine().directory();
    let kind = match directory.method(Kind::Payment, code) {
        Some(_) => Kind::Payment,
        None => Kind::Payout,
    };
    let name = method_name(directory, kind, code, page.text());
    match name == code {
        true => name,
        false => format!("{name} ({code})"),
    }
}

/// The connection, if it belongs to the page's app and environment.
fn one_of_scope(page: &Page, id: &str) -> Result<Arc<Connection>, Failed> {
    let scope: &Scope = page.scope().ok_or(Failed::NotFound)?;
    let id: ConnectionId = id.parse().map_err(|_| Failed::NotFound)?;
    let found = page.state.engine().access().connection(id);
    found
        .filter(|one| one.app == scope.app.id && one.environment == scope.environment)
        .ok_or(Failed::NotFound)
}

/// Result of the check of credentials, as a sentence.
fn check_result(page: &Page, check: &ConfigCheck, is_enabled: bool) -> String {
    let text = page.text();
    match (check, is_enabled) {
        (ConfigCheck::Works { account: None, .. }, _) => text.say("console-check-works"),
        (ConfigCheck::Works { account, .. }, _) => {
            let account = account.as_deref().unwrap_or_default();
            text.with("console-check-works-account", &[("account", account)])
        }
        (ConfigCheck::NotChecked { why, .. }, true) => {
            text.with("console-check-untested", &[("why", why)])
        }
        (ConfigCheck::NotChecked { why, .. }, false) => {
            text.with("console-check-not-made", &[("why", why)])
        }
    }
}

/// Facts of a connection for the audit log, without its credentials.
fn facts(connection: &Connection, has_new_credentials: bool) -> Value {
    serde_json::json!({
        "gateway": connection.gateway,
        "account_name": connection.account_name,
        "methods": connection.methods,
        "enabled": connection.is_enabled,
        "new_credentials": has_new_credentials,
    })
}
