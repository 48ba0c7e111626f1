//! Export of payments or payouts as CSV (RFC 4180), for the console and the APIs.
//!
//! Promises: memory does not grow with the number of rows; an amount is its exact decimal text with
//! its currency in a column of its own; times are ISO 8601 in UTC; a text that a spreadsheet would
//! read as a formula has an apostrophe before it; a stream that fails ends with an error instead of
//! a complete file. Left out: the permission to export, which callers check.

mod cells;
mod columns;
#[cfg(test)]
mod tests;

use std::io;

use axum::body::{Body, Bytes};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS,
};
use axum::response::{IntoResponse, Response};
use csv::{Terminator, WriterBuilder};
use futures_util::stream::try_unfold;
use serde_json::{Value, json};
use switchyard_core::environment::Environment;
use switchyard_core::ids::TransactionId;
use switchyard_core::transaction::{Kind, Transaction};
use switchyard_engine::engine::{Engine, EngineError};
use switchyard_records::{ListQuery, SearchPage, SearchQuery};

pub use columns::Column;

/// Transactions to export. The limit of the query is the number of transactions in memory.
pub enum Selection {
    List(ListQuery),
    Search(SearchQuery),
}

/// An export that runs.
struct Export {
    engine: Engine,
    selection: Selection,
    columns: Vec<Column>,
    next: Next,
}

/// Part of the file that comes next.
enum Next {
    Head,
    Rows { before: Option<TransactionId> },
    End,
}

/// Response with the file. Rows are read as the client takes them.
pub fn response(engine: &Engine, selection: Selection, columns: Vec<Column>) -> Response {
    let name = match selection.kind() {
        Some(Kind::Payment) => "payments.csv",
        Some(Kind::Payout) => "payouts.csv",
        None => "transactions.csv",
    };
    let export = Export {
        engine: engine.clone(),
        selection,
        columns,
        next: Next::Head,
    };
    let parts = try_unfold(export, |mut export| async move {
        let part = export.next().await;
        part.map(|part| part.map(|part| (part, export)))
    });
    let headers = [
        (
            CONTENT_TYPE,
            "text/csv; charset=utf-8; header=present".to_owned(),
        ),
        (
            CONTENT_DISPOSITION,
            format!("attachment; filename=\"{name}\""),
        ),
        (CACHE_CONTROL, "no-store".to_owned()),
        (X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
    ];
    (headers, Body::from_stream(parts)).into_response()
}

/// Facts of an export for the audit log, without the text that was searched for. `asked`: status,
/// start and end as the reader gave them.
pub fn facts(selection: &Selection, asked: [Option<&str>; 3], columns: &[Column]) -> Value {
    let columns: Vec<_> = columns.iter().map(|column| column.name()).collect();
    let [status, from, to] = asked;
    json!({
        "kind": selection.kind(),
        "environment": selection.environment(),
        "status": status,
        "from": from,
        "to": to,
        "is_search": matches!(selection, Selection::Search(_)),
        "columns": columns,
    })
}

impl Selection {
    const fn environment(&self) -> Environment {
        match self {
            Self::List(query) => query.environment,
            Self::Search(query) => query.environment,
        }
    }

    const fn kind(&self) -> Option<Kind> {
        match self {
            Self::List(query) => Some(query.kind),
            Self::Search(query) => query.kind,
        }
    }

    async fn page(
        &mut self,
        engine: &Engine,
        before: Option<TransactionId>,
    ) -> Result<SearchPage, EngineError> {
        match self {
            Self::List(query) => engine.older(query, before).await,
            Self::Search(query) => {
                query.before = before;
                engine.search(query).await
            }
        }
    }
}

impl Export {
    /// The next part of the file. `None`: it is complete.
    async fn next(&mut self) -> io::Result<Option<Bytes>> {
        let before = match self.next {
            Next::Head => {
                self.next = Next::Rows { before: None };
                let names = self.columns.iter().map(|column| column.name());
                return written(std::iter::once(names)).map(Some);
            }
            Next::Rows { before } => before,
            Next::End => return Ok(None),
        };
        let page = self.selection.page(&self.engine, before).await;
        let page = page.map_err(|error| {
            tracing::warn!(%error, "failed to read transactions for an export");
            io::Error::other(error)
        })?;
        self.next = match page.more {
            Some(more) => Next::Rows { before: Some(more) },
            None => Next::End,
        };
        let rows = page.items.iter().map(|tx| self.row(tx));
        written(rows).map(Some)
    }

    fn row(&self, tx: &Transaction) -> Vec<String> {
        let cells = self.columns.iter();
        cells.map(|column| cells::cell(*column, tx)).collect()
    }
}

/// Lines of the file.
fn written<R>(rows: impl Iterator<Item = R>) -> io::Result<Bytes>
where
    R: IntoIterator<Item: AsRef<[u8]>>,
{
    let mut writer = WriterBuilder::new()
        .terminator(Terminator::CRLF)
        .from_writer(Vec::new());
    for row in rows {
        writer.write_record(row)?;
    }
    let bytes = writer
        .into_inner()
        .map_err(|error| io::Error::other(error.to_string()))?;
    Ok(bytes.into())
}

/// Transactions that an export has in memory at once.
pub const ROWS_AT_ONCE: usize = 200;
