//! The routing rules of an app in one environment, version by version. The newest is in force;
//! earlier ones are kept for a while, so that a decision's version can be looked up and gone back
//! to.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::error::AccessError;
use super::rows::{self, Kind};
use super::{Access, Environment, WriteGuard};
use switchyard_core::ids::AppId;
use switchyard_core::limits::ROUTING_VERSIONS;
use switchyard_core::routing::{ActiveRules, RuleError, RuleSet};
use switchyard_core::time::Timestamp;
use switchyard_store::Batch;

/// One version of an app's rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoutingRules {
    pub app: AppId,
    pub environment: Environment,
    /// From 1, without gaps.
    pub version: u64,
    pub set: RuleSet,
    pub made_at: Timestamp,
}

impl RoutingRules {
    pub const fn in_force(&self) -> ActiveRules<'_> {
        ActiveRules {
            version: self.version,
            set: &self.set,
        }
    }

    /// Versions sort as texts.
    fn row(&self) -> String {
        format!("{}.{}.{:020}", self.app, self.environment, self.version)
    }
}

impl Access {
    /// The rules in force; `None` when the app never had any: then its connections come oldest
    /// first.
    pub fn routing(&self, app: AppId, environment: Environment) -> Option<Arc<RoutingRules>> {
        let set = self.set();
        set.app(app)?.routing(environment).last().cloned()
    }

    /// The versions that are kept, newest first.
    pub fn routing_versions(&self, app: AppId, environment: Environment) -> Vec<Arc<RoutingRules>> {
        let set = self.set();
        let versions = set.app(app).map(|owner| owner.routing(environment));
        versions.unwrap_or_default().iter().rev().cloned().collect()
    }

    /// Checks rules against themselves and against the app's connections.
    pub fn check_routing(
        &self,
        app: AppId,
        environment: Environment,
        rules: &RuleSet,
    ) -> Result<(), AccessError> {
        rules.check()?;
        for (path, id) in rules.connections() {
            let problem = match self.connection(id) {
                Some(there) if there.app == app && there.environment == environment => continue,
                Some(there) if there.app == app => {
                    format!(
                        "names the {} connection {id} in {environment}",
                        there.environment
                    )
                }
                _ => format!("names {id}, which is no connection of the app"),
            };
            return Err(RuleError { path, problem }.into());
        }
        Ok(())
    }

    /// Puts new rules in force. With `replaces`, only in the place of that version (0: of none).
    /// `also`: rows of the caller that are committed with them.
    pub async fn set_routing(
        &self,
        app: AppId,
        environment: Environment,
        rules: RuleSet,
        replaces: Option<u64>,
        also: Batch,
    ) -> Result<Arc<RoutingRules>, AccessError> {
        let gate = self.gate().await;
        self.app(app)
            .ok_or_else(|| AccessError::not_found("app", app))?;
        self.check_routing(app, environment, &rules)?;
        let versions = self.routing_versions(app, environment);
        let newest = versions.first().map_or(0, |rules| rules.version);
        if replaces.is_some_and(|replaced| replaced != newest) {
            return Err(AccessError::Conflict);
        }
        let rules = RoutingRules {
            app,
            environment,
            version: newest + 1,
            set: rules,
            made_at: self.0.clock.now(),
        };
        let too_old = versions.get(ROUTING_VERSIONS - 1..).unwrap_or_default();
        put(gate, also, rules, too_old).await
    }
}

async fn put(
    gate: WriteGuard,
    mut batch: Batch,
    rules: RoutingRules,
    too_old: &[Arc<RoutingRules>],
) -> Result<Arc<RoutingRules>, AccessError> {
    rows::put(&mut batch, Kind::Routing, rules.row(), &rules)?;
    for old in too_old {
        rows::delete(&mut batch, Kind::Routing, old.row());
    }
    let rules = Arc::new(rules);
    let row = rules.clone();
    gate.commit(batch, move |set| {
        set.put_routing(row);
    })
    .await?;
    Ok(rules)
}
