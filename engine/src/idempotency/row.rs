//! Encoding of a stored response.
//!
//! `k<app><environment and kind of API key><route><key>` is the row with the answer;
//! `x<expiry><that key>`, which has no value, says when it may go. Of the request only fingerprints
//! are kept, field by field: enough to tell which one differs, and nothing of the customer.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{Answer, KeyedRequest};
use crate::access::KeyKind;
use switchyard_core::environment::Environment;
use switchyard_core::time::Timestamp;
use switchyard_store::{Key, KeyRange, KeyReader};

const ROW: u8 = b'k';
const EXPIRY: u8 = b'x';

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Row {
    pub expires_at: Timestamp,
    status: u16,
    body: String,
    pub fingerprints: Fingerprints,
}

/// Each field's name with the first 64 bits of the SHA-256 of its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Fingerprints(Vec<(String, u64)>);

impl Row {
    pub fn new(answer: Answer, fingerprints: &Fingerprints, expires_at: Timestamp) -> Self {
        Self {
            expires_at,
            status: answer.status,
            body: answer.body,
            fingerprints: fingerprints.clone(),
        }
    }

    pub fn answer(self) -> Answer {
        Answer {
            status: self.status,
            body: self.body,
        }
    }

    /// `None`: another program wrote the row, or it is damaged. The caller knows nevertheless that
    /// a row exists.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }

    pub fn write(&self) -> Vec<u8> {
        // Strings and numbers only: there is nothing in it that could fail.
        serde_json::to_vec(self).expect("a row can be serialised")
    }
}

impl Fingerprints {
    pub fn of(fields: &[(String, String)]) -> Self {
        let fingerprint = |value: &str| {
            let digest: [u8; 32] = Sha256::digest(value).into();
            digest
                .first_chunk()
                .map_or(0, |first| u64::from_be_bytes(*first))
        };
        Self(
            fields
                .iter()
                .map(|(name, value)| (name.clone(), fingerprint(value)))
                .collect(),
        )
    }

    /// The first field, in the order of `sent`, that is not as it was; then those that were there
    /// and are not sent any more.
    pub fn first_difference(&self, sent: &Self) -> Option<String> {
        let value = |of: &Self, name: &str| {
            of.0.iter()
                .find(|(field, _)| field == name)
                .map(|(_, value)| *value)
        };
        let changed = sent
            .0
            .iter()
            .find(|(name, _)| value(self, name) != value(sent, name));
        let gone = || self.0.iter().find(|(name, _)| value(sent, name).is_none());
        changed.or_else(gone).map(|(name, _)| name.clone())
    }
}

pub(super) fn key(request: &KeyedRequest) -> Key {
    // Small letters: as all rows were before public keys had their own.
    let namespace = match (request.environment, request.kind) {
        (Environment::Sandbox, KeyKind::Secret) => b's',
        (Environment::Live, KeyKind::Secret) => b'l',
        (Environment::Sandbox, KeyKind::Public) => b'S',
        (Environment::Live, KeyKind::Public) => b'L',
    };
    Key::of(ROW)
        .with(request.app)
        .with([namespace, request.route as u8])
        .text(&request.key)
}

pub(super) fn expiry_key(at: Timestamp, key: &[u8]) -> Key {
    Key::of(EXPIRY).with(at).row(key)
}

/// Key range of the rows that expired before `now`.
pub(super) fn expired(now: Timestamp) -> KeyRange {
    Key::of(EXPIRY).range().ending_at(expiry_key(now, &[]))
}

/// The key of the row that an expiry key speaks of.
pub(super) fn expiring(expiry_key: &[u8]) -> Option<&[u8]> {
    let mut reader = KeyReader::of(EXPIRY, expiry_key)?;
    reader.take::<Timestamp>()?;
    Some(reader.rest()).filter(|key| !key.is_empty())
}
