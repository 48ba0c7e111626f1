//! Stored rows for fuzzing: each kind is read as the engine reads it, and written again. Behind the
//! feature `fuzzing`.
//!
//! Bytes on a disk are untrusted, too: a disk fails, a backup is restored by hand, a store was
//! written by a newer program.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::access::{Account, App, Connection, Key, OperatorToken, RoutingRules, Sealed, Webhook};
use crate::callback::Callback;
use crate::exchange_rates::Entry;
use crate::mail::{OutboxMail, SentMail};
use crate::webhook::{Attempt, Delivery};
use switchyard_core::transaction::{Customer, Recorded, Transaction};
use switchyard_gateway_host::{ProviderCall, Record, StoredVersion};

/// A row's key and value.
pub type Row = (Vec<u8>, Vec<u8>);

/// Reads a key and a value as one kind of row and writes it again; none where they are no such row.
pub type RoundTrip = fn(&[u8], &[u8]) -> Option<Row>;

/// Every kind of row that there is, by name.
pub const ROWS: &[(&str, RoundTrip)] = &[
    ("transaction", json::<Transaction>),
    ("event", json::<Recorded>),
    ("customer", json::<Customer>),
    ("account", json::<Account>),
    ("app", json::<App>),
    ("key", json::<Key>),
    ("connection", json::<Connection>),
    ("operator_token", json::<OperatorToken>),
    ("routing", json::<RoutingRules>),
    ("webhook", json::<Webhook>),
    ("sealed", json::<Sealed>),
    ("rate", json::<Entry>),
    ("gateway", json::<Record>),
    ("gateway_version", json::<StoredVersion>),
    ("exchange", json::<ProviderCall>),
    ("callback", json::<Callback>),
    ("letter", json::<OutboxMail>),
    ("posted", json::<SentMail>),
    ("attempt", json::<Attempt>),
    ("delivery", json::<Delivery>),
    ("idempotency", crate::idempotency::fuzzing::row),
    ("waiting", crate::webhook::fuzzing::row),
    ("timer", switchyard_records::fuzzing::timer),
    ("name", switchyard_records::fuzzing::name),
    ("letter_key", crate::mail::fuzzing::due),
    ("callback_key", crate::callback::fuzzing::key),
];

fn json<T: Serialize + DeserializeOwned>(key: &[u8], value: &[u8]) -> Option<Row> {
    let row: T = serde_json::from_slice(value).ok()?;
    Some((key.to_owned(), serde_json::to_vec(&row).ok()?))
}
