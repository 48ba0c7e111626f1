//! Finding a caller's own transaction. One of another app or of the other environment does not
//! exist for them (P9 of docs/proofs.md).

use std::sync::Arc;

use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use switchyard_core::ids::TransactionId;
use switchyard_core::transaction::{Kind, Transaction};
use switchyard_engine::access::Caller;
use switchyard_engine::engine::Engine;

use super::render::RenderContext;
use crate::error::ApiError;
use crate::operations::note_transaction;

/// Id in a path.
pub type IdInPath = Result<Path<String>, PathRejection>;

/// The caller's transaction of this kind with this id.
pub async fn transaction(
    engine: &Engine,
    caller: &Caller,
    kind: Kind,
    id: IdInPath,
) -> Result<Arc<Transaction>, ApiError> {
    let id = id
        .ok()
        .and_then(|Path(id)| id.parse::<TransactionId>().ok());
    let id = id.filter(|id| Kind::of(*id) == kind);
    let found = own(engine, caller, id).await?;
    found.ok_or_else(|| ApiError::transaction_not_found(kind))
}

/// Context for rendering a transaction of `caller`.
pub fn context<'a>(engine: &'a Engine, caller: &'a Caller) -> RenderContext<'a> {
    RenderContext {
        public_url: &engine.settings().public_url,
        directory: engine.directory(),
        app: &caller.app,
    }
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
