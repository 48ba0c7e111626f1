//! Writes to a store until it is killed: `store_child <backend> <directory> [patient]`. Each commit
//! is printed after its acknowledgment. A patient one prints what the store refuses, and tries the
//! same commit again.

#![expect(clippy::print_stdout, reason = "output of a command")]

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use switchyard_store::{CommitError, Store};
use switchyard_tests::store::rows::{LANES, backend_named, check, commit, settings};

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (Some(backend), Some(directory)) = (
        arguments.next().and_then(|name| backend_named(&name)),
        arguments.next().map(PathBuf::from),
    ) else {
        eprintln!("usage: store_child <backend> <directory> [patient]");
        return ExitCode::FAILURE;
    };
    let is_patient = arguments.next().is_some();
    let store = match Store::open(&settings(backend, &directory)) {
        Ok(store) => store,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let heads = match check(&store).await {
        Ok(heads) => heads,
        Err(wrong) => {
            eprintln!("{wrong}");
            return ExitCode::FAILURE;
        }
    };
    println!("open");
    let lanes: Vec<_> = (0..LANES)
        .map(|lane| tokio::spawn(work(store.clone(), lane, heads[lane as usize], is_patient)))
        .collect();
    for lane in lanes {
        if let Ok(why) = lane.await {
            eprintln!("{why}");
        }
    }
    ExitCode::FAILURE
}

/// Commits on and on after `last`. Ends only when it can not, and tells why.
async fn work(store: Store, lane: u64, last: u64, is_patient: bool) -> String {
    let mut n = last + 1;
    loop {
        match commit(&store, lane, n).await {
            Ok(()) => {
                println!("{lane} {n}");
                n += 1;
            }
            Err(CommitError::Unavailable { reason }) if is_patient => {
                println!("refused: {reason}");
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            Err(error) => return format!("commit {n} of lane {lane}: {error}"),
        }
    }
}
