//! Transactions: an app's list, and one with everything that is known of it.

use axum::extract::State;
use switchyard_core::environment::Environment;
use switchyard_core::ids::{AppId, TransactionId};
use switchyard_core::transaction::{Kind, Status};
use switchyard_engine::engine::EngineError;
use switchyard_gateway_host::provider_calls;
use switchyard_records::ListQuery;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::contract::callbacks::Callback;
use super::contract::timeline::TimelineEntry;
use super::contract::transactions::{
    Transaction, TransactionFilter, TransactionPage, TransactionSelection, TransactionSummary,
};
use super::error::{Answer, Refused, invalid, not_found};
use super::input::{Id, QueryParams, end, moment, ok};
use super::openapi::SuccessTransactions;
use crate::envelope::{self, Page};
use crate::openapi::Success;
use crate::operations::note_transaction;
use crate::state::ApiState;

pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(show))
}

/// List the transactions of an app
///
/// Newest first.
#[utoipa::path(
    get,
    path = "/apps/{app}/transactions",
    operation_id = "listTransactions",
    tag = "Transactions",
    params(TransactionSelection, TransactionFilter),
    responses((status = 200, description = "A page of transactions.", body = SuccessTransactions)),
)]
async fn list(
    State(state): State<ApiState>,
    Id(app): Id<AppId>,
    QueryParams(filter): QueryParams<TransactionFilter>,
) -> Answer {
    must_exist(&state, app)?;
    let place = (filter.limit, filter.page);
    let (views, page) = page(&state, app, &filter.selection, place).await?;
    Ok(envelope::page(
        "Transactions fetched successfully",
        &views,
        page,
    ))
}

/// A page of the selected transactions. `limit` and `page`: its size, and its number from 1.
pub async fn page(
    state: &ApiState,
    app: AppId,
    selection: &TransactionSelection,
    (limit, page): (Option<usize>, Option<usize>),
) -> Result<(Vec<TransactionSummary>, TransactionPage), Refused> {
    let query = ListQuery {
        limit: limit.unwrap_or(PER_PAGE).clamp(1, 100),
        page: page.unwrap_or(1).max(1),
        ..selected(state, app, selection).await?
    };
    let environment = query.environment;
    let listing = state.engine().list(&query).await?;
    let views: Vec<_> = listing
        .items
        .iter()
        .map(|transaction| TransactionSummary::from(&**transaction))
        .collect();
    let page = Page::new(
        listing.total,
        query.limit as u64,
        query.page as u64,
        views.len() as u64,
    );
    Ok((views, TransactionPage { page, environment }))
}

/// Query for the first page of the selected transactions.
pub async fn selected(
    state: &ApiState,
    app: AppId,
    selection: &TransactionSelection,
) -> Result<ListQuery, Refused> {
    let kind = kind_of(selection.kind.as_deref())?.unwrap_or(Kind::Payment);
    let status = status_of(selection.status.as_deref())?;
    let from = moment("from_date", selection.from_date.as_deref())?;
    let to = end("to_date", selection.to_date.as_deref())?;
    let environment = match selection.environment {
        Some(environment) => environment,
        None => in_use(state, app).await?,
    };
    Ok(ListQuery {
        app,
        environment,
        kind,
        status,
        from,
        to,
        limit: PER_PAGE,
        page: 1,
    })
}

/// Refuses an app that does not exist.
pub(super) fn must_exist(state: &ApiState, app: AppId) -> Result<(), Refused> {
    let found = state.engine().access().app(app);
    found.map(drop).ok_or_else(|| not_found("app").into())
}

/// The kind that a filter names. `None`: it names none.
pub fn kind_of(text: Option<&str>) -> Result<Option<Kind>, Refused> {
    match text {
        None => Ok(None),
        Some("payment") => Ok(Some(Kind::Payment)),
        Some("payout") => Ok(Some(Kind::Payout)),
        Some(_) => Err(invalid("kind", "kind is `payment` or `payout`").into()),
    }
}

/// The status that a filter names. `None`: it names none.
pub(super) fn status_of(text: Option<&str>) -> Result<Option<Status>, Refused> {
    let Some(text) = text else {
        return Ok(None);
    };
    let message = "status is initiated, pending, success, failed or cancelled";
    let status = Status::parse(text).ok_or_else(|| invalid("status", message));
    Ok(Some(status?))
}

/// The environment that an app works in: live once it has a live payment or payout, before that
/// sandbox.
pub(super) async fn in_use(state: &ApiState, app: AppId) -> Result<Environment, Refused> {
    for kind in Kind::ALL {
        let query = ListQuery {
            app,
            environment: Environment::Live,
            kind,
            status: None,
            from: None,
            to: None,
            limit: 1,
            page: 1,
        };
        if state.engine().list(&query).await?.total > 0 {
            return Ok(Environment::Live);
        }
    }
    Ok(Environment::Sandbox)
}

/// Retrieve a transaction
///
/// With its attempts, cases and timeline. The timeline has the calls to providers; `note` of a
/// callback and `meaning` of a call explain the consequence for the attempt.
#[utoipa::path(
    get,
    path = "/transactions/{transaction}",
    operation_id = "retrieveTransaction",
    tag = "Transactions",
    responses((status = 200, description = "The transaction.", body = Success<Transaction>)),
)]
async fn show(State(state): State<ApiState>, Id(id): Id<TransactionId>) -> Answer {
    note_transaction(id);
    ok(
        "Transaction fetched successfully",
        &full_view(&state, id).await?,
    )
}

/// Returns a transaction with its timeline.
pub async fn full_view(state: &ApiState, id: TransactionId) -> Result<Transaction, Refused> {
    let transaction = state
        .engine()
        .transaction(id)
        .await?
        .ok_or_else(|| not_found("transaction"))?;
    let recorded = state.engine().timeline(id).await?.into_iter();
    let mut entries: Vec<_> = recorded.map(TimelineEntry::from).collect();
    for attempt in &transaction.attempts {
        let calls = provider_calls(state.engine().store(), id, attempt.id)
            .await
            .map_err(EngineError::from)?;
        let calls = calls.into_iter();
        entries.extend(calls.map(|call| TimelineEntry::exchange(attempt.id, call)));
    }
    for callback in state.engine().callbacks_about(id).await? {
        entries.push(TimelineEntry::callback(Callback::from(&callback)));
    }
    // The sort is stable: entries of one time keep their order.
    entries.sort_by_key(TimelineEntry::at);
    Ok(Transaction::new(&transaction, entries))
}

const PER_PAGE: usize = 20;

#[cfg(test)]
mod tests {
    use switchyard_core::transaction::{self, AttemptState, CaseReason, State as Stage};

    use super::*;
    use crate::checkout::tests::samples::twice_tried;

    #[test]
    fn a_transaction_names_the_gateway_that_has_its_money() {
        let late = AttemptState::Declined;
        let mut held = twice_tried(late, CaseReason::MoneyAfterTheEnd);
        held.state = Stage::OnHold;
        let mut paid = twice_tried(AttemptState::Succeeded, CaseReason::LateSuccess);
        paid.state = Stage::Succeeded;
        for transaction in [held, paid] {
            let facts = TransactionSummary::from(&transaction).facts;
            let named = (facts.gateway.as_deref(), facts.method.as_deref());
            assert_eq!(named, (Some("first"), Some("moov_bj")));
        }
    }

    #[test]
    fn a_transaction_shows_nothing_of_the_state_that_its_gateway_keeps() {
        let mut transaction = twice_tried(AttemptState::Declined, CaseReason::LateSuccess);
        transaction.attempts[0].gateway_state = serde_json::json!({ "token": "hunter2" });
        let attempt = Box::new(transaction.attempts[0].clone());
        let started = transaction::Event::AttemptStarted { attempt };
        let entry = TimelineEntry::from(transaction::Recorded {
            version: 2,
            at: transaction.created_at,
            event: started,
        });
        let view = Transaction::new(&transaction, vec![entry]);
        let text = serde_json::to_string(&view).unwrap();
        assert!(text.contains("attempt_started"), "{text}");
        assert!(
            !text.contains("hunter2") && !text.contains("gateway_state"),
            "{text}"
        );
        let read: Transaction = serde_json::from_str(&text).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), text);
    }
}
