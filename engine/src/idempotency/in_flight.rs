//! Requests with a key that are being carried out by this process, so that their twins can wait for
//! them.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;

#[derive(Clone, Default)]
pub(super) struct InFlightRequests(Arc<Mutex<HashMap<Vec<u8>, watch::Sender<()>>>>);

pub(super) enum Admission {
    First(InFlightGuard),
    /// Changes, with an error, once the twin has landed.
    Wait(watch::Receiver<()>),
}

/// Held while a request is carried out; letting it go wakes the twins, however the request ended.
pub(super) struct InFlightGuard {
    flights: InFlightRequests,
    key: Vec<u8>,
}

impl InFlightRequests {
    pub fn board(&self, key: &[u8]) -> Admission {
        let mut flights = self.lock();
        if let Some(flight) = flights.get(key) {
            return Admission::Wait(flight.subscribe());
        }
        flights.insert(key.to_vec(), watch::Sender::new(()));
        Admission::First(InFlightGuard {
            flights: self.clone(),
            key: key.to_vec(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Vec<u8>, watch::Sender<()>>> {
        self.0.lock()
    }
}

impl Drop for InFlightGuard {
    fn drop(&mut self) {
        self.flights.lock().remove(&self.key);
    }
}
