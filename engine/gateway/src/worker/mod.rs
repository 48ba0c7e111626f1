//! Worker process of a version.
//!
//! Guarantees:
//! - Whatever the library does, the engine and all other gateways continue.
//! - The library has no network, no files, no threads and no programs, and sees secrets only in the
//!   messages of its calls.
//! - A step returns an answer, or the reason why there is none, within little more than a second.
//! - A library computes only in its steps: a worker that uses CPU time outside of them is killed.
//! - A worker does not outlive the engine, however the engine ends.
//!
//! The process is started when the version is added, or when a call needs it, and stopped after an
//! idle timeout. So earlier versions, which only their open attempts still need, use no resources.
//! After a crash the next call starts the worker again, with a backoff.
//!
//! [`run`] is the main function of the worker's process.

mod cpu;
mod direct;
mod frame;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod inside;
mod not_started;
mod output;
mod process;
mod record;
mod walls;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;

pub use self::direct::{BareCall, DirectLibrary, DirectStep};
pub use self::inside::{missing_walls, run};
use self::not_started::NotStarted;
use self::process::{KillReason, Process};
pub(super) use self::record::Crash;
use self::record::Record;
pub use self::walls::{WALLS, refused_walls};
use super::host::StepError;
use super::inspect::Refused;
use super::library::Step;
use super::redact::Redactor;
use super::throttled_io::Throttle;
use switchyard_core::limits::{GATEWAY_WORKER_IDLE, GATEWAY_WORKER_IDLE_PAST};

/// Settings for starting workers.
#[derive(Clone, Debug)]
pub struct WorkerSettings {
    /// Program with the command `gateway-worker`: `switchyard`.
    pub program: PathBuf,
    /// Maximum memory of a worker, in bytes, for its library and all its calls.
    pub memory_bytes: u64,
    /// Names of sandbox restrictions, of [`WALLS`], that may be missing on this system. If any
    /// other is missing, no gateway is loaded into a worker.
    pub accepted: Vec<String>,
}

impl Default for WorkerSettings {
    fn default() -> Self {
        Self {
            // This program, even when its file was replaced after its start.
            program: PathBuf::from("/proc/self/exe"),
            memory_bytes: 512 * 1024 * 1024,
            accepted: Vec::new(),
        }
    }
}

/// Worker of one version: the running process, if there is one, and the settings to start the next.
pub(super) struct Worker {
    launch: Arc<Launch>,
    record: Arc<Record>,
    /// Weak, so that a process that has ended is freed with the threads that served it, and the
    /// state of its calls with it.
    running: Mutex<Weak<Process>>,
    starting: tokio::sync::Mutex<()>,
}

/// Launch parameters of a worker.
struct Launch {
    name: String,
    sha256: String,
    library: PathBuf,
    program: PathBuf,
    memory_bytes: u64,
    accepted: Vec<String>,
    /// Whether the version is not the current one. The idle timeout of its worker is then shorter.
    is_retired: AtomicBool,
}

/// Call for which a worker holds state; dropping it ends the call there.
pub(super) struct WorkerCall {
    process: Arc<Process>,
    call: u32,
    is_held: bool,
}

impl Worker {
    /// Creates the worker of a library, given by the engine's own copy. Starts no process yet.
    pub(super) fn new(name: &str, sha256: &str, kept: &Path, settings: &WorkerSettings) -> Self {
        // A worker has another working directory.
        let library = std::path::absolute(kept).unwrap_or_else(|_| kept.to_owned());
        Self {
            launch: Arc::new(Launch {
                name: name.to_owned(),
                sha256: sha256.to_owned(),
                library,
                program: settings.program.clone(),
                memory_bytes: settings.memory_bytes,
                accepted: settings.accepted.clone(),
                is_retired: AtomicBool::new(false),
            }),
            record: Arc::default(),
            running: Mutex::default(),
            starting: tokio::sync::Mutex::default(),
        }
    }

    /// Starts the worker and loads the library in it, to check that this works. Blocks.
    pub(super) fn start(&self, pace: Throttle) -> Result<(), Refused> {
        let started = Process::start(&self.launch, &self.record, pace).map_err(|why| {
            self.launch.note_failed_start(&why);
            why.about(self.launch.library.clone())
        })?;
        self.now_runs(&started);
        Ok(())
    }

    pub(super) fn is_started(&self) -> bool {
        self.that_runs().is_some()
    }

    /// Begins an operation.
    pub(super) async fn begin(
        &self,
        redactor: &Redactor,
        message: &[u8],
    ) -> Result<(Step, Option<WorkerCall>), StepError> {
        // Retry once: an idle worker may stop at this moment, and nothing of the call was begun
        // then.
        for _ in 0..2 {
            let process = self.process().await?;
            let Some((call, answer)) = process.begin(redactor, message).map_err(StepError)? else {
                continue;
            };
            let running = WorkerCall {
                process,
                call,
                is_held: true,
            };
            return running.answer(answer).await;
        }
        Err(StepError("its worker ended as it began".to_owned()))
    }

    /// Crashes that were not returned before.
    pub(super) fn take_crashes(&self) -> Vec<Crash> {
        self.record.take_crashes()
    }

    pub(super) fn last_crash(&self) -> Option<Crash> {
        self.record.last()
    }

    /// Resets the crash history and the backoff.
    pub(super) fn reset(&self) {
        self.record.reset();
    }

    /// Sets whether the version is past: no new attempts begin on it. A worker that only serves
    /// queries about earlier attempts has a shorter idle timeout.
    pub(super) fn set_retired(&self, is_retired: bool) {
        self.launch.is_retired.store(is_retired, Ordering::Relaxed);
        if let Some(process) = self.that_runs() {
            process.wake_keeper();
        }
    }

    /// Returns the running process, or starts one.
    async fn process(&self) -> Result<Arc<Process>, StepError> {
        if let Some(process) = self.that_runs() {
            return Ok(process);
        }
        let _one_at_a_time = self.starting.lock().await;
        if let Some(process) = self.that_runs() {
            return Ok(process);
        }
        tokio::time::sleep(self.record.backoff()).await;
        let (launch, record) = (Arc::clone(&self.launch), Arc::clone(&self.record));
        // No throttle: a call waits for it.
        let start = move || Process::start(&launch, &record, Throttle::AtOnce);
        let started = tokio::task::spawn_blocking(start).await;
        let process = match started {
            Ok(Ok(process)) => process,
            Ok(Err(why)) => {
                self.launch.note_failed_start(&why);
                return Err(StepError(format!("its worker cannot start: {why}")));
            }
            Err(_) => return Err(StepError("the engine is stopping".to_owned())),
        };
        self.now_runs(&process);
        Ok(process)
    }

    fn that_runs(&self) -> Option<Arc<Process>> {
        let running = self.running.lock();
        running.upgrade().filter(|process| process.is_open())
    }

    fn now_runs(&self, process: &Arc<Process>) {
        let mut running = self.running.lock();
        *running = Arc::downgrade(process);
    }
}

impl Launch {
    /// Idle timeout of the worker.
    fn idle(&self) -> Duration {
        match self.is_retired.load(Ordering::Relaxed) {
            true => GATEWAY_WORKER_IDLE_PAST,
            false => GATEWAY_WORKER_IDLE,
        }
    }

    /// Logs and counts a worker that did not start.
    fn note_failed_start(&self, why: &NotStarted) {
        tracing::error!(
            gateway.name = self.name, gateway.sha256 = self.sha256, reason = %why,
            "the worker of a gateway cannot start"
        );
        let gateway = self.name.clone();
        metrics::counter!("switchyard_gateway_worker_starts_failed_total", "gateway" => gateway)
            .increment(1);
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if let Some(process) = self.that_runs() {
            process.kill(KillReason::NotNeeded);
        }
    }
}

impl WorkerCall {
    /// Resumes with the result of one effect.
    pub(super) async fn resume(self, message: &[u8]) -> Result<(Step, Option<Self>), StepError> {
        let answer = self.process.resume(self.call, message).map_err(StepError)?;
        self.answer(answer).await
    }

    async fn answer(
        mut self,
        answer: tokio::sync::oneshot::Receiver<Step>,
    ) -> Result<(Step, Option<Self>), StepError> {
        match answer.await {
            Ok(step @ Step::Pending(_)) => Ok((step, Some(self))),
            Ok(step) => {
                self.is_held = false;
                Ok((step, None))
            }
            Err(_) => {
                self.is_held = false;
                Err(StepError(self.process.why().to_owned()))
            }
        }
    }
}

impl Drop for WorkerCall {
    fn drop(&mut self) {
        if self.is_held {
            self.process.end(self.call);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};

    use super::*;

    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<u8>>>);

    impl Write for Log {
        fn write(&mut self, part: &[u8]) -> io::Result<usize> {
            self.0.lock().write(part)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn a_worker_that_does_not_start_is_logged_with_its_reason() {
        let settings = WorkerSettings {
            program: PathBuf::from("/nonexistent/switchyard"),
            ..WorkerSettings::default()
        };
        let worker = Worker::new("acme", "", Path::new("acme.so"), &settings);
        let log = Log::default();
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt().with_writer(move || writer.clone());
        let _logged = tracing::subscriber::set_default(subscriber.finish());
        let begun = worker.begin(&Redactor::default(), b"{}").await;
        assert!(begun.is_err_and(|StepError(why)| why.contains("its worker cannot start")));
        let refused = worker.start(Throttle::AtOnce).unwrap_err().to_string();
        assert!(refused.contains("its process did not start"), "{refused}");
        let text = String::from_utf8(log.0.lock().clone()).unwrap();
        let told = text.matches("the worker of a gateway cannot start").count();
        assert!(
            told == 2 && text.contains("/nonexistent/switchyard"),
            "{text}"
        );
    }
}
