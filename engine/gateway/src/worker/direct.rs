//! Library in a worker without a host: the caller answers its effects. Used by the check that the
//! author of a gateway runs.
//!
//! The sandbox is the same as in the engine: no network, no files, no threads, no programs, and one
//! second for a step.

use std::path::Path;

use super::{Worker, WorkerCall, WorkerSettings};
use crate::host::StepError;
use crate::inspect::{self, Inspection, Refused};
use crate::library::Step;
use crate::redact::Redactor;
use crate::throttled_io::Throttle;

/// Loaded library without a host for its effects.
pub struct DirectLibrary(Worker);

/// Result of a step.
pub enum DirectStep {
    Ready(Vec<u8>),
    Pending(Vec<u8>, BareCall),
    Failed(Vec<u8>),
    /// Violation of the contract: a sentence.
    Nonsense(String),
    /// The process ended, or was killed because the step took too long: a sentence.
    Gone(String),
}

/// Call that waits for its effects; dropping it cancels it.
pub struct BareCall(WorkerCall);

impl DirectLibrary {
    /// Inspects a file without running any of it.
    pub fn inspect(path: &Path) -> Result<Inspection, Refused> {
        inspect::inspect_new(path, Throttle::AtOnce).map(|inspected| inspected.inspection)
    }

    /// Loads an inspected file. Blocks until it is loaded.
    pub fn load(
        path: &Path,
        inspection: &Inspection,
        settings: &WorkerSettings,
    ) -> Result<Self, Refused> {
        let name = &inspection.manifest.name;
        let worker = Worker::new(name, &inspection.sha256, path, settings);
        worker.start(Throttle::AtOnce)?;
        Ok(Self(worker))
    }

    /// Begins an operation. Starts the worker again after a crash.
    pub async fn begin(&self, message: &[u8]) -> DirectStep {
        stepped(self.0.begin(&Redactor::default(), message).await)
    }
}

impl BareCall {
    /// Resumes with the result of one effect.
    pub async fn resume(self, message: &[u8]) -> DirectStep {
        stepped(self.0.resume(message).await)
    }
}

fn stepped(result: Result<(Step, Option<WorkerCall>), StepError>) -> DirectStep {
    match result {
        Ok((Step::Ready(message), _)) => DirectStep::Ready(message),
        Ok((Step::Pending(message), Some(running))) => {
            DirectStep::Pending(message, BareCall(running))
        }
        Ok((Step::Pending(_), None)) => {
            DirectStep::Nonsense("it waits, and left nothing to go on with".to_owned())
        }
        Ok((Step::Failed(message), _)) => DirectStep::Failed(message),
        Ok((Step::Nonsense(what), _)) => DirectStep::Nonsense(what),
        Err(StepError(why)) => DirectStep::Gone(why),
    }
}
