//! Periodic work besides the queues: passivates idle actors, deletes expired sandbox data and logs,
//! and logs changes of the machine's clock.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt as _;

use crate::callback;
use crate::engine::Engine;
use crate::idempotency;
use crate::mail;
use switchyard_records as records;

/// Interval of the comparison with the machine's clock.
const CLOCK_CHECK: Duration = Duration::from_secs(30);
/// Seconds by which two clocks may be apart that were read one after the other.
const CLOCK_DRIFT: i64 = 2;
/// Minimum interval of the passivation.
const MIN_INTERVAL: Duration = Duration::from_millis(200);
/// Interval of the sweeps.
const SWEEP: Duration = Duration::from_secs(60 * 60);

/// Starts the periodic work, each kind at once and in a task of its own: a sweep may take long.
pub(crate) fn start_housekeeping(engine: &Engine) {
    let idle = (engine.settings().idle_after / 2).max(MIN_INTERVAL);
    let mut known = 0;
    start(engine, CLOCK_CHECK, move |engine| {
        detect_clock_change(&engine, &mut known);
        std::future::ready(())
    });
    start(engine, idle, async move |engine| passivate_idle(&engine));
    start(engine, SWEEP, async move |engine| sweep(&engine).await);
}

/// Does a part of the work at once and then periodically, until the engine stops. A panic in it is
/// counted and logged.
fn start<F: Future<Output = ()> + Send>(
    engine: &Engine,
    every: Duration,
    mut work: impl FnMut(Engine) -> F + Send + 'static,
) {
    let engine = engine.clone();
    let arbiter = engine.threads().arbiter().clone();
    arbiter.spawn(async move {
        while !engine.is_stopping() {
            let next = engine.clock().now().plus(every);
            let worked = async { work(engine.clone()).await };
            if AssertUnwindSafe(worked).catch_unwind().await.is_err() {
                metrics::counter!("switchyard_actor_panics_total", "actor" => "scheduler")
                    .increment(1);
                tracing::error!(actor = "scheduler", "housekeeping task panicked");
            }
            engine.clock().sleep_until(next).await;
        }
    });
}

/// Logs a change of the machine's clock.
fn detect_clock_change(engine: &Engine, known: &mut i64) {
    let set_by = engine.clock().set_since_start();
    if (set_by - *known).abs() > CLOCK_DRIFT {
        tracing::warn!(
            seconds = set_by,
            "the machine's clock was set since the start"
        );
        *known = set_by;
    }
}

async fn sweep(engine: &Engine) {
    #[cfg(test)]
    engine.faults().inject_panic("sweep");
    let now = engine.clock().now();
    let before = now.minus(engine.settings().sandbox_retention);
    for app in engine.access().apps(None) {
        if let Err(error) = records::purge_sandbox(engine.store(), app.id, before).await {
            tracing::error!(app.id = %app.id, %error, "failed to purge sandbox data, retrying in an hour");
        }
    }
    if let Err(error) = engine.webhooks().purge(before).await {
        tracing::error!(%error, "failed to purge webhook logs, retrying in an hour");
    }
    if let Err(error) = mail::purge(engine.store(), before).await {
        tracing::error!(%error, "failed to purge mail logs, retrying in an hour");
    }
    if let Err(error) = callback::sweep(engine).await {
        tracing::error!(%error, "failed to purge callbacks, retrying in an hour");
    }
    if let Err(error) = engine.quotas().sweep().await {
        tracing::error!(%error, "failed to delete expired counts of limits");
    }
    if let Err(error) = idempotency::sweep(engine.store(), now).await {
        tracing::error!(%error, "failed to purge idempotency keys, retrying in an hour");
    }
}

fn passivate_idle(engine: &Engine) {
    #[cfg(test)]
    engine.faults().inject_panic("rest");
    let before = engine.clock().now().minus(engine.settings().idle_after);
    engine.registry().passivate_idle(before);
}
