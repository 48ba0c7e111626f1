//! Messages to the service manager, as systemd defines them for `Type=notify`: ready, reloading,
//! stopping, and signs of life for its watchdog.
//!
//! Without `NOTIFY_SOCKET` in the environment nothing is sent. A sign of life requires that the
//! runtime schedules tasks and that an actor answers, so a deadlock ends in a restart by the
//! service manager. A store that cannot write does not: a restart would not change that.

use std::io;
use std::time::Duration;

use sd_notify::NotifyState;
use switchyard_engine::engine::Engine;

/// Reports that requests are served.
pub fn ready() {
    report(sd_notify::notify(&[NotifyState::Ready]));
}

/// Reports that the settings are read again. [`ready`] ends it.
pub fn reloading() {
    let now = NotifyState::monotonic_usec_now();
    report(now.and_then(|now| sd_notify::notify(&[NotifyState::Reloading, now])));
}

/// Reports that the shutdown has begun.
pub fn stopping() {
    report(sd_notify::notify(&[NotifyState::Stopping]));
}

/// Starts to send signs of life until the process ends, if the service manager has a watchdog.
pub fn start_watchdog(engine: &Engine) {
    if let Some(limit) = sd_notify::watchdog_enabled() {
        tokio::spawn(send_signs_of_life(engine.clone(), limit / SIGNS));
    }
}

/// Signs of life in the time after which the service manager ends the process: one of them may be
/// late.
const SIGNS: u32 = 3;

async fn send_signs_of_life(engine: Engine, every: Duration) {
    loop {
        // A queue that has stopped answers as well: the shutdown has a time limit of its own.
        let answer = tokio::time::timeout(every, engine.webhooks().snapshot()).await;
        match answer {
            Ok(_) => report(sd_notify::notify(&[NotifyState::Watchdog])),
            Err(_) => tracing::error!(
                after_ms = every.as_millis(),
                "actor does not answer, sign of life withheld"
            ),
        }
        tokio::time::sleep(every).await;
    }
}

/// Logs a message that could not be sent. The server runs on: the service manager decides.
fn report(sent: io::Result<()>) {
    if let Err(error) = sent {
        tracing::warn!(%error, "failed to notify service manager");
    }
}
