//! A closed loop: each client sends the next request as soon as it has a response. The result is
//! the maximum rate of the machine.

use std::time::Duration;

use anyhow::Result;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::{Load, Work, micros, threads};
use crate::machine;

/// `clients` do it for `time`.
///
/// # Errors
/// With the first that fails.
pub async fn closed(work: &impl Work, clients: u64, time: Duration) -> Result<Load> {
    let (handle, worked) = (threads()?, machine::worked());
    let start = Instant::now();
    let end = start + time;
    let mut loops = JoinSet::new();
    for client in 0..clients {
        let work = work.clone();
        let one = async move {
            let mut line = work.begin().await?;
            let mut latencies = Vec::new();
            let mut number = client << 40;
            while Instant::now() < end {
                let begun = Instant::now();
                work.once(&mut line, number).await?;
                latencies.push(micros(begun.elapsed()));
                number += 1;
            }
            anyhow::Ok(latencies)
        };
        loops.spawn_on(one, handle);
    }
    let mut load = Load::default();
    while let Some(done) = loops.join_next().await {
        load.latencies.extend(done??);
    }
    load.seconds = start.elapsed().as_secs_f64();
    load.worked = machine::worked() - worked;
    load.latencies.sort_unstable();
    Ok(load)
}
