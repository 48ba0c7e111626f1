//! Lists of the providers for the lost span, in the report on the hold.

use serde::Serialize;
use switchyard_engine::engine::{ProviderList, UnknownSum};
use switchyard_engine::environment::Environment;
use switchyard_engine::gateway::{Direction, Listed, ListedState};
use switchyard_engine::ids::{AppId, ConnectionId};

use super::view::{kind, total};
use crate::operator::view::iso;

/// The list of one connection. Of the transactions that the store does not know it has the sums
/// and the first ones.
#[derive(Serialize)]
pub struct ProviderListView {
    connection: ConnectionId,
    account_name: String,
    app: AppId,
    environment: Environment,
    gateway: String,
    status: &'static str,
    reason: Option<String>,
    fetched_at: Option<String>,
    listed: u64,
    unknown: u64,
    sums: Vec<UnknownSumView>,
    transactions: Vec<UnknownView>,
    left_out: u64,
}

#[derive(Serialize)]
struct UnknownSumView {
    kind: &'static str,
    state: ListedState,
    currency: Option<&'static str>,
    count: u64,
    amount: Option<String>,
}

#[derive(Serialize)]
struct UnknownView {
    kind: &'static str,
    reference: Option<String>,
    provider_id: Option<String>,
    amount: Option<String>,
    currency: Option<&'static str>,
    created_at: String,
    state: ListedState,
}

impl From<&ProviderList> for ProviderListView {
    fn from(list: &ProviderList) -> Self {
        let (connection, unknown) = (&list.connection, &list.unknown);
        Self {
            connection: connection.id,
            account_name: connection.account_name.clone(),
            app: connection.app,
            environment: connection.environment,
            gateway: connection.gateway.clone(),
            status: list.status.as_str(),
            reason: list.status.reason().map(str::to_owned),
            fetched_at: list.fetched_at.map(iso),
            listed: list.listed,
            unknown: unknown.count,
            sums: unknown.sums.iter().map(UnknownSumView::from).collect(),
            transactions: unknown.first.iter().map(UnknownView::from).collect(),
            left_out: unknown.count.saturating_sub(unknown.first.len() as u64),
        }
    }
}

impl From<&UnknownSum> for UnknownSumView {
    fn from(sum: &UnknownSum) -> Self {
        Self {
            kind: kind_of(sum.direction),
            state: sum.state,
            currency: sum.currency.map(|currency| currency.code()),
            count: sum.count,
            amount: sum
                .currency
                .zip(sum.minor)
                .map(|(currency, minor)| total(minor, currency)),
        }
    }
}

impl From<&Listed> for UnknownView {
    fn from(listed: &Listed) -> Self {
        Self {
            kind: kind_of(listed.direction),
            reference: listed.reference.clone(),
            provider_id: listed.provider_id.clone(),
            amount: listed.amount.map(|amount| amount.format()),
            currency: listed.amount.map(|amount| amount.currency().code()),
            created_at: iso(listed.created_at),
            state: listed.state,
        }
    }
}

fn kind_of(direction: Direction) -> &'static str {
    kind(direction == Direction::Collect)
}
