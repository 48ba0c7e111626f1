//! `POST /routing/simulate`: the decision for a request that does not exist, or for stored traffic, under the rules in force or others.

use std::collections::BTreeMap;

use axum::extract::State;
use serde::Deserialize;
use serde_json::{Value, json};
use switchyard_engine::engine::HypotheticalTransaction;
use switchyard_engine::environment::Environment;
use switchyard_engine::ids::{AppId, TransactionId};
use switchyard_engine::money::{Amount, Currency};
use switchyard_engine::routing::{FeeRow, Roll, Rule, RuleSet};
use switchyard_engine::transaction::{Kind, Route};

use super::rules::check_names;
use super::traffic::{self, Traffic};
use super::{named, numbers, with};
use crate::error::ApiError;
use crate::operator::error::{Answer, invalid, not_found};
use crate::operator::input::{Body, ok};
use crate::state::ApiState;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Simulation {
    app: AppId,
    environment: Environment,
    request: Option<Request>,
    traffic: Option<Traffic>,
    /// Rules and fees to try; without both, those in force. With one of them, the other is the one in force.
    rules: Option<Vec<Rule>>,
    fees: Option<Vec<FeeRow>>,
}

/// A transaction that does not exist.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    kind: Kind,
    method: String,
    country: Option<String>,
    /// In major units, as a number or a text.
    amount: Value,
    currency: Currency,
    #[serde(default)]
    metadata: BTreeMap<String, String>,
    /// Has the draw of this one, so that it goes where that one went.
    transaction: Option<TransactionId>,
}

pub async fn simulate(State(state): State<ApiState>, Body(asked): Body<Simulation>) -> Answer {
    let access = &state.engine.access;
    access.app(asked.app).ok_or_else(|| not_found("app"))?;
    let (app, environment) = (asked.app, asked.environment);
    let tried = tried(&state, &asked)?;
    if let Some(set) = &tried {
        check_names(&state, set)?;
        access.check_routing(app, environment, set)?;
    }
    match (asked.request, asked.traffic) {
        (Some(request), None) => {
            let imagined = request.imagined(&state, app, environment)?;
            let route = state.engine.imagine(&imagined, tried.as_ref());
            let stored = access.routing(app, environment);
            let set = tried.or_else(|| stored.map(|stored| stored.set.clone()));
            let view = decision(&state, &imagined, &route, &set.unwrap_or_default());
            ok("Decision simulated successfully", &view)
        }
        (None, Some(traffic)) => {
            let replay = traffic.replay(app, environment, tried)?;
            let replayed = state.engine.replay(&replay).await?;
            ok("Traffic simulated successfully", &traffic::view(&state, &replay, &replayed))
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
    let access = &state.engine.access;
    let stored = access.routing(asked.app, asked.environment);
    let stored = stored.map(|stored| stored.set.clone()).unwrap_or_default();
    Ok(Some(RuleSet {
        rules: asked.rules.clone().unwrap_or(stored.rules),
        fees: asked.fees.clone().unwrap_or(stored.fees),
    }))
}

impl Request {
    fn imagined(
        self,
        state: &ApiState,
        app: AppId,
        environment: Environment,
    ) -> Result<HypotheticalTransaction, ApiError> {
        let text = match &self.amount {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let amount = Amount::parse_major(&text, self.currency)
            .map_err(|why| invalid("request.amount", format!("{why}.")))?;
        let engine = &state.engine;
        let roll = match self.transaction {
            Some(id) => Roll::of(id.ulid().random()),
            None => Roll::of(engine.ids.ulid(engine.clock.now()).random()),
        };
        Ok(HypotheticalTransaction {
            app,
            environment,
            kind: self.kind,
            method: self.method,
            country: self.country,
            amount,
            metadata: self.metadata,
            roll,
        })
    }
}

fn decision(
    state: &ApiState,
    imagined: &HypotheticalTransaction,
    route: &Route,
    set: &RuleSet,
) -> Value {
    let decision = &route.decision;
    let fee = |id| set.fee(id, imagined.kind, &imagined.method, imagined.amount);
    let considered: Vec<Value> = decision
        .considered
        .iter()
        .map(|one| {
            let more = json!({
                "gateway": one.gateway,
                "why": one.why,
                "fee": fee(one.connection).map(Amount::to_json_number),
                "fee_formatted": fee(one.connection).map(Amount::format),
                "health": one.health.as_ref().map(numbers),
            });
            with(named(state, one.connection), more)
        })
        .collect();
    let skipped: Vec<Value> = decision
        .skipped
        .iter()
        .map(|one| {
            with(
                named(state, one.connection),
                json!({ "because": one.because }),
            )
        })
        .collect();
    let chosen = route.candidates.first();
    json!({
        "chosen": chosen.map(|chosen| json!({
            "connection": chosen.connection,
            "gateway": chosen.gateway,
            "account_name": chosen.account_name,
        })),
        "because": decision.chosen_because,
        "rule": decision.rule,
        "roll": decision.roll,
        "considered": considered,
        "skipped": skipped,
    })
}
