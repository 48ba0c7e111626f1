//! Rows of users, sessions, links, tokens and approvals: JSON in [`Table::User`], with keys
//! `<kind>/<id>`.

use std::fmt::Display;

use serde::Serialize;
use serde::de::DeserializeOwned;
use switchyard_store::{Batch, Direction, Store, Table};

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
        }
    }

    pub fn key(self, id: impl Display) -> String {
        format!("{}/{id}", self.name())
    }

    /// End of the range of all keys: '0' is the character after '/'.
    pub fn end(self) -> String {
        format!("{}0", self.name())
    }
}

pub(crate) fn encode(key: &str, row: &impl Serialize) -> Result<Vec<u8>, UsersError> {
    serde_json::to_vec(row).map_err(|why| unreadable(key.as_bytes(), why))
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
    let mut from = kind.key("").into_bytes();
    let to = kind.end().into_bytes();
    let mut rows = Vec::new();
    loop {
        let page = store
            .scan(Table::User, &from, &to, Direction::Forward, PAGE)
            .await?;
        let is_last = page.len() < PAGE;
        if let Some((last, _)) = page.last() {
            from = [last.as_slice(), &[0]].concat();
        }
        for (key, value) in page {
            rows.push(decode(&key, &value)?);
        }
        if is_last {
            return Ok(rows);
        }
    }
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
