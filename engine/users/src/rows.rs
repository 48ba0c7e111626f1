//! Rows of users, sessions, links, tokens and approvals: JSON in [`Table::User`], with keys
//! `<kind>/<id>`.

use std::fmt::Display;

use serde::Serialize;
use serde::de::DeserializeOwned;
use switchyard_store::{Batch, Key, KeyRange, Store, Table};

use crate::error::UsersError;

/// Kind of a row. Its name is stored and never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    User,
    Session,
    Link,
    Token,
    /// Open proposals.
    Approval,
    /// Approved, rejected and expired proposals.
    Decided,
    /// Heads of batches of payouts.
    Batch,
    /// Ids of batches that are not confirmed, or whose payouts are not all made.
    OpenBatch,
    /// Ids of batches below their app and environment.
    BatchOfApp,
    /// Lines of batches of payouts.
    BatchLines,
    /// Ids of batches that have ended, below their environment and the time of their end.
    EndedBatch,
    /// Payment links.
    PaymentLink,
    /// Ids of payment links below their environment and app.
    PaymentLinkOfApp,
    /// Ids of payment links by the code in their address.
    PaymentLinkCode,
    /// Results of the payments of a link.
    PaymentLinkUses,
    /// Payments below their link, with the form that began each.
    PaymentOfLink,
    /// Payments below their link whose result is not in its uses yet.
    OpenPaymentOfLink,
    /// Payments of a link by the form that began them.
    PaymentLinkForm,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Session => "session",
            Self::Link => "link",
            Self::Token => "token",
            Self::Approval => "approval",
            Self::Decided => "decided",
            Self::Batch => "batch",
            Self::OpenBatch => "batch-open",
            Self::BatchOfApp => "batch-of-app",
            Self::BatchLines => "batch-lines",
            Self::EndedBatch => "batch-ended",
            Self::PaymentLink => "payment-link",
            Self::PaymentLinkOfApp => "payment-link-of-app",
            Self::PaymentLinkCode => "payment-link-code",
            Self::PaymentLinkUses => "payment-link-uses",
            Self::PaymentOfLink => "payment-link-payment",
            Self::OpenPaymentOfLink => "payment-link-open",
            Self::PaymentLinkForm => "payment-link-form",
        }
    }

    pub fn key(self, id: impl Display) -> Key {
        Key::path(self.name()).child(id)
    }

    /// Range of all keys.
    pub fn range(self) -> KeyRange {
        Key::path(self.name()).children()
    }
}

pub(crate) fn encode(key: &Key, row: &impl Serialize) -> Result<Vec<u8>, UsersError> {
    serde_json::to_vec(row).map_err(|why| unreadable(key, why))
}

pub(crate) fn decode<T: DeserializeOwned>(key: &[u8], value: &[u8]) -> Result<T, UsersError> {
    serde_json::from_slice(value).map_err(|why| unreadable(key, why))
}

pub(crate) fn put(
    batch: &mut Batch,
    kind: Kind,
    id: impl Display,
    row: &impl Serialize,
) -> Result<(), UsersError> {
    let key = kind.key(id);
    let value = encode(&key, row)?;
    batch.put(Table::User, key, value);
    Ok(())
}

pub(crate) fn delete(batch: &mut Batch, kind: Kind, id: impl Display) {
    batch.delete(Table::User, kind.key(id));
}

/// All rows of a kind, by id: since ids begin with a time, by age.
pub(crate) async fn all<T: DeserializeOwned>(
    store: &Store,
    kind: Kind,
) -> Result<Vec<T>, UsersError> {
    let mut rows = Vec::new();
    let mut pages = store.pages(Table::User, kind.range(), PAGE);
    while let Some(page) = pages.next().await? {
        for (key, value) in page {
            rows.push(decode(&key, &value)?);
        }
    }
    Ok(rows)
}

fn unreadable(key: &[u8], why: serde_json::Error) -> UsersError {
    UsersError::Row {
        table: Table::User.name(),
        key: String::from_utf8_lossy(key).into_owned(),
        why,
    }
}

/// Rows read at a time.
const PAGE: usize = 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_keys_of_a_kind_have_their_stored_bytes() {
        assert_eq!(*Kind::Decided.key("apr_1"), *b"decided/apr_1");
        let range = Kind::User.range();
        assert_eq!((range.from(), range.to()), (&b"user/"[..], &b"user0"[..]));
    }
}
