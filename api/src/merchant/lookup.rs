//! Finding a caller's own transaction. One of another app or of the other environment does not exist for them (promise P9).

use std::sync::Arc;

use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use switchyard_engine::access::Caller;
use switchyard_engine::engine::Engine;
use switchyard_engine::ids::{PaymentId, PayoutId, TransactionId};
use switchyard_engine::transaction::Transaction;

use super::render::RenderContext;
use crate::error::ApiError;
use crate::operations::note_transaction;

/// Id in a path.
pub type IdInPath = Result<Path<String>, PathRejection>;

/// The caller's payment with this id.
pub async fn payment(
    engine: &Engine,
    caller: &Caller,
    id: IdInPath,
) -> Result<Arc<Transaction>, ApiError> {
    let id = text(id).and_then(|id| id.parse::<PaymentId>().ok());
    let found = own(engine, caller, id.map(TransactionId::Payment)).await?;
    found.ok_or_else(ApiError::payment_not_found)
}

/// The caller's payout with this id.
pub async fn payout(
    engine: &Engine,
    caller: &Caller,
    id: IdInPath,
) -> Result<Arc<Transaction>, ApiError> {
    let id = text(id).and_then(|id| id.parse::<PayoutId>().ok());
    let found = own(engine, caller, id.map(TransactionId::Payout)).await?;
    found.ok_or_else(ApiError::payout_not_found)
}

/// Context for rendering a transaction of `caller`.
pub fn context<'a>(engine: &'a Engine, caller: &'a Caller) -> RenderContext<'a> {
    RenderContext {
        public_url: &engine.settings().public_url,
        directory: engine.directory(),
        app: &caller.app,
    }
}

fn text(id: IdInPath) -> Option<String> {
    id.ok().map(|Path(id)| id)
}

async fn own(
    engine: &Engine,
    caller: &Caller,
    id: Option<TransactionId>,
) -> Result<Option<Arc<Transaction>>, ApiError> {
    let Some(id) = id else { return Ok(None) };
    note_transaction(id);
    let found = engine.transaction(id).await?;
    Ok(found.filter(|tx| tx.app == caller.app.id && tx.environment == caller.environment))
}
