//! `GET` and `PUT /apps/{app}/routing`: the rules in force, version by version. New rules replace the old ones as a whole.

use axum::extract::State;
use serde::Deserialize;
use serde_json::{Value, json};
use switchyard_engine::access::RoutingRules;
use switchyard_engine::directory::country;
use switchyard_engine::environment::Environment;
use switchyard_engine::ids::AppId;
use switchyard_engine::routing::{FeeRow, MethodPattern, Rule, RuleSet};

use crate::error::{ApiError, ErrorCode, Problem};
use crate::operator::error::{Answer, not_found};
use crate::operator::input::{Asked, Body, Id, ok};
use crate::operator::view::iso;
use crate::state::ApiState;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Which {
    environment: Option<Environment>,
    /// An earlier one that is kept.
    version: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct New {
    environment: Environment,
    rules: Vec<Rule>,
    #[serde(default)]
    fees: Vec<FeeRow>,
    /// The version that the caller has seen, 0 for none: refused when it is no longer in force.
    replaces: Option<u64>,
}

pub async fn show(
    State(state): State<ApiState>,
    Id(app): Id<AppId>,
    Asked(which): Asked<Which>,
) -> Answer {
    let access = &state.engine.access;
    access.app(app).ok_or_else(|| not_found("app"))?;
    let environment = which.environment.unwrap_or(Environment::Sandbox);
    let versions = access.routing_versions(app, environment);
    let wanted = |rules: &&std::sync::Arc<RoutingRules>| {
        which.version.is_none_or(|version| version == rules.version)
    };
    let found = versions.iter().find(wanted);
    if found.is_none() && which.version.is_some() {
        return Err(not_found("version of the rules").into());
    }
    let kept: Vec<Value> = versions
        .iter()
        .map(|rules| json!({ "version": rules.version, "made_at": iso(rules.made_at) }))
        .collect();
    let mut view = match found {
        Some(rules) => shown(rules),
        // What holds for an app that never had rules.
        None => {
            json!({ "app": app, "environment": environment, "version": 0, "rules": [], "fees": [] })
        }
    };
    view["versions"] = kept.into();
    ok("Routing rules fetched successfully", &view)
}

pub async fn replace(
    State(state): State<ApiState>,
    Id(app): Id<AppId>,
    Body(new): Body<New>,
) -> Answer {
    let access = &state.engine.access;
    access.app(app).ok_or_else(|| not_found("app"))?;
    let set = RuleSet {
        rules: new.rules,
        fees: new.fees,
    };
    check_names(&state, &set)?;
    let rules = access
        .set_routing(app, new.environment, set, new.replaces)
        .await?;
    ok("Routing rules changed successfully", &shown(&rules))
}

/// Refuses names of methods and countries that do not exist: such a rule would wait for ever.
pub(super) fn check_names(state: &ApiState, set: &RuleSet) -> Result<(), ApiError> {
    for (path, pattern) in set.methods() {
        if !exists(state, pattern) {
            let message = format!("{path}: no method is called {}.", pattern.0);
            return Err(refused(message, path));
        }
    }
    for (place, rule) in set.rules.iter().enumerate() {
        let unknown = rule
            .when
            .countries
            .iter()
            .position(|code| country(code).is_none());
        if let Some(at) = unknown {
            let path = format!("rules.{place}.match.countries.{at}");
            let message = format!("{path}: there is no country {}.", rule.when.countries[at]);
            return Err(refused(message, path));
        }
    }
    Ok(())
}

fn exists(state: &ApiState, pattern: &MethodPattern) -> bool {
    let engine = &state.engine;
    let (payments, payouts) = (
        engine.directory.payment_methods(),
        engine.directory.payout_methods(),
    );
    let mut listed = payments.iter().chain(payouts);
    let by_gateway = || {
        engine.gateways.list().iter().any(|version| {
            let mut methods = version.manifest.methods.iter();
            methods.any(|method| pattern.matches(&method.code))
        })
    };
    listed.any(|method| pattern.matches(&method.code)) || by_gateway()
}

fn refused(message: String, path: String) -> ApiError {
    Problem::new(ErrorCode::FieldInvalid, message)
        .at(path)
        .into()
}

fn shown(rules: &RoutingRules) -> Value {
    json!({
        "app": rules.app,
        "environment": rules.environment,
        "version": rules.version,
        "made_at": iso(rules.made_at),
        "rules": rules.set.rules,
        "fees": rules.set.fees,
    })
}
