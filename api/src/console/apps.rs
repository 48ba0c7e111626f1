//! First page: the apps that the reader may see.

use std::sync::Arc;

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use switchyard_core::environment::Environment;
use switchyard_engine::access::App;

use super::frame::Frame;
use super::home::is_empty;
use super::page::{Page, Scope, SignedIn};

#[derive(Template)]
#[template(path = "console/apps.html")]
struct AppsPage {
    frame: Frame,
    apps: Vec<AppRow>,
}

struct AppRow {
    href: String,
    name: String,
    account: String,
    is_enabled: bool,
    settings: String,
    team: String,
}

/// `GET /console/`
pub async fn get(SignedIn(page): SignedIn) -> Response {
    let Some(who) = page.identity() else {
        return page.to_sign_in();
    };
    if page.is_of_installation() {
        return page.go(&page.link("installation"));
    }
    let access = page.state.engine().access();
    let apps = access.apps(None);
    let visible = apps
        .iter()
        .filter(|app| who.user.role_in(Some(app.account)).is_some());
    let mut rows = Vec::new();
    for app in visible {
        rows.push(row(&page, app, environment(&page, app).await));
    }
    let shown = AppsPage {
        frame: page.frame("console-apps", "apps"),
        apps: rows,
    };
    page.show(StatusCode::OK, &shown)
}

/// The environment that the reader most probably looks for: live once it has a transaction.
async fn environment(page: &Page, app: &Arc<App>) -> Environment {
    let live = Scope {
        app: app.clone(),
        environment: Environment::Live,
    };
    match is_empty(page, &live).await {
        Ok(false) => Environment::Live,
        _ => Environment::Sandbox,
    }
}

fn row(page: &Page, app: &App, environment: Environment) -> AppRow {
    let account = page.state.engine().access().account(app.account);
    AppRow {
        href: page.link(&format!("apps/{}/{environment}/home", app.id)),
        name: app.name.clone(),
        account: account.map_or_else(String::new, |account| account.name.clone()),
        is_enabled: app.is_enabled,
        settings: page.link(&format!("apps/{}/{environment}/settings", app.id)),
        team: page.link(&format!("apps/{}/{environment}/team", app.id)),
    }
}
