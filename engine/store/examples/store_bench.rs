//! How many durable commits a second the store makes: `cargo run --release --example store_bench -- [sqlite|sled|memory]
//! [committers] [commits] [directory]`.
//!
//! Each committer makes one commit after the other, of six rows as a new payment has them, and waits for each.

#![expect(clippy::print_stdout, reason = "output of a command")]

use std::path::PathBuf;
use std::process::ExitCode;

use switchyard_store::{Backend, Batch, Store, StoreSettings, Table};
use tokio::time::Instant;

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument =
        |at: usize, default: &str| arguments.get(at).map_or(default.to_owned(), Clone::clone);
    let backend = match argument(0, "sqlite").as_str() {
        "sqlite" => Backend::Sqlite,
        "sled" => Backend::Sled,
        "memory" => Backend::Memory,
        other => {
            eprintln!("there is no backend {other}: sqlite, sled or memory");
            return ExitCode::FAILURE;
        }
    };
    let (Ok(committers), Ok(commits)) = (
        argument(1, "64").parse::<u64>(),
        argument(2, "100000").parse::<u64>(),
    ) else {
        eprintln!("the numbers of committers and of commits are whole numbers");
        return ExitCode::FAILURE;
    };
    let settings = StoreSettings {
        backend,
        path: PathBuf::from(argument(3, "target/store-bench")),
        cache_bytes: 64 * 1024 * 1024,
    };
    let started = Instant::now();
    let store = match Store::open(&settings) {
        Ok(store) => store,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    println!(
        "opened in {:.2} s, resident {} MiB",
        started.elapsed().as_secs_f64(),
        resident_mib()
    );
    if !matches!(store.get(Table::Transaction, &id(0)).await, Ok(None)) {
        eprintln!(
            "{} holds the rows of another run: name another directory",
            settings.path.display()
        );
        return ExitCode::FAILURE;
    }
    measure(&store, committers, commits).await;
    let started = Instant::now();
    store.close().await;
    println!("closed in {:.2} s", started.elapsed().as_secs_f64());
    ExitCode::SUCCESS
}

async fn measure(store: &Store, committers: u64, commits: u64) {
    let started = Instant::now();
    let each = commits / committers;
    let tasks: Vec<_> = (0..committers)
        .map(|committer| {
            tokio::spawn(work(
                store.clone(),
                committer * each..(committer + 1) * each,
            ))
        })
        .collect();
    let mut slowest = Vec::new();
    for task in tasks {
        slowest.extend(task.await.expect("a committer ends"));
    }
    let seconds = started.elapsed().as_secs_f64();
    slowest.sort_unstable();
    let share = |of: f64| slowest[((slowest.len() - 1) as f64 * of) as usize];
    let stats = store.stats();
    println!(
        "{:.0} commits/s with {committers} committers; {} flushes, {:.1} commits a flush, at most {}",
        (committers * each) as f64 / seconds,
        stats.batches,
        stats.commits as f64 / stats.batches as f64,
        stats.largest_batch
    );
    println!(
        "microseconds: median {}, p99 {}, p99.9 {}, longest {}; resident {} MiB",
        share(0.5),
        share(0.99),
        share(0.999),
        share(1.0),
        resident_mib()
    );
}

/// Makes the commits of these payments, and tells how many microseconds each took.
async fn work(store: Store, payments: std::ops::Range<u64>) -> Vec<u128> {
    let mut took = Vec::new();
    for payment in payments {
        let started = Instant::now();
        store
            .commit(new_payment(payment))
            .await
            .expect("the disk has room");
        took.push(started.elapsed().as_micros());
    }
    took
}

fn new_payment(number: u64) -> Batch {
    let id = id(number);
    let app = [7; 16];
    let due = [(1_000_000 + number).to_be_bytes().as_slice(), &id].concat();
    let mut batch = Batch::new();
    batch.require_absent(Table::Transaction, id);
    batch.put_versioned(Table::Transaction, id, 1, [b's'; 700]);
    batch.put(Table::Event, [id.as_slice(), &[0; 4]].concat(), [b'e'; 200]);
    batch.put(Table::Index, [b"app".as_slice(), &app, &due].concat(), "");
    batch.put(
        Table::Index,
        [b"reference".as_slice(), &app, &id].concat(),
        id,
    );
    batch.put(Table::Timer, &due, id);
    batch.put(Table::Outbox, &due, [b'o'; 60]);
    batch
}

/// Spread over the key space and in no order, as random identifiers are.
fn id(number: u64) -> [u8; 16] {
    (u128::from(number) + 1)
        .wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835)
        .to_be_bytes()
}

fn resident_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .unwrap_or_default();
    let kib = line.trim().trim_end_matches(" kB").parse::<u64>();
    kib.unwrap_or_default() / 1024
}
