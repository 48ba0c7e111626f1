//! Lists of the providers for the lost span, in the report on the hold.

use switchyard_engine::engine;
use switchyard_gateway_host::Listed;

use super::total;
use crate::operator::contract::hold::{ListStatus, ProviderList, UnknownSum, UnknownTransaction};

pub(super) fn list(list: &engine::ProviderList) -> ProviderList {
    let (connection, unknown) = (&list.connection, &list.unknown);
    ProviderList {
        connection: connection.id,
        account_name: connection.account_name.clone(),
        app: connection.app,
        environment: connection.environment,
        gateway: connection.gateway.clone(),
        status: status(&list.status),
        reason: list.status.reason().map(str::to_owned),
        fetched_at: list.fetched_at.map(Into::into),
        listed: list.listed,
        unknown: unknown.count,
        sums: unknown.sums.iter().map(sum).collect(),
        transactions: unknown.first.iter().map(transaction).collect(),
        left_out: unknown.count.saturating_sub(unknown.first.len() as u64),
    }
}

const fn status(status: &engine::ListStatus) -> ListStatus {
    match status {
        engine::ListStatus::Complete => ListStatus::Complete,
        engine::ListStatus::Incomplete(_) => ListStatus::Incomplete,
        engine::ListStatus::InProgress => ListStatus::InProgress,
        engine::ListStatus::Failed(_) => ListStatus::Failed,
        engine::ListStatus::CannotList => ListStatus::CannotList,
    }
}

fn sum(sum: &engine::UnknownSum) -> UnknownSum {
    let amount = sum.currency.zip(sum.minor);
    UnknownSum {
        kind: sum.kind,
        state: sum.state,
        currency: sum.currency,
        count: sum.count,
        amount: amount.map(|(currency, minor)| total(minor, currency)),
    }
}

fn transaction(listed: &Listed) -> UnknownTransaction {
    UnknownTransaction {
        kind: listed.kind,
        reference: listed.reference.clone(),
        provider_id: listed.provider_id.clone(),
        amount: listed.amount.map(|amount| amount.format()),
        currency: listed.amount.map(|amount| amount.currency()),
        created_at: listed.created_at.into(),
        state: listed.state,
    }
}
