//! Host of a version's code: this process or a worker process. The only way to run a step.
//!
//! In a worker process a step costs two hops between processes, and cannot crash the engine: see
//! [`worker`].
//!
//! In this process a step costs microseconds, and a crash ends the engine. A step that never
//! returns cannot be stopped: its thread is lost until the next start. Its call ends, and other
//! calls continue: see [`watch`].

use std::mem::ManuallyDrop;
use std::path::Path;
use std::sync::Arc;

use super::GatewaySettings;
use super::crash::CrashMark;
use super::inspect::{Inspection, Refused};
use super::library::{self, Library, Step};
use super::redact::Redactor;
use super::throttled_io::Throttle;
use super::version::Version;
use super::watch::{self, Ward};
use super::worker::{self, Death, Worker};

/// Host of a version's code.
pub(super) enum Home {
    /// This process: the code is trusted.
    InProcess(Library),
    /// A worker process.
    Worker(Box<Worker>),
}

/// Selects the gateways that run in a worker process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Isolation {
    /// Gateways that are not bundled with this release.
    Auto,
    /// All gateways.
    Process,
    /// No gateway: all are trusted.
    #[default]
    InProcess,
}

impl GatewaySettings {
    /// Whether a file with this hash runs in a worker process.
    pub(super) fn runs_apart(&self, sha256: &str) -> bool {
        match self.isolation {
            Isolation::Auto => !self.bundled.contains(sha256),
            Isolation::Process => true,
            Isolation::InProcess => false,
        }
    }
}

/// Call for which the host holds state; dropping it ends the call there.
pub(super) enum Running {
    InProcess(Held),
    Worker(worker::Running),
}

/// Call for which a library in this process holds state.
pub(super) struct Held {
    call: Option<library::Running>,
    version: Arc<Version>,
    ward: Option<Ward>,
}

/// Reason why a step has no answer: a sentence.
pub(super) struct Gone(pub String);

/// Result of a step, and the call to resume if there is one.
pub(super) type Stepped = Result<(Step, Option<Running>), Gone>;

impl Home {
    /// Loads the engine's own copy of an inspected file into the host that the settings select.
    /// With `start` a worker is started now, at that throttle. A version in whose code the engine
    /// crashed too often (`is_suspect`) always runs in a worker. Blocks.
    pub(super) fn open(
        settings: &GatewaySettings,
        inspection: &Inspection,
        kept: &Path,
        start: Option<Throttle>,
        is_suspect: bool,
    ) -> Result<Self, Refused> {
        let Inspection {
            manifest, sha256, ..
        } = inspection;
        if !is_suspect && !settings.runs_apart(sha256) {
            let mark = CrashMark::new(&settings.dir, sha256)
                .inspect_err(|error| {
                    let name = &manifest.name;
                    tracing::warn!(gateway.name = name, %error, "crashes cannot be attributed");
                })
                .ok();
            return Library::open(kept, mark).map(Self::InProcess);
        }
        let worker = Worker::new(&manifest.name, sha256, kept, &settings.worker);
        if let Some(pace) = start {
            worker.start(pace)?;
        }
        Ok(Self::Worker(Box::new(worker)))
    }

    /// Begins an operation.
    pub(super) async fn begin(
        &self,
        version: &Arc<Version>,
        ward: Option<&Ward>,
        redactor: &Redactor,
        message: Vec<u8>,
    ) -> Stepped {
        match self {
            Self::InProcess(library) => {
                let (library, own, its_ward) = (*library, Arc::clone(version), ward.cloned());
                let work = move || {
                    let (step, call) = library.begin(&message);
                    let held = call.map(|call| Held {
                        call: Some(call),
                        version: own,
                        ward: its_ward,
                    });
                    (step, held)
                };
                let (step, held) = watch::step(version, ward, work).await?;
                Ok((step, held.map(Running::InProcess)))
            }
            Self::Worker(worker) => {
                let begun = worker.begin(redactor, &message).await;
                self.judge(version);
                let (step, running) = begun?;
                Ok((step, running.map(Running::Worker)))
            }
        }
    }

    /// Quarantines a version whose workers crash in a loop.
    fn judge(&self, version: &Version) {
        if let Self::Worker(worker) = self
            && worker.is_condemned()
        {
            let last = worker.last_death();
            let last = last.map_or_else(String::new, |death| format!("; last: {}", death.reason));
            version.put_into_quarantine(&format!(
                "its worker died three times within a minute{last}"
            ));
        }
    }

    /// Last crash of one of its workers.
    pub(super) fn last_death(&self) -> Option<Death> {
        match self {
            Self::InProcess(_) => None,
            Self::Worker(worker) => worker.last_death(),
        }
    }

    /// Sets whether new attempts begin on this version.
    pub(super) fn set_current(&self, is_current: bool) {
        if let Self::Worker(worker) = self {
            worker.set_past(!is_current);
        }
    }

    /// Resets the crash history and the backoff of its workers.
    pub(super) fn reset(&self) {
        if let Self::Worker(worker) = self {
            worker.reset();
        }
    }
}

impl Running {
    /// Resumes with the result of one effect.
    pub(super) async fn resume(self, version: &Version, message: Vec<u8>) -> Stepped {
        match self {
            Self::InProcess(held) => {
                let (step, held) = held.resume(message).await?;
                Ok((step, Some(Self::InProcess(held))))
            }
            Self::Worker(running) => {
                let resumed = running.resume(&message).await;
                version.home.judge(version);
                let (step, running) = resumed?;
                Ok((step, running.map(Self::Worker)))
            }
        }
    }
}

impl Held {
    async fn resume(mut self, message: Vec<u8>) -> Result<(Step, Self), Gone> {
        let (version, ward) = (Arc::clone(&self.version), self.ward.clone());
        let work = move || {
            let step = match &mut self.call {
                Some(call) => call.resume(&message),
                None => Step::Nonsense("it is not there".to_owned()), // set until it is dropped
            };
            (step, self)
        };
        watch::step(&version, ward.as_ref(), work).await
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let Some(call) = self.call.take() else {
            return;
        };
        // When the version may run no more steps, the call cannot be ended either, and its state is
        // leaked.
        let call = ManuallyDrop::new(call);
        let end = move || drop(ManuallyDrop::into_inner(call));
        watch::end(&self.version, self.ward.as_ref(), end);
    }
}
