//! Erasure of personal data from the exchanges of an attempt that has ended.

use super::{ProviderCall, rows_of, written};
use switchyard_core::ids::{AttemptId, TransactionId};
use switchyard_store::{Batch, Direction, Store, StoreError, Table};

/// Adds the erasure of headers, bodies and paths of the attempt's exchanges to `batch`. Time,
/// operation, host, status, duration, error and meaning stay.
///
/// # Errors
/// When the journal cannot be read.
pub async fn erase_calls(
    store: &Store,
    batch: &mut Batch,
    transaction: TransactionId,
    attempt: AttemptId,
) -> Result<(), StoreError> {
    let range = rows_of(transaction, attempt);
    let (from, to) = (range.from(), range.to());
    let rows = store.scan(Table::Journal, from, to, Direction::Forward, super::ROWS);
    for (key, row) in rows.await? {
        // An unreadable row shows nothing, and counts as sent.
        if let Ok(call) = serde_json::from_slice::<ProviderCall>(&row) {
            batch.put(Table::Journal, key, written(&without_content(call)));
        }
    }
    Ok(())
}

fn without_content(call: ProviderCall) -> ProviderCall {
    ProviderCall {
        url: origin_of(&call.url),
        request_headers: Vec::new(),
        request_body: None,
        response_headers: Vec::new(),
        response_body: None,
        ..call
    }
}

/// Scheme and host of an address: paths name phone numbers.
pub fn origin_of(url: &str) -> String {
    let origin = url::Url::parse(url).map(|url| url.origin().ascii_serialization());
    origin.unwrap_or_default()
}
