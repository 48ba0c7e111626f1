//! Statistics of an app's payments or payouts.

use axum::extract::State;
use switchyard_users::Action;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::contract::transactions::StatisticsFilter;
use super::place::InScope;
use crate::openapi::Success;
use crate::operator::contract::statistics::{self as contract, Statistics};
use crate::operator::error::Answer;
use crate::operator::input::{QueryParams, ok};
use crate::operator::statistics;
use crate::state::ApiState;

/// The route of the statistics.
pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(show))
}

/// Retrieve statistics
///
/// Numbers, rates and sums of the payments or payouts that were created in a span of time, in all
/// and by hour or day, method, country, connection and currency. They are exact at each moment.
/// Amounts of different currencies are never added up. Action: `view_payments`.
#[utoipa::path(
    get,
    path = "/apps/{app}/{environment}/statistics",
    operation_id = "retrieveStatistics",
    tag = "Transactions",
    params(StatisticsFilter),
    responses((status = 200, description = "The statistics.", body = Success<Statistics>)),
)]
async fn show(
    State(state): State<ApiState>,
    scope: InScope,
    QueryParams(filter): QueryParams<StatisticsFilter>,
) -> Answer {
    scope.place.permit(Action::ViewPayments)?;
    let filter = contract::StatisticsFilter {
        environment: Some(scope.environment),
        kind: filter.kind,
        from: filter.from,
        to: filter.to,
        interval: filter.interval,
    };
    let view = statistics::of(&state, scope.app.id, &filter).await?;
    ok("Statistics fetched successfully", &view)
}
