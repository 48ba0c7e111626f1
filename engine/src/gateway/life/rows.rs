//! How gateways lie in the store: JSON rows in [`Table::Meta`], under `gateway/<name>`, `gateway_pin/<sha256>` and
//! `gateway_file/<name of the file>`.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::error::LifeError;
use super::record::Record;
use super::{Book, Pin};
use crate::store::{Batch, Direction, Store, Table, prefix_end};

const RECORD: &str = "gateway/";
const PIN: &str = "gateway_pin/";
const FILE: &str = "gateway_file/";
/// Rows of one kind that are read: more gateways, pins or files than any installation has.
const ROWS: usize = 10_000;

pub(super) async fn write(store: &Store, record: &Record) -> Result<(), LifeError> {
    put(store, format!("{RECORD}{}", record.name), record).await
}

pub(super) async fn write_pin(store: &Store, pin: &Pin) -> Result<(), LifeError> {
    put(store, format!("{PIN}{}", pin.sha256), pin).await
}

pub(super) async fn delete_pin(store: &Store, sha256: &str) -> Result<(), LifeError> {
    let mut batch = Batch::new();
    batch.delete(Table::Meta, format!("{PIN}{sha256}"));
    store.commit(batch).await.map_err(LifeError::Write)
}

/// The hash that a file of the folder had when it was last taken.
pub(super) async fn write_file(store: &Store, file: &str, sha256: &str) -> Result<(), LifeError> {
    put(store, format!("{FILE}{file}"), &sha256).await
}

pub(super) async fn read(store: &Store, book: &mut Book) -> Result<(), LifeError> {
    for (_, record) in all::<Record>(store, RECORD).await? {
        book.records.insert(record.name.clone(), record);
    }
    for (_, pin) in all::<Pin>(store, PIN).await? {
        book.pins.insert(pin.sha256.clone(), pin);
    }
    for (file, sha256) in all::<String>(store, FILE).await? {
        book.files.entry(file).or_default().taken = Some(sha256);
    }
    Ok(())
}

async fn put(store: &Store, key: String, row: &impl Serialize) -> Result<(), LifeError> {
    let row = serde_json::to_vec(row).map_err(|why| LifeError::Row {
        name: key.clone(),
        why,
    })?;
    let mut batch = Batch::new();
    batch.put(Table::Meta, key, row);
    store.commit(batch).await.map_err(LifeError::Write)
}

async fn all<T: DeserializeOwned>(
    store: &Store,
    prefix: &str,
) -> Result<Vec<(String, T)>, LifeError> {
    let end = prefix_end(prefix.as_bytes());
    let rows = store
        .scan(
            Table::Meta,
            prefix.as_bytes(),
            &end,
            Direction::Forward,
            ROWS,
        )
        .await
        .map_err(LifeError::Read)?;
    rows.into_iter()
        .map(|(key, value)| {
            let key = String::from_utf8_lossy(&key);
            let name = key.strip_prefix(prefix).unwrap_or(&key).to_owned();
            match serde_json::from_slice(&value) {
                Ok(row) => Ok((name, row)),
                Err(why) => Err(LifeError::Row { name, why }),
            }
        })
        .collect()
}
