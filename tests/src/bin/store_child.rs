//! Writes to a store until it is killed: `store_child <engine> <directory>`. Each commit is printed after its acknowledgment.

use std::path::PathBuf;
use std::process::ExitCode;

use switchyard_engine::store::Store;
use switchyard_tests::store::rows::{LANES, check, commit, engine_named, settings};

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (Some(engine), Some(directory)) = (
        arguments.next().and_then(|name| engine_named(&name)),
        arguments.next().map(PathBuf::from),
    ) else {
        eprintln!("usage: store_child <engine> <directory>");
        return ExitCode::FAILURE;
    };
    let store = match Store::open(&settings(engine, &directory)) {
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
        .map(|lane| tokio::spawn(work(store.clone(), lane, heads[lane as usize])))
        .collect();
    for lane in lanes {
        if let Ok(why) = lane.await {
            eprintln!("{why}");
        }
    }
    ExitCode::FAILURE
}

/// Commits on and on after `last`. Ends only when it can not, and tells why.
async fn work(store: Store, lane: u64, last: u64) -> String {
    let mut n = last;
    loop {
        n += 1;
        if let Err(error) = commit(&store, lane, n).await {
            return format!("commit {n} of lane {lane}: {error}");
        }
        println!("{lane} {n}");
    }
}
