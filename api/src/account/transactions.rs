//! Payments and payouts: list, export, search, one with its timeline, query of the provider,
//! cancellation.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use serde_json::Value;
use switchyard_core::ids::TransactionId;
use switchyard_core::transaction::{self, Transaction as Stored};
use switchyard_engine::engine::EngineError;
use switchyard_records::{SearchQuery, SearchText};
use switchyard_users::{Action, AuditResult};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::contract::transactions::{ExportFilter, SearchFilter, TransactionFilter};
use super::place::{InScope, author};
use crate::envelope;
use crate::export::{self, Column};
use crate::openapi::Success;
use crate::operations::note_transaction;
use crate::operator::contract::search::FoundTransactions;
use crate::operator::contract::transactions::{
    Cancel, QueryReport, Transaction, TransactionSelection, TransactionSummary,
};
use crate::operator::error::{Answer, Refused, invalid, not_found};
use crate::operator::input::{Body, QueryParams, ok};
use crate::operator::openapi::SuccessTransactions;
use crate::operator::{self, manual_resolution};
use crate::privacy;
use crate::state::ApiState;

pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(export_transactions))
        .routes(routes!(search))
        .routes(routes!(show))
        .routes(routes!(check))
        .routes(routes!(cancel))
}

/// List transactions
///
/// Newest first. Without the action `view_personal_data` addresses of customers are masked. Action:
/// `view_payments`.
#[utoipa::path(
    get,
    path = "/apps/{app}/{environment}/transactions",
    operation_id = "listTransactions",
    tag = "Transactions",
    params(TransactionFilter),
    responses((status = 200, description = "A page of transactions.", body = SuccessTransactions)),
)]
async fn list(
    State(state): State<ApiState>,
    scope: InScope,
    QueryParams(filter): QueryParams<TransactionFilter>,
) -> Answer {
    scope.place.permit(Action::ViewPayments)?;
    let selection = TransactionSelection {
        environment: Some(scope.environment),
        kind: filter.kind,
        status: filter.status,
        from_date: filter.from_date,
        to_date: filter.to_date,
    };
    let page = (filter.limit, filter.page);
    let (mut views, page) =
        operator::transactions::page(&state, scope.app.id, &selection, page).await?;
    if !scope.place.may(Action::ViewPersonalData) {
        views.iter_mut().for_each(privacy::mask_summary);
    }
    Ok(envelope::page(
        "Transactions fetched successfully",
        &views,
        page,
    ))
}

/// Export transactions
///
/// CSV (RFC 4180) with a line of names, newest first, streamed: the file may have any number of
/// rows. Amounts are decimal texts beside their currencies, times are in UTC. A text that a
/// spreadsheet would read as a formula has an apostrophe before it. A stream that ends with an
/// error is incomplete. Columns with personal data need the action `view_personal_data`. Each
/// export has an entry in the audit log. Action: `export_data`.
#[utoipa::path(
    get,
    path = "/apps/{app}/{environment}/transactions.csv",
    operation_id = "exportTransactions",
    tag = "Transactions",
    params(ExportFilter),
    responses((
        status = 200,
        description = "The file.",
        content_type = "text/csv",
        body = String,
    )),
)]
async fn export_transactions(
    State(state): State<ApiState>,
    scope: InScope,
    QueryParams(filter): QueryParams<ExportFilter>,
) -> Result<Response, Refused> {
    let permit = scope.place.permit(Action::ExportData)?;
    let columns = columns(&scope, filter.columns.as_deref())?;
    let selection = TransactionSelection {
        environment: Some(scope.environment),
        kind: filter.kind,
        status: filter.status,
        from_date: filter.from_date,
        to_date: filter.to_date,
    };
    let list = operator::transactions::selected(&state, scope.app.id, &selection).await?;
    let exported = operator::export::selection(list, filter.text)?;
    let asked = [&selection.status, &selection.from_date, &selection.to_date];
    let facts = export::facts(&exported, asked.map(Option::as_deref), &columns);
    let entry = permit.entry(scope.app.id).changing(Value::Null, facts);
    scope.place.audit(entry).await?;
    Ok(export::response(state.engine(), exported, columns))
}

/// The columns with these names; without names all that the sender may see.
fn columns(scope: &InScope, names: Option<&str>) -> Result<Vec<Column>, Refused> {
    let chosen = operator::export::columns(names)?;
    if chosen.iter().flatten().any(|column| column.is_personal()) {
        scope.place.permit(Action::ViewPersonalData)?;
    }
    let may_see = scope.place.may(Action::ViewPersonalData);
    let all = Column::ALL.into_iter();
    let visible = all.filter(|column| may_see || !column.is_personal());
    Ok(chosen.unwrap_or_else(|| visible.collect()))
}

/// Search transactions
///
/// Payments and payouts that the text names, newest first. `more` is the start of the next page:
/// `?before=`. Action: `view_payments`.
#[utoipa::path(
    get,
    path = "/apps/{app}/{environment}/search",
    operation_id = "searchTransactions",
    tag = "Transactions",
    params(SearchFilter),
    responses((status = 200, description = "A page of matches.", body = Success<FoundTransactions>)),
)]
async fn search(
    State(state): State<ApiState>,
    scope: InScope,
    QueryParams(filter): QueryParams<SearchFilter>,
) -> Answer {
    scope.place.permit(Action::ViewPayments)?;
    let text = SearchText::parse(&filter.text);
    let query = SearchQuery {
        app: scope.app.id,
        environment: scope.environment,
        kind: operator::transactions::kind_of(filter.kind.as_deref())?,
        text: text.map_err(|error| invalid("text", error.to_string()))?,
        before: filter.before,
        limit: filter.limit.unwrap_or(PER_PAGE).clamp(1, MOST),
    };
    let found = state.engine().search(&query).await?;
    let views = found.items.iter();
    let mut page = FoundTransactions {
        transactions: views.map(|tx| TransactionSummary::from(&**tx)).collect(),
        more: found.more,
        environment: scope.environment,
    };
    if !scope.place.may(Action::ViewPersonalData) {
        page.transactions.iter_mut().for_each(privacy::mask_summary);
    }
    ok("Transactions fetched successfully", &page)
}

/// Retrieve a transaction
///
/// With its attempts and its timeline: steps, calls to providers and callbacks, without secrets.
/// Without the action `view_personal_data` names, addresses and numbers are masked, and requests
/// and callbacks have no bodies. Without `view_routing` the reasons for the choice of connections
/// are left out. Action: `view_payments`.
#[utoipa::path(
    get,
    path = "/apps/{app}/{environment}/transactions/{transaction}",
    operation_id = "retrieveTransaction",
    tag = "Transactions",
    responses((status = 200, description = "The transaction.", body = Success<Transaction>)),
)]
async fn show(State(state): State<ApiState>, scope: InScope) -> Answer {
    scope.place.permit(Action::ViewPayments)?;
    let id = one_of_scope(&state, &scope).await?.id;
    let view = full_view(&state, &scope, id).await?;
    ok("Transaction fetched successfully", &view)
}

/// Query the provider about the open attempt now
///
/// `asked` and `answered` beside the transaction hold the result. Action: `query_provider`.
#[utoipa::path(
    post,
    path = "/apps/{app}/{environment}/transactions/{transaction}/check",
    operation_id = "checkTransaction",
    tag = "Transactions",
    responses((status = 200, description = "The transaction.", body = Success<QueryReport>)),
)]
async fn check(State(state): State<ApiState>, scope: InScope) -> Answer {
    let permit = scope.place.permit(Action::QueryProvider)?;
    let id = one_of_scope(&state, &scope).await?.id;
    let checked = state.engine().check(id, author(&permit)).await;
    let entry = permit.entry(id).with_result(result_of(&checked));
    scope.place.audit(entry).await?;
    let checked = checked?;
    let view = QueryReport {
        transaction: full_view(&state, &scope, id).await?,
        asked: checked.asked,
        answered: checked.answered,
    };
    ok(manual_resolution::queried(&checked), &view)
}

/// Cancel a transaction
///
/// A payout that was not sent yet fails instead. An attempt at a provider is cancelled there, where
/// the gateway supports it, and ends with the response of the provider. Action:
/// `cancel_transaction`.
#[utoipa::path(
    post,
    path = "/apps/{app}/{environment}/transactions/{transaction}/cancel",
    operation_id = "cancelTransaction",
    tag = "Transactions",
    request_body = Cancel,
    responses((status = 200, description = "The transaction.", body = Success<Transaction>)),
)]
async fn cancel(
    State(state): State<ApiState>,
    scope: InScope,
    Body(asked): Body<Cancel>,
) -> Answer {
    let permit = scope.place.permit(Action::CancelTransaction)?;
    let id = one_of_scope(&state, &scope).await?.id;
    let note = asked.note.map(manual_resolution::note).transpose()?;
    let engine = state.engine();
    let after = engine.cancel_by_hand(id, author(&permit), note).await;
    let entry = permit.entry(id).with_result(result_of(&after));
    scope.place.audit(entry).await?;
    let after = after?;
    let view = full_view(&state, &scope, id).await?;
    ok(manual_resolution::cancelled(&after), &view)
}

/// The transaction of the path, if it is one of the app and environment.
async fn one_of_scope(state: &ApiState, scope: &InScope) -> Result<Arc<Stored>, Refused> {
    let id: TransactionId = scope.place.sender.id("transaction")?;
    note_transaction(id);
    let found = state.engine().transaction(id).await?;
    let own = |tx: &Arc<transaction::Transaction>| {
        tx.app == scope.app.id && tx.environment == scope.environment
    };
    let found = found.filter(own);
    found.ok_or_else(|| not_found("transaction").into())
}

async fn full_view(
    state: &ApiState,
    scope: &InScope,
    id: TransactionId,
) -> Result<Transaction, Refused> {
    let mut view = operator::full_view(state, id).await?;
    if !scope.place.may(Action::ViewPersonalData) {
        privacy::mask(&mut view);
    }
    if !scope.place.may(Action::ViewRouting) {
        privacy::hide_routing(&mut view);
    }
    Ok(view)
}

/// Result of an action for the audit log.
const fn result_of<T>(done: &Result<T, EngineError>) -> AuditResult {
    match done {
        Ok(_) => AuditResult::Succeeded,
        Err(EngineError::Refused(_)) => AuditResult::Refused,
        Err(_) => AuditResult::Failed,
    }
}

const PER_PAGE: usize = 20;
const MOST: usize = 100;
