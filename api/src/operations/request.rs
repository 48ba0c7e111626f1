//! Fields that handlers add to the log line and to the trace of their request.

use switchyard_core::ids::TransactionId;
use switchyard_system::trace::TraceContext;
use tracing::Span;
use tracing::field::display;

/// Writes the transaction that the request is about into its span, and so into all its lines of the
/// log.
pub fn note_transaction(id: TransactionId) {
    Span::current().record("transaction.id", display(id));
    TraceContext::current().set("transaction.id", || id.to_string());
}
