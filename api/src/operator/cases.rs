//! Cases for manual review, of all apps.

use axum::Extension;
use axum::extract::State;
use axum::routing::{get, post};
use serde::Deserialize;
use serde_json::{Value, json};
use switchyard_engine::access::Operator;
use switchyard_engine::clock::Timestamp;
use switchyard_engine::environment::Environment;
use switchyard_engine::ids::{AppId, CaseId};
use switchyard_engine::records::{CaseFound, CaseQuery};
use switchyard_engine::transaction::CaseReason;

use super::by_hand::{note, signature};
use super::error::{Answer, invalid, not_found};
use super::input::{Asked, Body, Id, end, ok};
use super::transactions::{summary, told};
use super::view::shown;
use crate::state::ApiState;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Filter {
    /// `open` or `closed`.
    state: Option<String>,
    app: Option<AppId>,
    environment: Option<Environment>,
    reason: Option<CaseReason>,
    opened_before: Option<String>,
    /// Older ones than this: the `more` of the last page.
    before: Option<CaseId>,
    limit: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Close {
    note: String,
}

/// The routes of cases.
pub fn routes() -> axum::Router<ApiState> {
    axum::Router::new()
        .route("/cases", get(list))
        .route("/cases/{case}", get(show))
        .route("/cases/{case}/close", post(close))
}

/// Newest first. `more` is where the next page begins: `?before=`. `store_damage` is a sentence on
/// damage of the store that was found since the start, or null.
async fn list(State(state): State<ApiState>, Asked(filter): Asked<Filter>) -> Answer {
    let open = match filter.state.as_deref() {
        None | Some("open") => true,
        Some("closed") => false,
        Some(_) => return Err(invalid("state", "state is `open` or `closed`").into()),
    };
    let query = CaseQuery {
        open,
        app: filter.app,
        environment: filter.environment,
        reason: filter.reason,
        opened_before: end("opened_before", filter.opened_before.as_deref())?,
        before: filter.before,
        limit: filter.limit.unwrap_or(PER_PAGE).clamp(1, 100),
    };
    let found = state.engine.cases(&query).await?;
    let now = state.engine.clock.now();
    let cases: Vec<Value> = found.items.iter().map(|case| view(case, now)).collect();
    ok(
        "Cases fetched successfully",
        &json!({
            "cases": cases,
            "more": found.more,
            "store_damage": state.engine.store.damage(),
        }),
    )
}

/// Case with its transaction and timeline.
async fn show(State(state): State<ApiState>, Id(id): Id<CaseId>) -> Answer {
    let found = state.engine.case(id).await?;
    let found = found.ok_or_else(|| not_found("case"))?;
    let mut case = view(&found, state.engine.clock.now());
    case["transaction"] = told(&state, found.transaction.id).await?;
    ok("Case fetched successfully", &case)
}

async fn close(
    State(state): State<ApiState>,
    Extension(operator): Extension<Operator>,
    Id(id): Id<CaseId>,
    Body(asked): Body<Close>,
) -> Answer {
    let note = note(asked.note)?;
    state
        .engine
        .case(id)
        .await?
        .ok_or_else(|| not_found("case"))?;
    let closed = state
        .engine
        .close_case(id, signature(operator), note)
        .await?;
    ok(
        "Case closed successfully",
        &view(&closed, state.engine.clock.now()),
    )
}

fn view(found: &CaseFound, now: Timestamp) -> Value {
    let mut case = shown(&found.case);
    case["state"] = json!(match found.case.closed {
        None => "open",
        Some(_) => "closed",
    });
    // Of a closed one: how long it was open.
    let until = found.case.closed.as_ref().map_or(now, |closed| closed.at);
    case["age_seconds"] = json!(until.since(found.case.opened_at).as_secs());
    let attempt = found.transaction.attempt_of(&found.case);
    case["gateway"] = json!(attempt.map(|attempt| &attempt.candidate.gateway));
    case["transaction"] = summary(&found.transaction);
    case
}

const PER_PAGE: usize = 20;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use switchyard_engine::transaction::{AttemptState, State as Stage};

    use super::*;
    use crate::checkout::tests::samples::{NOW, twice_tried};

    #[test]
    fn a_case_names_the_gateway_of_its_own_attempt() {
        let mut transaction = twice_tried(AttemptState::Declined, CaseReason::PaidTwice);
        transaction.attempts[1].state = AttemptState::Succeeded;
        transaction.state = Stage::Succeeded;
        let found = CaseFound {
            case: transaction.cases[0].clone(),
            transaction: Arc::new(transaction),
        };
        let view = view(&found, NOW);
        assert_eq!(view["gateway"], "first", "it has the money to return");
        assert_eq!(view["transaction"]["gateway"], "second");
    }
}
