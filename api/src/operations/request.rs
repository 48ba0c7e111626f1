//! Fields that handlers add to the log line of their request.

use switchyard_core::ids::TransactionId;
use tracing::Span;
use tracing::field::display;

/// Writes the transaction that the request is about into its span, and so into all its lines of the
/// log.
pub fn note_transaction(id: TransactionId) {
    Span::current().record("transaction.id", display(id));
}
