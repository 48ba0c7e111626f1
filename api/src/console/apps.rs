//! First page: the apps that the reader may see.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use switchyard_core::environment::Environment;
use switchyard_engine::access::App;

use super::frame::Frame;
use super::page::{Page, SignedIn};

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
    team: String,
}

/// `GET /console/`
pub async fn get(SignedIn(page): SignedIn) -> Response {
    let Some(who) = page.identity() else {
        return page.to_sign_in();
    };
    let access = page.state.engine().access();
    let apps = access.apps(None);
    let visible = apps
        .iter()
        .filter(|app| who.user.role_in(Some(app.account)).is_some());
    let shown = AppsPage {
        frame: page.frame("console-apps", "apps"),
        apps: visible.map(|app| row(&page, app)).collect(),
    };
    page.show(StatusCode::OK, &shown)
}

fn row(page: &Page, app: &App) -> AppRow {
    let account = page.state.engine().access().account(app.account);
    let live = Environment::Live;
    AppRow {
        href: page.link(&format!("apps/{}/{live}/payments", app.id)),
        name: app.name.clone(),
        account: account.map_or_else(String::new, |account| account.name.clone()),
        is_enabled: app.is_enabled,
        team: page.link(&format!("apps/{}/{live}/team", app.id)),
    }
}
