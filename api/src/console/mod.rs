//! Console: pages for the users of accounts and of the installation.
//!
//! ```text
//! GET/POST /console/sign-in              password; then …/code or …/set-up; …/forgotten
//! GET  /console/sign-in/openid           to the identity provider, and …/return from it
//! GET/POST /console/link/{token}         invitation, new password
//! GET  /console/                         apps
//! GET  /console/apps/{app}/{environment}/home               numbers, charts, what needs attention
//! GET  /console/apps/{app}/{environment}/payments[/{id}|.csv]  and …/payouts, …/payouts/new,
//!      …/payouts/batches[/{batch}]
//! GET  /console/apps/{app}/{environment}/customers[/{customer}[/export|/erase]]
//! GET  /console/apps/{app}/{environment}/payment-links[/new|/{link}]
//! GET  /console/apps/{app}/{environment}/keys[/new|/{key}]  and …/webhooks[/new|/{webhook}]
//! GET  /console/apps/{app}/{environment}/connections[/new|/{connection}]
//! GET  /console/apps/{app}/{environment}/routing[/edit]
//! GET  /console/apps/{app}/{environment}/approvals[/{approval}]
//! GET  /console/apps/{app}/{environment}/team[/new|/{user}]  and …/settings; POST …/settings/logo
//! GET  /console/installation[/gateways|/cases|/accounts|/rates|/users|/audit|/system]
//! GET/POST /console/confirm              password again, before keys and secrets
//! GET  /console/account                  name, sessions; …/password, …/second-factor, …/tokens
//! ```
//!
//! Promises: every page works without script, as plain forms and links; [`switchyard_users`]
//! decides what a reader may see, and an app of another account does not exist for them; a form is
//! taken from the console's own pages only; personal data is masked for roles that may not see it.
//! Left out: any decision about money, which is the engine's.

mod account;
mod actions;
mod approvals;
mod apps;
mod case_names;
mod confirm;
mod connections;
mod cookies;
mod customers;
mod developers;
mod export;
mod forgotten;
mod form;
mod frame;
mod home;
mod installation;
mod labels;
mod links;
mod list;
mod messages_of;
mod method_names;
mod notices;
mod openid;
mod page;
mod payment_links;
mod payouts;
mod problems;
mod refusals;
mod routing;
mod settings;
mod sign_in;
mod state;
mod team;
#[cfg(test)]
mod tests;
mod text;
mod timeline;
mod transaction;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use axum::routing::{get, post};
use switchyard_core::language::Language;
use tower_http::compression::CompressionLayer;

use self::developers::{deliveries, keys, webhooks};
use self::page::{Failed, Page};
use self::state::ConsoleState;
use crate::pages::messages;
use crate::payout_batches::FILE_BYTES;
use crate::state::{ApiState, CONSOLE_PATH, ConsoleAccess};

/// Path of all pages of the console.
pub const PREFIX: &str = CONSOLE_PATH;
/// Path to which the OpenID Connect provider leads browsers back.
pub const OPENID_RETURN: &str = "/console/sign-in/openid/return";
/// Password of the users that development mode makes, on the machine of a developer.
pub const DEVELOPMENT_PASSWORD: &str = "violet-teapots-locally";
/// Largest form that is read, in bytes.
const FORM_BYTES: usize = 16 * 1_024;

/// Largest form with routing rules, in bytes.
const RULES_BYTES: usize = 256 * 1_024;

/// The routes of the console.
pub fn router(api: ApiState, access: &ConsoleAccess) -> Router {
    messages::warm_up();
    let state = ConsoleState::new(api, access);
    Router::new()
        .route("/console", get(start))
        .route("/console/", get(apps::get))
        .route("/console/sign-in", get(sign_in::get).post(sign_in::post))
        .route("/console/sign-in/code", post(sign_in::post_code))
        .route("/console/sign-in/set-up", post(sign_in::post_set_up))
        .route(
            "/console/sign-in/forgotten",
            get(forgotten::get).post(forgotten::post),
        )
        .merge(openid_pages())
        .route("/console/sign-out", post(sign_in::sign_out))
        .route("/console/link/{token}", get(links::get).post(links::post))
        .route("/console/confirm", get(confirm::get).post(confirm::post))
        .merge(account_pages())
        .merge(transaction_pages())
        .merge(home_pages())
        .merge(customer_pages())
        .merge(link_pages())
        .merge(developer_pages())
        .merge(connection_pages())
        .merge(approval_pages())
        .merge(team_pages())
        .route(
            "/console/apps/{app}/{environment}/settings",
            get(settings::get).post(settings::post),
        )
        .route(
            "/console/apps/{app}/{environment}/settings/logo",
            // The largest file is a limit of logos.
            post(settings::logo::post).layer(DefaultBodyLimit::disable()),
        )
        .merge(installation::installation_pages())
        .route("/console/{*nothing}", get(nowhere))
        .layer(CompressionLayer::new())
        .layer(DefaultBodyLimit::max(FORM_BYTES))
        .layer(from_fn_with_state(state.clone(), choose_language))
        .layer(from_fn_with_state(state.clone(), only_own_forms))
        .with_state(state)
}

fn openid_pages() -> Router<ConsoleState> {
    Router::new()
        .route("/console/sign-in/openid", get(openid::get))
        .route("/console/sign-in/openid/return", get(openid::back))
        .route("/console/confirm/openid", get(openid::get_confirm))
}

fn transaction_pages() -> Router<ConsoleState> {
    Router::new()
        .route(
            "/console/apps/{app}/{environment}/payments",
            get(list::payments),
        )
        .route(
            "/console/apps/{app}/{environment}/payouts",
            get(list::payouts),
        )
        .route(
            "/console/apps/{app}/{environment}/payments/{id}",
            get(transaction::payment).post(actions::payment),
        )
        .route(
            "/console/apps/{app}/{environment}/payouts/new",
            get(payouts::get).post(payouts::post),
        )
        .route(
            "/console/apps/{app}/{environment}/payouts/batches",
            get(payouts::batches::list)
                .post(payouts::batches::upload)
                .layer(
                    // The largest file, and what a form adds to it.
                    DefaultBodyLimit::max(FILE_BYTES + FORM_BYTES),
                ),
        )
        .route(
            "/console/apps/{app}/{environment}/payouts/batches/{batch}",
            get(payouts::batches::get).post(payouts::batches::change),
        )
        .route(
            "/console/apps/{app}/{environment}/payouts/{id}",
            get(transaction::payout).post(actions::payout),
        )
}

fn home_pages() -> Router<ConsoleState> {
    Router::new()
        .route("/console/apps/{app}/{environment}/home", get(home::get))
        .route(
            "/console/apps/{app}/{environment}/payments.csv",
            get(export::payments),
        )
        .route(
            "/console/apps/{app}/{environment}/payouts.csv",
            get(export::payouts),
        )
}

fn customer_pages() -> Router<ConsoleState> {
    Router::new()
        .route(
            "/console/apps/{app}/{environment}/customers",
            get(customers::list),
        )
        .route(
            "/console/apps/{app}/{environment}/customers/{customer}",
            get(customers::get),
        )
        .route(
            "/console/apps/{app}/{environment}/customers/{customer}/export",
            get(customers::export),
        )
        .route(
            "/console/apps/{app}/{environment}/customers/{customer}/erase",
            get(customers::get_erase).post(customers::erase),
        )
}

fn link_pages() -> Router<ConsoleState> {
    Router::new()
        .route(
            "/console/apps/{app}/{environment}/payment-links",
            get(payment_links::list),
        )
        .route(
            "/console/apps/{app}/{environment}/payment-links/new",
            get(payment_links::new::get).post(payment_links::new::post),
        )
        .route(
            "/console/apps/{app}/{environment}/payment-links/{link}",
            get(payment_links::get).post(payment_links::change),
        )
}

fn developer_pages() -> Router<ConsoleState> {
    Router::new()
        .route("/console/apps/{app}/{environment}/keys", get(keys::list))
        .route(
            "/console/apps/{app}/{environment}/keys/new",
            get(keys::new).post(keys::create),
        )
        .route(
            "/console/apps/{app}/{environment}/keys/{key}",
            get(keys::get).post(keys::change),
        )
        .route(
            "/console/apps/{app}/{environment}/webhooks",
            get(webhooks::list),
        )
        .route(
            "/console/apps/{app}/{environment}/webhooks/new",
            get(webhooks::new).post(webhooks::create),
        )
        .route(
            "/console/apps/{app}/{environment}/webhooks/{webhook}",
            get(webhooks::get).post(webhooks::change),
        )
        .route(
            "/console/apps/{app}/{environment}/webhooks/{webhook}/deliveries/{delivery}",
            get(deliveries::get).post(deliveries::resend),
        )
}

fn connection_pages() -> Router<ConsoleState> {
    Router::new()
        .route(
            "/console/apps/{app}/{environment}/connections",
            get(connections::list),
        )
        .route(
            "/console/apps/{app}/{environment}/connections/new",
            get(connections::new).post(connections::create),
        )
        .route(
            "/console/apps/{app}/{environment}/connections/{connection}",
            get(connections::get).post(connections::change),
        )
        .route(
            "/console/apps/{app}/{environment}/routing",
            get(routing::show),
        )
        .route(
            "/console/apps/{app}/{environment}/routing/edit",
            get(routing::edit)
                .post(routing::post)
                .layer(DefaultBodyLimit::max(RULES_BYTES)),
        )
}

fn approval_pages() -> Router<ConsoleState> {
    Router::new()
        .route(
            "/console/apps/{app}/{environment}/approvals",
            get(approvals::list_of_app),
        )
        .route(
            "/console/apps/{app}/{environment}/approvals/{approval}",
            get(approvals::get_of_app).post(approvals::decide_of_app),
        )
}

fn account_pages() -> Router<ConsoleState> {
    Router::new()
        .route("/console/account", get(account::get).post(account::save))
        .route("/console/account/sessions", post(account::end_sessions))
        .route(
            "/console/account/password",
            get(account::password::get).post(account::password::post),
        )
        .route(
            "/console/account/second-factor",
            get(account::second_factor::get).post(account::second_factor::post),
        )
        .route(
            "/console/account/tokens",
            get(account::tokens::list).post(account::tokens::delete),
        )
        .route(
            "/console/account/tokens/new",
            get(account::tokens::new).post(account::tokens::create),
        )
}

fn team_pages() -> Router<ConsoleState> {
    Router::new()
        .route(
            "/console/apps/{app}/{environment}/team",
            get(team::list).post(team::change_invitation),
        )
        .route(
            "/console/apps/{app}/{environment}/team/new",
            get(team::new).post(team::invite),
        )
        .route(
            "/console/apps/{app}/{environment}/team/{user}",
            get(team::get).post(team::change),
        )
}

async fn start(page: Page) -> Response {
    page.go(&page.link(""))
}

async fn nowhere(page: Page) -> Response {
    page.failed(Failed::NotFound)
}

/// Leads a form that another site sent to the sign-in, and does nothing else with it. Browsers name
/// the site of a form in `Sec-Fetch-Site`, older ones only in `Origin`.
async fn only_own_forms(
    State(state): State<ConsoleState>,
    request: Request,
    next: Next,
) -> Response {
    if request.method() != Method::POST || !is_foreign(request.headers()) {
        return next.run(request).await;
    }
    let page = of_request(&state, &request);
    page.go(&page.link("sign-in?notice=foreign"))
}

/// Whether the page of another site sent a request.
fn is_foreign(headers: &HeaderMap) -> bool {
    let header = |name: &str| {
        let value = headers.get(name);
        value
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    };
    match (header("sec-fetch-site"), header("origin")) {
        ("", "") | ("same-origin" | "none", _) => false,
        ("", origin) => {
            let origin = url::Url::parse(origin).ok();
            origin.is_none_or(|origin| origin.authority() != header("host"))
        }
        _ => true,
    }
}

/// Keeps the language of `?lang=` in a cookie, and leads to the same address without it.
async fn choose_language(
    State(state): State<ConsoleState>,
    request: Request,
    next: Next,
) -> Response {
    let query = request.uri().query().unwrap_or_default();
    let pairs = || url::form_urlencoded::parse(query.as_bytes());
    let chosen = pairs().find(|(name, _)| name == "lang");
    let chosen = chosen.and_then(|(_, tag)| Language::of(&tag));
    let (Some(language), &Method::GET) = (chosen, request.method()) else {
        return next.run(request).await;
    };
    let mut rest = url::form_urlencoded::Serializer::new(String::new());
    rest.extend_pairs(pairs().filter(|(name, _)| name != "lang"));
    let page = of_request(&state, &request);
    let path = page.address().split('?').next().unwrap_or_default();
    let to = match rest.finish() {
        rest if rest.is_empty() => path.to_owned(),
        rest => format!("{path}?{rest}"),
    };
    let cookie = cookies::keep_language(language, state.is_https());
    sign_in::with_cookie(page.go(&to), &cookie)
}

fn of_request(state: &ConsoleState, request: &Request) -> Page {
    Page::new(
        state,
        request.uri(),
        request.headers(),
        request.extensions(),
        None,
    )
}

/// Response of a handler, or an error page.
fn answer(page: &Page, result: Result<Response, Failed>) -> Response {
    result.unwrap_or_else(|failed| page.failed(failed))
}

/// Shows a page with status 200.
fn shown(page: &Page, template: &impl askama::Template) -> Response {
    page.show(StatusCode::OK, template)
}
