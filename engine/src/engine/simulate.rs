//! Simulation of routing: for a hypothetical request, and for stored traffic under other rules. It
//! writes, sends and counts nothing.

use std::collections::BTreeMap;

use super::{Engine, EngineError};
use switchyard_core::environment::Environment;
use switchyard_core::ids::{AppId, ConnectionId};
use switchyard_core::limits::ROUTING_SIMULATED;
use switchyard_core::money::{Amount, Currency};
use switchyard_core::routing::{
    self, ActiveRules, RecentResults, RouteRequest, RuleSet, WeightedDraw,
};
use switchyard_core::time::Timestamp;
use switchyard_core::transaction::{HealthNumbers, Kind, Route, Transaction};
use switchyard_records::{self as records, ListQuery};

/// A transaction that does not exist.
#[derive(Clone, Debug)]
pub struct HypotheticalTransaction {
    pub app: AppId,
    pub environment: Environment,
    pub kind: Kind,
    pub method: String,
    /// ISO 3166-1 alpha-2.
    pub country: Option<String>,
    pub amount: Amount,
    pub metadata: BTreeMap<String, String>,
    /// Source of its weighted draw.
    pub roll: WeightedDraw,
}

/// Stored traffic, and the rules to try on it.
#[derive(Clone, Debug)]
pub struct Replay {
    pub app: AppId,
    pub environment: Environment,
    pub kind: Kind,
    pub from: Timestamp,
    pub to: Timestamp,
    /// `None`: those in force.
    pub rules: Option<RuleSet>,
}

/// Distribution of traffic: as it was, under the rules in force, and under the other rules.
#[derive(Clone, Debug, Default)]
pub struct Replayed {
    /// Transactions in the time, and those of them that were looked at: the newest, up to a limit.
    pub total: u64,
    pub read: u64,
    /// Of those, the ones whose payer never chose a method: nothing was routed.
    pub without_method: u64,
    pub really: Traffic,
    pub in_force: Traffic,
    pub tried: Traffic,
    /// From where the rules in force send it to where the others would, and how many; without those
    /// that stay.
    pub moved: BTreeMap<(Option<ConnectionId>, Option<ConnectionId>), u64>,
}

/// Shares of the connections; `None`: no connection could serve it.
pub type Traffic = BTreeMap<Option<ConnectionId>, Share>;

/// Share of one connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Share {
    pub count: u64,
    pub amounts: BTreeMap<Currency, i64>,
    /// By the table of fees of the rules that are tried.
    pub fees: BTreeMap<Currency, i64>,
    /// Transactions for which the table has no fee.
    pub without_fee: u64,
}

impl Engine {
    /// The plan for a request that does not exist, under the rules in force or under others.
    pub fn imagine(&self, request: &HypotheticalTransaction, rules: Option<&RuleSet>) -> Route {
        let (kind, method) = (request.kind, request.method.as_str());
        let asked = RouteRequest {
            kind,
            method,
            country: request
                .country
                .as_deref()
                .or_else(|| self.only_country(kind, method)),
            amount: Some(request.amount),
            metadata: &request.metadata,
            roll: request.roll,
        };
        let stored = self.access().routing(request.app, request.environment);
        let rules = match rules {
            Some(set) => Some(tried(set)),
            None => stored.as_deref().map(|stored| stored.in_force()),
        };
        let offers = self.offers(
            request.app,
            request.environment,
            kind,
            method,
            asked.country,
            Some(request.amount),
        );
        let recent = |connection| self.recent(connection, kind, method);
        routing::plan(offers, &asked, rules, recent, |_| false)
    }

    /// Plans stored transactions again, with the current connections and all breakers closed.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn replay(&self, replay: &Replay) -> Result<Replayed, EngineError> {
        let query = ListQuery {
            app: replay.app,
            environment: replay.environment,
            kind: replay.kind,
            status: None,
            from: Some(replay.from),
            to: Some(replay.to),
            limit: ROUTING_SIMULATED,
            page: 1,
        };
        let listing = records::list(self.store(), &query).await?;
        let stored = self.access().routing(replay.app, replay.environment);
        let stored = stored.as_deref().map(|stored| stored.in_force());
        let other = replay.rules.as_ref().map(tried).or(stored);
        let nothing = RuleSet::default();
        let fees = other.map_or(&nothing, |rules| rules.set);
        let mut replayed = Replayed {
            total: listing.total,
            read: listing.items.len() as u64,
            ..Replayed::default()
        };
        for (number, tx) in listing.items.iter().enumerate() {
            // Between handfuls of plans other work gets its turn.
            if number % BETWEEN_TURNS == 0 {
                tokio::task::yield_now().await;
            }
            self.replay_one(tx, (stored, other), fees, &mut replayed);
        }
        Ok(replayed)
    }

    fn replay_one(
        &self,
        tx: &Transaction,
        (stored, other): (Option<ActiveRules<'_>>, Option<ActiveRules<'_>>),
        fees: &RuleSet,
        replayed: &mut Replayed,
    ) {
        let kind = tx.kind();
        let Some(method) = tx.method() else {
            replayed.without_method += 1;
            return;
        };
        let asked = RouteRequest {
            kind,
            method,
            country: tx
                .current_attempt()
                .and_then(|attempt| attempt.country.as_deref())
                .or_else(|| self.only_country(kind, method)),
            amount: Some(tx.amount),
            metadata: &tx.metadata,
            roll: WeightedDraw::of(tx.id.ulid().random()),
        };
        let recent = |connection| without_sickness(self.recent(connection, kind, method));
        let first = |rules| {
            let (app, environment) = (tx.app, tx.environment);
            let offers = self.offers(app, environment, kind, method, asked.country, asked.amount);
            let route = routing::plan(offers, &asked, rules, recent, |_| false);
            route
                .candidates
                .first()
                .map(|candidate| candidate.connection)
        };
        let (before, after) = (first(stored), first(other));
        let mut attempts = tx.attempts.iter().rev();
        // Fail-over aside: where the last confirmation went first.
        if let Some(attempt) = attempts.find(|attempt| attempt.follows.is_none()) {
            let there = Some(attempt.candidate.connection);
            count(&mut replayed.really, there, &asked, fees);
        }
        count(&mut replayed.in_force, before, &asked, fees);
        count(&mut replayed.tried, after, &asked, fees);
        if before != after {
            *replayed.moved.entry((before, after)).or_default() += 1;
        }
    }
}

fn count(
    traffic: &mut Traffic,
    to: Option<ConnectionId>,
    asked: &RouteRequest<'_>,
    fees: &RuleSet,
) {
    let share = traffic.entry(to).or_default();
    share.count += 1;
    let Some(amount) = asked.amount else { return };
    add(&mut share.amounts, amount);
    let Some(connection) = to else { return };
    match fees.fee(connection, asked.kind, asked.method, amount) {
        Some(fee) => add(&mut share.fees, fee),
        None => share.without_fee += 1,
    }
}

fn add(sums: &mut BTreeMap<Currency, i64>, amount: Amount) {
    let sum = sums.entry(amount.currency()).or_default();
    *sum = sum.saturating_add(amount.minor());
}

/// Recent results without temporary conditions: an open breaker, a lack of funds.
fn without_sickness(recent: RecentResults) -> RecentResults {
    RecentResults {
        numbers: HealthNumbers {
            open: false,
            short_of_funds: false,
            ..recent.numbers
        },
        ..recent
    }
}

const fn tried(set: &RuleSet) -> ActiveRules<'_> {
    ActiveRules { version: 0, set }
}

const BETWEEN_TURNS: usize = 128;
