//! Routing: an app's rules, what they would do, and the health of its connections.

mod health;
mod rules;
mod simulate;
#[cfg(test)]
mod tests;
mod traffic;

use axum::Router;
use axum::routing::{get, post};
use serde_json::{Value, json};
use switchyard_engine::ids::ConnectionId;
use switchyard_engine::transaction::HealthNumbers;

use crate::state::ApiState;

/// Below `/operator/v1`.
pub fn routes() -> Router<ApiState> {
    Router::new()
        .route("/apps/{app}/routing", get(rules::show).put(rules::replace))
        .route("/routing/simulate", post(simulate::simulate))
        .route("/routing/health", get(health::health))
}

/// A connection as people recognise it. One that was deleted has its id only.
fn named(state: &ApiState, id: ConnectionId) -> Value {
    let connection = state.engine.access.connection(id);
    let names = match &connection {
        Some(connection) => Some((&*connection.gateway, &*connection.account_name)),
        None => state.engine.sandbox_names(id),
    };
    json!({
        "connection": id,
        "gateway": names.map(|(gateway, _)| gateway),
        "account_name": names.map(|(_, account_name)| account_name),
    })
}

fn numbers(numbers: &HealthNumbers) -> Value {
    json!({
        "breaker": if numbers.open { "open" } else { "closed" },
        "calls": numbers.calls,
        "faults": numbers.faults,
        "ended": numbers.ended,
        "succeeded": numbers.succeeded,
        "short_of_funds": numbers.short_of_funds,
    })
}

/// Adds the fields of `more` to `value`; both are objects.
fn with(mut value: Value, more: Value) -> Value {
    if let (Value::Object(fields), Value::Object(more)) = (&mut value, more) {
        fields.extend(more);
    }
    value
}
