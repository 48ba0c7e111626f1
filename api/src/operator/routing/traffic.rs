//! Stored traffic under other rules: how many went where, how many would go where, and what either costs.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::{Value, json};
use switchyard_engine::engine::{Replay, Replayed, Traffic as Shares};
use switchyard_engine::environment::Environment;
use switchyard_engine::ids::{AppId, ConnectionId};
use switchyard_engine::money::{Amount, Currency};
use switchyard_engine::routing::RuleSet;
use switchyard_engine::transaction::Kind;

use super::{named, with};
use crate::error::ApiError;
use crate::operator::error::invalid;
use crate::operator::input::moment;
use crate::operator::view::iso;
use crate::state::ApiState;

/// Transactions created from one moment to another.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Traffic {
    kind: Option<Kind>,
    from: String,
    to: String,
}

impl Traffic {
    pub fn replay(
        &self,
        app: AppId,
        environment: Environment,
        rules: Option<RuleSet>,
    ) -> Result<Replay, ApiError> {
        let read = |name, text: &str| {
            moment(name, Some(text))?.ok_or_else(|| invalid(name, "is no moment"))
        };
        let (from, to) = (
            read("traffic.from", &self.from)?,
            read("traffic.to", &self.to)?,
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
            kind: self.kind.unwrap_or(Kind::Payment),
            from,
            to,
            rules,
        })
    }
}

pub(super) fn view(state: &ApiState, replay: &Replay, replayed: &Replayed) -> Value {
    let shares = [&replayed.really, &replayed.in_force, &replayed.tried];
    let all: BTreeSet<Option<ConnectionId>> = shares
        .iter()
        .flat_map(|shares| shares.keys().copied())
        .collect();
    let connections: Vec<Value> = all
        .iter()
        .map(|id| {
            let more = json!({
                "really": share(&replayed.really, *id),
                "in_force": share(&replayed.in_force, *id),
                "tried": share(&replayed.tried, *id),
            });
            with(side(state, *id), more)
        })
        .collect();
    let moved: Vec<Value> = replayed
        .moved
        .iter()
        .map(|((from, to), count)| {
            json!({ "from": side(state, *from), "to": side(state, *to), "count": count })
        })
        .collect();
    json!({
        "kind": replay.kind,
        "from": iso(replay.from),
        "to": iso(replay.to),
        "total": replayed.total,
        "read": replayed.read,
        "without_method": replayed.without_method,
        "connections": connections,
        "moved": moved,
        "fees": {
            "really": fees(&replayed.really),
            "in_force": fees(&replayed.in_force),
            "tried": fees(&replayed.tried),
        },
    })
}

fn side(state: &ApiState, id: Option<ConnectionId>) -> Value {
    match id {
        Some(id) => named(state, id),
        None => {
            json!({ "connection": null, "gateway": null, "account_name": "nobody can serve it" })
        }
    }
}

fn share(shares: &Shares, id: Option<ConnectionId>) -> Value {
    let share = shares.get(&id).cloned().unwrap_or_default();
    json!({
        "count": share.count,
        "amounts": sums(&share.amounts),
        "fees": sums(&share.fees),
        "without_fee": share.without_fee,
    })
}

/// The fees of all connections together.
fn fees(shares: &Shares) -> Value {
    let mut all = BTreeMap::new();
    for (currency, fee) in shares.values().flat_map(|share| &share.fees) {
        let sum: &mut i64 = all.entry(*currency).or_default();
        *sum = sum.saturating_add(*fee);
    }
    let without_fee: u64 = shares.values().map(|share| share.without_fee).sum();
    with(
        json!({ "without_fee": without_fee }),
        json!({ "sums": sums(&all) }),
    )
}

/// `{"XOF": "XOF 1 500"}`.
fn sums(sums: &BTreeMap<Currency, i64>) -> Value {
    let texts = sums.iter().map(|(currency, minor)| {
        let amount = Amount::from_minor(*minor, *currency);
        (currency.code().to_owned(), Value::from(amount.format()))
    });
    Value::Object(texts.collect())
}
