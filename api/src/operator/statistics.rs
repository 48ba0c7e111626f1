//! Statistics of an app's payments or payouts.

use std::time::Duration;

use axum::extract::State;
use switchyard_core::ids::AppId;
use switchyard_core::time::Timestamp;
use switchyard_core::transaction::Kind;
use switchyard_records::{Interval, StatisticsQuery};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::contract::statistics::{Statistics, StatisticsFilter};
use super::error::{Answer, Refused, invalid};
use super::input::{Id, QueryParams, end, moment, ok};
use super::transactions::{in_use, kind_of, must_exist};
use crate::openapi::Success;
use crate::state::ApiState;

/// The route of the statistics.
pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(show))
}

/// Retrieve the statistics of an app
///
/// Numbers, rates and sums of the payments or payouts that were created in a span of time, in all
/// and by hour or day, method, country, connection and currency. They are exact at each moment.
/// Amounts of different currencies are never added up.
#[utoipa::path(
    get,
    path = "/apps/{app}/statistics",
    operation_id = "retrieveStatistics",
    tag = "Transactions",
    params(StatisticsFilter),
    responses((status = 200, description = "The statistics.", body = Success<Statistics>)),
)]
async fn show(
    State(state): State<ApiState>,
    Id(app): Id<AppId>,
    QueryParams(filter): QueryParams<StatisticsFilter>,
) -> Answer {
    must_exist(&state, app)?;
    let view = of(&state, app, &filter).await?;
    ok("Statistics fetched successfully", &view)
}

/// Statistics of an app by a filter.
pub async fn of(
    state: &ApiState,
    app: AppId,
    filter: &StatisticsFilter,
) -> Result<Statistics, Refused> {
    let kind = kind_of(filter.kind.as_deref())?.unwrap_or(Kind::Payment);
    let (interval, name, most) = match filter.interval.as_deref() {
        None | Some("day") => (Interval::Day, "day", MOST_DAYS),
        Some("hour") => (Interval::Hour, "hour", MOST_DAYS_OF_HOURS),
        Some(_) => return Err(invalid("interval", "interval is `hour` or `day`").into()),
    };
    let (from, to) = span(state, filter, most)?;
    let environment = match filter.environment {
        Some(environment) => environment,
        None => in_use(state, app).await?,
    };
    let query = StatisticsQuery {
        app,
        environment,
        kind,
        interval,
        from,
        to,
    };
    let statistics = state.engine().statistics(&query).await?;
    Ok(Statistics::new((environment, kind, name), &statistics)?)
}

/// Start and end of the span, at most `most` days apart.
fn span(
    state: &ApiState,
    filter: &StatisticsFilter,
    most: u64,
) -> Result<(Timestamp, Timestamp), Refused> {
    let to = match end("to", filter.to.as_deref())? {
        // The end of a query is exclusive.
        Some(last) => last.plus(Duration::from_micros(1)),
        None => state.engine().clock().now(),
    };
    let from = moment("from", filter.from.as_deref())?;
    let from = from.unwrap_or_else(|| to.minus(USUAL_DAYS * DAY));
    if from >= to {
        return Err(invalid("from", "from is before to").into());
    }
    if to.since(from).as_secs().div_ceil(DAY.as_secs()) > most {
        let message = format!("at most {most} days of this interval are read at once");
        return Err(invalid("from", message).into());
    }
    Ok((from, to))
}

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// With the day of the end, 30 days.
const USUAL_DAYS: u32 = 29;
const MOST_DAYS: u64 = 400;
const MOST_DAYS_OF_HOURS: u64 = 31;

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use switchyard_core::testing::amount;
    use switchyard_engine::engine::NewPayment;
    use switchyard_engine::testing::customer;

    use crate::operator::tests::World;

    async fn pay(world: &World) {
        let key = world.keys.sandbox_secret_key.expose();
        let caller = world.engine.access().authenticate(key).unwrap();
        let new = NewPayment {
            amount: amount(2_500, "USD"),
            description: "Order 1042".to_owned(),
            return_url: "https://shop.example/return".to_owned(),
            customer: customer(),
            metadata: std::collections::BTreeMap::new(),
            methods: Vec::new(),
            restriction: None,
            expires_in: None,
            context: switchyard_core::transaction::ClientContext::default(),
        };
        let payment = world.engine.initialize_payment(&caller, new, None).await;
        payment.unwrap();
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn the_statistics_of_an_app_have_each_interval_of_the_span() {
        let world = World::new().await;
        for _ in 0..3 {
            pay(&world).await;
        }
        let statistics = format!("/apps/{}/statistics", world.app());
        let days = world.get(&statistics).await;
        assert_eq!(days["environment"], "sandbox");
        assert_eq!(days["intervals"].as_array().unwrap().len(), 30);
        assert_eq!(
            (&days["all"]["total"], &days["all"]["initiated"]),
            (&3.into(), &3.into())
        );
        assert_eq!(days["all"]["success_permille"], Value::Null);
        assert_eq!(days["methods"][0]["method"], Value::Null);
        assert_eq!(days["methods"][0]["total"], 3);
        let hours = world.get(&format!("{statistics}?interval=hour")).await;
        let last = hours["intervals"].as_array().unwrap().last().unwrap();
        assert_eq!(last["total"], 3);
        let payouts = world.get(&format!("{statistics}?kind=payout")).await;
        assert_eq!(payouts["all"]["total"], 0);
        let old = world
            .get(&format!("{statistics}?from=2020-01-01&to=2020-01-02"))
            .await;
        assert_eq!(old["intervals"].as_array().unwrap().len(), 2);
        assert_eq!(old["all"]["total"], 0);
    }

    #[tokio::test]
    async fn a_span_that_is_reversed_or_too_long_is_refused() {
        let world = World::new().await;
        let statistics = format!("/apps/{}/statistics", world.app());
        for query in [
            "from=2026-01-02&to=2026-01-01",
            "from=2020-01-01&to=2026-01-01",
            "from=2026-01-01&to=2026-03-01&interval=hour",
            "interval=minute",
            "kind=refund",
            "from=yesterday",
        ] {
            let path = format!("{statistics}?{query}");
            let refused = world.refused("GET", &path, Value::Null).await;
            assert_eq!(refused, (422, "field_invalid".to_owned()), "{query}");
        }
        let nobody = "/apps/app_01k00000000000000000000000/statistics";
        let refused = world.refused("GET", nobody, Value::Null).await;
        assert_eq!(refused, (404, "resource_not_found".to_owned()));
    }
}
