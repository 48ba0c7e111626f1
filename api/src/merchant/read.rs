//! One transaction of the caller: as it is stored, and after a query of its provider.

use axum::http::StatusCode;
use axum::response::Response;
use serde::Serialize;
use switchyard_core::transaction::Kind;
use switchyard_engine::access::Caller;

use super::lookup::{self, IdInPath};
use super::render::payment::{PaymentRetrieved, PaymentVerified};
use super::render::payout::{PayoutRetrieved, PayoutVerified};
use crate::envelope;
use crate::error::ApiError;
use crate::state::ApiState;

/// Response with the transaction as it is stored.
pub async fn retrieve(
    state: &ApiState,
    caller: &Caller,
    kind: Kind,
    id: IdInPath,
) -> Result<Response, ApiError> {
    let engine = state.engine();
    let tx = lookup::transaction(engine, caller, kind, id).await?;
    let context = lookup::context(engine, caller);
    Ok(match kind {
        Kind::Payment => fetched(kind, &PaymentRetrieved::new(&context, &tx)),
        Kind::Payout => fetched(kind, &PayoutRetrieved::new(&context, &tx)),
    })
}

/// Response with the transaction as it is known after a query of its provider, if one is due.
pub async fn verify(
    state: &ApiState,
    caller: &Caller,
    kind: Kind,
    id: IdInPath,
) -> Result<Response, ApiError> {
    let engine = state.engine();
    let stored = lookup::transaction(engine, caller, kind, id).await?;
    // Deleted in between: sandbox data goes after 90 days.
    let tx = engine
        .verify_as_seen(stored)
        .await?
        .ok_or_else(|| ApiError::transaction_not_found(kind))?;
    let context = lookup::context(engine, caller);
    Ok(match kind {
        Kind::Payment => fetched(kind, &PaymentVerified::new(&context, &tx)),
        Kind::Payout => fetched(kind, &PayoutVerified::new(&context, &tx)),
    })
}

fn fetched<T: Serialize>(kind: Kind, data: &T) -> Response {
    let message = match kind {
        Kind::Payment => "Payment transaction fetched successfully",
        Kind::Payout => "Payout transaction fetched successfully",
    };
    envelope::success(StatusCode::OK, message, data)
}
