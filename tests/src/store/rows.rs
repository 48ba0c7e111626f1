//! Commits that make loss and tearing visible, and the check of the rows that remain after a crash.
//!
//! Writers work in lanes. Commit number `n` of a lane puts four rows, moves the lane's head on from
//! `n - 1`, and deletes a row of the previous commit. The rows alone therefore show whether a
//! commit is torn, missing before later ones, or out of order. All lanes add to one row of counts,
//! which holds the number of commits.

use std::collections::BTreeSet;

use switchyard_store::{
    Backend, Batch, CommitError, Direction, Store, StoreSettings, Table, counts,
};

/// Concurrent writers.
pub const LANES: u64 = 16;

/// Settings with which the child and its parent open the same store.
pub fn settings(backend: Backend, directory: &std::path::Path) -> StoreSettings {
    StoreSettings {
        backend,
        path: directory.join("store"),
        cache_bytes: 8 * 1024 * 1024,
    }
}

pub fn backend_named(name: &str) -> Option<Backend> {
    [Backend::Sqlite, Backend::Sled]
        .into_iter()
        .find(|backend| backend.name() == name)
}

/// Makes commit number `n`, counted from 1, of a lane.
pub async fn commit(store: &Store, lane: u64, n: u64) -> Result<(), CommitError> {
    let key = key(lane, n);
    let mut batch = Batch::new();
    if n == 1 {
        batch.require_absent(Table::Timer, lane.to_be_bytes());
    } else {
        batch.require_version(Table::Timer, lane.to_be_bytes(), n - 1);
    }
    batch.put_versioned(Table::Timer, lane.to_be_bytes(), n, "");
    for table in KEPT {
        batch.put(table, key, value(table, lane, n));
    }
    batch.add(Table::Count, COUNT, [1, n.cast_signed()]);
    batch.put(Table::Outbox, key, "");
    batch.delete(Table::Outbox, self::key(lane, n - 1));
    store.commit(batch).await
}

/// Returns the number of the last commit of each lane, or the first inconsistency of the rows.
pub async fn check(store: &Store) -> Result<Vec<u64>, String> {
    let mut heads = Vec::new();
    for lane in 0..LANES {
        let head = store.get_versioned(Table::Timer, &lane.to_be_bytes()).await;
        let head = head.map_err(|error| error.to_string())?;
        heads.push(head.map_or(0, |(version, _)| version));
    }
    let counted = store.get(Table::Count, COUNT).await;
    let counted: [u64; 2] = counts(counted.map_err(|error| error.to_string())?.as_deref());
    let made: [u64; 2] = [
        heads.iter().sum(),
        heads.iter().map(|head| head * (head + 1) / 2).sum(),
    ];
    if counted != made {
        return Err(format!(
            "the lanes' heads tell of {made:?} commits, counted are {counted:?}"
        ));
    }
    let expected: BTreeSet<_> = (0..LANES)
        .flat_map(|lane| (1..=heads[lane as usize]).map(move |n| key(lane, n)))
        .collect();
    for table in KEPT {
        let rows = all(store, table).await?;
        for (row, bytes) in &rows {
            let (lane, n) = number(row)
                .ok_or_else(|| format!("a key of {table:?} is none of ours: {row:?}"))?;
            if *bytes != value(table, lane, n) {
                return Err(format!(
                    "commit {n} of lane {lane} is torn: its value in {table:?} is not what was written"
                ));
            }
        }
        let found: BTreeSet<_> = rows
            .into_iter()
            .filter_map(|(row, _)| row.try_into().ok())
            .collect();
        compare(table, &expected, &found)?;
    }
    let last: BTreeSet<_> = (0..LANES)
        .filter(|lane| heads[*lane as usize] > 0)
        .map(|lane| key(lane, heads[lane as usize]))
        .collect();
    let found = all(store, Table::Outbox).await?;
    compare(
        Table::Outbox,
        &last,
        &found
            .into_iter()
            .filter_map(|(row, _)| row.try_into().ok())
            .collect(),
    )?;
    Ok(heads)
}

/// Returns the acknowledged commits that are beyond the heads of their lanes, and therefore lost.
pub fn lost(acknowledged: &[(u64, u64)], heads: &[u64]) -> Vec<(u64, u64)> {
    let is_lost = |(lane, n): &&(u64, u64)| heads[*lane as usize] < *n;
    acknowledged.iter().filter(is_lost).copied().collect()
}

fn compare(
    table: Table,
    expected: &BTreeSet<[u8; 16]>,
    found: &BTreeSet<[u8; 16]>,
) -> Result<(), String> {
    let numbers = |keys: Vec<&[u8; 16]>| -> Vec<_> {
        keys.into_iter()
            .take(5)
            .filter_map(|key| number(key))
            .collect()
    };
    let missing = numbers(expected.difference(found).collect());
    let extra = numbers(found.difference(expected).collect());
    if missing.is_empty() && extra.is_empty() {
        return Ok(());
    }
    Err(format!(
        "{table:?} does not fit the lanes' heads: (lane, commit) missing {missing:?}, beyond {extra:?}, of {} rows",
        expected.len()
    ))
}

async fn all(store: &Store, table: Table) -> Result<Vec<(Vec<u8>, Vec<u8>)>, String> {
    let rows = store.scan(table, &[], &[u8::MAX; 17], Direction::Forward, usize::MAX);
    rows.await.map_err(|error| error.to_string())
}

fn key(lane: u64, n: u64) -> [u8; 16] {
    (u128::from(lane) << 64 | u128::from(n)).to_be_bytes()
}

fn number(key: &[u8]) -> Option<(u64, u64)> {
    let key = u128::from_be_bytes(key.try_into().ok()?);
    Some(((key >> 64) as u64, key as u64))
}

/// Bytes that are unique to a row. Every 16th row is large, so that it spans disk pages.
fn value(table: Table, lane: u64, n: u64) -> Vec<u8> {
    let length = match n % 16 {
        0 => 12_000,
        short => 50 + short * 50,
    };
    let mut seed = (lane << 48 | n << 8 | table as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut bytes = Vec::with_capacity(length as usize + 8);
    while bytes.len() < length as usize {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        bytes.extend_from_slice(&seed.to_le_bytes());
    }
    bytes
}

/// Key of the row with the number of commits and the sum of their numbers.
const COUNT: &[u8] = b"all";
/// Tables in which every commit leaves a row.
const KEPT: [Table; 3] = [Table::Transaction, Table::Event, Table::Index];
