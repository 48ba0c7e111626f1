//! Routing of a transaction: collects offers, rules and health for the pure planner.

use parking_lot::Mutex;

use super::Engine;
use switchyard_core::ids::ConnectionId;
use switchyard_core::money::Amount;
use switchyard_core::routing::{
    self, BreakerTransition, Call, Eligibility, Health, Key, LastFault, RecentResults,
    RouteRequest, Verdict, WeightedDraw,
};
use switchyard_core::transaction::{
    Attempt, Command, Counted, Kind, Onward, Outcome, Restriction, Route, Transaction,
    next_candidates,
};
use switchyard_gateway_host::Operation;

/// Purpose of a plan.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A preview, without an attempt.
    Look,
    /// A transaction goes there now. Only such a plan may become a probe.
    Go,
}

/// Route of a command, with the counts of the breakers.
pub(crate) struct Plan {
    kind: Kind,
    method: String,
    counted: Vec<Counted>,
}

impl Plan {
    /// `None`: the command brings no route, or no breaker was asked for it.
    pub(crate) fn of(tx: &Transaction, command: &Command) -> Option<Self> {
        let (method, route) = match command {
            Command::Confirm(confirm) => (&confirm.method, &confirm.route),
            Command::Dispatch(route) => (&tx.payout()?.method, route),
            _ => return None,
        };
        (!route.counted.is_empty()).then(|| Self {
            kind: tx.kind(),
            method: method.clone(),
            counted: route.counted.clone(),
        })
    }
}

impl Engine {
    /// Route of a payment by `method`, for its price by that method and for a payer in `country` if
    /// that is known.
    pub(crate) fn route_payment(
        &self,
        tx: &Transaction,
        method: &str,
        price: Amount,
        country: Option<&str>,
        purpose: Purpose,
    ) -> Route {
        self.route(tx, method, price, country.or(restricted_to(tx)), purpose)
    }

    /// Current state of the connections that may follow the open attempt: plans are older than
    /// that. The attempt's own connection may be used once more when the engine stopped during the
    /// call.
    pub(crate) fn onward(&self, tx: &Transaction, command: &Command) -> Vec<Onward> {
        let planned = next_candidates(tx, command);
        let Some(attempt) = tx.current_attempt() else {
            return Vec::new();
        };
        let kind = tx.kind();
        let country = attempt
            .country
            .as_deref()
            .or_else(|| restricted_to(tx))
            .or_else(|| self.only_country(kind, &attempt.method));
        planned
            .into_iter()
            .map(|candidate| Onward {
                connection: candidate.connection,
                standing: self.standing_of(tx, attempt, candidate.connection, country),
            })
            .collect()
    }

    /// Route of a payout.
    pub(crate) fn route_payout(&self, tx: &Transaction) -> Route {
        let method = tx.payout().map_or("", |payout| payout.method.as_str());
        self.route(tx, method, tx.amount, None, Purpose::Go)
    }

    fn route(
        &self,
        tx: &Transaction,
        method: &str,
        price: Amount,
        country: Option<&str>,
        purpose: Purpose,
    ) -> Route {
        let kind = tx.kind();
        let asked = RouteRequest {
            kind,
            method,
            country: country.or_else(|| self.only_country(kind, method)),
            amount: Some(price),
            metadata: &tx.metadata,
            roll: WeightedDraw::of(tx.id.ulid().random()),
        };
        let mut offers = self.offers(
            tx.app,
            tx.environment,
            kind,
            method,
            asked.country,
            asked.amount,
        );
        for offer in &mut offers {
            let may_be_kept = match kind {
                Kind::Payment => false,
                Kind::Payout => offer.standing == Eligibility::CanServe,
            };
            if may_be_kept && self.keeps_payout_from(tx, &offer.candidate) {
                offer.standing = Eligibility::VersionDied;
            }
        }
        let rules = self.access().routing(tx.app, tx.environment);
        let in_force = rules.as_deref().map(|rules| rules.in_force());
        let recent = |connection| self.recent(connection, kind, method);
        let mut counted = Vec::new();
        let route = routing::plan(offers, &asked, in_force, recent, |connection| {
            if purpose == Purpose::Look {
                return false;
            }
            let key = key(connection, kind, method);
            let now = self.clock().now();
            let is_probe = self.0.health.locked(|health| health.grant(&key, now));
            counted.push(Counted {
                connection,
                is_probe,
            });
            is_probe
        });
        Route { counted, ..route }
    }

    /// Tells the breakers that counted a plan whether an attempt began by it: only what went there
    /// is a probe.
    pub(crate) fn planned(&self, plan: &Plan, has_begun: bool) {
        for counted in &plan.counted {
            if !has_begun {
                let key = key(counted.connection, plan.kind, &plan.method);
                self.0
                    .health
                    .locked(|health| health.take_back(&key, counted.is_probe));
            } else if counted.is_probe {
                metrics::counter!("switchyard_breaker_probes_total").increment(1);
            }
        }
    }

    /// The country of a method that has only one: the payer need not enter it.
    pub(super) fn only_country(&self, kind: Kind, method: &str) -> Option<&'static str> {
        let method = self.directory().method(kind, method)?;
        match method.countries.as_slice() {
            [country] => Some(country.alpha2),
            _ => None,
        }
    }

    /// Recent results of `connection` with a method.
    pub(super) fn recent(
        &self,
        connection: ConnectionId,
        kind: Kind,
        method: &str,
    ) -> RecentResults {
        self.0
            .health
            .locked(|health| health.recent(&key(connection, kind, method), self.clock().now()))
    }

    /// The health of all connections that were called since the start.
    pub fn health(&self) -> Vec<(Key, RecentResults, Option<LastFault>)> {
        self.0
            .health
            .locked(|health| health.all(self.clock().now()))
    }

    /// Records the result of a gateway's call for later plans.
    pub(crate) fn note_health(
        &self,
        tx: &Transaction,
        attempt: &Attempt,
        operation: Operation,
        outcome: &Outcome,
    ) {
        let call = match operation {
            Operation::Collect | Operation::Payout => Call::Submission,
            _ => Call::News,
        };
        // A repeated report on an ended attempt would count twice.
        if call == Call::News && !attempt.state.is_open() {
            return;
        }
        let connection = attempt.candidate.connection;
        let key = key(connection, tx.kind(), &attempt.method);
        let (verdict, began) = (Verdict::of(outcome, call), attempt.started_at);
        let now = self.clock().now();
        let turn = self.0.health.locked(|health| {
            let turn = health.note(&key, verdict, began, now);
            if let Some(why) = fault(outcome).filter(|_| verdict.works == Some(false)) {
                health.note_fault(&key, why, now);
            }
            turn
        });
        if let Some(turn) = turn {
            self.log_transition(&key, &attempt.candidate.gateway, turn);
        }
    }

    fn log_transition(&self, key: &Key, gateway: &str, turn: BreakerTransition) {
        let (word, state) = match turn {
            BreakerTransition::Opened => ("opened", 1.0),
            BreakerTransition::Closed => ("closed", 0.0),
        };
        metrics::counter!("switchyard_breaker_turns_total", "gateway" => gateway.to_owned(), "to" => word).increment(1);
        metrics::gauge!(
            "switchyard_breaker_open",
            "connection" => key.connection.to_string(),
            "kind" => key.kind.as_str(),
            "method" => key.method.clone()
        )
        .set(state);
        let (connection, kind, method) = (key.connection, key.kind.as_str(), &key.method);
        match turn {
            BreakerTransition::Opened => tracing::warn!(
                connection.id = %connection, gateway.name = gateway, kind, method,
                "breaker opened"
            ),
            BreakerTransition::Closed => tracing::info!(
                connection.id = %connection, gateway.name = gateway, kind, method,
                "breaker closed"
            ),
        }
    }
}

/// Reason of a failed call, as the gateway or the provider states it.
fn fault(outcome: &Outcome) -> Option<&str> {
    match outcome {
        Outcome::Declined(decline) => {
            let message = decline.provider_message.as_deref();
            message.or(Some(decline.reason.as_str()))
        }
        Outcome::NotSent { why } | Outcome::Unknown { why, .. } => Some(why),
        Outcome::Succeeded { .. } | Outcome::Pending { .. } => None,
    }
}

/// The country of a restricted payment.
fn restricted_to(tx: &Transaction) -> Option<&str> {
    match tx.payment()?.restriction.as_ref()? {
        Restriction::Country { country_code } | Restriction::Phone { country_code, .. } => {
            Some(country_code)
        }
    }
}

/// Health of all connections, behind a lock that is held for one read or one update.
pub(super) struct SharedHealth(Mutex<Health>);

impl SharedHealth {
    pub fn new() -> Self {
        Self(Mutex::new(Health::new(
            switchyard_core::limits::ROUTING_HEALTH,
        )))
    }

    fn locked<T>(&self, look: impl FnOnce(&mut Health) -> T) -> T {
        look(&mut self.0.lock())
    }
}

fn key(connection: ConnectionId, kind: Kind, method: &str) -> Key {
    Key {
        connection,
        kind,
        method: method.to_owned(),
    }
}
