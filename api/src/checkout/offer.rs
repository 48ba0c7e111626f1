//! What the engine can do for a payment, in the words of the menu.

use switchyard_engine::engine::Engine;
use switchyard_engine::transaction::Transaction;

use super::menu::Way;

/// Every way that some gateway would take now, for this payment's app, environment and amount.
pub fn ways(engine: &Engine, tx: &Transaction) -> Vec<Way> {
    let mut ways = Vec::new();
    for method in engine.directory.payment_methods() {
        if method.currency != tx.amount.currency() {
            continue;
        }
        if let Some(prospect) = engine.prospect(tx, &method.code) {
            ways.push(Way {
                method: method.clone(),
                asks: Vec::new(),
                is_test: prospect.is_test,
            });
        }
    }
    ways
}
