//! A library in a worker of its own and no host around it: whoever holds it plays the world. For the check of a gateway by its author.
//!
//! The walls are the same as in the engine: no network, no files, no threads, no programs, and a second for a step.

use std::path::Path;

use super::{Running, Worker, WorkerSettings};
use crate::gateway::home::Gone;
use crate::gateway::inspect::{self, Inspection, Refused};
use crate::gateway::library::Step;
use crate::gateway::pieces::Pace;
use crate::gateway::redact::Redactor;

/// A loaded library, and nothing that answers its effects.
pub struct Bare(Worker);

/// What a step came to.
pub enum BareStep {
    Ready(Vec<u8>),
    Pending(Vec<u8>, BareCall),
    Failed(Vec<u8>),
    /// Not by the contract: a sentence.
    Nonsense(String),
    /// The process is no more, or was ended because the step took too long: a sentence.
    Gone(String),
}

/// A call that waits for its effects; dropping it cancels it.
pub struct BareCall(Running);

impl Bare {
    /// Looks at a file without running any of it.
    pub fn inspect(path: &Path) -> Result<Inspection, Refused> {
        inspect::inspect_new(path, Pace::AtOnce).map(|inspected| inspected.inspection)
    }

    /// Loads a file that was looked at. Blocks until that is done.
    pub fn load(
        path: &Path,
        inspection: &Inspection,
        settings: &WorkerSettings,
    ) -> Result<Self, Refused> {
        let name = &inspection.manifest.name;
        let worker = Worker::new(name, &inspection.sha256, path, settings);
        worker.start(Pace::AtOnce)?;
        Ok(Self(worker))
    }

    /// Starts an operation; a worker that died is started again.
    pub async fn begin(&self, message: &[u8]) -> BareStep {
        stepped(self.0.begin(&Redactor::default(), message).await)
    }
}

impl BareCall {
    /// Brings the result of one effect.
    pub async fn resume(self, message: &[u8]) -> BareStep {
        stepped(self.0.resume(message).await)
    }
}

fn stepped(said: Result<(Step, Option<Running>), Gone>) -> BareStep {
    match said {
        Ok((Step::Ready(message), _)) => BareStep::Ready(message),
        Ok((Step::Pending(message), Some(running))) => {
            BareStep::Pending(message, BareCall(running))
        }
        Ok((Step::Pending(_), None)) => {
            BareStep::Nonsense("it waits, and left nothing to go on with".to_owned())
        }
        Ok((Step::Failed(message), _)) => BareStep::Failed(message),
        Ok((Step::Nonsense(what), _)) => BareStep::Nonsense(what),
        Err(Gone(why)) => BareStep::Gone(why),
    }
}
