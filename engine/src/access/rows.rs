//! Rows of access: JSON in [`Table::Access`], with keys `<kind>/<id>`.

use std::fmt::Display;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::error::AccessError;
use switchyard_store::{Batch, Key, Store, Table};

/// Kind of a row. Its name is stored and never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Account,
    App,
    Connection,
    DataKey,
    Key,
    OperatorToken,
    Routing,
    Webhook,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Account => "account",
            Self::App => "app",
            Self::Connection => "connection",
            Self::DataKey => "data_key",
            Self::Key => "key",
            Self::OperatorToken => "operator_token",
            Self::Routing => "routing",
            Self::Webhook => "webhook",
        }
    }

    fn key(self, id: impl Display) -> Key {
        Key::path(self.name()).child(id)
    }
}

pub(super) fn put(
    batch: &mut Batch,
    kind: Kind,
    id: impl Display,
    row: &impl Serialize,
) -> Result<(), AccessError> {
    let key = kind.key(id);
    match serde_json::to_vec(row) {
        Ok(value) => {
            batch.put(Table::Access, key, value);
            Ok(())
        }
        Err(why) => Err(AccessError::Row {
            key: key.to_string(),
            why,
        }),
    }
}

pub(super) fn delete(batch: &mut Batch, kind: Kind, id: impl Display) {
    batch.delete(Table::Access, kind.key(id));
}

/// All rows of a kind, by id: since ids begin with a time, by age.
pub(super) async fn all<T: DeserializeOwned>(
    store: &Store,
    kind: Kind,
) -> Result<Vec<T>, AccessError> {
    let mut rows = Vec::new();
    let mut pages = store.pages(Table::Access, Key::path(kind.name()).children(), PAGE);
    while let Some(page) = pages.next().await.map_err(AccessError::Read)? {
        for (key, value) in page {
            rows.push(
                serde_json::from_slice(&value).map_err(|why| AccessError::Row {
                    key: String::from_utf8_lossy(&key).into_owned(),
                    why,
                })?,
            );
        }
    }
    Ok(rows)
}

/// Rows read at a time while loading.
const PAGE: usize = 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_of_a_row_has_its_stored_bytes() {
        assert_eq!(*Kind::DataKey.key("acc_1"), *b"data_key/acc_1");
    }
}
