//! Pages of the installation, for operators and auditors.
//!
//! Each file is one page. A page reads through the engine functions of the operator API and changes
//! things through the same functions, so that a page can do nothing that the API cannot do. Roles
//! come from the table in `switchyard_users`. Each change has an entry in the audit log.

mod accounts;
mod audit;
pub mod cases;
pub mod dashboard;
mod gateways;
mod rates;
pub mod resolution;
pub mod resolve;
mod system;
pub mod upload;
mod users;
pub mod view;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::StatusCode;
use axum::routing::get;
use switchyard_users::{AuditResult, Permit};

use super::approvals;
use super::page::{Failed, Page};
use super::refusals;
use super::state::ConsoleState;
use super::text::Text;
use crate::error::ApiError;
use crate::operator::Refused;

/// Links of the navigation: name, path and icon, and whether a phone's bar has no room for it.
pub const LINKS: [(&str, &str, &str, bool); 8] = [
    ("gateways", "installation/gateways", "i-bolt", false),
    ("cases", "installation/cases", "i-warning", false),
    ("approvals", "installation/approvals", "i-paid", true),
    ("accounts", "installation/accounts", "i-apps", false),
    ("rates", "installation/rates", "i-payments", true),
    ("installation-users", "installation/users", "i-person", true),
    ("audit", "installation/audit", "i-search", true),
    ("system", "installation/system", "i-key", true),
];

/// The routes of the installation, and the audit log of an account.
pub fn installation_pages() -> Router<ConsoleState> {
    Router::new()
        .route("/console/installation", get(dashboard::show))
        .route(
            "/console/installation/gateways",
            get(gateways::list).post(gateways::accept),
        )
        .route(
            "/console/installation/gateways/{gateway}",
            get(gateways::get).post(gateways::change),
        )
        .route(
            "/console/installation/gateway-upload",
            get(upload::form)
                .post(upload::inspect)
                // The largest file is a limit of the gateways' host.
                .layer(DefaultBodyLimit::disable()),
        )
        .route(
            "/console/installation/gateway-upload/{sha256}",
            get(upload::get).post(upload::decide),
        )
        .route("/console/installation/cases", get(cases::list))
        .route(
            "/console/installation/cases/{case}",
            get(cases::get).post(cases::close),
        )
        .route("/console/installation/approvals", get(approvals::list))
        .route(
            "/console/installation/approvals/{approval}",
            get(approvals::get).post(approvals::decide),
        )
        .route(
            "/console/installation/transactions/{transaction}/resolve",
            get(resolve::form).post(resolve::post),
        )
        .route(
            "/console/installation/accounts",
            get(accounts::list).post(accounts::create),
        )
        .route(
            "/console/installation/rates",
            get(rates::list).post(rates::decide),
        )
        .route(
            "/console/installation/users",
            get(users::list).post(users::change_invitation),
        )
        .route(
            "/console/installation/users/new",
            get(users::new).post(users::invite),
        )
        .route(
            "/console/installation/users/{user}",
            get(users::get).post(users::change),
        )
        .route("/console/installation/audit", get(audit::of_installation))
        .route("/console/installation/system", get(system::show))
        .route(
            "/console/apps/{app}/{environment}/audit",
            get(audit::of_account),
        )
}

/// Writes the audit entry of a change that the engine refused, and returns the sentence for the
/// reader. An error that is no refusal becomes an error page.
pub async fn refused(
    page: &Page,
    permit: &Permit,
    object: &str,
    why: Refused,
) -> Result<String, Failed> {
    let (result, sentence) = match sentence(&why.0, page.text()) {
        Ok(sentence) => (AuditResult::Refused, Ok(sentence)),
        Err(failed) => (AuditResult::Failed, Err(failed)),
    };
    page.audit(permit.entry(object).with_result(result)).await?;
    sentence
}

/// The sentences of a refusal in the reader's language.
pub fn sentence(error: &ApiError, text: Text) -> Result<String, Failed> {
    match error.status() {
        StatusCode::NOT_FOUND => return Err(Failed::NotFound),
        status if status.is_server_error() => return Err(Failed::Unavailable),
        _ => {}
    }
    let problems = error.problems().iter();
    let sentences = problems.map(|problem| refusals::sentence(problem, text));
    Ok(sentences.collect::<Vec<_>>().join(" "))
}
