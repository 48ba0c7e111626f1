//! An alarm clock for an actor that knows when it has to look again.

use tokio::sync::watch;

use crate::clock::{Clock, Timestamp};

/// Calls `look` when the time has come that `rings` shows, again and again. Whoever is called answers with the next time, even when that is
/// the same. Ends when the actor is gone, or `stopping` turns true.
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
