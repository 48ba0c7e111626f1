//! What a gateway is given for one operation. Golden files of it lie in `plugins/sdk/wire/`.

use serde_json::{Value, json};

use crate::engine::Engine;
use crate::gateway::Operation;
use crate::money::Amount;
use crate::transaction::{Attempt, Transaction};

/// The `input` of a collect, payout or query.
pub(super) fn build(
    engine: &Engine,
    tx: &Transaction,
    attempt: &Attempt,
    operation: Operation,
) -> Value {
    let mut input = json!({
        "reference": attempt.reference,
        "transaction": tx.id,
        "method": attempt.method,
        "country": attempt.country,
        "amount": amount(attempt.amount),
        "environment": tx.environment,
        "provider_id": attempt.provider_id,
        "description": tx.description,
        "payer": {
            "first_name": tx.customer.first_name,
            "last_name": tx.customer.last_name,
            "email": tx.customer.email,
            "msisdn": attempt.phone,
            "address": tx.customer.address,
            "city": tx.customer.city,
            "state": tx.customer.state,
            "country": tx.customer.country_code,
            "zip": tx.customer.zip_code,
        },
        "callback_url": format!("{}/callbacks/{}", engine.settings.public_url, attempt.candidate.connection),
    });
    let fields = json!(attempt.fields);
    if tx.is_payment() {
        input["fields"] = fields;
        input["return_url"] = json!(format!("{}/checkout/{}", engine.settings.public_url, tx.id));
    } else {
        input["recipient"] = fields;
    }
    if operation == Operation::Query {
        input["direction"] = json!(if tx.is_payment() { "collect" } else { "payout" });
    }
    input
}

fn amount(amount: Amount) -> Value {
    let currency = amount.currency();
    json!({
        "minor": amount.minor(),
        "currency": currency.code(),
        "decimals": currency.info().decimals,
        "decimal": amount.decimal(),
    })
}
