//! Audit log of an account.

use switchyard_users::{Action, AuditQuery};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::contract::audit::{AuditEntries, AuditEntry, AuditFilter};
use super::place::InAccount;
use crate::openapi::Success;
use crate::operator::error::Answer;
use crate::operator::input::{QueryParams, end, moment, ok};
use crate::state::ApiState;

pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(list))
}

/// List entries of the audit log
///
/// Newest first. Action: `view_audit`.
#[utoipa::path(
    get,
    path = "/accounts/{account}/audit",
    operation_id = "listAuditEntries",
    tag = "Audit",
    params(AuditFilter),
    responses((status = 200, description = "A page of entries.", body = Success<AuditEntries>)),
)]
async fn list(place: InAccount, QueryParams(filter): QueryParams<AuditFilter>) -> Answer {
    place.permit(Action::ViewAudit)?;
    let query = AuditQuery {
        account: Some(place.account),
        user: filter.user,
        action: filter.action,
        since: moment("from", filter.from.as_deref())?,
        until: end("to", filter.to.as_deref())?,
        before: filter.before,
        limit: filter.limit.unwrap_or(PER_PAGE),
    };
    let users = place.users();
    let found = users.audit(&query).await?;
    let entries = found.entries.into_iter();
    let page = AuditEntries {
        entries: entries.map(|one| AuditEntry::new(users, one)).collect(),
        unreadable: found.unreadable,
        more: found.next,
    };
    ok("Entries fetched successfully", &page)
}

const PER_PAGE: usize = 50;
