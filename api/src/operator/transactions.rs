//! Transactions: an app's list, and one with all that happened to it.

use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use switchyard_engine::engine::EngineError;
use switchyard_engine::environment::Environment;
use switchyard_engine::gateway::exchanges;
use switchyard_engine::ids::{AppId, TransactionId};
use switchyard_engine::money::Amount;
use switchyard_engine::records::{Kind, ListQuery};
use switchyard_engine::transaction::{Case, CaseReason, Status, Transaction};

use super::callbacks;
use super::error::{Answer, Refused, invalid, not_found};
use super::input::{Asked, Id, end, moment, ok};
use super::view::{iso, shown};
use crate::envelope::{self, Page};
use crate::merchant::render::attempt::Failure;
use crate::operations::note_transaction;
use crate::state::ApiState;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Filter {
    /// Without it: live for an app with live transactions, otherwise sandbox.
    environment: Option<Environment>,
    /// `payment` or `payout`.
    kind: Option<String>,
    status: Option<String>,
    from_date: Option<String>,
    to_date: Option<String>,
    limit: Option<usize>,
    page: Option<usize>,
}

pub async fn list(
    State(state): State<ApiState>,
    Id(app): Id<AppId>,
    Asked(filter): Asked<Filter>,
) -> Answer {
    state
        .engine
        .access
        .app(app)
        .ok_or_else(|| not_found("app"))?;
    let kind = match filter.kind.as_deref() {
        None | Some("payment") => Kind::Payment,
        Some("payout") => Kind::Payout,
        Some(_) => return Err(invalid("kind", "kind is `payment` or `payout`").into()),
    };
    let status = filter.status.as_deref().map(|text| {
        Status::parse(text).ok_or_else(|| {
            invalid(
                "status",
                "status is initiated, pending, success, failed or cancelled",
            )
        })
    });
    let environment = match filter.environment {
        Some(environment) => environment,
        None => in_use(&state, app).await?,
    };
    let query = ListQuery {
        app,
        environment,
        kind,
        status: status.transpose()?,
        from: moment("from_date", filter.from_date.as_deref())?,
        to: end("to_date", filter.to_date.as_deref())?,
        limit: filter.limit.unwrap_or(PER_PAGE).clamp(1, 100),
        page: filter.page.unwrap_or(1).max(1),
    };
    let listing = state.engine.list(&query).await?;
    let views: Vec<Value> = listing
        .items
        .iter()
        .map(|transaction| summary(transaction))
        .collect();
    let page = Page::new(
        listing.total,
        query.limit as u64,
        query.page as u64,
        views.len() as u64,
    );
    let page = PageOf { page, environment };
    Ok(envelope::page(
        "Transactions fetched successfully",
        &views,
        page,
    ))
}

/// A page of a list that tells its environment.
#[derive(Serialize)]
struct PageOf {
    #[serde(flatten)]
    page: Page,
    environment: Environment,
}

/// The environment that an app works in: live once it has a live payment or payout, before that
/// sandbox.
async fn in_use(state: &ApiState, app: AppId) -> Result<Environment, Refused> {
    for kind in [Kind::Payment, Kind::Payout] {
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
        if state.engine.list(&query).await?.total > 0 {
            return Ok(Environment::Live);
        }
    }
    Ok(Environment::Sandbox)
}

pub async fn show(State(state): State<ApiState>, Id(id): Id<TransactionId>) -> Answer {
    note_transaction(id);
    ok("Transaction fetched successfully", &told(&state, id).await?)
}

/// A transaction with all that happened to it.
pub async fn told(state: &ApiState, id: TransactionId) -> Result<Value, Refused> {
    let transaction = state
        .engine
        .transaction(id)
        .await?
        .ok_or_else(|| not_found("transaction"))?;
    let mut steps: Vec<Value> = state.engine.timeline(id).await?.iter().map(shown).collect();
    for attempt in &transaction.attempts {
        let exchanges = exchanges(&state.engine.store, id, attempt.id)
            .await
            .map_err(EngineError::from)?;
        steps.extend(exchanges.iter().map(|exchange| {
            let mut step = json!({ "attempt": attempt.id, "exchange": shown(exchange) });
            step["at"] = step["exchange"]["at"].take();
            step
        }));
    }
    for callback in state.engine.callbacks_about(id).await? {
        let mut step =
            json!({ "attempt": callback.attempt, "callback": callbacks::view(&callback) });
        step["at"] = step["callback"]["received_at"].clone();
        steps.push(step);
    }
    // Times are texts of one length, so they sort as texts; what happened at one moment keeps its order.
    steps.sort_by(|one, other| one["at"].as_str().cmp(&other["at"].as_str()));
    Ok(whole(&transaction, steps))
}

/// 201 with a transaction that was just made.
pub fn made(message: &str, transaction: &Transaction) -> Answer {
    Ok(envelope::success(
        StatusCode::CREATED,
        message,
        &summary(transaction),
    ))
}

pub fn summary(transaction: &Transaction) -> Value {
    let (attempt, received) = (transaction.telling_attempt(), transaction.received());
    let failure = Failure::of_transaction(transaction);
    json!({
        "id": transaction.id,
        "kind": if transaction.is_payment() { "payment" } else { "payout" },
        "app": transaction.app,
        "environment": transaction.environment,
        "status": transaction.status(),
        "state": transaction.state.name(),
        "amount": transaction.amount.to_json_number(),
        "currency": transaction.amount.currency().code(),
        "amount_formatted": transaction.amount.format(),
        "description": transaction.description,
        "customer": transaction.customer.email,
        "method": transaction.method(),
        "gateway": attempt.map(|attempt| &attempt.candidate.gateway),
        "failure_reason": failure.code,
        "failure_message": failure.message,
        "open_cases": open_cases(transaction),
        "attention": transaction.attention().map(CaseReason::as_str),
        "received": received.as_ref().map(|received| received.first().to_json_number()),
        "received_formatted": received.map(|received| received.text(Amount::format)),
        "created_at": iso(transaction.created_at),
        "updated_at": iso(transaction.updated_at),
    })
}

fn open_cases(transaction: &Transaction) -> usize {
    let open = |case: &&Case| case.closed.is_none();
    transaction.cases.iter().filter(open).count()
}

/// All that is known, for the person who has to find out what happened. The timeline has what happened and what was exchanged with
/// providers, in the order of time.
fn whole(transaction: &Transaction, timeline: Vec<Value>) -> Value {
    let mut view = summary(transaction);
    let more = json!({
        "customer": shown(&transaction.customer),
        "metadata": transaction.metadata,
        "details": shown(&transaction.details),
        "context": transaction.context,
        "attempts": shown(&transaction.attempts),
        "cases": shown(&transaction.cases),
        "pending_at": transaction.pending_at.map(iso),
        "success_at": transaction.success_at.map(iso),
        "failed_at": transaction.failed_at.map(iso),
        "cancelled_at": transaction.cancelled_at.map(iso),
        "processed_at": transaction.processed_at.map(iso),
        "next_action_at": transaction.wake_at().map(iso),
        "timeline": timeline,
    });
    if let (Value::Object(view), Value::Object(more)) = (&mut view, more) {
        view.extend(more);
    }
    view
}

const PER_PAGE: usize = 20;

#[cfg(test)]
mod tests {
    use switchyard_engine::transaction::{AttemptState, State as Stage};

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
            let view = summary(&transaction);
            assert_eq!(
                (&view["gateway"], &view["method"]),
                (&json!("first"), &json!("moov_bj"))
            );
        }
    }
}
