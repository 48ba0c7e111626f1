//! Timer of an actor that schedules its own scans.

use tokio::sync::watch;

use switchyard_core::time::Timestamp;
use switchyard_system::clock::Clock;

/// Calls `scan` at each deadline that `deadlines` shows. After a call it waits until another one is
/// set, also when that is the same. Ends when the actor is gone or `stopping` becomes true.
pub(super) async fn scan_at(
    clock: Clock,
    mut deadlines: watch::Receiver<Option<Timestamp>>,
    mut stopping: watch::Receiver<bool>,
    scan: impl Fn(),
) {
    loop {
        let at = *deadlines.borrow_and_update();
        let timer = async {
            match at {
                Some(at) => clock.sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        let is_due = tokio::select! {
            biased; // deterministic: one seed, one history
            () = timer => true,
            changed = deadlines.changed() => {
                if changed.is_err() {
                    return;
                }
                false
            }
            _ = stopping.wait_for(|stopping| *stopping) => return,
        };
        if !is_due {
            continue;
        }
        scan();
        if deadlines.changed().await.is_err() {
            return;
        }
    }
}
