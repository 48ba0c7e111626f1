//! Threads of the actors.
//!
//! Actors run on arbiters of their own. The HTTP server and network I/O stay on tokio's runtime.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;

use actix::prelude::*;

/// An actix system on a thread of its own, with one arbiter a core.
pub(crate) struct ActorThreads {
    arbiters: Vec<ArbiterHandle>,
    next: AtomicUsize,
    system: System,
    thread: parking_lot::Mutex<Option<JoinHandle<()>>>,
}

impl ActorThreads {
    /// Starts the threads. Fails when the operating system gives none.
    pub(crate) fn start() -> std::io::Result<Self> {
        #[cfg(feature = "simulation")]
        if switchyard_system::simulation::is_on() {
            return Ok(Self::here());
        }
        let (sender, receiver) = mpsc::channel();
        let count = std::thread::available_parallelism().map_or(1, usize::from);
        let thread = std::thread::Builder::new()
            .name("actors".to_owned())
            .spawn(move || {
                let runner = System::new();
                let arbiters: Vec<Arbiter> =
                    runner.block_on(async move { (0..count).map(|_| Arbiter::new()).collect() });
                let handles = arbiters.iter().map(Arbiter::handle).collect();
                let system = runner.block_on(async { System::current() });
                if sender.send((handles, system)).is_err() {
                    return;
                }
                // The system's result is an exit code, which is not used.
                let _ = runner.run();
                for arbiter in arbiters {
                    arbiter.stop();
                    let _ = arbiter.join();
                }
            })?;
        let (arbiters, system) = receiver
            .recv()
            .map_err(|_| std::io::Error::other("the thread of the actors did not start"))?;
        Ok(Self {
            arbiters,
            next: AtomicUsize::new(0),
            system,
            thread: parking_lot::Mutex::new(Some(thread)),
        })
    }

    /// Without threads of its own: all actors run on the caller's arbiter, one at a time.
    #[cfg(feature = "simulation")]
    fn here() -> Self {
        Self {
            arbiters: vec![Arbiter::current()],
            next: AtomicUsize::new(0),
            system: System::current(),
            thread: parking_lot::Mutex::new(None),
        }
    }

    /// The arbiter for the next actor, in turn.
    pub(crate) fn arbiter(&self) -> &ArbiterHandle {
        let next = self.next.fetch_add(1, Ordering::Relaxed);
        &self.arbiters[next % self.arbiters.len()]
    }

    /// Stops all arbiters and waits for their threads. Waiting messages are dropped; their senders
    /// receive an error.
    pub(crate) fn stop(&self) {
        self.system.stop();
        let thread = self.thread.lock().take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}
