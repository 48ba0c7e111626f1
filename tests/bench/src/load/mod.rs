//! Load: the same work again and again, in a closed loop (each as soon as the last was done) or an
//! open one (each at its time).

mod closed;
mod open;
mod wire;

use std::sync::LazyLock;
use std::time::Duration;

use anyhow::{Result, anyhow};
use tokio::runtime::{Builder, Handle, Runtime};

pub use closed::closed;
pub use open::open;
pub use wire::{Line, Request, read_message};

/// How many clients work at the same time.
pub const CLIENTS: u64 = 64;

/// The threads of the clients, who share none with what they ask, as in life. On shared threads a
/// client and its server took turns without any wake-up or did not, by the chance of a start: the
/// limits had two speeds, one half as fast again as the other.
fn threads() -> Result<&'static Handle> {
    static THREADS: LazyLock<std::io::Result<Runtime>> = LazyLock::new(|| {
        let mut threads = Builder::new_multi_thread();
        threads.thread_name("clients").enable_all().build()
    });
    let threads = THREADS.as_ref();
    threads
        .map(Runtime::handle)
        .map_err(|error| anyhow!("{error}"))
}

/// Work that a client repeats.
pub trait Work: Clone + Send + Sync + 'static {
    /// State between two repetitions, such as a connection.
    type Line: Send;

    fn begin(&self) -> impl Future<Output = Result<Self::Line>> + Send;

    /// Once; no two times have the same number.
    fn once(&self, line: &mut Self::Line, number: u64) -> impl Future<Output = Result<()>> + Send;
}

/// Result of one run.
#[derive(Clone, Debug, Default)]
pub struct Load {
    pub seconds: f64,
    /// Seconds of processor time of this process during the run: client, server and all.
    pub worked: f64,
    /// In microseconds, sorted.
    pub latencies: Vec<u32>,
    /// Number of failures, and the first error. A closed loop ends with the first.
    pub failed: u64,
    pub first_failure: Option<String>,
}

impl Load {
    pub fn per_second(&self) -> f64 {
        self.latencies.len() as f64 / self.seconds
    }

    /// Processor time that one request took, its client's share included, in microseconds. Others
    /// who use the machine change it less than they change the rate.
    pub fn worked_micros(&self) -> f64 {
        self.worked / self.latencies.len() as f64 * 1_000_000.0
    }

    /// The latency below which `share` of the requests were answered, in milliseconds.
    pub fn percentile_ms(&self, share: f64) -> f64 {
        let last = self.latencies.len().saturating_sub(1);
        let at = (last as f64 * share) as usize;
        self.latencies
            .get(at)
            .map_or(0.0, |micros| f64::from(*micros) / 1_000.0)
    }

    /// Both runs as one.
    pub fn join(mut self, other: Self) -> Self {
        self.seconds += other.seconds;
        self.worked += other.worked;
        self.latencies.extend(other.latencies);
        self.latencies.sort_unstable();
        self.failed += other.failed;
        self.first_failure = self.first_failure.or(other.first_failure);
        self
    }

    /// An error when something did not work.
    pub fn whole(self) -> Result<Self> {
        match &self.first_failure {
            None => Ok(self),
            Some(why) => anyhow::bail!("{} failed, the first: {why}", self.failed),
        }
    }
}

fn micros(time: Duration) -> u32 {
    u32::try_from(time.as_micros()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes 30 ms each time, one at a time whatever the clients.
    #[derive(Clone, Default)]
    struct Slow(std::sync::Arc<tokio::sync::Mutex<()>>);

    impl Work for Slow {
        type Line = ();

        async fn begin(&self) -> Result<()> {
            Ok(())
        }

        async fn once(&self, (): &mut (), number: u64) -> Result<()> {
            let _alone = self.0.lock().await;
            tokio::time::sleep(Duration::from_millis(30)).await;
            anyhow::ensure!(number != 3, "the fourth");
            Ok(())
        }
    }

    #[tokio::test]
    async fn an_open_loop_counts_from_when_the_work_was_due_and_goes_on_after_a_failure()
    -> Result<()> {
        // 20 are due within 200 ms and take 600 ms in all: the last one is done 400 ms and more
        // after it was due.
        let load = open(&Slow::default(), 100, Duration::from_millis(200)).await?;
        assert_eq!((load.latencies.len(), load.failed), (19, 1));
        assert!(load.percentile_ms(1.0) >= 400.0, "{load:?}");
        assert!(load.percentile_ms(0.0) >= 30.0, "{load:?}");
        assert_eq!(load.first_failure.as_deref(), Some("the fourth"));
        Ok(())
    }

    #[tokio::test]
    async fn a_closed_loop_ends_with_the_first_failure() {
        let end = closed(&Slow::default(), 1, Duration::from_secs(60)).await;
        assert!(end.is_err_and(|error| error.to_string() == "the fourth"));
    }
}
