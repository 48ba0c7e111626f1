//! Simulation of a decision for a hypothetical request, or of stored traffic, under the active
//! rules or others.

use axum::extract::State;
use switchyard_core::environment::Environment;
use switchyard_core::ids::AppId;
use switchyard_core::money::Amount;
use switchyard_core::routing::{RuleSet, WeightedDraw};
use switchyard_core::transaction::Route;
use switchyard_engine::engine::HypotheticalTransaction;

use super::rules::check_rules;
use super::{named, traffic};
use crate::error::ApiError;
use crate::openapi::Success;
use crate::operator::contract::attempts::RuleUsed;
use crate::operator::contract::routing::{
    Health, HypotheticalRequest, NamedConnection, Simulated, SimulatedCandidate, SimulatedDecision,
    SimulatedSkip, Simulation,
};
use crate::operator::error::{Answer, invalid, not_found};
use crate::operator::input::{Body, ok};
use crate::state::ApiState;

/// Simulate the routing of a request or of stored traffic
#[utoipa::path(
    post,
    path = "/routing/simulate",
    operation_id = "simulateRouting",
    tag = "Routing",
    request_body = Simulation,
    responses((status = 200, description = "The result.", body = Success<Simulated>)),
)]
pub async fn simulate(State(state): State<ApiState>, Body(asked): Body<Simulation>) -> Answer {
    let access = state.engine().access();
    access.app(asked.app).ok_or_else(|| not_found("app"))?;
    let (app, environment) = (asked.app, asked.environment);
    let tried = tried(&state, &asked)?;
    if let Some(set) = &tried {
        check_rules(&state, app, environment, set)?;
    }
    match (asked.request, asked.traffic) {
        (Some(request), None) => {
            let imagined = imagined(request, &state, app, environment)?;
            let route = state.engine().imagine(&imagined, tried.as_ref());
            let stored = access.routing(app, environment);
            let set = tried.or_else(|| stored.map(|stored| stored.set.clone()));
            let view = decision(&state, &imagined, &route, &set.unwrap_or_default());
            let view = Simulated::Decision(Box::new(view));
            ok("Decision simulated successfully", &view)
        }
        (None, Some(traffic)) => {
            let replay = traffic::replay(&traffic, app, environment, tried)?;
            let replayed = state.engine().replay(&replay).await?;
            let view = traffic::view(&state, &replay, &replayed);
            let view = Simulated::Traffic(Box::new(view));
            ok("Traffic simulated successfully", &view)
        }
        _ => Err(invalid(
            "request",
            "Give either `request`, for one that does not exist, or `traffic`, for stored transactions.",
        )
        .into()),
    }
}

/// The rules that the body gives, completed by those in force.
fn tried(state: &ApiState, asked: &Simulation) -> Result<Option<RuleSet>, ApiError> {
    if asked.rules.is_none() && asked.fees.is_none() {
        return Ok(None);
    }
    let access = state.engine().access();
    let stored = access.routing(asked.app, asked.environment);
    let stored = stored.map(|stored| stored.set.clone()).unwrap_or_default();
    Ok(Some(RuleSet {
        rules: asked.rules.clone().unwrap_or(stored.rules),
        fees: asked.fees.clone().unwrap_or(stored.fees),
    }))
}

fn imagined(
    request: HypotheticalRequest,
    state: &ApiState,
    app: AppId,
    environment: Environment,
) -> Result<HypotheticalTransaction, ApiError> {
    let amount = Amount::parse_major(&request.amount.to_string(), request.currency)
        .map_err(|why| invalid("request.amount", format!("{why}.")))?;
    let engine = state.engine();
    let roll = match request.transaction {
        Some(id) => WeightedDraw::of(id.ulid().random()),
        None => WeightedDraw::of(engine.ids().ulid(engine.clock().now()).random()),
    };
    Ok(HypotheticalTransaction {
        app,
        environment,
        kind: request.kind,
        method: request.method,
        country: request.country,
        amount,
        metadata: request.metadata,
        roll,
    })
}

fn decision(
    state: &ApiState,
    imagined: &HypotheticalTransaction,
    route: &Route,
    set: &RuleSet,
) -> SimulatedDecision {
    let decision = &route.decision;
    let fee = |id| set.fee(id, imagined.kind, &imagined.method, imagined.amount);
    let considered = decision.considered.iter().map(|one| SimulatedCandidate {
        connection: NamedConnection {
            gateway: Some(one.gateway.clone()),
            ..named(state, one.connection)
        },
        why: one.why.clone(),
        fee: fee(one.connection).map(Amount::to_json_number),
        fee_formatted: fee(one.connection).map(Amount::format),
        health: one.health.as_ref().map(Health::from),
    });
    let skipped = decision.skipped.iter().map(|one| SimulatedSkip {
        connection: named(state, one.connection),
        because: one.because.clone(),
    });
    let chosen = route.candidates.first().map(|chosen| NamedConnection {
        connection: Some(chosen.connection),
        gateway: Some(chosen.gateway.clone()),
        account_name: Some(chosen.account_name.clone()),
    });
    SimulatedDecision {
        chosen,
        because: decision.chosen_because.clone(),
        rule: decision.rule.as_ref().map(RuleUsed::from),
        roll: decision.roll,
        considered: considered.collect(),
        skipped: skipped.collect(),
    }
}
