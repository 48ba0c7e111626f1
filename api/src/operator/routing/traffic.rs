//! Stored traffic under other rules: the share of each connection, before and after, and its fees.

use std::collections::{BTreeMap, BTreeSet};

use switchyard_core::environment::Environment;
use switchyard_core::ids::{AppId, ConnectionId};
use switchyard_core::money::{Amount, Currency};
use switchyard_core::routing::RuleSet;
use switchyard_core::transaction::Kind;
use switchyard_engine::engine::{Replay, Replayed, Traffic};

use super::named;
use crate::error::ApiError;
use crate::operator::contract::routing::{
    ConnectionTraffic, Fees, MovedTraffic, NamedConnection, Share, SimulatedTraffic, TrafficFees,
    TrafficSpan,
};
use crate::operator::error::invalid;
use crate::operator::input::moment;
use crate::state::ApiState;

/// Reads the transactions to replay.
pub(super) fn replay(
    span: &TrafficSpan,
    app: AppId,
    environment: Environment,
    rules: Option<RuleSet>,
) -> Result<Replay, ApiError> {
    let read =
        |name, text: &str| moment(name, Some(text))?.ok_or_else(|| invalid(name, "is no moment"));
    let (from, to) = (
        read("traffic.from", &span.from)?,
        read("traffic.to", &span.to)?,
    );
    if to < from {
        return Err(invalid(
            "traffic.to",
            "traffic.to lies before traffic.from.",
        ));
    }
    Ok(Replay {
        app,
        environment,
        kind: span.kind.unwrap_or(Kind::Payment),
        from,
        to,
        rules,
    })
}

pub(super) fn view(state: &ApiState, replay: &Replay, replayed: &Replayed) -> SimulatedTraffic {
    let shares = [&replayed.really, &replayed.in_force, &replayed.tried];
    let all: BTreeSet<Option<ConnectionId>> = shares
        .iter()
        .flat_map(|shares| shares.keys().copied())
        .collect();
    let connections = all.iter().map(|id| ConnectionTraffic {
        connection: side(state, *id),
        really: share(&replayed.really, *id),
        in_force: share(&replayed.in_force, *id),
        tried: share(&replayed.tried, *id),
    });
    let moved = replayed
        .moved
        .iter()
        .map(|((from, to), count)| MovedTraffic {
            from: side(state, *from),
            to: side(state, *to),
            count: *count,
        });
    SimulatedTraffic {
        kind: replay.kind,
        from: replay.from.into(),
        to: replay.to.into(),
        total: replayed.total,
        read: replayed.read,
        without_method: replayed.without_method,
        connections: connections.collect(),
        moved: moved.collect(),
        fees: TrafficFees {
            really: fees(&replayed.really),
            in_force: fees(&replayed.in_force),
            tried: fees(&replayed.tried),
        },
    }
}

fn side(state: &ApiState, id: Option<ConnectionId>) -> NamedConnection {
    match id {
        Some(id) => named(state, id),
        None => NamedConnection {
            connection: None,
            gateway: None,
            account_name: Some("nobody can serve it".to_owned()),
        },
    }
}

fn share(traffic: &Traffic, id: Option<ConnectionId>) -> Share {
    let share = traffic.get(&id).cloned().unwrap_or_default();
    Share {
        count: share.count,
        amounts: sums(&share.amounts),
        fees: sums(&share.fees),
        without_fee: share.without_fee,
    }
}

/// The fees of all connections together.
fn fees(traffic: &Traffic) -> Fees {
    let mut all = BTreeMap::new();
    for (currency, fee) in traffic.values().flat_map(|share| &share.fees) {
        let sum: &mut i64 = all.entry(*currency).or_default();
        *sum = sum.saturating_add(*fee);
    }
    Fees {
        sums: sums(&all),
        without_fee: traffic.values().map(|share| share.without_fee).sum(),
    }
}

/// `{"XOF": "XOF 1 500"}`.
fn sums(sums: &BTreeMap<Currency, i64>) -> BTreeMap<String, String> {
    let texts = sums.iter().map(|(currency, minor)| {
        let amount = Amount::from_minor(*minor, *currency);
        (currency.code().to_owned(), amount.format())
    });
    texts.collect()
}
