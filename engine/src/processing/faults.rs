//! Faults that a test plants in the actors: a panic at a place, or a gate that holds whoever comes there. In tests only.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Semaphore;

#[derive(Default)]
pub(crate) struct Faults(Mutex<BTreeMap<&'static str, Fault>>);

#[derive(Clone)]
enum Fault {
    Panic { times: usize },
    Gate(Arc<Semaphore>),
}

impl Faults {
    /// The next so many that come to `place` panic.
    pub(crate) fn panic_at(&self, place: &'static str, times: usize) {
        self.plant(place, Fault::Panic { times });
    }

    /// Everybody who comes to `place` waits until the gate that is returned is closed for good.
    pub(crate) fn block_at(&self, place: &'static str) -> Arc<Semaphore> {
        let gate = Arc::new(Semaphore::new(0));
        self.plant(place, Fault::Gate(gate.clone()));
        gate
    }

    fn plant(&self, place: &'static str, fault: Fault) {
        let mut faults = self.0.lock();
        faults.insert(place, fault);
    }

    /// How many panics are left at `place`.
    pub(crate) fn left(&self, place: &'static str) -> usize {
        match self.0.lock().get(place) {
            Some(Fault::Panic { times }) => *times,
            _ => 0,
        }
    }

    /// Panics when that was planted here.
    pub(crate) fn inject_panic(&self, place: &'static str) {
        let mut faults = self.0.lock();
        if let Some(Fault::Panic { times }) = faults.get_mut(place)
            && *times > 0
        {
            *times -= 1;
            drop(faults);
            panic!("planted at {place}");
        }
    }

    /// The same, and waits at a gate.
    pub(crate) async fn wait_at(&self, place: &'static str) {
        let fault = {
            let faults = self.0.lock();
            faults.get(place).cloned()
        };
        match fault {
            // A closed semaphore is an open gate.
            Some(Fault::Gate(gate)) => drop(gate.acquire().await),
            Some(Fault::Panic { .. }) => self.inject_panic(place),
            None => {}
        }
    }
}
