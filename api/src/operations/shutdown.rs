//! Shutdown: SIGTERM or SIGINT, and the notification of open streams.

use std::future::pending;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

/// Tells that the end has begun. Streams (live status, `listen`) end themselves then, or the server
/// would wait for them.
#[derive(Clone, Debug)]
pub struct Draining(watch::Sender<bool>);

impl Default for Draining {
    fn default() -> Self {
        Self(watch::Sender::new(false))
    }
}

impl Draining {
    pub fn begin(&self) {
        self.0.send_replace(true);
    }

    pub fn has_begun(&self) -> bool {
        *self.0.borrow()
    }

    /// Returns when the end has begun.
    pub async fn begun(&self) {
        let mut news = self.0.subscribe();
        if news.wait_for(|begun| *begun).await.is_err() {
            // Unreachable while `self` holds the sender; waiting for ever is what was promised.
            pending::<()>().await;
        }
    }
}

/// The signals that tell the program to end. From the moment this is made they no longer kill it.
pub struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl StopSignals {
    /// # Errors
    /// When the operating system does not let the program listen to signals.
    pub fn listen() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// Returns the name of the first that comes, or has come already.
    pub async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn everyone_hears_of_the_end_those_who_come_late_too() {
        let draining = Draining::default();
        let waiting = tokio::spawn({
            let draining = draining.clone();
            async move { draining.begun().await }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished() && !draining.has_begun());
        draining.begin();
        waiting.await.unwrap();
        draining.begun().await;
    }
}
