//! Methods that the engine can route for a payment, for the menu.

use std::sync::Arc;

use switchyard_core::directory::Method;
use switchyard_core::transaction::Transaction;
use switchyard_engine::engine::{Engine, RoutePreview};
use switchyard_gateway_host::Direction;

use super::menu::{GatewayField, PaymentOption};

/// Every way that some gateway would take now, for this payment's app, environment and amount.
pub fn ways(engine: &Engine, tx: &Transaction) -> Vec<PaymentOption> {
    let methods = engine.directory().payment_methods().iter();
    methods
        .filter_map(|method| way(engine, tx, method))
        .collect()
}

/// The one way by `method`, if some gateway would take it now.
pub fn way(engine: &Engine, tx: &Transaction, method: &Arc<Method>) -> Option<PaymentOption> {
    let preview = engine.route_preview(tx, &method.code)?;
    Some(PaymentOption {
        method: method.clone(),
        asks: asks(&preview, &method.code),
        is_test: preview.is_test,
        price: preview.price,
    })
}

/// Puts the lists that the gateway answers into the fields of a way. Waits for a moment at most.
pub async fn with_options(
    engine: &Engine,
    tx: &Transaction,
    mut way: PaymentOption,
) -> PaymentOption {
    if let Some(preview) = engine.route_preview(tx, &way.method.code) {
        let mut lists = engine.field_options(tx, &preview, &way.method.code).await;
        for asked in &mut way.asks {
            if let Some(list) = lists.remove(&asked.name) {
                asked.options = list;
            }
        }
    }
    way
}

/// Fields that the gateway needs for this method, in the order of its manifest.
fn asks(preview: &RoutePreview, code: &str) -> Vec<GatewayField> {
    let row = preview.gateway.method(Direction::Collect, code);
    let fields = row.map(|row| row.fields.as_slice()).unwrap_or_default();
    fields
        .iter()
        .map(|field| GatewayField {
            name: field.name.clone(),
            label_en: field.label.get("en").cloned(),
            label_fr: field.label.get("fr").cloned(),
            required: field.required,
            options: field.options.clone(),
            pattern: field.pattern.clone(),
        })
        .collect()
}
