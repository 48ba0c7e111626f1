//! The provider's list of its charges, by connection, direction and time.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};

use super::{Entry, ProviderState, Shared, lock};

/// Charges of one page.
const PAGE: usize = 50;

/// Answers with a page, in the order of the references, from behind the one that the cursor names.
pub(super) async fn list(State(state): State<Shared>, Json(query): Json<Value>) -> Response {
    let hangs = lock(&state).hangs;
    if hangs.is_some() && hangs == query["slot"].as_u64() {
        return std::future::pending().await;
    }
    page(&lock(&state), &query)
}

fn page(state: &ProviderState, query: &Value) -> Response {
    if state.fails_to_list {
        return StatusCode::BAD_GATEWAY.into_response();
    }
    let (ask, after) = (&query["list"], query["list"]["cursor"].as_str());
    let is_asked = |(reference, entry): &(&String, &Entry)| {
        let created = Some(entry.order.created_at.as_str());
        after.is_none_or(|after| after < reference.as_str())
            && query["slot"] == entry.slot
            && ask["direction"] == *entry.order.direction
            && created >= ask["from"].as_str()
            && created < ask["until"].as_str()
    };
    let entries = state.books.iter().filter(is_asked);
    let shown = entries.filter_map(|(reference, entry)| shown(state, reference, entry));
    let mut charges: Vec<Value> = shown.take(PAGE + 1).collect();
    let next = (charges.len() > PAGE).then(|| {
        charges.truncate(PAGE);
        charges[PAGE - 1]["reference"].clone()
    });
    Json(json!({ "charges": charges, "next": next })).into_response()
}

/// A charge as it is listed; `None`: nothing was taken.
fn shown(state: &ProviderState, reference: &str, entry: &Entry) -> Option<Value> {
    let status = match entry {
        entry if entry.charges > 0 => "paid",
        _ if state.waiting.contains(reference) => "waits",
        _ if state.declined.contains_key(reference) => "declined",
        _ => return None,
    };
    Some(json!({
        "reference": reference,
        "minor": entry.order.minor,
        "currency": entry.order.currency,
        "created_at": entry.order.created_at,
        "status": status,
    }))
}
