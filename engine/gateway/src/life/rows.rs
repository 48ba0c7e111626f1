//! Rows of gateways in the store: JSON in [`Table::Meta`], under `gateway/<name>`,
//! `gateway_past/<name>/<sha256>`, `gateway_pin/<sha256>` and `gateway_file/<name of the file>`.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::error::LifeError;
use super::record::{Record, StoredVersion};
use super::{GatewayRecords, Pin};
use switchyard_store::{Batch, Key, Store, Table};

const RECORD: &str = "gateway";
const PAST: &str = "gateway_past";
const PIN: &str = "gateway_pin";
const FILE: &str = "gateway_file";
/// Page size of a scan.
const PAGE: usize = 1_000;

/// Writes a record and, in the same commit, the versions that it has no room for any more.
pub(super) async fn write(
    store: &Store,
    record: &Record,
    past: &[StoredVersion],
) -> Result<(), LifeError> {
    let mut batch = Batch::new();
    add(&mut batch, Key::path(RECORD).child(&record.name), record)?;
    for kept in past {
        add(&mut batch, past_key(&record.name, &kept.sha256), kept)?;
    }
    store.commit(batch).await.map_err(LifeError::Write)
}

pub(super) async fn write_past(
    store: &Store,
    name: &str,
    kept: &StoredVersion,
) -> Result<(), LifeError> {
    put(store, past_key(name, &kept.sha256), kept).await
}

fn past_key(name: &str, sha256: &str) -> Key {
    Key::path(PAST).child(name).child(sha256)
}

pub(super) async fn write_pin(store: &Store, pin: &Pin) -> Result<(), LifeError> {
    put(store, Key::path(PIN).child(&pin.sha256), pin).await
}

pub(super) async fn delete_pin(store: &Store, sha256: &str) -> Result<(), LifeError> {
    let mut batch = Batch::new();
    batch.delete(Table::Meta, Key::path(PIN).child(sha256));
    store.commit(batch).await.map_err(LifeError::Write)
}

/// Writes the hash that a file of the folder had when it was last installed.
pub(super) async fn write_file(store: &Store, file: &str, sha256: &str) -> Result<(), LifeError> {
    put(store, Key::path(FILE).child(file), &sha256).await
}

pub(super) async fn read(store: &Store, book: &mut GatewayRecords) -> Result<(), LifeError> {
    for (_, record) in all::<Record>(store, RECORD).await? {
        book.records.insert(record.name.clone(), record);
    }
    for (key, kept) in all::<StoredVersion>(store, PAST).await? {
        if let Some((name, sha256)) = key.split_once('/') {
            book.past.insert((name.to_owned(), sha256.to_owned()), kept);
        }
    }
    for (_, pin) in all::<Pin>(store, PIN).await? {
        book.pins.insert(pin.sha256.clone(), pin);
    }
    for (file, sha256) in all::<String>(store, FILE).await? {
        book.files.entry(file).or_default().taken = Some(sha256);
    }
    Ok(())
}

async fn put(store: &Store, key: Key, row: &impl Serialize) -> Result<(), LifeError> {
    let mut batch = Batch::new();
    add(&mut batch, key, row)?;
    store.commit(batch).await.map_err(LifeError::Write)
}

fn add(batch: &mut Batch, key: Key, row: &impl Serialize) -> Result<(), LifeError> {
    match serde_json::to_vec(row) {
        Ok(row) => {
            batch.put(Table::Meta, key, row);
            Ok(())
        }
        Err(why) => Err(LifeError::Row {
            name: key.to_string(),
            why,
        }),
    }
}

async fn all<T: DeserializeOwned>(
    store: &Store,
    kind: &str,
) -> Result<Vec<(String, T)>, LifeError> {
    let kind = Key::path(kind);
    let mut all = Vec::new();
    let mut pages = store.pages(Table::Meta, kind.children(), PAGE);
    while let Some(rows) = pages.next().await.map_err(LifeError::Read)? {
        for (key, value) in rows {
            let name = kind.child_in(&key).map(str::to_owned);
            let name = name.unwrap_or_else(|| String::from_utf8_lossy(&key).into_owned());
            match serde_json::from_slice(&value) {
                Ok(row) => all.push((name, row)),
                Err(why) => return Err(LifeError::Row { name, why }),
            }
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_of_a_version_has_its_stored_bytes() {
        assert_eq!(*past_key("demo", "0a1b"), *b"gateway_past/demo/0a1b");
        let range = Key::path(RECORD).children();
        assert!(range.contains(b"gateway/demo") && !range.contains(b"gateway_past/demo"));
    }
}
