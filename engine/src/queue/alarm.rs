//! Timer of an actor that schedules its own scans.

use tokio::sync::watch;

use crate::clock::{Clock, Timestamp};

/// Calls `look` at each time that `rings` shows. After a call it waits until a next time is set, also
/// when that is the same. Ends when the actor is gone or `stopping` becomes true.
pub(crate) async fn wake_at(
    clock: Clock,
    mut rings: watch::Receiver<Option<Timestamp>>,
    mut stopping: watch::Receiver<bool>,
    look: impl Fn(),
) {
    loop {
        let at = *rings.borrow_and_update();
        let alarm = async {
            match at {
                Some(at) => clock.sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        let rang = tokio::select! {
            biased; // no chance: a seed has to give one history
            () = alarm => true,
            changed = rings.changed() => {
                if changed.is_err() {
                    return;
                }
                false
            }
            _ = stopping.wait_for(|stopping| *stopping) => return,
        };
        if !rang {
            continue;
        }
        look();
        if rings.changed().await.is_err() {
            return;
        }
    }
}
