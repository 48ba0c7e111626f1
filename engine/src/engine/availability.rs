//! Availability: the connections that can take a transaction now, and the methods that an app can
//! offer.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Engine, EngineError};
use crate::access::Connection;
use switchyard_core::environment::Environment;
use switchyard_core::ids::{AppId, ConnectionId};
use switchyard_core::limits::PAYOUT_PAUSE_AFTER_A_DEATH;
use switchyard_core::money::{Amount, Currency};
use switchyard_core::routing::{Eligibility, Offer};
use switchyard_core::transaction::{Attempt, AttemptState, Candidate, Kind, Transaction};
use switchyard_gateway_host::{Direction, Operation, Version, direction};

/// Name of the test gateway's account in sandbox, where no connection names it
/// (docs/contract/test-gateway.md).
const SANDBOX_ACCOUNT: &str = "Switchyard Test Gateway";

impl Engine {
    /// Whether an app could use `method` for this amount now.
    pub fn can_serve(
        &self,
        app: AppId,
        environment: Environment,
        kind: Kind,
        method: &str,
        amount: Option<Amount>,
    ) -> bool {
        let country = self.only_country(kind, method);
        self.offers(app, environment, kind, method, country, amount)
            .iter()
            .any(|offer| offer.standing == Eligibility::CanServe)
    }

    /// Whether an app could use `method` for this amount, were a gateway not being drained or in
    /// quarantine.
    pub fn is_held_back(
        &self,
        app: AppId,
        environment: Environment,
        kind: Kind,
        method: &str,
        amount: Option<Amount>,
    ) -> bool {
        use Eligibility::{Draining, InQuarantine};
        let country = self.only_country(kind, method);
        self.offers(app, environment, kind, method, country, amount)
            .iter()
            .any(|offer| matches!(offer.standing, Draining | InQuarantine))
    }

    /// Whether any loaded gateway serves `method`, for any app.
    pub fn method_is_served(&self, kind: Kind, method: &str) -> bool {
        !self.gateways_serving(kind, method).is_empty()
    }

    /// The gateways that are loaded now and serve `method`.
    pub fn gateways_serving(&self, kind: Kind, method: &str) -> Vec<Arc<Version>> {
        let mut versions = self.gateways().list();
        versions.retain(|version| version.serves(direction(kind), method));
        versions
    }

    /// The currencies in which an app can take or send money now, by code.
    pub fn enabled_currencies(
        &self,
        app: AppId,
        environment: Environment,
        kind: Kind,
    ) -> BTreeSet<Currency> {
        let methods = match kind {
            Kind::Payment => self.directory().payment_methods(),
            Kind::Payout => self.directory().payout_methods(),
        };
        let can_work = methods
            .iter()
            .filter(|method| self.can_serve(app, environment, kind, &method.code, None));
        can_work.map(|method| method.currency).collect()
    }

    /// The credentials for one attempt. The sandbox's own connection to the test gateway has none.
    pub(crate) fn connection_config(
        &self,
        tx: &Transaction,
        attempt: &Attempt,
    ) -> Result<serde_json::Value, EngineError> {
        match self.access().connection(attempt.candidate.connection) {
            Some(connection) => Ok(self.access().connection_config(&connection)?),
            None if attempt.candidate.connection == sandbox_connection(tx.app) => {
                Ok(serde_json::json!({}))
            }
            None => Err(EngineError::NotFound),
        }
    }

    /// The gateway and the account's name of the connection that every app has to the test gateway
    /// in sandbox, and that has no row.
    pub fn sandbox_names(&self, connection: ConnectionId) -> Option<(&str, &'static str)> {
        self.access().app(AppId::new(connection.ulid()))?;
        Some((&self.settings().sandbox_gateway, SANDBOX_ACCOUNT))
    }

    /// Every connection of an app, with what stands in its way.
    pub(super) fn offers(
        &self,
        app: AppId,
        environment: Environment,
        kind: Kind,
        method: &str,
        country: Option<&str>,
        amount: Option<Amount>,
    ) -> Vec<Offer> {
        let connections = self.access().connections(app, environment);
        let mut offers: Vec<Offer> = connections
            .iter()
            .map(|connection| {
                let mut offer = self.offer(connection, kind, method, amount);
                if offer.standing == Eligibility::CanServe {
                    offer.standing = within_limits(connection, country, amount);
                }
                offer
            })
            .collect();
        // The own answer of a gateway in quarantine is worth waiting for; the test gateway's in its
        // place would mislead.
        let served = offers.iter().any(|offer| {
            use Eligibility::{CanServe, CountryNotServed, Draining, InQuarantine, OutsideLimits};
            // And what the operator limited is limited: the test gateway is no way around it.
            matches!(
                offer.standing,
                CanServe | InQuarantine | Draining | OutsideLimits | CountryNotServed
            )
        });
        if environment == Environment::Sandbox && !served {
            offers.extend(self.sandbox_offer(app, kind, method));
        }
        if !self.may_move_money(app) {
            for offer in &mut offers {
                offer.standing = Eligibility::AppDisabled;
            }
        }
        offers
    }

    /// Whether something may begin now at a connection of an earlier plan, and with which version
    /// of its gateway; else why not.
    pub(super) fn standing_of(
        &self,
        tx: &Transaction,
        attempt: &Attempt,
        planned: ConnectionId,
        country: Option<&str>,
    ) -> Result<Candidate, &'static str> {
        let (kind, method) = (tx.kind(), attempt.method.as_str());
        let amount = Some(attempt.amount);
        let offer = match self.access().connection(planned) {
            Some(connection) => {
                let mut offer = self.offer(&connection, kind, method, amount);
                if offer.standing == Eligibility::CanServe {
                    offer.standing = within_limits(&connection, country, amount);
                }
                if self.access().is_closed(planned) {
                    offer.standing = Eligibility::Disabled;
                }
                Some(offer)
            }
            None if planned == sandbox_connection(tx.app) => {
                self.sandbox_offer(tx.app, kind, method)
            }
            None => None,
        };
        let mut offer = offer.ok_or("there is no such connection any more")?;
        // The attempt's own connection may resume it: one death must not end the attempts of other
        // transactions.
        let is_own = attempt.candidate.connection == planned;
        if offer.standing == Eligibility::CanServe && !is_own && self.has_died(tx, &offer.candidate)
        {
            offer.standing = Eligibility::VersionDied;
        }
        if !self.may_move_money(tx.app) {
            offer.standing = Eligibility::AppDisabled;
        }
        offer.standing.reason().map_or(Ok(offer.candidate), Err)
    }

    fn has_died(&self, tx: &Transaction, candidate: &Candidate) -> bool {
        self.attempts_with_a_death(tx, candidate) > 0
    }

    /// Whether a payout is kept from the candidate's version: after one attempt with a death until
    /// [`PAYOUT_PAUSE_AFTER_A_DEATH`] has passed since the last one, after two for good. A
    /// payout that kills its worker must not put the gateway into quarantine for all others.
    pub(super) fn keeps_payout_from(&self, tx: &Transaction, candidate: &Candidate) -> bool {
        match self.attempts_with_a_death(tx, candidate) {
            0 => false,
            1 => {
                let (name, hash) = (&candidate.gateway, &candidate.gateway_hash);
                let since = self.clock().now().minus(PAYOUT_PAUSE_AFTER_A_DEATH);
                self.gateways().has_died_since(name, hash, since)
            }
            _ => true,
        }
    }

    /// The attempts at the candidate's version that were not sent or have no outcome, and since
    /// whose beginning it died: what killed it may be in this transaction.
    fn attempts_with_a_death(&self, tx: &Transaction, candidate: &Candidate) -> usize {
        let version = (&candidate.gateway, &candidate.gateway_hash);
        let has_death = |attempt: &&Attempt| {
            let tried = (&attempt.candidate.gateway, &attempt.candidate.gateway_hash);
            let unsent = attempt.state == AttemptState::NotSent || attempt.state.is_open();
            let died = |at| self.gateways().has_died_since(version.0, version.1, at);
            tried == version && unsent && died(attempt.started_at)
        };
        tx.attempts.iter().filter(has_death).count()
    }

    pub(super) fn offer(
        &self,
        connection: &Connection,
        kind: Kind,
        method: &str,
        amount: Option<Amount>,
    ) -> Offer {
        let version = self.gateways().current(&connection.gateway);
        let standing = match &version {
            _ if !connection.is_enabled => Eligibility::Disabled,
            None => Eligibility::GatewayMissing,
            Some(version) if self.is_for_sandbox_only(connection, version) => {
                Eligibility::TestGateway
            }
            Some(version) => {
                let chosen = connection
                    .methods
                    .as_ref()
                    .is_none_or(|methods| methods.iter().any(|code| code == method));
                self.standing(version, chosen, kind, method, amount)
            }
        };
        let facts = version
            .as_deref()
            .map_or_else(MethodFacts::default, |version| {
                MethodFacts::of(version, direction(kind), method)
            });
        let candidate = Candidate {
            connection: connection.id,
            gateway: connection.gateway.clone(),
            gateway_title: version.as_ref().map_or_else(
                || connection.gateway.clone(),
                |version| version.manifest.title.clone(),
            ),
            gateway_hash: version.map_or_else(String::new, |version| version.sha256.clone()),
            account_name: connection.account_name.clone(),
            ends_after_s: facts.ends_after_s,
            usual_s: facts.usual_s,
            can_cancel: facts.can_cancel,
        };
        Offer {
            candidate,
            standing,
        }
    }

    /// Whether the connection is live and its gateway moves no money.
    fn is_for_sandbox_only(&self, connection: &Connection, version: &Version) -> bool {
        connection.environment == Environment::Live
            && version.manifest.any_method
            && !self.settings().live_test_gateways
    }

    fn standing(
        &self,
        version: &Version,
        chosen: bool,
        kind: Kind,
        method: &str,
        amount: Option<Amount>,
    ) -> Eligibility {
        if !chosen || !version.serves(direction(kind), method) {
            return Eligibility::MethodNotServed;
        }
        match amount {
            Some(amount) if !version.takes(direction(kind), method, amount) => {
                Eligibility::AmountOutOfRange
            }
            _ if version.is_in_quarantine() => Eligibility::InQuarantine,
            _ if version.is_draining() => Eligibility::Draining,
            _ => Eligibility::CanServe,
        }
    }

    /// In sandbox the test gateway serves every method that no connection of the app's serves, so
    /// that a new merchant can try at once.
    pub(super) fn sandbox_offer(&self, app: AppId, kind: Kind, method: &str) -> Option<Offer> {
        let version = self.gateways().current(&self.settings().sandbox_gateway)?;
        if !version.serves(direction(kind), method) {
            return None;
        }
        let facts = MethodFacts::of(&version, direction(kind), method);
        let candidate = Candidate {
            connection: sandbox_connection(app),
            gateway: self.settings().sandbox_gateway.clone(),
            gateway_title: version.manifest.title.clone(),
            gateway_hash: version.sha256.clone(),
            account_name: SANDBOX_ACCOUNT.to_owned(),
            ends_after_s: facts.ends_after_s,
            usual_s: facts.usual_s,
            can_cancel: facts.can_cancel,
        };
        let standing = match (version.is_in_quarantine(), version.is_draining()) {
            (true, _) => Eligibility::InQuarantine,
            (false, true) => Eligibility::Draining,
            (false, false) => Eligibility::CanServe,
        };
        Some(Offer {
            candidate,
            standing,
        })
    }
}

/// Facts that a gateway states about attempts by one method. An attempt keeps them: another version
/// of the gateway may state others.
#[derive(Default)]
struct MethodFacts {
    ends_after_s: Option<u64>,
    usual_s: Option<u64>,
    can_cancel: bool,
}

impl MethodFacts {
    fn of(version: &Version, direction: Direction, method: &str) -> Self {
        let stated = version.method(direction, method);
        Self {
            ends_after_s: stated.and_then(|stated| stated.attempt_ends_after_s),
            usual_s: stated.and_then(|stated| stated.usual_s),
            can_cancel: version.has(Operation::Cancel),
        }
    }
}

/// Connections within the operator's limits.
fn within_limits(
    connection: &Connection,
    country: Option<&str>,
    amount: Option<Amount>,
) -> Eligibility {
    if !connection.limits.serve(country) {
        return Eligibility::CountryNotServed;
    }
    match amount {
        Some(amount) if !connection.limits.take(amount) => Eligibility::OutsideLimits,
        _ => Eligibility::CanServe,
    }
}

/// The connection that every app has to the test gateway in sandbox: it takes its id from the
/// app's.
pub(super) fn sandbox_connection(app: AppId) -> ConnectionId {
    ConnectionId::new(app.ulid())
}
