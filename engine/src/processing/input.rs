//! Input of a gateway for one operation. Golden files are in `plugins/sdk/wire/`.

use serde_json::{Value, json};

use switchyard_core::money::Amount;
use switchyard_core::secret::Secret;
use switchyard_core::transaction::{Attempt, Kind, Transaction};
use switchyard_gateway_host::manifest::CallbackPer;
use switchyard_gateway_host::{Gateways, Operation, direction};

/// The `input` of an operation. `provider_id`: the provider's id of the attempt, unless another
/// attempt has it, too. `code`: the code that the payer typed, for the operation that passes it on.
pub(super) fn build(
    gateways: &Gateways,
    public_url: &str,
    tx: &Transaction,
    attempt: &Attempt,
    operation: Operation,
    provider_id: Option<&str>,
    code: Option<&Secret<String>>,
) -> Value {
    let mut input = json!({
        "reference": attempt.reference,
        "transaction": tx.id,
        "method": attempt.method,
        "country": attempt.country,
        "amount": amount(attempt.amount),
        "environment": tx.environment,
        "provider_id": provider_id,
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
        "callback_url": callback_url(gateways, public_url, attempt),
    });
    let fields = json!(attempt.fields);
    match tx.kind() {
        Kind::Payment => {
            let page = format!("{public_url}/checkout/{}", tx.id);
            input["fields"] = fields;
            input["return_url"] = json!(page);
        }
        Kind::Payout => input["recipient"] = fields,
    }
    if operation == Operation::Query {
        input["direction"] = json!(direction(tx.kind()));
    }
    if let Some(code) = code {
        input["input"] = json!({ "code": code.expose() });
    }
    input
}

/// One address for all of a connection, or, when the gateway's manifest says so, one for each attempt.
fn callback_url(gateways: &Gateways, public_url: &str, attempt: &Attempt) -> String {
    let candidate = &attempt.candidate;
    let version = gateways.version(&candidate.gateway, &candidate.gateway_hash);
    let rule = version.and_then(|version| version.manifest.callback.clone());
    let connection = candidate.connection;
    match rule.map(|rule| rule.per) {
        Some(CallbackPer::Transaction) => {
            format!("{public_url}/callbacks/{connection}/{}", attempt.reference)
        }
        _ => format!("{public_url}/callbacks/{connection}"),
    }
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
