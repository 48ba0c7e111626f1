//! Cases for manual review, of all apps.

use axum::Extension;
use axum::extract::State;
use switchyard_core::ids::CaseId;
use switchyard_core::transaction::CaseReason;
use switchyard_engine::access::Operator;
use switchyard_records::CaseQuery;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::contract::cases::{CaseDetail, CaseFacts, CaseFilter, CaseView, Cases, CloseCase};
use super::error::{Answer, invalid, not_found, second_person_needed};
use super::input::{Body, Id, QueryParams, end, ok};
use super::manual_resolution::{note, signature};
use super::transactions::full_view;
use crate::openapi::Success;
use crate::operations::note_transaction;
use crate::state::{ApiState, HttpSettings};

/// The routes of cases.
pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(show))
        .routes(routes!(close))
}

/// List cases for manual review
///
/// Newest first. `more` is the start of the next page: `?before=`. When the store is damaged,
/// `store_damage` says so. Cases that cannot be read are left out then, and `incomplete` is true.
#[utoipa::path(
    get,
    path = "/cases",
    operation_id = "listCases",
    tag = "Cases",
    params(CaseFilter),
    responses((status = 200, description = "A page of cases.", body = Success<Cases>)),
)]
async fn list(
    State(state): State<ApiState>,
    QueryParams(filter): QueryParams<CaseFilter>,
) -> Answer {
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
    let found = state.engine().cases(&query).await?;
    let now = state.engine().clock().now();
    let cases = found.items.iter().map(|case| CaseView::new(case, now));
    let page = Cases {
        cases: cases.collect(),
        more: found.more,
        incomplete: found.is_incomplete,
        store_damage: state
            .engine()
            .store()
            .damage()
            .map(|damage| (*damage).clone()),
    };
    ok("Cases fetched successfully", &page)
}

/// Retrieve a case with its transaction and timeline
#[utoipa::path(
    get,
    path = "/cases/{case}",
    operation_id = "retrieveCase",
    tag = "Cases",
    responses((status = 200, description = "The case.", body = Success<CaseDetail>)),
)]
async fn show(State(state): State<ApiState>, Id(id): Id<CaseId>) -> Answer {
    let found = state.engine().case(id).await?;
    let found = found.ok_or_else(|| not_found("case"))?;
    note_transaction(found.transaction.id);
    let case = CaseDetail {
        case: CaseFacts::new(&found, state.engine().clock().now()),
        transaction: full_view(&state, found.transaction.id).await?,
    };
    ok("Case fetched successfully", &case)
}

/// Close a case
///
/// A case about an open attempt closes when the attempt is resolved. With the setting
/// `operator.second_person`, a case about money that moved is closed in the console only, where one
/// operator proposes and another one approves.
#[utoipa::path(
    post,
    path = "/cases/{case}/close",
    operation_id = "closeCase",
    tag = "Cases",
    request_body = CloseCase,
    responses((status = 200, description = "The case.", body = Success<CaseView>)),
)]
async fn close(
    State(state): State<ApiState>,
    Extension(operator): Extension<Operator>,
    Id(id): Id<CaseId>,
    Body(asked): Body<CloseCase>,
) -> Answer {
    let note = note(asked.note)?;
    let found = state.engine().case(id).await?;
    let found = found.ok_or_else(|| not_found("case"))?;
    note_transaction(found.transaction.id);
    if needs_second_person(state.settings(), found.case.reason) {
        let message = "Operator tokens close no case about money in this installation: the case \
                       is still open.";
        let hint = "Two operators close it in the console: one proposes, the other approves.";
        return Err(second_person_needed(message, hint).into());
    }
    let closed = state
        .engine()
        .close_case(id, signature(operator), note)
        .await?;
    ok(
        "Case closed successfully",
        &CaseView::new(&closed, state.engine().clock().now()),
    )
}

/// Whether one person alone may not close a case with this reason.
pub fn needs_second_person(settings: &HttpSettings, reason: CaseReason) -> bool {
    let is_about_money = reason.reports_money() || reason == CaseReason::AmbiguousProviderId;
    settings.second_person && is_about_money
}

const PER_PAGE: usize = 20;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use switchyard_core::transaction::{AttemptState, State as Stage};
    use switchyard_records::CaseFound;

    use serde_json::json;
    use switchyard_records as records;
    use switchyard_store::Batch;
    use switchyard_system::clock::Clock;

    use super::*;
    use crate::checkout::tests::samples::{NOW, twice_tried};
    use crate::operator::tests::World;

    #[tokio::test]
    async fn no_token_closes_a_case_about_money_where_two_people_decide() {
        for (second_person, reason, status) in [
            (true, CaseReason::SuccessContradicted, 403),
            (true, CaseReason::Surplus, 403),
            (true, CaseReason::AmbiguousProviderId, 403),
            (true, CaseReason::NoFinalAnswer, 200),
            (false, CaseReason::SuccessContradicted, 200),
        ] {
            let settings = HttpSettings {
                second_person,
                ..HttpSettings::default()
            };
            let world = World::with(None, Clock::wall(), settings).await;
            let mut tx = twice_tried(AttemptState::Succeeded, reason);
            (tx.app, tx.state) = (world.keys.app, Stage::Succeeded);
            let step = records::Step {
                before: None,
                after: &tx,
                events: &[],
            };
            let mut batch = Batch::new();
            records::write(&mut batch, &step).unwrap();
            world.engine.store().commit(batch).await.unwrap();
            let path = format!("/cases/{}/close", tx.cases[0].id);
            let asked = json!({ "note": "Compared with the statement." });
            let answer = world.call("POST", &path, asked).await;
            assert_eq!(answer.0, status, "{reason:?}: {}", answer.1);
            let found = world.engine.case(tx.cases[0].id).await.unwrap().unwrap();
            assert_eq!(found.case.closed.is_some(), status == 200);
        }
    }

    #[test]
    fn a_case_names_the_gateway_of_its_own_attempt() {
        let mut transaction = twice_tried(AttemptState::Declined, CaseReason::PaidTwice);
        transaction.attempts[1].state = AttemptState::Succeeded;
        transaction.state = Stage::Succeeded;
        let found = CaseFound {
            case: transaction.cases[0].clone(),
            transaction: Arc::new(transaction),
        };
        let view = CaseView::new(&found, NOW);
        let gateway = view.case.gateway.as_deref();
        assert_eq!(gateway, Some("first"), "it has the money to return");
        let counts = view.transaction.facts.gateway;
        assert_eq!(counts.as_deref(), Some("second"));
    }
}
