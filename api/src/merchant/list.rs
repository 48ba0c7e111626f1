//! A page of the caller's transactions of one kind.

use axum::response::Response;
use switchyard_core::transaction::{Kind, Status};
use switchyard_engine::access::Caller;
use switchyard_records::ListQuery;

use super::lookup;
use super::render::payment::PaymentRetrieved;
use super::render::payout::PayoutRetrieved;
use super::request::query;
use crate::envelope::{self, Page};
use crate::error::ApiError;
use crate::state::ApiState;

/// Response with the page that `query` asks for.
pub async fn page(
    state: &ApiState,
    caller: &Caller,
    kind: Kind,
    query: Option<&str>,
) -> Result<Response, ApiError> {
    let engine = state.engine();
    let filter = query::read(query.unwrap_or_default(), statuses(kind))?;
    let asked = ListQuery {
        app: caller.app.id,
        environment: caller.environment,
        kind,
        status: filter.status,
        from: filter.from,
        to: filter.to,
        limit: filter.limit,
        page: filter.page,
    };
    let listing = engine.list(&asked).await?;
    let page = Page::new(
        listing.total,
        filter.limit as u64,
        filter.page as u64,
        listing.items.len() as u64,
    );
    let context = lookup::context(engine, caller);
    let items = listing.items.iter();
    Ok(match kind {
        Kind::Payment => {
            let shown: Vec<_> = items
                .map(|tx| PaymentRetrieved::new(&context, tx))
                .collect();
            envelope::page("Payment transactions fetched successfully", &shown, page)
        }
        Kind::Payout => {
            let shown: Vec<_> = items.map(|tx| PayoutRetrieved::new(&context, tx)).collect();
            envelope::page("Payout transactions fetched successfully", &shown, page)
        }
    })
}

/// Statuses that a transaction of this kind can have.
const fn statuses(kind: Kind) -> &'static [Status] {
    match kind {
        Kind::Payment => &Status::ALL,
        // A payout is never cancelled (docs/contract/states.md).
        Kind::Payout => &[
            Status::Initiated,
            Status::Pending,
            Status::Failed,
            Status::Success,
        ],
    }
}
