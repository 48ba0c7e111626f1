//! Conformance of the backends, and the behaviour of the store when one fails.

mod backup;
mod check;
mod conformance;
mod copy;
mod damage;
mod failure;
mod log;
mod shell;
mod trials;

use super::*;

fn batch(fill: impl FnOnce(&mut Batch)) -> Batch {
    let mut batch = Batch::new();
    fill(&mut batch);
    batch
}

async fn text(store: &Store, table: Table, key: &str) -> Option<String> {
    let value = store.get(table, key.as_bytes()).await.unwrap();
    value.map(|value| String::from_utf8(value).unwrap())
}
