//! Rules of an app, version by version. New rules replace the earlier ones as a whole.

use std::sync::Arc;

use axum::extract::State;
use switchyard_core::directory::country;
use switchyard_core::environment::Environment;
use switchyard_core::ids::AppId;
use switchyard_core::routing::{MethodPattern, RuleSet};
use switchyard_engine::access;
use switchyard_store::Batch;

use crate::error::{ApiError, ErrorCode, Problem};
use crate::openapi::Success;
use crate::operator::contract::routing::{NewRules, RoutingRules, RulesQuery, RulesVersion};
use crate::operator::error::{Answer, Refused, not_found, second_person_needed};
use crate::operator::input::{Body, Id, QueryParams, ok};
use crate::state::ApiState;

/// Retrieve the routing rules of an app
#[utoipa::path(
    get,
    path = "/apps/{app}/routing",
    operation_id = "retrieveRules",
    tag = "Routing",
    params(RulesQuery),
    responses((status = 200, description = "The rules.", body = Success<RoutingRules>)),
)]
pub async fn show(
    State(state): State<ApiState>,
    Id(app): Id<AppId>,
    QueryParams(which): QueryParams<RulesQuery>,
) -> Answer {
    let access = state.engine().access();
    access.app(app).ok_or_else(|| not_found("app"))?;
    let environment = which.environment.unwrap_or(Environment::Sandbox);
    let view = version_of(&state, app, environment, which.version)?;
    ok("Routing rules fetched successfully", &view)
}

/// A version of the rules of an app, with the list of all versions. `version`: `None` for the
/// active one.
pub fn version_of(
    state: &ApiState,
    app: AppId,
    environment: Environment,
    version: Option<u64>,
) -> Result<RoutingRules, Refused> {
    let versions = state.engine().access().routing_versions(app, environment);
    let wanted =
        |rules: &&Arc<access::RoutingRules>| version.is_none_or(|version| version == rules.version);
    let found = versions.iter().find(wanted);
    if found.is_none() && version.is_some() {
        return Err(not_found("version of the rules").into());
    }
    let kept = versions.iter().map(|rules| RulesVersion {
        version: rules.version,
        made_at: rules.made_at.into(),
    });
    let rules = match found {
        Some(rules) => RoutingRules::from(&**rules),
        None => never(app, environment),
    };
    Ok(RoutingRules {
        versions: Some(kept.collect()),
        ..rules
    })
}

/// Replace the routing rules of an app
///
/// In live, an app whose setting `second_person.routing` is on takes new rules in the console only,
/// where another person approves them.
#[utoipa::path(
    put,
    path = "/apps/{app}/routing",
    operation_id = "replaceRules",
    tag = "Routing",
    request_body = NewRules,
    responses((status = 200, description = "The rules.", body = Success<RoutingRules>)),
)]
pub async fn replace(
    State(state): State<ApiState>,
    Id(app): Id<AppId>,
    Body(new): Body<NewRules>,
) -> Answer {
    let of_app = state.engine().access().app(app);
    let of_app = of_app.ok_or_else(|| not_found("app"))?;
    if (of_app.settings.second_person).is_needed_for_routing(new.environment) {
        let message = "Two people change the live routing rules of this app, and a token is none: \
                       nothing was changed.";
        let hint = "Propose the rules in the console; another person approves them there.";
        return Err(second_person_needed(message, hint).into());
    }
    let set = RuleSet {
        rules: new.rules,
        fees: new.fees,
    };
    let (environment, also) = (new.environment, Batch::new());
    let rules = replace_rules(&state, app, environment, set, new.replaces, also).await?;
    ok(
        "Routing rules changed successfully",
        &RoutingRules::from(&*rules),
    )
}

/// Replaces the rules of an app. `replaces`: the version that the client has seen; `also`: rows
/// that are committed with the rules.
pub async fn replace_rules(
    state: &ApiState,
    app: AppId,
    environment: Environment,
    set: RuleSet,
    replaces: Option<u64>,
    also: Batch,
) -> Result<Arc<access::RoutingRules>, Refused> {
    let access = state.engine().access();
    access.app(app).ok_or_else(|| not_found("app"))?;
    check_names(state, &set)?;
    let set = access.set_routing(app, environment, set, replaces, also);
    Ok(set.await?)
}

/// Checks rules as their replacement does.
pub fn check_rules(
    state: &ApiState,
    app: AppId,
    environment: Environment,
    set: &RuleSet,
) -> Result<(), Refused> {
    check_names(state, set)?;
    let access = state.engine().access();
    Ok(access.check_routing(app, environment, set)?)
}

/// Refuses names of methods and countries that do not exist: such a rule would wait for ever.
fn check_names(state: &ApiState, set: &RuleSet) -> Result<(), ApiError> {
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
    let engine = state.engine();
    let (payments, payouts) = (
        engine.directory().payment_methods(),
        engine.directory().payout_methods(),
    );
    let mut listed = payments.iter().chain(payouts);
    let by_gateway = || {
        engine.gateways().list().iter().any(|version| {
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

/// Rules of an app that never had any.
const fn never(app: AppId, environment: Environment) -> RoutingRules {
    RoutingRules {
        app,
        environment,
        version: 0,
        made_at: None,
        rules: Vec::new(),
        fees: Vec::new(),
        versions: None,
    }
}
