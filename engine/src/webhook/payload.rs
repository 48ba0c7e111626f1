//! Body of a webhook: compact JSON, byte for byte as JavaScript prints it.
//!
//! Receivers may parse the body and print it again before they check the signature. The bytes must
//! therefore equal those of `JSON.stringify(JSON.parse(body))`: keys that are array indexes first
//! and by number, 25 rather than 25.0, the short escapes, `\u00xx` in lower case for other control
//! characters, and everything else unescaped.

use std::collections::BTreeMap;

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use sha2::{Digest, Sha256};
use ulid::Ulid;

use switchyard_core::environment::Environment;
use switchyard_core::ids::{CustomerId, EventId, TransactionId};
use switchyard_core::time::Timestamp;
use switchyard_core::transaction::{EventName, State, Status, Transaction};

#[derive(Serialize)]
struct Body<'a> {
    event: EventName,
    data: Data<'a>,
}

#[derive(Serialize)]
struct Data<'a> {
    id: TransactionId,
    status: Status,
    amount: serde_json::Number,
    currency: &'a str,
    customer: Customer<'a>,
    #[serde(serialize_with = "in_javascript_order")]
    metadata: &'a BTreeMap<String, String>,
    environment: Environment,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure_code: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure_message: Option<&'a str>,
    event_id: EventId,
    sequence: u8,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Customer<'a> {
    id: CustomerId,
    email: &'a str,
    first_name: &'a str,
    last_name: &'a str,
    phone: Option<&'a str>,
}

/// Position of an event among those of its transaction, from 1.
pub fn sequence(name: EventName) -> u8 {
    match name {
        EventName::PaymentInitiated | EventName::PayoutInitiated => 1,
        EventName::PaymentSuccess
        | EventName::PaymentFailed
        | EventName::PaymentCancelled
        | EventName::PayoutSuccess
        | EventName::PayoutFailed => 2,
    }
}

/// Id of an event of a transaction at `at`. It is derived, so it need not be stored to send the
/// event again.
pub fn event_id(tx: TransactionId, name: EventName, at: Timestamp) -> EventId {
    let millis = u64::try_from(at.as_millis()).unwrap_or(0);
    EventId::new(derived(
        millis,
        &[&tx.ulid().to_bytes(), name.as_str().as_bytes()],
    ))
}

/// ULID of the time `millis` with a hash of `parts` as its other 80 bits.
pub(super) fn derived(millis: u64, parts: &[&[u8]]) -> Ulid {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part);
    }
    let mut low = [0; 16];
    low.copy_from_slice(&hash.finalize()[..16]);
    Ulid::from_parts(millis, u128::from_be_bytes(low))
}

/// Body for an event of `tx`, which is the transaction right after the event.
pub fn body(tx: &Transaction, name: EventName, event: EventId) -> Vec<u8> {
    let failure = match &tx.state {
        State::Failed(failure) => Some(failure),
        _ => None,
    };
    let body = Body {
        event: name,
        data: Data {
            id: tx.id,
            status: tx.status(),
            amount: tx.amount.to_json_number(),
            currency: tx.amount.currency().info().code,
            customer: Customer {
                id: tx.customer.id,
                email: &tx.customer.email,
                first_name: &tx.customer.first_name,
                last_name: &tx.customer.last_name,
                phone: tx.customer.phone.as_deref(),
            },
            metadata: &tx.metadata,
            environment: tx.environment,
            failure_code: failure.map(|failure| failure.reason.as_str()),
            failure_message: failure.map(|failure| failure.message.as_str()),
            event_id: event,
            sequence: sequence(name),
        },
    };
    serde_json::to_vec(&body).expect("strings, numbers and maps of strings always print")
}

/// Serializes keys that are array indexes first, by number, as JavaScript does.
fn in_javascript_order<S: Serializer>(
    metadata: &&BTreeMap<String, String>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut indexes: Vec<(u32, &String)> = metadata
        .iter()
        .filter_map(|(key, value)| Some((array_index(key)?, value)))
        .collect();
    if indexes.is_empty() {
        return serializer.collect_map(metadata.iter());
    }
    indexes.sort_unstable_by_key(|(index, _)| *index);
    let mut map = serializer.serialize_map(Some(metadata.len()))?;
    for (index, value) in indexes {
        map.serialize_entry(&index.to_string(), value)?;
    }
    for (key, value) in metadata
        .iter()
        .filter(|(key, _)| array_index(key).is_none())
    {
        map.serialize_entry(key, value)?;
    }
    map.end()
}

/// Array index in the sense of JavaScript: a whole number below 2^32 - 1 in its shortest form.
fn array_index(key: &str) -> Option<u32> {
    if key.len() > 10 || !key.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let index: u32 = key.parse().ok().filter(|index| *index != u32::MAX)?;
    (key == "0" || !key.starts_with('0')).then_some(index)
}
