//! Host of a version's code: a worker process, see [`worker`]. The only way to run a step.
//!
//! The simulation and the fuzzers have no files: their versions are linked into their program, and
//! steps run there.

use std::path::Path;

use super::GatewaySettings;
use super::inspect::{Inspection, Refused};
use super::library::Step;
#[cfg(any(feature = "simulation", feature = "fuzzing"))]
use super::library::{self, Library};
use super::redact::Redactor;
use super::throttled_io::Throttle;
use super::version::Version;
use super::worker::{self, Crash, Worker};

/// Host of a version's code.
pub(super) enum GatewayHost {
    Worker(Box<Worker>),
    #[cfg(any(feature = "simulation", feature = "fuzzing"))]
    Linked(Library),
}

/// Call for which the host holds state; dropping it ends the call there.
pub(super) enum RunningCall {
    Worker(worker::WorkerCall),
    #[cfg(any(feature = "simulation", feature = "fuzzing"))]
    Linked(library::LibraryCall),
}

/// Reason why a step has no answer: a sentence.
pub(super) struct StepError(pub String);

/// Result of a step, and the call to resume if there is one.
pub(super) type StepResult = Result<(Step, Option<RunningCall>), StepError>;

impl GatewayHost {
    /// Creates the worker of the engine's own copy of an inspected file. With `start` its process
    /// is started now, at that throttle. Blocks.
    pub(super) fn open(
        settings: &GatewaySettings,
        inspection: &Inspection,
        kept: &Path,
        start: Option<Throttle>,
    ) -> Result<Self, Refused> {
        let Inspection {
            manifest, sha256, ..
        } = inspection;
        let worker = Worker::new(&manifest.name, sha256, kept, &settings.worker);
        if let Some(pace) = start {
            worker.start(pace)?;
        }
        Ok(Self::Worker(Box::new(worker)))
    }

    /// Begins an operation.
    pub(super) async fn begin(
        &self,
        version: &Version,
        redactor: &Redactor,
        message: &[u8],
    ) -> StepResult {
        match self {
            Self::Worker(worker) => {
                let begun = worker.begin(redactor, message).await;
                self.check_health(version);
                let (step, running) = begun?;
                Ok((step, running.map(RunningCall::Worker)))
            }
            #[cfg(any(feature = "simulation", feature = "fuzzing"))]
            Self::Linked(library) => {
                let (step, call) = library.begin(message);
                Ok((step, call.map(RunningCall::Linked)))
            }
        }
    }

    /// Counts the crashes of the version's workers, which may quarantine it.
    fn check_health(&self, version: &Version) {
        for crash in self.worker().map(Worker::take_crashes).unwrap_or_default() {
            version.worker_died(&crash);
        }
    }

    fn worker(&self) -> Option<&Worker> {
        match self {
            Self::Worker(worker) => Some(worker),
            #[cfg(any(feature = "simulation", feature = "fuzzing"))]
            Self::Linked(_) => None,
        }
    }

    /// Last crash of one of its workers.
    pub(super) fn last_crash(&self) -> Option<Crash> {
        self.worker()?.last_crash()
    }

    /// Whether the next call begins at once: its process runs.
    pub(super) fn is_started(&self) -> bool {
        self.worker().is_none_or(Worker::is_started)
    }

    /// Starts its process. Blocks.
    pub(super) fn start(&self) -> Result<(), Refused> {
        match self.worker() {
            // With pauses: payments go on through the version that is in use.
            Some(worker) => worker.start(Throttle::Resting),
            None => Ok(()),
        }
    }

    /// Sets whether new attempts begin on this version.
    pub(super) fn set_current(&self, is_current: bool) {
        if let Some(worker) = self.worker() {
            worker.set_retired(!is_current);
        }
    }

    /// Resets the crash history and the backoff of its workers.
    pub(super) fn reset(&self) {
        if let Some(worker) = self.worker() {
            worker.reset();
        }
    }
}

impl RunningCall {
    /// Resumes with the result of one effect.
    pub(super) async fn resume(self, version: &Version, message: &[u8]) -> StepResult {
        match self {
            Self::Worker(running) => {
                let resumed = running.resume(message).await;
                version.host.check_health(version);
                let (step, running) = resumed?;
                Ok((step, running.map(Self::Worker)))
            }
            #[cfg(any(feature = "simulation", feature = "fuzzing"))]
            Self::Linked(mut call) => {
                let step = call.resume(message);
                Ok((step, Some(Self::Linked(call))))
            }
        }
    }
}
