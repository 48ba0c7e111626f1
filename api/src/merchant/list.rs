//! Both lists: payments and payouts.

use std::sync::Arc;

use axum::response::Response;
use serde::Serialize;
use switchyard_engine::access::Caller;
use switchyard_engine::engine::Engine;
use switchyard_engine::records::{Kind, ListQuery};
use switchyard_engine::transaction::{Status, Transaction};

use super::request::query;
use crate::envelope::{self, Page};
use crate::error::ApiError;

/// A page of transactions, and where it stands.
pub struct Listed {
    pub items: Vec<Arc<Transaction>>,
    page: Page,
}

/// The page that `query` asks for, of the caller's own transactions of one kind.
pub async fn page(
    engine: &Engine,
    caller: &Caller,
    kind: Kind,
    query: Option<&str>,
    statuses: &[Status],
) -> Result<Listed, ApiError> {
    let filter = query::read(query.unwrap_or_default(), statuses)?;
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
    Ok(Listed {
        items: listing.items,
        page,
    })
}

impl Listed {
    pub fn answer<T: Serialize>(&self, message: &str, data: &[T]) -> Response {
        envelope::page(message, data, self.page)
    }
}
