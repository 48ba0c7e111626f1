//! Ids of a provider for the attempts of a connection. At a gateway for coins these are the
//! addresses, which their owner empties from time to time.

use axum::extract::State;
use switchyard_core::ids::{AttemptId, ConnectionId};
use switchyard_core::money::Amount;
use switchyard_core::transaction::Transaction;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::contract::connections::{ProviderId, ProviderIdFilter, ProviderIds};
use super::error::{Answer, not_found};
use super::input::{Id, QueryParams, ok};
use crate::openapi::Success;
use crate::state::ApiState;

pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(list))
}

/// List the provider's ids of attempts
///
/// With their transactions, in the order of the ids. At a gateway for coins: each address that was
/// shown.
#[utoipa::path(
    get,
    path = "/connections/{connection}/provider-ids",
    operation_id = "listProviderIds",
    tag = "Connections",
    params(ProviderIdFilter),
    responses((status = 200, description = "A page of ids.", body = Success<ProviderIds>)),
)]
async fn list(
    State(state): State<ApiState>,
    Id(connection): Id<ConnectionId>,
    QueryParams(filter): QueryParams<ProviderIdFilter>,
) -> Answer {
    let known = state.engine().access().connection(connection);
    known.ok_or_else(|| not_found("connection"))?;
    let limit = filter.limit.unwrap_or(PER_PAGE).clamp(1, MOST);
    let found = state
        .engine()
        .provider_ids(connection, filter.after.as_deref(), limit)
        .await?;
    let views = found
        .list
        .iter()
        .map(|(id, transaction, attempt)| view(id, transaction, *attempt));
    let page = ProviderIds {
        provider_ids: views.collect(),
        more: found.more,
    };
    ok("Provider ids fetched successfully", &page)
}

fn view(id: &str, transaction: &Transaction, attempt: AttemptId) -> ProviderId {
    let attempt = transaction.attempt(attempt);
    // The number from which a gateway derived an address, if its state has one.
    let index = attempt.and_then(|attempt| attempt.gateway_state.get("index")?.as_u64());
    let captured = attempt.and_then(|attempt| attempt.captured);
    ProviderId {
        provider_id: id.to_owned(),
        index,
        transaction: transaction.id,
        status: transaction.status(),
        attempt: attempt.map(|attempt| attempt.id),
        attempt_state: attempt.map(|attempt| attempt.state),
        amount: attempt.map(|attempt| attempt.amount.format()),
        captured: captured.map(Amount::format),
        started_at: attempt.map(|attempt| attempt.started_at.into()),
    }
}

const PER_PAGE: usize = 100;
const MOST: usize = 1_000;
