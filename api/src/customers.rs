//! Export of a customer's personal data as JSON, and facts about its erasure, for the console and
//! the account API.
//!
//! Promises: memory does not grow with the number of transactions; a stream that fails ends with an
//! error instead of a complete file. Left out: the permission to export, which callers check.

use std::io;

use axum::body::{Body, Bytes};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS,
};
use axum::response::{IntoResponse, Response};
use futures_util::stream::try_unfold;
use serde::Serialize;
use serde_json::Value;
use switchyard_core::environment::Environment;
use switchyard_core::ids::{AppId, CustomerId, TransactionId};
use switchyard_core::transaction;
use switchyard_engine::engine::{Engine, EngineError};
use switchyard_records::StoredCustomer;

use crate::operator::contract::customers::{CustomerErasure, KnownCustomer};
use crate::operator::contract::timeline::TimelineEntry;
use crate::operator::contract::transactions::Transaction;
use crate::privacy;

/// An export that runs. The parts of the file are those of
/// [`crate::operator::contract::customers::CustomerExport`].
struct Export {
    engine: Engine,
    owner: (AppId, Environment),
    customer: CustomerId,
    /// Whether the reasons for the choice of connections are in it.
    with_routing: bool,
    next: Next,
}

/// Part of the file that comes next.
enum Next {
    Head(Box<KnownCustomer>),
    Rows {
        before: Option<TransactionId>,
        is_first: bool,
    },
    End,
}

/// Facts of an erasure for the audit log.
pub fn facts(erased: &CustomerErasure) -> Value {
    serde_json::to_value(erased).unwrap_or_default()
}

/// Response with the file. Transactions are read as the client takes them.
pub fn export(
    engine: &Engine,
    owner: (AppId, Environment),
    stored: &StoredCustomer,
    with_routing: bool,
) -> Response {
    let id = stored.customer.id;
    let export = Export {
        engine: engine.clone(),
        owner,
        customer: id,
        with_routing,
        next: Next::Head(Box::new(stored.into())),
    };
    let parts = try_unfold(export, |mut export| async move {
        let part = export.next().await;
        part.map(|part| part.map(|part| (part, export)))
    });
    let headers = [
        (CONTENT_TYPE, "application/json".to_owned()),
        (
            CONTENT_DISPOSITION,
            format!("attachment; filename=\"{id}.json\""),
        ),
        (CACHE_CONTROL, "no-store".to_owned()),
        (X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
    ];
    (headers, Body::from_stream(parts)).into_response()
}

impl Export {
    /// The next part of the file. `None`: it is complete.
    async fn next(&mut self) -> io::Result<Option<Bytes>> {
        let (before, mut is_first) = match std::mem::replace(&mut self.next, Next::End) {
            Next::Head(customer) => {
                self.next = Next::Rows {
                    before: None,
                    is_first: true,
                };
                let mut head = b"{\"customer\":".to_vec();
                written(&mut head, &customer)?;
                head.extend_from_slice(b",\"transactions\":[");
                return Ok(Some(head.into()));
            }
            Next::Rows { before, is_first } => (before, is_first),
            Next::End => return Ok(None),
        };
        let page = self
            .engine
            .transactions_of_customer(self.owner, self.customer, before, AT_ONCE)
            .await
            .map_err(failed)?;
        let mut part = Vec::new();
        for tx in &page.items {
            if !is_first {
                part.push(b',');
            }
            is_first = false;
            written(&mut part, &self.view(tx).await.map_err(failed)?)?;
        }
        match page.more {
            Some(more) => {
                self.next = Next::Rows {
                    before: Some(more),
                    is_first,
                };
            }
            None => part.extend_from_slice(b"]}"),
        }
        Ok(Some(part.into()))
    }

    async fn view(&self, tx: &transaction::Transaction) -> Result<Transaction, EngineError> {
        let recorded = self.engine.timeline(tx.id).await?.into_iter();
        let mut view = Transaction::new(tx, recorded.map(TimelineEntry::from).collect());
        if !self.with_routing {
            privacy::hide_routing(&mut view);
        }
        Ok(view)
    }
}

fn written(to: &mut Vec<u8>, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(to, value).map_err(io::Error::other)
}

fn failed(error: EngineError) -> io::Error {
    tracing::warn!(%error, "failed to read transactions for an export");
    io::Error::other(error)
}

/// Transactions that are in memory at once.
const AT_ONCE: usize = 50;
