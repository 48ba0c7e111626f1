//! What a provider calls the attempts of a connection. Of a gateway that takes coins these are the addresses, which their owner empties
//! from time to time.

use axum::extract::State;
use axum::routing::get;
use serde::Deserialize;
use serde_json::{Value, json};
use switchyard_engine::ids::{AttemptId, ConnectionId};
use switchyard_engine::transaction::Transaction;

use super::error::{Answer, not_found};
use super::input::{Asked, Id, ok};
use super::view::iso;
use crate::state::ApiState;

pub fn routes() -> axum::Router<ApiState> {
    axum::Router::new().route("/connections/{connection}/provider-ids", get(list))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Filter {
    /// Those behind this id: the `more` of the last page.
    after: Option<String>,
    limit: Option<usize>,
}

/// In the order of the ids. `more` is where the next page begins: `?after=`.
pub async fn list(
    State(state): State<ApiState>,
    Id(connection): Id<ConnectionId>,
    Asked(filter): Asked<Filter>,
) -> Answer {
    let known = state.engine.access.connection(connection);
    known.ok_or_else(|| not_found("connection"))?;
    let limit = filter.limit.unwrap_or(PER_PAGE).clamp(1, MOST);
    let found = state
        .engine
        .provider_ids(connection, filter.after.as_deref(), limit)
        .await?;
    let views: Vec<Value> = found
        .list
        .iter()
        .map(|(id, transaction, attempt)| view(id, transaction, *attempt))
        .collect();
    ok(
        "Provider ids fetched successfully",
        &json!({ "provider_ids": views, "more": found.more }),
    )
}

fn view(id: &str, transaction: &Transaction, attempt: AttemptId) -> Value {
    let attempt = transaction.attempt(attempt);
    json!({
        "provider_id": id,
        // From which the gateway derived it, if it says so: the address of this number.
        "index": attempt.and_then(|attempt| attempt.gateway_state["index"].as_u64()),
        "transaction": transaction.id,
        "status": transaction.status(),
        "attempt": attempt.map(|attempt| attempt.id),
        "attempt_state": attempt.map(|attempt| attempt.state),
        "amount": attempt.map(|attempt| attempt.amount.format()),
        "captured": attempt.and_then(|attempt| attempt.captured).map(|captured| captured.format()),
        "started_at": attempt.map(|attempt| iso(attempt.started_at)),
    })
}

const PER_PAGE: usize = 100;
const MOST: usize = 1_000;
