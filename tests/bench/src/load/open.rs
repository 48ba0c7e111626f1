//! An open loop: work is due at a fixed rate, whether what was due before is done or not.
//!
//! Latency is counted from the due time of a request, not from the time at which a client was free.
//! Otherwise a server that stalls for a second would get fewer requests during the stall, and look
//! good for it ("coordinated omission").

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::{CLIENTS, Load, Work, micros, threads};

/// `rate` a second fall due for `time`, and [`CLIENTS`] do them; it ends when all are done.
pub async fn open(work: &impl Work, rate: u64, time: Duration) -> Result<Load> {
    let (handle, mut lines) = (threads()?, Vec::new());
    for _ in 0..CLIENTS {
        let work = work.clone();
        lines.push(handle.spawn(async move { work.begin().await }).await??);
    }
    let (due, dues) = mpsc::unbounded_channel();
    let dues = Arc::new(Mutex::new(dues));
    let start = Instant::now();
    let pacer = std::thread::spawn(move || pace(start, rate, time, &due));
    let mut loops = JoinSet::new();
    for mut line in lines {
        let (work, dues) = (work.clone(), dues.clone());
        let one = async move {
            let mut load = Load::default();
            loop {
                // In a statement of its own: the lock is not held while the work is done.
                let next = dues.lock().await.recv().await;
                let Some((number, due)) = next else {
                    return load;
                };
                match work.once(&mut line, number).await {
                    Ok(()) => load.latencies.push(micros(due.elapsed())),
                    Err(error) => {
                        load.failed += 1;
                        load.first_failure
                            .get_or_insert_with(|| format!("{error:#}"));
                        match work.begin().await {
                            Ok(new) => line = new,
                            Err(_) => return load, // the others go on
                        }
                    }
                }
            }
        };
        loops.spawn_on(one, handle);
    }
    let mut all = Load::default();
    while let Some(done) = loops.join_next().await {
        all = all.join(done?);
    }
    all.seconds = start.elapsed().as_secs_f64();
    anyhow::ensure!(pacer.join().is_ok(), "the load's clock panicked");
    Ok(all)
}

/// On a thread of its own: the runtime's timers are a millisecond wide, which is more than most
/// answers take.
fn pace(start: Instant, rate: u64, time: Duration, due: &mpsc::UnboundedSender<(u64, Instant)>) {
    let count = rate as f64 * time.as_secs_f64();
    for number in 0..count.round() as u64 {
        let at = start + Duration::from_secs_f64(number as f64 / rate as f64);
        std::thread::sleep(at.saturating_duration_since(Instant::now()));
        if due.send((number, at)).is_err() {
            return;
        }
    }
}
